"""Parameters and buffers that are computed from others, each time they are read.

- A parametrized module has a class of its own, `ParametrizedLinear` for a `Linear`, whose only base is the class
  before, with a property for each parametrized name. A class is never changed: another set of names is another class,
  so copies of a module don't see what happens to it.
- What is trained lies in `module.parametrizations[name]`, a `ParametrizationList`, as `original` (or `original0`,
  `original1`, ... where the first right_inverse gives several tensors): state_dict's keys are PyTorch's.
- Assigning to the name runs the right_inverses, last one first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, TypeVar

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

T = TypeVar("T", bound=Module)


class _Cache:
    """The values that have been computed inside `cached()`, by module and name."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Any] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed once, when it is first read, and forgotten at the end.

    For networks that read a weight several times in one forward. An assignment to a tensor forgets its value too.

    >>> import tenora
    >>> layer = tenora.nn.utils.parametrizations.weight_norm(tenora.nn.Linear(2, 2))
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values.clear()


def _mismatch(who: str, what: str, got: Any, expected: Any) -> errors.ArgumentValueError:
    return errors.ArgumentValueError(
        f"[{who}] {what}: got {got}, expected {expected}. Change the parametrization, or pass unsafe=True where it "
        "changes dtype or shape on purpose."
    )


def _check_like(who: str, what: str, value: Any, like: Any) -> None:
    """Raises ValueError unless `value` is a tensor with the dtype and the shape of `like`."""
    if not isinstance(value, Tensor):
        raise _mismatch(who, what, type(value).__name__, "a Tensor")
    if value.dtype != like.dtype:
        raise _mismatch(who, f"dtype of {what}", value.dtype, like.dtype)
    if value.shape != like.shape:
        raise _mismatch(who, f"shape of {what}", tuple(value.shape), tuple(like.shape))


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the tensor or tensors that they start from.

    `register_parametrization` makes it; `module.parametrizations[name]` is one.

    >>> import tenora
    >>> layer = tenora.nn.utils.parametrizations.weight_norm(tenora.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    tenora.Size([3, 1])
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise errors.ArgumentValueError(
                "[ParametrizationList] modules: got none, expected at least one. Pass a parametrization."
            )
        super().__init__(modules)
        self.unsafe = unsafe
        like = original.detach()
        with no_grad():
            start = self._inverted(original, need_all=False)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1
        if isinstance(start, Tensor):
            if start.dtype != original.dtype or start.device != original.device:
                raise _mismatch(
                    "right_inverse",
                    "dtype and device of its one tensor",
                    f"{start.dtype} on {start.device}",
                    f"{original.dtype} on {original.device}",
                )
            original.data = start.detach()
            _register(self, "original", original)
        else:
            self._register_several(start, original)
        if not unsafe:
            try:
                _check_like("parametrization", "the result", self(), like)
            except Exception:
                original.data = like  # the module keeps the tensor as it was
                raise

    def _register_several(self, start: Any, original: Tensor) -> None:
        if not isinstance(start, Sequence) or not all(isinstance(part, Tensor) for part in start):
            what = type(start).__name__
            if isinstance(start, Sequence):
                what += f" of {', '.join(type(part).__name__ for part in start)}"
            raise errors.ArgumentValueError(
                f"[right_inverse] result: got {what}, expected a Tensor or a sequence of tensors. Return one of them."
            )
        self.ntensors = len(start)
        for i, part in enumerate(start):
            own = Parameter(part, original.requires_grad) if isinstance(original, Parameter) else part
            own.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", own)

    def _inverted(self, value: Any, need_all: bool) -> Any:
        """`value` through the right_inverses, last one first; with `need_all` each parametrization must have one."""
        for module in reversed(list(self)):
            inverse = getattr(module, "right_inverse", None)
            if inverse is None and need_all:
                raise errors.OperationError(
                    f"[parametrize] assignment: got {type(module).__name__}, which has no right_inverse, expected one. "
                    "Define right_inverse(value) in it."
                )
            try:
                value = value if inverse is None else inverse(value)
            except NotImplementedError:  # a parametrization may say so; it can't be assigned to then
                if need_all:
                    raise
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Makes the original tensors those that give `value`, as far as the parametrizations can.

        >>> import tenora
        >>> class Doubled(Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...     def right_inverse(self, x):
        ...         return x / 2
        >>> layer = register_parametrization(tenora.nn.Linear(1, 1), "weight", Doubled())
        >>> layer.parametrizations.weight.right_inverse(tenora.ones(1, 1))
        >>> layer.parametrizations.weight.original.item(), layer.weight.item()
        (0.5, 1.0)
        """
        with no_grad():
            start = self._inverted(value, need_all=True)
            names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
            if self.is_tensor == isinstance(start, Tensor):
                parts = [start] if self.is_tensor else list(start) if isinstance(start, Sequence) else []
            else:
                parts = []
            if len(parts) != len(names):
                got = f"{type(start).__name__} of {len(parts)}" if parts else type(start).__name__
                expected = "a Tensor" if self.is_tensor else f"a sequence of {self.ntensors} tensors"
                raise errors.ArgumentValueError(
                    f"[right_inverse] result: got {got}, expected {expected}, as at registration. Return as many."
                )
            for name, part in zip(names, parts, strict=True):
                own = getattr(self, name)
                if not isinstance(part, Tensor) or part.dtype != own.dtype:
                    got = str(part.dtype) if isinstance(part, Tensor) else type(part).__name__
                    raise errors.ArgumentValueError(
                        f"[right_inverse] {name}: got {got}, expected a tensor of {own.dtype}. Cast the result."
                    )
            for name, part in zip(names, parts, strict=True):
                getattr(self, name).data = part.detach()

    def forward(self) -> Any:
        """The parametrized tensor, computed now."""
        modules = list(self)
        if self.is_tensor:
            value = modules[0](self.original)
        else:
            value = modules[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in modules[1:]:
            value = module(value)
        return value


def _property_of(name: str) -> property:
    """The property that computes the tensor `name` and sets its original."""

    def read(self: Any) -> Any:
        if not _cache.depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache.values:
            _cache.values[key] = self.parametrizations[name]()
        return _cache.values[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)
        _cache.values.pop((id(self), name), None)

    return property(read, assign)


def _refuse_pickling(self: Module) -> Any:
    raise errors.OperationError(
        f"[parametrize] pickling: got {type(self).__name__}, a class of this module alone, expected a module without "
        "parametrizations. Save its state_dict()."
    )


def _class_of(base: Any, names: Sequence[str]) -> Any:
    """A class of one module: `base` with a property for each name."""

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            own = _class_of(base, names)
            copy = memo[id(self)] = own.__new__(own)
            copy.__setstate__(deepcopy(base.__getstate__(self), memo))
        return memo[id(self)]

    members: dict[str, Any] = {name: _property_of(name) for name in names}
    members["__getstate__"] = _refuse_pickling
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = copied
    metaclass: Any = type(base)
    return metaclass(f"Parametrized{base.__name__}", (base,), {**members, "__module__": base.__module__})


def _give_properties(module: Module, names: Sequence[str]) -> None:
    base = type_before_parametrizations(module)
    module.__class__ = _class_of(base, names) if names else base


def register_parametrization(
    module: T, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> T:
    """Makes the parameter or buffer `tensor_name` the result of `parametrization`, computed whenever it is read.

    The tensor that is trained goes to `module.parametrizations[tensor_name].original`. If `parametrization` has a
    `right_inverse`, the original is what it makes of the present value (several tensors become `original0`, ...), and
    `module.weight = value` works. A further parametrization is applied to the result of those before. With `unsafe` the
    result may have another dtype or shape, and is not computed here for a check.

    Raises ValueError for a name that is neither parameter nor buffer and for a result of another dtype or shape.

    >>> import tenora
    >>> class Symmetric(tenora.nn.Module):
    ...     def forward(self, X):
    ...         return X.triu() + X.triu(1).mT
    >>> layer = register_parametrization(tenora.nn.Linear(2, 2), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    every: Any = module
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(getattr(module, tensor_name), parametrization)
        every.parametrizations[tensor_name].append(parametrization)
        every.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            every.parametrizations = ModuleDict()
        _give_properties(module, [*every.parametrizations, tensor_name])
        every.parametrizations[tensor_name] = made
    else:
        raise errors.ArgumentValueError(
            f"[register_parametrization] tensor_name: got {tensor_name!r}, expected a parameter or buffer of "
            f"{type(module).__name__}: {[*module._parameters, *module._buffers]}. Check the name."
        )
    return module


def _check_further(present: Tensor, parametrization: Module) -> None:
    """Whether a parametrization that is added keeps dtype and shape, both ways."""
    result = parametrization(present)
    _check_like("parametrization", "the result", result, present)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(result)
        except NotImplementedError:  # it can't be assigned to, which is no mistake
            return
        _check_like("right_inverse", "the result", back, present)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether `module` has parametrizations, or one of `tensor_name`.

    >>> import tenora
    >>> is_parametrized(tenora.nn.Linear(2, 2))
    False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: T, tensor_name: str, leave_parametrized: bool = True) -> T:
    """Makes `tensor_name` an ordinary parameter or buffer again: its present value, or the original.

    `leave_parametrized=False` (the original) needs a parametrization of one tensor. Where there is one original, it is
    the object that becomes the parameter, so an optimizer keeps it.

    Raises ValueError if `tensor_name` is not parametrized, or starts from several tensors that should stay as they are.

    >>> import tenora
    >>> layer = tenora.nn.utils.parametrizations.weight_norm(tenora.nn.Linear(2, 3))
    >>> remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise errors.ArgumentValueError(
            f"[remove_parametrizations] tensor_name: got {tensor_name!r}, expected a parametrized tensor of "
            f"{type(module).__name__}: {list(getattr(module, 'parametrizations', []))}. Check the name."
        )
    every: Any = module
    held = every.parametrizations[tensor_name]
    if not held.is_tensor and not leave_parametrized:
        raise errors.ArgumentValueError(
            f"[remove_parametrizations] leave_parametrized: got False for {tensor_name!r}, which starts from "
            f"{held.ntensors} tensors, expected True. Keep its present value."
        )
    if held.is_tensor:
        plain = held.original
        if leave_parametrized:
            with no_grad():
                plain.data = getattr(module, tensor_name).detach()
    else:
        value = getattr(module, tensor_name)
        plain = Parameter(value) if value.requires_grad else value
    del every.parametrizations[tensor_name]
    names = list(every.parametrizations)
    if not names:
        delattr(module, "parametrizations")
    _give_properties(module, names)
    _register(module, tensor_name, plain)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of `module` without its parametrizations.

    >>> import tenora
    >>> layer = tenora.nn.utils.parametrizations.weight_norm(tenora.nn.Linear(2, 3))
    >>> type(layer).__name__, type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    kind = type(module)
    return kind.__bases__[0] if kind.__dict__.get("__getstate__") is _refuse_pickling else kind


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Gives `to_module` the parametrizations of `from_module` and the tensors they start from; both share them.

    One name, or all. A tensor that `to_module` does not have is created. Returns `to_module`.

    >>> import tenora
    >>> a = tenora.nn.utils.parametrizations.weight_norm(tenora.nn.Linear(2, 3))
    >>> b = transfer_parametrizations_and_params(a, tenora.nn.Linear(2, 3))
    >>> b.parametrizations.weight.original1 is a.parametrizations.weight.original1
    True
    """
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module
    target: Any = to_module
    for name in list(source.parametrizations) if tensor_name is None else [tensor_name]:
        held = source.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in held:
            register_parametrization(to_module, name, parametrization)
        for original in ["original"] if held.is_tensor else [f"original{i}" for i in range(held.ntensors)]:
            setattr(target.parametrizations[name], original, getattr(held, original))
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
