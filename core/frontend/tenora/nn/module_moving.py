"""Changing all tensors of a module at once: dtype, device, gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import tenora_engine as engine
from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from .module_call import name_member
from .module_tree import Tree
from .parameter import is_lazy


class Movable(Tree):
    """The part of `Module` that moves and casts."""

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Calls `fn` on every module, children first.

        >>> import tenora
        >>> net = tenora.nn.Sequential(tenora.nn.ReLU())
        >>> _ = net.apply(lambda module: print(type(module).__name__))
        ReLU
        Sequential
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Puts `fn(tensor)` in the place of every parameter's data, gradient, and of every buffer.

        Parameters stay the objects they are, so an optimizer keeps its hold of them.
        """
        if recurse:
            self._apply_below(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            gradient = parameter.grad
            try:
                with no_grad():
                    changed = fn(parameter)
            except Exception as error:
                name_member(error, self, f"parameter '{name}'")
                raise
            if changed is not parameter:
                parameter.data = changed
            if gradient is not None:
                with no_grad():
                    parameter.grad = fn(gradient)
                parameter.grad.requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):  # stays the object that will get its shape
                buffer.data = fn(buffer.data)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _apply_below(self, fn: Callable[[Any], Any]) -> None:
        try:
            for child in self.children():
                child._apply(fn)
        except Exception as error:
            name_member(error, self, "children")
            raise

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers in place: `to(device)`, `to(dtype)`, `to(tensor)` and combinations.

        Only floating and complex tensors change their dtype. `non_blocking` is as in `Tensor.to`; `memory_format` is
        accepted and changes nothing: tenora's layers take every layout as it comes.

        Raises TypeError for a dtype that is neither floating nor complex.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).to(tenora.float64).weight.dtype
        tenora.float64
        """
        kwargs.pop("memory_format", None)
        given = [*args, *kwargs.values()]
        dtypes = [
            v if isinstance(v, engine.dtype) else v.dtype
            for v in given
            if isinstance(v, engine.dtype | Tensor)
        ]
        for dtype in dtypes:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise errors.ArgumentTypeError(
                    f"[Module.to] dtype: got {dtype}, expected a floating or complex one. "
                    "Cast single buffers by themselves."
                )

        if any(dtype.is_complex for dtype in dtypes):
            warnings.warn(
                "[Module.to] complex parameters: not every layer computes with them, and some mean something else "
                "then. Check what the layers of this model do.",
                stacklevel=2,
            )

        def convert(tensor: Tensor) -> Tensor:
            moved = tensor.to(*args, **kwargs)
            whole = not (tensor.is_floating_point() or tensor.is_complex())
            return tensor.to(moved.device) if whole and moved.dtype != tensor.dtype else moved

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves to `device` without copying: parameters and buffers are uninitialised there.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).to_empty(device="cpu").weight.shape
        tenora.Size([3, 2])
        """
        return self._apply(lambda tensor: creation.empty_like(tensor, device=device), recurse)

    def _cast(self, dtype: Any) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Casts floating parameters and buffers to float64.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).double().weight.dtype
        tenora.float64
        """
        return self._cast(engine.float64)

    def float(self) -> Self:
        """Casts floating parameters and buffers to float32.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).double().float().weight.dtype
        tenora.float32
        """
        return self._cast(engine.float32)

    def half(self) -> Self:
        """Casts floating parameters and buffers to float16.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).half().weight.dtype
        tenora.float16
        """
        return self._cast(engine.float16)

    def bfloat16(self) -> Self:
        """Casts floating parameters and buffers to bfloat16.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).bfloat16().weight.dtype
        tenora.bfloat16
        """
        return self._cast(engine.bfloat16)

    def type(self, dst_type: Any) -> Self:
        """Casts all parameters and buffers, integers too, to a dtype or the name of a tensor type.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).type(tenora.float64).bias.dtype
        tenora.float64
        """
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).cpu().weight.device
        device(type='cpu')
        """
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Moves parameters and buffers to a CUDA device; an error where no backend serves one.

        >>> import tenora
        >>> if tenora.cuda.is_available():
        ...     assert tenora.nn.Linear(2, 3).cuda().weight.is_cuda
        """
        return self._apply(lambda tensor: tensor.cuda(device))

    def _to_kind(self, kind: str, device: Any) -> Self:
        place = kind if device is None else f"{kind}:{device}" if isinstance(device, int) else device
        return self._apply(lambda tensor: tensor.to(place))

    def xpu(self, device: Any = None) -> Self:
        """Moves parameters and buffers to an `xpu` device; an error where no backend serves one.

        >>> import tenora
        >>> try:
        ...     tenora.nn.Linear(2, 3).xpu()
        ... except tenora.TenoraError as error:
        ...     print(error.code)
        backend_not_found
        """
        return self._to_kind("xpu", device)

    def ipu(self, device: Any = None) -> Self:
        """Moves parameters and buffers to an `ipu` device; an error where no backend serves one.

        >>> import tenora
        >>> try:
        ...     tenora.nn.Linear(2, 3).ipu()
        ... except tenora.TenoraError as error:
        ...     print(error.code)
        backend_not_found
        """
        return self._to_kind("ipu", device)

    def mtia(self, device: Any = None) -> Self:
        """Moves parameters and buffers to an `mtia` device; an error where no backend serves one.

        >>> import tenora
        >>> try:
        ...     tenora.nn.Linear(2, 3).mtia()
        ... except tenora.TenoraError as error:
        ...     print(error.code)
        backend_not_found
        """
        return self._to_kind("mtia", device)

    def share_memory(self) -> Self:
        """Would move the parameters into memory shared between processes, which tenora does not have yet.

        Raises NotImplementedError.

        >>> import tenora
        >>> try:
        ...     tenora.nn.Linear(2, 3).share_memory()
        ... except NotImplementedError as error:
        ...     print(error.code)
        not_implemented
        """
        raise errors.NotImplementedOperationError(
            f"[share_memory] {type(self).__name__}: got a wish for memory shared between processes, expected "
            "parameters of one process: there is no such memory yet. Send `state_dict()` to the other process."
        )

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of every parameter.

        >>> import tenora
        >>> tenora.nn.Linear(2, 3).requires_grad_(False).weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros.

        >>> import tenora
        >>> layer = tenora.nn.Linear(2, 3)
        >>> layer(tenora.ones(2)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
                continue
            if gradient.grad_fn is None:
                gradient.requires_grad_(False)
            else:
                parameter.grad = gradient = gradient.detach()
            gradient.zero_()
