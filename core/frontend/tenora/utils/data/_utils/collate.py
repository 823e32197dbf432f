"""How samples become a batch.

- `collate` looks the type of the first sample up in a map from types to functions, then in its containers.
- `default_collate_fn_map` is the map that `default_collate` uses; programs extend it in place or pass their own.
- NumPy's types are recognised by their names, since nothing here may load NumPy for those who do not use it.
"""

from __future__ import annotations

import re
from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import reduce
from numbers import Number
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor, float64
from tenora_ops import stack

from ....creation import as_tensor, promote_types, tensor
from ....defaults import default_device
from ....sharing import from_numpy
from .containers import is_namedtuple, like_mapping, like_sequence

CollateFunction = Callable[..., Any]
CollateMap = dict[Any, CollateFunction]

_NO_NUMBERS = re.compile("[SaUO]")  # strings and objects, in the letters of NumPy's dtypes


def _numpy_names(cls: type) -> set[str]:
    return {base.__name__ for base in cls.__mro__ if base.__module__ == "numpy"}


class NumpyArray(metaclass=ABCMeta):
    """Stands for `numpy.ndarray` and its subclasses in a map of collate functions."""

    dtype: Any

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return "ndarray" in _numpy_names(other)


class NumpyScalar(metaclass=ABCMeta):
    """Stands for NumPy's numbers, bools and objects; its strings and dates are none of them."""

    reshape: Any
    item: Any

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return bool(_numpy_names(other) & {"number", "bool", "bool_", "object_"})


def _refusal(kind: object) -> TypeError:
    return errors.ArgumentTypeError(
        f"[default_collate] batch: got samples of {kind}, expected tensors, NumPy arrays, numbers, strings, mappings "
        "or sequences of these. Pass a collate_fn or extend default_collate_fn_map."
    )


def default_convert(data: Any) -> Any:
    """`data` with every NumPy array and number in it as a tensor, the rest unchanged.

    What a DataLoader does to a sample when it makes no batches. Tuples become lists, as in PyTorch.

    >>> from tenora.utils.data import default_convert
    >>> default_convert([1, "a"])
    [1, 'a']
    """
    if isinstance(data, Tensor):
        return data
    kind = type(data)
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "bytes_"):
        if isinstance(data, NumpyArray):
            return data if _NO_NUMBERS.search(data.dtype.str) else as_tensor(data)
        return as_tensor(data.reshape(1)).reshape(())  # through an array, which keeps the dtype
    if isinstance(data, Mapping):
        return like_mapping(data, lambda key: default_convert(data[key]))
    if is_namedtuple(data):
        return kind(*(default_convert(part) for part in data))
    if isinstance(data, tuple):
        return [default_convert(part) for part in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return like_sequence(data, [default_convert(part) for part in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """One batch of samples that are alike.

    `collate_fn_map`: functions by type, called as `function(batch, collate_fn_map=...)`. The exact type of the first
    sample is looked up first, then the first entry that it is an instance of; keys may be tuples of types.
    Mappings, named tuples and sequences are collated part by part and keep their type, but tuples become lists.
    TypeError for other types, RuntimeError for sequences of different lengths, KeyError for keys that are not in all
    mappings. An error has a note for each part in which it lies.

    >>> from tenora.utils.data._utils.collate import collate
    >>> collate([1j, 2j], collate_fn_map={complex: lambda batch, collate_fn_map: sum(batch)})
    3j
    """
    first = _first(batch)
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for types, function in collate_fn_map.items():
            if isinstance(first, types):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return like_mapping(first, lambda key: _part(key, _values(batch, key), collate_fn_map))
    if is_namedtuple(first):
        pairs = zip(kind._fields, zip(*batch, strict=False), strict=False)
        return kind(*(_part(name, part, collate_fn_map) for name, part in pairs))
    if isinstance(first, Sequence):
        return _collate_sequences(batch, collate_fn_map)
    raise _refusal(kind)


def _first(batch: Any) -> Any:
    if not hasattr(type(batch), "__getitem__"):
        raise errors.ArgumentTypeError(
            f"[default_collate] batch: got {type(batch).__name__}, expected a list of samples. Pass a list."
        )
    if not len(batch):
        raise errors.IndexRangeError(
            "[default_collate] batch: got no samples, expected at least one. Leave empty batches out."
        )
    return batch[0]


def _part(key: Any, values: Any, collate_fn_map: CollateMap | None) -> Any:
    """What stands at one place of all samples, collated."""
    try:
        return collate(values, collate_fn_map=collate_fn_map)
    except Exception as error:
        error.add_note(f"[data] in the part {key!r} of the samples")
        raise


def _values(batch: Any, key: Any) -> list[Any]:
    try:
        return [sample[key] for sample in batch]
    except TypeError:
        _check_kinds(batch, Mapping, "a mapping")
        raise
    except KeyError:
        position = next((place for place, sample in enumerate(batch) if key not in sample), None)
        if position is None:
            raise
        raise errors.MissingKeyError(
            f"[default_collate] keys of a batch: got {list(batch[position])} at position {position}, expected {key!r} "
            "too, as at position 0. Give all samples the same keys or pass a collate_fn."
        ) from None


def _check_kinds(batch: Any, kind: Any, expected: str) -> None:
    for position, sample in enumerate(batch):
        if not isinstance(sample, kind):
            raise errors.ArgumentTypeError(
                f"[default_collate] samples of a batch: got {type(sample).__name__} at position {position}, expected "
                f"{expected} as at position 0. Make the samples alike or pass a collate_fn."
            )


def _collate_sequences(batch: Any, collate_fn_map: CollateMap | None) -> Any:
    first = batch[0]
    _check_kinds(batch, Sized, "a sequence")
    for position, sample in enumerate(batch):
        if len(sample) != len(first):
            raise errors.OperationError(
                f"[default_collate] sequences of a batch: got length {len(sample)} at position {position}, expected "
                f"{len(first)} as at position 0. Pad the samples or pass a collate_fn."
            )
    parts = [_part(place, part, collate_fn_map) for place, part in enumerate(zip(*batch, strict=True))]
    return parts if isinstance(first, tuple) else like_sequence(first, parts)


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Tensors of one shape, stacked along a new first dimension."""
    try:
        return stack(batch if type(batch) is list else list(batch), 0)
    except (RuntimeError, TypeError):
        _check_kinds(batch, Tensor, "a tensor")
        shape = tuple(batch[0].shape)
        for position, each in enumerate(batch):
            if tuple(each.shape) != shape:
                raise errors.OperationError(
                    f"[default_collate] shapes of a batch: got {tuple(each.shape)} at position {position}, expected "
                    f"{shape} as at position 0. Pad or resize the samples, or pass a collate_fn."
                ) from None
        raise


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Arrays of numbers as tensors, then as tensors are collated; TypeError for arrays of strings and objects."""
    if _NO_NUMBERS.search(batch[0].dtype.str):
        raise _refusal(batch[0].dtype)
    place = default_device(None)
    # from_numpy takes a fraction of as_tensor's time, for what is nearly always there.
    tensors = [from_numpy(array) if isinstance(array, NumpyArray) else as_tensor(array) for array in batch]
    if place is not None:
        tensors = [array.to(place) for array in tensors]
    return collate(tensors, collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """NumPy's numbers in one tensor of the dtype that they have in common."""
    examples = {type(number): number for number in batch}.values()
    arrays = (number.reshape(1) if isinstance(number, NumpyScalar) else number for number in examples)
    dtype = reduce(promote_types, (as_tensor(array).dtype for array in arrays))
    return tensor(
        [number.item() if isinstance(number, NumpyScalar) else number for number in batch], dtype=dtype
    )


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Python floats as float64, which is what they are."""
    try:
        return tensor(batch, dtype=float64)
    except TypeError:
        _check_kinds(batch, Number, "a number")
        raise


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Python ints (int64) and bools."""
    try:
        return tensor(batch)
    except TypeError:
        _check_kinds(batch, Number, "a number")
        raise


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Strings stay as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    Tensor: collate_tensor_fn,
    NumpyArray: collate_numpy_array_fn,
    NumpyScalar: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_BUILT_IN = dict(default_collate_fn_map)


def is_built_in() -> bool:
    """Whether `default_collate_fn_map` says what it said at first."""
    return default_collate_fn_map == _BUILT_IN


def default_collate(batch: Any) -> Any:
    """Samples that are alike as one batch, with a new first dimension.

    Tensors and NumPy arrays of one shape are stacked; numbers become a tensor (floats float64, ints int64); strings
    and bytes stay lists. Mappings, named tuples and sequences are collated part by part: `[(x0, y0), (x1, y1)]`
    becomes `[stack(x0, x1), stack(y0, y1)]`. TypeError for anything else, RuntimeError for sequences of different
    lengths or tensors of different shapes. To add a type, put a function into `default_collate_fn_map`.

    >>> from tenora.utils.data import default_collate
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    >>> default_collate([{"x": 1.5}, {"x": 2.5}])
    {'x': tensor([1.5000, 2.5000], dtype=tenora.float64)}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
