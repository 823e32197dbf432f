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


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("half", ["bfloat16", "float16"])
def test_layer_norm_of_a_half_type_takes_weights_kept_in_float32(
    half: str, with_bias: bool, backend: str
) -> None:
    told = []
    for m in (tenora, torch):
        x = m.tensor([[1.0, 2.0, 3.0], [4.0, 0.5, 1.0]]).to(getattr(m, half)).requires_grad_(True)
        weight, bias = (
            m.tensor(values, requires_grad=True) for values in ([1.0, 2.0, 0.5], [0.5, -1.0, 0.25])
        )
        found = m.nn.functional.layer_norm(x, (3,), weight, bias if with_bias else None)
        (found * m.tensor([1.0, 2.0, 3.0])).sum().backward()
        told.append((found, x.grad, weight.grad, *([bias.grad] if with_bias else [])))
    for ours, theirs in zip(*told, strict=True):
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        assert ours.detach().to(tenora.float64).tolist() == pytest.approx(
            theirs.detach().double().numpy(), abs=0.05
        )


def test_layer_norm_refuses_other_mixtures(backend: str) -> None:
    x, wide = tenora.ones(2, 3), tenora.ones(3, dtype=tenora.float64)
    with pytest.raises(RuntimeError, match=r"\[layer_norm\] operands have different dtypes"):
        tenora.nn.functional.layer_norm(x, (3,), wide)
    with pytest.raises(RuntimeError, match=r"\[layer_norm\] operands have different dtypes"):
        tenora.nn.functional.layer_norm(x.bfloat16(), (3,), wide.float(), wide.bfloat16())
