"""Scripts that run in processes of their own: what ends wrongly there, or computes elsewhere, is noticed."""

from __future__ import annotations

from typing import Any

import planted_cases as planted
import pytest

from tenora_conformance.checks import processes


def id_of(script: str) -> str:
    return f"@processes/float32/-/{script}"


def change(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    text = getattr(processes, name)
    assert old in text
    monkeypatch.setattr(processes, name, text.replace(old, new))


def test_an_exit_that_a_backward_pass_swallows(monkeypatch: pytest.MonkeyPatch) -> None:
    text = processes.SHUTDOWN["sys_exit_in_backward"].replace("sys.exit(0)", "None")
    monkeypatch.setitem(processes.SHUTDOWN, "sys_exit_in_backward", text)
    planted.fails("processes", id_of("shutdown_sys_exit_in_backward"), "backward went on after sys.exit")


def test_a_child_that_answers_and_does_not_end_well(monkeypatch: pytest.MonkeyPatch) -> None:
    change(
        monkeypatch, "SPAWN", '"print(compute())"', '"print(compute(), flush=True); import os; os._exit(3)"'
    )
    planted.fails("processes", id_of("spawn"), "a child ended with exit code 3")


@pytest.mark.parametrize("script", ["fork", "spawn", "shutdown_live_tensors"])
def test_a_process_that_another_backend_computes_in(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "tenora.set_default_backend(NAME); NAME = 'another'"
    change(monkeypatch, "START", "tenora.set_default_backend(NAME)", other)
    planted.fails("processes", id_of(script), "kernels of ['reference'] ran, expected those of another only")


def test_a_fork_is_refused_by_its_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(word: bool) -> Any:
        return lambda code, subject: f"refused {word}\n{processes.ANSWER}\n"

    monkeypatch.setattr(processes, "run_python", told(True))
    planted.passes("processes", id_of("fork"))
    monkeypatch.setattr(processes, "run_python", told(False))
    planted.fails("processes", id_of("fork"), "without the word fork")
