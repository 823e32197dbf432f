"""The names that a PyTorch file may use, and what each of them does here.

- `NAMES` is the whole list: a name that is not on it is refused, nothing is imported and nothing runs.
- A function on it is ours; it checks its arguments and makes no more than they hold, which a `Ledger` counts.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tenora_engine
import tenora_ops
from tenora_engine import Size, Storage, Tensor
from tenora_engine import device as Device

from ..nn.parameter import Buffer, Parameter
from . import numpy_pickles
from .bounds import Ledger, dims, loaded
from .errors import refused, unreadable
from .rebuild import integers
from .structure import hashable, is_bound


@dataclass(frozen=True)
class Allowed:
    """A callable that a file may call: the file's name for it, and ours."""

    name: str
    call: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


@dataclass(frozen=True)
class StorageKind:
    """`torch.FloatStorage` and its like: the elements' dtype."""

    name: str


@dataclass(frozen=True)
class Lent:
    """A storage of the file, with the dtype that its kind gives."""

    storage: Storage
    dtype: Any
    ledger: Ledger


_KINDS = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
}
_DTYPES = (*_KINDS.values(), "uint16", "uint32", "uint64")


def _need(condition: bool, what: str, value: Any, expected: str) -> None:
    if not condition:
        raise unreadable(f"{what}: {type(value).__name__}", expected)


def _tensor(lent: Any, offset: Any, size: Any, stride: Any, dtype: Any, requires_grad: bool) -> Tensor:
    _need(isinstance(lent, Lent), "a tensor without a storage", lent, "a storage of the file")
    _need(type(offset) is int and 0 <= offset < 2**63, "an offset", offset, "a whole number from 0 on")
    return loaded(
        lent.storage,
        integers(dims(size)),
        integers(dims(stride)),
        offset,
        dtype or lent.dtype,
        lent.ledger,
        requires_grad is True,
    )


def _rebuild_tensor(lent: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    return _tensor(lent, offset, size, stride, None, False)


def _rebuild_tensor_v2(
    lent: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Tensor:
    return _with_bits(_tensor(lent, offset, size, stride, None, requires_grad), metadata, lent)


def _rebuild_tensor_v3(
    lent: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    _need(isinstance(dtype, tenora_engine.dtype), "a dtype", dtype, "torch.uint16 or the like")
    return _with_bits(_tensor(lent, offset, size, stride, dtype, requires_grad), metadata, lent)


def _with_bits(tensor: Tensor, metadata: Any, lent: Lent) -> Tensor:
    """A conjugate or negative that PyTorch had put off is computed; no history."""
    bits = {name for name in ("conj", "neg") if isinstance(metadata, dict) and metadata.get(name) is True}
    if not bits:
        return tensor
    if tensor.nbytes > tensor.untyped_storage().nbytes():
        raise unreadable("a conjugate of more elements than its storage has", "at most that many")
    lent.ledger.spend(len(bits) * tensor.nbytes)
    plain = tensor.detach()
    if "conj" in bits:
        plain = tenora_ops.conj_physical(plain)
    if "neg" in bits:
        plain = tenora_ops.neg(plain)
    return plain.requires_grad_(tensor.requires_grad)


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Parameter:
    _need(isinstance(data, Tensor), "a parameter", data, "a tensor")
    return Parameter(data, requires_grad is True)


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Parameter:
    return set_state(_rebuild_parameter(data, requires_grad, hooks), state)


_REBUILD = (
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
)


def _rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    _need(
        isinstance(function, Allowed) and function.call in _REBUILD,
        "a function",
        function,
        "one that rebuilds a tensor",
    )
    _need(type(args) is tuple, "arguments", args, "a tuple")
    made = function.call(*args)
    if isinstance(kind, Allowed) and kind.call is Buffer:
        made = Buffer(made)
    return set_state(made, state)


def set_state(value: Any, state: Any) -> Any:
    """Attributes of a tensor or an OrderedDict, by name; nothing of theirs is called. What an array of NumPy holds."""
    if numpy_pickles.takes_state(value):
        return numpy_pickles.set_state(value, state)
    if isinstance(state, tuple) and len(state) == 2 and not state[1]:  # (attributes, slots)
        state = state[0]
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise unreadable("a state that is no dict of names", "attributes by name")
    if not isinstance(value, Tensor | OrderedDict):
        raise refused(f"a state for a {type(value).__name__}", "Save its tensors instead.")
    if isinstance(value, Buffer):
        state = {name: each for name, each in state.items() if name != "_is_buffer"}
    value.__dict__.update(state)
    return value


def checked_key(key: Any) -> Any:
    """A key of a dict or element of a set."""
    _need(hashable(key), "a key", key, "a number, a text or a small tuple of these")
    return key


def _set(kind: Any) -> Callable[..., Any]:
    def make(items: Any = ()) -> Any:
        _need(type(items) in (list, tuple), "a set's elements", items, "a list")
        return kind(checked_key(item) for item in items)

    return make


def _ordered(pairs: Any = ()) -> OrderedDict[Any, Any]:
    _need(type(pairs) in (list, tuple), "pairs", pairs, "a list")
    made: OrderedDict[Any, Any] = OrderedDict()
    for key, value in pairs:
        made[checked_key(key)] = value
    return made


def _counter(counts: Any = None) -> Counter[Any]:
    _need(counts is None or type(counts) is dict, "counts", counts, "a dict")
    return Counter(counts or {})


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    _need(type(text) is str and encoding in ("latin1", "latin-1"), "encoded bytes", text, "text in latin1")
    return text.encode("latin1")


def _bytearray(data: Any = b"", encoding: Any = None) -> bytearray:
    if type(data) is str:
        return bytearray(_encode(data, encoding))
    _need(type(data) is bytes, "a bytearray", data, "bytes")  # a number would be a size
    return bytearray(data)


def _bytes(data: Any = b"") -> bytes:
    _need(type(data) is bytes, "bytes", data, "bytes")  # a number would be a size
    return bytes(data)


def _complex(real: Any, imaginary: Any) -> complex:
    _need(type(real) in (int, float) and type(imaginary) in (int, float), "a part", imaginary, "a number")
    return complex(real, imaginary)


def _bounds(kind: Any) -> Callable[..., Any]:
    def make(*parts: Any) -> Any:
        _need(all(is_bound(part) for part in parts), "bounds", parts, "whole numbers, not huge ones")
        return kind(*parts)

    return make


def _size(sizes: Any = ()) -> Size:
    _need(
        type(sizes) in (list, tuple, Size), "sizes", sizes, "a tuple"
    )  # a range would be any number of them
    return Size(integers(list(sizes)))


def _device(kind: Any, index: Any = None) -> Device:
    _need(type(kind) is str and (index is None or type(index) is int), "a device", kind, "a name, an index")
    return Device(kind) if index is None else Device(kind, index)


def _not_called(name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        raise refused(f"a call of {name}", "Save tensors instead.")

    return call


def _names() -> dict[str, Any]:
    functions: dict[str, Callable[..., Any]] = {
        "collections.OrderedDict": _ordered,
        "collections.Counter": _counter,
        "_codecs.encode": _encode,
        "torch._utils._rebuild_tensor": _rebuild_tensor,
        "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
        "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
        "torch._utils._rebuild_parameter": _rebuild_parameter,
        "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
        "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
        "torch.Tensor": _not_called("torch.Tensor"),
        "torch.nn.parameter.Parameter": _rebuild_parameter,
        "torch.nn.parameter.Buffer": Buffer,
        "torch.Size": _size,
        "torch.device": _device,
        **numpy_pickles.functions(),
    }
    plain: dict[str, Callable[..., Any]] = {
        "set": _set(set),
        "frozenset": _set(frozenset),
        "bytes": _bytes,
        "complex": _complex,
        "bytearray": _bytearray,
        "slice": _bounds(slice),
        "range": _bounds(range),
        "xrange": _bounds(range),
    }
    for name, make in plain.items():
        functions[f"builtins.{name}"] = functions[f"__builtin__.{name}"] = make
    names: dict[str, Any] = {name: Allowed(name, call) for name, call in functions.items()}
    names["torch.storage.UntypedStorage"] = StorageKind("uint8")
    for kind, dtype in _KINDS.items():
        names[f"torch.{kind}Storage"] = names[f"torch.cuda.{kind}Storage"] = StorageKind(dtype)
    names.update({f"torch.{dtype}": getattr(tenora_engine, dtype) for dtype in _DTYPES})
    return names


NAMES = _names()
# Refused as everything else is; for these there is something better to say.
ADVICE = {
    "torch._utils._rebuild_sparse_tensor": "Sparse tensors are not read: save tensor.to_dense().",
    "torch._utils._rebuild_qtensor": "Quantized tensors are not read: save tensor.dequantize().",
    "torch._utils._rebuild_nested_tensor": "Nested tensors are not read: save their parts, tensor.unbind().",
    "torch._utils._rebuild_meta_tensor_no_storage": "Tensors of the device 'meta' hold no data: save real ones.",
    "torch._utils._rebuild_wrapper_subclass": "Save plain tensors.",
    "torch._utils._rebuild_device_tensor_from_numpy": "Save tensor.cpu().",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "Save tensor.cpu().",
    "torch.storage._load_from_bytes": "The file was written by pickle: write it with torch.save.",
}
