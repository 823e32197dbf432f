"""Finds installed backends by reading metadata; none of their code runs here.

- Entry points of the group `tenora.backends`; the value is a package, and the package holds the manifest.
- The manifest is looked for where the distribution's files are, then where Python would import the package from
  (editable installs). Only finders are asked, no module is executed; so the package must be a top-level one.
- Whatever is wrong with a distribution becomes a row with its cause, never an exception.
"""

import importlib.machinery
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from tenora_dispatch import manifest as manifests
from tenora_dispatch.errors import BackendError, ManifestError
from tenora_dispatch.manifest import Manifest
from tenora_hooks import plugins
from tenora_hooks.entrypoints import BACKENDS, Broken, Found, scan


@dataclass(frozen=True)
class Candidate:
    """An installed backend: what its metadata says, or why that cannot be understood."""

    name: str
    package: str
    distribution: str
    version: str
    manifest: Manifest | None
    cause: BackendError | None


def discover() -> list[Candidate]:
    """All installed backends, sorted by name; broken ones carry a cause."""
    found, broken = scan()
    plugins.use(found)
    entries = [entry for entry in found if entry.group == BACKENDS]
    candidates: dict[str, Candidate] = {}
    for entry in entries:
        twins = [other for other in entries if other.name == entry.name]
        candidates[entry.name] = _candidate(entry) if len(twins) == 1 else _duplicate(entry.name, twins)
    for row in broken:
        unreadable = _unreadable(row)
        candidates.setdefault(unreadable.name, unreadable)
    return sorted(candidates.values(), key=lambda candidate: candidate.name)


def _candidate(entry: Found) -> Candidate:
    manifest: Manifest | None = None
    cause: BackendError | None = None
    try:
        manifest = manifests.read(locate_manifest(entry))
        if manifest.name != entry.name:
            raise ManifestError(
                f"[manifest] {manifest.path}: key 'name' is wrong: got {manifest.name!r}, expected {entry.name!r}, the "
                f"entry point's name in {entry.distribution_name}. Make both names equal.",
                backend=entry.name,
            )
    except BackendError as error:
        manifest, cause = None, error
    except Exception as error:  # a stranger's files may raise anything
        cause = ManifestError(
            f"[manifest] the files of {entry.distribution_name} cannot be read: got {type(error).__name__}: {error}. "
            "Reinstall the backend.",
            backend=entry.name,
        )
        cause.__cause__ = error
    return Candidate(entry.name, entry.value, entry.distribution_name, entry.version, manifest, cause)


def locate_manifest(entry: Found) -> Path:
    """The path of an entry point's manifest. Raises: `ManifestError` that lists where it was looked for."""
    package = entry.value
    if not package.isidentifier():
        raise ManifestError(
            f"[manifest] entry point '{entry.name}' of {entry.distribution_name} is wrong: got {package!r}, expected "
            "the name of a top-level package. A dotted name could only be located by importing its parent.",
            backend=entry.name,
        )
    looked: list[str] = []
    installed = Path(str(entry.distribution.locate_file(f"{package}/{manifests.FILE_NAME}")))
    if installed.is_file():
        return installed
    looked.append(str(installed.parent))
    for folder in package_folders(package):
        path = folder / manifests.FILE_NAME
        if path.is_file():
            return path
        looked.append(str(folder))
    raise ManifestError(
        f"[manifest] {manifests.FILE_NAME} of backend '{entry.name}' is missing: got no such file in "
        f"{' or '.join(dict.fromkeys(looked))}, expected it in package '{package}' of {entry.distribution_name}. "
        "Add it to the distribution's package data.",
        backend=entry.name,
    )


def package_folders(package: str) -> list[Path]:
    """Where Python would import a top-level package from; asks finders only."""
    spec: importlib.machinery.ModuleSpec | None = importlib.util.find_spec(package)
    if spec is None:
        return []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if spec.origin and spec.has_location:
        folders.append(Path(spec.origin).parent)
    return list(dict.fromkeys(folders))


def _duplicate(name: str, twins: list[Found]) -> Candidate:
    owners = ", ".join(sorted(twin.distribution_name for twin in twins))
    cause = BackendError(
        f"[backend] the name '{name}' is taken twice: got it from {owners}, expected one distribution. "
        f"Uninstall all but one: pip uninstall {twins[-1].distribution_name}",
        code="backend_duplicate",
        backend=name,
    )
    return Candidate(name, twins[0].value, owners, "", None, cause)


def _unreadable(row: Broken) -> Candidate:
    name = Path(row.location).name.removesuffix(".dist-info").removesuffix(".egg-info")
    cause = BackendError(
        f"[backend] the metadata in {row.location} cannot be read: got {type(row.cause).__name__}: {row.cause}. "
        "Reinstall that distribution.",
        code="backend_metadata",
        backend=name,
    )
    cause.__cause__ = row.cause
    return Candidate(name, "", name, "", None, cause)
