"""out= of another dtype: taken wherever PyTorch takes it, with PyTorch's values; what is not castable is refused.

PyTorch insists on the exact dtype for most ops that are not pointwise; here values are cast where they keep their
category.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import op_cases
import parity_cases as parity
import pytest
import torch

import tenora
import tenora_ops
from tenora_ops.record import Record

pytestmark = pytest.mark.oracle

DTYPES = ("float64", "float16", "int64", "int32", "complex64", "bool")
#: Their sums are made in the dtype of out=, as PyTorch's are (nansum's here alone): floats end as integers.
SUMMED_IN_THE_TARGETS = {"sum", "prod", "cumsum", "cumprod", "nansum"}
#: Any order of these results is right.
UNORDERED = {"linalg_eig"}


def is_chosen(record: Record) -> bool:
    """Ops over given elements that PyTorch has too."""
    try:
        parity.counterpart(record)
    except parity.Uncompared:
        return False
    return (
        record.out
        and bool(record.schema.operands)
        and "float32" in record.dtypes
        and not parity.draws(record)
    )


CHOSEN = [record.name for record in tenora_ops.records() if is_chosen(record)]


def castable(source: str, target: str) -> bool:
    """PyTorch's categories: boolean, whole, floating, complex; none is lost."""
    kinds = [np.dtype(name).kind for name in (source, target)]
    return "biufc".index(kinds[0]) <= "biufc".index(kinds[1]) or kinds == ["u", "i"]


def filled(lib: Any, call: Callable[[Any], Any], shapes: list[tuple[int, ...]], dtypes: list[str]) -> Any:
    outs = [lib.empty(s, dtype=getattr(lib, d)) for s, d in zip(shapes, dtypes, strict=True)]
    try:
        call(tuple(outs) if len(outs) > 1 else outs[0])
    except (RuntimeError, TypeError):
        return "refused"
    return [np.asarray(t) for t in outs]


@pytest.mark.filterwarnings("ignore")  # PyTorch's, of deprecated names
@pytest.mark.parametrize("name", CHOSEN)
def test_another_dtype(name: str) -> None:
    record = tenora_ops.record(name)
    sample = op_cases.samples_of(name, "float32")[0]
    arguments, options = op_cases.arguments_of(record, sample), op_cases.options_of(record, sample)
    function = tenora_ops.REGISTERED[name]
    their_function, their_arguments, their_options = parity.torch_call(record, sample)
    results = parity.results_of(function(*arguments, **options))
    shapes = [tuple(t.shape) for t in results]
    given = [str(t.dtype).split(".")[1] for t in results]
    for place in range(len(results)):
        for dtype in DTYPES:
            dtypes = [*given[:place], dtype, *given[place + 1 :]]
            where = f"{name}: result {place} into {dtype}"
            ours = filled(tenora, lambda out: function(*arguments, **options, out=out), shapes, dtypes)
            theirs = filled(
                torch, lambda out: their_function(*their_arguments, **their_options, out=out), shapes, dtypes
            )
            if not castable(given[place], dtype) and (name not in SUMMED_IN_THE_TARGETS or dtype == "bool"):
                assert isinstance(ours, str), where
            if isinstance(theirs, str):
                continue
            assert not isinstance(ours, str), where
            for mine, other in zip(ours, theirs, strict=True):
                coarse = 2e-3 if mine.dtype == np.float16 else 1e-4  # float32 is what was computed in
                if name not in UNORDERED:
                    np.testing.assert_allclose(mine, other, rtol=coarse, atol=coarse, err_msg=where)


def test_most_records_are_tried() -> None:
    assert len(CHOSEN) > 250
