"""Calls by keyword, as programs for PyTorch write them: each argument has the name and the meaning that it has there.

The parameters of nn.functional are compared by their signatures (`test_functional_signatures.py`); functions of torch
itself and methods show none, so each is called.
"""

from __future__ import annotations

from typing import Any

import both
import pytest

import tenora

pytestmark = pytest.mark.oracle

#: Programs of one expression; `f` is the library.
CALLS = """
f.ones(size=(2, 3))
f.zeros(size=[2], dtype=f.float64)
f.empty(size=(2, 0))
f.full(size=(2,), fill_value=1)
f.rand(size=(2, 0))
f.randn(size=(2, 0))
f.ones(2, 3).new_zeros(size=(2,))
f.ones(2, 3).new_full(size=(2,), fill_value=3.0)
f.arange(end=3)
f.arange(end=3.5)
f.arange(1, end=3)
f.arange(start=1, end=6, step=2)
f.linspace(start=0, end=1, steps=3)
f.eye(n=2, m=3)
f.randint(1, size=(3,))
f.randint(high=1, size=(3,))
f.randint(low=2, high=3, size=(3,))
f.randperm(n=1)
f.rand_like(f.ones(2), generator=f.Generator()).shape
f.randn_like(f.ones(2), generator=f.Generator()).shape
f.normal(mean=0.0, std=1.0, size=(2, 0), requires_grad=True).requires_grad
f.randint_like(f.ones(2), 1, requires_grad=True).requires_grad
f.randint_like(f.ones(2), low=2, high=3, device="cpu", dtype=f.int64)
f.randint_like(input=f.ones(2), high=1, generator=f.Generator())
f.tril_indices(row=2, col=3, offset=-1, requires_grad=False)
f.triu_indices(row=2, col=3, offset=1, device="cpu")
f.fft.fftfreq(n=4, d=0.5, requires_grad=True).requires_grad
f.fft.rfftfreq(n=4, d=0.5, requires_grad=True).requires_grad
f.ones(2, 3).size(dim=1)
f.ones(2, 3).size(dim=-2)
f.ones(2, 3).stride(dim=0)
f.zeros(3).copy_(f.arange(3.0), non_blocking=True)
f.zeros(3).copy_(f.arange(3.0), True)
f.round(f.tensor([3.14159, -2.5, 0.125, 1e30]), decimals=2)
f.round(f.tensor([1234.5, -1250.0, 0.0]), decimals=-2)
f.round(f.tensor([1.5, float("inf"), float("nan")]), decimals=400)
f.round(f.tensor([3.14159, 700.0]).half(), decimals=2)
f.round(f.tensor([3.14159, 700.0]).bfloat16(), decimals=1)
f.tensor([3.14159, -2.5]).round(decimals=1)
f.tensor([3.14159, -2.5]).round_(decimals=3)
f.round(f.tensor([3.14159, -2.5]), decimals=1, out=f.empty(2))
f.special.round(f.tensor([3.14159, -2.5]), decimals=1)
f.tensor([[1.0, 2.0]]).sum(axis=0, keepdims=True)
f.stack([f.ones(2)], axis=0)
f.where(condition=f.ones(2) > 0, input=f.ones(2), other=f.zeros(2))
f.tensor_split(f.arange(6), sections=2)
f.tensor_split(f.arange(6), indices=[1, 3])
f.arange(6).split(split_size=4)
f.std(f.arange(4.0), dim=0, correction=0, keepdim=True)
f.repeat_interleave(f.arange(2), repeats=2, dim=0, output_size=4)
f.searchsorted(sorted_sequence=f.arange(3), input=f.arange(3), right=True, side="right", out_int32=True)
f.isin(elements=f.arange(3), test_elements=f.arange(2), assume_unique=True, invert=True)
f.nan_to_num(f.tensor([float("nan")]), nan=1.0, posinf=2.0, neginf=3.0)
f.arange(4.0).scatter(dim=0, index=f.tensor([0]), value=7.0)
f.arange(4.0).index_add(dim=0, index=f.tensor([0]), source=f.ones(1), alpha=2)
f.arange(4.0).index_put(indices=(f.tensor([0]),), values=f.tensor(5.0), accumulate=True)
f.arange(4.0).to(dtype=f.float64, non_blocking=True, copy=True)
f.heaviside(f.zeros(2), values=f.ones(2))
f.gather(f.arange(6).reshape(2, 3), dim=1, index=f.tensor([[2], [0]]), sparse_grad=False)
f.gather(f.arange(6).reshape(2, 3), 1, f.tensor([[2], [0]]), sparse_grad=True)
f.gather(f.arange(3.0), 0, f.tensor([2]), sparse_grad=False, out=f.empty(1))
f.arange(6).reshape(2, 3).gather(1, index=f.tensor([[2], [0]]), sparse_grad=False)
f.swapaxes(f.ones(2, 3), axis0=0, axis1=1)
f.ones(2, 3).swapaxes(axis0=0, axis1=1)
f.ones(2, 3).swapaxes_(axis0=-1, axis1=0)
f.swapdims(f.ones(2, 3), dim0=0, dim1=1)
f.zeros(2).uniform_(to=0.0)
f.zeros(2).uniform_(1.0, to=1.0)
f.detach(input=f.ones(2, requires_grad=True)).requires_grad
f.get_device(f.ones(2))
f.is_conj(f.ones(2))
f.is_neg(f.ones(2))
f.is_inference(f.ones(2))
f.is_nonzero(f.ones(1, 1))
f.is_nonzero(input=f.zeros(()))
f.is_same_size(f.ones(2), other=f.ones(2))
f.is_signed(f.ones(2))
f.put(f.zeros(2, 2), index=f.tensor([1, 1]), source=f.ones(2), accumulate=True)
""".strip().split("\n")

#: What both sides refuse.
REFUSED = """
f.ones(2, size=(3,))
f.arange()
f.randint(size=(3,))
f.randint(3)
f.normal(0.0, 1.0)
f.normal(f.ones(2), 1.0, requires_grad=True)
f.normal(f.ones(2), 1.0, pin_memory=True)
f.tril_indices(2, 2, requires_grad=True)
f.fft.fftfreq(4, out=f.ones(4), dtype=f.float64)
f.ones(2).size(dims=0)
f.ones(2).size(0, dim=0)
f.ones(2).stride(0, 1)
f.ones(2, 3).size(dim=2)
f.round(f.tensor([15]), decimals=1)
f.round(f.tensor([1.5]), 1)
f.round(f.tensor([1.5]), decimals=1.0)
""".strip().split("\n")


def run(call: str, f: Any) -> Any:
    return eval(call, {"f": f})


@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str) -> None:
    assert not isinstance(both.agree(lambda f: run(call, f)), Exception)


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(call: str) -> None:
    error = both.agree(lambda f: run(call, f))
    assert isinstance(error, tenora.TenoraError) and ": got " in str(error) and ", expected " in str(error)


def test_rounding_to_decimals_has_a_gradient_of_zero(backend: str) -> None:
    x = tenora.tensor([3.14159, -2.5], requires_grad=True)
    x.round(decimals=2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 0.0]


def test_a_generator_is_drawn_from() -> None:
    first, second = tenora.Generator().manual_seed(3), tenora.Generator().manual_seed(3)
    like = tenora.ones(4)
    assert tenora.rand_like(like, generator=first).tolist() == tenora.rand(4, generator=second).tolist()
    assert tenora.randn_like(like, generator=first).tolist() == tenora.randn(4, generator=second).tolist()


def test_copies_that_may_overlap_have_gradients(backend: str) -> None:
    x = tenora.tensor([1.0, 2.0], requires_grad=True)
    y = tenora.zeros(2)
    y.copy_(x, non_blocking=True)
    (y * y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    z = tenora.zeros(3)
    z[1:].copy_(x.detach(), non_blocking=True)
    assert z.tolist() == [0.0, 1.0, 2.0]
