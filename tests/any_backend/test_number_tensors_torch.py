"""Tensors without dims where a float or a number is expected, against PyTorch: each such parameter of each op.

- One that does not require grad is read as a number, whatever its dtype; True is 1.0 there, as everywhere in Python.
- Where an overload takes a tensor as it is (`linalg.pinv(rtol=...)`), that comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import op_cases
import parity_cases as parity
import pytest
import torch

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Draw, Sample
from tenora_ops.schema import Parameter

pytestmark = pytest.mark.oracle

#: Arguments that stand beside another one, or whose sequences alone PyTorch's function takes as they are.
APART = {"output_ratio", "scale_factor"}
#: The rank of a QR decomposition and that of singular values agree only for tolerances that a program would ask for.
SMALL = {"rcond": 1e-3, "eps": 0.25}

#: Without training nothing is drawn, and the argument not read.
UNREAD = {"dropout", "alpha_dropout", "feature_alpha_dropout"}

FORMS: dict[str, Callable[[Any, float], Any]] = {
    "float32": lambda m, v: m.tensor(float(v), dtype=m.float32),
    "float64": lambda m, v: m.tensor(float(v), dtype=m.float64),
}
#: Of a value that is 1.
WHOLE: dict[str, Callable[[Any, float], Any]] = {
    "int64": lambda m, v: m.tensor(int(v)),
    "bool": lambda m, v: m.tensor(bool(v)),
    "True": lambda m, v: bool(v),
    "numpy's True": lambda m, v: np.bool_(v),
}
REFUSED: dict[str, Callable[[Any, float], Any]] = {
    "one dim": lambda m, v: m.tensor([float(v)]),
    "requires grad": lambda m, v: m.tensor(float(v), requires_grad=True),
}


def numbers(record: Record) -> list[Parameter]:
    """The parameters that are floats."""
    kinds = ("float", "float?", "real", "real?")
    return [p for p in record.schema.parameters if p.type in kinds and p.name not in APART]


def cases() -> Iterator[tuple[str, str]]:
    for record in tenora_ops.records():
        if record.public and "float32" in record.dtypes:
            yield from ((record.name, p.name) for p in numbers(record))


def given(record: Record, name: str) -> tuple[Sample, float]:
    """A sample, one that names the argument if there is any, and a value for it."""
    places = [p.name for p in record.schema.parameters if not p.keyword_only]
    drawn = list(record.samples(Draw("float32", record.domain, record.name)))
    values = [dict(zip(places, s.arguments, strict=False)) | s.options for s in drawn]
    found = next((i for i, v in enumerate(values) if name in v), 0)
    value = values[found].get(name, next(p.default for p in numbers(record) if p.name == name))
    usual = isinstance(value, int | float) and 0.01 <= abs(value) < 100
    return drawn[found], SMALL.get(name, float(value) if usual else 1.0)


def ours(record: Record) -> Callable[..., Any]:
    place: Any = tenora
    for part in record.public.split("."):
        place = getattr(place, part, None) or getattr(tenora.Tensor, part)
    found: Callable[..., Any] = place
    return found


def answer(m: Any, record: Record, name: str, drawn: Sample, number: Any) -> Any:
    """Dtypes and values, of a draw nothing but that it worked; or the error."""
    if m is torch:
        function, arguments, options = parity.torch_call(record, drawn)
    else:
        function = ours(record)
        arguments = [op_cases.to_tensor(a) for a in drawn.arguments]
        options = {
            k: getattr(tenora, v) if k == "dtype" else op_cases.to_tensor(v) for k, v in drawn.options.items()
        }
    places = [p.name for p in record.schema.parameters if not p.keyword_only]
    if name in places and places.index(name) < len(arguments):
        arguments[places.index(name)] = number
    else:
        options[name] = number
    try:
        results = parity.results_of(function(*arguments, **options))
    except Exception as error:
        return error
    if parity.draws(record):
        return []
    return [
        (str(r.dtype).split(".")[1], np.asarray(r.detach().numpy())) if hasattr(r, "detach") else ("", r)
        for r in results
    ]


@pytest.mark.parametrize(("op", "name"), list(cases()))
def test_floats(op: str, name: str) -> None:
    record = op_cases.judged(op)
    drawn, value = given(record, name)
    told = [answer(m, record, name, drawn, value) for m in (tenora, torch)]
    compared = 0
    forms = FORMS | (WHOLE if value == 1 else {}) | ({} if op in UNREAD else REFUSED)
    for form, made in forms.items():
        mine, theirs = (answer(m, record, name, drawn, made(m, value)) for m in (tenora, torch))
        where = (form, mine, theirs)
        if isinstance(theirs, Exception):
            unknown = isinstance(told[1], Exception)  # PyTorch's function takes no such argument at all
            assert unknown or isinstance(mine, type(theirs)), where
            continue
        if isinstance(mine, Exception):  # PyTorch computes with some as tensors
            assert form in REFUSED, where
            continue
        assert [d for d, _ in mine] == [d for d, _ in theirs], where
        for (_, a), (_, b) in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        compared += 1
    assert compared or isinstance(told[1], Exception), told


#: What is no record's parameter: a method, a layer, a function in Python.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "normal_": lambda m, v: m.ones(2, 3).normal_(v, std=0.0),
    "uniform_": lambda m, v: m.ones(2, 3).uniform_(v, v),
    "log_normal_": lambda m, v: m.ones(2).log_normal_(v, 1e-9),
    "normal of numbers": lambda m, v: m.normal(v, 0.0, (2,)),
    "normal of two, and a size": lambda m, v: m.normal(v, v * 0, (2,)),
    "bernoulli": lambda m, v: m.bernoulli(m.ones(3), v * 0),
    "Dropout": lambda m, v: m.nn.Dropout(v * 0)(m.ones(3)),
    "LeakyReLU": lambda m, v: m.nn.LeakyReLU(v)(-m.ones(3)),
    "LayerNorm": lambda m, v: m.nn.LayerNorm(3, v, False)(m.arange(3.0)),
    "momentum": lambda m, v: m.nn.functional.batch_norm(
        m.arange(6.0).reshape(2, 3), m.zeros(3), m.ones(3), training=True, momentum=v
    ),
    "label_smoothing": lambda m, v: m.nn.functional.cross_entropy(
        m.arange(6.0).reshape(2, 3), m.tensor([0, 1]), label_smoothing=v
    ),
    "scale": lambda m, v: m.nn.functional.scaled_dot_product_attention(
        *[m.arange(6.0).reshape(2, 3)] * 3, scale=v
    ),
    "gradient": lambda m, v: m.stack(m.gradient(m.arange(6.0).reshape(2, 3) ** 2, spacing=v)),
    "gradient, whole": lambda m, v: m.gradient(m.arange(6.0), spacing=m.tensor(2))[0],
    "alpha": lambda m, v: m.add(m.ones(3), m.ones(3), alpha=v),
    "pinv": lambda m, v: m.linalg.pinv(m.eye(2), rtol=v),
    "matrix_rank": lambda m, v: m.linalg.matrix_rank(m.eye(2), v),
    "matrix_rank, atol": lambda m, v: m.linalg.matrix_rank(m.eye(2), atol=v),
    "normal of tensors": lambda m, v: m.normal(v, v * 0),
    "std of all": lambda m, v: m.arange(4.0).std(correction=v),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_calls(name: str, dtype: str, backend: str) -> None:
    results = [CALLS[name](m, m.tensor(0.5, dtype=getattr(m, dtype))) for m in (tenora, torch)]
    assert str(results[0].dtype).split(".")[1] == str(results[1].dtype).split(".")[1]
    assert tuple(results[0].shape) == tuple(results[1].shape)
    np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", ["normal_", "LeakyReLU", "gradient", "alpha", "std of all", "scale"])
def test_a_history_is_not_cut(name: str, backend: str) -> None:
    """Not by `no_grad` either: PyTorch looks at the tensor alone."""
    for m in (tenora, torch):
        with pytest.raises(TypeError):
            CALLS[name](m, m.tensor(0.5, requires_grad=True))
        with m.no_grad(), pytest.raises(TypeError):
            CALLS[name](m, m.tensor(0.5, requires_grad=True))


def test_complex_numbers(backend: str) -> None:
    """Their real part, where there is no other."""
    for m in (tenora, torch):
        assert m.ones(2).uniform_(m.tensor(2 + 0j), 2.0).tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError):
            m.ones(2).uniform_(m.tensor(1 + 1j), 2.0)
        with pytest.raises(TypeError):
            m.ones(2).uniform_(2 + 0j, 2.0)
    with pytest.raises(RuntimeError, match=r"^\[uniform\] low is wrong: got a tensor whose imaginary part"):
        tenora.ones(2).uniform_(tenora.tensor(1 + 1j), 2.0)
