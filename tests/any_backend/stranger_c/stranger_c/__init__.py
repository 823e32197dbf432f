"""A backend in C: the package only says which library to load."""

from tenora_dispatch import Probe, Registry


def probe() -> Probe:
    """There are always two of these devices: they are a figment."""
    return Probe(devices={"rock": 2})


def load(registry: Registry) -> None:
    """Everything is in the library."""
    registry.native("stranger.so")
