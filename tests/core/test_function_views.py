"""Functions that write in place: into a tensor, a view, a view of a view; gradients as in PyTorch."""

from __future__ import annotations

from typing import Any

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
