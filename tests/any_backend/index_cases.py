"""Hypothesis strategies for `x[key]`, and what a key means, told by NumPy in two steps.

- A key is a list of items; `Array` items carry the array and the form in which the call is to see it (tensor, ndarray,
  list). Index arrays of one key broadcast against each other; a mask counts as one index of as many elements.
- PyTorch's rule, which tenora follows: ints, slices, None and Ellipsis first, as a view; then tensors, arrays, lists
  and bools on what is left. NumPy lets an int take part in the broadcasting, which moves dims in `x[0, :, [1, 2]]`.
- `places` is `key` applied to the numbers 0, 1, ... of the elements: from it values, writes and gradients follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import tenora

#: Of index arrays; tensors of the small ones are refused, and uint8 makes masks (test_index_forms.py).
INDEX_DTYPES = ("int64", "int32", "int16", "int8", "uint16", "uint32", "uint64")
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool", "complex64")


@dataclass(frozen=True)
class Array:
    """An index array or mask, and how it is handed over: "tensor", "ndarray" or "list"."""

    value: Any
    form: str

    def __repr__(self) -> str:
        return f"{self.form}({self.value.dtype} {self.value.tolist()})"


def shapes(low: int = 0, high: int = 4, smallest: int = 0) -> Any:
    """Shapes with up to `high` dims."""
    return st.lists(st.integers(smallest, 4), min_size=low, max_size=high).map(tuple)


@st.composite
def bounds(draw: Any, size: int, negative_steps: bool) -> slice:
    edge = st.none() | st.integers(-size - 2, size + 2)
    steps = [None, 1, 2, 3, 7] + ([-1, -2, -5] if negative_steps else [])
    return slice(draw(edge), draw(edge), draw(st.sampled_from(steps)))


def generator(draw: Any) -> np.random.Generator:
    """NumPy's draws for elements: hypothesis draws the structure."""
    return np.random.default_rng(draw(st.integers(0, 255)))


def narrowed(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`: leading dims left out, others one."""
    ones = draw(st.integers(0, 2 ** len(shape) - 1)) & draw(st.integers(0, 2 ** len(shape) - 1))
    kept = tuple(1 if ones >> d & 1 else n for d, n in enumerate(shape))
    return kept[draw(st.integers(0, len(shape))) :]


@st.composite
def index_arrays(draw: Any, size: int, common: tuple[int, ...], dtypes: tuple[str, ...]) -> Array:
    """Indices into a dim of `size`, negative ones included, of a shape that broadcasts to `common`."""
    shape = narrowed(draw, common) if size else (0,)
    dtype = draw(st.sampled_from(dtypes))
    low = 0 if dtype.startswith("u") else -size
    array = generator(draw).integers(low, max(size, low + 1), shape).astype(dtype)
    form = draw(st.sampled_from(["tensor", "ndarray", "list"]))
    if form == "list" and (not array.size or not array.ndim):  # `[[]]` tells no dtype, a plain int is an int
        form = "tensor"
    if form == "tensor" and dtype not in ("int64", "int32"):
        form = "ndarray"
    return Array(array.astype(np.int64) if form == "list" else array, form)


@st.composite
def masks(draw: Any, shape: tuple[int, ...], count: int) -> Array | None:
    """A mask with `count` true elements, None where there is no room for them."""
    size = int(np.prod(shape, dtype=int))
    if count > size:
        return None
    mask = np.zeros(size, dtype=bool)
    mask[generator(draw).permutation(size)[:count]] = True
    form = draw(st.sampled_from(["tensor", "ndarray", "list"]))
    return Array(mask.reshape(shape), "tensor" if form == "list" and not size else form)


@st.composite
def keys(
    draw: Any,
    shape: tuple[int, ...],
    *,
    negative_steps: bool = True,
    dtypes: tuple[str, ...] = INDEX_DTYPES,
    advanced: bool = True,
) -> Any:
    """A key that fits a tensor of this shape."""
    common = draw(st.lists(st.sampled_from([2, 1, 3, 0]), min_size=1, max_size=2).map(tuple))
    total = common[-1]
    items: list[Any] = []
    rest = list(shape)
    none_left = 2
    while rest and draw(st.integers(0, 5)):
        size = rest[0]
        kinds = ["int", "slice", "slice", "none", "ellipsis"]
        kinds += ["array", "array", "mask", "mask", "bool"] if advanced else []
        kind = draw(st.sampled_from(kinds))
        if kind == "int" and size:
            items.append(draw(st.integers(-size, size - 1)))
            rest.pop(0)
        elif kind == "slice":
            items.append(draw(bounds(size, negative_steps)))
            rest.pop(0)
        elif kind == "none" and none_left:
            items.append(None)
            none_left -= 1
        elif kind == "ellipsis":
            rest = rest[draw(st.integers(0, len(rest))) :]
            items += [Ellipsis, *draw(keys_after(rest, common, negative_steps, dtypes, advanced))]
            break
        elif kind == "array" and (size or 0 in common):
            items.append(draw(index_arrays(size, common if size else (0,), dtypes)))
            rest.pop(0)
        elif kind == "mask":
            taken = draw(st.integers(1, min(3, len(rest))))
            mask = draw(masks(tuple(rest[:taken]), draw(st.sampled_from([total, 1]))))
            if mask is not None:
                items.append(mask)
                del rest[:taken]
        elif kind == "bool":
            value = draw(st.booleans()) or total > 1
            form = draw(st.sampled_from(["plain", "tensor", "ndarray"]))
            items.append(value if form == "plain" else Array(np.array(value), form))
    return fitting(items)


def keys_after(rest: list[int], common: Any, negative_steps: bool, dtypes: Any, advanced: bool) -> Any:
    """Exactly one item for each dim that stands behind an Ellipsis."""
    parts = []
    for size in rest:
        options = [bounds(size, negative_steps)]
        if size:
            options.append(st.integers(-size, size - 1))
        if advanced and (size or 0 in common):
            options.append(index_arrays(size, common if size else (0,), dtypes))
        parts.append(st.one_of(options))
    return st.tuples(*parts).map(list)


def fitting(items: list[Any]) -> list[Any]:
    """The items; slices in place of those index arrays that do not broadcast with the ones before them."""
    kept: list[Any] = []
    seen: tuple[int, ...] = ()
    for item in items:
        shape = index_shape(item)
        try:
            seen = np.broadcast_shapes(seen, shape or ())
            kept.append(item)
        except ValueError:
            kept += [slice(None)] * dims_of(item)
    return kept


def index_shape(item: Any) -> tuple[int, ...] | None:
    """The shape with which an item takes part in the broadcasting; None for an int, slice, None, Ellipsis."""
    if isinstance(item, bool):
        return (int(item),)
    if not isinstance(item, Array):
        return None
    if item.value.dtype == bool:
        return (int(item.value.sum()),)
    return None if not item.value.ndim else tuple(item.value.shape)


def spelled(items: list[Any], module: Any = tenora) -> Any:
    """The key as the call takes it: a tuple, or the item itself where there is one."""
    told = [hand_over(i, module) if isinstance(i, Array) else i for i in items]
    # A list of lists stands for a tuple of lists, as in PyTorch (test_index_forms_torch.py).
    alone = len(told) == 1 and not (isinstance(told[0], list) and isinstance(told[0][0], list))
    return told[0] if alone else tuple(told)


def hand_over(array: Array, module: Any) -> Any:
    if array.form == "list":
        return array.value.tolist()
    if array.form == "ndarray" and (
        module is tenora or array.value.ndim
    ):  # PyTorch takes a 0-d array for a tuple
        return array.value
    return module.from_numpy(array.value.copy())


def in_steps(items: list[Any], rank: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """NumPy keys of the view and of the indexing in it."""
    first: list[Any] = []
    second: list[Any] = []
    consumed = sum(dims_of(i) for i in items)
    for item in items if any(i is Ellipsis for i in items) else [*items, Ellipsis]:
        if item is Ellipsis:
            first += [slice(None)] * (rank - consumed)
            second += [slice(None)] * (rank - consumed)
        elif item is None:
            first.append(None)
            second.append(slice(None))
        elif isinstance(item, slice):
            first.append(item)
            second.append(slice(None))
        elif is_truth(item):
            first.append(None)
            second.append(np.zeros(int(bool(getattr(item, "value", item))), dtype=np.int64))
        elif isinstance(item, Array) and item.value.ndim:
            first += [slice(None)] * dims_of(item)
            second.append(item.value if item.value.dtype == bool else item.value.astype(np.int64))
        else:
            first.append(int(item.value) if isinstance(item, Array) else item)
    return tuple(first), tuple(second)


def is_truth(item: Any) -> bool:
    return isinstance(item, bool) or (
        isinstance(item, Array) and item.value.dtype == bool and not item.value.ndim
    )


def dims_of(item: Any) -> int:
    if item is None or item is Ellipsis or is_truth(item):
        return 0
    return item.value.ndim if isinstance(item, Array) and item.value.dtype == bool else 1


def is_view(items: list[Any]) -> bool:
    """Whether reading makes a window: no index array, mask or bool."""
    return all(index_shape(item) is None for item in items)


def is_mask_alone(items: list[Any]) -> bool:
    """Whether one mask of some dims chooses, beside nothing else that does."""
    choosing = [item for item in items if index_shape(item) is not None]
    arrays = [item.value for item in choosing if isinstance(item, Array)]
    return len(choosing) == len(arrays) == 1 and arrays[0].dtype == bool and arrays[0].ndim > 0


def places(shape: tuple[int, ...], items: list[Any]) -> Any:
    """The numbers of the elements that `x[key]` shows, in its shape."""
    numbers = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    first, second = in_steps(items, len(shape))
    view = numbers[first]
    return np.asarray(view if is_view(items) else view[second])


@st.composite
def cases(draw: Any, **options: Any) -> tuple[tuple[int, ...], Any]:
    """A shape and a key for it."""
    shape = draw(shapes(smallest=options.pop("smallest", 0)))
    return shape, draw(keys(shape, **options))


@st.composite
def array_lists(draw: Any) -> tuple[tuple[int, ...], list[Array]]:
    """A shape, and index arrays or masks (tensors) for some of its first dims."""
    shape = draw(shapes(1))
    common = draw(st.sampled_from([(2,), (1,), (3,), (0,), (2, 3), (2, 1)]))
    arrays: list[Any] = []
    rest = list(shape)
    while rest and (not arrays or draw(st.integers(0, 3))):
        taken = draw(st.integers(1, min(2, len(rest))))
        mask = draw(masks(tuple(rest[:taken]), common[-1])) if draw(st.integers(0, 3)) == 0 else None
        if mask is None:
            arrays.append(draw(index_arrays(rest.pop(0), common, ("int64", "int32"))))
        else:
            arrays.append(mask)
            del rest[:taken]
    while (
        len(fitting(arrays)) != len(arrays) or fitting(arrays) != arrays
    ):  # zero against two: leave out the last
        arrays.pop()
    return shape, [Array(a.value if a.value.ndim else a.value.reshape(1), "tensor") for a in arrays]


@st.composite
def broadcastable(draw: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`, leading ones beyond it included at times."""
    return (1, *shape) if draw(st.integers(0, 7)) == 7 else narrowed(draw, shape)


def agree(ours: Callable[[], Any], theirs: Callable[[], Any]) -> bool:
    """Runs both; either both work, or both raise the same kind of exception, ours with the op's name in front."""
    try:
        theirs()
    except Exception as error:  # whatever PyTorch refuses with
        kind = next(k for k in (IndexError, TypeError, ValueError, RuntimeError) if isinstance(error, k))
        with pytest.raises(kind, match=r"^\[[a-z_]+\] "):
            ours()
        return False
    ours()
    return True


def filled(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Different elements, as far as the dtype has as many."""
    count = int(np.prod(shape, dtype=int))
    values = np.arange(count) + 1 + 50 * seed
    if dtype == "bool":
        return (np.random.default_rng(count + seed).random(count) > 0.5).reshape(shape)
    array = values.astype(np.float64) - 20
    return (array + (1j * array[::-1] if dtype.startswith("complex") else 0)).astype(dtype).reshape(shape)
