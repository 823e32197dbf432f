"""Gradients against finite differences.

- Central differences in float64: (f(x + e) - f(x - e)) / 2e, error e^2 from the formula and eps / e from rounding.
- For complex inputs PyTorch's convention: the gradient of a real function is df/d(real) + i df/d(imag), so with a
  vector v: Re(conj(v) . J dx).
- One random projection per output keeps the cost at two calls per input element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenora_autograd.backward import grad
from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Generator, Tensor
from tenora_ops.formula import ops

Function = Callable[..., Any]


class GradcheckError(errors.OperationError):
    """A gradient that differs from the finite difference."""


def _tensors(value: Any) -> tuple[Tensor, ...]:
    items = (value,) if isinstance(value, Tensor) else tuple(value)
    return tuple(
        t for t in items if isinstance(t, Tensor) and (t.dtype.is_floating_point or t.dtype.is_complex)
    )


def _inputs(inputs: Any) -> tuple[Any, ...]:
    return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)


def _noise(like: Tensor, generator: Generator) -> Tensor:
    """Random weights away from zero, of the dtype and shape of `like`."""
    real = _engine.float64
    weights = ops.rand(tuple(like.shape), generator=generator, dtype=real, device=like.device) + 0.5
    if not like.dtype.is_complex:
        noise: Tensor = ops.to(weights, like.dtype)
        return noise
    other = ops.rand(tuple(like.shape), generator=generator, dtype=real, device=like.device) + 0.5
    both: Tensor = ops.to(weights, like.dtype) + ops.to(other, like.dtype) * 1j
    return both


def _weighted(outputs: Sequence[Tensor], weights: Sequence[Tensor]) -> float:
    """Re(sum conj(w) y) over all outputs."""
    total = 0.0
    for y, w in zip(outputs, weights, strict=True):
        product = ops.sum(ops.mul(ops.conj(w), y)) if y.dtype.is_complex else ops.sum(ops.mul(w, y))
        total += complex(product.item()).real
    return total


def _numeric(
    function: Function, inputs: tuple[Any, ...], which: int, weights: Sequence[Tensor], eps: float
) -> list[complex]:
    """The finite difference of the weighted outputs for every element of one input."""
    source = inputs[which]
    flat = ops.clone(ops.reshape(source.detach(), (-1,)))
    shape = tuple(source.shape)
    found: list[complex] = []
    for i in range(flat.numel()):
        parts = [_difference(function, inputs, which, flat, shape, i, eps, weights)]
        if source.dtype.is_complex:
            parts.append(_difference(function, inputs, which, flat, shape, i, 1j * eps, weights))
        found.append(complex(parts[0], parts[1] if len(parts) > 1 else 0.0))
    return found


def _difference(
    function: Function,
    inputs: tuple[Any, ...],
    which: int,
    flat: Tensor,
    shape: tuple[int, ...],
    i: int,
    step: complex,
    weights: Sequence[Tensor],
) -> float:
    values = []
    for sign in (1, -1):
        moved = ops.clone(flat)
        moved[i] = moved[i] + (sign * step if flat.dtype.is_complex else sign * step.real)
        arguments = list(inputs)
        arguments[which] = ops.reshape(moved, shape)
        values.append(_weighted(_tensors(function(*[_detached(a) for a in arguments])), weights))
    return (values[0] - values[1]) / (2 * abs(step))


def _detached(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_detached(v) for v in value)
    return value.detach() if isinstance(value, Tensor) else value


def _compare(
    analytic: Tensor | None, numeric: list[complex], which: int, atol: float, rtol: float, name: str
) -> None:
    flat = (
        [0j] * len(numeric)
        if analytic is None
        else [complex(v) for v in ops.reshape(analytic.detach(), (-1,)).tolist()]
    )
    for i, (a, n) in enumerate(zip(flat, numeric, strict=True)):
        if not abs(a - n) <= atol + rtol * abs(n):
            raise GradcheckError(
                f"[{name}] the gradient for input {which}, element {i}, differs: got {a}, expected {n} (finite "
                f"differences), apart by {abs(a - n):.3g}. Check the formula, or move the input away from a kink."
            )


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
) -> bool:
    """Compares the gradients of `func` with finite differences.

    Args:
        func: from tensors to a tensor or a sequence of them.
        inputs: tensors of dtype float64 or complex128; those that require a gradient are checked.
        eps, atol, rtol: step of the differences; |got - expected| <= atol + rtol |expected|.
        raise_exception: False gives False instead of raising.
        nondet_tol: how far two backward passes may be apart.

    Raises:
        GradcheckError: a RuntimeError that names input, element and both values.
        ValueError: no input requires a gradient, or one of them has low precision.

    Example:
        >>> import tenora
        >>> x = tenora.tensor([0.5, 2.0], dtype=tenora.float64, requires_grad=True)
        >>> gradcheck(lambda x: x * x, (x,))
        True
    """
    arguments = _inputs(inputs)
    checked = [i for i, a in enumerate(arguments) if isinstance(a, Tensor) and a.requires_grad]
    if not checked:
        raise errors.ArgumentValueError(
            "[gradcheck] no input requires a gradient: got none that does, expected at least one. Set "
            "requires_grad=True."
        )
    for i in checked:
        if arguments[i].dtype not in (_engine.float64, _engine.complex128):
            raise errors.ArgumentValueError(
                f"[gradcheck] input {i} is imprecise: got {arguments[i].dtype}, expected float64 or complex128. "
                "Cast it: finite "
                "differences need the precision."
            )
    try:
        _check(func, arguments, checked, eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    func: Function,
    arguments: tuple[Any, ...],
    checked: list[int],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    name = getattr(func, "__name__", "function")
    outputs = _tensors(func(*arguments))
    used = [y for y in outputs if y.requires_grad]
    generator = Generator(2024)
    weights = [_noise(y, generator) for y in outputs]
    chosen = [w for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
    wanted = [arguments[i] for i in checked]
    analytic = (
        grad(used, wanted, chosen, retain_graph=True, allow_unused=True) if used else (None,) * len(wanted)
    )
    if used:
        again = grad(used, wanted, chosen, retain_graph=True, allow_unused=True)
        _same(analytic, again, nondet_tol, name)
    for which, gradient in zip(checked, analytic, strict=True):
        if gradient is not None and (
            gradient.shape != arguments[which].shape or gradient.dtype != arguments[which].dtype
        ):
            raise GradcheckError(
                f"[{name}] the gradient for input {which} does not fit: got shape {tuple(gradient.shape)} and dtype "
                f"{gradient.dtype}, expected {tuple(arguments[which].shape)} and {arguments[which].dtype}. Mend the "
                "backward."
            )
        _compare(gradient, _numeric(func, arguments, which, weights, eps), which, atol, rtol, name)


def _same(
    first: Sequence[Tensor | None], second: Sequence[Tensor | None], tolerance: float, name: str
) -> None:
    for a, b in zip(first, second, strict=True):
        if a is not None and b is not None and a.numel():
            apart = abs(complex(ops.amax(ops.abs(ops.sub(a, b))).item()))
            if not apart <= tolerance:
                raise GradcheckError(
                    f"[{name}] two backward passes differ: got {apart}, expected at most {tolerance}. Draw nothing "
                    "anew in "
                    "backward, or pass nondet_tol."
                )


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
) -> bool:
    """Compares second derivatives with finite differences of the first; arguments as in `gradcheck`.

    `grad_outputs` are the vectors of the vector-Jacobian product (default: random), differentiated as well.

    Example:
        >>> import tenora
        >>> x = tenora.tensor([0.5, 2.0], dtype=tenora.float64, requires_grad=True)
        >>> gradgradcheck(lambda x: x * x * x, (x,))
        True
    """
    arguments = _inputs(inputs)
    outputs = [y for y in _tensors(func(*arguments)) if y.requires_grad]
    generator = Generator(4048)
    if grad_outputs is None:
        vectors = [_noise(y, generator).requires_grad_(True) for y in outputs]
    else:
        vectors = list(_inputs(grad_outputs))
    count = len(arguments)
    wanted = [i for i, a in enumerate(arguments) if isinstance(a, Tensor) and a.requires_grad]

    def first_derivatives(*values: Any) -> Any:
        inner = [
            v if not isinstance(v, Tensor) or i not in wanted or v.requires_grad else v.requires_grad_(True)
            for i, v in enumerate(values[:count])
        ]
        old = _engine.set_grad_enabled(True)
        try:
            ys = [y for y in _tensors(func(*inner)) if y.requires_grad]
            found = grad(ys, [inner[i] for i in wanted], values[count:], create_graph=True, allow_unused=True)
        finally:
            _engine.set_grad_enabled(old)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivatives,
        (*arguments, *vectors),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
    )
