"""tenora's native engine: tensors, dispatch, tape, Programs, memory. The other rooms of core stand on this one.

Everything here is native and lives in `tenora_engine._engine`; the names are re-exported.
"""

# isort: off
from tenora_engine._processor import check_processor

check_processor(__path__)

from tenora_engine import _engine  # noqa: E402 - the native module only on a processor that can run it
from tenora_engine._decorate import decorate  # noqa: E402 - imports the native module
from tenora_engine._engine import *  # noqa: E402, F403 - the native module again: its public names are this room's
# isort: on

_engine.set_decorator(decorate)
_rebuild_tensor = _engine._rebuild_tensor
_storage_from_bytes = _engine._storage_from_bytes

__all__ = [name for name in dir(_engine) if not name.startswith("_")]
