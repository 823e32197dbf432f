"""How tensors print, against PyTorch's own text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tenora

ARRAYS: dict[str, Any] = {
    "whole": np.array([1.0, 2.0, -3.0], np.float32),
    "digits": np.array([[1.5, -2.25], [3.125, 4.0]], np.float32),
    "wide": np.array([1e-5, 1.0, 1e4], np.float32),
    "large": np.array([1e10, 2.0], np.float32),
    "special": np.array([np.nan, np.inf, -np.inf, 1.0], np.float32),
    "ints": np.array([[1, -20], [300, 4]]),
    "int32": np.array([1, 2], np.int32),
    "bools": np.array([True, False]),
    "true": np.array([True, True]),
    "doubles": np.array([0.1, 0.2]),
    "scalar": np.array(3.5, np.float32),
    "int scalar": np.array(7),
    "empty": np.zeros((0,), np.float32),
    "empty 2d": np.zeros((0, 3), np.float32),
    "summary": np.arange(2000, dtype=np.float32),
    "summary 2d": np.arange(4000).reshape(20, 200),
    "cube": np.arange(8).reshape(2, 2, 2),
    "complex": np.array([1 + 2j, -0.5 - 1j], np.complex64),
    "long line": np.arange(40) * 1000,
    "long floats": np.linspace(0, 1, 40, dtype=np.float32).reshape(2, 20),
    "summary cube": np.arange(8000, dtype=np.float64).reshape(20, 20, 20) / 7,
    "zeros": np.zeros((2, 2), np.float32),
    "half": np.array([0.1, 0.25], np.float16),
    "negative zero": np.array([-0.0, 0.0], np.float32),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_repr_equals_pytorchs(name: str) -> None:
    assert repr(tenora.tensor(ARRAYS[name])).replace("tenora.", "torch.") == repr(torch.tensor(ARRAYS[name]))


def test_repr_tells_of_gradients() -> None:
    x = tenora.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x * 2).startswith("tensor([2., 2.], grad_fn=<Mul")


@pytest.mark.parametrize("option", ["precision", "threshold", "edgeitems", "linewidth"])
@pytest.mark.parametrize("value", ["a", -1, 1.5, True])
def test_print_options_that_are_no_numbers_change_nothing(option: str, value: Any) -> None:
    before = repr(tenora.tensor([1.23456]))
    with pytest.raises(ValueError, match=rf"^\[set_printoptions\] {option}: got"):
        tenora.set_printoptions(**{option: value})
    assert repr(tenora.tensor([1.23456])) == before
