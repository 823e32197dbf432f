"""saved_tensors_hooks: what ops and Functions save goes through the user's pair, and derivatives stay the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tenora
from tenora.autograd import Function, grad, graph


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
        (x,) = ctx.saved_tensors
        return g * x * x * 3


class Exponential(Function):
    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
        return g * ctx.saved_tensors[0]


def as_numbers(t: tenora.Tensor) -> Any:
    return t.tolist()


FUNCTIONS = {
    "operands": lambda x: x * x.sin(),
    "result": lambda x: (x * 2).exp(),
    "leaf": lambda x: x.sin() + x**3,
    "matmul": lambda x: x.reshape(1, 3) @ x.exp().reshape(3, 1),
    "function": Cube.apply,
    "function of a result": Exponential.apply,
    "softmax": lambda x: tenora.nn.functional.softmax(x, 0) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_first_and_second_order_stay_the_same(name: str) -> None:
    f = FUNCTIONS[name]
    x = tenora.tensor([0.5, -1.0, 2.0], dtype=tenora.float64, requires_grad=True)

    def derivatives(packed: bool) -> list[Any]:
        if packed:
            with graph.saved_tensors_hooks(as_numbers, lambda v: tenora.tensor(v, dtype=tenora.float64)):
                y = f(x).sum()
                (first,) = grad(y, x, create_graph=True)
                (second,) = grad(first.sum(), x)
        else:
            y = f(x).sum()
            (first,) = grad(y, x, create_graph=True)
            (second,) = grad(first.sum(), x)
        return [first.tolist(), second.tolist()]

    assert derivatives(True) == derivatives(False)


def test_a_pair_sees_what_is_saved_in_its_block_only() -> None:
    packed: list[Any] = []
    unpacked: list[Any] = []
    x = tenora.tensor([2.0], requires_grad=True)

    def pack(t: tenora.Tensor) -> Any:
        assert not t.requires_grad
        packed.append(t.tolist())
        return t

    def unpack(t: tenora.Tensor) -> tenora.Tensor:
        unpacked.append(t.tolist())
        return t

    with graph.saved_tensors_hooks(pack, unpack):
        y = x.exp()
        assert unpacked == []
    z = y * y
    z.backward()
    assert len(packed) == len(unpacked) == 1
    assert packed[0] == pytest.approx([7.389056])


def test_the_innermost_pair_is_used_and_a_retained_graph_unpacks_again() -> None:
    x = tenora.tensor([3.0], requires_grad=True)
    count = 0

    def unpack(t: tenora.Tensor) -> tenora.Tensor:
        nonlocal count
        count += 1
        return t * 10

    with (
        graph.saved_tensors_hooks(lambda t: None, lambda v: tenora.ones(1)),
        graph.saved_tensors_hooks(lambda t: t.clone(), unpack),
    ):
        y = x.sin()
    for _ in range(2):
        y.backward(retain_graph=True)
    assert count == 2
    assert x.grad is not None and x.grad.item() == pytest.approx(2 * tenora.tensor(30.0).cos().item())
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_mistakes_in_hooks_are_named() -> None:
    x = tenora.tensor([3.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"\[saved_tensors_hooks\] hooks must be callable"):
        with graph.saved_tensors_hooks(1, 2):  # type: ignore[arg-type]
            pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 1):  # type: ignore[arg-type,return-value]
        y = x.sin()
    with pytest.raises(TypeError, match="unpack hook returned something else: got int"):
        y.backward()
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        with pytest.raises(RuntimeError, match="modified its input in place"):
            (x * 2).sin()
    with graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):  # type: ignore[arg-type,return-value]
        with pytest.raises(ZeroDivisionError):
            x.sin()
        with pytest.raises(ZeroDivisionError):
            Cube.apply(x)
    assert not x.detach().sin().requires_grad


def test_a_packed_tensor_may_change_afterwards() -> None:
    x = tenora.tensor([3.0], requires_grad=True)
    y = x * 1
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = y.sin()
        w = Cube.apply(y)
    y.zero_()
    z.backward(retain_graph=True)
    w.backward()
    assert x.grad is not None
    assert x.grad.item() == pytest.approx(tenora.tensor(3.0).cos().item() + 27)


def test_cycles_through_packed_objects_are_collected() -> None:
    x = tenora.tensor([3.0], requires_grad=True)
    box: list[Any] = []
    with graph.saved_tensors_hooks(lambda t: box, lambda b: b[0]):
        y = x.sin()
    box.append(y)  # y -> node -> packed -> y


@pytest.mark.parametrize("pinned", [False, True])
def test_save_on_cpu(pinned: bool) -> None:
    x = tenora.tensor([3.0], requires_grad=True)
    with graph.save_on_cpu(pin_memory=pinned):
        y = x * x
    y.backward()
    assert x.grad is not None and x.grad.item() == 6


@pytest.mark.parametrize(
    "other",
    [
        lambda t: tenora.ones(0),
        lambda t: tenora.ones(1000),
        lambda t: tenora.ones(2, 3),
        lambda t: t.to(tenora.float64),
        lambda t: t.to(tenora.int32),
    ],
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unpacked_tensor_of_another_kind_is_refused(backend: str, name: str, other: Any) -> None:
    """Kernels of gradients trust shapes and dtypes: softmax's read beyond an empty tensor."""
    if name.startswith("function"):  # the user's own backward may use what it likes
        return
    x = tenora.tensor([0.5, -1.0, 2.0], requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t, other):
        y = FUNCTIONS[name](x)
    with pytest.raises(
        RuntimeError, match=r"^\[\w+\] the unpack hook .*another kind: got .* expected float32"
    ):
        y.sum().backward()
    assert x.grad is None


def test_hooks_may_end_while_a_node_is_packed() -> None:
    x = tenora.ones(3, requires_grad=True)

    def pack(t: tenora.Tensor) -> tenora.Tensor:
        hooks.__exit__(None, None, None)
        return t.clone()

    hooks = graph.saved_tensors_hooks(pack, lambda t: t)
    hooks.__enter__()
    y = (x * 2) * (x * 3)  # saves two tensors
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [12.0] * 3


def backward_in_two_threads(root: tenora.Tensor) -> list[str]:
    """Errors of two backwards at once, of which one keeps the graph."""
    start = threading.Barrier(2)
    errors: list[str] = []

    def run(keep: bool) -> None:
        start.wait()
        try:
            root.backward(retain_graph=keep)
        except RuntimeError as failure:
            errors.append(str(failure))

    threads = [threading.Thread(target=run, args=(keep,)) for keep in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_two_threads_in_one_graph_of_which_one_keeps_it() -> None:
    """What is packed is counted: the backward that frees it may not pull it from under the other one."""
    for _ in range(20):
        x = tenora.ones(64, requires_grad=True)
        y = x
        with graph.saved_tensors_hooks(lambda t: [t], lambda held: held[0]):
            for _ in range(300):
                y = (y * 1.5).sin()
        errors = backward_in_two_threads(y.sum())
        assert len(errors) < 2 and all("second time" in error for error in errors)
