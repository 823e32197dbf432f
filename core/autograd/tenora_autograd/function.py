"""`Function`: an op whose forward and backward are the user's Python.

- forward runs without recording; its outputs get one node whose backward calls the user's.
- Saved tensors are checked for in-place changes when they are read; a saved output gets its history back then.
- A result that is a view of an input, or an input as it is, has the Function's gradient: writes into its memory are
  refused afterwards.
- backward's own ops are recorded when a graph of the gradients is asked for, so double backward needs nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import SavedTensor, Tensor
from tenora_ops.formula import ops


class FunctionCtx:
    """What forward leaves for backward.

    `needs_input_grad`: one bool per argument of forward. Any attribute may be set on it.
    """

    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self._saved: tuple[SavedTensor | None, ...] = ()
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._materialize_grads = True
        self._freed = False

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs, outputs or intermediates for backward."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs forward changed in place; they must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients arrive in backward as zeros (the default) or as None."""
        self._materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors of save_for_backward.

        Raises:
            RuntimeError: one was changed in place since, or backward has freed them already.
        """
        if self._freed:
            raise errors.OperationError(
                "[Function] the saved tensors are gone: backward ran through this node before, without retain_graph. "
                "Pass retain_graph=True to the first backward."
            )
        return tuple(None if s is None else s.unpack() for s in self._saved)

    def _free(self) -> None:
        self._saved, self._freed = (), True


class _Node(FunctionCtx):
    """The engine's side of a ctx."""

    _function: type[Function]
    _positions: tuple[int, ...]  # which arguments of forward are the node's inputs
    _count: int  # how many arguments forward has

    def _run_backward(self, gradients: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        name = self._function.__name__
        found = self._function.backward(self, *gradients)
        values = found if isinstance(found, tuple | list) else (found,)
        if len(values) > self._count and all(v is None for v in values[self._count :]):
            values = values[: self._count]
        if len(values) != self._count:
            raise errors.OperationError(
                f"[{name}Backward] backward returned an incorrect number of gradients: got {len(values)}, expected "
                f"{self._count}, one per argument of forward. Return None for those without a gradient."
            )
        for value in values:
            if value is not None and not isinstance(value, Tensor):
                raise errors.ArgumentTypeError(
                    f"[{name}Backward] backward must return tensors or None: got {type(value).__name__}, expected "
                    "one of "
                    "these. Return None where there is no gradient."
                )
        return [values[i] for i in self._positions]


class Function:
    """Base of ops with Python forward and backward; call `YourFunction.apply(...)`.

    Example:
        >>> import tenora
        >>> class Double(Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> x = tenora.ones(1, requires_grad=True)
        >>> Double.apply(x).sum().backward()
        >>> x.grad.item()
        2.0
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; the first argument is ctx, unless `setup_context` is defined.

        Example:
            >>> import tenora
            >>> class Double(Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return x * 2
            >>> Double.apply(tenora.ones(1)).item()
            2.0
        """
        raise errors.NotImplementedOperationError(
            "[Function] forward is missing: got none, expected one. Define it as a static method."
        )

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient (or None) per argument of forward.

        Example:
            >>> import tenora
            >>> class Power(Function):
            ...     @staticmethod
            ...     def forward(ctx, x, n):
            ...         ctx.save_for_backward(x)
            ...         ctx.n = n
            ...         return x**n
            ...     @staticmethod
            ...     def backward(ctx, g):
            ...         (x,) = ctx.saved_tensors
            ...         return g * ctx.n * x ** (ctx.n - 1), None
            >>> x = tenora.full((1,), 3.0, requires_grad=True)
            >>> Power.apply(x, 2).backward()
            >>> x.grad.item()
            6.0
        """
        raise errors.NotImplementedOperationError(
            "[Function] backward is missing: got none, expected one. Define it as a static method."
        )

    vjp = backward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError, as in PyTorch: `apply` of the class runs it."""
        name = type(self).__name__
        raise errors.OperationError(
            f"[{name}] call: got one of an instance, expected one of apply. Write {name}.apply(...)."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward and gives the outputs their history.

        Example:
            >>> import tenora
            >>> class Double(Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return x * 2
            ...     @staticmethod
            ...     def backward(ctx, g):
            ...         return g * 2
            >>> Double.apply(tenora.ones(1, requires_grad=True)).requires_grad
            True
        """
        ctx = _Node()
        ctx._function, ctx._count = cls, len(args)
        recording = _engine.is_grad_enabled()
        ctx.needs_input_grad = tuple(
            isinstance(a, Tensor) and bool(a.requires_grad) and recording for a in args
        )
        old = _engine.set_grad_enabled(False)
        try:
            value = _run_forward(cls, ctx, args, kwargs)
        finally:
            _engine.set_grad_enabled(old)
        if not recording or not any(ctx.needs_input_grad):
            ctx._to_save = ()
            return value
        return _record(cls, ctx, args, value)


def _run_forward(cls: type[Function], ctx: _Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    setup = getattr(cls, "setup_context", None)
    if setup is None:
        return cls.forward(ctx, *args, **kwargs)
    value = cls.forward(*args, **kwargs)
    setup(ctx, args, value)
    return value


def _record(cls: type[Function], ctx: _Node, args: tuple[Any, ...], value: Any) -> Any:
    single = not isinstance(value, tuple | list)
    values = [value] if single else list(value)
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    outputs = [values[i] for i in places]
    positions = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
    ctx._positions = positions
    for tensor in ctx._dirty:
        if not any(tensor is output for output in outputs):
            raise errors.OperationError(
                f"[{cls.__name__}] a tensor marked dirty must be returned from forward: got other results, expected "
                "it among "
                "them. Return it."
            )
    given = _engine.python_node(
        ctx,
        [args[i] for i in positions],
        outputs,
        dirty=ctx._dirty,
        non_differentiable=ctx._non_differentiable,
        name=f"{cls.__name__}Backward",
        materialize_grads=ctx._materialize_grads,
        save=_tensors_only(ctx._to_save),  # sets ctx._saved
    )
    ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
    for place, tensor in zip(places, given, strict=True):
        values[place] = tensor
    if single:
        return values[0]
    return values if isinstance(value, list) else tuple(values)  # a named tuple becomes a plain one


def _tensors_only(values: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    for value in values:
        if value is not None and not isinstance(value, Tensor):
            raise errors.ArgumentTypeError(
                f"[Function] save_for_backward takes tensors: got {type(value).__name__}, expected tensors. "
                "Set other values as attributes of ctx."
            )
    return values


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a backward that cannot be differentiated itself: doing so is an error, not a wrong number.

    Example:
        >>> class Once(Function):
        ...     @staticmethod
        ...     @once_differentiable
        ...     def backward(ctx, g):
        ...         return g
    """

    @functools.wraps(function)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        recording = _engine.is_grad_enabled()
        old = _engine.set_grad_enabled(False)
        try:
            found = function(ctx, *gradients)
        finally:
            _engine.set_grad_enabled(old)
        needed = any(isinstance(g, Tensor) and g.requires_grad for g in gradients)
        if not recording or not needed:
            return found
        values = found if isinstance(found, tuple | list) else (found,)
        refused = tuple(_Refuse.apply(v) if isinstance(v, Tensor) else v for v in _attached(values))
        return refused if isinstance(found, tuple | list) else refused[0]

    return wrapper


def _attached(values: Sequence[Any]) -> list[Any]:
    """The values as leaves that ask for a gradient, so that differentiating them meets `_Refuse`."""
    return [v.detach().requires_grad_(True) if isinstance(v, Tensor) else v for v in values]


class _Refuse(Function):
    """Identity whose backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        copy: Tensor = ops.clone(x)
        return copy

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise errors.OperationError(
            "[once_differentiable] trying to differentiate twice a function that was marked with @once_differentiable. "
            "Write its backward with differentiable ops and drop the mark."
        )
