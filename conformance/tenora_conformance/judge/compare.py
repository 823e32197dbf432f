"""Compares what a backend answered with what the oracle says: kind, shape, dtype, then every element.

- The tolerance is the record's class, which is data (`tenora_ops.tolerance`); no check writes one of its own.
- An answer is compared with the oracle's after that has been rounded to the dtype once: an exact result is then equal.
- NaN, infinities, integers and booleans agree exactly.
- What comes back is the worst error as a share of its tolerance: 1 is the limit, 0 means exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tenora_conformance.model import Detail, Failed
from tenora_ops.record import Record
from tenora_ops.samples import COMPLEX, INTEGERS, REALS, Sample
from tenora_ops.tolerance import TOLERANCES

#: Elements of an array that is shown whole, those shown on each side of an index of a longer one, and a line's width.
SHORT, BESIDE, WIDTH = 64, 4, 100
#: Rules whose floating result does not depend on an integer input's dtype.
_TO_FLOAT = ("promote_float", "promote_float_real", "creation", "attr")


@dataclass(frozen=True)
class Scale:
    """What a tolerance is measured by beside the expected elements: see `Tolerance.bounds`."""

    terms: int = 1
    """Terms that are summed in each element."""
    least: float = 0.0
    """Magnitude of what was added up, where that may be larger than the largest expected element."""
    each: bool = False
    """Each element by its own magnitude, as a huge one beside it excuses nothing."""
    beside: np.ndarray | None = None
    """Magnitude for each element of what cancelled in it, where that is larger than the element."""

    def bounds(self, tolerance: str, dtype: str, magnitudes: np.ndarray) -> tuple[float, float]:
        """(rtol, atol) for finite expected elements."""
        rules = TOLERANCES[tolerance]
        if not self.each:
            return rules.bounds(dtype, float(magnitudes.max(initial=self.least)), self.terms)
        relative, absolute = rules.bounds(dtype, 1.0)
        slack = rules.bounds(dtype, 0.0)[1]
        return relative + absolute, 2 * slack


PLAIN = Scale()


def result_dtype(record: Record, dtype: str, answer: np.ndarray, sample: Sample) -> str:
    """The dtype that a result must have, from what the oracle answered and what was drawn."""
    named = sample.options.get("dtype")
    if named is None:
        kinds = [p.type for p in record.schema.parameters]
        named = next(
            (v for v, k in zip(sample.arguments, kinds, strict=False) if k.startswith("dtype")), None
        )
    if named is not None:
        return str(named)
    kind = answer.dtype.kind
    if kind in "biu" or answer.dtype == ml_dtypes.bfloat16:
        return answer.dtype.name
    if kind == "c":
        return dtype if dtype in COMPLEX else "complex128" if dtype == "float64" else "complex64"
    if dtype in COMPLEX:
        return "float32" if dtype == "complex64" else "float64"
    if dtype in REALS:
        return dtype
    whole = dtype in INTEGERS and record.dtype not in _TO_FLOAT
    return dtype if whole else "float32"


def fetched(tensor: Any) -> np.ndarray:
    """A result on the host."""
    return np.asarray(tensor.detach().to("cpu").numpy())


def compare(record: Record, dtype: str, sample: Sample, got: Any, answer: Any, scale: Scale = PLAIN) -> float:
    """The worst share of the tolerance over one result, or over each of several. Raises: Failed."""
    if isinstance(answer, tuple):
        if not isinstance(got, tuple) or len(got) != len(answer):
            raise Failed(f"number of results: got {_kind(got)}, expected a tuple of {len(answer)}")
        shares = [0.0]
        for i, (g, a) in enumerate(zip(got, answer, strict=True)):
            try:
                shares.append(compare(record, dtype, sample, g, a, scale))
            except Failed as failure:
                raise Failed(f"result {i}: {failure}", failure.detail, worst=failure.worst) from failure
        return max(shares)
    if isinstance(got, bool):
        if got is not bool(answer):
            raise Failed(f"got {got}, expected {bool(answer)}", Detail(expected=str(answer), got=str(got)))
        return 0.0
    return compare_one(record, dtype, sample, got, np.asarray(answer), scale)


def _kind(value: Any) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__


def compare_one(
    record: Record, dtype: str, sample: Sample, got: Any, answer: np.ndarray, scale: Scale = PLAIN
) -> float:
    """The worst share of the tolerance of one tensor. Raises: Failed."""
    name = result_dtype(record, dtype, answer, sample)
    if not hasattr(got, "shape"):
        raise Failed(f"kind of result: got {type(got).__name__}, expected a tensor")
    if tuple(got.shape) != answer.shape:
        raise Failed(f"shape: got {tuple(got.shape)}, expected {answer.shape}")
    if str(got.dtype) != f"tenora.{name}":
        raise Failed(f"dtype: got {got.dtype}, expected tenora.{name}")
    if record.tolerance == "unspecified" or not answer.size:
        return 0.0
    return judge(fetched(got), answer, name, record.tolerance, scale)


def judge(
    found: np.ndarray,
    answer: np.ndarray,
    dtype: str,
    tolerance: str,
    scale: Scale = PLAIN,
) -> float:
    """Element by element; the worst share of the tolerance class. Raises: Failed with the first wrong index."""
    if dtype in INTEGERS or dtype == "bool":
        wanted = answer.astype(found.dtype)
        wrong = found != wanted
        if wrong.any():
            raise _wrong(found, wanted, wrong, float("inf"), "exactly")
        return 0.0
    wide = np.complex128 if dtype in COMPLEX else np.float64
    with np.errstate(all="ignore"):
        target = np.asarray(answer, dtype=wide)
        rounded = target.astype(found.dtype).astype(wide)  # what an exact result looks like in this dtype
        got = found.astype(wide)
        finite = np.isfinite(rounded)
        magnitudes = np.abs(rounded[finite])
        relative, absolute = scale.bounds(tolerance, dtype, magnitudes)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        error = np.where(same, 0.0, np.abs(got - rounded))
        sizes = np.abs(np.where(finite, rounded, 0.0))
        bound = absolute + relative * (sizes if scale.beside is None else np.maximum(sizes, scale.beside))
        share = np.where(
            error == 0, 0.0, np.divide(error, bound, out=np.full(error.shape, np.inf), where=bound > 0)
        )
        share = np.where(same, 0.0, np.where(finite & np.isfinite(got), share, np.inf))
    worst = float(np.max(share, initial=0.0))
    if worst > 1.0:
        raise _wrong(found, rounded.astype(found.dtype), share > 1.0, worst, f"within {tolerance}")
    return worst


def _wrong(found: np.ndarray, wanted: np.ndarray, wrong: np.ndarray, worst: float, how: str) -> Failed:
    """The failure that shows the first wrong element."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    count = int(np.count_nonzero(wrong))
    times = "" if worst == float("inf") else f", {worst:.3g} times the tolerance at worst"
    detail = Detail(expected=shown(wanted, index), got=shown(found, index), first_wrong=str(index))
    return Failed(
        f"{count} of {wrong.size} elements are wrong, the first at {index}: got {found[index]!s}, expected"
        f" {wanted[index]!s} {how}{times}",
        detail,
        worst=worst,
    )


def shown(array: np.ndarray, at: tuple[int, ...] | None = None) -> str:
    """An array as text; of a long one the elements beside an index, the first by default, in its last dimension.

    >>> shown(np.arange(100.0).reshape(2, 50), (1, 20))
    'float64[2, 50], of it [1, 16:25]: [66. 67. 68. 69. 70. 71. 72. 73. 74.]'
    """
    if array.size <= SHORT:
        return np.array2string(array, threshold=SHORT + 1, max_line_width=WIDTH)
    *row, middle = at or (0,) * array.ndim
    begin = max(0, middle - BESIDE)
    window: tuple[Any, ...] = (*row, slice(begin, middle + BESIDE + 1))
    part = array[window]
    place = ", ".join([*map(str, row), f"{begin}:{begin + part.size}"])
    text = np.array2string(part, max_line_width=WIDTH)
    return f"{array.dtype}{list(array.shape)}, of it [{place}]: {text}"
