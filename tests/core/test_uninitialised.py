"""Parameters and buffers without a shape: what they answer, and that all else is refused."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenora
from tenora import nn

KINDS = [nn.UninitializedParameter, nn.UninitializedBuffer]

REFUSED: dict[str, Callable[[Any], Any]] = {
    "numel": lambda x: x.numel(),
    "nelement": lambda x: x.nelement(),
    "size": lambda x: x.size(),
    "dim": lambda x: x.dim(),
    "stride": lambda x: x.stride(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "data_ptr": lambda x: x.data_ptr(),
    "clone": lambda x: x.clone(),
    "view": lambda x: x.view(-1),
    "sum": lambda x: x.sum(),
    "det": lambda x: x.det(),
    "add_": lambda x: x.add_(1),
    "len": len,
    "iter": list,
    "bool": bool,
    "float": float,
    "getitem": lambda x: x[0],
    "setitem": lambda x: operator.setitem(x, 0, 1.0),
    "add": lambda x: x + 1,
    "rmul": lambda x: 2 * x,
    "matmul": lambda x: x @ x,
    "lt": lambda x: x < 1,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", REFUSED)
def test_what_needs_a_shape_is_refused(kind: type, method: str) -> None:
    name = kind.__name__
    with pytest.raises(ValueError, match=rf"\[{name}\] {method}: got a tensor without a shape, expected"):
        REFUSED[method](kind())
    with pytest.raises(RuntimeError, match=rf"\[{name}\] shape: got a tensor without one, expected"):
        _ = kind().shape


@pytest.mark.parametrize("kind", KINDS)
def test_what_needs_none_is_answered(kind: Any) -> None:
    tensor = kind(dtype=tenora.float64)
    assert repr(tensor) == str(tensor) == f"<{kind.__name__}>"
    assert tensor.dtype == tenora.float64 and tensor.device == tenora.device("cpu")
    assert tensor.is_floating_point() and not tensor.is_complex() and tensor.is_leaf
    assert tensor.to(tenora.float32).dtype == tensor.float().dtype == tenora.float32
    assert isinstance(copy.deepcopy(tensor), kind) and len({tensor, tensor}) == 1
    assert callable(tensor.numel) and not hasattr(tensor, "nmel")
    tensor.materialize((2, 3))
    assert tensor.numel() == 6 and (tensor + 1).shape == np.asarray(tensor.detach()).shape == (2, 3)


def test_a_lazy_layer_does_not_count_as_empty() -> None:
    """Their number was 0 before the first call."""
    layer = nn.LazyLinear(3)
    with pytest.raises(ValueError, match="Call the lazy module once"):
        sum(parameter.numel() for parameter in layer.parameters())
    with pytest.raises(ValueError, match="Call the lazy module once"):
        nn.utils.parameters_to_vector(layer.parameters())
    layer.double().requires_grad_(True)
    tenora.optim.SGD(layer.parameters(), lr=0.1).step()
    layer(tenora.ones(1, 2, dtype=tenora.float64))
    assert sum(parameter.numel() for parameter in layer.parameters()) == 9
