"""Python values as JSON, for everything around the tensors.

- None, bools, ints within 64 bits, finite floats, texts, lists, and dicts whose keys are texts are what JSON has.
  Everything else is an object whose key "$" names its kind.
- Objects that are met twice (lists, dicts, sets, tensors) are written once, as `shared` with a number, and `same`
  refers to them: sharing and cycles come back.
- A type is written only if it is exactly one of these; a subclass is refused, as it could not come back.
"""

from __future__ import annotations

import base64
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import PurePath
from typing import Any

from tenora_engine import Size, Tensor
from tenora_engine import device as Device
from tenora_engine import dtype as DType

from ..nn.module import Module
from ..nn.parameter import Buffer, Parameter
from . import arrays
from .errors import RefusedValueError
from .layout import Layout

Node = dict[str, Any]
DEEPEST = 100
_BOUND_BITS = 1024
_PLAIN = (type(None), bool, str)
_TENSORS = (Tensor, Parameter, Buffer)
_MUTABLE = (list, dict, OrderedDict, Counter, set, bytearray, *_TENSORS)
_NESTS = (tuple, frozenset, Size)
_KEYS = (*_PLAIN, int, float, complex, bytes, Size, DType, Device)


class HoldsModule(Exception):
    """The value holds a module, which only pickle can write."""


def write_structure(value: Any, layout: Layout) -> Any:
    """What `json` writes for `value`; its tensors go to `layout`, which completes their nodes.

    Raises:
        RefusedValueError: a value of another type; the text says where it lies.
        HoldsModule: a module is among them.
    """
    return _Writer(value, layout).node(value, (), 0)


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return (part for pair in value.items() for part in pair)
    return value if isinstance(value, list | tuple | set | frozenset) else ()


def place_of(path: tuple[Any, ...]) -> str:
    """A path as a Python expression."""
    return "obj" + "".join(f"[{key!r}]" for key in path)


class _Writer:
    def __init__(self, value: Any, layout: Layout) -> None:
        self._layout = layout
        self._numbers = dict.fromkeys(self._met_twice(value), -1)
        self._given = 0
        self._open: set[int] = set()  # tuples that are being written

    @staticmethod
    def _met_twice(value: Any) -> Iterator[int]:
        seen: set[int] = set()
        left = [value]
        while left:
            each = left.pop()
            kind = type(each)
            if not (kind in _MUTABLE or (kind in (tuple, frozenset) and each) or arrays.is_array(kind)):
                continue
            if id(each) in seen:
                yield id(each)
                continue
            seen.add(id(each))
            left.extend(_children(each))

    def node(self, value: Any, path: tuple[Any, ...], depth: int) -> Any:
        if depth > DEEPEST:
            raise RefusedValueError(
                f"[save] {place_of(path[:3])}...: got a nesting of more than {DEEPEST} levels, expected fewer. "
                "Flatten the structure."
            )
        number = self._numbers.get(id(value))
        if number is None:
            return self._once(value, path, depth)
        if number >= 0:
            if id(value) in self._open:
                raise RefusedValueError(
                    f"[save] {place_of(path)}: got a tuple or set that holds itself, expected none. Use a list there."
                )
            return {"$": "same", "number": number}
        self._numbers[id(value)] = number = self._given
        self._given += 1
        if type(value) in (tuple, frozenset):
            self._open.add(id(value))
        node = self._once(value, path, depth)
        self._open.discard(id(value))
        return {"$": "shared", "number": number, "value": node}

    def _once(self, value: Any, path: tuple[Any, ...], depth: int) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in _TENSORS:
            return self._tensor(value, path, depth)
        if kind is list:
            return self._items(value, path, depth)
        if kind in (dict, OrderedDict, Counter):
            return self._mapping(value, path, depth)
        if kind in (tuple, set, frozenset):
            values = (
                value if kind is tuple else sorted(value, key=lambda each: (type(each).__name__, repr(each)))
            )
            if kind is not tuple:
                self._check_keys(values, path)
            return {"$": kind.__name__, "items": self._items(values, path, depth)}
        scalar = _SCALARS.get(kind)
        if scalar is None:
            return self._of_numpy(value, path)
        return scalar(value)

    def _items(self, values: Iterable[Any], path: tuple[Any, ...], depth: int) -> list[Any]:
        return [self.node(each, (*path, i), depth + 1) for i, each in enumerate(values)]

    def _mapping(self, value: dict[Any, Any], path: tuple[Any, ...], depth: int) -> Node:
        if type(value) is dict and all(type(key) is str for key in value) and "$" not in value:
            return {key: self.node(each, (*path, key), depth + 1) for key, each in value.items()}
        self._check_keys(value, path)
        node: Node = {"$": type(value).__name__}
        node["items"] = [
            [self.node(key, path, depth + 1), self.node(each, (*path, key), depth + 1)]
            for key, each in value.items()
        ]
        return self._with_attributes(node, value, path, depth)

    def _with_attributes(self, node: Node, value: Any, path: tuple[Any, ...], depth: int) -> Node:
        attributes = dict(getattr(value, "__dict__", {}))
        if isinstance(value, Buffer):
            attributes.pop("persistent", None)
        if attributes:
            node["attributes"] = self.node(attributes, path, depth + 1)
        return node

    def _check_keys(self, keys: Iterable[Any], path: tuple[Any, ...]) -> None:
        for key in keys:
            parts = list(key) if type(key) in (tuple, frozenset) else [key]
            for part in parts:
                if not _is_key(type(part)) and not (type(part) is tuple and hashable(part)):
                    raise RefusedValueError(
                        f"[save] {place_of(path)}: got a key or element of type {type(part).__name__}, expected a "
                        "number, a text or a tuple of these. Use such keys."
                    )
            if not hashable(key):
                raise RefusedValueError(
                    f"[save] {place_of(path)}: got a key or element that is too large or deep, expected a number, a "
                    "text or a tuple of at most a thousand of these. Use such keys."
                )

    def _tensor(self, value: Tensor, path: tuple[Any, ...], depth: int) -> Node:
        node: Node = {"$": "tensor"}
        if type(value) is not Tensor:
            node["class"] = type(value).__name__
        if isinstance(value, Buffer) and not value.persistent:
            node["persistent"] = False
        if value.requires_grad:
            node["requires_grad"] = True
        if value.device.type != "cpu":
            node["device"] = str(value.device)
        if value.dtype.name == "complex128":
            node["complex"] = True
        self._layout.add(value, _name(path), node)
        return self._with_attributes(node, value, path, depth)

    def _of_numpy(self, value: Any, path: tuple[Any, ...]) -> Node:
        """Its arrays and numbers; all else is refused."""
        node: Node | None = None
        if arrays.is_scalar(type(value)):
            node = arrays.scalar_node(value)
        elif arrays.is_array(type(value)):
            node = {"$": "array"}
            tensor = arrays.as_tensor(value, node)
            if tensor is None:
                raise _refusal(value, path)
            self._layout.add(tensor, _name(path), node)
        if node is None:
            raise _refusal(value, path)
        return node


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(str(key) for key in path) or "tensor"


def _is_key(kind: type) -> bool:
    return kind in _KEYS or arrays.is_scalar(kind)


def _words(value: Any) -> int:
    """What hashing it walks over, each time; Python remembers it of texts and bytes."""
    if type(value) is int:
        return value.bit_length() >> 6
    return value.nbytes >> 3 if arrays.is_scalar(type(value)) else 0


def hashable(value: Any, room: int = 1000) -> bool:
    """Whether a value may be a key: plain, or a tuple of such with few parts, as hashing walks over all of them."""
    left, depth = [value], 0
    while left and depth < 32:
        room -= len(left)
        inner = [each for each in left if type(each) in _NESTS]
        for each in left:
            if type(each) not in _NESTS:
                if not _is_key(type(each)):
                    return False
                room -= _words(each)
        if room < 0:
            return False
        left, depth = [part for each in inner for part in each], depth + 1
    return not left


def _int(value: int) -> Any:
    return value if -(2**63) <= value < 2**63 else {"$": "int", "hex": hex(value)}


def _float(value: float) -> Any:
    return value if math.isfinite(value) else {"$": "float", "text": repr(value)}


def _coded(kind: str) -> Callable[[Any], Node]:
    return lambda value: {"$": kind, "base64": base64.b64encode(value).decode("ascii")}


_SCALARS: dict[type, Callable[[Any], Any]] = {
    int: _int,
    float: _float,
    complex: lambda z: {"$": "complex", "parts": [_float(z.real), _float(z.imag)]},
    bytes: _coded("bytes"),
    bytearray: _coded("bytearray"),
    Size: lambda size: {"$": "Size", "sizes": list(size)},
    DType: lambda dtype: {"$": "dtype", "name": dtype.name},
    Device: lambda device: {"$": "device", "name": str(device)},
    slice: lambda s: {"$": "slice", "parts": [_index(part) for part in (s.start, s.stop, s.step)]},
    range: lambda r: {"$": "range", "parts": [_index(part) for part in (r.start, r.stop, r.step)]},
}


def is_bound(part: Any) -> bool:
    """Whether a slice or a range may begin, end or step by this; a range divides, which takes long for huge numbers."""
    return part is None or (type(part) is int and part.bit_length() <= _BOUND_BITS)


def _index(part: Any) -> Any:
    if part is not None and type(part) is not int:
        raise RefusedValueError(
            f"[save] slice: got a bound of type {type(part).__name__}, expected an int or None. Use whole numbers."
        )
    if part is not None and not is_bound(part):
        raise RefusedValueError(
            f"[save] slice or range: got a bound of {part.bit_length()} bits, expected at most {_BOUND_BITS}. "
            "Save the numbers by themselves."
        )
    return part if part is None else _int(part)


# What checkpoints hold beside tensors, and what to save of it.
_ADVICE = {
    "argparse.Namespace": "Save vars(value).",
    "types.SimpleNamespace": "Save vars(value).",
    "datetime.datetime": "Save value.isoformat().",
    "datetime.date": "Save value.isoformat().",
    "datetime.timedelta": "Save value.total_seconds().",
    "collections.deque": "Save list(value).",
    "builtins.generator": "Save list(value); of a module, its state_dict().",
}


def _refusal(value: Any, path: tuple[Any, ...]) -> Exception:
    if isinstance(value, Module):
        return HoldsModule()
    kind = type(value)
    what = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__module__.partition(".")[0] == "numpy":
        advice = "Save the numbers and arrays that it holds."
        if hasattr(value, "strides"):  # an array or a number
            exact = arrays.is_array(kind) or arrays.is_scalar(kind)
            what += f" of dtype {value.dtype}"
            advice = "Save value.tolist(), or numbers." if exact else "Save numpy.asarray(value)."
    elif hasattr(value, "state_dict"):
        advice = "Save its state_dict()."
    elif (known := _ADVICE.get(what)) or (isinstance(value, PurePath | Enum)):
        advice = known or ("Save str(value)." if isinstance(value, PurePath) else "Save value.name.")
    elif plain := next(
        (base for base in kind.__mro__[1:] if base in (*_SCALARS, *_MUTABLE, tuple, str)), None
    ):
        advice = f"Convert it to {plain.__name__} before."
    else:
        advice = (
            "Save the tensors, numbers and containers that it holds, or pass pickle_module=pickle to pickle all, which "
            "load reads with weights_only=False only."
        )
    return RefusedValueError(
        f"[save] {place_of(path)}: got a {what}, expected tensors, containers, numbers and text. {advice}"
    )
