"""Drives the kernel table of a native backend through the C ABI, without the engine: ctypes and NumPy.

A kernel is called with NumPy arrays as they lie in memory, so any layout can be handed to it.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
# The order of tnr_dtype; DLPack code and bits.
DTYPES: dict[str, tuple[int, int]] = {
    "bool": (6, 8),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "complex64": (5, 64),
    "complex128": (5, 128),
}
NAMES = tuple(DTYPES)
STRIDED, NEGATIVE_STRIDES, STRIDED_OUT, BROADCAST, ACCUMULATE, INPLACE = 1, 2, 4, 8, 16, 32


def numpy_dtype(name: str) -> np.dtype[Any]:
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Value(ctypes.Union):
    _fields_ = [("i64", ctypes.c_int64), ("f64", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class _Attr(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_uint8),
        ("weak", ctypes.c_uint8),
        ("dtype", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8),
        ("count", ctypes.c_uint32),
        ("value", _Value),
    ]


class _Call(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("n_in", ctypes.c_uint16),
        ("n_out", ctypes.c_uint16),
        ("n_attr", ctypes.c_uint16),
        ("flat", ctypes.c_uint8),
        ("accumulate", ctypes.c_uint8),
        ("reserved", ctypes.c_uint32),
        ("host_scalar_mask", ctypes.c_uint64),
        ("state", ctypes.c_void_p),
        ("inputs", ctypes.POINTER(ctypes.POINTER(_Tensor))),
        ("outputs", ctypes.POINTER(ctypes.POINTER(_Tensor))),
        ("attr", ctypes.POINTER(_Attr)),
        ("stream", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_size_t),
        ("error", ctypes.c_char_p),
        ("error_size", ctypes.c_size_t),
    ]


_KernelFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_Call))


class _Kernel(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("op", ctypes.c_char_p),
        ("run", _KernelFunction),
        ("dtypes", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("state", ctypes.c_void_p),
    ]


class _Backend(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("abi_version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("opset_version", ctypes.c_char_p),
        ("spaces", ctypes.c_void_p),
        ("n_spaces", ctypes.c_uint32),
        ("n_kernels", ctypes.c_uint32),
        ("kernels", ctypes.POINTER(ctypes.POINTER(_Kernel))),
    ]


class KernelError(Exception):
    """A kernel answered with a status other than 0; `args` = (status, text)."""


def _descriptor(array: Array) -> _Tensor:
    name = array.dtype.name
    code, bits = DTYPES[name]
    rank = array.ndim
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*(s // array.itemsize for s in array.strides))
    return _Tensor(array.ctypes.data, 1, 0, rank, code, bits, 1, shape, strides, 0)


def _attribute(value: Any, keep: list[Any]) -> _Attr:
    if value is None:
        return _Attr(0)
    if isinstance(value, bool):
        return _Attr(3, 0, 0, 0, 0, _Value(i64=int(value)))
    if isinstance(value, int):
        return _Attr(1, 0, 0, 0, 0, _Value(i64=value))
    if isinstance(value, float):
        return _Attr(2, 0, 0, 0, 0, _Value(f64=value))
    if isinstance(value, str):
        text = ctypes.create_string_buffer(value.encode())
        keep.append(text)
        return _Attr(6, 0, 0, 0, len(value), _Value(pointer=ctypes.addressof(text)))
    span = (ctypes.c_int64 * max(len(value), 1))(*value)
    keep.append(span)
    return _Attr(5, 0, 0, 0, len(value), _Value(pointer=ctypes.addressof(span)))


def _is_dense(array: Array) -> bool:
    return bool(array.flags.c_contiguous)


class KernelTable:
    """The kernels of one shared library, by op name."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        init = self.library.tenora_backend_init
        init.restype = ctypes.POINTER(_Backend)
        init.argtypes = [ctypes.c_void_p]
        self.backend = init(None).contents
        self.kernels = {
            self.backend.kernels[i].contents.op.decode(): self.backend.kernels[i].contents
            for i in range(self.backend.n_kernels)
        }

    def supports(self, op: str, dtype: str) -> bool:
        return bool(self.kernels[op].dtypes >> NAMES.index(dtype) & 1)

    def flags(self, op: str) -> int:
        return int(self.kernels[op].flags)

    def call(
        self,
        op: str,
        inputs: Sequence[Array | None],
        outputs: Sequence[Array],
        attributes: Sequence[Any] = (),
        *,
        accumulate: bool = False,
        host_scalars: int = 0,
    ) -> None:
        """Run a kernel on arrays as they are; KernelError if it answers with another status than 0."""
        kernel = self.kernels[op]
        keep: list[Any] = []
        descriptors = [None if a is None else _descriptor(a) for a in inputs]
        results = [_descriptor(a) for a in outputs]
        pointer = ctypes.POINTER(_Tensor)
        ins = (pointer * max(len(inputs), 1))(
            *(pointer() if d is None else ctypes.pointer(d) for d in descriptors)
        )
        outs = (pointer * len(outputs))(*(ctypes.pointer(d) for d in results))
        attrs = (_Attr * max(len(attributes), 1))(*(_attribute(value, keep) for value in attributes))
        tensors = [a for i, a in enumerate(inputs) if a is not None and not host_scalars >> i & 1]
        shape = outputs[0].shape
        flat = all(_is_dense(a) and a.shape == shape for a in [*tensors, *outputs])
        error = ctypes.create_string_buffer(256)
        call = _Call(ctypes.sizeof(_Call), len(inputs), len(outputs), len(attributes), flat, accumulate)
        call.host_scalar_mask, call.state = host_scalars, kernel.state
        call.inputs, call.outputs, call.attr = ins, outs, attrs
        call.error, call.error_size = ctypes.cast(error, ctypes.c_char_p), 256
        status = kernel.run(ctypes.byref(call))
        if status:
            raise KernelError(status, error.value.decode())
