"""What optimizers and schedulers are given by mistake: errors of the house form, in PyTorch's classes."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

import tenora
from tenora import optim
from tenora.optim import lr_scheduler

METHODS = [
    *["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"],
    *["LBFGS", "Adafactor", "Muon"],
]
# What is no number: flags, and names.
OTHERS = {
    *["foreach", "fused", "capturable", "differentiable", "maximize", "amsgrad", "nesterov", "centered"],
    *["decoupled_weight_decay", "line_search_fn", "adjust_lr_fn"],
}
SEVERAL = {"betas", "etas", "step_sizes", "eps of Adafactor", "ns_coefficients"}


def weight(*shape: int) -> Any:
    return tenora.nn.Parameter(tenora.ones(*(shape or (2, 2))))


def options() -> Iterator[tuple[str, str]]:
    for method in METHODS:
        names = list(inspect.signature(getattr(optim, method).__init__).parameters)[2:]
        yield from ((method, name) for name in names if name not in OTHERS)


@pytest.mark.parametrize(("method", "option"), list(options()))
def test_an_option_of_another_kind_is_named(method: str, option: str) -> None:
    kind = getattr(optim, method)
    several = option in SEVERAL or f"{option} of {method}" in SEVERAL
    wrong: list[Any] = ["x", None, object(), *([0.9] if several else [[1.0], (0.1, 0.2)])]
    for value in wrong:
        if value is None and option == "max_eval":
            continue
        with pytest.raises(TypeError, match=rf"^\[{method}\] {option}(\[0\])?: got .*, expected ") as caught:
            kind([weight()], **{option: value})
        assert isinstance(caught.value, tenora.TenoraError)
    values: list[Any] = [tenora.ones(4), (0.5,) * 4] if several else [tenora.ones(2), math.nan]
    for value in values:
        with pytest.raises(ValueError, match=rf"^\[{method}\] {option}(\[0\])?: got .*, expected "):
            kind([weight()], **{option: value})


def test_numbers_of_other_libraries_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    for lr in (np.float32(0.5), np.float64(0.5), np.array(0.5), tenora.tensor(0.5)):
        w = weight()
        w.grad = tenora.ones(2, 2)
        optim.SGD([w], lr=lr).step()
        assert w.tolist() == [[1 - float(lr)] * 2] * 2


class Net(tenora.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = tenora.nn.Linear(1, 1)


def wrong_params() -> list[tuple[str, Any, type[Exception], str]]:
    used = iter([weight()])
    list(used)
    return [
        ("tensor", weight(), TypeError, "got a Tensor.*in a list"),
        ("empty", [], ValueError, "got an empty list"),
        ("used", used, ValueError, "used up"),
        ("not a leaf", [weight() * 2], ValueError, "got a tensor with a history"),
        ("no params", [{"lr": 1.0}], KeyError, r"got a group with 'lr', expected one with 'params'"),
        ("nothing", [{}], KeyError, "got a group with nothing"),
        ("module", Net(), TypeError, r"got Net.*model\.parameters\(\)"),
        ("modules", tenora.nn.Sequential(Net()), TypeError, r"got Net.*module\.parameters\(\)"),
        ("method", Net().parameters, TypeError, r"got method.*parameters\(\)"),
        ("None", None, TypeError, "got NoneType"),
        ("dict", {"params": [weight()]}, TypeError, "got a dict.*in a list"),
        ("state", Net().state_dict(), TypeError, "got a dict"),
        ("numbers", [1.0], TypeError, "got float"),
        ("text", "weight", TypeError, "got str"),
        ("a dict later", [weight(), {"params": [weight()]}], TypeError, "got dict"),
        ("a tensor later", [{"params": [weight()]}, weight()], TypeError, "got Parameter, expected a dict"),
        ("a number as group", [{"params": 3}], TypeError, "got int"),
    ]


@pytest.mark.parametrize("method", ["SGD", "AdamW"])
def test_wrong_parameters(method: str) -> None:
    for _, params, kind, says in wrong_params():
        with pytest.raises(kind) as caught:
            getattr(optim, method)(params, lr=0.1)
        text = str(caught.value.args[0])
        assert text.startswith(f"[{method}] param") and re.search(says, text), text


# ---- schedulers --------------------------------------------------------------------------------------------------

SCHEDULERS: dict[str, Any] = {
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, max_lr=1.0, total_steps=9),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.5),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 0.5),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
}


def groups(count: int) -> Any:
    return optim.SGD([{"params": [weight()]} for _ in range(count)], lr=0.5, momentum=0.9)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_groups_added_and_removed_under_a_scheduler(name: str) -> None:
    """Where PyTorch fails too: these hold a number for each group."""
    optimizer = groups(2)
    scheduler = SCHEDULERS[name](optimizer)
    optimizer.step()
    optimizer.add_param_group({"params": [weight()]})
    before = [(group["lr"], group["momentum"]) for group in optimizer.param_groups]
    with pytest.raises(
        (ValueError, KeyError), match=rf"\[{name}\] .*: got .*, expected .*Make the scheduler"
    ):
        scheduler.step()
    assert [(group["lr"], group["momentum"]) for group in optimizer.param_groups] == before
    if name == "OneCycleLR":
        return  # it keeps its numbers in the groups: fewer are no trouble
    optimizer = groups(3)
    scheduler = SCHEDULERS[name](optimizer)
    optimizer.step()
    del optimizer.param_groups[0]
    with pytest.raises(ValueError, match=rf"^\[{name}\] rates: got 3, expected one for each of 2 groups"):
        scheduler.step()


def sgd() -> Any:
    return optim.SGD([weight()], lr=0.5, momentum=0.9)


SETTINGS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("StepLR", {"step_size": "x"}, TypeError, "step_size: got 'x'"),
    ("StepLR", {"step_size": 1, "gamma": None}, TypeError, "gamma: got None"),
    ("MultiStepLR", {"milestones": 3}, TypeError, "milestones: got 3, expected epochs in a row"),
    ("MultiStepLR", {"milestones": ["a"]}, TypeError, r"milestones \(a\): got 'a'"),
    ("ConstantLR", {"factor": "x"}, TypeError, "factor: got 'x'"),
    ("LinearLR", {"start_factor": "x"}, TypeError, "start_factor: got 'x'"),
    ("LinearLR", {"total_iters": "x"}, TypeError, "total_iters: got 'x'"),
    ("ExponentialLR", {"gamma": "x"}, TypeError, "gamma: got 'x'"),
    ("PolynomialLR", {"total_iters": "x"}, TypeError, "total_iters: got 'x'"),
    ("CosineAnnealingLR", {"T_max": "x"}, TypeError, "T_max: got 'x'"),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": "x"}, TypeError, "step_size_up: got 'x'"),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 0},
        ZeroDivisionError,
        "step_size_up: got a",
    ),
]


@pytest.mark.parametrize(("name", "options", "kind", "says"), SETTINGS)
def test_settings_of_schedulers_are_named(
    name: str, options: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=rf"^\[{name}\] {says}"):
        getattr(lr_scheduler, name)(sgd(), **options)


@pytest.mark.parametrize("rate", ["x", None, [None]])
def test_rates_of_groups_that_are_no_numbers_are_named(rate: Any) -> None:
    for made in (
        lambda: lr_scheduler.OneCycleLR(sgd(), rate, total_steps=5),
        lambda: lr_scheduler.CyclicLR(sgd(), 0.1, rate),
    ):
        with pytest.raises(TypeError, match=r"^\[lr_scheduler\] max_lr: got .*, expected a number"):
            made()


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR"])
def test_a_length_of_0_is_told_by_the_first_step(name: str) -> None:
    """As in PyTorch: a schedule that is never run may have it."""
    optimizer = sgd()
    scheduler = getattr(lr_scheduler, name)(optimizer, 0)
    optimizer.step()
    with pytest.raises(ZeroDivisionError, match=rf"^\[{name}\] \w+: got 0, expected a number of epochs"):
        scheduler.step()


def test_a_metric_that_is_no_number_is_told() -> None:
    wrong: Any = "x"
    with pytest.raises(TypeError, match=r"^\[ReduceLROnPlateau\] metrics: got 'x', expected a number"):
        lr_scheduler.ReduceLROnPlateau(sgd()).step(wrong)


def test_states_of_something_else_are_told() -> None:
    state = sgd().state_dict()
    for wrong, says in (
        ({"model": {}, "optimizer": state}, "got one with 'model', 'optimizer', expected 'param_groups'"),
        (Net().state_dict(), r"got one with 'layer\.weight', 'layer\.bias'"),
        ({}, "got one with nothing"),
        ({"param_groups": state["param_groups"]}, "expected 'state' in it"),
    ):
        with pytest.raises(KeyError, match=rf"\[load_state_dict\] state_dict: .*{says}"):
            sgd().load_state_dict(wrong)
    for none in (None, "x.pt"):
        with pytest.raises(TypeError, match=r"^\[load_state_dict\] state_dict: got .*, expected a dict"):
            sgd().load_state_dict(none)
