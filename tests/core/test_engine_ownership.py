"""The engine's tensor and its Python wrapper: identity, lifetime, and what the cycle collector frees."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tenora
from tenora_engine import _engine


class Labelled(tenora.Tensor):
    """A subclass with attributes."""


class Double(tenora.autograd.Function):
    """Multiplies by two; its context can carry anything."""

    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: tenora.Tensor) -> tenora.Tensor:
        return grad * 2


def leaf() -> tenora.Tensor:
    return tenora.tensor([1.0, 2.0], requires_grad=True)


def test_wrapper_is_the_same_while_python_holds_it() -> None:
    x = leaf()
    y = x * 2
    assert y.grad_fn.next_functions[0][0].variable is x
    assert x.grad is None
    y.sum().backward()
    assert x.grad is not None
    kept = x.grad
    assert x.grad is kept


def test_attributes_survive_the_last_python_reference() -> None:
    x = leaf()
    x.label = "weights"
    y = x * 2
    del x
    gc.collect()
    assert y.grad_fn.next_functions[0][0].variable.label == "weights"


def test_weak_reference_lives_as_long_as_the_tensor() -> None:
    x = leaf()
    ref = weakref.ref(x)
    y = x * 2
    del x
    assert ref() is not None and ref().requires_grad
    del y
    assert ref() is None


def test_weak_reference_callback_runs_once() -> None:
    calls: list[int] = []
    x = tenora.tensor([1.0])
    ref = weakref.ref(x, lambda _: calls.append(1))
    del x
    assert ref() is None and calls == [1]


def test_subclass_survives_as_itself() -> None:
    x = Labelled([1.0, 2.0]).requires_grad_()
    x.label = 3
    y = x * 2
    del x
    again = y.grad_fn.next_functions[0][0].variable
    assert type(again) is Labelled and again.label == 3
    assert type(y) is tenora.Tensor


def test_subclass_with_a_finalizer_is_finalized_once() -> None:
    gone: list[str] = []

    class Final(tenora.Tensor):
        def __del__(self) -> None:
            gone.append("x")

    x = Final([1.0, 2.0]).requires_grad_()
    y = x * 2
    del x
    assert gone == []
    del y
    assert gone == ["x"]


def test_slots_in_a_subclass() -> None:
    class Slotted(tenora.Tensor):
        __slots__ = ("note",)

    x = Slotted([1.0]).requires_grad_()
    x.note = "kept"
    y = x * 3
    del x
    assert y.grad_fn.next_functions[0][0].variable.note == "kept"


def test_bytes_go_before_the_next_statement() -> None:
    gc.collect()
    gc.disable()
    try:
        before = _engine.live()["bytes"]
        x = tenora.zeros(1000)
        assert _engine.live()["bytes"] >= before + 4000
        del x
        assert _engine.live()["bytes"] == before
    finally:
        gc.enable()


def test_training_without_the_collector_stays_flat() -> None:
    w = tenora.zeros(8, 8, requires_grad=True)
    x = tenora.ones(4, 8)
    gc.collect()
    gc.disable()
    try:
        sizes = []
        for _ in range(200):
            loss = (x @ w).sum()
            loss.backward()
            w.grad = None
            del loss
            sizes.append(_engine.live()["bytes"])
        assert len(set(sizes[5:])) == 1
    finally:
        gc.enable()


def own_hook() -> None:
    y = leaf() * 2
    y.register_hook(lambda grad: y)


def hook_of_a_leaf() -> None:
    x = leaf()
    x.register_hook(lambda grad: x)


def post_accumulate_hook() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda t: x)


def result_on_its_operand() -> None:
    x = leaf()
    x.out = x * 2


def square_on_its_operand() -> None:
    x = leaf()
    x.out = x * x


def result_on_a_subclass() -> None:
    x = Labelled([1.0, 2.0]).requires_grad_()
    x.out = x * 2


def square_on_a_subclass() -> None:
    x = Labelled([1.0, 2.0]).requires_grad_()
    x.out = x * x


def sum_of_two_uses() -> None:
    x = leaf()
    x.out = x * 2 + x * 3


def tensor_on_its_gradient() -> None:
    x = leaf()
    (x * x).sum().backward()
    x.grad.me = x


def result_on_its_context() -> None:
    y = Double.apply(leaf())
    y.grad_fn.context.y = y


def descendant_on_a_context() -> None:
    y = Double.apply(leaf())
    y.grad_fn.context.z = (y * 2).exp()


def tensor_on_itself() -> None:
    x = tenora.tensor([1.0])
    x.me = x


CYCLES = [
    own_hook,
    hook_of_a_leaf,
    post_accumulate_hook,
    result_on_its_operand,
    square_on_its_operand,
    result_on_a_subclass,
    square_on_a_subclass,
    sum_of_two_uses,
    tensor_on_its_gradient,
    result_on_its_context,
    descendant_on_a_context,
    tensor_on_itself,
]


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda f: f.__name__)
def test_cycles_are_collected(cycle: Callable[[], None]) -> None:
    gc.collect()
    before = _engine.live()
    cycle()
    gc.collect()
    after = _engine.live()
    for kind in ("tensors", "storages", "nodes", "extras"):
        assert after[kind] == before[kind], kind


def test_collector_leaves_what_is_reachable() -> None:
    x = leaf()
    x.label = "here"
    x.out = x * x
    y = x.out
    del x
    for _ in range(3):
        gc.collect()
    y.sum().backward()
    again = y.grad_fn.next_functions[0][0].variable
    assert again.label == "here"
    assert again.grad.tolist() == [2.0, 4.0]
    del again.out


def test_long_tape_is_destroyed_without_recursion() -> None:
    x = leaf()
    y = x
    for _ in range(100_000):
        y = y * 1.0
    x.label = "payload"
    gc.collect()
    del y
    assert x.label == "payload"


def test_long_chain_of_attributes_is_destroyed() -> None:
    first = tenora.tensor([1.0])
    node = first
    for _ in range(20_000):
        following = tenora.tensor([1.0])
        node.following = following
        node = following
    del first, node, following
    gc.collect()
