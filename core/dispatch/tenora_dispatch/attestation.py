"""`tenora-conformance.json`: what the conformance suite says of a backend, lying beside its manifest as static data.

- Written by `tenora-conformance attach`, one entry per device type; read here without running the backend's code.
- An entry counts for the sources it was made from: `digest` is that of the package's files (`package_digest`).
- The digest is over the sorted files of the package, wherever Python finds them, without byte code, hidden files and
  the report itself. A build that writes `tenora-sources.txt`, the sha256 of each source it compiled, makes that file
  stand for the shared libraries of the package: the same sources built elsewhere then have the same digest. Without it
  the libraries themselves count.
- Anything wrong with the file is a sentence, never an exception: it can only cost the automatic choice.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenora_dispatch.discovery import package_folders
from tenora_dispatch.errors import ManifestError

FILE_NAME = "tenora-conformance.json"
SOURCES_FILE = "tenora-sources.txt"
SCHEMA = 1
#: What the automatic choice asks for.
REQUIRED_LEVEL = "L3"
LEVELS = ("L0", "L1", "L2", "L3", "L4")
_RENEW = "Renew it: tenora-conformance attach DIR."
_LIBRARIES = frozenset({".so", ".dylib", ".dll", ".pyd"})


@dataclass(frozen=True)
class Attestation:
    """What a report of one device type says. `opset` and `protocol` are versions, `report` is the report's digest."""

    level: str
    opset: str
    protocol: str
    digest: str
    date: str
    report: str = ""


class UnusableReport(ManifestError):
    """Why a `tenora-conformance.json` says nothing."""


def _found_folders(package: str) -> list[Path]:
    """Where Python would import a package from. Raises: `UnusableReport` where it is not found."""
    try:
        folders = [folder for folder in package_folders(package) if folder.is_dir()]
    except (ImportError, ValueError, AttributeError) as error:
        raise _not_found(package, str(error)) from error
    if not folders:
        raise _not_found(package, "no folder")
    return folders


def _not_found(package: str, got: str) -> UnusableReport:
    return UnusableReport(
        f"[report] package '{package}' cannot be found: got {got}, expected the files that Python would import. "
        "Reinstall the backend."
    )


def package_files(package: str) -> dict[str, Path]:
    """The files that a package's digest is over, by their name within it. Raises: `UnusableReport`."""
    return folders_files(_found_folders(package))


def folders_files(folders: Iterable[Path]) -> dict[str, Path]:
    """The files that the digest of a package in these folders is over, by their name within it."""
    files: dict[str, Path] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            name = path.relative_to(folder)
            if _counts(name) and path.is_file():
                files.setdefault(name.as_posix(), path)
    if SOURCES_FILE in files:
        files = {name: path for name, path in files.items() if not _LIBRARIES & set(path.suffixes)}
    return dict(sorted(files.items()))


def _counts(name: Path) -> bool:
    hidden = any(part.startswith(".") or part == "__pycache__" for part in name.parts)
    return not hidden and name.suffix != ".pyc" and name.name != FILE_NAME


def package_digest(package: str) -> str:
    """The digest of a package's files: `sha256:` and the sha256 of their `sha256sum` lines, sorted by name.

    Raises: `UnusableReport` for a package that cannot be found or read.

    Example:
        >>> package_digest("tenora_dispatch")[:7]
        'sha256:'
    """
    return folders_digest(_found_folders(package))


def folders_digest(folders: Iterable[Path]) -> str:
    """The same of a package that lies in these folders. Raises: `UnusableReport` where a file cannot be read."""
    lines = []
    for name, path in folders_files(folders).items():
        try:
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
        except OSError as error:
            raise UnusableReport(
                f"[report] {path} cannot be read: got {error}, expected a file of the package. Reinstall the backend."
            ) from error
    return f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def read(path: Path) -> dict[str, Attestation]:
    """Device type -> what the file says of it. Raises: `UnusableReport`; FileNotFoundError where there is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise UnusableReport(
            f"[report] {path} cannot be read: got {error}, expected JSON. {_RENEW}"
        ) from error
    if (
        not isinstance(data, dict)
        or data.get("schema") != SCHEMA
        or not isinstance(data.get("devices"), dict)
    ):
        raise UnusableReport(
            f"[report] {path} is wrong: got {str(data)[:60]}, expected schema {SCHEMA} with a table of devices. "
            f"{_RENEW}"
        )
    return {str(kind): _entry(path, kind, entry) for kind, entry in data["devices"].items()}


def _entry(path: Path, kind: str, entry: Any) -> Attestation:
    names = ("level", "opset", "protocol", "digest", "date", "report")
    texts = {name: entry.get(name) for name in names} if isinstance(entry, dict) else {}
    wrong = [name for name in names if not isinstance(texts.get(name), str)]
    if not wrong and texts["level"] not in LEVELS:
        wrong = ["level"]
    if wrong:
        raise UnusableReport(
            f"[report] {path} is wrong at {', '.join(wrong)} of '{kind}': got {str(entry)[:60]}, expected what "
            f"`attach` writes. {_RENEW}"
        )
    return Attestation(**{name: str(text) for name, text in texts.items()})


def text_of(name: str, devices: Mapping[str, Attestation]) -> str:
    """The text of a backend's file, which `read` reads."""
    entries = {kind: dataclasses.asdict(entry) for kind, entry in sorted(devices.items())}
    return json.dumps({"schema": SCHEMA, "backend": name, "devices": entries}, indent=2) + "\n"


def objection(manifest_path: Path, package: str, device_type: str, opset_version: str) -> str:
    """Why a backend may not be chosen automatically for a device type; "" if it may.

    Reads `tenora-conformance.json` beside the manifest and hashes the package's files; runs none of its code.
    """
    try:
        found = read(manifest_path.with_name(FILE_NAME)).get(device_type)
        if found is None:
            return f"its conformance report says nothing of '{device_type}'"
        if LEVELS.index(found.level) < LEVELS.index(REQUIRED_LEVEL):
            return f"its conformance report is of level {found.level}, below {REQUIRED_LEVEL}"
        if found.opset.partition(".")[0] != opset_version.partition(".")[0]:
            return f"its conformance report is of op set {found.opset}, this tenora has {opset_version}"
        if found.digest != package_digest(package):
            return "its conformance report is of other sources (stale digest)"
    except FileNotFoundError:
        return f"it carries no conformance report ({FILE_NAME})"
    except UnusableReport as error:
        return f"its conformance report is unusable: {error}"
    return ""
