"""Half types compute in float32 and round once: op(half) is op(the same numbers in float32), rounded.

- With and without a gradient: recording an op by its parts must not change its value.
- A fused kernel of a backend is held to the same: it computes in float32 (or wider) and rounds once.
- Where a kernel takes float32 and the composite half types, two computations in float32 are compared, each within the
  op's tolerance: the half must lie between the ends of that tolerance, rounded.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import op_cases
import pytest

import tenora
import tenora_ops
from tenora_engine import _engine
from tenora_ops.record import Record
from tenora_ops.samples import Sample
from tenora_ops.tolerance import TOLERANCES

HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
#: These draw numbers by a formula of the dtype, or make them from none, or from the limits of the dtype.
LEFT_OUT = {"rand", "uniform", "random_all", "bernoulli", "arange_end", "eye", "nan_to_num"}
LEFT_OUT |= {"randn", "randint", "randperm", "normal_size"}
NAMES = [
    r.name
    for r in tenora_ops.records()
    if r.kind in ("composite", "function")
    and {"float16", "float32"} <= set(r.dtypes)
    and r.name not in LEFT_OUT
]


def in_float32(value: Any) -> Any:
    if isinstance(value, list):
        return [in_float32(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype in HALVES.values():
        return value.astype(np.float32)
    return value


def leaves(value: Any) -> Any:
    if isinstance(value, list):
        return [leaves(v) for v in value]
    floating = isinstance(value, tenora.Tensor) and value.dtype.is_floating_point
    return value.requires_grad_(True) if floating else value


def results(record: Record, sample: Sample, gradient: bool) -> list[Any]:
    arguments, options = op_cases.arguments_of(record, sample), op_cases.options_of(record, sample)
    if gradient:
        arguments = [leaves(a) for a in arguments]
    found = tenora_ops.REGISTERED[record.name](*arguments, **options)
    return list(found) if isinstance(found, tuple) else [found]


def slack(record: Record, half: str, told: np.ndarray) -> Any:
    """How far two results in float32 may differ: not at all where one implementation serves both dtypes."""
    served = {
        _engine.explain(record.name, "cpu", getattr(tenora, d))["implementation"] for d in (half, "float32")
    }
    if len(served) == 1:
        return 0.0
    size = np.where(np.isfinite(told), np.abs(told), 0)
    rtol, atol = TOLERANCES[record.tolerance].bounds("float32", float(size.max(initial=0)))
    return np.where(np.isfinite(told), atol + rtol * size, 0)


def check(record: Record, half: str, sample: Sample, gradient: bool) -> int:
    """How many floating elements were compared."""
    wide = Sample(
        tuple(in_float32(a) for a in sample.arguments), {k: in_float32(v) for k, v in sample.options.items()}
    )
    compared = 0
    for got, expected in zip(results(record, sample, gradient), results(record, wide, gradient), strict=True):
        where = f"{record.name}({sample}), {'recorded' if gradient else 'plain'}"
        found, told = op_cases.as_numpy(got), op_cases.as_numpy(expected)
        if got.dtype.is_floating_point and got.dtype != expected.dtype:
            assert str(got.dtype) == f"tenora.{half}", where
            room = slack(record, half, told)
            low, high = ((told + side * room).astype(found.dtype) for side in (-1, 1))
            # Where a rounding falls between the two ends, either neighbour will do.
            told = np.where((low <= found) & (found <= high), found, low)
            compared += found.size
        np.testing.assert_array_equal(found, told, err_msg=where)
    return compared


@pytest.mark.parametrize("name", NAMES)
def test_half_types_round_once(name: str, backend: str) -> None:
    record = op_cases.judged(name, HALVES)
    compared = 0
    for half in set(HALVES) & set(op_cases.dtypes_of(record)):
        for sample in op_cases.samples_of(name, half):
            for gradient in (False, True):
                compared += check(record, half, sample, gradient)
    assert compared or record.dtype in ("bool", "promote_bool", "promote_bool_real") or name in WITHOUT_FLOATS


#: Their results are counts, places, truths or of the dtype that the sample names.
WITHOUT_FLOATS = {
    "nonzero_static",
    "nonzero",
    "argsort",
    "count_nonzero",
    "cast",
    "softmax_dtype",
    "log_softmax_dtype",
    "searchsorted",
    "bucketize",
    "isin",
    "isclose",
    "multinomial",
}
