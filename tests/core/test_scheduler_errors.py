"""What schedulers refuse and warn of, as PyTorch does, and the forms of their constructors."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.optim.lr_scheduler as theirs
import torch.optim.swa_utils as their_swa
from both import refused
from schedules import CASES, optimizer_of, run

import tenora
import tenora.optim.lr_scheduler as ours
import tenora.optim.swa_utils as our_swa
from tenora_dispatch.errors import TenoraError

BOTH = ((tenora, ours, our_swa), (torch, theirs, their_swa))


def test_names_are_pytorchs() -> None:
    assert set(ours.__all__) == set(theirs.__all__)
    assert set(our_swa.__all__) == set(their_swa.__all__)
    names = [(ours, theirs, name) for name in ours.__all__]
    names += [(our_swa, their_swa, name) for name in our_swa.__all__]
    for mine, other, name in names:
        described = [
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(s, name)).parameters.values()]
            for s in (mine, other)
        ]
        assert described[0] == described[1], name
    for name in ours.__all__:
        steps = [list(inspect.signature(getattr(s, name).step).parameters) for s in (ours, theirs)]
        assert steps[0] == steps[1], name


def test_loaded_when_asked_for() -> None:
    program = (
        "import sys, tenora\n"
        "rooms = ('tenora.optim.lr_scheduler', 'tenora.optim.swa_utils')\n"
        "assert not any(room in sys.modules for room in rooms)\n"
        "tenora.optim.lr_scheduler.StepLR, tenora.optim.swa_utils.SWALR\n"
        "assert all(room in sys.modules for room in rooms)\n"
        "from tenora.optim.lr_scheduler import OneCycleLR, _LRScheduler\n"
        "assert 'lr_scheduler' in dir(tenora.optim)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


Call = Callable[[Any, Any, Any], Any]  # of lr_scheduler, swa_utils and an optimizer with two groups


def other(s: Any) -> Any:
    return optimizer_of(tenora if s is ours else torch)


def one_too_many(s: Any, o: Any) -> None:
    scheduler = s.OneCycleLR(o, 0.1, total_steps=3)
    for _ in range(4):
        scheduler.step()


def group_added(s: Any, o: Any, make: Any) -> None:
    scheduler = make(s, o)
    f = tenora if s is ours else torch
    o.add_param_group({"params": [f.ones(1, requires_grad=True)]})
    for _ in range(4):
        scheduler.step(1.0) if hasattr(scheduler, "patience") else scheduler.step()


def without(o: Any, option: str) -> Any:
    o.defaults.pop(option)
    return o


BAD: dict[str, Call] = {
    "no optimizer": lambda s, a, o: s.StepLR([1], 3),
    "no optimizer, cyclic": lambda s, a, o: s.CyclicLR(3, 0.1, 0.2),
    "no optimizer, one cycle": lambda s, a, o: s.OneCycleLR(None, 0.1, 3),
    "no optimizer, plateau": lambda s, a, o: s.ReduceLROnPlateau("SGD"),
    "no initial_lr": lambda s, a, o: s.StepLR(o, 3, last_epoch=5),
    "number of functions": lambda s, a, o: s.LambdaLR(o, [abs]),
    "number of functions, multiplicative": lambda s, a, o: s.MultiplicativeLR(o, [abs] * 3),
    "no function": lambda s, a, o: s.MultiplicativeLR(o, 0.5),
    "no function, lambda": lambda s, a, o: s.LambdaLR(o, 0.5),
    "constant above": lambda s, a, o: s.ConstantLR(o, 1.1),
    "constant below": lambda s, a, o: s.ConstantLR(o, -0.1),
    "linear start": lambda s, a, o: s.LinearLR(o, 0.0),
    "linear start above": lambda s, a, o: s.LinearLR(o, 1.5),
    "linear end": lambda s, a, o: s.LinearLR(o, 0.5, 1.5),
    "linear end below": lambda s, a, o: s.LinearLR(o, 0.5, -0.5),
    "restarts T_0": lambda s, a, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts T_0 float": lambda s, a, o: s.CosineAnnealingWarmRestarts(o, 2.5),
    "restarts T_mult": lambda s, a, o: s.CosineAnnealingWarmRestarts(o, 2, 0),
    "restarts eta_min": lambda s, a, o: s.CosineAnnealingWarmRestarts(o, 2, eta_min="0"),
    "restarts epoch": lambda s, a, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    "cyclic mode": lambda s, a, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "cyclic base_lr": lambda s, a, o: s.CyclicLR(o, [0.1], 0.2),
    "cyclic max_lr": lambda s, a, o: s.CyclicLR(o, 0.1, (0.1, 0.2, 0.3)),
    "cyclic momentum": lambda s, a, o: s.CyclicLR(without(o, "momentum"), 0.1, 0.2),
    "cyclic base_momentum": lambda s, a, o: s.CyclicLR(o, 0.1, 0.2, base_momentum=[0.1]),
    "one cycle, no steps": lambda s, a, o: s.OneCycleLR(o, 0.1),
    "one cycle, half": lambda s, a, o: s.OneCycleLR(o, 0.1, epochs=3),
    "one cycle, total": lambda s, a, o: s.OneCycleLR(o, 0.1, 0),
    "one cycle, total float": lambda s, a, o: s.OneCycleLR(o, 0.1, 3.0),
    "one cycle, epochs": lambda s, a, o: s.OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=3),
    "one cycle, steps": lambda s, a, o: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=3.5),
    "one cycle, pct": lambda s, a, o: s.OneCycleLR(o, 0.1, 9, pct_start=1.1),
    "one cycle, pct int": lambda s, a, o: s.OneCycleLR(o, 0.1, 9, pct_start=1),
    "one cycle, strategy": lambda s, a, o: s.OneCycleLR(o, 0.1, 9, anneal_strategy="sine"),
    "one cycle, max_lr": lambda s, a, o: s.OneCycleLR(o, [0.1], 9),
    "one cycle, momentum": lambda s, a, o: s.OneCycleLR(without(o, "momentum"), 0.1, 9),
    "one cycle, beyond": lambda s, a, o: one_too_many(s, o),
    "plateau factor": lambda s, a, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau mode": lambda s, a, o: s.ReduceLROnPlateau(o, "least"),
    "plateau threshold": lambda s, a, o: s.ReduceLROnPlateau(o, threshold_mode="relative"),
    "plateau min_lr": lambda s, a, o: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    "plateau metric": lambda s, a, o: s.ReduceLROnPlateau(o).step(None),
    "plateau group added": lambda s, a, o: group_added(
        s, o, lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0, 0], patience=0)
    ),
    "sequential none": lambda s, a, o: s.SequentialLR(o, [], []),
    "sequential plateau": lambda s, a, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "sequential other": lambda s, a, o: s.SequentialLR(o, [s.StepLR(other(s), 3)], []),
    "sequential milestones": lambda s, a, o: s.SequentialLR(o, [s.StepLR(o, 3)], [3]),
    "sequential no scheduler": lambda s, a, o: s.SequentialLR(o, [3], []),
    "sequential chained second": lambda s, a, o: run(
        s.SequentialLR(o, [s.StepLR(o, 3), s.ChainedScheduler([s.StepLR(o, 3)])], [2]), 3
    ),
    "chained none": lambda s, a, o: s.ChainedScheduler([]),
    "chained plateau": lambda s, a, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "chained other": lambda s, a, o: s.ChainedScheduler([s.StepLR(o, 3), s.StepLR(other(s), 3)]),
    "chained no scheduler": lambda s, a, o: s.ChainedScheduler([s.StepLR(o, 3), 3]),
    "base get_lr": lambda s, a, o: s.LRScheduler(o),
    "group added": lambda s, a, o: group_added(s, o, lambda s, o: s.LambdaLR(o, lambda e: 0.5)),
    "group added, multiplicative": lambda s, a, o: group_added(
        s, o, lambda s, o: s.MultiplicativeLR(o, lambda e: 0.5)
    ),
    "swa strategy": lambda s, a, o: a.SWALR(o, 0.1, anneal_strategy="exp"),
    "swa epochs": lambda s, a, o: a.SWALR(o, 0.1, anneal_epochs=-1),
    "swa epochs float": lambda s, a, o: a.SWALR(o, 0.1, anneal_epochs=1.5),
    "swa number": lambda s, a, o: a.SWALR(o, [0.1]),
    "ema decay": lambda s, a, o: a.get_ema_avg_fn(1.5),
    "ema decay below": lambda s, a, o: a.get_ema_multi_avg_fn(-0.5),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_refusals() -> None:
    for name, call in BAD.items():
        told = [refused(lambda f=f, s=s, a=a, call=call: call(s, a, optimizer_of(f))) for f, s, a in BOTH]
        assert told[0] == told[1] != "", name


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_refusals_say_what_to_do() -> None:
    for name, call in BAD.items():
        with pytest.raises(Exception, match=r"^\W?\[") as caught:
            call(ours, our_swa, optimizer_of(tenora))
        assert isinstance(caught.value, TenoraError), name


def caught_by(program: Callable[[Any, Any], Any], f: Any, s: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program(f, s)
    return [(w.category, w.filename == __file__, w.lineno if w.filename == __file__ else 0) for w in caught]


def wrong_order(f: Any, s: Any) -> None:
    scheduler = s.StepLR(optimizer_of(f), 3)
    for _ in range(3):
        scheduler.step()


def right_order(f: Any, s: Any) -> None:
    optimizer = optimizer_of(f)
    first, second = s.StepLR(optimizer, 3), s.ExponentialLR(optimizer, 0.9)
    for _ in range(3):
        optimizer.step()
        first.step()
        second.step()


def step_replaced(f: Any, s: Any) -> None:
    optimizer = optimizer_of(f)
    scheduler = s.StepLR(optimizer, 3)
    plain = optimizer.step
    optimizer.step = lambda: plain()
    for _ in range(3):
        optimizer.step()
        scheduler.step()


def asks_get_lr(f: Any, s: Any) -> None:
    for case in ("lambda", "step", "cosine", "restarts", "cyclic", "one cycle", "polynomial"):
        CASES[case](s, optimizer_of(f)).get_lr()
    (our_swa if s is ours else their_swa).SWALR(optimizer_of(f), 0.1).get_lr()


def epoch_given(f: Any, s: Any) -> None:
    s.ExponentialLR(optimizer_of(f), 0.9).step(7)
    s.ReduceLROnPlateau(optimizer_of(f)).step(1.0, 7)
    s.ReduceLROnPlateau(optimizer_of(f)).step(1.0, epoch=7)


@pytest.mark.parametrize(
    ("program", "count"),
    [(wrong_order, 1), (right_order, 0), (step_replaced, 1), (asks_get_lr, 8), (epoch_given, 4)],
)
def test_warnings(program: Callable[[Any, Any], Any], count: int) -> None:
    """As many as PyTorch's, for the same lines of the program."""
    told = [caught_by(program, f, s) for f, s, _ in BOTH]
    if program is asks_get_lr:  # PyTorch names a line of its own
        assert [warning[0] for warning in told[0]] == [warning[0] for warning in told[1]]
        assert all(warning[1] for warning in told[0])
    else:
        assert told[0] == told[1]
    assert len(told[0]) == count


def test_any_optimizer_will_do() -> None:
    """Groups and a step are all that a scheduler asks for; `step` may be a plain function on the instance."""

    class Own:
        def __init__(self) -> None:
            self.param_groups = [{"params": [], "lr": 1.0, "momentum": 0.0}]

        def step(self) -> None:
            pass

    told = []
    for optimizer in (Own(), Own()):
        if told:
            optimizer.step = lambda: None  # type: ignore[method-assign]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            told.append(run(ours.StepLR(optimizer, 3), 10) + run(ours.CyclicLR(optimizer, 0.1, 0.2, 4), 10))
    assert told[0] == told[1]
    assert told[0][-1]["groups"][0]["momentum"] != 0.0


def test_steps_keep_their_answer() -> None:
    """The wrapped step takes a closure, gives its loss and is named as before."""
    optimizer = optimizer_of(tenora)
    ours.StepLR(optimizer, 3)
    wrapped = optimizer.step
    ours.ExponentialLR(optimizer, 0.5)
    assert optimizer.step is wrapped and wrapped.__name__ == "step"
    assert optimizer.step(lambda: 3.0) == 3.0
