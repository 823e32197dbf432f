"""Gradients through the in-place form of every op equal those of the functional form.

An op without a gradient of its own is recorded as its parts, which save what they read: not the tensor that is
overwritten afterwards.
"""

from __future__ import annotations

import numpy as np
import op_cases
import pytest

import tenora
import tenora_ops

pytestmark = pytest.mark.any_device


def _differentiable() -> list[str]:
    written = [r for r in tenora_ops.records() if r.inplace_name and r.differentiable and not r.random]
    return [r.name for r in written if "float64" in r.dtypes]


@pytest.mark.parametrize("name", _differentiable())
def test_gradient_through_inplace(name: str, backend: str) -> None:
    """`y = x * 1; y.op_(...)` hands the same gradient to x as `op(x * 1, ...)`, or neither has one."""
    record = op_cases.judged(name, ["float64"])
    for sample in op_cases.samples_of(name, "float64")[:6]:
        if not isinstance(sample.arguments[0], np.ndarray) or sample.arguments[0].dtype != np.float64:
            continue
        first, *rest = op_cases.arguments_of(record, sample)
        options = op_cases.options_of(record, sample)
        x = first.detach().clone().requires_grad_()
        answer = tenora_ops.REGISTERED[name](x * 1, *rest, **options)
        if record.view or isinstance(answer, tuple) or answer.shape != x.shape or answer.dtype != x.dtype:
            continue
        written = x * 1
        getattr(written, record.inplace_name)(*rest, **options)
        assert written.requires_grad == answer.requires_grad, str(sample)
        if answer.requires_grad:
            wanted = _gradient(answer, x)
            found = _gradient(written, x)
            assert (wanted is None) == (found is None), str(sample)
            if wanted is not None and found is not None:
                op_cases.close(record, found, wanted, str(sample))


def _gradient(result: tenora.Tensor, x: tenora.Tensor) -> tenora.Tensor | None:
    try:
        return tenora.autograd.grad(result.sum(), x, allow_unused=True)[0]
    except NotImplementedError:
        return None


def test_views(backend: str) -> None:
    """The base of a view that such an op writes has the gradient, too."""
    x = tenora.tensor([float("nan"), 2.0, 5.0, 3.0], requires_grad=True)
    y = x * 2
    y[::2].nan_to_num_()
    y[1:].clamp_min_(5.0)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 0.0, 2.0, 2.0]
