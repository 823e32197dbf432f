"""Faults on demand: an option that does nothing, or takes anything, is found; a backend without any is left out."""

from __future__ import annotations

import planted_cases as planted
import pytest

import tenora
from tenora_conformance import subject
from tenora_conformance.checks import allocator, injected
from tenora_conformance.model import Failed, Outcome
from tenora_conformance.subject import Subject


@pytest.fixture(scope="module")
def sim() -> Subject:
    return subject.load("sim")


def run(script: str, of: Subject) -> None:
    with subject.judged_by(of):
        injected.SCRIPTS[script](of, "float32", Outcome())


@pytest.mark.parametrize("script", injected.SCRIPTS)
def test_the_simulated_device_fails_as_it_is_told(script: str, sim: Subject) -> None:
    run(script, sim)
    run(script, sim)  # nothing is left of the first


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("allocation", "got neither a retry nor out_of_memory"),
        ("kernel", "kernel 1 of 4 of a chain fails: got a result"),
        ("refused", "got -1 taken"),
    ],
)
def test_an_option_that_does_nothing(
    script: str, text: str, sim: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenora, "set_backend_option", lambda name, **options: None)
    with pytest.raises(Failed, match=text):
        run(script, sim)


def test_a_device_that_is_not_lost(sim: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injected, "LOST", injected.LOST.replace("lose_device=1", "lose_device=0"))
    with pytest.raises(Failed, match="a kernel on a lost device: got a result"):
        run("lost", sim)


def test_an_event_that_nobody_reaches(sim: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    never = injected.LOST.replace("event.query()", "False").replace("+ 10", "+ 0.1")
    monkeypatch.setattr(injected, "LOST", never)
    with pytest.raises(Failed, match="event 0 of a lost device: got False"):
        run("lost", sim)


def test_who_cannot_be_told_is_left_out(sim: Subject) -> None:
    for case in injected.CHECK.cases():
        assert not injected.needs(case, sim)
        assert "capability faults" in injected.needs(case, planted.reference())


@pytest.mark.parametrize(("told", "free"), [("0 bytes", False), ("2.99 MiB", False), ("1.00 GiB", True)])
def test_free_memory_counts_what_was_given_back(told: str, free: bool) -> None:
    text = f"out of memory: got 1, expected at most {told} (what the device reports free). Cause: none."
    if free:
        allocator._tells_of_free(text, 3 << 20)
    else:
        with pytest.raises(Failed, match=f"got 'at most {told}"):
            allocator._tells_of_free(text, 3 << 20)
