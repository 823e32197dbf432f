"""Values of arguments that no sample of a record has: compared with PyTorch, or without effect (argument_forms.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import argument_forms
import numpy as np
import op_cases
import parity_cases as parity
import pytest
import torch

import tenora
from tenora_ops.record import Record
from tenora_ops.samples import Draw, Sample

DTYPES = {"float32", "float64", "complex64", "complex128", "int64", "int32"}


#: PyTorch gives lstsq no gradient of singular values, so that sums over all results differ; gradcheck judges ours.
WITHOUT_GRADIENT = {"linalg_lstsq"}
#: PyTorch replaces small variances outside of autograd, here their second gradient is that of a constant.
WITHOUT_SECOND = {"gaussian_nll_loss"}


def forms(record: Record) -> Iterator[tuple[str, Sample]]:
    for dtype in op_cases.dtypes_of(record):
        if dtype in DTYPES and not (record.name in WITHOUT_GRADIENT and dtype in ("float64", "complex128")):
            draw = Draw(dtype, record.domain, record.name)
            yield from ((dtype, form) for form in argument_forms.FORMS[record.name](draw))


@pytest.mark.oracle
@pytest.mark.parametrize("name", argument_forms.FORMS)
def test_forms(name: str, backend: str) -> None:
    record = op_cases.judged(name)
    compared = 0
    left_out = []
    for dtype, form in forms(record):
        try:
            parity.one_case(record, dtype, form, f"{name}({form}) {dtype}", second=name not in WITHOUT_SECOND)
            compared += 1
        except parity.Uncompared as reason:
            left_out.append(str(reason))
            compared += "gradient" in str(reason)  # the values were compared before
    assert compared, (name, left_out)


@pytest.mark.parametrize(("name", "argument"), argument_forms.HINTS)
def test_hints_change_nothing(name: str, argument: str, backend: str) -> None:
    record = op_cases.judged(name)
    value = argument_forms.HINTS[name, argument]
    places = [p.name for p in record.schema.parameters if not p.keyword_only]
    compared = 0
    for dtype in sorted(DTYPES & set(op_cases.dtypes_of(record))):
        for plain in op_cases.samples_of(name, dtype):
            if argument in places and places.index(argument) < len(plain.arguments):
                arguments = list(plain.arguments)
                arguments[places.index(argument)] = value
                hinted = Sample(tuple(arguments), plain.options)
            else:
                hinted = Sample(plain.arguments, plain.options | {argument: value})
            pairs = zip(*(parity.results_of(op_cases.call(record, s)) for s in (plain, hinted)), strict=True)
            for a, b in pairs:
                op_cases.close(record, a, b, f"{name}({hinted})")
                compared += 1
    assert compared


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("momentum", [0.1, 0.3, 1.0])
def test_momentum(name: str, momentum: float, backend: str) -> None:
    """How far the running statistics follow."""
    op_cases.judged(name, ["float64"])
    values = np.random.default_rng(3).normal(size=(4, 3, 5))
    found: list[list[Any]] = []
    for lib, convert in ((tenora, op_cases.to_tensor), (torch, torch.from_numpy)):
        running = [convert(np.full(3, v)) for v in (0.5, 2.0)]
        function: Any = getattr(lib.nn.functional, name)
        function(convert(values.copy()), *running, None, None, True, momentum)
        found.append([r.tolist() for r in running])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (2, 3, 4)])
def test_factors_without_pivots(shape: tuple[int, ...], backend: str) -> None:
    """A = L U, rows in their places; the gradient is that of the numbers."""
    op_cases.judged("linalg_lu", ["float64"])
    draw = Draw("float64", argument_forms.SQUARE, "lu")
    a = op_cases.to_tensor(argument_forms.regular(draw, *shape))
    k, rows = min(shape[-2:]), shape[-2]
    packed, pivots, *_ = tenora.linalg.lu_factor_ex(a, pivot=False)
    for found, places in (
        (packed, pivots),
        tenora.linalg.lu_factor(a, pivot=False),
        tenora.lu(a, pivot=False),
    ):
        low = tenora.tril(found[..., :k], -1) + tenora.eye(rows, k, dtype=a.dtype, device=a.device)
        product = op_cases.as_numpy(low @ tenora.triu(found[..., :k, :]))
        np.testing.assert_allclose(product, op_cases.as_numpy(a), atol=1e-12)
        assert (op_cases.as_numpy(places) == np.arange(1, k + 1)).all()
    _, low, up = tenora.linalg.lu(a, pivot=False)
    np.testing.assert_allclose(op_cases.as_numpy(low @ up), op_cases.as_numpy(a), atol=1e-12)
    if shape[-2] == shape[-1]:
        assert tenora.autograd.gradcheck(
            lambda x: tenora.linalg.lu(x, pivot=False)[1:], (a.requires_grad_(True),)
        )


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_over_how_often_a_row_is_looked_up(mode: str, backend: str) -> None:
    """By definition: the gradient of a row over its count in all bags."""
    op_cases.judged("embedding_bag", ["float64"])
    rows = np.array([[0, 1, 1], [1, 3, 0]])
    weight = op_cases.to_tensor(np.arange(10.0).reshape(5, 2)).requires_grad_(True)
    slopes = np.array([[1.0, 2.0], [3.0, 5.0]])
    out = tenora.nn.functional.embedding_bag(
        op_cases.to_tensor(rows), weight, mode=mode, scale_grad_by_freq=True
    )
    (found,) = tenora.autograd.grad((out * op_cases.to_tensor(slopes)).sum(), weight)
    wanted = np.zeros((5, 2))
    for bag, members in enumerate(rows):
        for row in members:
            wanted[row] += slopes[bag] / (rows == row).sum() / (3 if mode == "mean" else 1)
    np.testing.assert_allclose(op_cases.as_numpy(found), wanted, rtol=1e-14)
