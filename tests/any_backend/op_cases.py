"""From op records to calls: samples become tensors in several memory layouts, results are compared with the oracle.

- `judging(row)` says which backend is being judged: tensors live on its device, dtypes are those it claims. A manifest
  whose capabilities name dtypes claims these only; one that names none claims all.
- On a device other than the CPU tensors are copies, so the layouts there are dense.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pytest

import tenora
import tenora_ops
from tenora_conformance.judge.calls import answer as oracle_answer
from tenora_conformance.judge.calls import has_arrays
from tenora_conformance.judge.compare import result_dtype
from tenora_dispatch.lifecycle import BackendRow
from tenora_ops.record import Record
from tenora_ops.samples import ALL, COMPLEX, INTEGERS, REALS, Draw, Sample, Seed
from tenora_ops.tolerance import TOLERANCES

LAYOUTS = ("contiguous", "transposed", "strided", "negative", "offset")
#: Ops whose meaning is tied to the memory layout of their input.
LAYOUT_BOUND = frozenset(
    {"view", "view_dtype", "view_as", "view_as_complex", "as_strided", "as_strided_scatter", "empty_like"}
)
WIDE = {"f": np.float64, "c": np.complex128}


class Judged:
    """The backend being judged."""

    device = "cpu"
    dtypes = frozenset(ALL)


@contextlib.contextmanager
def judging(row: BackendRow) -> Iterator[None]:
    """Places tensors where the backend computes, new ones too, and keeps to the dtypes that it claims."""
    assert row.manifest is not None
    before = tenora.get_default_device()
    Judged.device = "cpu" if "cpu" in row.device_types else row.device_types[0]
    Judged.dtypes = frozenset(row.manifest.capabilities) & frozenset(ALL) or frozenset(ALL)
    tenora.set_default_device(Judged.device)
    try:
        yield
    finally:
        tenora.set_default_device(before)
        Judged.device, Judged.dtypes = "cpu", frozenset(ALL)


def judged(name: str, dtypes: Collection[str] = ALL) -> Record:
    """The record of an op; skips the test where the backend claims none of its dtypes (of those asked for)."""
    record = tenora_ops.record(name)
    asked = set(dtypes) & set(record.dtypes)
    if not asked & Judged.dtypes:
        pytest.skip(f"the backend claims none of {sorted(asked)}")
    return record


def dtypes_of(record: Record) -> list[str]:
    """The dtypes that a record is tried in on the backend being judged."""
    return [dtype for dtype in record.dtypes if dtype in Judged.dtypes]


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same values with other strides."""
    if layout == "contiguous" or array.ndim == 0:
        return np.ascontiguousarray(array).reshape(array.shape)
    if layout == "transposed":
        return array.T.copy().T
    if layout == "strided":
        room = np.zeros([2 * n + 1 for n in array.shape], dtype=array.dtype)
        window = room[tuple(slice(1, 2 * n + 1, 2) for n in array.shape)]
    elif layout == "negative":
        room = np.zeros(array.shape, dtype=array.dtype)
        window = room[tuple(slice(None, None, -1) for _ in array.shape)]
    else:
        room = np.zeros([n + 2 for n in array.shape], dtype=array.dtype)
        window = room[tuple(slice(1, n + 1) for n in array.shape)]
    window[...] = array
    return window


def to_tensor(value: Any, layout: str = "contiguous") -> Any:
    """A sample's value as an op takes it: arrays become tensors that share the laid-out memory."""
    if isinstance(value, np.ndarray):
        tensor = tenora.from_numpy(laid_out(value, layout))
        return tensor if Judged.device == "cpu" else tensor.to(Judged.device)
    if isinstance(value, list):
        return [to_tensor(v, layout) for v in value]
    if isinstance(value, Seed):
        return tenora.Generator().manual_seed(value.seed)
    return value


def options_of(record: Record, sample: Sample, layout: str = "contiguous") -> dict[str, Any]:
    options = {
        k: getattr(tenora, v) if k == "dtype" else to_tensor(v, layout) for k, v in sample.options.items()
    }
    makes = not has_arrays(sample) and any(p.type == "device?" for p in record.schema.parameters)
    return options | {"device": Judged.device} if makes else options


def arguments_of(record: Record, sample: Sample, layout: str = "contiguous") -> list[Any]:
    """The positional arguments; a dtype is spelled as a string in samples."""
    kinds = [p.type for p in record.schema.parameters if not p.keyword_only]
    values = []
    for i, value in enumerate(sample.arguments):
        is_dtype = i < len(kinds) and kinds[i].startswith("dtype")
        values.append(
            getattr(tenora, value) if is_dtype and isinstance(value, str) else to_tensor(value, layout)
        )
    return values


def call(record: Record, sample: Sample, layout: str = "contiguous") -> Any:
    function = tenora_ops.REGISTERED[record.name]
    return function(*arguments_of(record, sample, layout), **options_of(record, sample, layout))


def public(record: Record) -> Any:
    """What users call: the function of the record's public name, else the one of its own."""
    place: Any = tenora
    try:
        for part in record.public.split("."):
            place = getattr(place, part)
    except AttributeError:
        return tenora_ops.REGISTERED[record.name]
    return place


@functools.cache
def samples_of(name: str, dtype: str) -> tuple[Sample, ...]:
    record = tenora_ops.record(name)
    return tuple(record.samples(Draw(dtype, record.domain, name)))


@functools.cache
def expected(name: str, dtype: str) -> tuple[Any, ...]:
    """The oracle's answers to all samples of a dtype; numbers beyond a dtype's range are infinities, silently."""
    record = tenora_ops.record(name)
    return tuple(oracle_answer(record, sample) for sample in samples_of(name, dtype))


def as_numpy(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().to("cpu").numpy())


def compare(record: Record, dtype: str, sample: Sample, got: Any, answer: Any, where: str) -> None:
    """Shape, dtype and values of one result, or of each of several."""
    if isinstance(answer, tuple):
        assert isinstance(got, tuple) and len(got) == len(answer), f"{where}: {got} for {len(answer)} results"
        for i, (g, a) in enumerate(zip(got, answer, strict=True)):
            compare(record, dtype, sample, g, a, f"{where} result {i}")
    elif isinstance(got, bool):
        assert got is bool(answer), where
    else:
        compare_one(record, dtype, sample, got, answer, where)


def compare_one(record: Record, dtype: str, sample: Sample, got: Any, answer: Any, where: str) -> None:
    answer = np.asarray(answer)
    name = result_dtype(record, dtype, answer, sample)
    assert tuple(got.shape) == answer.shape, f"{where}: shape {tuple(got.shape)}, expected {answer.shape}"
    assert str(got.dtype) == f"tenora.{name}", f"{where}: dtype {got.dtype}, expected {name}"
    if record.tolerance == "unspecified" or not answer.size:
        return
    found = as_numpy(got)
    if name in INTEGERS or name == "bool":
        np.testing.assert_array_equal(found, answer.astype(found.dtype), err_msg=where)
        return
    wide = np.complex128 if name in COMPLEX else np.float64
    target = np.asarray(answer, dtype=wide)
    finite = np.abs(target[np.isfinite(target)])
    rtol, atol = TOLERANCES[record.tolerance].bounds(name, float(finite.max()) if finite.size else 0.0)
    with np.errstate(over="ignore"):
        rounded = target.astype(found.dtype).astype(wide)  # what an exact result looks like in this dtype
    np.testing.assert_allclose(found.astype(wide), rounded, rtol=rtol, atol=atol, err_msg=where)


def close(record: Record, a: Any, b: Any, where: str) -> None:
    """Two runs of one op: equal, up to the rounding that another buffer may bring to vector loops."""
    first, second = as_numpy(a), as_numpy(b)
    assert first.dtype == second.dtype and first.shape == second.shape, where
    name = str(a.dtype).rsplit(".", 1)[-1]
    rtol, atol = TOLERANCES[record.tolerance].bounds(
        name, float(np.abs(second.astype(complex)).max(initial=0.0))
    )
    wide = np.complex128 if name in COMPLEX else np.float64 if name in REALS else first.dtype
    np.testing.assert_allclose(first.astype(wide), second.astype(wide), rtol=rtol, atol=atol, err_msg=where)


def cases(record: Record) -> Iterator[tuple[str, int, Sample, Any]]:
    for dtype in dtypes_of(record):
        for number, (sample, answer) in enumerate(
            zip(samples_of(record.name, dtype), expected(record.name, dtype), strict=True)
        ):
            yield dtype, number, sample, answer
