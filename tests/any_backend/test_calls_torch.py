"""Single calls against PyTorch where no sample leads: nothing to work on, other kinds of numbers, refusals.

- Where PyTorch answers: the same dtype, shape and elements, NaN and infinity included.
- Where it refuses: an error of a public type that starts with the op's own name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

Call = Callable[[Any], Any]
NAN, INF = float("nan"), float("inf")


def normalised(f: Any, *shape: int) -> list[Any]:
    """batch_norm in training: the result, both running statistics and all gradients."""
    x, w, b = (f.ones(s, requires_grad=True) for s in (shape, shape[1:2], shape[1:2]))
    mean, var = f.zeros(shape[1]), f.ones(shape[1])
    y = f.nn.functional.batch_norm(x, mean, var, w, b, training=True)
    y.sum().backward()
    return [y.detach(), mean, var, x.grad, w.grad, b.grad]


def added(f: Any, kind: str, alpha: Any, value: int = 1) -> Any:
    dtype = getattr(f, kind)
    return f.index_add(
        f.zeros(3, dtype=dtype), 0, f.tensor([0, 2, 0]), f.full((3,), value, dtype=dtype), alpha=alpha
    )


def dropped(f: Any, name: str, p: float) -> Any:
    places = (1, 1) if name == "dropout2d" else (1,)
    return getattr(f.nn.functional, name)(f.tensor([NAN, INF, 1.0]).reshape(1, 3, *places), p, True)


ANSWERS: dict[str, Call] = {
    "batch_norm without rows": lambda f: normalised(f, 0, 3),
    "batch_norm without images": lambda f: normalised(f, 0, 3, 2, 2),
    "batch_norm without places": lambda f: normalised(f, 2, 3, 0),
    "BatchNorm1d without rows": lambda f: f.nn.BatchNorm1d(3)(f.ones(0, 3)).detach(),
    "index_add, alpha 2.5": lambda f: added(f, "int64", 2.5),
    "index_add, alpha -2.5 of 3": lambda f: added(f, "int32", -2.5, 3),
    "index_add, alpha 2.5 of bool": lambda f: added(f, "bool", 2.5),
    "index_add, bool": lambda f: added(f, "bool", 1),
    "index_add, alpha 0 of bool": lambda f: added(f, "bool", 0),
    "index_add, alpha True": lambda f: added(f, "float32", True),
    "div_ down": lambda f: f.tensor([-7.0, 7.0]).div_(2, rounding_mode="floor"),
    "div_ towards 0": lambda f: f.tensor([-7, 7]).div_(f.tensor(2), rounding_mode="trunc"),
    "divide_": lambda f: f.tensor([-7.0, 7.0]).divide_(2, rounding_mode="trunc"),
    "div_ without a mode": lambda f: f.tensor([-7.0, 7.0]).div_(2, rounding_mode=None),
    "cond 0x0": lambda f: f.linalg.cond(f.ones(0, 0)),
    "cond 3x0": lambda f: f.linalg.cond(f.ones(3, 0), 2),
    "cond of stacks of 0x0": lambda f: f.linalg.cond(f.ones(2, 0, 0), -2),
    "cond of complex 0x0": lambda f: f.linalg.cond(f.ones(0, 0, dtype=f.complex64)),
    "cond of no matrix": lambda f: f.linalg.cond(f.ones(0, 3, 3)),
    "multinomial without rows": lambda f: f.multinomial(f.ones(0, 2), 1),
    "multinomial without rows, replaced": lambda f: f.multinomial(f.ones(0, 2), 3, True),
    "normal of no deviation": lambda f: f.normal(0.0, f.tensor([])),
    **{
        f"{name} of NaN": lambda f, name=name: dropped(f, name, 1.0)
        for name in ("dropout", "dropout1d", "dropout2d", "alpha_dropout", "feature_alpha_dropout")
    },
    **{
        f"{name} of an empty {kind}": lambda f, name=name, kind=kind: getattr(f, name)(
            f.ones(0, dtype=getattr(f, kind))
        )
        for name in ("median", "nanmedian")
        for kind in ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "bfloat16")
    },
    "fftfreq of none": lambda f: f.fft.fftfreq(0),
    "fftfreq of half": lambda f: f.fft.fftfreq(3, dtype=f.float16),
    **{
        f"{name} of {kind} and degrees of {other}": lambda f, name=name, kind=kind, other=other: getattr(
            f.special, name
        )(f.tensor([2, 3], dtype=getattr(f, kind)), f.tensor([1, 2], dtype=getattr(f, other)))
        for name in ("chebyshev_polynomial_t", "hermite_polynomial_he", "legendre_polynomial_p")
        for kind, other in (
            ("float32", "float64"),
            ("int64", "float64"),
            ("float64", "int32"),
            ("uint8", "bool"),
        )
    },
    "a polynomial of numbers": lambda f: f.special.laguerre_polynomial_l(
        f.tensor(2.0), f.tensor([1.0, 2.0], dtype=f.float64)
    ),
    "zeta at a number": lambda f: f.special.zeta(f.tensor([2.5, 1.0, 0.5]), 2.0),
    "zeta of a number": lambda f: f.special.zeta(3, f.tensor([2, 1])),
    "zeta of True": lambda f: f.special.zeta(f.tensor([2.0], dtype=f.float64), True).float(),
    "histogram of 100 bins": lambda f: f.histogram(f.tensor([1.0, 2.0, 2.5])).hist,
    "split by a number in a tensor": lambda f: f.arange(5).split(f.tensor(2))[2],
    "split by a tensor of one": lambda f: f.split(f.arange(5), f.tensor([4]))[1],
}
#: What has no tensor where one is needed.
NO_TENSORS: dict[str, Call] = {
    **{
        f"{name}, in place": lambda f, name=name: getattr(f.nn.functional, name)([1.0], inplace=True)
        for name in (
            "relu",
            "elu",
            "celu",
            "selu",
            "hardtanh",
            "hardsigmoid",
            "hardswish",
            "mish",
            "silu",
            "relu6",
        )
    },
    "relu, written": lambda f: f.nn.functional.relu_([1.0]),
    "relu6": lambda f: f.nn.functional.relu6([1.0]),
    "hardtanh": lambda f: f.nn.functional.hardtanh([1.0]),
    "threshold": lambda f: f.nn.functional.threshold([1.0], 1, 1),
    "threshold, written": lambda f: f.nn.functional.threshold_([1.0], 1, 1),
    "linear": lambda f: f.nn.functional.linear(f.ones(2, 2), 1),
    "gaussian_nll_loss": lambda f: f.nn.functional.gaussian_nll_loss(f.ones(2), f.ones(2), 1j),
    "embedding": lambda f: f.nn.functional.embedding([0], f.ones(2, 2), None, 1.0),
    "type_as": lambda f: f.ones(2).type_as(1),
    "is_same_size": lambda f: f.ones(2).is_same_size(1),
    "special.zeta": lambda f: f.special.zeta(2, 3),
}
REFUSALS: dict[str, Call] = {
    "index_add, beyond": lambda f: f.index_add(f.zeros(3), 0, f.tensor([5]), f.ones(1)),
    "index_add, source of another dtype": lambda f: f.index_add(
        f.zeros(3), 0, f.tensor([0]), f.ones(1, dtype=f.int64)
    ),
    "index_add, infinite alpha": lambda f: added(f, "int64", INF),
    "div, other mode": lambda f: f.ones(3).div_(2, rounding_mode="up"),
    "div, whole target": lambda f: f.ones(3, dtype=f.int64).div_(2, rounding_mode=None),
    "multinomial, too many": lambda f: f.multinomial(f.ones(0, 2), 3),
    "normal, negative": lambda f: f.normal(0.0, -1.0, (2,)),
    "normal, NaN": lambda f: f.normal(0.0, NAN, (2,)),
    "normal, elements of NaN": lambda f: f.normal(0.0, f.tensor([NAN])),
    "normal, negative elements": lambda f: f.normal(f.zeros(2), -f.ones(2)),
    "fft.fftfreq, negative": lambda f: f.fft.fftfreq(-1),
    "fft.fftfreq, whole numbers": lambda f: f.fft.fftfreq(3, dtype=f.int64),
    "fft.rfftfreq, bool": lambda f: f.fft.rfftfreq(3, dtype=f.bool),
}


def results(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(case: str, backend: str) -> None:
    found, wanted = results(ANSWERS[case](tenora)), results(ANSWERS[case](torch))
    assert len(found) == len(wanted)
    for mine, other in zip(found, wanted, strict=True):
        assert str(mine.dtype).removeprefix("tenora.") == str(other.dtype).removeprefix("torch.")
        assert tuple(mine.shape) == tuple(other.shape)
        np.testing.assert_array_equal(np.array(mine.tolist()), np.array(other.tolist()))


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str, backend: str) -> None:
    with pytest.raises((RuntimeError, IndexError)):
        REFUSALS[case](torch)
    with pytest.raises((RuntimeError, IndexError), match=rf"^\[{re.escape(case.split(',')[0])}\] "):
        REFUSALS[case](tenora)


@pytest.mark.parametrize("case", NO_TENSORS)
def test_no_tensor_is_a_type_error(case: str, backend: str) -> None:
    with pytest.raises((TypeError, AttributeError, RuntimeError)):
        NO_TENSORS[case](torch)
    with pytest.raises(TypeError, match=rf"^\[{re.escape(case.split(',')[0])}\] .*: got .*, expected "):
        NO_TENSORS[case](tenora)


@pytest.mark.parametrize("name", ["dropout", "dropout2d", "alpha_dropout", "feature_alpha_dropout"])
def test_dropped_elements_stay_nan(name: str, backend: str) -> None:
    """Half of 40 are dropped, in vain; finite ones are."""
    function = getattr(tenora.nn.functional, name)
    assert tenora.isnan(function(tenora.full((1, 40, 1, 1), NAN), 0.5, True)).all()
    kept = function(tenora.ones(1, 400, 1, 1), 0.5, True)
    assert not tenora.isnan(kept).any() and 100 < (kept == kept.max()).sum().item() < 300


def test_functional_exports_functions_alone() -> None:
    functional = tenora.nn.functional
    exported = functional.__all__
    assert len(exported) == len(set(exported)) > 100
    foreign = [n for n in exported if not callable(getattr(functional, n)) or n in ("Any", "Tensor")]
    assert not foreign
    missing = [n for n in dir(functional) if n[0] != "_" and n not in exported]
    assert all(not callable(v := getattr(functional, n)) or inspect.isclass(v) or v is Any for n in missing)
