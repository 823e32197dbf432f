"""First and second derivatives of every public op at zeros and ties against PyTorch.

- Formulas of abs, min, max and where have kinks that cancel in the value and must in its derivatives; samples are drawn
  beside them. Here each sample is tried again on them (`points_of`): zeros, some zeros, ones, whole numbers, equal
  operands.
- Where PyTorch's derivative is finite, tenora's is the same number. Where it is none, nothing is said: there tenora
  often has the one-sided limit. Rounding is judged beside the kinks (`test_ops_parity.py`).
- `KINKS` names what differs, with the reason; what agrees after all must leave it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import edge_cases as edges
import numpy as np
import op_cases
import parity_cases as parity
import pytest
import torch
from differences import GRADIENTS, KINKS, SECOND_GRADIENTS, VALUES

import tenora
import tenora.nn.functional as F
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Sample

pytestmark = pytest.mark.oracle

LARGEST = 24  # elements of a sample that is tried
MOST = 4  # samples of an op that are tried
BOUND = 1e-8  # a kink lost is a term lost
#: Ops of matrices that lose their rank on kinks, where factors and vectors are not their own: judged beside them.
SINGULAR = {
    *(
        "linalg_cond",
        "linalg_cond_str",
        "linalg_inv_ex",
        "linalg_cholesky_ex",
        "linalg_lu_factor_ex",
        "linalg_lu",
    ),
    *(
        "lu",
        "linalg_qr",
        "qr",
        "orgqr",
        "ormqr",
        "linalg_householder_product",
        "linalg_eigvalsh",
        "linalg_svdvals",
    ),
    *("nuclear_norm", "linalg_matrix_norm", "linalg_matrix_norm_str", "linalg_norm", "linalg_norm_str"),
    *("linalg_lu_solve", "lu_solve", "linalg_det", "det", "logdet", "linalg_slogdet", "slogdet"),
}
NAMES = [
    r.name
    for r in tenora_ops.records()
    if r.public
    and r.differentiable
    and "float64" in r.dtypes
    and not parity.draws(r)
    and r.name not in SINGULAR
    and (r.name, "float64") not in VALUES
    and r.name not in GRADIENTS
]


def points_of(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """The sample on kinks; what is not floating stays."""

    def moved(change: Callable[[np.ndarray], np.ndarray]) -> Sample:
        return edges.mapped(sample, lambda a: change(a) if a.dtype.kind == "f" else a)

    def sparse(a: np.ndarray, step: int) -> np.ndarray:
        return np.where(np.arange(a.size).reshape(a.shape) % step == 0, 0.0, a)

    yield "zeros", moved(np.zeros_like)
    yield "ones", moved(np.ones_like)
    yield "whole numbers", moved(np.round)
    yield "every second a zero", moved(lambda a: sparse(a, 2))
    yield "every third a zero", moved(lambda a: sparse(a, 3))
    floating = [a for a in edges.arrays_of(sample) if a.dtype.kind == "f"]
    if len({a.shape for a in floating}) < len(floating):
        first = floating[0]
        yield "equal operands", moved(lambda a: first.copy() if a.shape == first.shape else a)


def compare(got: Any, theirs: Any, where: str) -> None:
    """The same numbers where PyTorch has any; no gradient is one of zeros."""
    if theirs is None and got is None:
        return
    other = np.zeros(tuple(got.shape)) if theirs is None else parity.as_array(theirs)
    ours = np.zeros(other.shape) if got is None else op_cases.as_numpy(got)
    finite = np.isfinite(other)
    scale = max(1.0, float(np.abs(other[finite]).max(initial=0.0)))
    np.testing.assert_allclose(ours[finite], other[finite], rtol=BOUND, atol=BOUND * scale, err_msg=where)


def kinks(record: Record) -> int:
    """How many points of the op were compared."""
    compared = tried = 0
    for sample in op_cases.samples_of(record.name, "float64"):
        sizes = sum(a.size for a in edges.arrays_of(sample))
        if not 0 < sizes <= LARGEST or tried == MOST:
            continue
        tried += 1
        for label, point in points_of(sample):
            function, arguments, options = parity.torch_call(record, point)
            run = functools.partial(function, *arguments, **options)
            try:
                theirs = parity.derivatives(torch, run, parity.leaves_of(arguments, torch))
            except (RuntimeError, NotImplementedError, TypeError):
                continue  # PyTorch refuses
            if not theirs[0]:
                continue  # PyTorch has no gradient
            mine = op_cases.arguments_of(record, point)
            call = functools.partial(tenora_ops.REGISTERED[record.name], *mine)
            call = functools.partial(call, **op_cases.options_of(record, point))
            ours = parity.derivatives(tenora, call, parity.leaves_of(mine, tenora))
            orders = 1 if record.name in SECOND_GRADIENTS else 2
            for order, (found, known) in enumerate(zip(ours[:orders], theirs[:orders], strict=True), 1):
                count = max(len(found), len(known))
                pairs = zip(found or [None] * count, known or [None] * count, strict=True)
                for i, (a, b) in enumerate(pairs):
                    compare(a, b, f"{record.name}({sample}) at {label}: derivative {order} by input {i}")
            compared += 1
    return compared


@pytest.mark.parametrize("name", NAMES)
def test_kinks(name: str, backend: str) -> None:
    record = op_cases.judged(name, ("float64",))
    try:
        parity.counterpart(record)
    except parity.Uncompared:
        return  # PyTorch does not name it
    if name in KINKS:
        with pytest.raises(AssertionError, match="derivative"):
            kinks(record)
        return
    kinks(record)


def hessian(module: Any, function: Callable[..., Any], at: list[float]) -> list[list[float]]:
    x = module.tensor(at, dtype=module.float64, requires_grad=True)
    (slopes,) = module.autograd.grad(function(x), x, create_graph=True)
    return [module.autograd.grad(slope, x, retain_graph=True)[0].tolist() for slope in slopes]


PRODUCTS = ([0.0, 2.0, 3.0], [0.0, 0.0, 2.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("at", PRODUCTS)
def test_second_derivatives_of_products(at: list[float], backend: str) -> None:
    assert hessian(tenora, tenora.prod, at) == hessian(torch, torch.prod, at)
    ours = hessian(tenora, lambda x: tenora.cumprod(x, 0).sum(), at)
    assert ours == hessian(torch, lambda x: torch.cumprod(x, 0).sum(), at)


def test_second_derivatives_at_one_point(backend: str) -> None:
    """PyTorch's for what the sweep cannot hold still, and the limit of sinc, where PyTorch has NaN."""

    def losses(module: Any, functional: Any) -> dict[str, Any]:
        ones = module.ones(1, dtype=module.float64)
        logits = functional.binary_cross_entropy_with_logits
        several = functional.multilabel_soft_margin_loss
        return {
            "logits": lambda x: logits(x, ones),
            "weighted logits": lambda x: logits(x, ones, pos_weight=ones * 3),
            "soft margin": lambda x: functional.soft_margin_loss(x, -ones),
            "labels": lambda x: several(x, ones),
            "weighted labels": lambda x: several(x, ones, ones * 2),
            "huber": lambda x: functional.huber_loss(x, ones * 0),
            "logaddexp": lambda x: module.logaddexp(x, ones * 0),
            "logaddexp2": lambda x: module.logaddexp2(x, ones * 0),
        }

    theirs = losses(torch, torch.nn.functional)
    for name, function in losses(tenora, F).items():
        (ours,), (known,) = hessian(tenora, function, [0.0]), hessian(torch, theirs[name], [0.0])
        assert known[0] > 0.1, name
        np.testing.assert_allclose(ours, known, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(hessian(tenora, lambda x: tenora.sinc(x).sum(), [0.0]), -(np.pi**2) / 3)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_equal_infinities_share_the_gradient(name: str, backend: str) -> None:
    a = tenora.tensor([np.inf, -np.inf, np.inf], dtype=tenora.float64, requires_grad=True)
    b = tenora.tensor([np.inf, -np.inf, 1.0], dtype=tenora.float64, requires_grad=True)
    getattr(tenora, name)(a, b).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([0.5, 0.5, 1.0], [0.5, 0.5, 0.0])


def test_relu_has_a_second_derivative_of_zero(backend: str) -> None:
    for module in (tenora, torch):
        x = module.tensor([1.0, -1.0, 0.0], requires_grad=True)
        (slope,) = module.autograd.grad(module.relu(x).sum(), x, create_graph=True)
        assert module.autograd.grad(slope.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]
