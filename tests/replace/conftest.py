"""A short training of examples/digits.py, any part of which a test puts another in place of.

- `parts` is the program's network, loader and optimizer, built anew for each test from the same seed.
- `parts.stays()` trains and tests: the accuracy may be lower than that of the unchanged program by `ALLOWED` points,
  which is 5 of the 360 test images. Seeds of the unchanged program differ by as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from example_programs import example

import tenora

EPOCHS = 12
ALLOWED = 1.4
digits = example("digits")


@dataclass
class Parts:
    """What is trained, from what, and how; `mode` is told True before training and False before the test."""

    data: Any
    model: Callable[[Any], Any]
    batches: Any
    optimizer: Any
    mode: Callable[[bool], Any]
    usual: float = 0.0  # accuracy of the unchanged program

    def train(self) -> tuple[list[float], float]:
        """The loss of each epoch, and the accuracy on the test part."""
        losses = []
        schedule = digits.CosineAnnealingLR(self.optimizer, T_max=EPOCHS)
        for _ in range(EPOCHS):
            self.mode(True)
            batches = self.batches() if callable(self.batches) else self.batches
            losses.append(digits.train_epoch(self.model, batches, self.optimizer)[0])
            schedule.step()
        self.mode(False)
        return losses, digits.evaluate(self.model, self.data.test)[1]

    def stays(self) -> list[float]:
        """Trains; the accuracy must be the program's, up to `ALLOWED`. Returns the losses."""
        losses, accuracy = self.train()
        assert accuracy >= self.usual - ALLOWED, f"{accuracy:.2f} % against {self.usual:.2f} %: {losses}"
        return losses


def build(data: Any) -> Parts:
    """The parts as the program makes them, with a smaller network."""
    tenora.manual_seed(0)
    net = digits.Net(channels=16, hidden=64)
    loader = digits.DataLoader(data.train, digits.BATCH, shuffle=True)
    return Parts(data, net, loader, tenora.optim.AdamW(net.parameters(), lr=3e-3), net.train)


@pytest.fixture(scope="session")
def data() -> Any:
    """The program's three parts of the images."""
    return digits.load()


@pytest.fixture(scope="session")
def unchanged(data: Any) -> tuple[list[float], float]:
    """Losses and accuracy of the unchanged program."""
    losses, accuracy = build(data).train()
    assert accuracy > 96.0
    return losses, accuracy


@pytest.fixture
def parts(data: Any, unchanged: tuple[list[float], float]) -> Parts:
    """The program's parts, to be changed by the test."""
    made = build(data)
    made.usual = unchanged[1]
    return made
