"""Programs: traced once per structure; formulas that cannot be traced say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenora
import tenora_ops
from tenora_autograd import TraceError
from tenora_engine import _engine


def traces(function: Callable[[int], Any], count: int = 1000) -> int:
    """How many Programs `count` further calls trace, after a first one."""
    function(0)
    before = _engine.trace_count()
    for i in range(1, count):
        function(i)
    return int(_engine.trace_count() - before)


def backward(y: Any) -> None:
    y.sum().backward()


def test_indices_trace_once(backend: str) -> None:
    x = tenora.ones(1000, 3, requires_grad=True)
    assert traces(lambda i: backward(x[i])) == 0
    x.grad = None


def test_slices_trace_once(backend: str) -> None:
    x = tenora.ones(1001, requires_grad=True)
    assert traces(lambda i: backward(x[i : i + 1 + i % 7])) == 0
    x.grad = None


def test_shapes_trace_once(backend: str) -> None:
    def step(i: int) -> None:
        x = tenora.ones(2 + i % 37, 3 + i % 11, requires_grad=True)
        backward((x * x).reshape(-1).sum(0, keepdim=True))

    assert traces(step) == 0


def test_paddings_trace_once(backend: str) -> None:
    x = tenora.ones(3, 4, requires_grad=True)
    assert traces(lambda i: backward(tenora.nn.functional.pad(x, (i % 17 + 1, i % 13, i % 3, i % 5)))) == 0
    x.grad = None


def test_scalars_and_exponents_trace_once(backend: str) -> None:
    x = tenora.ones(3, requires_grad=True)
    assert traces(lambda i: backward((x * (i + 1.5)) ** (i % 5 + 2))) == 0
    x.grad = None


def test_composites_trace_once_per_structure(backend: str) -> None:
    def step(i: int) -> None:
        x = tenora.ones(2 + i % 19, 3 + i % 5, requires_grad=True)
        backward(tenora.nn.functional.layer_norm(x, (3 + i % 5,), eps=1e-5 * (i + 1)))
        backward(tenora.var(x, 0, correction=i % 2))

    assert traces(step, 200) == 0


def test_structure_traces_again() -> None:
    """What is structure selects another Program, once each: the counter is not stuck."""
    probe = tenora_ops.op(
        "structure_probe(input: Tensor, other: Tensor) -> Tensor",
        family=tenora_ops.record("square").family,
        dtype="",
        shape="",
        composite=lambda x, y: x * y,
        vjp=lambda g, x, y, r: (g * y, g * x),
        oracle=lambda x, y: x * y,
        doc="A test.",
        example="tenora.ones(1)",
        public="",
    )

    def run() -> int:
        before = _engine.trace_count()
        for first, second in ((True, True), (True, False), (False, True)):
            x = tenora.ones(2, 3, requires_grad=first)
            backward(probe(x, tenora.ones(2, 3, requires_grad=second)))
        return int(_engine.trace_count() - before)

    assert run() >= 3
    assert run() == 0


FAILING: list[tuple[str, Callable[..., Any], str]] = [
    ("number", lambda g, x, r, k: g if k > 0 else -g, "branches on a number"),
    ("data", lambda g, x, r, k: g if x.sum() else -g, "branches on the data"),
    ("size", lambda g, x, r, k: g * len(x.shape), "known only when the Program runs"),
    ("items", lambda g, x, r, k: list(x), "iterates over a tensor"),
    ("number result", lambda g, x, r, k: 3.0, "expected a tensor or None"),
    ("count", lambda g, x, r, k: (g, g), "gives 2 gradients for 1 inputs"),
    ("unknown", lambda g, x, r, k: tenora_ops.ops.no_such_op(g), "unknown op: got 'no_such_op'"),
]


@pytest.mark.parametrize(("label", "formula", "words"), FAILING, ids=[f[0] for f in FAILING])
def test_trace_errors(label: str, formula: Callable[..., Any], words: str) -> None:
    """The error names the op, the formula's file and line, and what is wrong."""
    name = f"traced_{label.replace(' ', '_')}"
    base = tenora_ops.record("square")
    function = tenora_ops.REGISTERED.get(name) or tenora_ops.op(
        f"{name}(input: Tensor, k: int = 1) -> Tensor",
        family=base.family,
        dtype="",
        shape="",
        composite=lambda x, k: x * k,
        vjp=formula,
        oracle=lambda x, k=1: x * k,
        doc="A test.",
        example="tenora.ones(1)",
        public="",
    )
    x = tenora.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=words) as caught:
        function(x).sum().backward()
    assert name in str(caught.value) and "test_programs.py" in str(caught.value)
    assert issubclass(TraceError, RuntimeError)


def test_formula_that_branches_on_data_is_called_back(backend: str) -> None:
    name = "traced_dynamic"
    function = tenora_ops.REGISTERED.get(name) or tenora_ops.op(
        f"{name}(input: Tensor, k: float = 2.0) -> Tensor",
        family=tenora_ops.record("square").family,
        dtype="",
        shape="",
        composite=lambda x, k: x * k,
        vjp=lambda g, x, r, k: g * k if float(x.sum()) > 0 else g * 0,
        dynamic_vjp=True,
        oracle=lambda x, k=2.0: x * k,
        doc="A test.",
        example="tenora.ones(1)",
        public="",
    )
    for value, slope in ((1.0, 3.0), (-1.0, 0.0)):
        x = tenora.full((2,), value, requires_grad=True)
        function(x, 3.0).sum().backward()
        assert x.grad.tolist() == [slope, slope]


def test_sum_to_vanishes_for_equal_shapes() -> None:
    """Adding tensors of one shape saves nothing and its gradient is the gradient itself."""
    x, y = tenora.ones(3, requires_grad=True), tenora.ones(3, requires_grad=True)
    z = x + y
    x_before = x.detach()
    x_before.add_(1)  # an in-place write that would be refused if x were saved
    z.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0, 1.0]
