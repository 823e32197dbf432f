"""Python values from the JSON that `structure` writes. The file may say anything: every field is checked."""

from __future__ import annotations

import base64
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import tenora_engine
from tenora_engine import Size, Storage, Tensor
from tenora_engine import device as Device
from tenora_engine import dtype as DType

from .. import layouts
from ..nn.parameter import Buffer, Parameter
from . import arrays
from .bounds import Ledger, dims, loaded, weight
from .container import DTYPES, Entry
from .errors import shown, unreadable
from .layout import dense
from .locations import Places
from .structure import DEEPEST, hashable, is_bound

Node = dict[str, Any]


class Reader:
    """Builds the values of one file from its entries' bytes."""

    def __init__(
        self, entries: dict[str, Entry], storages: dict[str, Storage], places: Places, ledger: Ledger
    ) -> None:
        self._entries, self._storages, self._places, self._ledger = entries, storages, places, ledger
        self._placed: dict[tuple[str, str], Storage] = {}
        self._shared: dict[int, Any] = {}

    def value(self, node: Any, depth: int = 0, number: int | None = None) -> Any:
        """The value of a node; a shared container is noted under its number before it is filled."""
        if depth > 2 * DEEPEST:
            raise unreadable("a structure that is nested too deep", f"at most {DEEPEST} levels")
        if isinstance(node, list):
            items: list[Any] = self._noted([], number)
            items.extend(self.value(each, depth + 1) for each in node)
            return items
        if not isinstance(node, dict):
            return node
        kind = node.get("$")
        if kind is None:
            found: dict[str, Any] = self._noted({}, number)
            found.update((key, self.value(each, depth + 1)) for key, each in node.items())
            return found
        if kind == "same":
            return self._shared[node["number"]]
        if kind == "shared":
            at = self._number(node)
            return self._noted(self.value(node["value"], depth, at), at)
        build = _KINDS.get(kind) if isinstance(kind, str) else None
        if build is None:
            raise unreadable(
                f"the kind {shown(kind)}", "one that this version writes", "Read it with a newer tenora."
            )
        return build(self, node, depth, number)

    def _noted(self, value: Any, number: int | None) -> Any:
        if number is not None:
            self._shared[number] = value
        return value

    def _number(self, node: Node) -> int:
        at = node["number"]
        if type(at) is not int or at in self._shared:
            raise unreadable(f"the number {shown(at)} twice", "a number of its own")
        return at

    def key(self, node: Any, depth: int) -> Any:
        """A value that may be a key."""
        found = self.value(node, depth + 1)
        if not hashable(found):
            raise unreadable(
                f"a key of type {type(found).__name__}", "a number, a text or a small tuple of these"
            )
        return found

    def mapping(self, node: Node, depth: int, number: int | None) -> Any:
        """A dict of one of the three kinds."""
        made: Any = self._noted(
            {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}[node["$"]](), number
        )
        for key, each in node["items"]:
            made[self.key(key, depth)] = self.value(each, depth + 1)
        if "attributes" in node:
            made.__dict__.update(self._attributes(node, depth))
        return made

    def elements(self, node: Node, depth: int, number: int | None) -> Any:
        """A set, or a frozen one."""
        items = [self.key(each, depth) for each in node["items"]]
        return set(items) if node["$"] == "set" else frozenset(items)

    def _attributes(self, node: Node, depth: int) -> dict[str, Any]:
        found = self.value(node["attributes"], depth + 1)
        if type(found) is not dict or not all(type(name) is str for name in found):
            raise unreadable("attributes without names", "values by name")
        self._ledger.spend(weight([found]))
        return found

    def tensor(self, node: Node, depth: int, number: int | None) -> Tensor:
        """A tensor, a parameter or a buffer."""
        entry = self._entries[node["entry"]]
        plain = self._plain(entry, node, self._places)
        requires_grad = node.get("requires_grad", False) is True
        kind = node.get("class")
        made: Any
        if kind == "Parameter":
            made = Parameter(plain, requires_grad)
        elif kind == "Buffer":
            made = Buffer(plain, persistent=node.get("persistent", True) is True)
            made.requires_grad_(requires_grad)
        elif kind is None:
            made = plain.requires_grad_(requires_grad)
        else:
            raise unreadable(f"a tensor of class {shown(kind)}", "Parameter, Buffer or none")
        self._noted(made, number)
        if "attributes" in node:
            made.__dict__.update(self._attributes(node, depth))
        return made

    def array(self, node: Node, depth: int, number: int | None) -> Any:
        """An array of NumPy's; it stays on the host."""
        entry = self._entries[node["entry"]]
        if "code" in node:
            self._ledger.spend(entry.end - entry.begin)  # its elements are looked at
            return arrays.array_of(node["code"], tuple(integers(node["sizes"])), self._storages[entry.name])
        return self._plain(entry, {**node, "device": "cpu"}, Places("cpu")).numpy()

    def _plain(self, entry: Entry, node: Node, places: Places) -> Tensor:
        location = node.get("device", "cpu")
        if not isinstance(location, str):
            raise unreadable(f"the device {shown(location)}", "a name")
        shape, dtype = entry.shape, getattr(tenora_engine, DTYPES[entry.dtype])
        if node.get("complex") is True and "shape" not in node:
            if entry.dtype != "F64" or shape[-1:] != (2,):
                raise unreadable(f"complex numbers of {entry.dtype}, {shown(shape)}", "pairs of F64")
            shape, dtype = shape[:-1], tenora_engine.complex128
        order = node.get("layout")
        key = (entry.name, location) if order is None else (entry.name, f"{location} {order}")
        if key not in self._placed:
            storage = self._storages[entry.name]
            if location != "cpu" or order is not None:  # a copy for each place and order
                self._ledger.spend(storage.nbytes())
            storage = places.place(storage, location)
            if order is not None:
                storage = _reordered(storage, shape, integers(order), dtype, self._ledger)
            self._placed[key] = storage
        storage = self._placed[key]
        if order is not None:
            return loaded(storage, shape, integers(order), 0, dtype, self._ledger)
        if "shape" in node:
            dtype, offset = _dtype(node["dtype"]), node["offset"]
            sizes, strides = integers(dims(node["shape"])), integers(dims(node["strides"]))
            return loaded(storage, sizes, strides, offset, dtype, self._ledger)
        return loaded(storage, shape, rows(shape), 0, dtype, self._ledger)


def rows(shape: tuple[int, ...]) -> list[int]:
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def integers(values: Any) -> list[int]:
    """A list of whole numbers, or a refusal."""
    if not isinstance(values, list) or not all(type(n) is int and abs(n) < 2**63 for n in values):
        raise unreadable(shown(values), "a list of whole numbers")
    return values


def _reordered(
    storage: Storage, shape: tuple[int, ...], strides: list[int], dtype: Any, ledger: Ledger
) -> Storage:
    if len(strides) != len(shape) or not dense(shape, tuple(strides)):
        raise unreadable(f"the layout {shown(strides)} for the shape {shown(shape)}", "one without gaps")
    source = loaded(storage, shape, rows(shape), 0, dtype, ledger)
    target = layouts.empty_strided(shape, strides, dtype=dtype, device=source.device)
    return target.copy_(source).untyped_storage()


def _dtype(name: Any) -> DType:
    if name not in (*DTYPES.values(), "complex128"):
        raise unreadable(f"the dtype {shown(name)}", "a dtype's name")
    return DType(name)


def _optional(reader: Reader, node: Node, depth: int) -> list[Any]:
    parts = [reader.value(part, depth + 1) for part in node["parts"]]
    if len(parts) != 3 or not all(is_bound(part) for part in parts):
        raise unreadable(f"the bounds {shown(parts)}", "three whole numbers or None")
    return parts


_KINDS: dict[str, Callable[[Reader, Node, int, int | None], Any]] = {
    "tensor": Reader.tensor,
    "array": Reader.array,
    "numpy": lambda reader, node, depth, number: arrays.scalar_of(
        node["dtype"], base64.b64decode(node["base64"], validate=True)
    ),
    "dict": Reader.mapping,
    "OrderedDict": Reader.mapping,
    "Counter": Reader.mapping,
    "tuple": lambda reader, node, depth, number: tuple(
        reader.value(each, depth + 1) for each in node["items"]
    ),
    "set": Reader.elements,
    "frozenset": Reader.elements,
    "int": lambda reader, node, depth, number: int(node["hex"], 16),
    "float": lambda reader, node, depth, number: float(node["text"]),
    "complex": lambda reader, node, depth, number: complex(
        *(reader.value(x, depth + 1) for x in node["parts"])
    ),
    "bytes": lambda reader, node, depth, number: base64.b64decode(node["base64"], validate=True),
    "bytearray": lambda reader, node, depth, number: bytearray(
        base64.b64decode(node["base64"], validate=True)
    ),
    "Size": lambda reader, node, depth, number: Size(integers(node["sizes"])),
    "dtype": lambda reader, node, depth, number: _dtype(node["name"]),
    "device": lambda reader, node, depth, number: Device(node["name"]),
    "slice": lambda reader, node, depth, number: slice(*_optional(reader, node, depth)),
    "range": lambda reader, node, depth, number: range(*_optional(reader, node, depth)),
}
