"""Where a run took place, and which distributions took part: versions, and digests that find changed code."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
from dataclasses import dataclass
from typing import Any

import importlib_metadata
import numpy as np

import tenora_dispatch
import tenora_ops
from tenora_dispatch.attestation import package_digest
from tenora_dispatch.versions import current

#: The packages of the two distributions that take part in every run.
CORE = ("tenora", "tenora_autograd", "tenora_dispatch", "tenora_engine", "tenora_hooks", "tenora_ops")
SUITE = ("tenora_conformance",)


@dataclass(frozen=True)
class Distribution:
    """A distribution that took part. `kind` is `wheel`, whose digest is over its RECORD, or `sources`."""

    name: str
    version: str
    kind: str
    digest: str
    package: str = ""
    """The backend's package, for the distribution that holds it."""
    sources: str = ""
    """The digest of the backend's package, which its attached report is bound to."""


def environment() -> dict[str, str]:
    """Python, machine and the versions that the run depends on."""
    here = current()
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processor": processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "numpy": np.__version__,
        "opset": tenora_ops.OPSET_VERSION,
        "protocol": here.protocol,
        "abi": str(here.abi),
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor()


def distributions(backend: str) -> list[Distribution]:
    """tenora, this suite and the backend's own distribution, with what they are made of.

    Raises: `tenora_dispatch.attestation.UnusableReport` where a package's files cannot be read.
    """
    row = next(row for row in tenora_dispatch.backends() if row.name == backend)
    packages = {"tenora": CORE, "tenora-conformance": SUITE}
    packages.setdefault(row.distribution, (row.package,))
    found = {name: _distribution(name, members) for name, members in sorted(packages.items())}
    found[row.distribution] = dataclasses.replace(
        found[row.distribution], package=row.package, sources=package_digest(row.package)
    )
    return list(found.values())


def _distribution(name: str, packages: tuple[str, ...]) -> Distribution:
    try:
        installed: Any = importlib_metadata.distribution(name)
    except importlib_metadata.PackageNotFoundError:  # run from a source tree
        return Distribution(name, "0", "sources", _joined(packages))
    record = installed.read_text("RECORD")
    if record is None or _is_editable(installed):
        return Distribution(name, installed.version, "sources", _joined(packages))
    lines = sorted(line for line in record.splitlines() if "sha256=" in line and ".pyc," not in line)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Distribution(name, installed.version, "wheel", f"sha256:{digest}")


def _is_editable(installed: Any) -> bool:
    told = json.loads(installed.read_text("direct_url.json") or "{}")
    return bool(told.get("dir_info", {}).get("editable"))


def _joined(packages: tuple[str, ...]) -> str:
    if len(packages) == 1:
        return package_digest(packages[0])
    lines = "".join(f"{package_digest(package)}  {package}\n" for package in packages)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"
