"""plain_c: a backend of tenora in C11. The package only says which library to load."""

from pathlib import Path

from tenora_dispatch import Probe, Registry

LIBRARY = "plain_c.so"


def probe() -> Probe:
    """Whether the backend can work on this machine; takes no device."""
    return Probe(devices={"cpu": 1})


def load(registry: Registry) -> None:
    """Loads the library and registers its kernels.

    Raises: FileNotFoundError naming the folders that were searched; an editable install puts the library into another
    one than the sources.
    """
    folders = [Path(folder) for folder in __path__]
    for folder in folders:
        if (folder / LIBRARY).is_file():
            registry.native(folder / LIBRARY)
            return
    raise FileNotFoundError(
        f"{LIBRARY} is in none of {', '.join(map(str, folders))}: build the package again."
    )
