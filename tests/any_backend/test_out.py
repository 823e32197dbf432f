"""out=: where PyTorch documents it tenora takes it, gives it the result's shape, and refuses what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tenora
import tenora_ops
from tenora_ops.record import Record

pytestmark = pytest.mark.oracle

#: Public functions that PyTorch documents with out= and that have none here.
WITHOUT = {
    "where": "its forms of one and three arguments share a name",
    "histogram": "the number of results depends on the call",
    "histogramdd": "the number of results depends on the call",
    "empty_like": "PyTorch's own function refuses it",
    "zeros_like": "PyTorch's own function refuses it",
    "ones_like": "PyTorch's own function refuses it",
    "full_like": "PyTorch's own function refuses it",
}


def documented(name: str) -> bool:
    place: Any = torch
    for part in name.split("."):
        place = getattr(place, part, None)
    return "out=None" in (getattr(place, "__doc__", None) or "")


GROUPS: dict[str, list[Record]] = {}
for entry in tenora_ops.records():
    if entry.public and any(documented(name) for name in (entry.public, *entry.aliases)):
        GROUPS.setdefault(entry.public, []).append(entry)


def test_out_is_taken_where_pytorch_takes_it() -> None:
    without = {name for name, group in GROUPS.items() if not any(entry.out for entry in group)}
    assert without == set(WITHOUT) & set(GROUPS)


def test_an_empty_target_gets_the_shape(backend: str) -> None:
    values, indices = tenora.empty(0), tenora.empty(0, dtype=tenora.int64)
    out = tenora.max(tenora.tensor([[3.0, 1.0], [2.0, 5.0]]), 1, out=(values, indices))
    assert out == (values, indices) and values.tolist() == [3.0, 5.0] and indices.tolist() == [0, 1]
    q, r = tenora.empty(0), tenora.empty(0)
    tenora.linalg.qr(tenora.eye(3)[:, :2], out=(q, r))
    assert tuple(q.shape) == (3, 2) and tuple(r.shape) == (2, 2)


@pytest.mark.parametrize(
    "out",
    [
        (tenora.empty(2, dtype=tenora.int64), tenora.empty(2, dtype=tenora.int64)),
        (tenora.empty(3), tenora.empty(2, dtype=tenora.int64)),
        (tenora.empty(2),),
        tenora.empty(2),
        (tenora.empty(2), None),
    ],
)
def test_targets_that_do_not_fit_are_refused(out: Any, backend: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=r"^\[max"):
        tenora.max(tenora.tensor([[3.0, 1.0], [2.0, 5.0]]), 1, out=out)


def test_gradients_are_refused(backend: str) -> None:
    x = tenora.ones(2, 2, requires_grad=True)
    targets = (tenora.empty(2), tenora.empty(2, dtype=tenora.int64))
    with pytest.raises(RuntimeError, match="out= does not support gradients"):
        tenora.max(x, 1, out=targets)
    with tenora.no_grad():
        tenora.max(x, 1, out=targets)
    assert targets[0].tolist() == [1.0, 1.0]


CREATED: dict[str, Any] = {
    "zeros": lambda lib, out: lib.zeros(2, 3, out=out),
    "ones": lambda lib, out: lib.ones((2, 3), out=out),
    "full": lambda lib, out: lib.full((2, 3), 7.0, out=out),
    "arange": lambda lib, out: lib.arange(1, 7, 2, out=out),
    "linspace": lambda lib, out: lib.linspace(0, 1, 5, out=out),
    "logspace": lambda lib, out: lib.logspace(0, 2, 3, out=out),
    "eye": lambda lib, out: lib.eye(2, 3, out=out),
}


@pytest.mark.parametrize("name", CREATED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_creation_fills_a_given_tensor(name: str, dtype: str) -> None:
    """The target's dtype is that of the result."""
    ours, theirs = (lib.empty(0, dtype=getattr(lib, dtype)) for lib in (tenora, torch))
    assert CREATED[name](tenora, ours) is ours
    CREATED[name](torch, theirs)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    assert str(ours.dtype).split(".")[1] == dtype


@pytest.mark.parametrize("name", ["rand", "randn", "empty", "randperm", "randint"])
def test_random_creation_fills_a_given_tensor(name: str) -> None:
    target = tenora.empty(0, dtype=tenora.int64 if name in ("randperm", "randint") else tenora.float32)
    if name == "randint":
        found = tenora.randint(0, 5, (4,), out=target)
    else:
        found = getattr(tenora, name)(4, out=target)
    assert found is target and tuple(target.shape) == (4,)


def test_creation_refuses_another_dtype_than_its_targets() -> None:
    with pytest.raises(RuntimeError, match=r"^\[zeros\] out= has another dtype"):
        tenora.zeros(2, dtype=tenora.float64, out=tenora.empty(2))
