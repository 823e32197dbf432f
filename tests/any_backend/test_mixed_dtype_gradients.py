"""Operands of several floating dtypes: each gradient has its own operand's dtype, as in PyTorch.

- Every differentiable record is called on its samples with one operand in another dtype at a time.
- Losses answer alike with and without gradients: the same dtype and value, or the same class of error.
"""

from __future__ import annotations

import itertools
from typing import Any

import op_cases
import pytest

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Sample

F = tenora.nn.functional
#: The operands' own dtype, and what one of them is cast to.
PAIRS = (("float32", "float64"), ("float64", "float32"), ("float32", "bfloat16"))
#: Adjoints of matmul, which takes one dtype: their operands are those of one call of it.
OF_ONE_DTYPE = {"matmul_left", "matmul_right"}
SEVERAL = [
    r.name
    for r in tenora_ops.records()
    if r.differentiable and (len(r.schema.operands) > 1 or r.schema.variadic) and r.name not in OF_ONE_DTYPE
]


def _leaf(value: Any, dtype: Any = None) -> Any:
    """A floating tensor as a leaf that needs its gradient; anything else as it is."""
    if isinstance(value, list):
        return [_leaf(v, dtype if i == 0 else None) for i, v in enumerate(value)]
    if not isinstance(value, tenora.Tensor) or not value.dtype.is_floating_point:
        return value
    cast = value.detach().to(dtype) if dtype is not None else value.detach().clone()
    return cast.requires_grad_(True)


def _leaves(values: list[Any]) -> list[Any]:
    flat = itertools.chain.from_iterable(v if isinstance(v, list) else [v] for v in values)
    return [v for v in flat if isinstance(v, tenora.Tensor) and v.requires_grad]


def _wrong_gradients(record: Record, sample: Sample, other: str) -> list[str]:
    """What is told of gradients in a foreign dtype, with each operand in the other dtype in turn."""
    told = []
    given = op_cases.arguments_of(record, sample)
    for place in range(len(given)):
        values = [_leaf(v, getattr(tenora, other) if i == place else None) for i, v in enumerate(given)]
        leaves = _leaves(values)
        if len({leaf.dtype for leaf in leaves}) < 2:
            continue
        try:
            found = tenora_ops.REGISTERED[record.name](*values, **op_cases.options_of(record, sample))
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue  # one dtype for all is asked for
        results = [r for r in (found if isinstance(found, tuple | list) else [found]) if r.requires_grad]
        if not results:
            continue
        try:
            gradients = tenora.autograd.grad(
                results, leaves, [tenora.ones_like(r) for r in results], allow_unused=True
            )
        except NotImplementedError:
            continue  # told to have no gradient for that operand
        told += [
            f"{record.name}, operand {place} in {other}: the gradient is {g.dtype}, the operand {leaf.dtype}"
            for g, leaf in zip(gradients, leaves, strict=True)
            if g is not None and g.dtype != leaf.dtype
        ]
    return told


@pytest.mark.parametrize("name", SEVERAL)
def test_gradients_have_their_operands_dtypes(name: str, backend: str) -> None:
    for own, other in PAIRS:
        record = op_cases.judged(name)
        if own not in op_cases.dtypes_of(record):
            continue
        for sample in op_cases.samples_of(name, own)[:4]:
            assert _wrong_gradients(record, sample, other) == []


def test_a_layer_learns_from_targets_in_double_precision(backend: str) -> None:
    layer = tenora.nn.Linear(2, 1)
    F.mse_loss(layer(tenora.ones(3, 2)), tenora.ones(3, 1, dtype=tenora.float64)).backward()
    assert [p.grad.dtype for p in layer.parameters()] == [tenora.float32, tenora.float32]


@pytest.mark.parametrize("other", ["float64", "bfloat16"])
@pytest.mark.parametrize("call", ["mul_", "div_", "add_", "sub_"])
def test_a_write_keeps_the_written_dtype(call: str, other: str, backend: str) -> None:
    x = tenora.ones(3, requires_grad=True)
    y = tenora.ones(3, dtype=getattr(tenora, other), requires_grad=True)
    h = x * 1
    getattr(h, call)(y)
    gradients = tenora.autograd.grad(h.sum(), [x, y])
    assert [g.dtype for g in gradients] == [x.dtype, y.dtype]


@pytest.mark.parametrize("other", ["float64", "bfloat16"])
def test_joined_tensors_have_their_own_dtypes(other: str, backend: str) -> None:
    x = tenora.ones(3, requires_grad=True)
    y = tenora.ones(3, dtype=getattr(tenora, other), requires_grad=True)
    for join in (tenora.stack, tenora.cat):
        gradients = tenora.autograd.grad(join([x * 1, y]).sum(), [x, y])
        assert [g.dtype for g in gradients] == [x.dtype, y.dtype]


TWO = (
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div "
    "poisson_nll_loss hinge_embedding_loss soft_margin_loss multilabel_soft_margin_loss cosine_similarity "
    "pairwise_distance"
).split()
THREE = ("margin_ranking_loss", "triplet_margin_loss", "gaussian_nll_loss")
DTYPES = ("float32", "float64", "bfloat16", "complex64", "bool", "int64", "uint8")


def _answer(name: str, dtypes: tuple[str, ...], needs: bool) -> Any:
    """The dtype and value of a loss, whose gradients are taken too if asked for; or the class of its error."""
    values = [tenora.tensor([[0.25, 0.5, 0.75], [0.5, 1.0, 0.25]]).to(getattr(tenora, d)) for d in dtypes]
    for value in values:
        value.requires_grad_(needs and (value.dtype.is_floating_point or value.dtype.is_complex))
    try:
        found = getattr(F, name)(*values)
        if found.requires_grad and not found.dtype.is_complex:
            found.sum().backward()
    except Exception as error:  # its class is the answer
        assert "record" not in str(error)
        return type(error)
    assert all(v.grad is None or v.grad.dtype == v.dtype for v in values)
    return found.dtype, found.tolist()


@pytest.mark.parametrize("name", [*TWO, *THREE])
def test_losses_answer_alike_with_and_without_gradients(name: str, backend: str) -> None:
    for first, second in itertools.product(DTYPES, DTYPES):
        dtypes = (first, second, *([second] if name in THREE else []))
        plain, taped = _answer(name, dtypes, False), _answer(name, dtypes, True)
        assert str(plain) == str(taped), dtypes
