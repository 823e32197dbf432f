"""Calls that ordinary samples leave out, answered as PyTorch answers them: values, dtypes, shapes and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


def written(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def mask(lib: Any) -> Any:
    return lib.tensor([True, False, True])


def gradient_where_true(lib: Any) -> Any:
    row = lib.ones(3, dtype=lib.float64, requires_grad=True)
    (written(lib.zeros(2, 3), True, row) * 2).sum().backward()
    return row.grad


ANSWERED: dict[str, Callable[[Any], Any]] = {
    "arange of uint8 cuts its step off": lambda lib: lib.arange(-0.9, 2.1, 2.0, dtype=lib.uint8),
    "arange of uint8 wraps": lambda lib: lib.arange(2.1, -2.9, -1, dtype=lib.uint8),
    "arange of int64 counts whole numbers": lambda lib: lib.arange(0.5, 2.9, dtype=lib.int64),
    "arange of int32 counts as it is told": lambda lib: lib.arange(0.5, 2.9, dtype=lib.int32),
    "arange of int32 in steps below 1": lambda lib: lib.arange(0, 3, 0.5, dtype=lib.int32),
    "cumsum_ of uint8": lambda lib: lib.tensor([1, 2, 254], dtype=lib.uint8).cumsum_(0),
    "cumprod_ of int32": lambda lib: lib.tensor([1, 2, 200], dtype=lib.int32).cumprod_(0),
    "cumsum_ of float32": lambda lib: lib.tensor([1.0, 2.0]).cumsum_(0),
    "diff of order 0 joins nothing": lambda lib: lib.diff(lib.arange(3.0), 0, prepend=lib.arange(2.0)),
    "istft of a whole spectrum": lambda lib: lib.istft(
        lib.arange(20.0).reshape(10, 2).to(lib.complex64), 10, window=lib.ones(10)
    ),
    "ormqr of a wide matrix": lambda lib: lib.ormqr(
        lib.arange(8.0).reshape(2, 4) / 9, lib.tensor([0.5, 0.25]), lib.arange(6.0).reshape(2, 3)
    ),
    "var of all": lambda lib: lib.var(lib.arange(5.0) ** 2, False),
    "std of all": lambda lib: lib.std(lib.arange(5.0) ** 2, True),
    "var_mean of all": lambda lib: lib.stack(lib.var_mean(lib.arange(5.0) ** 2, False)),
    "std_mean of all": lambda lib: lib.stack(lib.std_mean(lib.arange(5.0) ** 2, False)),
    "std as a method of all": lambda lib: (lib.arange(5.0) ** 2).std(False),
    "gradient without spacing": lambda lib: lib.gradient(lib.arange(5.0) ** 2, spacing=None)[0],
    **{
        f"pad by {amounts} in mode {mode}": lambda lib, amounts=amounts, mode=mode: lib.nn.functional.pad(
            lib.arange(10.0).reshape(1, 2, 5), amounts, mode
        )
        for mode, amounts in (
            ("replicate", (-5, 5)),
            ("replicate", (2, -5)),
            ("replicate", (-3, 1)),
            ("reflect", (-3, 3)),
            ("reflect", (4, -4)),
            ("reflect", (-2, -1)),
        )
    },
    "whole number where a mask holds": lambda lib: written(lib.zeros(3), mask(lib), lib.tensor(2)),
    "fraction where a mask holds": lambda lib: written(
        lib.zeros(3, dtype=lib.int64), mask(lib), lib.tensor([2.7])
    ),
    "number where a mask of rows holds": lambda lib: written(
        lib.zeros(3, 2, dtype=lib.uint8), mask(lib), lib.tensor(-1)
    ),
    "number where a mask of columns holds": lambda lib: written(
        lib.zeros(2, 3, dtype=lib.complex64), (slice(None), mask(lib)), lib.tensor(2.5)
    ),
    "number where a mask of bools holds": lambda lib: written(
        lib.zeros(3, dtype=lib.bool), mask(lib), lib.tensor(0.5)
    ),
    "number of another dtype where True holds": lambda lib: written(lib.zeros(3), True, lib.tensor(2)),
    "fraction where True holds": lambda lib: written(lib.zeros(3, dtype=lib.int64), True, lib.tensor([2.7])),
    "row of another dtype where True holds": lambda lib: written(lib.zeros(2, 3), True, lib.arange(3)),
    "leading ones where True holds": lambda lib: written(lib.zeros(2), True, lib.ones(1, 1, 1, 2)),
    "number in a 0-d tensor where True holds": lambda lib: written(lib.zeros(()), True, lib.tensor(2)),
    "number in nothing where True holds": lambda lib: written(lib.zeros(0), True, lib.tensor(2)),
    "number of another dtype where False holds": lambda lib: written(lib.zeros(3), False, lib.tensor(2)),
    "whatever shape where False holds": lambda lib: written(lib.zeros(3), False, lib.ones(7, 5)),
    "False writes no leaf": lambda lib: written(lib.ones(3, requires_grad=True), False, 2.0).detach(),
    "False writes where elements lie on each other": lambda lib: written(lib.zeros(1).expand(3), False, 2.0),
    "False leaves the version": lambda lib: lib.tensor(written(lib.zeros(3), False, 2.0)._version),
    "gradient of a row of another dtype where True holds": lambda lib: gradient_where_true(lib),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", ANSWERED)
def test_answers(backend: str, call: str) -> None:
    with tenora.use_backend(backend):
        found, expected = ANSWERED[call](tenora), ANSWERED[call](torch)
        assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
        assert tuple(found.shape) == tuple(expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "arange of int64 in steps that are cut off": lambda lib: lib.arange(0, 64, 0.5, dtype=lib.int64),
    "arange without an end": lambda lib: lib.arange(float("inf"), dtype=lib.int64),
    "cumsum_ of bool": lambda lib: mask(lib).cumsum_(0),
    "roll by nothing": lambda lib: lib.roll(lib.arange(3), ()),
    "counts that are no whole numbers": lambda lib: lib.cov(lib.arange(3.0), fweights=lib.ones(3)),
    "counts below 0": lambda lib: lib.cov(lib.arange(3.0), fweights=lib.tensor([1, -2, 3])),
    "weights of whole numbers": lambda lib: lib.cov(lib.arange(3.0), aweights=lib.arange(3)),
    "weights below 0": lambda lib: lib.cov(lib.arange(3.0), aweights=lib.tensor([1.0, -2.0, 3.0])),
    "istft of another number of frequencies": lambda lib: lib.istft(
        lib.ones(5, 2, dtype=lib.complex64), 10, window=lib.ones(10)
    ),
    "number of another dtype at indices": lambda lib: written(
        lib.zeros(3), lib.tensor([0, 1]), lib.tensor(2)
    ),
    "several numbers of another dtype where a mask holds": lambda lib: written(
        lib.zeros(3), mask(lib), lib.tensor([1, 2])
    ),
    "complex number where a mask of a real tensor holds": lambda lib: written(
        lib.zeros(3), mask(lib), lib.tensor(1 + 2j)
    ),
    "number of another dtype where True and a slice hold": lambda lib: written(
        lib.zeros(3), (True, slice(None)), lib.tensor(2)
    ),
    "too many numbers where True holds": lambda lib: written(lib.zeros(2), True, lib.ones(2, 1, 2)),
    "True writes no leaf": lambda lib: written(lib.ones(2, requires_grad=True), True, 1.0),
    "number that does not fit where a mask holds": lambda lib: written(
        lib.zeros(3, dtype=lib.int8), mask(lib), lib.tensor(300)
    ),
}


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(backend: str, call: str) -> None:
    with tenora.use_backend(backend):
        for lib in (torch, tenora):
            with pytest.raises((RuntimeError, ValueError)):
                REFUSED[call](lib)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 0, 1, 0)])
def test_cat_with_a_vector_without_elements_goes_backward(
    backend: str, dim: int, order: tuple[int, ...]
) -> None:
    """The vector has another rank than the result, which `dim` counts in."""

    def gradients(lib: Any, nothing_needs: bool) -> list[Any]:
        leaves = [
            lib.zeros(0, requires_grad=nothing_needs),
            lib.arange(6.0).reshape(2, 3).requires_grad_(True),
        ]
        joined = lib.cat([leaves[i] for i in order], dim=dim)
        needing = [leaf for leaf in leaves if leaf.requires_grad]
        first = lib.autograd.grad((joined**3).sum(), needing, create_graph=True)
        return [*first, *lib.autograd.grad(first[-1].sum(), needing[-1:])]

    with tenora.use_backend(backend):
        for nothing_needs in (False, True):
            for found, expected in zip(
                gradients(tenora, nothing_needs), gradients(torch, nothing_needs), strict=True
            ):
                assert tuple(found.shape) == tuple(expected.shape)
                np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
