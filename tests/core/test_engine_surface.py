"""The autograd surface of the engine: hooks, nodes, Functions' primitive, modes, and that the stub names everything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tenora
import tenora_engine
from tenora_engine import _engine


def leaf() -> tenora.Tensor:
    return tenora.tensor([1.0, 2.0], requires_grad=True)


def test_hooks_replace_and_go_away() -> None:
    x = leaf()
    handle = x.register_hook(lambda grad: grad * 10)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]
    handle.remove()
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_hook_of_a_dead_intermediate_runs() -> None:
    x = leaf()
    seen: list[list[float]] = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    z = (y * 3).sum()
    del y
    z.backward()
    assert seen == [[3.0, 3.0]]


def test_hook_may_remove_itself_and_add_others() -> None:
    x = leaf()
    order: list[str] = []
    handles: list[Any] = []

    def once(grad: tenora.Tensor) -> None:
        order.append("once")
        handles[0].remove()
        x.register_hook(lambda g: order.append("late"))

    handles.append(x.register_hook(once))
    for _ in range(2):
        x.sum().backward()
    assert order == ["once", "late"]


def test_hook_errors() -> None:
    x = leaf()
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(3)
    with pytest.raises(RuntimeError, match="gradients"):
        tenora.ones(2).register_hook(lambda g: g)
    x.register_hook(lambda grad: "no")
    with pytest.raises(TypeError, match="str"):
        x.sum().backward()

    y = leaf()
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()


def test_post_accumulate_hook_sees_the_leaf() -> None:
    x = leaf()
    seen: list[tuple[bool, list[float]]] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 2).sum().backward()
    assert seen == [(True, [2.0, 2.0])]
    with pytest.raises(RuntimeError, match="leaves"):
        (x * 2).register_post_accumulate_grad_hook(lambda t: None)


def test_retain_grad() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]


def test_nodes() -> None:
    x = leaf()
    y = (x * 2).exp()
    node = y.grad_fn
    assert node is y.grad_fn and node.name() == "ExpBackward0" and repr(node).startswith("<ExpBackward0")
    ((inner, number),) = node.next_functions
    assert inner.name() == "MulBackward0" and number == 0
    accumulate = inner.next_functions[0][0]
    assert accumulate.name() == "AccumulateGrad" and accumulate.variable is x
    node.metadata["k"] = 1
    del node
    assert y.grad_fn.metadata == {"k": 1}
    assert x.grad_fn is None and x.is_leaf and not y.is_leaf


def test_node_hooks() -> None:
    x = leaf()
    y = x * 2
    seen: list[str] = []

    def before(grads: tuple[tenora.Tensor, ...]) -> tuple[tenora.Tensor, ...]:
        seen.append("before")
        return (grads[0] * 5,)

    def after(inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        seen.append("after")
        assert outputs[0].tolist() == [5.0, 5.0] and inputs[0].tolist() == [10.0, 10.0]

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    y.sum().backward()
    assert seen == ["before", "after"] and x.grad.tolist() == [10.0, 10.0]


class Context:
    """What `python_node` needs of a context."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.grads: list[Any] = []

    def _run_backward(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        self.grads.append(grads)
        return tuple(None if g is None else g * self.factor for g in grads)[:1]


def test_python_node() -> None:
    x = leaf()
    with tenora.no_grad():
        out = x * 3
    context = Context(3.0)
    (y,) = _engine.python_node(context, [x], [out], name="TripleBackward")
    assert y.grad_fn.name() == "TripleBackward" and y.grad_fn.context is context
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_python_node_undefined_gradients() -> None:
    for materialize in (True, False):
        x = leaf()
        with tenora.no_grad():
            outs = [x * 1, x * 2]
        context = Context(1.0)
        first, second = _engine.python_node(context, [x], outs, materialize_grads=materialize)
        first.sum().backward()
        undefined = context.grads[0][1]
        assert (undefined.tolist() == [0.0, 0.0]) if materialize else undefined is None
        del first, second, undefined, context


def test_python_node_input_as_output_is_an_alias() -> None:
    x = leaf()
    (y,) = _engine.python_node(Context(2.0), [x], [x])
    assert y is not x and y.data_ptr() == x.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_python_node_errors() -> None:
    x = leaf()
    with tenora.no_grad():
        out = x * 1
    with pytest.raises(TypeError):
        _engine.python_node(Context(1.0), [1], [out])
    with pytest.raises(RuntimeError, match="not an input"):
        _engine.python_node(Context(1.0), [x], [out], dirty=[out])

    class Silent:
        pass

    (y,) = _engine.python_node(Silent(), [x], [out])
    with pytest.raises(AttributeError, match="_run_backward"):
        y.sum().backward()


def test_saved_tensor_checks_its_version() -> None:
    x, w = tenora.ones(2), tenora.ones(2, requires_grad=True)
    context = Context(1.0)
    (y,) = _engine.python_node(context, [x, w], [x * 2], save=[x, None])
    saved, none = context._saved  # type: ignore[attr-defined]
    assert none is None and y.requires_grad
    assert saved.unpack() is x
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified"):
        saved.unpack()
    with pytest.raises(TypeError):
        _engine.SavedTensor()


def test_modes_nest_and_restore() -> None:
    context = tenora.no_grad()
    assert tenora.is_grad_enabled()
    with context:
        assert not tenora.is_grad_enabled()
        with tenora.enable_grad():
            assert tenora.is_grad_enabled()
            with context:
                assert not tenora.is_grad_enabled()
            assert tenora.is_grad_enabled()
        assert not tenora.is_grad_enabled()
    assert tenora.is_grad_enabled()
    with pytest.raises(KeyError), tenora.no_grad():
        raise KeyError
    assert tenora.is_grad_enabled()
    with _engine.inference_mode():
        assert _engine.is_inference_mode() and not tenora.is_grad_enabled()
    assert tenora.is_grad_enabled() and not _engine.is_inference_mode()


def test_modes_decorate() -> None:
    @_engine.no_grad()
    def function(depth: int) -> bool:
        return function(depth - 1) if depth else tenora.is_grad_enabled()

    @_engine.no_grad
    def generator() -> Iterator[bool]:
        yield tenora.is_grad_enabled()
        yield tenora.is_grad_enabled()

    assert function.__name__ == "function" and function(3) is False
    states = []
    for inside in generator():
        states.append((inside, tenora.is_grad_enabled()))
    assert states == [(False, True), (False, True)]


def test_grad_and_backward_arguments() -> None:
    x, w = leaf(), leaf()
    y = x * w
    with pytest.raises(RuntimeError):
        y.backward()
    y.backward(tenora.tensor([1.0, 2.0]), inputs=[x])
    assert x.grad.tolist() == [1.0, 4.0] and w.grad is None
    with pytest.raises(TypeError, match="gradient"):
        (x * w).backward(3)
    with pytest.raises(ValueError, match="empty"):
        _engine.grad((x * w).sum(), [])
    unused = leaf()
    assert _engine.grad((x * w).sum(), [unused], allow_unused=True) == (None,)


def test_stub_names_everything_public() -> None:
    folder = Path(tenora_engine.__file__).parent
    tree = ast.parse((folder / "_engine.pyi").read_text())
    tape = ast.parse((folder / "_tape.pyi").read_text())
    named = {n.name for n in [*tree.body, *tape.body] if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    named |= {
        n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    public = {n for n in dir(_engine) if not n.startswith("_")}
    assert public - named == set()
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    native = {
        n
        for n, v in vars(_engine.Tensor).items()
        if type(v).__name__ in ("method_descriptor", "getset_descriptor")
    }
    members = {n.name for n in classes["Tensor"].body if isinstance(n, ast.FunctionDef)}
    members |= {
        n.target.id
        for n in classes["Tensor"].body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    assert {n for n in native if not n.startswith("__")} - members == set()


def test_what_a_kernel_is_handed_follows_the_prepare_function_not_the_name() -> None:
    """Ops prepared as another one is, have the schema that their kernels will meet."""
    handed = {
        name: (info["kernel_inputs"], info["kernel_attributes"])
        for name in ("bmm", "iota", "fill", "copy", "random_bits", "add")
        for info in [_engine.op_info(name)]
    }
    assert handed == {
        "bmm": (None, ""),
        "iota": ("", "start step"),
        "fill": ("", None),
        "copy": ("input", ""),
        "random_bits": ("", "seed offset"),
        "add": (None, None),
    }
