"""The named tuples of ops with several results, by the name of the op: `tenora.return_types.max`.

- They come from the op records (field `result`); an op of a module is `linalg_qr`.
- What `out=` returns has the same type.

>>> import tenora
>>> isinstance(tenora.max(tenora.eye(2), 1), tenora.return_types.max)
True
"""

from __future__ import annotations

from typing import Any

import tenora_ops
from tenora_dispatch import errors


def __getattr__(name: str) -> Any:
    public = () if name.startswith("_") else (name, name.replace("_", ".", 1), f"nn.functional.{name}")
    for function in map(tenora_ops.public_function, public):
        found = getattr(function, "result_type", None)
        if found is not None and found.__name__ == name:
            return globals().setdefault(name, found)
    raise errors.MissingAttributeError(
        f"[return_types] module attribute: got {name!r}, expected an op with named results. "
        "Look at dir(tenora.return_types).",
        name=name,
        obj=None,  # else a traceback adds the interpreter's own suggestion
    )


def __dir__() -> list[str]:
    return sorted({entry.result_name for entry in tenora_ops.records() if entry.result and entry.public})
