"""tenora's native engine: tensors, dispatch, tape, Programs, memory. The other rooms of core stand on this one.

Everything here is native and lives in `tenora_engine._engine`; the names are re-exported.
"""

from tenora_engine import _engine
from tenora_engine._decorate import decorate
from tenora_engine._engine import *  # noqa: F403

_engine.set_decorator(decorate)
_rebuild_tensor = _engine._rebuild_tensor
_storage_from_bytes = _engine._storage_from_bytes

__all__ = [name for name in dir(_engine) if not name.startswith("_")]
