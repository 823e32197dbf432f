"""Every public op in every dtype that its record does not name: what PyTorch answers, tenora answers alike.

- The samples of a record are drawn in each further dtype and given to the public functions of both sides; dtypes,
  shapes and values must agree where PyTorch answers. Where it refuses, mostly for want of a kernel, tenora may answer.
- `FURTHER_DTYPES` holds what differs, by op and dtype, with the reason; what no longer differs must leave it.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import op_cases
import parity_cases as parity
import pytest
import torch
from differences import FURTHER_DTYPES, ONLY_EMPTY

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import ALL, Draw, Sample

pytestmark = pytest.mark.oracle

EMPTY = "without elements: "


def drawn(record: Record) -> Iterator[tuple[str, int, Sample]]:
    """The samples in dtypes that the record leaves out; generators that do not know a dtype draw none."""
    for dtype in ALL:
        if dtype in record.dtypes:
            continue
        try:
            samples = list(record.samples(Draw(dtype, record.domain, record.name)))
        except (
            TypeError,
            ValueError,
            KeyError,
            OverflowError,
            IndexError,
            np.exceptions.DTypePromotionError,
        ):
            continue
        for number, sample in enumerate(samples):
            yield dtype, number, sample


def difference(record: Record, sample: Sample) -> str:
    """How the two answers differ; "" where they agree, or PyTorch has none."""
    try:
        function, arguments, options = parity.torch_call(record, sample)
        theirs = parity.results_of(function(*arguments, **options))
    except Exception:
        return ""
    try:
        mine = op_cases.public(record)(
            *op_cases.arguments_of(record, sample), **op_cases.options_of(record, sample)
        )
    except Exception as error:
        return f"refused: {error}"
    if not all(isinstance(t, torch.Tensor) for t in theirs):
        return ""
    try:
        for i, (a, b) in enumerate(zip(parity.results_of(mine), theirs, strict=True)):
            if (record.name, i) not in parity.TIES:
                parity.compare(record, a, b, f"result {i}")
    except AssertionError as error:
        return str(error)
    return ""


def told_empty(record: Record, sample: Sample) -> str:
    """A mark where there are no elements, in an operand or in PyTorch's answer."""
    function, arguments, options = parity.torch_call(record, sample)
    operands = [t for t in parity.results_of([*arguments, *options.values()]) if isinstance(t, torch.Tensor)]
    none = any(not t.numel() for t in operands)
    none = none or not any(t.numel() for t in parity.results_of(function(*arguments, **options)))
    return EMPTY if none else ""


def counterparts() -> Iterator[str]:
    for record in tenora_ops.records():
        if record.public:
            try:
                parity.counterpart(record)
            except parity.Uncompared:
                continue
            yield record.name


NAMES = list(counterparts())


@pytest.mark.parametrize("name", NAMES)
def test_further_dtypes(name: str) -> None:
    record = tenora_ops.record(name)
    found: dict[str, list[str]] = collections.defaultdict(list)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for dtype, number, sample in drawn(record):
            if text := difference(record, sample):
                found[dtype].append(f"{told_empty(record, sample)}sample {number}: {text[:300]}")
    assert not judged(name, found)


def judged(name: str, found: Mapping[str, list[str]]) -> list[str]:
    """What is wrong with the differences of an op, by dtype: not listed, or listed and gone."""
    wrong = []
    for dtype in ALL:
        reason = FURTHER_DTYPES.get((name, dtype))
        excused = [
            reason and (reason != ONLY_EMPTY or text.startswith(EMPTY)) for text in found.get(dtype, [])
        ]
        if not all(excused):
            wrong.append(
                f"{dtype} differs: {[t for t, e in zip(found[dtype], excused, strict=True) if not e]}"
            )
        if reason and not excused:
            wrong.append(f"{dtype} no longer differs ({reason}): take it off the list")
    return wrong


def test_listed_ops_exist() -> None:
    for name, dtype in FURTHER_DTYPES:
        assert name in NAMES and dtype in ALL and dtype not in tenora_ops.record(name).dtypes, (name, dtype)


def test_an_entry_excuses_one_dtype_alone() -> None:
    """A difference seeded in another dtype of a listed op is one, and so is an entry without a difference."""
    assert judged("square", {"bool": ["sample 0: result 0"]}) == []
    assert "int8 differs" in judged("square", {"bool": ["sample 0"], "int8": ["sample 1"]})[0]
    assert "no longer differs" in judged("square", {})[0]
    empty, other = f"{EMPTY}sample 0: refused", "sample 1: refused"
    halves = {"float16": [empty], "bfloat16": [empty]}
    assert judged("det", halves) == []
    assert "float16 differs" in judged("det", halves | {"float16": [empty, other]})[0]


def test_a_difference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another function in the op's place, or none, is a difference."""
    record = tenora_ops.record("exp")
    sample = op_cases.samples_of("exp", "float32")[1]
    assert difference(record, sample) == ""
    for other, words in ((tenora.sin, "result 0"), (lambda x: x.no_such_method(), "refused")):
        monkeypatch.setattr(op_cases, "public", lambda record, other=other: other)
        assert words in difference(record, sample)


@pytest.mark.parametrize(
    "name",
    ["smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div", "binary_cross_entropy_with_logits"],
)
def test_losses_of_whole_numbers_are_not_cut(name: str) -> None:
    """PyTorch refuses these; an answer must be that of the same numbers in float32."""
    loss: Any = getattr(tenora.nn.functional, name)
    x, y = [3, 1, 2, 5], [1, 0, 1, 1]
    for dtype in (tenora.int64, tenora.uint8):
        whole = loss(tenora.tensor(x, dtype=dtype), tenora.tensor(y, dtype=dtype), reduction="none")
        floating = loss(tenora.tensor(x) * 1.0, tenora.tensor(y) * 1.0, reduction="none")
        assert whole.dtype == tenora.float32 and whole.tolist() == floating.tolist()
