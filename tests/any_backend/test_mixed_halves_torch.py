"""Half types beside wider ones in ops that round once: the result has the dtype that PyTorch promotes to."""

from __future__ import annotations

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("first", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("second", ["float32", "bfloat16", "float16"])
def test_distances_and_integrals_of_half_types_promote(first: str, second: str, backend: str) -> None:
    for name in ("dist", "trapezoid", "trapz", "cumulative_trapezoid"):
        ours, theirs = (
            getattr(m, name)(m.ones(3).to(getattr(m, first)), m.arange(3).to(getattr(m, second)))
            for m in (tenora, torch)
        )
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], name


@pytest.mark.parametrize("second", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("first", ["float32", "bfloat16", "float16"])
@pytest.mark.filterwarnings("ignore:Mismatch dtype")
def test_rms_norm_takes_a_weight_of_another_dtype(first: str, second: str, backend: str) -> None:
    told = []
    for m in (tenora, torch):
        x = m.tensor([[1.0, 2.0, 3.0], [4.0, 0.5, 1.0]]).to(getattr(m, first)).requires_grad_(True)
        weight = m.tensor([1.0, 2.0, 0.5]).to(getattr(m, second)).requires_grad_(True)
        found = m.nn.functional.rms_norm(x, (3,), weight, 1e-3)
        found.sum().backward()
        told.append((found, x.grad, weight.grad))
    for ours, theirs in zip(*told, strict=True):
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        narrow = {first, second} & {"bfloat16", "float16"}
        assert ours.detach().to(tenora.float64).tolist() == pytest.approx(
            theirs.detach().double().numpy(), abs=0.05 if narrow else 1e-5
        )
