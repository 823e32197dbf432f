"""The native CPU backend of tenora: one shared library behind the C ABI of `tenora_backend.h`."""

import sys
from pathlib import Path

from tenora_dispatch.contract import Registry

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


def load(registry: Registry) -> None:
    """Load the library and register its kernels. Called once by the dispatcher."""
    registry.native(library_path())
