"""Memory of others as tensors: NumPy, DLPack, buffers, and the two exits that other libraries look for.

- Nothing is copied where the memory fits; `copy=True` always copies, `copy=False` refuses where it would have to.
- Memory that its owner calls read-only stays so: writes into the tensor are refused.
"""

from __future__ import annotations

from numbers import Number
from typing import Any

import tenora_engine
from tenora_dispatch import errors
from tenora_engine import Tensor, as_tensor_data
from tenora_engine import device as Device
from tenora_engine import dtype as DType

from .defaults import default_device, get_default_dtype


def from_numpy(array: Any, copy: bool = False) -> Tensor:
    """A tensor over the memory of an array, or over a copy of it.

    >>> import numpy
    >>> from_numpy(numpy.arange(3)).tolist()
    [0, 1, 2]
    """
    return tenora_engine.from_numpy(array, copy)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any object that speaks DLPack, or of a capsule; BufferError where it refuses.

    `device` moves what comes in there; with `copy=False` an object on another device is a ValueError.

    >>> import numpy
    >>> from_dlpack(numpy.arange(3)).tolist()
    [0, 1, 2]
    """
    if not hasattr(ext_tensor, "__dlpack__") and type(ext_tensor).__name__ != "PyCapsule":
        raise errors.ArgumentTypeError(
            f"[from_dlpack] ext_tensor is wrong: got {type(ext_tensor).__name__}, expected an object with __dlpack__ "
            "or a capsule. Use tenora.asarray for other data."
        )
    try:
        tensor = tenora_engine.from_dlpack(ext_tensor, copy=copy)
    except BufferError as error:
        raise errors.SharingError(
            f"[from_dlpack] the producer refuses: got {type(ext_tensor).__name__}, expected memory to share. "
            f"Mind what it says: {error}"
        ) from error
    if device is None or Device(device) == tensor.device:
        return tensor
    if copy is False:
        raise errors.ArgumentValueError(
            f"[from_dlpack] copy=False cannot be kept: got memory on {tensor.device}, expected it on {device}. "
            "Leave copy out."
        )
    return tensor.to(device=device)


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule over the memory of `tensor`, which one consumer may take.

    >>> import tenora
    >>> tenora.from_dlpack(to_dlpack(tenora.ones(2))).tolist()
    [1.0, 1.0]
    """
    return tensor.__dlpack__()


def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor over `count` elements (-1: all) of an object with the buffer protocol, from byte `offset` on.

    Raises ValueError for what has no buffer, or where count and offset do not fit it.

    >>> import tenora
    >>> frombuffer(bytearray([1, 0, 2, 0]), dtype=tenora.int16).tolist()
    [1, 2]
    """
    try:
        size = memoryview(buffer).nbytes
    except (TypeError, ValueError, BufferError) as error:  # NumPy's dates have no buffer: a ValueError
        raise errors.ArgumentValueError(
            f"[frombuffer] buffer is wrong: got {type(buffer).__name__}, expected an object with the buffer protocol. "
            "Use tenora.tensor for sequences."
        ) from error
    if count == 0 or not 0 <= offset < size:
        raise errors.ArgumentValueError(
            f"[frombuffer] count or offset is wrong: got count {count} and offset {offset} for {size} bytes, expected "
            "at least one element inside. Use tenora.empty(0) where there is none."
        )
    tensor = tenora_engine.from_buffer(buffer, dtype, -1 if count < 0 else count, offset)
    return tensor.requires_grad_(True) if requires_grad else tensor


def _is_bytes(data: Any) -> bool:
    if isinstance(data, (bytes, bytearray)):
        return True
    return isinstance(data, memoryview) and data.format in ("B", "b", "c")


def _shares(data: Any) -> bool:
    """Whether `data` has memory that a tensor may lie over."""
    if isinstance(data, (list, tuple, Number)):
        return False
    if (
        hasattr(data, "__array_interface__")
        or hasattr(data, "__dlpack__")
        or type(data).__name__ == "PyCapsule"
    ):
        return True
    try:
        return memoryview(data).nbytes > 0
    except TypeError:
        return False


def _imported(obj: Any, dtype: DType | None, device: Any, copy: bool | None) -> Tensor:
    if isinstance(obj, Tensor):
        return obj.to(device=device, dtype=dtype, copy=bool(copy))
    if _is_bytes(obj) and len(obj) > 0:
        kind = dtype or get_default_dtype()
        tensor = frombuffer(obj, dtype=kind).to(device=default_device(device), copy=bool(copy))
    elif type(obj).__name__ == "PyCapsule":
        tensor = from_dlpack(obj, copy=copy).to(device=default_device(device), dtype=dtype)
    else:
        tensor = as_tensor_data(obj, dtype=dtype, device=default_device(device), copy=bool(copy))
    return tensor


def _over(obj: Any, dtype: DType | None, device: Any) -> Tensor:
    """A tensor over the memory of `obj`, taken once: a capsule is used up. ValueError where a copy would be needed."""
    if isinstance(obj, Tensor):
        shared = obj
    elif _is_bytes(obj) and len(obj) > 0:
        shared = frombuffer(obj, dtype=dtype or get_default_dtype())
    elif type(obj).__name__ == "PyCapsule":
        shared = from_dlpack(obj)
    elif _is_bytes(obj) or _shares(obj):
        shared = as_tensor_data(obj)
    else:
        raise errors.ArgumentValueError(
            f"[asarray] copy=False cannot be kept: got {type(obj).__name__}, expected memory to share. Leave copy out."
        )
    place = device if isinstance(obj, Tensor) else default_device(device)
    moves = place is not None and Device(place) != shared.device
    if moves or dtype not in (None, shared.dtype):
        raise errors.ArgumentValueError(
            f"[asarray] copy=False cannot be kept: got {shared.dtype} on {shared.device}, expected "
            f"{dtype or shared.dtype} on {place or shared.device}. Leave copy or the change out."
        )
    return shared


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: a tensor, an array, a NumPy number, a DLPack object or capsule, bytes, numbers, sequences.

    Memory is shared where it fits unless `copy`; `copy=False` is a ValueError where it does not. Bytes are read as
    elements of `dtype` (default: the default dtype). Without `requires_grad` a tensor keeps its own, other data has
    none; `requires_grad=False` detaches.

    >>> import tenora
    >>> asarray(bytearray(b"ab"), dtype=tenora.uint8).tolist()
    [97, 98]
    """
    tensor = _over(obj, dtype, device) if copy is False else _imported(obj, dtype, device, copy)
    if requires_grad is None or requires_grad == tensor.requires_grad:
        return tensor
    if not requires_grad:
        return tensor.detach()
    return (tensor.detach() if tensor is obj else tensor).requires_grad_(True)


def to_numpy(self: Tensor) -> Any:
    """`self.numpy()`, under the name that Matplotlib and others look for.

    >>> import tenora
    >>> tenora.ones(2).to_numpy()
    array([1., 1.], dtype=float32)
    """
    return self.numpy()


def tobytes(self: Tensor) -> bytes:
    """The elements in row-major order as bytes.

    >>> import tenora
    >>> tenora.tensor([1, 2], dtype=tenora.int16).tobytes()
    b'\\x01\\x00\\x02\\x00'
    """
    return bytes(self.numpy().tobytes())


def _array_interface(self: Tensor) -> dict[str, Any]:
    # AttributeError, which hasattr() understands: NumPy goes on to __array__ then, which knows or refuses these.
    if self.dtype == tenora_engine.bfloat16:
        raise errors.MissingAttributeError(
            "[__array_interface__] NumPy has no type of its own for this: got bfloat16, expected another dtype. "
            "Use .float()."
        )
    try:
        interface: dict[str, Any] = self.numpy().__array_interface__
    except RuntimeError as error:
        raise errors.MissingAttributeError(str(error)) from error
    return interface


array_interface = property(_array_interface, doc="NumPy's description of the memory, for Pillow and others.")
