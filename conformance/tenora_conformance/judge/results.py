"""What a result is written into: the dtype and shape that an op's answer has, and whether a target can take it."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenora
from tenora_conformance.judge.calls import answer
from tenora_conformance.judge.compare import judge, result_dtype
from tenora_conformance.model import Failed
from tenora_ops.record import Record
from tenora_ops.samples import BOOLEAN, COMPLEX, INTEGERS, Sample, numpy_dtype
from tenora_ops.tolerance import EPSILON

#: From the least to the most: a value is written into a dtype of its own category or a later one.
CATEGORIES = (BOOLEAN, INTEGERS)


def category(dtype: str) -> int:
    """0 boolean, 1 whole, 2 floating, 3 complex."""
    if dtype in COMPLEX:
        return 3
    return next((i for i, names in enumerate(CATEGORIES) if dtype in names), 2)


def castable(source: str, target: str) -> bool:
    """Whether values keep their category.

    >>> castable("int64", "float16"), castable("float32", "int64")
    (True, False)
    """
    return category(source) <= category(target)


def answers(record: Record, dtype: str, sample: Sample) -> list[tuple[np.ndarray, str]]:
    """The oracle's results, each with the dtype that it must have; none where they are no tensors."""
    found = answer(record, sample)
    whole = found if isinstance(found, tuple | list) else (found,)
    if any(isinstance(part, tuple | list | bool) for part in whole):
        return []
    arrays = [np.asarray(part) for part in whole]
    return [(array, result_dtype(record, dtype, array, sample)) for array in arrays]


def judge_written(record: Record, written: np.ndarray, wanted: np.ndarray, dtype: str, target: str) -> float:
    """The worst share of the tolerance of values of `dtype` that were written into `target`. Raises: Failed."""
    if record.tolerance == "unspecified" or not wanted.size:
        return 0.0
    coarse = coarser(dtype, target)
    found = written.real if category(target) == 3 and category(coarse) < 3 else written
    return judge(found.astype(numpy_dtype(coarse)), wanted, coarse, record.tolerance)


def coarser(dtype: str, target: str) -> str:
    """In which of two dtypes values are judged that were computed in the one and written into the other."""
    if category(dtype) < category(target):
        return dtype
    return max(dtype, target, key=lambda name: EPSILON.get(name, 0.0))


def told(error: Exception) -> str:
    """A refusal in a few words."""
    return f"{type(error).__name__}: {error}"


def refused(call: Any, what: str) -> None:
    """Raises: Failed where a call is not refused by a RuntimeError or TypeError of tenora's; NotSupportedError, for a
    backend that cannot compute a thing has not found it wrong."""
    try:
        call()
    except tenora.NotSupportedError:
        raise
    except (RuntimeError, TypeError) as error:
        if not getattr(error, "code", None):
            raise Failed(f"{what}: got {told(error)}, expected an error with a code") from error
        return
    raise Failed(f"{what}: got a result, expected an error")
