"""Derivatives as functions of functions: vjp, jvp, jacobian, hessian, vhp, hvp.

- All are made of `grad`. `jvp` takes the derivative of a vjp in its (linear) vector: two reverse passes, until forward
  mode is there.
- Inputs are taken as fresh leaves; results carry a history only with create_graph=True.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenora_autograd.backward import grad
from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.formula import ops

Function = Callable[..., Any]


def _as_tuple(value: Any, op: str, name: str) -> tuple[tuple[Tensor, ...], bool]:
    single = isinstance(value, Tensor)
    items = (value,) if single else tuple(value)
    for item in items:
        if not isinstance(item, Tensor):
            raise errors.ArgumentTypeError(
                f"[{op}] {name} must be tensors: got {type(item).__name__}, expected tensors. Pass one or a tuple "
                "of them."
            )
    return items, single


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    if create_graph:
        return tuple(ops.alias(x) if x.requires_grad else x.detach().requires_grad_(True) for x in inputs)
    return tuple(x.detach().requires_grad_(True) for x in inputs)


def _plain(values: tuple[Any, ...], single: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple(v.detach() if isinstance(v, Tensor) else v for v in values)
    return found[0] if single else found


def _gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Tensor | None] | None,
    create_graph: bool,
    strict: bool,
    op: str,
) -> tuple[Tensor, ...]:
    """Gradients with zeros where there is no dependence (an error when strict)."""
    live = [(y, None if vectors is None else vectors[i]) for i, y in enumerate(outputs) if y.requires_grad]
    if live:
        found = grad(
            [y for y, _ in live],
            inputs,
            [v for _, v in live],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    else:
        found = (None,) * len(inputs)
    for i, g in enumerate(found):
        if g is None and strict:
            raise errors.OperationError(
                f"[{op}] the outputs do not depend on input {i}: got strict=True, expected a gradient. Pass "
                "strict=False "
                "for zeros."
            )
    return tuple(ops.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))


def _vectors(vector: Any, outputs: tuple[Tensor, ...], op: str) -> tuple[Tensor, ...]:
    if vector is None:
        if len(outputs) != 1 or outputs[0].numel() != 1:
            raise errors.OperationError(
                f"[{op}] v is missing: got none, expected it unless one output has one element. Pass v."
            )
        return (ops.ones_like(outputs[0]),)
    found, _ = _as_tuple(vector, op, "v")
    if len(found) != len(outputs):
        raise errors.OperationError(
            f"[{op}] v must match: got {len(found)} tensors, expected {len(outputs)}."
            " Pass one tensor per input or output."
        )
    for v, y in zip(found, outputs, strict=True):
        if v.shape != y.shape:
            raise errors.OperationError(
                f"[{op}] v must match: got shape {tuple(v.shape)}, expected {tuple(y.shape)}."
                " Pass a tensor of that shape."
            )
    return found


class _Recording:
    """Recording on, whatever the caller's mode."""

    def __enter__(self) -> None:
        self._old = _engine.set_grad_enabled(True)

    def __exit__(self, *error: object) -> None:
        _engine.set_grad_enabled(self._old)


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), v^T J): one product of a vector with the Jacobian.

    Example:
        >>> import tenora
        >>> vjp(lambda x: x * x, tenora.tensor([3.0]), tenora.tensor([1.0]))[1].item()
        6.0
    """
    given, single = _as_tuple(inputs, "vjp", "inputs")
    with _Recording():
        xs = _leaves(given, create_graph)
        outputs, one = _as_tuple(func(*xs), "vjp", "outputs")
        found = _gradients(outputs, xs, _vectors(v, outputs, "vjp"), create_graph, strict, "vjp")
    return _plain(outputs, one, create_graph), _plain(found, single, create_graph)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), J v): one product of the Jacobian with a vector, by differentiating a vjp in its vector.

    Example:
        >>> import tenora
        >>> jvp(lambda x: x * x, tenora.tensor([3.0]), tenora.tensor([1.0]))[1].item()
        6.0
    """
    given, _ = _as_tuple(inputs, "jvp", "inputs")
    with _Recording():
        xs = _leaves(given, create_graph)
        vectors = _vectors(v, xs, "jvp")
        outputs, one = _as_tuple(func(*xs), "jvp", "outputs")
        dummies = tuple(ops.zeros_like(y).requires_grad_(True) for y in outputs)
        pulled = _gradients(outputs, xs, dummies, True, strict, "jvp")
        found = _gradients(pulled, dummies, vectors, create_graph, False, "jvp")
    return _plain(outputs, one, create_graph), _plain(found, one, create_graph)


def jacobian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """All derivatives of all outputs: shape (output..., input...), nested as outputs x inputs.

    Example:
        >>> import tenora
        >>> jacobian(lambda x: x * x, tenora.tensor([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    given, single = _as_tuple(inputs, "jacobian", "inputs")
    with _Recording():
        xs = _leaves(given, create_graph)
        outputs, one = _as_tuple(func(*xs), "jacobian", "outputs")
        blocks = tuple(_plain(_rows(y, xs, create_graph, strict), single, create_graph) for y in outputs)
    return blocks[0] if one else blocks


def _rows(y: Tensor, xs: tuple[Tensor, ...], create_graph: bool, strict: bool) -> tuple[Tensor, ...]:
    flat = ops.reshape(y, (-1,))
    count = flat.numel()
    rows = [_gradients([flat[i]], xs, None, create_graph, strict, "jacobian") for i in range(count)]
    blocks = []
    for j, x in enumerate(xs):
        shape = (*y.shape, *x.shape)
        if count:
            blocks.append(ops.reshape(ops.stack([row[j] for row in rows], 0), shape))
        else:
            blocks.append(ops.zeros(shape, dtype=x.dtype, device=x.device))
    return tuple(blocks)


def _scalar(func: Function, op: str) -> Function:
    def checked(*xs: Tensor) -> Tensor:
        y = func(*xs)
        if not isinstance(y, Tensor) or y.numel() != 1:
            raise errors.OperationError(
                f"[{op}] func gives the wrong result: got another, expected one tensor with one element. Sum it."
            )
        flat: Tensor = ops.reshape(y, ())
        return flat

    return checked


def hessian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """Second derivatives of a scalar function, nested as inputs x inputs.

    Example:
        >>> import tenora
        >>> hessian(lambda x: (x ** 3).sum(), tenora.tensor([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    given, single = _as_tuple(inputs, "hessian", "inputs")
    checked = _scalar(func, "hessian")

    def slope(*xs: Tensor) -> Any:
        found = _gradients([checked(*xs)], xs, None, True, strict, "hessian")
        return found[0] if single else found

    return jacobian(slope, given[0] if single else given, create_graph, strict)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), v^T H) for a scalar function.

    Example:
        >>> import tenora
        >>> vhp(lambda x: (x ** 3).sum(), tenora.tensor([2.0]), tenora.tensor([1.0]))[1].item()
        12.0
    """
    given, single = _as_tuple(inputs, "vhp", "inputs")
    checked = _scalar(func, "vhp")
    with _Recording():
        xs = _leaves(given, create_graph)
        y = checked(*xs)
        slopes = _gradients([y], xs, None, True, strict, "vhp")
        found = _gradients(slopes, xs, _vectors(v, xs, "vhp"), create_graph, strict, "vhp")
    return _plain((y,), True, create_graph), _plain(found, single, create_graph)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), H v) for a scalar function.

    Example:
        >>> import tenora
        >>> hvp(lambda x: (x ** 3).sum(), tenora.tensor([2.0]), tenora.tensor([1.0]))[1].item()
        12.0
    """
    given, single = _as_tuple(inputs, "hvp", "inputs")
    checked = _scalar(func, "hvp")

    def slope(*xs: Tensor) -> Any:
        found = _gradients([checked(*xs)], xs, None, True, strict, "hvp")
        return found[0] if single else found

    _, product = jvp(slope, given[0] if single else given, v, create_graph, strict)
    with _Recording():
        y = checked(*_leaves(given, create_graph))
    return _plain((y,), True, create_graph), product
