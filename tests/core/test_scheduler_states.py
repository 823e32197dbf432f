"""States of schedulers: PyTorch's keys and values, training that goes on from the middle, copies."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.optim.lr_scheduler as theirs
import torch.optim.swa_utils as their_swa
from schedules import CASES, Decay, Make, optimizer_of, run, seen

import tenora
import tenora.optim.lr_scheduler as ours
import tenora.optim.swa_utils as our_swa

BOTH = ((tenora, ours), (torch, theirs))
pytestmark = pytest.mark.filterwarnings("error")


def swalr(s: Any, o: Any) -> Any:
    return (our_swa if s is ours else their_swa).SWALR(o, 0.05, anneal_epochs=70)


ALL: dict[str, Make] = {**CASES, "swa": swalr}


def carry(optimizer: Any, source: Any) -> None:
    """The groups' options of one optimizer to another, as its state dictionary would."""
    for group, other in zip(optimizer.param_groups, source.param_groups, strict=True):
        group.update({k: v for k, v in other.items() if k != "params"})


@pytest.mark.parametrize("case", ALL)
def test_states_are_pytorchs(case: str) -> None:
    """Keys in their order, and values, at the beginning and after some steps."""
    states = []
    for f, s in BOTH:
        scheduler = ALL[case](s, optimizer_of(f))
        states.append([copy.deepcopy(scheduler.state_dict())])
        run(scheduler, 25)
        states[-1].append(scheduler.state_dict())
    assert states[0] == states[1]
    assert [list(state) for state in states[0]] == [list(state) for state in states[1]]


@pytest.mark.parametrize("case", ALL)
def test_goes_on_from_a_state(case: str) -> None:
    """A new scheduler takes the state of either framework after 60 steps, and ends where an unbroken run ends."""
    whole = run(ALL[case](theirs, optimizer_of(torch)), 200)
    for (f, s), (g, r) in [(BOTH[0], BOTH[0]), (BOTH[0], BOTH[1]), (BOTH[1], BOTH[0])]:
        first = ALL[case](r, optimizer_of(g))
        run(first, 60)
        state = copy.deepcopy(first.state_dict())
        kept = copy.deepcopy(state)
        second = ALL[case](s, optimizer_of(f))
        second.load_state_dict(state)
        if s is ours:
            assert state == kept, "loading leaves the dictionary as it was"
        carry(second.optimizer, first.optimizer)
        second.optimizer.step()
        assert run(second, 140) == whole[60:]


RESUMED = [name for name in ALL if not name.startswith(("sequential", "chained"))]


@pytest.mark.parametrize("case", RESUMED)
def test_last_epoch(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made anew with `last_epoch` and the options of a run before it."""
    told = []
    for f, s in BOTH:
        first = ALL[case](s, optimizer_of(f))
        run(first, 30)
        kind = type(first)
        begin = kind.__init__

        def resuming(self: Any, *args: Any, begin: Any = begin, **kwargs: Any) -> None:
            begin(self, *args, **kwargs, last_epoch=29)

        second_optimizer = optimizer_of(f)
        carry(second_optimizer, first.optimizer)
        with monkeypatch.context() as patch:
            patch.setattr(kind, "__init__", resuming)
            second = ALL[case](s, second_optimizer)
        told.append([seen(second), *run(second, 100)])
    assert told[0] == told[1]


def test_sequential_with_last_epoch() -> None:
    told = []
    for f, s in BOTH:
        optimizer = optimizer_of(f)
        parts = [s.ExponentialLR(optimizer, 0.9), s.StepLR(optimizer, 3)]
        scheduler = s.SequentialLR(optimizer, parts, milestones=[9], last_epoch=4)
        told.append([seen(scheduler), *run(scheduler, 20)])
    assert told[0] == told[1]


def test_plateau_goes_on() -> None:
    metrics = [1.0, 0.5, *[0.5] * 30]
    told = []
    for first_side, second_side in [(BOTH[0], BOTH[1]), (BOTH[1], BOTH[0]), (BOTH[1], BOTH[1])]:
        (g, r), (f, s) = first_side, second_side
        first = r.ReduceLROnPlateau(optimizer_of(g), patience=4, cooldown=2)
        for metric in metrics[:9]:
            first.step(metric)
        second = s.ReduceLROnPlateau(optimizer_of(f), "max", patience=1)
        second.load_state_dict(copy.deepcopy(first.state_dict()))
        carry(second.optimizer, first.optimizer)
        log = [(list(first.state_dict()), first.state_dict())]
        for metric in metrics[9:]:
            second.step(metric)
            log.append((list(second.state_dict()), second.state_dict()))
        told.append(log)
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize(
    "case", ["step", "multistep", "cosine", "cyclic exp", "one cycle phases", "swa", "restarts"]
)
def test_states_are_saved(case: str, tmp_path: Path) -> None:
    """Through a file of tenora's, and through one of PyTorch's."""
    whole = run(ALL[case](ours, optimizer_of(tenora)), 100)
    for f, s in BOTH:
        first = ALL[case](s, optimizer_of(f))
        run(first, 40)
        f.save(
            {"scheduler": first.state_dict(), "optimizer": first.optimizer.state_dict()}, tmp_path / "run.pt"
        )
        second = ALL[case](ours, optimizer_of(tenora))
        state = tenora.load(tmp_path / "run.pt")
        second.optimizer.load_state_dict(state["optimizer"])
        second.load_state_dict(state["scheduler"])
        second.optimizer.step()
        assert run(second, 60) == whole[40:]


def test_callable_objects_are_part_of_a_state() -> None:
    for f, s in BOTH:
        for make in (
            lambda s, o, rate: s.LambdaLR(o, [Decay(rate), lambda e: 1.0]),
            lambda s, o, rate: s.CyclicLR(o, 0.1, 0.2, scale_fn=Decay(rate)),
        ):
            first, second = (make(s, optimizer_of(f), rate) for rate in (0.5, 0.9))
            second.load_state_dict(first.state_dict())
            function = second.lr_lambdas[0] if isinstance(second, s.LambdaLR) else second._scale_fn_custom
            assert function.rate == 0.5
    kept = ours.LambdaLR(optimizer_of(tenora), Decay(0.9).__call__).state_dict()["lr_lambdas"]
    assert kept == [{}, {}]
    assert ours.LambdaLR(optimizer_of(tenora), abs).state_dict()["lr_lambdas"] == [None, None]


def test_copies_and_pickles() -> None:
    for case in ("step", "cosine", "one cycle", "sequential", "swa"):
        scheduler = ALL[case](ours, optimizer_of(tenora))
        run(scheduler, 20)
        copies = [copy.deepcopy(scheduler), pickle.loads(pickle.dumps(scheduler))]
        whole = run(scheduler, 50)
        for other in copies:
            assert other.optimizer is not scheduler.optimizer
            assert run(other, 50) == whole


def test_nothing_keeps_the_optimizer() -> None:
    """No circle: the last reference frees it, without the collector."""
    optimizer = optimizer_of(tenora)
    scheduler = ours.SequentialLR(optimizer, [ours.StepLR(optimizer, 3), ours.StepLR(optimizer, 2)], [5])
    run(scheduler, 3)
    alive = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer, scheduler
        assert alive() is None
    finally:
        gc.enable()
