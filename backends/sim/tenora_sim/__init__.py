"""An asynchronous device without hardware, to test with: one shared library behind the C ABI of `tenora_backend.h`."""

import sys
import time
from pathlib import Path

import tenora_dispatch
from tenora_dispatch.contract import Probe, Registry

_LIBRARY = {"darwin": "libtenora_sim.dylib", "win32": "tenora_sim.dll"}.get(sys.platform, "libtenora_sim.so")


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
        f"[sim] the native library is missing: got no {_LIBRARY} in {searched}, expected one. Reinstall tenora-sim."
    )


def probe() -> Probe:
    """As many devices as the option `devices` says; the option `probe` makes it slow, or fail.

    Raises: OSError when the option `probe` is "raises".
    """
    options = tenora_dispatch.backend_options("sim")
    if options["probe"] == "slow":
        time.sleep(1)
    if options["probe"] == "raises":
        raise OSError("the option `probe` of sim asked for it")
    if options["probe"] == "unavailable":
        return Probe(available=False, reason="the option `probe` of sim says so. Set it to 'ready'.")
    return Probe(devices={"sim": options["devices"]})


def load(registry: Registry) -> None:
    """Load the library and register its kernels. Called once by the dispatcher."""
    registry.native(library_path())
