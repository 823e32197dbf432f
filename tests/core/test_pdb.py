"""Python's own debugger in a model: stop in forward, look at a tensor, change it, go on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

PROGRAM = """
import tenora
from tenora import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tenora.full((2,), 3.0))

    def forward(self, x):
        {stop}
        y = x * self.weight
        z = y + 1
        return z.sum()

net = Net()
x = tenora.tensor([1.0, 2.0])
{before}
loss = net(x)
loss.backward()
print("loss", loss.item(), "gradient", net.weight.grad.tolist())
"""
PROMPT = r"\(Pdb\) "
Session = pexpect.spawn


class Debugger:
    """A program under pdb, and what it prints between two prompts."""

    def __init__(self, path: Path) -> None:
        self._session = Session(
            sys.executable,
            ["-X", "faulthandler", str(path)],
            env={**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHON_BASIC_REPL": "1"},
            encoding="utf-8",
            timeout=30,
            echo=False,
            dimensions=(50, 200),
        )
        self.shown = self._until_prompt()

    def _until_prompt(self) -> str:
        self._session.expect([PROMPT, pexpect.EOF])
        return str(self._session.before)

    def say(self, command: str) -> str:
        """One command; what is printed until the next prompt or the end."""
        self._session.sendline(command)
        return self._until_prompt()

    def close(self) -> int | None:
        """Ends the session; its exit code."""
        self._session.close(force=True)
        return self._session.exitstatus


@pytest.fixture
def debug(tmp_path: Path) -> Iterator[list[Debugger]]:
    started: list[Debugger] = []
    yield started
    for debugger in started:
        debugger.close()


def start(tmp_path: Path, started: list[Debugger], **parts: str) -> Debugger:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(**{"stop": "breakpoint()", "before": "", **parts}))
    started.append(Debugger(path))
    return started[-1]


def test_a_tensor_is_printed_changed_and_training_goes_on(tmp_path: Path, debug: list[Debugger]) -> None:
    pdb = start(tmp_path, debug)
    assert "y = x * self.weight" in pdb.shown
    assert "tensor([1., 2.])" in pdb.say("p x")
    pdb.say("x[0] = 10.0")  # in place
    assert "z = y + 1" in pdb.say("n")
    shown = pdb.say("p y")
    assert "tensor([30.,  6.], grad_fn=<MulBackward0>)" in shown
    pdb.say("y = y * 2")  # bound anew, with its history
    assert "return z.sum()" in pdb.say("n")
    assert "[61.0, 13.0]" in pdb.say("p z.tolist()")
    assert "loss 74.0 gradient [20.0, 4.0]" in pdb.say("c")


def test_steps_lead_into_forward_and_over_failing_ops(tmp_path: Path, debug: list[Debugger]) -> None:
    stop = "try:\n            y = x + wrong\n        except RuntimeError:\n            y = x - wrong"
    before = "wrong = tenora.ones(3)\nbreakpoint()"
    pdb = start(tmp_path, debug, stop=stop, before=before)
    shown = pdb.shown
    for _ in range(8):
        if "y = x + wrong" in shown:
            break
        shown = pdb.say("s")
    assert "y = x + wrong" in shown  # through Module.__call__
    assert "tensor([1., 2.])" in pdb.say("p x")
    assert "OperationError: [add] shapes do not broadcast: got [3] against [2]" in pdb.say("n")
    while "y = x - wrong" not in shown:
        shown = pdb.say("n")
    assert "errors.py" in pdb.say("s")  # the exception is made in Python
    for _ in range(6):
        shown = pdb.say("r")
        if "-> y = x - wrong" in shown:
            break
    assert "OperationError: [sub] shapes do not broadcast: got [3] against [2]" in shown
    assert "tensor([1., 2.])" in pdb.say("p x")
    assert "In module Net, in its own forward, called with a tenora.float32 tensor" in pdb.say("c")
