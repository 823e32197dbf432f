"""Numbers beyond a tensor's integer dtype: refused where PyTorch refuses them, wrapped where it wraps them.

Also the gradients of angle and sgn at 0, which PyTorch gives as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

CALLS: dict[str, Callable[[Any, Any, int], Any]] = {
    "clamp_min": lambda lib, x, v: lib.clamp(x, v),
    "clamp_max": lambda lib, x, v: lib.clamp(x, max=v),
    "clamp_": lambda lib, x, v: x.clamp_(max=v),
    "pow": lambda lib, x, v: lib.pow(x, v),
    "pow_": lambda lib, x, v: x.pow_(v),
    "where": lambda lib, x, v: lib.where(x > 2, x, v),
    "add alpha": lambda lib, x, v: lib.add(x, x, alpha=v),
    "sub alpha": lambda lib, x, v: lib.sub(x, x, alpha=v),
    "addcmul": lambda lib, x, v: lib.addcmul(x, x, x, value=v),
    "threshold": lambda lib, x, v: lib.nn.functional.threshold(x, v, v),
    "pad": lambda lib, x, v: lib.nn.functional.pad(x, (1, 0), value=v),
    "add": lambda lib, x, v: lib.add(x, v),
    "mul": lambda lib, x, v: lib.mul(x, v),
    "bitwise_and": lambda lib, x, v: lib.bitwise_and(x, v),
    "eq": lambda lib, x, v: lib.eq(x, v),
    "lt": lambda lib, x, v: lib.lt(x, v),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("dtype", "value"), [("int32", 2**40), ("int32", 2**32), ("uint8", 300), ("uint8", 255), ("int8", 200)]
)
def test_as_pytorch(call: str, dtype: str, value: int) -> None:
    def answer(lib: Any) -> Any:
        try:
            return CALLS[call](lib, lib.tensor([3, 2], dtype=getattr(lib, dtype)), value).tolist()
        except RuntimeError as error:
            return "refused" if "without overflow" in str(error) else str(error)

    assert answer(tenora) == answer(torch)


@pytest.mark.parametrize("name", ["angle", "sgn"])
@pytest.mark.parametrize("value", [0j, complex(-0.0, 0.0), 1 + 0j, 2j - 1])
def test_gradient_at_zero(name: str, value: complex) -> None:
    def gradient(lib: Any) -> tuple[Any, Any]:
        x = lib.tensor([value], requires_grad=True)
        result = getattr(lib, name)(x)
        lib.abs(result * (2 + 1j)).sum().backward() if name == "sgn" else result.sum().backward()
        return result.tolist(), x.grad.resolve_conj().tolist()

    for mine, theirs in zip(gradient(tenora), gradient(torch), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-6)
