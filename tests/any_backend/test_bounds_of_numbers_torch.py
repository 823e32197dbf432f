"""Numbers at and beyond their bounds: answered as PyTorch answers, and refused with the class of its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


def refused_alike(call: Callable[[Any], Any], kind: type[Exception]) -> None:
    for lib in (torch, tenora):
        with pytest.raises(kind):
            call(lib)


def normalised(lib: Any, training: bool, eps: float) -> Any:
    x = lib.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    mean, var = lib.tensor([0.0, 1.0]), lib.tensor([1.0, 2.0])
    return lib.nn.functional.batch_norm(x, mean, var, training=training, eps=eps)


@pytest.mark.parametrize(("training", "eps"), [(True, 0.0), (True, 0), (True, -1e-3), (False, -1e-3)])
def test_batch_norm_needs_a_positive_eps(backend: str, training: bool, eps: float) -> None:
    with tenora.use_backend(backend):
        refused_alike(lambda lib: normalised(lib, training, eps), ValueError)
        refused_alike(
            lambda lib: lib.nn.BatchNorm1d(2, eps=eps).train(training)(lib.arange(4.0).reshape(2, 2)),
            ValueError,
        )


def test_batch_norm_by_statistics_takes_an_eps_of_zero(backend: str) -> None:
    with tenora.use_backend(backend):
        for found, expected in zip(
            normalised(tenora, False, 0.0).tolist(), normalised(torch, False, 0.0).tolist(), strict=True
        ):
            assert found == pytest.approx(expected)


def test_instance_norm_takes_any_eps(backend: str) -> None:
    def call(lib: Any) -> Any:
        x = lib.arange(12.0).reshape(1, 2, 6) ** 2
        return lib.nn.functional.instance_norm(x, lib.zeros(2), lib.ones(2), use_input_stats=False, eps=-0.5)

    with tenora.use_backend(backend):
        assert call(tenora).flatten().tolist() == pytest.approx(call(torch).flatten().tolist())


@pytest.mark.parametrize("eps", [0.0, 0.25, 0.5, 0.6, 0.8, 1.0, math.nan])
def test_logit_asks_the_lower_bound_first(backend: str, eps: float) -> None:
    """Beyond 0.5 the bounds cross."""

    def call(lib: Any) -> Any:
        x = lib.tensor([-0.5, 0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, math.nan], requires_grad=True)
        result = lib.logit(x, eps)
        result.sum().backward()
        return [result.tolist(), lib.special.logit(x, eps).tolist(), x.grad.tolist()]

    with tenora.use_backend(backend):
        for found, expected in zip(call(tenora), call(torch), strict=True):
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-7, nan_ok=True)


def triangle(name: str, dtype: str) -> Callable[[Any], Any]:
    return lambda lib: getattr(lib, name)(3, 3, dtype=getattr(lib, dtype))


def line(name: str, ends: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], Any]:
    return lambda lib: getattr(lib, name)(*ends(lib), 3)


ENDS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "from a vector": lambda lib: (lib.tensor([1.0]), 3.0),
    "to a vector": lambda lib: (1.0, lib.tensor([3.0])),
    "from a number without dims to a vector": lambda lib: (lib.tensor(1.0), lib.tensor([3.0])),
    "from several numbers": lambda lib: (lib.ones(2), 3.0),
}
REFUSED: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    **{
        f"{name} of {dtype}": (NotImplementedError, triangle(name, dtype))
        for name in ("tril_indices", "triu_indices")
        for dtype in ("float32", "float16", "int16", "uint8", "bool", "complex64")
    },
    **{
        f"{name} {which}": (RuntimeError, line(name, ends))
        for name in ("linspace", "logspace")
        for which, ends in ENDS.items()
    },
    "split by a tensor of sizes": (TypeError, lambda lib: lib.split(lib.arange(4), lib.tensor([2, 2]))),
    "split by a tensor of sizes, as a method": (
        TypeError,
        lambda lib: lib.arange(4).split(lib.tensor([2, 2])),
    ),
    "split_with_sizes by a tensor": (
        TypeError,
        lambda lib: lib.split_with_sizes(lib.arange(4), lib.tensor([2, 2])),
    ),
}


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(backend: str, call: str) -> None:
    kind, function = REFUSED[call]
    with tenora.use_backend(backend):
        refused_alike(function, kind)


def test_split_takes_a_tensor_of_one_number(backend: str) -> None:
    with tenora.use_backend(backend):
        for size in (2, [2]):
            parts, expected = (
                [part.tolist() for part in lib.split(lib.arange(4), lib.tensor(size))]
                for lib in (tenora, torch)
            )
            assert parts == expected


def test_ends_of_lines_are_tensors_without_dims(backend: str) -> None:
    with tenora.use_backend(backend):
        for name in ("linspace", "logspace"):
            found, expected = (
                getattr(lib, name)(lib.tensor(1.0), lib.tensor(3.0), 3).tolist() for lib in (tenora, torch)
            )
            assert found == pytest.approx(expected)
