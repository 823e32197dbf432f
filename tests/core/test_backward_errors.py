"""What an error of backward says about modules, without anomaly mode: found when it is raised, kept nowhere."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tenora
from tenora import nn
from tenora.nn import module_failures


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        result: tenora.Tensor = self.linear(x).exp()
        return result


class Stale(nn.Module):
    """Has no parameters: what it does is found by going through the model."""

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        y = x.sigmoid()
        y *= 2.0
        return y


def failed(call: Callable[[], Any], kind: type[Exception] = RuntimeError) -> str:
    with pytest.raises(kind) as found:
        call()
    notes = getattr(found.value, "__notes__", [])
    return "\n".join([str(found.value), *notes])


def test_a_freed_graph_names_the_nearest_parameters(backend: str) -> None:
    net = nn.Sequential(nn.Sequential(Block(), Block()))
    y = net(tenora.ones(1, 2))
    y.sum().backward()
    text = failed(lambda: y.mean().backward())
    assert "[exp]" in text
    assert text.endswith(
        "The nearest parameters before it are 0.1.linear.weight, 0.1.linear.bias of Sequential."
    )


def test_a_write_between_forward_and_backward_names_the_parameter(backend: str) -> None:
    net = nn.Sequential(Block(), nn.Tanh(), nn.Linear(2, 3, bias=False))
    loss = net(tenora.ones(1, 2)).sum()
    with tenora.no_grad():
        net[2].weight.mul_(2)
    text = failed(loss.backward)
    assert (
        "It reads 2.weight of Sequential.\nIt looks to be 2.weight of Sequential: an optimizer's step" in text
    )


def test_writes_in_forward_are_listed_with_their_lines(backend: str) -> None:
    net = nn.Sequential(Block(), Stale(), nn.ReLU(inplace=True))
    text = failed(net(tenora.ones(1, 2)).sum().backward)
    line = Stale.forward.__code__.co_firstlineno + 2
    assert f'File "{__file__}", line {line}, in forward of 1\n    y *= 2.0' in text
    assert "2 (ReLU, inplace=True)" in text
    assert "The nearest parameters before it are 0.linear.weight, 0.linear.bias of Sequential." in text


def test_what_counts_as_a_write() -> None:
    def body(x: Any, y: Any, i: int) -> Any:
        x.add_(1)
        x[0] = i
        x -= y
        x = x + y.requires_grad_() - y._private_() if hasattr(y, "_private_") else x
        return [z.mul_(2) for z in x.not_a_method_()]

    first = body.__code__.co_firstlineno
    lines = [line - first for line in module_failures.writes_in_place(body.__code__)]
    assert lines == [1, 2, 3, 5]


def test_frozen_models_are_named(backend: str) -> None:
    net = nn.Sequential(Block(), nn.Linear(2, 1))
    criterion = nn.MSELoss()
    net.requires_grad_(False)
    text = failed(criterion(net(tenora.ones(1, 2)), tenora.zeros(1, 1)).backward)
    frozen = "Every parameter of Sequential is frozen (requires_grad=False): 0.linear.weight, 0.linear.bias, 1.weight"
    assert f"\n{frozen}, 1.bias." in text and "Linear" not in text.replace(frozen, "")


def test_inputs_that_are_frozen_or_unused_are_named(backend: str) -> None:
    net = nn.Sequential(Block(), nn.Linear(2, 1)).requires_grad_(False)
    trained, unused = nn.Linear(1, 1), nn.Linear(1, 1)
    loss = trained(net(tenora.ones(1, 2))).sum()
    text = failed(lambda: tenora.autograd.grad(loss, [trained.weight, net[0].linear.bias]))
    assert "input 1 is float32[2]" in text and text.endswith("It is 0.linear.bias of Sequential.")
    text = failed(lambda: tenora.autograd.grad(loss, [unused.bias]))
    assert text.endswith("It is bias of Linear.")


def test_frozen_models_are_not_blamed_for_other_mistakes(backend: str) -> None:
    """A feature extractor is frozen, a head is not: whatever took the history, it was not that."""
    features = nn.Sequential(Block(), Block()).requires_grad_(False)
    head = nn.Linear(2, 1)
    x = tenora.ones(1, 2)
    for mistake in (
        head(features(x)).sum().detach().backward,
        head(features(x)).argmax().float().backward,
        tenora.ones(1).backward,
        head(tenora.ones(3, 2)).backward,
        lambda: head(features(x)).sum().backward(tenora.ones(4)),
    ):
        assert "frozen" not in failed(mistake)
    head.requires_grad_(False)
    assert failed(head(features(x)).sum().backward).count("is frozen") == 2


FROZEN = nn.Linear(2, 1).requires_grad_(False)


def test_a_frozen_model_elsewhere_is_not_blamed(backend: str) -> None:
    assert FROZEN  # alive, and in use by the function that called this one at most
    net = Block()

    def step(loss: tenora.Tensor) -> None:
        loss.backward()

    assert "frozen" not in failed(lambda: step(net(tenora.ones(1, 2)).sum().detach()))


class Trainer:
    """Keeps its model, as a class of a user's does."""

    def __init__(self) -> None:
        self.model = nn.Sequential(Block())
        self.others = nn.Linear(2, 2)

    def frozen(self) -> None:
        self.model.requires_grad_(False)
        self.model(tenora.ones(1, 2)).sum().backward()

    def twice(self) -> None:
        total = sum(part.sum() for part in [self.model(tenora.ones(1, 2))])
        total.backward()
        total.backward()


def test_models_that_objects_hold_are_found(backend: str) -> None:
    assert "0.linear.weight, 0.linear.bias of Sequential." in failed(Trainer().twice)
    assert "Every parameter of Sequential is frozen" in failed(Trainer().frozen)


def test_looking_for_models_holds_nothing_and_leaves_locals_alone(backend: str) -> None:
    def step() -> dict[str, Any]:
        kept = locals()
        net = Block()
        y = net(tenora.ones(1, 2))
        y.sum().backward()
        failed(y.sum().backward)
        return kept

    assert isinstance(step()["net"], Block)  # the dict is the program's
    big = tenora.ones(3)
    gone = weakref.ref(big)
    failed(tenora.ones(1).backward)
    del big
    assert gone() is None


def nested(depth: int, net: Block) -> None:
    """Fails below `depth` backwards that call each other."""

    class Inner(tenora.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: tenora.Tensor) -> tenora.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: tenora.Tensor) -> Any:
            with tenora.enable_grad():
                if depth == 0:
                    raise KeyError("mine")
                nested(depth - 1, net)

    Inner.apply(net(tenora.ones(1, 2))).sum().backward()


def test_nested_backwards_name_the_parameters_once(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = module_failures.modules_by_frame
    monkeypatch.setattr(
        module_failures, "modules_by_frame", lambda *args: asked.append(args) or original(*args)
    )
    text = failed(lambda: nested(5, Block()), KeyError)
    assert text.count("linear.weight, linear.bias of Block.") == 1 and len(asked) == 1


class Wrong(tenora.autograd.Function):
    """Its backward is broken in the way that `how` says."""

    @staticmethod
    def forward(ctx: Any, x: tenora.Tensor, how: str) -> tenora.Tensor:
        ctx.how = how
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: tenora.Tensor) -> Any:
        if ctx.how == "raises":
            raise KeyError("mine")
        return tenora.ones(5), None


def test_errors_of_functions_and_hooks_name_parameters(backend: str) -> None:
    net = Block()
    text = failed(Wrong.apply(net(tenora.ones(1, 2)), "raises").sum().backward, KeyError)
    assert text.startswith(
        "'mine'\nThe nearest parameters before it are linear.weight, linear.bias of Block.\n"
    )
    assert "while the gradient of WrongBackward was computed" in text
    text = failed(Wrong.apply(net(tenora.ones(1, 2)), "shape").sum().backward)
    assert "[5]" in text and "linear.weight, linear.bias of Block." in text

    def broken(gradient: tenora.Tensor) -> None:
        raise ValueError("hook")

    y = net(tenora.ones(1, 2))
    y.register_hook(broken)
    text = failed(y.sum().backward, ValueError)
    assert text.startswith("hook\n") and "of Block." in text


def test_without_modules_nothing_is_added(backend: str) -> None:
    x = tenora.ones(2, requires_grad=True)
    y = x.exp()
    y.sum().backward()
    assert failed(y.sum().backward).endswith("Anomaly mode shows where the forward call was made.")
    assert failed(tenora.ones(1).backward).endswith("outside no_grad().")


def test_a_failing_explanation_leaves_the_error_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(nn.Linear):
        def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
            raise ZeroDivisionError

    odd = Odd(1, 1)
    assert failed(tenora.ones(1).backward).endswith("outside no_grad().")
    y = odd(tenora.ones(1, 1)).exp()
    y.sum().backward()
    assert "second time" in failed(y.sum().backward)


def test_modules_are_not_kept_and_half_made_ones_do_no_harm() -> None:
    half = nn.Module.__new__(nn.Module)  # no __init__ has run
    net = Block()
    y = net(tenora.ones(1, 2))
    y.sum().backward()
    assert "of Block." in failed(y.sum().backward)
    gone = weakref.ref(net)
    del net, y
    gc.collect()
    assert gone() is None and half is not None
