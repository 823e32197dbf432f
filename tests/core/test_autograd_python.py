"""autograd's Python: Function and its ctx, grad modes, functional forms, what gradcheck refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tenora
from tenora.autograd import Function
from tenora_autograd import functional, gradcheck, gradgradcheck, once_differentiable


def leaf(*values: float) -> Any:
    return tenora.tensor(values, dtype=tenora.float64, requires_grad=True)


class Cube(Function):
    """x^3 with its gradient in ordinary ops."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradients[0] * 3 * x * x


class Exp(Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.saved_tensors[0]


@pytest.mark.parametrize("function", [Cube, Exp])
def test_function_first_and_second_gradient(function: type[Function], backend: str) -> None:
    assert gradcheck(function.apply, (leaf(0.5, -1.5),))
    assert gradgradcheck(function.apply, (leaf(0.5, -1.5),))


def test_function_third_derivative(backend: str) -> None:
    x = leaf(2.0)
    value = Cube.apply(x)
    for wanted in (12.0, 12.0, 6.0):
        (value,) = tenora.autograd.grad(value, x, tenora.ones_like(value), create_graph=True)
        assert value.item() == wanted


def test_function_with_numbers_and_several_results(backend: str) -> None:
    class Split(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float, y: Any) -> Any:
            ctx.factor = factor
            ctx.seen = ctx.needs_input_grad
            return x * factor, x + y, "text"

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            first, second = gradients[0], gradients[1]
            return first * ctx.factor + second, None, None

    x, y = leaf(1.0, 2.0), tenora.ones(2, dtype=tenora.float64)
    a, b, text = Split.apply(x, 3.0, y)
    assert text == "text" and a.grad_fn is not None and "Split" in a.grad_fn.name()
    a.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [3.0, 3.0]  # the gradient of b was zeros
    x.grad = None
    (a.sum() + b.sum()).backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_function_needs_input_grad() -> None:
    class Seen(Function):
        needed: tuple[bool, ...] = ()

        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            Seen.needed = ctx.needs_input_grad
            return x + y

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0], None

    Seen.apply(leaf(1.0), tenora.ones(1, dtype=tenora.float64))
    assert Seen.needed == (True, False)
    with tenora.no_grad():
        assert Seen.apply(leaf(1.0), leaf(1.0)).requires_grad is False


def test_function_undefined_gradients_as_none() -> None:
    class Two(Function):
        got: list[Any] = []

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            Two.got.append(gradients[1] is None)
            return gradients[0] * 2

    x = leaf(1.0)
    Two.apply(x)[0].sum().backward()
    assert Two.got == [True] and x.grad.item() == 2.0


def test_function_mark_dirty_and_non_differentiable() -> None:
    class AddOne(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.add_(1)
            ctx.mark_dirty(x)
            places = x > 0
            ctx.mark_non_differentiable(places)
            return x, places

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 10

    x = leaf(1.0, -3.0)
    y = x * 2
    z, places = AddOne.apply(y)
    assert z is y and places.tolist() == [True, False] and not places.requires_grad
    z.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]


def test_function_that_returns_its_input() -> None:
    class Identity(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 7

    x = leaf(1.0)
    y = Identity.apply(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.item() == 7.0


def test_function_setup_context() -> None:
    class Scaled(Function):
        @staticmethod
        def forward(x: Any, factor: float) -> Any:
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * ctx.factor, None

    x = leaf(1.0)
    Scaled.apply(x, 5.0).sum().backward()
    assert x.grad.item() == 5.0


def test_function_errors() -> None:
    class TooMany(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0], gradients[0]

    with pytest.raises(RuntimeError, match="TooManyBackward.*number of gradients: got 2, expected 1"):
        TooMany.apply(leaf(1.0)).sum().backward()
    x = leaf(1.0)
    y = x * 1
    z = Cube.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="version|in place|in-place"):
        z.sum().backward()
    w = Cube.apply(x).sum()
    w.backward()
    with pytest.raises(RuntimeError):
        w.backward()


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    Once.apply(x).sum().backward()
    assert x.grad.item() == 6.0
    (slope,) = tenora.autograd.grad((Once.apply(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_modes_are_managers_and_decorators() -> None:
    x = leaf(1.0)

    @tenora.no_grad()
    def plain() -> Any:
        return x * 2

    @tenora.no_grad()
    def generator() -> Iterator[Any]:
        for _ in range(2):
            yield x * 2

    assert not plain().requires_grad
    for value in generator():
        assert not value.requires_grad and tenora.is_grad_enabled()
    with tenora.no_grad():
        assert not tenora.is_grad_enabled()
        with tenora.set_grad_enabled(True):
            assert (x * 2).requires_grad
        assert not tenora.is_grad_enabled()
    with tenora.inference_mode():
        assert tenora.is_inference_mode_enabled()
    assert tenora.is_grad_enabled() and not tenora.is_inference_mode_enabled()


def test_anomaly_names_the_forward_line() -> None:
    class Broken(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            raise ValueError("broken here")

    with tenora.autograd.detect_anomaly():
        y = Broken.apply(leaf(1.0))  # the line that must be named
    with pytest.raises(ValueError, match="broken here") as caught:
        y.sum().backward()
    text = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "test_autograd_python.py" in text


def test_anomaly_mode_that_leaves_nan_alone() -> None:
    """As in PyTorch: the argument holds for the block, and errors name their line as before."""
    for f in (tenora, torch):
        x = f.tensor([0.0], requires_grad=True)
        with f.autograd.detect_anomaly(check_nan=False):
            (x * 0).sqrt().sum().backward()
        assert x.grad.isnan().all()
        with f.autograd.set_detect_anomaly(True, check_nan=False), f.autograd.detect_anomaly():
            with pytest.raises(RuntimeError, match="nan values in its 0th output"):
                (x * 0).sqrt().sum().backward()
        with f.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan values"):
            (x * 0).sqrt().sum().backward()


def quadratic(x: Any) -> Any:
    return (x**3).sum()


def test_functional_forms() -> None:
    x, v = tenora.tensor([1.0, 2.0]), tenora.tensor([1.0, -1.0])
    assert functional.jacobian(lambda x: x**2, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert functional.hessian(quadratic, x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert functional.vjp(lambda x: x**2, x, v)[1].tolist() == [2.0, -4.0]
    assert functional.jvp(lambda x: x**2, x, v)[1].tolist() == [2.0, -4.0]
    assert functional.vhp(quadratic, x, v)[1].tolist() == [6.0, -12.0]
    assert functional.hvp(quadratic, x, v)[1].tolist() == [6.0, -12.0]
    blocks = functional.jacobian(lambda a, b: (a * b, a + 0 * b), (x, v))
    assert blocks[0][0].tolist() == [[1.0, 0.0], [0.0, -1.0]] and blocks[1][1].tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
    ]
    with pytest.raises(RuntimeError, match="strict"):
        functional.jacobian(lambda a: tenora.ones(2), x, strict=True)
    with pytest.raises(RuntimeError, match="shape"):
        functional.vjp(lambda x: x**2, x, tenora.ones(3))


def test_functional_forms_differentiate_again() -> None:
    x = leaf(2.0)
    (slope,) = tenora.autograd.grad(functional.jacobian(lambda x: x**3, x, create_graph=True).sum(), x)
    assert slope.item() == 12.0


def test_gradcheck_refuses_low_precision_and_no_gradient() -> None:
    with pytest.raises(ValueError, match="float64 or complex128"):
        gradcheck(lambda x: x, (tenora.ones(1, requires_grad=True),))
    with pytest.raises(ValueError, match="no input requires"):
        gradcheck(lambda x: x, (tenora.ones(1),))
