"""backward() inside backward(): from hooks and Functions, until the stack ends; and gradients of wrong kinds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tenora
from tenora.autograd import Function


def leaf() -> tenora.Tensor:
    return tenora.ones(2, requires_grad=True)


def nest(levels: int) -> int:
    """Each level's hook runs the backward of the next; how deep it came."""
    reached = 0

    def level(number: int) -> None:
        nonlocal reached
        reached = number
        if number == levels:
            return
        with tenora.enable_grad():
            y = leaf() * 2
            y.register_hook(lambda g: level(number + 1))
            y.sum().backward()

    level(0)
    return reached


class Nested(Function):
    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
        with tenora.enable_grad():
            Nested.apply(leaf()).sum().backward()
        return g


@pytest.fixture
def deep_python() -> Iterator[None]:
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(old)


def in_small_thread(function: Callable[[], Any]) -> list[BaseException]:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    old = threading.stack_size(1 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    threading.stack_size(old)
    return errors


def test_some_levels_are_fine_everywhere() -> None:
    assert nest(20) == 20
    assert in_small_thread(lambda: nest(10)) == []


# CPython 3.12 also counts C calls by a limit of its own, which on a large stack comes before ours.
TOO_DEEP = r"\[backward\] backward\(\) calls are nested too deeply"
if sys.version_info[:2] == (3, 12):
    TOO_DEEP += "|maximum recursion depth exceeded"


def test_too_many_levels_are_an_error(deep_python: None) -> None:
    with pytest.raises(RuntimeError, match=TOO_DEEP):
        nest(50_000)
    with pytest.raises(RuntimeError, match=TOO_DEEP):
        Nested.apply(leaf()).sum().backward()
    assert nest(3) == 3


def test_too_many_levels_in_a_small_thread_are_an_error(deep_python: None) -> None:
    for function in (lambda: nest(50_000), lambda: Nested.apply(leaf()).sum().backward()):
        (error,) = in_small_thread(function)
        assert isinstance(error, RuntimeError) and "nested too deeply" in str(error)


class Complex(Function):
    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: tenora.Tensor) -> tenora.Tensor:
        return g * (1 + 2j)


def hooked_leaf(x: tenora.Tensor) -> tenora.Tensor:
    x.register_hook(lambda g: g * 2j)
    return x * 2


def hooked_result(x: tenora.Tensor) -> tenora.Tensor:
    y = x * 2
    y.register_hook(lambda g: g * 2j)
    return y


def hooked_node_before(x: tenora.Tensor) -> tenora.Tensor:
    y = x * 2
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2j,))
    return y


def hooked_node_after(x: tenora.Tensor) -> tenora.Tensor:
    y = x * 2
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2j, *inputs[1:]))
    return y


@pytest.mark.parametrize(
    "function", [Complex.apply, hooked_leaf, hooked_result, hooked_node_before, hooked_node_after]
)
def test_a_complex_gradient_for_a_real_tensor_is_refused(function: Any, backend: str) -> None:
    x = leaf()
    with pytest.raises(RuntimeError, match=r"^\[\w+\] .*complex gradient for a real tensor: got complex64"):
        function(x).sum().backward()
    assert x.grad is None


def test_a_real_gradient_for_a_complex_tensor_is_fine(backend: str) -> None:
    z = tenora.tensor([1 + 2j], requires_grad=True)
    z.register_hook(lambda g: g.real)
    (z * 1).backward(tenora.tensor([3 + 1j]))
    assert z.grad is not None and z.grad.tolist() == [3 + 0j]


def test_the_first_gradient_is_filled_by_the_backend_of_the_forward() -> None:
    for used in ("reference", "cpu_mkl"):
        other = {"reference": "cpu_mkl", "cpu_mkl": "reference"}[used]
        with tenora.use_backend(used):
            y = (leaf() * 2).sum()
        with tenora.use_backend(other), tenora.profiler.profile() as recorded:
            y.backward()
        assert {e["backend"] for e in recorded.events if e["kind"] == "kernel"} == {used}


def test_a_complex_number_beside_a_tensor_that_needs_gradients(backend: str) -> None:
    z = tenora.tensor([1 + 2j], dtype=tenora.complex128, requires_grad=True)
    for y, expected in ((z * 1j, -1j), (1j * z, -1j), (z / 2j, 0.5j), (z + 1j, 1), (1j - z, -1)):
        (g,) = tenora.autograd.grad(y, z, tenora.ones(1, dtype=tenora.complex128))
        assert g.tolist() == [expected]
