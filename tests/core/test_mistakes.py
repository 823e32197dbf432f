"""What tenora's errors name of the seeded mistakes of users: module, op, values and line (docs/figures.md)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bench.mistakes.all_mistakes import MISTAKES
from bench.mistakes.score import unsaid
from bench.mistakes.seeded import Mistake, Printed, named, printed_by

import tenora

BY_NAME = {mistake.name: mistake for mistake in MISTAKES}
# Mistakes whose text may leave something out, and why: two of the 24 at the most.
LEAVES_OUT: dict[str, set[str]] = {}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_error_names_all_four(name: str) -> None:
    mistake = BY_NAME[name]
    printed = printed_by(mistake.program, tenora)
    missing = {criterion for criterion, good in named(mistake, printed).items() if not good}
    assert missing == LEAVES_OUT.get(name, set()), printed.whole


def test_there_are_three_mistakes_of_each_kind_and_few_exceptions() -> None:
    kinds = [mistake.kind for mistake in MISTAKES]
    assert len(MISTAKES) == len(BY_NAME) == 24 and {kinds.count(kind) for kind in kinds} == {3}
    assert len(LEAVES_OUT) <= 2 and LEAVES_OUT.keys() <= BY_NAME.keys()
    assert sum(bool(mistake.path) for mistake in MISTAKES) >= 23


def _judged(name: str, message: str, whole: str = "") -> str:
    return unsaid(named(BY_NAME[name], Printed(message, whole or message)))


def test_a_text_that_says_less_is_found_out() -> None:
    name = "linear of the wrong width"
    file, line = BY_NAME[name].line()
    frame = f'File "{file}", line {line}, in forward'
    good = "[linear] got float32[2, 3] and float32[3, 5]. In module encoder.layers.3.linear (Linear) of Net"
    assert _judged(name, good, f"{frame}\n{good}") == "-"
    assert _judged(name, good) == "line"
    assert _judged(name, good, f'File "{file}", line {line}0') == "line"
    assert _judged(name, good.replace("[2, 3]", "[2, 4]"), frame) == "values"
    assert _judged(name, good.replace(".3.", ".2."), frame) == "path"
    assert _judged(name, good.replace("encoder.", "net.encoder."), frame) == "path"
    assert _judged(name, re.sub("[Ll]inear", "layer", good), frame) == "path, op"
    # A source line that Python shows is not the framework's finding.
    assert _judged(name, "something is wrong", f"{frame}\n{good}") == "path, op, values"


def test_a_mistake_that_raises_nothing_is_none() -> None:
    def fine(torch: Any) -> None:
        torch.ones(2)

    with pytest.raises(RuntimeError, match="raised nothing"):
        printed_by(fine, tenora)
    with pytest.raises(ValueError):
        Mistake(fine, "kind", "", ("op",), ()).line()
