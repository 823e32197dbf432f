"""What tenora's errors name of the seeded mistakes of users: module, op, values and line (docs/figures.md)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bench.mistakes.all_mistakes import MISTAKES
from bench.mistakes.score import unsaid
from bench.mistakes.seeded import Mistake, Printed, named, printed_by

import tenora
from tenora_dispatch.errors import TenoraError

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
    assert _judged(name, good.replace("layers.3.linear", "layers.3.linear.weight"), f"{frame}\n{good}") == "-"
    assert _judged(name, re.sub("[Ll]inear", "layer", good), frame) == "path, op"
    # A source line that Python shows is not the framework's finding.
    assert _judged(name, "something is wrong", f"{frame}\n{good}") == "path, op, values"


IN_MODULE = "\nIn module {} (Linear) of Net, called with a tenora.float32 tensor of shape (2, 3)."


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        # Where a name stands in brackets, the text names that op and no other.
        ("mask on a device that is not there", "[ones] no backend computes on 'cuda'", ""),
        ("mask on a device that is not there", "[backend] ones() on 'cuda': no backend", "op"),
        ("gradient of a frozen parameter", "[autograd.grad] input 0 is float32[3, 3]", ""),
        ("gradient of a frozen parameter", "[backward] grad(): input 0 is float32[3, 3]", "op"),
        ("activation frozen instead of its module", "[requires_grad_] got float32[2, 3]", ""),
        # Elsewhere a whole word does.
        ("result of exp changed in place", "output 0 of Exp [2, 3] is at version 1, not version 0", ""),
        ("result of exp changed in place", "expected [2, 3] at version 1, not version 0", "op"),
        ("operand zeroed under anomaly mode", "MulBackward0 [2, 3] is at version 1, not version 0", ""),
        ("operand zeroed under anomaly mode", "matmul of [2, 3] is at version 1, not version 0", "op"),
        ("device with a made up name", "x.to('gpu') knows no such device", ""),
        ("device with a made up name", "expected the device to be another than gpu", "op"),
        ("gradient of a frozen parameter", "a tensor of shape [3, 3] does not require grad", "op"),
        ("linear of the wrong width", "got [2, 3] and [3, 5]" + IN_MODULE, "op"),
        ("linear of the wrong width", "got [2, 3] and [3, 5] in encoder.layers.3.linear", "op"),
        # Values are those that the text gives, not those of its notes, paths and frames.
        ("numpy in the middle of a model", "[numpy] got float32[2, 3]", ""),
        ("numpy in the middle of a model", "[numpy] the tensor requires grad" + IN_MODULE, "values"),
        ("cat along the wrong dimension", "[cat] got 4 beside 3", ""),
        ("cat along the wrong dimension", "[cat] got 4 at encoder.layers.3.wide", "values"),
        ("target that is no class", '[nll_loss] it is 7\n  File "a.py", line 1, in f\n    f(8)', ""),
        ("target that is no class", '[nll_loss] it is bad\n  File "a.py", line 7, in f\n    f(7)', "values"),
        ("loss without history", "[backward] element 0 of tensors does not require grad: got float32[]", ""),
        ("loss without history", "[backward] element 0 of tensors does not require grad", "values"),
        ("backward through a freed graph", "[exp] a second time: got float32[2, 3]", ""),
        ("backward through a freed graph", "[exp] a second time, twice", "values"),
        ("input in double precision", "[linear] got float64 and float16", "values"),
        # A path of one word is one where it is called so.
        ("targets of another batch size", "[cross_entropy] got [4] for [2, 5] in module loss", ""),
        ("targets of another batch size", "[cross_entropy] got [4] for [2, 5]: the loss fails", "path"),
        ("step between forward and backward", "[linear] head.weight [2, 3] at version 2, not version 1", ""),
        (
            "step between forward and backward",
            "[linear] ahead.weight [2, 3] at version 2, not version 1",
            "path",
        ),
    ],
)
def test_each_rule_has_a_text_that_it_passes_and_one_that_it_fails(
    name: str, text: str, missing: str
) -> None:
    """The path, where the case is not about it, and the line are given."""
    mistake = BY_NAME[name]
    file, line = mistake.line()
    path = "" if "." not in mistake.path else f"\nIt is {mistake.path}."
    message = f"tenora_dispatch.errors.OperationError: {text}{path}"
    assert _judged(name, message, f'File "{file}", line {line}, in forward') == (missing or "-")


@pytest.mark.parametrize("name", BY_NAME)
def test_the_field_is_the_name_in_brackets(name: str) -> None:
    with pytest.raises(TenoraError) as raised:
        BY_NAME[name].program(tenora)
    assert raised.value.op and str(raised.value).startswith(f"[{raised.value.op}] ")


def test_a_mistake_that_raises_nothing_is_none() -> None:
    def fine(torch: Any) -> None:
        torch.ones(2)

    with pytest.raises(RuntimeError, match="raised nothing"):
        printed_by(fine, tenora)
    with pytest.raises(ValueError):
        Mistake(fine, "kind", "", ("op",), ()).line()
