"""Every record on all its samples, dtypes and layouts against its own oracle, on every installed backend."""

from __future__ import annotations

import numpy as np
import op_cases
import pytest

import tenora
import tenora_ops
from tenora_ops.samples import INTEGERS

pytestmark = pytest.mark.any_device

RECORDS = [r.name for r in tenora_ops.records()]


@pytest.mark.parametrize("name", RECORDS)
def test_oracle(name: str, backend: str) -> None:
    record = op_cases.judged(name)
    ran = 0
    for dtype, number, sample, answer in op_cases.cases(record):
        layouts = (
            op_cases.LAYOUTS
            if op_cases.has_arrays(sample) and name not in op_cases.LAYOUT_BOUND
            else ("contiguous",)
        )
        for layout in layouts:
            where = f"{name}({sample}) sample {number}, {layout}"
            op_cases.compare(record, dtype, sample, op_cases.call(record, sample, layout), answer, where)
            ran += 1
    assert ran >= 6, f"{name}: only {ran} cases"


@pytest.mark.parametrize("name", [r.name for r in tenora_ops.records() if r.inplace and not r.random])
def test_inplace_equals_functional(name: str, backend: str) -> None:
    """`x.op_(...)` leaves in x what `op(x, ...)` gives, where shape and dtype fit; else it refuses, x unchanged.

    A view changes the window, so that every shape fits. Sums of whole numbers stay in the target's dtype.
    """
    record = op_cases.judged(name)
    ran = 0
    for dtype in op_cases.dtypes_of(record):
        for sample in op_cases.samples_of(name, dtype):
            if not isinstance(sample.arguments[0], np.ndarray):
                continue
            fresh = op_cases.call(record, sample)
            target, *rest = op_cases.arguments_of(record, sample)
            target = target.clone()
            before = op_cases.as_numpy(target).copy()
            fits = (
                record.view
                or tuple(fresh.shape) == tuple(target.shape)
                and (
                    fresh.dtype == target.dtype
                    or record.dtype in ("promote_bool", "promote_bool_real", "bool")
                )
            )
            method = getattr(target, record.inplace_name)
            keeps_whole = any(a.name == "dtype" for a in record.schema.attributes) and dtype in INTEGERS
            if fits or keeps_whole:
                assert method(*rest, **op_cases.options_of(record, sample)) is target
                found = fresh if fresh.dtype == target.dtype else fresh.to(target.dtype)
                op_cases.close(record, target, found, str(sample))
                ran += 1
            else:
                with pytest.raises(RuntimeError):
                    method(*rest, **op_cases.options_of(record, sample))
                np.testing.assert_array_equal(op_cases.as_numpy(target), before, err_msg=str(sample))
    assert ran, f"{name}_ was never tried"


@pytest.mark.parametrize("name", [r.name for r in tenora_ops.records() if r.out])
def test_out_equals_functional(name: str, backend: str) -> None:
    """`op(..., out=t)` fills t and returns it; with several results, the tuple that the op returns without out=."""
    record = op_cases.judged(name)
    function = tenora_ops.REGISTERED[name]
    for dtype in op_cases.dtypes_of(record):
        for sample in op_cases.samples_of(name, dtype)[:4]:
            fresh = op_cases.call(record, sample)
            several = isinstance(fresh, tuple)
            results = list(fresh) if several else [fresh]
            targets = [tenora.empty_like(r) for r in results]
            out = tuple(targets) if several else targets[0]
            arguments, options = op_cases.arguments_of(record, sample), op_cases.options_of(record, sample)
            found = function(*arguments, **options, out=out)
            assert type(found) is type(fresh)
            assert all(a is b for a, b in zip(found if several else [found], targets, strict=True))
            if record.tolerance != "unspecified":
                for target, result in zip(targets, results, strict=True):
                    op_cases.close(record, target, result, str(sample))


def test_unspecified_memory_is_the_only_thing_not_compared() -> None:
    lax = {r.name for r in tenora_ops.records() if r.tolerance == "unspecified"}
    assert lax == {"empty", "empty_like"}


def test_a_wrong_oracle_is_noticed() -> None:
    """The comparison itself: values, dtype and shape that differ are failures."""
    record = tenora_ops.record("mul")
    sample = op_cases.samples_of("mul", "float32")[1]
    answer = op_cases.expected("mul", "float32")[1]
    got = op_cases.call(record, sample)
    op_cases.compare(record, "float32", sample, got, answer, "right")
    for wrong in (answer * (1 + 1e-5), answer[:1], (answer > 0)):
        with pytest.raises(AssertionError):
            op_cases.compare(record, "float32", sample, got, wrong, "wrong")
