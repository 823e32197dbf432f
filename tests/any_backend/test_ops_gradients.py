"""Every differentiable record's gradient and second gradient against finite differences in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import op_cases
import pytest

import tenora
import tenora_ops
from tenora_autograd import gradcheck, gradgradcheck
from tenora_ops.record import Record
from tenora_ops.samples import Draw, Sample

pytestmark = pytest.mark.any_device

LARGEST = 30  # elements of a sample that finite differences still walk through
#: What a record's `no_differences` leaves out is told in docs/ops.md, with the reason.
DIFFERENTIABLE = [
    r.name
    for r in tenora_ops.records()
    if r.differentiable and (not r.no_differences or r.gradient_samples is not None)
]


def prepared(record: Record, sample: Sample) -> tuple[Any, list[Any]] | None:
    """A function of the sample's floating tensors alone, and those tensors; None for a sample without any."""
    arguments = op_cases.arguments_of(record, sample)
    options = op_cases.options_of(record, sample)
    leaves: list[Any] = []
    slots: list[tuple[int, int | None]] = []
    frozen = {p.name for p in record.schema.operands if p.name in record.shape_only + record.no_gradient}
    names = [p.name for p in record.schema.parameters]
    for i, value in enumerate(arguments):
        items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for j, item in items:
            if isinstance(item, tenora.Tensor) and (item.dtype.is_floating_point or item.dtype.is_complex):
                if names[min(i, len(names) - 1)] not in frozen:  # `*tensors` is one name
                    slots.append((i, j))
                    leaves.append(item.clone().requires_grad_(True))
    if not leaves:
        return None
    function = tenora_ops.REGISTERED[record.name]

    def run(*given: Any) -> Any:
        if record.hermitian:  # differences must stay so
            given = tuple((t + tenora.conj(t.transpose(-2, -1))) / 2 for t in given)
        filled = [list(a) if isinstance(a, list) else a for a in arguments]
        for (i, j), tensor in zip(slots, given, strict=False):
            if j is None:
                filled[i] = tensor
            else:
                filled[i][j] = tensor
        found = function(*filled, **options)
        if not record.not_differentiable:
            return found
        return tuple(result for i, result in enumerate(found) if i not in record.not_differentiable)

    return run, leaves


def elements(value: Any) -> int:
    return sum(map(elements, value)) if isinstance(value, list) else int(np.size(value))


def checked_samples(record: Record) -> list[tuple[str, Sample]]:
    found = []
    for dtype in ("float64", "complex128"):
        if dtype not in op_cases.dtypes_of(record):
            continue
        if record.gradient_samples is None:
            source = op_cases.samples_of(record.name, dtype)
        else:
            source = tuple(record.gradient_samples(Draw(dtype, record.domain, record.name)))
        for sample in source:
            small = sum(elements(v) for v in sample.arguments if isinstance(v, np.ndarray | list)) <= LARGEST
            if small:
                found.append((dtype, sample))
    return found


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient(name: str, backend: str) -> None:
    record = op_cases.judged(name, ("float64", "complex128"))
    ran = 0
    for dtype, sample in checked_samples(record):
        case = prepared(record, sample)
        if case is not None:
            run, leaves = case
            try:
                assert gradcheck(run, leaves)
            except Exception as error:
                raise AssertionError(f"{name}({sample}) in {dtype}: {error}") from error
            ran += 1
    assert ran, f"{name}: no sample was checked"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_gradient(name: str, backend: str) -> None:
    record = op_cases.judged(name, ("float64", "complex128"))
    ran = 0
    for dtype, sample in checked_samples(record):
        case = prepared(record, sample)
        if case is not None and sum(leaf.numel() for leaf in case[1]) <= LARGEST:
            run, leaves = case
            try:
                assert gradgradcheck(run, leaves)
            except Exception as error:
                raise AssertionError(f"{name}({sample}) in {dtype}: {error}") from error
            ran += 1
    assert ran, f"{name}: no sample was checked"


def test_fill_cuts_history(backend: str) -> None:
    x = tenora.ones(3, requires_grad=True)
    y = x * 2
    y.fill_(5.0)
    (y.sum() + x.sum()).backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_gradcheck_notices_a_wrong_gradient() -> None:
    class Wrong(tenora.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * x

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 3

    x = tenora.tensor([0.5, 2.0], dtype=tenora.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="element 0"):
        gradcheck(Wrong.apply, (x,))
    assert gradcheck(Wrong.apply, (x,), raise_exception=False) is False
