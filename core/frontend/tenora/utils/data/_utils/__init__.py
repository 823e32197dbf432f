"""The parts of loading, under the names PyTorch programs know: `_utils.collate`, `_utils.fetch`, `_utils.worker`."""

from . import collate, fetch, pin_memory, worker

__all__ = ["collate", "fetch", "pin_memory", "worker"]
