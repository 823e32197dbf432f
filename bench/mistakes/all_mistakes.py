"""Every seeded mistake, by kind."""

from __future__ import annotations

from bench.mistakes import gradients, inputs, losses
from bench.mistakes.seeded import Mistake

MISTAKES: list[Mistake] = [*inputs.MISTAKES, *losses.MISTAKES, *gradients.MISTAKES]
