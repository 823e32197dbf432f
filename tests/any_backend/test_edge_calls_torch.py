"""Calls at the edges of reductions, searches, histograms, scatters and losses: as PyTorch, result or class of error."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import call_cases
import pytest
from call_cases import Call

pytestmark = pytest.mark.oracle

NAN, INF = math.nan, math.inf


def _scores(m: Any) -> Any:
    return m.log_softmax((m.arange(24).reshape(4, 2, 3) % 5) * 0.7, 2)


def _reduced(name: str, make: Call, dim: Any, keep: bool, m: Any) -> Any:
    return getattr(m, name)(make(m), dim=dim, keepdim=keep)


def _complex_means(own: bool, m: Any) -> Any:
    target, source = m.tensor([5j, -3.0, 2.0, 7.0]), m.tensor([1, 2, -7, 4j, 1])
    return m.scatter_reduce(target, 0, m.tensor([0, 0, 1, 0, 3]), source, "mean", include_self=own)


def _ctc_gradient(lengths: list[int], labels: list[int]) -> Call:
    def call(m: Any) -> Any:
        x = ((m.arange(24).reshape(4, 2, 3) % 5) * 0.7).requires_grad_(True)
        targets = m.tensor([[1, 1], [2, 1]])
        loss = m.nn.functional.ctc_loss(
            m.log_softmax(x, 2), targets, m.tensor(lengths), m.tensor(labels), reduction="sum"
        )
        loss.backward()
        return x.grad

    return call


def _sampled(mode: str, padding: str, corners: bool) -> Call:
    def call(m: Any) -> Any:
        grid = m.tensor([[[[-1.0, -1.0], [NAN, 0.0], [INF, -INF]], [[0.3, NAN], [NAN, NAN], [-1.7, 2.5]]]])
        image = (m.arange(24).reshape(1, 2, 3, 4) * 7 % 11) * 0.3
        return m.nn.functional.grid_sample(
            image, grid, mode=mode, padding_mode=padding, align_corners=corners
        )

    return call


def _each_dim(name: str) -> dict[str, Call]:
    """A reduction of tensors of several ranks, with dims that name none, one twice, and all."""
    inputs: dict[str, Call] = {
        "matrix": lambda m: m.tensor([[0.0, 2.0, 3.0], [1.0, 0.0, 0.0]]),
        "number": lambda m: m.tensor(2.5),
        "bools": lambda m: m.tensor([[True, False], [True, True]]),
        "empty": lambda m: m.zeros(0, 3),
    }
    dims: list[Any] = [(), [], (0, 0), (0, -1), 0]
    return {
        f"{name} of {what}, dim={dim}, keepdim={keep}": (partial(_reduced, name, make, dim, keep))
        for what, make in inputs.items()
        for dim in dims
        for keep in (False, True)
    }


CALLS: dict[str, Call] = {
    **_each_dim("any"),
    **_each_dim("all"),
    **_each_dim("sum"),
    "nansum to int64": lambda m: m.nansum(m.tensor([[1.0, NAN], [2.0, 3.0]]), 0, dtype=m.int64),
    "nansum of whole numbers": lambda m: m.nansum(m.tensor([[1, 2], [2, 3]]).to(m.int8), 1),
    "nansum of halves": lambda m: m.nansum(m.tensor([1.0, NAN, 2.0]).to(m.float16)),
    "argmax of nothing": lambda m: m.argmax(m.zeros(0, 3)),
    "argmin of nothing": lambda m: m.argmin(m.zeros(0)),
    "kthvalue of nothing": lambda m: m.kthvalue(m.zeros(0), 1),
    "unbind of a number": lambda m: m.unbind(m.tensor(1.0)),
    "squeeze of one dim twice": lambda m: m.zeros(1, 3, 1).squeeze((0, 0)),
    "squeeze of one dim by two names": lambda m: m.zeros(1, 3, 1).squeeze((2, -1)),
    "squeeze of two dims": lambda m: m.zeros(1, 3, 1).squeeze((2, 0)),
    "histogram without bins": lambda m: m.histogram(m.ones(3), 0),
    "histogram with one edge": lambda m: m.histogram(m.ones(3), m.tensor([1.0])),
    "histogram with edges and a range": lambda m: m.histogram(
        m.ones(3), m.tensor([0.0, 1.0, 2.0]), range=(0.0, 2.0)
    ),
    "histogram in a range of one": lambda m: m.histogram(m.tensor([1.0, 2.0, 3.0]), 4, range=(2.0, 2.0)),
    "histogram of NaN in a range of one": lambda m: m.histogram(m.tensor([1.0, NAN]), 2, range=(1.0, 1.0)),
    "histogram between edges of which the last is below the first": lambda m: m.histogram(
        m.tensor([1.0, 2.0, 3.0]), m.tensor([3.0, 1.0, 2.0])
    ),
    "histogram between edges out of order": lambda m: m.histogram(
        m.tensor([0.5, 1.0, 2.0, NAN]), m.tensor([0.0, 1.0, 3.0, 2.0])
    ),
    "histogramdd between edges of which the last is below the first": lambda m: m.histogramdd(
        m.tensor([[1.0], [2.0], [3.0]]), bins=[m.tensor([3.0, 1.0, 2.0])]
    )[0],
    "searchsorted of a float among ints": lambda m: m.searchsorted(m.tensor([1, 2, 3]), 2.5),
    "searchsorted of floats among ints": lambda m: m.searchsorted(m.tensor([1, 2, 3]), m.tensor([2.5, 0.5])),
    "searchsorted of ints among floats": lambda m: m.searchsorted(m.tensor([1.0, 2.5]), m.tensor([2, 3])),
    "searchsorted of an int among floats": lambda m: m.searchsorted(m.tensor([1.0, 2.0]), 2),
    "bucketize of floats among ints": lambda m: m.bucketize(m.tensor([2.5]), m.tensor([1, 2, 3])),
    "bucketize of a float among ints": lambda m: m.bucketize(2.5, m.tensor([1, 2, 3])),
    **{
        f"scatter_reduce to complex means, include_self={own}": (partial(_complex_means, own))
        for own in (True, False)
    },
    **{
        f"grid_sample without numbers, {mode}, {padding}, {corners}": _sampled(mode, padding, corners)
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for corners in (True, False)
    },
    "linalg.norm of an unknown order": lambda m: m.linalg.norm(m.ones(2, 2), 3.5),
    "linalg.matrix_norm of order 0": lambda m: m.linalg.matrix_norm(m.ones(2, 2), 0),
    "linalg.norm along no dim": lambda m: m.linalg.norm(m.ones(2, 2), dim=()),
    "where with out=": lambda m: m.where(
        m.tensor([True, False]), m.tensor([3.0, 4.0]), m.tensor([5.0, 6.0]), out=m.zeros(2)
    ),
    "affine_grid for another batch": lambda m: m.nn.functional.affine_grid(
        m.ones(2, 2, 3), (3, 1, 2, 3), align_corners=True
    ),
    "ctc_loss without frames": lambda m: m.nn.functional.ctc_loss(
        m.zeros(0, 2, 3), m.ones(2, 2).to(m.int64), m.tensor([0, 0]), m.tensor([1, 0])
    ),
    "ctc_loss without inputs": lambda m: m.nn.functional.ctc_loss(
        _scores(m), m.tensor([[1, 1], [2, 1]]), m.tensor([0, 0]), m.tensor([1, 0]), reduction="none"
    ),
    "ctc_loss, gradient without inputs": _ctc_gradient([0, 0], [0, 0]),
    "ctc_loss, gradient without labels": _ctc_gradient([4, 2], [0, 0]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name: str) -> None:
    call_cases.agree(CALLS[name], atol=1e-6)
