"""Tensor methods about where and how a tensor lies in memory: its type, device, storage, and its window on it.

- The methods that end in `_` show the same object another window; they keep no history, so a tensor that carries
  gradients refuses them while gradients are recorded: write `x = x.t()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenora_engine
import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Storage, Tensor, _rebuild_tensor, is_grad_enabled, set_tensor_method
from tenora_engine import device as Device
from tenora_engine import dtype as DType

from . import creation, pinning
from .creation_steps import need_tensor
from .pinning import pinned

_TYPE_NAMES = {
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "float16": "HalfTensor",
    "bfloat16": "BFloat16Tensor",
    "int64": "LongTensor",
    "int32": "IntTensor",
    "int16": "ShortTensor",
    "int8": "CharTensor",
    "uint8": "ByteTensor",
    "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
}


def live() -> dict[str, int]:
    """How many tensors, storages and graph nodes of the engine are alive, and their bytes.

    >>> import tenora
    >>> before = tenora.live()["tensors"]
    >>> x = tenora.ones(3)
    >>> tenora.live()["tensors"] - before
    1
    """
    return tenora_engine.live()


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type; with a dtype (or such a name), the tensor cast to it.

    Raises:
        ValueError: no type has that name.

    >>> import tenora
    >>> tenora.ones(2).type()
    'tenora.FloatTensor'
    """
    if dtype is None:
        name = str(self.dtype).rsplit(".", 1)[-1]
        place = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"tenora.{place}{_TYPE_NAMES.get(name, name)}"
    if isinstance(dtype, DType):
        return self.to(dtype)
    short = str(dtype).rsplit(".", 1)[-1]
    for name, known in _TYPE_NAMES.items():
        if known == short:
            return tenora_ops.cast(self, getattr(tenora_engine, name))
    raise errors.ArgumentValueError(
        f"[type] unknown type: got {dtype!r}, expected a dtype or one of {sorted(_TYPE_NAMES.values())}. Pass a dtype."
    )


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """`self` on a CUDA device; an error that tells what is installed where there is none.

    >>> import tenora
    >>> if tenora.cuda.is_available():
    ...     assert tenora.ones(2).cuda().is_cuda
    """
    target = f"cuda:{device}" if isinstance(device, int) else device or "cuda"
    return self.to(Device(target) if isinstance(target, str) else target, non_blocking=non_blocking)


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in pinned memory, from which `to(device, non_blocking=True)` returns before the copy is over.

    A new tensor that keeps the history; itself where it is pinned already, or where the backend of the accelerator (of
    `device`, if given) has no pinned memory. RuntimeError for a tensor that is not on the host, and where there is no
    accelerator, as in PyTorch.

    >>> import tenora
    >>> x = tenora.ones(2)
    >>> x = x.pin_memory() if tenora.cuda.is_available() else x
    >>> x.device
    device(type='cpu')
    """
    return pinned("pin_memory", self, device)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor lies in pinned memory, of the given device type if there is one.

    >>> import tenora
    >>> tenora.ones(2).is_pinned()
    False
    """
    return pinning.is_pinned(self, device)


def storage(self: Tensor) -> Any:
    """The bytes below the tensor, shared with its views.

    >>> import tenora
    >>> tenora.ones(2).storage().nbytes()
    8
    """
    return self.untyped_storage()


def get_device(self: Tensor) -> int:
    """The index of the tensor's device, -1 on the host.

    >>> import tenora
    >>> tenora.ones(2).get_device()
    -1
    """
    return -1 if self.device.type == "cpu" else self.device.index or 0


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both shapes are equal; TypeError where `other` is no tensor.

    >>> import tenora
    >>> tenora.ones(2).is_same_size(tenora.zeros(2)), tenora.ones(2).is_same_size(tenora.zeros(1, 2))
    (True, False)
    """
    need_tensor("is_same_size", other, "other")
    return tuple(self.shape) == tuple(other.shape)


def is_signed(self: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    >>> import tenora
    >>> tenora.tensor([1]).is_signed(), tenora.tensor([1], dtype=tenora.uint8).is_signed()
    (True, False)
    """
    return bool(self.dtype.is_signed)


def is_nonzero(self: Tensor) -> bool:
    """Whether the only element is not zero.

    Raises:
        RuntimeError: the tensor has not exactly one element.

    >>> import tenora
    >>> tenora.tensor([0.5]).is_nonzero()
    True
    """
    if self.numel() != 1:
        raise errors.OperationError(
            f"[is_nonzero] ambiguous: got {self.numel()} elements, expected one. Use any() or all() first."
        )
    return bool(self.item())


def is_set_to(self: Tensor, other: Tensor) -> bool:
    """Whether both are the same window on the same storage.

    >>> import tenora
    >>> x = tenora.ones(4)
    >>> x.is_set_to(x.view(4)), x.is_set_to(x[:2])
    (True, False)
    """
    return (
        self.data_ptr() == other.data_ptr()
        and tuple(self.shape) == tuple(other.shape)
        and self.stride() == other.stride()
    )


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Sets the diagonal (all indices equal) to a value; `wrap` goes on below the square of a tall matrix.

    Raises:
        RuntimeError: fewer than two dims, or several of unequal sizes.

    >>> import tenora
    >>> tenora.zeros(2, 3).fill_diagonal_(5).tolist()
    [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    """
    rank, shape = self.ndim, tuple(self.shape)
    if rank < 2 or (rank > 2 and len(set(shape)) > 1):
        raise errors.OperationError(
            f"[fill_diagonal_] shape is wrong: got {shape}, expected a matrix, or dims of one size. Use diagonal()."
        )
    step = sum(self.stride())
    count = min(shape)
    if wrap and rank == 2 and shape[0] > shape[1] + 1:
        if not self.is_contiguous():
            for start in range(0, shape[0], shape[1] + 1):
                self[start : start + shape[1]].diagonal().fill_(fill_value)
            return self
        count = -(-self.numel() // step)
    self.as_strided((count,), (step,)).fill_(fill_value)
    return self


def _rewindow(name: str, view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self.requires_grad and is_grad_enabled():
            raise errors.OperationError(
                f"[{name}] changes the window of a tensor that carries gradients: got one that requires grad, expected "
                f"none. Write x = x.{name.rstrip('_')}(...)."
            )
        self.data = view(self.detach(), *args, **kwargs)
        return self

    method.__name__ = name
    shape = "(2,)" if name == "resize_" else "tenora.empty(2)"
    method.__doc__ = f"""`{name.rstrip("_")}` in place: this object shows the other window, of new memory where it must.

    RuntimeError for a tensor that carries gradients while they are recorded.

    >>> import tenora
    >>> tenora.tensor([1.0, 2.0, 3.0]).{name}({shape}).tolist()
    [1.0, 2.0]
    """
    return method


def _resized(self: Tensor, *sizes: Any) -> Tensor:
    size = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes
    if not all(isinstance(n, int) for n in size):
        raise errors.ArgumentTypeError(
            f"[resize_] size: got {', '.join(type(n).__name__ for n in size)}, expected ints."
            " Pass whole numbers."
        )
    count = 1
    for n in size:
        count *= n
    stride, step = [], 1
    for n in reversed(size):
        stride.append(step)
        step *= max(n, 1)
    room = self.untyped_storage().nbytes() // self.element_size() - self.storage_offset()
    if count > room:
        grown = tenora_ops.empty((count,), dtype=self.dtype, device=self.device)
        if room > 0:
            grown[:room].copy_(self.as_strided((room,), (1,)))
        self = grown
    return self.as_strided(size, tuple(reversed(stride)))


def set_(
    self: Tensor,
    source: Tensor | Storage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Shows other memory: a tensor's or a storage's, all of it or a window of it; without a source: nothing.

    Raises:
        RuntimeError: another dtype or device, a window that the memory has no room for, or a tensor that carries
            gradients while they are recorded.
        TypeError: the source is neither.

    >>> import tenora
    >>> x = tenora.zeros(0).set_(tenora.tensor([1.0, 2.0, 3.0, 4.0]).untyped_storage(), 1, (2,))
    >>> x
    tensor([2., 3.])
    """
    if self.requires_grad and is_grad_enabled():
        raise errors.OperationError(
            "[set_] changes the memory of a tensor that carries gradients: got one that requires grad, expected none. "
            "Use no_grad(), or a new tensor."
        )
    if source is None:
        source = tenora_ops.empty((0,), dtype=self.dtype, device=self.device)
    if not isinstance(source, Tensor | Storage):
        raise errors.ArgumentTypeError(
            f"[set_] source: got {type(source).__name__}, expected a Tensor or a Storage. Set from one of them."
        )
    for what, ours, theirs in (
        ("dtypes", self.dtype, getattr(source, "dtype", self.dtype)),
        ("devices", self.device, source.device),
    ):
        if ours != theirs:
            raise errors.OperationError(
                f"[set_] {what} differ: got {theirs} for a tensor of {ours}, expected the same. Convert the source."
            )
    if size is None and isinstance(source, Tensor):
        self.data = source.detach()
        return self
    if isinstance(source, Storage) and size is None:
        size = (source.nbytes() // self.element_size() - storage_offset,)
    size = (size,) if isinstance(size, int) else tuple(size)
    given = (stride,) if isinstance(stride, int) else tuple(stride) if stride is not None else ()
    steps = given or tenora_ops.empty(size, device="cpu").stride()
    if isinstance(source, Tensor):  # counted from where the source begins
        storage_offset += source.storage_offset()
        source = source.untyped_storage()
    self.data = _rebuild_tensor(
        Tensor, source, size, steps, storage_offset, self.dtype, source.device, False, None
    )
    return self


def is_conj(self: Tensor) -> bool:
    """Whether a conjugate waits to be computed: never, they are computed at once.

    >>> import tenora
    >>> tenora.tensor([1j]).conj().is_conj()
    False
    """
    return False


def is_neg(self: Tensor) -> bool:
    """Whether a negative waits to be computed: never, they are computed at once.

    >>> import tenora
    >>> tenora.tensor([1j]).conj().imag.is_neg()
    False
    """
    return False


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces every element by what a Python function makes of it. Slow; for the host only.

    >>> import tenora
    >>> tenora.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
    tensor([10., 20.])
    """
    flat = [callable(v) for v in self.detach().reshape(-1).tolist()]
    self.detach().copy_(creation.tensor(flat, dtype=self.dtype).reshape(tuple(self.shape)))
    return self


def is_cuda(self: Tensor) -> bool:
    """Whether on a CUDA device.

    >>> import tenora
    >>> tenora.ones(2).is_cuda
    False
    """
    return self.device.type == "cuda"


def is_cpu(self: Tensor) -> bool:
    """Whether on the host.

    >>> import tenora
    >>> tenora.ones(2).is_cpu
    True
    """
    return self.device.type == "cpu"


def no_name(self: Tensor) -> None:
    """None: tensors have no names; PyTorch's have one in old graphs.

    >>> import tenora
    >>> tenora.ones(2).name is None
    True
    """


_WINDOWS: dict[str, Callable[..., Tensor]] = {
    "resize_": _resized,
    "resize_as_": lambda x, other: _resized(x, tuple(other.shape)),
}


def install() -> None:
    """Puts the methods on `Tensor`; called once when tenora is imported."""
    set_tensor_method("type", type_)
    for name, view in _WINDOWS.items():
        set_tensor_method(name, _rewindow(name, view))
    for function in (
        cuda,
        pin_memory,
        is_pinned,
        storage,
        get_device,
        is_same_size,
        is_signed,
        is_nonzero,
        is_set_to,
        fill_diagonal_,
        set_,
        is_conj,
        is_neg,
        apply_,
    ):
        set_tensor_method(function.__name__, function)
    for name, place in (
        ("is_cuda", property(is_cuda)),
        ("is_cpu", property(is_cpu)),
        ("name", property(no_name)),
    ):
        set_tensor_method(name, place)
