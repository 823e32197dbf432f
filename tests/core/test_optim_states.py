"""Optimizer states that others wrote: of another optimizer, of other tensors, too few, changed while a step runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import tenora
from tenora import nn, optim
from tenora_ops import optimizer_step_

ADAM = [0.1, 0.9, 0.999, 1e-8, 0.0, False, False, 1]
SGD = [0.1, 0.0, 0.0, 0.0, False, False, False]


def stepped(kind: Any = optim.Adam, **options: Any) -> tuple[tenora.Tensor, Any]:
    """A parameter and its optimizer after one step."""
    parameter = nn.Parameter(tenora.ones(3))
    optimizer = kind([parameter], lr=0.1, **options)
    parameter.grad = tenora.ones(3)
    optimizer.step()
    return parameter, optimizer


@pytest.mark.parametrize(
    ("op", "states", "names", "grads", "hyper"),
    [
        ("sgd_step", 2, (), 1, SGD),
        ("sgd_step", 1, (), 2, SGD),
        ("sgd_step", 2, (), 3, SGD),
        ("adam_update", 2, ("exp_avg",), 2, ADAM),
        ("adam_update", 2, (), 2, ADAM),
        ("amsgrad_update", 2, ("exp_avg", "exp_avg_sq"), 2, ADAM),
        ("sgd_step", 2, ("exp_avg", "exp_avg_sq"), 2, SGD),
    ],
)
def test_lists_that_do_not_belong_together(
    backend: str, op: str, states: int, names: tuple[str, ...], grads: int, hyper: list[Any]
) -> None:
    """A fused kernel would read and write beyond its operands."""
    params = [tenora.ones(3), tenora.ones(3)]
    given = [{"exp_avg": tenora.zeros(3), "exp_avg_sq": tenora.zeros(3)} for _ in range(states)]
    if states != 2 and names == ():
        names = ("exp_avg",)
    with pytest.raises(ValueError, match=rf"^\[{op}\] (lists differ in length|wrong number of states)"):
        optimizer_step_(op, params, given, names, [tenora.ones(3)] * grads, hyper)
    assert [p.tolist() for p in params] == [[1.0] * 3] * 2


GARBAGE: dict[str, Callable[[tenora.Tensor], Any]] = {
    "nothing": lambda p: None,
    "a number": lambda p: 1.0,
    "more elements": lambda p: tenora.ones(7),
    "fewer elements": lambda p: tenora.ones(1),
    "another rank": lambda p: tenora.ones(2, 3),
    "one element seen thrice": lambda p: tenora.ones(1).expand(3),
}


# A momentum buffer that is None has not begun, as in PyTorch's checkpoints.
MISFITS = [(g, momentum) for g in GARBAGE for momentum in (True, False) if g != "nothing" or not momentum]


@pytest.mark.parametrize(("garbage", "momentum"), MISFITS)
def test_a_state_that_is_no_state(backend: str, garbage: str, momentum: bool) -> None:
    parameter, optimizer = stepped(optim.SGD, momentum=0.9) if momentum else stepped(optim.Adam, amsgrad=True)
    before = parameter.tolist()
    name = "momentum_buffer" if momentum else "exp_avg"
    optimizer.state[parameter][name] = GARBAGE[garbage](parameter)
    with pytest.raises((RuntimeError, TypeError), match=r"^\[\w+\] "):
        optimizer.step()
    assert parameter.tolist() == before


def test_the_state_of_another_optimizer() -> None:
    parameter, adam = stepped()
    with pytest.raises(ValueError, match=r"\[Adam\] a state has no 'step': got one with 'momentum_buffer'"):
        adam.load_state_dict(stepped(optim.SGD, momentum=0.9)[1].state_dict())
        adam.step()
    parameter, amsgrad = stepped(amsgrad=True)
    amsgrad.load_state_dict(
        {**stepped()[1].state_dict(), "param_groups": amsgrad.state_dict()["param_groups"]}
    )
    with pytest.raises(ValueError, match="a state has no 'max_exp_avg_sq'. Was another optimizer's state"):
        amsgrad.step()


def test_a_state_that_does_not_load_changes_nothing() -> None:
    parameter, adam = stepped()
    saved = adam.state_dict()
    for number in (1, -1):
        with pytest.raises(ValueError, match="a state of no parameter"):
            adam.load_state_dict({**saved, "state": {0: {}, number: {}}})
    assert adam.state[parameter]["step"] == 1
    adam.step()


def test_a_step_number_beyond_64_bits_names_the_op() -> None:
    parameter, adam = stepped()
    adam.state[parameter]["step"] = 2**70
    with pytest.raises(RuntimeError, match=r"^\[adam_update\] integer is out of range"):
        adam.step()


def test_lists_that_change_during_a_step(backend: str) -> None:
    """By another thread, and by a key whose comparison runs Python code."""
    parameters = [nn.Parameter(tenora.ones(5)) for _ in range(20)]
    adam = optim.Adam(parameters)
    for parameter in parameters:
        parameter.grad = tenora.ones(5)
    adam.step()
    stop = threading.Event()

    def disturb() -> None:
        members = adam.param_groups[0]["params"]
        while not stop.is_set():
            members.append(members.pop(0))
            for state in list(adam.state.values()):
                state["exp_avg"] = tenora.zeros(5)

    thread = threading.Thread(target=disturb)
    thread.start()
    for _ in range(200):
        adam.step()
    stop.set()
    thread.join()

    states: list[dict[Any, Any]] = [{"exp_avg": tenora.zeros(5), "exp_avg_sq": tenora.zeros(5)} for _ in "ab"]

    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            states.clear()
            return False

    states[0] = {Key("exp_avg"): None}
    with pytest.raises((ValueError, RuntimeError)):
        optimizer_step_(
            "adam_update", [tenora.ones(5)] * 2, states, ("exp_avg", "exp_avg_sq"), [tenora.ones(5)] * 2, ADAM
        )
