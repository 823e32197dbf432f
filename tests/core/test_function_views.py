"""Functions that write in place: into a tensor, a view, a view of a view; gradients as in PyTorch."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import tenora
from tenora.autograd import Function


class ScaleInPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor, w: tenora.Tensor) -> tenora.Tensor:
        ctx.save_for_backward(x.clone(), w)
        ctx.mark_dirty(x)
        return x.mul_(w)

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tuple[tenora.Tensor, tenora.Tensor]:
        x, w = ctx.saved_tensors
        return g * w, g * x


def run(write: Any, tracked: bool) -> list[Any]:
    """Gradients of a base (if tracked) and a factor, after `write` changed the base through a view."""
    start = tenora.arange(6.0, dtype=tenora.float64).reshape(2, 3) + 1
    if tracked:
        start.requires_grad_()
    w = tenora.tensor([2.0, 3.0, 4.0], dtype=tenora.float64, requires_grad=True)
    base = start * 1
    sibling = base[0]
    write(base, w)
    (base * base).sum().backward(retain_graph=True)
    (sibling * 3).sum().backward()
    return [base.tolist(), sibling.tolist(), w.grad.tolist(), start.grad.tolist() if tracked else None]  # type: ignore[union-attr]


VIEWS: dict[str, Any] = {
    "row": lambda base: base[0],
    "column part": lambda base: base[:, 0:1].expand(2, 1)[0:1].reshape(1),
    "view of a view": lambda base: base.transpose(0, 1)[:, 0],
    "whole": lambda base: base.view(2, 3),
}


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("name", VIEWS)
def test_writing_through_a_view_equals_the_op(name: str, tracked: bool, backend: str) -> None:
    view = VIEWS[name]

    def with_function(base: tenora.Tensor, w: tenora.Tensor) -> None:
        target = view(base)
        result = ScaleInPlace.apply(target, w[:1] if name == "column part" else w)
        assert result is target and target.grad_fn is not None

    def with_op(base: tenora.Tensor, w: tenora.Tensor) -> None:
        view(base).mul_(w[:1] if name == "column part" else w)

    assert run(with_function, tracked) == run(with_op, tracked)


def test_second_derivative_through_a_written_view() -> None:
    x = tenora.tensor([2.0, 3.0], dtype=tenora.float64, requires_grad=True)
    base = x * 1
    ScaleInPlace.apply(base[0:1], x[1:])
    (first,) = tenora.autograd.grad((base[0] ** 2), x, create_graph=True)
    (second,) = tenora.autograd.grad(first[0], x)
    assert first.tolist() == [2 * 2 * 9, 2 * 4 * 3]
    assert second.tolist() == [2 * 9, 4 * 2 * 3]


def test_rules_for_views_hold_for_functions() -> None:
    w = tenora.ones(3, requires_grad=True)
    x = tenora.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        ScaleInPlace.apply(x[0], w)
    with tenora.no_grad():
        view = (x * 1)[0]
    with pytest.raises(RuntimeError, match="no_grad"):
        ScaleInPlace.apply(view, w)


class Row(Function):
    """Its gradient is not that of the view which it returns."""

    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        return x[0]

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
        full = tenora.zeros(2, 3, dtype=g.dtype)
        full[0] = g * 100
        return full


class Same(Function):
    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
        return g * 7


@pytest.mark.parametrize("function", [Row, Same])
@pytest.mark.parametrize("recorded", [True, False])
def test_memory_that_a_function_handed_on_is_not_written_in_silence(
    backend: str, function: Any, recorded: bool
) -> None:
    """The view's gradient would replace the Function's (PyTorch refuses too)."""
    leaf = tenora.ones(2, 3, requires_grad=True)
    base = leaf * 1
    result = function.apply(base)
    with tenora.set_grad_enabled(recorded):
        base.mul_(2)
    with pytest.raises(RuntimeError, match=r"\[sum\] write into what a custom Function returned"):
        result.sum().backward()
    for target in (leaf, leaf * 1):
        result = function.apply(target)
        with pytest.raises(RuntimeError, match=r"\[mul\] write into what a custom Function returned"):
            result.mul_(2)
        assert target.tolist() == [[1.0] * 3] * 2
    function.apply(leaf).sum().backward()
    assert leaf.grad is not None and leaf.grad[0].tolist() == [100.0 if function is Row else 7.0] * 3


def test_views_of_what_forward_made_itself_may_be_read_after_a_write() -> None:
    class Flat(Function):
        @staticmethod
        def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
            return (x * 2).reshape(6)

        @staticmethod
        def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
            return g.reshape(2, 3) * 2

    leaf = tenora.ones(2, 3, requires_grad=True)
    result = Flat.apply(leaf)
    with tenora.no_grad():
        result.mul_(3)
    result.sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [[2.0] * 3] * 2


def test_a_named_tuple_from_forward_becomes_a_tuple() -> None:
    class Pair(NamedTuple):
        first: tenora.Tensor
        second: tenora.Tensor

    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: tenora.Tensor) -> Pair:
            return Pair(x * 1, x * 2)

        @staticmethod
        def backward(ctx: Any, g: tenora.Tensor, h: tenora.Tensor) -> tenora.Tensor:
            return g + 2 * h

    leaf = tenora.ones(2, requires_grad=True)
    result = Both.apply(leaf)
    assert type(result) is tuple
    (result[0] + result[1]).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [3.0, 3.0]
