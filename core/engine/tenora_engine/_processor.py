"""Refuses processors that the native module was not compiled for, before an illegal instruction ends the process."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

# What x86-64-v3 adds to the baseline, as Linux names it.
_NEEDED = ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")


def missing_features(cpuinfo: str) -> list[str]:
    """The needed features that the first processor of a /proc/cpuinfo text lacks; none when it lists no flags.

    >>> missing_features("flags : fpu avx avx2 bmi1 bmi2 f16c fma")
    ['movbe']
    """
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            flags = set(line.partition(":")[2].split())
            return [name for name in _NEEDED if name not in flags]
    return []


def compiled_for(folders: Iterable[str]) -> str:
    """The -march= of the native module, which the build wrote down beside it; that of the wheels when it did not."""
    for folder in folders:
        file = Path(folder) / "_march.txt"
        if file.is_file():
            return file.read_text(encoding="ascii").strip()
    return "x86-64-v3"


def check_processor(folders: Iterable[str] = ()) -> None:
    """Raises ImportError, naming what is missing, on an x86-64 processor without AVX2 and its companions.

    `folders`: where the native module may lie. One that was built for another -march= is not judged.
    """
    if platform.machine() not in ("x86_64", "AMD64") or compiled_for(folders) != "x86-64-v3":
        return
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
            missing = missing_features(file.read(8192))
    except OSError:  # no such file outside Linux: nothing is known, nothing is refused
        return
    if missing:
        raise ImportError(
            f"[tenora] processor: got one without {', '.join(missing)}, expected x86-64-v3 (AVX2, 2013 and later). "
            "Build tenora from source on this machine: "
            "pip install . --config-settings=cmake.define.TENORA_MARCH=native"
        )
