"""Half types in ops that are Python functions: computed in float32, rounded once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.formula import ops

HALVES = (_engine.float16, _engine.bfloat16)


def rounds_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with half operands told in float32 and its float32 results rounded to the half type."""

    @functools.wraps(function)
    def run(**values: Any) -> Any:
        half = next((v.dtype for v in values.values() if isinstance(v, Tensor) and v.dtype in HALVES), None)
        if half is None:
            return function(**values)
        wide = {k: _wide(v) for k, v in values.items()}
        found = function(**wide)
        if not _rounded(values, half):
            return found
        return tuple(_narrow(v, half) for v in found) if isinstance(found, tuple) else _narrow(found, half)

    return run


def _rounded(values: dict[str, Any], half: Any) -> bool:
    """Whether the operands promote to the half type: with float32, or with the other half type, they do not."""
    floating = [v for v in values.values() if isinstance(v, Tensor) and v.dtype.is_floating_point]
    deciding = [v for v in floating if v.ndim] or floating
    return all(v.dtype == half for v in deciding)


def _wide(value: Any) -> Any:
    is_half = isinstance(value, Tensor) and value.dtype in HALVES
    return ops.to(value, _engine.float32) if is_half else value


def _narrow(value: Tensor, half: Any) -> Any:
    return ops.to(value, half) if value.dtype == _engine.float32 else value
