"""What an exception says about modules: path, class, inputs, once, with its type and traceback as they are."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import tenora
from tenora import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        result: tenora.Tensor = self.linear(x)
        return result


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(4))
        self.layers[3].linear = nn.Linear(5, 3)

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        result: tenora.Tensor = self.encoder(x)
        return result


def caught(call: Callable[[], Any], kind: type[Exception] = Exception) -> Any:
    with pytest.raises(kind) as found:
        call()
    return found.value


def test_the_full_path_stands_once(backend: str) -> None:
    error = caught(lambda: Net()(tenora.ones(2, 3)), RuntimeError)
    assert type(error).__name__ == "OperationError" and error.op == "linear"
    assert error.module_path == "encoder.layers.3.linear"
    assert [type(module).__name__ for module in error.modules] == ["Net", "Encoder", "Block", "Linear"]
    assert error.__notes__ == [
        "In module encoder.layers.3.linear (Linear) of Net, called with a tenora.float32 tensor of shape (2, 3)."
    ]
    text = "".join(traceback.format_exception(error))
    assert "got input float32[2, 3] and weight float32[3, 5]" in text
    assert "result: tenora.Tensor = self.linear(x)" in text and text.count("In module") == 1


@pytest.mark.parametrize("kind", [KeyError, ZeroDivisionError, StopIteration, LookupError])
def test_every_exception_keeps_its_type_and_arguments(kind: type[Exception]) -> None:
    class Failing(nn.Module):
        def forward(self, x: tenora.Tensor, *, scale: float) -> tenora.Tensor:
            raise kind("mine")

    error = caught(lambda: nn.Sequential(nn.Identity(), Failing())[1](tenora.ones(2), scale=2.0), kind)
    assert type(error) is kind and error.args == ("mine",)
    assert error.__notes__ == [
        "In module Failing, in its own forward, called with a tenora.float32 tensor of shape (2,), scale=2.0."
    ]
    assert error.module_path == ""


def test_interruptions_are_left_alone() -> None:
    class Interrupted(nn.Module):
        def forward(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as found:
        Interrupted()()
    assert not hasattr(found.value, "__notes__")


def test_hooks_and_names_of_shared_and_unregistered_modules() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [nn.Linear(2, 2)]

        def forward(self, x: tenora.Tensor) -> Any:
            return self.parts[0](x)

    error = caught(lambda: nn.Sequential(Hidden())(tenora.ones(1, 3)))
    assert error.module_path == "0.<Linear>"
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda module, args, output: output + tenora.ones(3))
    error = caught(lambda: nn.Sequential(nn.Tanh(), layer, layer)(tenora.ones(1, 2)))
    assert error.module_path == "1" and error.op == "add"


def test_an_error_that_is_handled_inside_goes_no_further() -> None:
    class Careful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 2)
            self.second = nn.Linear(4, 2)

        def forward(self, x: tenora.Tensor) -> Any:
            try:
                return self.first(x)
            except RuntimeError as error:
                self.seen = error
                return self.second(x)

    net = Careful()
    assert net(tenora.ones(1, 4)).shape == (1, 2)
    assert net.seen.module_path == ""
    error = caught(lambda: net(tenora.ones(1, 3)))
    assert error.module_path == "second"
    del net.seen


def test_an_exception_raised_again_elsewhere_has_one_note() -> None:
    error = caught(lambda: nn.Linear(2, 2)(tenora.ones(1, 3)))

    class Again(nn.Module):
        def forward(self) -> None:
            raise error

    assert caught(lambda: nn.Sequential(nn.Sequential(), Again())[1]()) is error
    assert len(error.__notes__) == 1 and error.module_path == "<Linear>"
    error.__traceback__ = None


def test_fields_of_a_programs_own_exception_stay_its_own() -> None:
    class Mine(Exception):
        def __init__(self) -> None:
            super().__init__("mine")
            self.modules = ["a"]

    class Failing(nn.Module):
        def forward(self, weight: tenora.Tensor) -> None:
            raise Mine

    error = caught(lambda: nn.Sequential(Failing())(nn.UninitializedParameter()), Mine)
    assert error.modules == ["a"] and not hasattr(error, "module_path")
    assert error.__notes__ == ["In module 0 (Failing) of Sequential, called with an UninitializedParameter."]


def test_a_missing_attribute_is_named_with_the_nearest_one() -> None:
    class Typo(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.classifier = nn.Linear(2, 2)

        def forward(self, x: tenora.Tensor) -> Any:
            return self.clasifier(x)

    error = caught(lambda: Typo()(tenora.ones(1, 2)), AttributeError)
    assert str(error) == "'Typo' object has no attribute 'clasifier'"
    assert "Did you mean 'classifier'?" in error.__notes__[0]


class Root(nn.Module):
    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        return tenora.sqrt(x - x)


def test_anomaly_mode_names_the_module_of_the_forward_op(backend: str) -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), Root()))
    with tenora.autograd.detect_anomaly():
        loss = net(tenora.ones(1, 2)).mul(0.0).sum()
        error = caught(loss.backward, RuntimeError)
    text = str(error)
    assert "[sqrt]" in text and "return tenora.sqrt(x - x)" in text
    assert text.rstrip().endswith("in module 1.1 (Root) of Sequential")


def test_anomaly_mode_names_the_module_of_a_stale_tensor(backend: str) -> None:
    class Stale(nn.Module):
        def forward(self, x: tenora.Tensor) -> tenora.Tensor:
            y = x.exp()
            z = y * y
            y.add_(1)
            return z

    with tenora.autograd.detect_anomaly():
        loss = nn.Sequential(nn.Linear(2, 2), Stale())(tenora.ones(1, 2)).sum()
        error = caught(loss.backward, RuntimeError)
    assert "[mul]" in str(error) and "in module 1 (Stale) of Sequential" in str(error)
    assert "z = y * y" in str(error)


def test_an_op_outside_of_modules_has_a_trace_without_one() -> None:
    x = tenora.zeros(1, requires_grad=True)
    with tenora.autograd.detect_anomaly():
        y = tenora.sqrt(x).mul(0.0)
        error = caught(y.sum().backward, RuntimeError)
    assert "tenora.sqrt(x)" in str(error) and "in module" not in str(error)


def without_init(start: Callable[[Any], None] = lambda module: None, base: type = nn.Module) -> Any:
    """An instance of a class `Forgot` whose `__init__` does no more than `start`."""
    body = {"__init__": start, "forward": lambda self, x: x}
    return type("Forgot", (base,), body)()


def an_attribute(module: Any) -> None:
    module.width = 3


@pytest.mark.parametrize(
    "start",
    [
        lambda module: setattr(module, "weight", nn.Parameter(tenora.ones(2))),
        lambda module: setattr(module, "mean", nn.Buffer(tenora.ones(2))),
        lambda module: setattr(module, "layer", nn.Linear(2, 2)),
        lambda module: module.register_parameter("weight", None),
        lambda module: module.register_buffer("mean", tenora.ones(2)),
        lambda module: module.add_module("layer", nn.Linear(2, 2)),
        lambda module: module.register_forward_hook(print),
    ],
)
def test_a_member_before_init_is_refused(start: Callable[[Any], None]) -> None:
    error = caught(lambda: without_init(start), AttributeError)
    assert str(error).startswith("[Module] Forgot: got ") and "super().__init__() to run first" in str(error)


@pytest.mark.parametrize("start", [an_attribute, lambda module: None])
@pytest.mark.parametrize(
    "use",
    [
        lambda module: module(tenora.ones(2)),
        lambda module: nn.Sequential(module)(tenora.ones(2)),
        lambda module: list(module.parameters()),
        lambda module: list(module.buffers()),
        lambda module: list(module.children()),
        lambda module: module.state_dict(),
        lambda module: module.load_state_dict({}),
        lambda module: module.train(),
        lambda module: module.double(),
        lambda module: module.zero_grad(),
        lambda module: module.register_forward_pre_hook(print),
        lambda module: module.register_full_backward_hook(print),
        lambda module: tenora.optim.SGD(module.parameters(), lr=0.1),
        repr,
    ],
)
def test_any_use_of_a_module_without_init_says_so(
    start: Callable[[Any], None], use: Callable[[Any], Any]
) -> None:
    module = without_init(start)
    error = caught(lambda: use(module), AttributeError)
    assert str(error).startswith("[Module] Forgot: got ") and "super().__init__() to run first" in str(error)


@pytest.mark.parametrize(
    ("base", "use"),
    [
        (nn.Sequential, lambda module: module.append(nn.ReLU())),
        (nn.Sequential, len),
        (nn.ModuleDict, lambda module: module["key"]),
        (nn.ParameterList, lambda module: module.append(tenora.ones(1))),
        (nn.ParameterDict, lambda module: module["key"]),
        (nn.Linear, repr),
        (nn.LazyLinear, lambda module: module(tenora.ones(2))),
    ],
)
def test_so_do_subclasses_of_ours(base: type, use: Callable[[Any], Any]) -> None:
    error = caught(lambda: use(without_init(base=base)), AttributeError)
    assert str(error).startswith("[Module] Forgot: got ") and "super().__init__() to run first" in str(error)


def test_a_half_made_module_does_not_hide_another_ones_error() -> None:
    net = nn.Sequential(nn.Linear(2, 2), without_init(), nn.Linear(3, 3))
    error = caught(lambda: net(tenora.ones(1, 3)), RuntimeError)
    assert error.module_path == "0" and error.__context__ is None
    error = caught(lambda: net(tenora.ones(1, 2)), AttributeError)
    assert error.module_path == "1" and "got a call before" in str(error)
