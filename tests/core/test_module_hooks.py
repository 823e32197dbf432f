"""Hooks of modules: each program is run under tenora and PyTorch and must say the same."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from both import agree, refused

import tenora

pytestmark = pytest.mark.oracle


def net(f: Any) -> Any:
    made = f.nn.Sequential(f.nn.Linear(2, 3), f.nn.Tanh(), f.nn.Linear(3, 1)).double()
    with f.no_grad():
        for number, parameter in enumerate(made.parameters()):
            parameter.copy_(
                f.arange(parameter.numel(), dtype=f.float64).reshape(parameter.shape) / 4 - number / 3
            )
    return made


def batch(f: Any, grad: bool = False) -> Any:
    return f.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=f.float64, requires_grad=grad)


def forward_order(f: Any) -> Any:
    seen: list[Any] = []
    layer = f.nn.Identity()

    def note(name: str) -> Any:
        return lambda *args: seen.append((name, len(args)))

    layer.register_forward_pre_hook(note("pre"))
    layer.register_forward_pre_hook(note("pre first, with kwargs"), prepend=True, with_kwargs=True)
    layer.register_forward_hook(note("after"))
    layer.register_forward_hook(note("after first"), prepend=True)
    layer.register_forward_hook(note("after with kwargs"), with_kwargs=True)
    handles = [
        f.nn.modules.module.register_module_forward_pre_hook(note("all pre")),
        f.nn.modules.module.register_module_forward_hook(note("all after"), with_kwargs=True),
    ]
    layer(f.ones(1))
    for handle in handles:
        handle.remove()
    layer(f.ones(1))
    return seen


def changing_arguments(f: Any) -> Any:
    class Scaled(f.nn.Module):
        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return x * scale

    layer = Scaled()
    results = []
    with layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"scale": 3.0}), with_kwargs=True):
        results.append(layer(f.ones(2), scale=2.0))
        with layer.register_forward_hook(lambda m, args, kwargs, y: y + kwargs["scale"], with_kwargs=True):
            results.append(layer(f.ones(2)))
    with layer.register_forward_pre_hook(lambda m, args: args[0] + 1):
        results.append(layer(f.ones(2)))
    results.append(layer(f.ones(2), scale=2.0))
    layer.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    results.append(refused(lambda: layer(f.ones(2))))
    return results


def always_called(f: Any) -> Any:
    seen: list[Any] = []

    class Failing(f.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ZeroDivisionError("inside")

    def fail(*_: Any) -> Any:
        raise LookupError("in the hook")

    layer = Failing()
    layer.register_forward_hook(lambda m, args, y: seen.append("not"))
    layer.register_forward_hook(lambda m, args, y: seen.append(("always", y)), always_call=True)
    layer.register_forward_hook(fail, always_call=True)
    register = f.nn.modules.module.register_module_forward_hook
    with register(lambda m, args, y: seen.append(("all", y)), always_call=True):
        for _ in range(2):
            try:
                layer(f.ones(1))
            except ZeroDivisionError as error:
                seen.append(str(error))
    ok = f.nn.Identity()
    ok.register_forward_hook(lambda m, args, y: seen.append("once"), always_call=True)
    ok(f.ones(1))
    return seen


def full_backward(f: Any, grad: bool = True, change: bool = False) -> Any:
    seen: list[Any] = []
    made = net(f)

    def after(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((type(module).__name__, grad_input, grad_output))
        return tuple(None if g is None else g * 2 for g in grad_input) if change else None

    def before(module: Any, grad_output: Any) -> Any:
        seen.append(("before", type(module).__name__, grad_output))
        return (grad_output[0] * 3,) if change else None

    made[0].register_full_backward_hook(after)
    made[2].register_full_backward_hook(after)
    made[2].register_full_backward_hook(lambda *_: seen.append("first"), prepend=True)
    made[1].register_full_backward_pre_hook(before)
    x = batch(f, grad)
    made(x).sum().backward()
    return seen, x.grad, [p.grad for p in made.parameters()]


def backward_of_all(f: Any) -> Any:
    seen: list[Any] = []
    hooks = f.nn.modules.module
    made = net(f)
    made[1].register_full_backward_hook(lambda *_: seen.append("own"))
    with (
        hooks.register_module_full_backward_hook(lambda m, i, o: seen.append(("after", type(m).__name__, o))),
        hooks.register_module_full_backward_pre_hook(lambda m, o: seen.append(("before", type(m).__name__))),
    ):
        made(batch(f, True)).sum().backward()
    made(batch(f, True)).sum().backward()
    return seen


def several_inputs_and_outputs(f: Any) -> Any:
    seen: list[Any] = []

    class Two(f.nn.Module):
        def forward(self, a: Any, name: str, b: Any) -> Any:
            return a * 2, name, b * a

    layer = Two()
    layer.register_full_backward_hook(lambda m, i, o: seen.append((i, o)))
    a, b = batch(f, True), batch(f)
    first, _, second = layer(a, "text", b)
    first.sum().backward(retain_graph=True)
    (first.sum() + (second * second).sum()).backward()
    return seen, a.grad, b.grad


def double_backward(f: Any) -> Any:
    seen: list[Any] = []
    layer = f.nn.Tanh()
    layer.register_full_backward_hook(lambda m, i, o: seen.append((i, o)))
    x = batch(f, True)
    (gradient,) = f.autograd.grad(layer(x).sum(), x, create_graph=True)
    gradient.sum().backward()
    return seen, x.grad


def old_backward(f: Any) -> Any:
    seen: list[Any] = []
    layer = f.nn.Tanh()
    layer.register_backward_hook(lambda m, i, o: seen.append((i, o)))
    x = batch(f, True)
    layer(x).sum().backward()
    return seen, x.grad, refused(lambda: layer.register_full_backward_hook(print))


def wrong_count(f: Any) -> Any:
    layer = f.nn.Tanh()
    layer.register_full_backward_hook(lambda m, i, o: (None, None))
    return refused(lambda: layer(batch(f, True)).sum().backward())


def without_recording(f: Any) -> Any:
    seen: list[Any] = []
    made = net(f)
    made.register_full_backward_hook(lambda *_: seen.append("ran"))
    with f.no_grad():
        y = made(batch(f, True))
    return y, y.requires_grad, seen


def registration(f: Any) -> Any:
    seen: list[Any] = []
    hooks = f.nn.modules.module
    with (
        hooks.register_module_parameter_registration_hook(lambda m, name, p: seen.append((name, p.numel()))),
        hooks.register_module_buffer_registration_hook(lambda m, name, b: seen.append(("buffer", name))),
        hooks.register_module_module_registration_hook(
            lambda m, name, c: seen.append((name, type(c).__name__))
        ),
    ):
        made = f.nn.Sequential(f.nn.BatchNorm1d(2))
        made.extra = f.nn.Linear(2, 1)
        made.register_buffer("given", f.ones(1))
        made.given = f.zeros(2)
        made.add_module("none", None)
    with hooks.register_module_parameter_registration_hook(lambda m, name, p: f.nn.Parameter(p.detach() * 0)):
        made.extra.bias = f.nn.Parameter(f.ones(1))
    return seen, made.extra.bias


def copies_keep_hooks(f: Any) -> Any:
    layer = f.nn.Identity()
    handle = layer.register_forward_hook(lambda m, args, y: y + 1)
    again = copy.deepcopy(layer)
    handle.remove()
    return layer(f.zeros(1)), again(f.zeros(1)), len(layer._forward_hooks), len(again._forward_hooks)


def tables_can_be_written(f: Any) -> Any:
    layer = f.nn.Identity()
    layer._forward_hooks[-1] = lambda m, args, y: y * 5
    first = layer(f.ones(1))
    layer._forward_hooks.clear()
    return first, layer(f.ones(1)), layer(f.ones(1))


PROGRAMS = {
    program.__name__: program
    for program in (
        forward_order, changing_arguments, always_called, full_backward, backward_of_all, several_inputs_and_outputs,
        double_backward, old_backward, wrong_count, without_recording, registration, copies_keep_hooks,
        tables_can_be_written,
    )
}  # fmt: skip
PROGRAMS["no input needs a gradient"] = lambda f: full_backward(f, grad=False)
PROGRAMS["gradients are changed"] = lambda f: full_backward(f, change=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, backend: str) -> None:
    result = agree(PROGRAMS[name])
    assert not isinstance(result, Exception), result


def test_a_call_without_hooks_is_not_slowed_by_hooks_that_have_gone() -> None:
    layer = tenora.nn.Identity()
    with layer.register_forward_hook(lambda *_: None):
        assert layer._hooked is True
    layer(tenora.ones(1))
    assert not layer._hooked


def test_hooks_are_not_kept_alive_by_their_handles() -> None:
    layer = tenora.nn.Linear(1, 1)
    handle = layer.register_forward_hook(lambda *_: None)
    before = tenora.live()["tensors"]
    del layer
    assert tenora.live()["tensors"] < before
    handle.remove()


@pytest.mark.parametrize("kind", ["dict", "list", "tuple", "tensor"])
def test_a_result_that_hides_its_tensors_from_backward_hooks_is_warned_of(kind: str) -> None:
    """As in PyTorch, whose hook is not called either."""
    said = []
    for f in (tenora, torch):

        class Answer(f.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, x: Any) -> Any:
                return {"dict": {"a": x * 2}, "list": [x * 2], "tuple": (x * 2,), "tensor": x * 2}[kind]

        module, calls = Answer(), []
        module.register_full_backward_hook(lambda *_, calls=calls: calls.append(1))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = module(f.ones(1, requires_grad=True))
        tensor = {"dict": lambda r: r["a"], "list": lambda r: r[0], "tuple": lambda r: r[0]}.get(
            kind, lambda r: r
        )
        tensor(result).backward()
        said.append((len(caught), calls))
        if f is tenora and caught:
            assert caught[0].filename == __file__ and f"a result of type {kind}" in str(caught[0].message)
    assert said[0] == said[1]


def test_a_move_to_complex_numbers_is_warned_of() -> None:
    for f in (tenora, torch):
        with pytest.warns(UserWarning, match="[Cc]omplex"):
            f.nn.Linear(1, 1).to(f.complex64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f.nn.Linear(1, 1).to(f.float64)
