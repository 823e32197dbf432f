"""Every public op in every dtype that its record does not name: what PyTorch answers, tenora answers alike.

- The samples of a record are drawn in each further dtype and given to the public functions of both sides; dtypes,
  shapes and values must agree where PyTorch answers. Where it refuses, mostly for want of a kernel, tenora may answer.
- `LISTED` holds the ops that differ, with the reason; an op that no longer differs must leave it.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import op_cases
import pytest
import test_ops_parity as parity
import torch

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import ALL, Draw, Sample

pytestmark = pytest.mark.oracle

NO_WHOLE = "of whole numbers, without gradient: cast first"
ONLY_EMPTY = "PyTorch looks at the dtype only where there are elements"
NO_ORDER = "complex numbers have no order; PyTorch compares what is not documented"
WRAPS = "PyTorch's differences, products and signs of unsigned numbers wrap"
LISTED = (
    dict.fromkeys(
        [
            *[f"{kind}_pool{n}d" for kind in ("avg", "lp") for n in (1, 2, 3)],
            *[f"max_pool{n}d_with_indices" for n in (1, 2, 3)],
            "bilinear",
        ],
        NO_WHOLE,
    )
    | dict.fromkeys(
        [
            *["softmax", "log_softmax", "softmin", "unfold", "fold"],
            *[
                f"linalg_{n}"
                for n in ("cholesky_ex", "cholesky", "eigh", "eigvalsh", "matrix_exp", "solve_ex")
            ],
            *["linalg_solve", "linalg_det", "linalg_lu_solve"],
            *["cholesky", "matrix_exp", "det", "lu_solve"],
            *[f"adaptive_avg_pool{n}d" for n in (1, 2, 3)],
            *[f"conv_transpose{n}d" for n in (1, 2, 3)],
            *["randn", "normal_mean", "normal_std", "normal_size", "bernoulli_p"],
        ],
        ONLY_EMPTY,
    )
    | dict.fromkeys(
        ["bernoulli", "scatter_reduce", "index_reduce", "searchsorted", "bucketize", "soft_margin_loss"],
        NO_ORDER,
    )
    | dict.fromkeys(["trapezoid", "cumulative_trapezoid", "pairwise_distance", "triplet_margin_loss"], WRAPS)
    | dict.fromkeys(["margin_ranking_loss", "cosine_embedding_loss"], WRAPS)
    | dict.fromkeys(["view_as_complex", "complex"], "there is no complex number of two float16")
    | dict.fromkeys(
        ["interpolate", "upsample", "upsample_bilinear"], "PyTorch rounds uint8 after each dim, here once"
    )
    | {
        "square": "PyTorch's square of bool is int64; that of a product stays bool",
        "local_response_norm": "PyTorch's mean of squares of int64 is cut to a whole number",
        "index_add": "sums of bool are integers",
        "logcumsumexp": "PyTorch orders complex numbers by their real part",
        "linspace": "PyTorch counts unsigned numbers down by a step that wraps",
        "dropout": "whole numbers times a probability are floating",
        "alpha_dropout": "whole numbers times a probability are floating",
        "feature_alpha_dropout": "whole numbers times a probability are floating",
    }
)


def public(record: Record) -> Any:
    place: Any = tenora
    try:
        for part in record.public.split("."):
            place = getattr(place, part)
    except AttributeError:
        return tenora_ops.REGISTERED[record.name]
    return place


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
        mine = public(record)(*op_cases.arguments_of(record, sample), **op_cases.options_of(record, sample))
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
                found[dtype].append(f"sample {number}: {text[:300]}")
    if name in LISTED:
        assert found, f"{name} no longer differs ({LISTED[name]}): take it off the list"
    else:
        assert not found, dict(found)


def test_listed_ops_exist() -> None:
    assert set(LISTED) <= set(NAMES)


def test_a_difference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another function in the op's place, or none, is a difference."""
    record = tenora_ops.record("exp")
    sample = op_cases.samples_of("exp", "float32")[1]
    assert difference(record, sample) == ""
    for other, words in ((tenora.sin, "result 0"), (lambda x: x.no_such_method(), "refused")):
        monkeypatch.setitem(globals(), "public", lambda record, other=other: other)
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
