"""The semantics of PyTorch, judged by PyTorch: promotion, views and writes through them, versions, hooks, derivatives.

Each script is written once and run with `tenora` and with `torch` as its module; what it returns must be equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
SCALARS: dict[str, Any] = {"bool": True, "int": 2, "float": 1.5, "complex": 1 + 2j}
ARITHMETIC = ("add", "sub", "mul", "div", "eq", "lt", "maximum")


def outcome(run: Callable[[], Any]) -> Any:
    """The name of the result's dtype, or that it was refused."""
    try:
        return str(run().dtype).rsplit(".", 1)[-1]
    except (RuntimeError, TypeError, ValueError):
        return "refused"


def half_complex(a: str, b: str) -> bool:
    """PyTorch has an experimental complex type of two halves; tenora has not, and gives complex64."""
    return any(x == "float16" and "complex" in y for x, y in ((a, b), (b, a)))


def make(module: Any, dtype: str, dims: int) -> Any:
    one = module.ones([2] * dims, dtype=module.float32)
    return one.to(getattr(module, dtype))


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dims", [(1, 1), (0, 1), (1, 0), (0, 0)], ids=str)
def test_promotion_of_tensors(name: str, dims: tuple[int, int], backend: str) -> None:
    """All dtype pairs, with dimensions and without."""
    for a, b in itertools.product(DTYPES, DTYPES):
        if half_complex(a, b):
            continue
        ours = outcome(lambda: getattr(tenora, name)(make(tenora, a, dims[0]), make(tenora, b, dims[1])))  # noqa: B023
        theirs = outcome(lambda: getattr(torch, name)(make(torch, a, dims[0]), make(torch, b, dims[1])))  # noqa: B023
        assert ours == theirs, f"{name}({a} {dims[0]}-d, {b} {dims[1]}-d): {ours}, torch {theirs}"


@pytest.mark.parametrize("name", ("add", "sub", "mul", "div", "eq", "pow"))
@pytest.mark.parametrize("dims", (0, 1))
def test_promotion_of_scalars(name: str, dims: int, backend: str) -> None:
    """A Python number beside every dtype, on either side."""
    symbols: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "eq": lambda a, b: a == b,
        "pow": lambda a, b: a**b,
    }
    for dtype, (kind, value) in itertools.product(DTYPES, SCALARS.items()):
        if name == "pow" and ("complex" in dtype or kind == "complex"):
            continue  # complex powers come with the op set
        if half_complex(dtype, kind) or (name == "pow" and dtype == kind == "bool"):
            continue  # a power of booleans has no kernel
        for flipped in (False, True):

            def run(module: Any) -> Any:
                x = make(module, dtype, dims)  # noqa: B023
                return symbols[name](value, x) if flipped else symbols[name](x, value)  # noqa: B023

            ours, theirs = outcome(lambda: run(tenora)), outcome(lambda: run(torch))
            assert ours == theirs, (
                f"{name} {dtype} {dims}-d with {kind}, flipped {flipped}: {ours}, torch {theirs}"
            )


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "exp", "argmax", "abs", "neg"])
def test_result_dtypes(name: str, backend: str) -> None:
    for dtype in DTYPES:
        if dtype == "bool" and name in ("argmax", "abs"):
            continue  # tenora answers, as NumPy does; PyTorch refuses

        def run(module: Any) -> Any:
            x = make(module, dtype, 1)  # noqa: B023
            return getattr(module, name)(x, 0) if name == "cumsum" else getattr(module, name)(x)

        ours, theirs = outcome(lambda: run(tenora)), outcome(lambda: run(torch))
        assert ours == theirs, f"{name}({dtype}): {ours}, torch {theirs}"


def plain(value: Any) -> Any:
    """A result without its module: arrays, numbers, strings."""
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.detach().numpy().copy() if hasattr(value, "detach") else value


def agree(ours: Any, theirs: Any, where: str) -> None:
    if isinstance(ours, list):
        assert isinstance(theirs, list) and len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            agree(a, b, f"{where}[{i}]")
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=where)
    else:
        assert ours == theirs, f"{where}: {ours!r}, torch {theirs!r}"


def numbers(m: Any, *shape: int, grad: bool = True) -> Any:
    size = int(np.prod(shape, dtype=int))
    x = m.arange(1, size + 1, dtype=m.float64).reshape(shape) / 3
    return x.detach().requires_grad_(grad)


def refused(run: Callable[[], Any]) -> str:
    """The kind of error, which is the same in both."""
    try:
        run()
    except Exception as error:
        for kind in (IndexError, TypeError, ValueError, RuntimeError):
            if isinstance(error, kind):
                return kind.__name__
    return "accepted"


# ---- scripts: views and writes ----
def write_through_view(m: Any) -> Any:
    x = numbers(m, 3, 4)
    y = x * 2
    y[1].mul_(3)
    y[:, 2].add_(y[:, 1])
    (y * y).sum().backward()
    return x.grad, y


def write_through_view_of_view(m: Any) -> Any:
    x = numbers(m, 3, 4)
    y = x * 1
    y.t()[1:3].transpose(0, 1)[0].mul_(5)
    (y**2).sum().backward()
    return x.grad, y


def sibling_view(m: Any) -> Any:
    x = numbers(m, 6)
    y = x * 2
    a, b = y.view(2, 3), y.view(3, 2)
    a.mul_(3)
    b[0].add_(a[1, :2])
    (b * b).sum().backward()
    return x.grad, a, b


def stale_view(m: Any) -> Any:
    x = numbers(m, 4)
    y = x * 1
    v = y[1:3]
    y.mul_(3)
    (v * v).sum().backward()
    return x.grad, v, v.grad_fn is not None


def stale_view_after_two_writes(m: Any) -> Any:
    x = numbers(m, 4)
    y = x * 1
    v, w = y[1:3], y[2:]
    v.mul_(2)
    w.add_(v.clone())
    (y * y).sum().backward()
    return x.grad, y, v, w


def base_without_gradient(m: Any) -> Any:
    x = numbers(m, 3)
    b = m.zeros(2, 3, dtype=m.float64)
    b[0] = x * x
    b[1] = x
    before = b.requires_grad
    (b * b).sum().backward()
    return before, x.grad


def assign_number(m: Any) -> Any:
    x = numbers(m, 2, 3)
    y = x * 2
    y[0, 1] = 7.0
    y[1] = 0
    y.sum().backward()
    return x.grad, y


def assign_masked(m: Any) -> Any:
    x = numbers(m, 2, 3)
    y = x * 2
    y[x.detach() > 1] = 5.0
    (y * y).sum().backward()
    return x.grad, y


def assign_indices(m: Any) -> Any:
    x, v = numbers(m, 5), numbers(m, 2)
    y = x * 2
    y[m.tensor([3, 0])] = v
    (y * y).sum().backward()
    return x.grad, v.grad, y


def copy_and_fill(m: Any) -> Any:
    x, s = numbers(m, 2, 3), numbers(m, 3)
    y = x * 2
    y.copy_(s)
    z = x * 3
    z[0].fill_(4.0)
    (y.sum() + (z * z).sum()).backward()
    return x.grad, s.grad, y, z


def inplace_chain(m: Any) -> Any:
    x = numbers(m, 4)
    y = x.clone()
    y += 1
    y *= x
    y -= 2
    y /= 3
    (y * y).sum().backward()
    return x.grad, y


def inplace_of_power(m: Any) -> Any:
    x = numbers(m, 4)
    y = x * 1
    y.pow_(2)
    z = y.mul_(x)
    z.sum().backward()
    return x.grad, z is y


def views_share_memory(m: Any) -> Any:
    x = numbers(m, 2, 3, grad=False)
    views = [
        x.view(6),
        x.t(),
        x[0],
        x[:, 1:],
        x.unsqueeze(0),
        x.reshape(3, 2),
        x.expand(2, 2, 3),
        x.detach(),
        x.diagonal(),
    ]
    x.add_(10)
    return list(views), [v.stride() for v in views], [v.storage_offset() for v in views]


def select_loop(m: Any) -> Any:
    y = numbers(m, 5)
    z = y * 1
    for i in range(5):
        z[i].mul_(i + 1)
    z.sum().backward()
    return y.grad, z


def as_strided_window(m: Any) -> Any:
    x = numbers(m, 6)
    y = (x * 1).as_strided((3, 2), (1, 1), 1)
    (y * y).sum().backward()
    return x.grad, y


def expanded_gradient(m: Any) -> Any:
    x = numbers(m, 3, 1)
    x.expand(3, 4).mul(numbers(m, 3, 4, grad=False)).sum().backward()
    return x.grad


# ---- scripts: errors ----
def errors_of_versions(m: Any) -> Any:
    def saved_input_changed() -> None:
        x = numbers(m, 3)
        a = x * 2
        b = a * a
        a.add_(1)
        b.sum().backward()

    def saved_result_changed() -> None:
        x = numbers(m, 3)
        r = x.exp()
        r.mul_(2)
        r.sum().backward()

    def unread_input_changed() -> None:
        x = numbers(m, 3)
        a = x * 2
        b = a + a
        a.mul_(3)
        b.sum().backward()

    def changed_through_a_view() -> None:
        x = numbers(m, 3)
        a = x * 2
        b = a * a
        a[0].add_(1)
        b.sum().backward()

    return [
        refused(f)
        for f in (saved_input_changed, saved_result_changed, unread_input_changed, changed_through_a_view)
    ]


def errors_of_leaves(m: Any) -> Any:
    def leaf() -> None:
        numbers(m, 3).add_(1)

    def view_of_leaf() -> None:
        numbers(m, 3)[0].add_(1)

    def leaf_without_grad_mode() -> None:
        with m.no_grad():
            numbers(m, 3).add_(1)

    def broadcast_target() -> None:
        m.zeros(3).add_(m.zeros(2, 3))

    def narrowing_result() -> None:
        m.zeros(3, dtype=m.int64).add_(1.5)

    return [
        refused(f) for f in (leaf, view_of_leaf, leaf_without_grad_mode, broadcast_target, narrowing_result)
    ]


def errors_of_backward(m: Any) -> Any:
    def twice() -> None:
        y = (numbers(m, 3) ** 2).sum()
        y.backward()
        y.backward()

    def not_scalar() -> None:
        (numbers(m, 3) * 2).backward()

    def no_gradient() -> None:
        m.zeros(1).backward()

    def wrong_gradient() -> None:
        (numbers(m, 3) * 2).backward(m.zeros(2, dtype=m.float64))

    def unused() -> None:
        m.autograd.grad(numbers(m, 3).sum(), numbers(m, 3))

    def retained() -> None:
        y = (numbers(m, 3) ** 2).sum()
        y.backward(retain_graph=True)
        y.backward()

    return [refused(f) for f in (twice, not_scalar, no_gradient, wrong_gradient, unused, retained)]


# ---- scripts: hooks, accumulation, modes ----
def hooks_run(m: Any) -> Any:
    x = numbers(m, 3)
    y = x * 2
    seen: list[Any] = []
    first = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.sum().item()))
    x.register_hook(lambda g: g + 1)
    (y * y).sum().backward(retain_graph=True)
    once = x.grad.clone()
    first.remove()
    x.grad = None
    (y * y).sum().backward()
    return once, x.grad, seen


def hook_after_accumulation(m: Any) -> Any:
    x = numbers(m, 3)
    seen: list[Any] = []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    handle.remove()
    (x * 4).sum().backward()
    return seen, x.grad


def retained_gradient(m: Any) -> Any:
    x = numbers(m, 3)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, x.grad, y.is_leaf, x.is_leaf


def accumulation(m: Any) -> Any:
    x = numbers(m, 3)
    for k in range(1, 4):
        (x * k).sum().backward()
    kept = x.grad.clone()
    (x * x).sum().backward(create_graph=True)
    second, recorded = x.grad.detach().clone(), x.grad.requires_grad
    x.grad = None  # its history holds x, and x held it
    return kept, second, recorded


def diamond(m: Any) -> Any:
    x = numbers(m, 3)
    a = x * 2
    b = a.exp()
    c = a.sin()
    ((b * c) + a + x).sum().backward()
    return x.grad


def some_inputs(m: Any) -> Any:
    x, y = numbers(m, 3), numbers(m, 3)
    z = (x * y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    g = m.autograd.grad(z, (x, y), retain_graph=True)
    h = m.autograd.grad(z, (x, numbers(m, 2)), allow_unused=True)
    return x.grad is None, y.grad, g, h[1] is None


def grad_modes(m: Any) -> Any:
    x = numbers(m, 3)
    with m.no_grad():
        a = x * 2
        with m.enable_grad():
            b = x * 2
    with m.inference_mode():
        c = x * 2
    with m.set_grad_enabled(False):
        d = x * 2
    return [t.requires_grad for t in (a, b, c, d)], m.is_grad_enabled(), a.grad_fn is None


def detached(m: Any) -> Any:
    x = numbers(m, 3)
    y = x * 2
    z = y.detach()
    z[0] = 100.0
    w = (y * z).sum()
    return refused(w.backward), z, z.requires_grad


def chosen_extremes(m: Any) -> Any:
    x = m.tensor([[1.0, 5.0, 5.0], [2.0, 2.0, 0.0]], dtype=m.float64, requires_grad=True)
    y = m.max(x, 1)
    (y.values * m.tensor([1.0, 3.0], dtype=m.float64)).sum().backward()
    first = x.grad.clone()
    x.grad = None
    (x.amax(1) ** 2).sum().backward()
    second = x.grad.clone()
    x.grad = None
    x.max().backward()
    return y.values, y.indices, first, second, x.grad


def relu_at_zero(m: Any) -> Any:
    x = m.tensor([-1.0, 0.0, 2.0], dtype=m.float64, requires_grad=True)
    (m.relu(x) + x.abs() + x.clamp(0, 1) + m.maximum(x, x * 0)).sum().backward()
    return x.grad


def zero_products(m: Any) -> Any:
    x = m.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0], [1.0, 2.0, 3.0]], dtype=m.float64, requires_grad=True)
    x.prod(1).sum().backward()
    first = x.grad.clone()
    x.grad = None
    (x**0).sum().backward()
    (x**2).sum().backward()
    return first, x.grad


# ---- scripts: higher derivatives ----
#: PyTorch's third derivative of layer_norm disagrees with finite differences of its own second; ours agrees with them.
ORDERS = {"layer_norm": 2}


def derivatives(function: Callable[[Any, Any], Any], orders: int = 3) -> Callable[[Any], Any]:
    """First to third derivatives of a sum."""

    def script(m: Any) -> Any:
        x = numbers(m, 2, 2)
        found, value = [], function(m, x).sum()
        for _ in range(orders):
            (slope,) = m.autograd.grad(value, x, create_graph=True, allow_unused=True)
            if slope is None or not slope.requires_grad:
                found.append(slope)
                break
            found.append(slope)
            value = (slope * slope).sum()
        return found

    return script


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cube": lambda m, x: x**3,
    "exp_sin": lambda m, x: m.exp(m.sin(x)),
    "matmul": lambda m, x: x @ x @ x,
    "softmax": lambda m, x: m.softmax(x, 1) ** 2,
    "log_softmax": lambda m, x: m.log_softmax(x, 0) ** 2,
    "tanh_sigmoid": lambda m, x: m.tanh(x) * m.sigmoid(x),
    "division": lambda m, x: (x + 1) / (x * x + 2),
    "views": lambda m, x: x.t()[0].expand(3, 2).reshape(-1) ** 3,
    "cat": lambda m, x: m.cat([x, x * x], 1) ** 2,
    "reductions": lambda m, x: x.mean(0) * x.prod(1) + x.std(),
    "indices": lambda m, x: x[m.tensor([0, 1, 0])] ** 3,
    "gather": lambda m, x: m.gather(x, 1, m.tensor([[0, 0], [1, 0]])) ** 3,
    "where": lambda m, x: m.where(x > 1, x**3, x**2),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "linear": lambda m, x: m.nn.functional.linear(x, x, x[0]) ** 2,
    "cross_entropy": lambda m, x: m.nn.functional.cross_entropy(x, m.tensor([1, 0])),
    "norm": lambda m, x: m.logsumexp(x, 1) * m.sqrt(x).sum(1),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (2,)) * x,
    "inplace": lambda m, x: (x * 1).mul_(x).add_(x) ** 2,
}

SCRIPTS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (
        write_through_view, write_through_view_of_view, sibling_view, stale_view, stale_view_after_two_writes,
        base_without_gradient, assign_number, assign_masked, assign_indices, copy_and_fill, inplace_chain,
        inplace_of_power, views_share_memory, select_loop, as_strided_window, expanded_gradient, errors_of_versions,
        errors_of_leaves, errors_of_backward, hooks_run, hook_after_accumulation, retained_gradient, accumulation,
        diamond, some_inputs, grad_modes, detached, chosen_extremes, relu_at_zero, zero_products,
    )
}  # fmt: skip
SCRIPTS.update(
    {f"derivatives_of_{name}": derivatives(f, ORDERS.get(name, 3)) for name, f in FUNCTIONS.items()}
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name: str, backend: str) -> None:
    agree(plain(SCRIPTS[name](tenora)), plain(SCRIPTS[name](torch)), name)
