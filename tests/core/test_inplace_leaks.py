"""A tensor that a node saved and that is then written with what came of that node: everything is freed at once.

The collector is off: what is left over here is left over for good, since native counts never meet it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tenora


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def counts() -> dict[str, int]:
    return {name: n for name, n in tenora.live().items() if name != "programs"}


def weight(*shape: int) -> tenora.Tensor:
    return tenora.full(shape, 0.5, requires_grad=True)


def write_operand() -> None:
    x = tenora.ones(3)
    x.add_(x * weight(3))


def write_operand_again_and_again() -> None:
    w, h = weight(3), tenora.ones(3)
    for _ in range(20):
        h += tenora.tanh(h * w)


def write_with_history() -> None:
    w = weight(3)
    h = w * 2
    for _ in range(20):
        h += h * h.exp()


def write_through_view() -> None:
    w, x = weight(2, 3), tenora.ones(2, 3)
    y = x * w
    x[0].add_(y[1])


def write_base_of_saved_view() -> None:
    w, x = weight(3), tenora.ones(2, 3)
    y = x[0] * w
    x.add_(y)
    x[1].mul_(2)


def write_sibling_view() -> None:
    w, x = weight(3), tenora.ones(2, 3)
    x[1] = x[0] * w
    x[0] += x[1] * w


def multiply_by_own_view() -> None:
    z = weight(2, 3) * 1
    z.mul_(z[:, :1])


def write_two_that_saved_each_other() -> None:
    w, x, z = weight(3), tenora.ones(3), tenora.ones(3)
    y, q = x * w, z * w
    x.add_(q)
    z.add_(y)


def write_after_matmul() -> None:
    w, h = weight(3, 3), tenora.ones(3, 3)
    h += h @ w


def fill_a_cache() -> None:
    w, cache, h = weight(4, 4), tenora.zeros(6, 4), tenora.ones(4)
    for i in range(6):
        cache[i] = h @ w
        h = cache[: i + 1].transpose(0, 1) @ (cache[: i + 1] @ h)


class Scale(tenora.autograd.Function):
    """Saves both operands, or the one it writes."""

    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor, w: tenora.Tensor) -> tenora.Tensor:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tuple[tenora.Tensor, tenora.Tensor]:
        x, w = ctx.saved_tensors
        return g * w, g * x


def write_what_a_function_saved() -> None:
    w, x = weight(3), tenora.ones(3)
    x.add_(Scale.apply(x, w))


def write_base_of_what_a_function_saved() -> None:
    w, x = weight(3), tenora.ones(2, 3)
    x.mul_(Scale.apply(x[0], w))
    x[1].add_(Scale.apply(x[0] * 2, w))


def write_what_was_a_leaf() -> None:
    w, x = weight(3), weight(3)
    y = x * w
    x.requires_grad_(False)
    x.add_(y)


def write_what_was_a_detached_leaf() -> None:
    x = weight(3)
    y = Scale.apply(x, x * 2)
    x.detach_()
    x.add_(y)


def write_base_of_a_leaf() -> None:
    base = tenora.ones(2, 3)
    x = base[0].requires_grad_()
    y = x * x
    base.add_(y)


CASES = [
    write_what_a_function_saved,
    write_base_of_what_a_function_saved,
    write_what_was_a_leaf,
    write_what_was_a_detached_leaf,
    write_base_of_a_leaf,
    write_operand,
    write_operand_again_and_again,
    write_with_history,
    write_through_view,
    write_base_of_saved_view,
    write_sibling_view,
    multiply_by_own_view,
    write_two_that_saved_each_other,
    write_after_matmul,
    fill_a_cache,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_counts_return_to_where_they_were(case: Callable[[], None], backend: str) -> None:
    case()  # Programs are traced, buffers of the op are made
    before = counts()
    case()
    assert counts() == before


def test_version_errors_still_name_the_op(backend: str) -> None:
    w, x = weight(3), tenora.ones(3)
    x.add_(x * w)
    before = counts()
    with pytest.raises(RuntimeError, match=r"\[mul\].*inplace operation.*at version 1, expected version 0"):
        x.sum().backward()
    assert counts()["nodes"] == before["nodes"]


def test_what_does_not_read_the_old_value_still_differentiates(backend: str) -> None:
    w, x = weight(3), tenora.ones(3)
    y = x * w
    x.add_(w)
    (gradient,) = tenora.autograd.grad(x.sum(), [w])
    assert gradient.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match=r"\[mul\]"):
        y.sum().backward()


def test_what_was_a_leaf_still_gets_its_gradient(backend: str) -> None:
    x = weight(3)
    y = x * 3
    x.requires_grad_(False)
    x.add_(y)
    x.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0, 3.0]
    assert not x.is_leaf


def test_a_gradient_for_a_leaf_that_is_gone_goes_nowhere(backend: str) -> None:
    x = weight(3)
    y = x * 3
    x.requires_grad_(False)
    x.add_(y)
    del x
    y.sum().backward()
