"""The native CPU backend of tenora: one shared library behind the C ABI of `tenora_backend.h`."""

import platform
import sys
from pathlib import Path

from tenora_dispatch.contract import Probe, Registry

_LIBRARY = {"darwin": "libtenora_cpu_mkl.dylib", "win32": "tenora_cpu_mkl.dll"}.get(
    sys.platform, "libtenora_cpu_mkl.so"
)


def library_path() -> Path:
    """Where the shared library is: beside this file, or in the folder an editable install put it.

    Raises: FileNotFoundError naming the folders that were searched.
    """
    folders = [Path(folder) for folder in __path__]
    for folder in folders:
        candidate = folder / _LIBRARY
        if candidate.exists():
            return candidate
    searched = ", ".join(str(folder) for folder in folders)
    raise FileNotFoundError(
        f"[cpu_mkl] the native library is missing: got no {_LIBRARY} in {searched}, expected one. "
        "Reinstall tenora-cpu-mkl."
    )


# What x86-64-v2, the least that the library is compiled for, adds to the baseline, as Linux names it.
_NEEDED = ("cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3")


def missing_features(cpuinfo: str) -> list[str]:
    """The needed features that the first processor of a /proc/cpuinfo text lacks; none when it lists no flags."""
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            flags = set(line.partition(":")[2].split())
            return [name for name in _NEEDED if name not in flags]
    return []


def probe() -> Probe:
    """Unavailable on an x86-64 processor that would meet an illegal instruction in the library."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return Probe()
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
            missing = missing_features(file.read(8192))
    except OSError:  # no such file outside Linux: nothing is known, nothing is refused
        return Probe()
    if not missing:
        return Probe()
    return Probe(
        available=False,
        reason=f"the processor lacks {', '.join(missing)}: got one older than x86-64-v2, expected that or newer. "
        "Use the reference backend: tenora use reference.",
    )


def load(registry: Registry) -> None:
    """Load the library and register its kernels. Called once by the dispatcher."""
    registry.native(library_path())
