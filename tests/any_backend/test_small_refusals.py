"""What PyTorch refuses or keeps at the edges of dropout, losses and activations, tenora refuses or keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import edge_cases as edges
import numpy as np
import op_cases
import pytest
import torch

import tenora
import tenora.nn.functional as F
import tenora_ops
from tenora_ops.samples import Sample

pytestmark = pytest.mark.oracle

DROPOUTS = ["dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]
SHAPES = {"dropout1d": (4, 50, 2), "dropout3d": (4, 50, 2, 1, 2)}


@pytest.mark.parametrize("p", [1.0, 1.0 - 1e-12, 0.99999, 0.999])
@pytest.mark.parametrize("name", DROPOUTS)
def test_what_dropout_drops_has_no_gradient(name: str, p: float, backend: str) -> None:
    x = tenora.ones(SHAPES.get(name, (4, 50, 2, 2)), dtype=tenora.float16, requires_grad=True)
    result = getattr(F, name)(x, p, True)
    result.sum().backward()
    assert not bool(tenora.isnan(x.grad).any())
    if p > 0.9999999:
        assert x.grad.abs().max().item() == 0.0


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_of_nothing_keeps_the_dtype(name: str, backend: str) -> None:
    shape = SHAPES.get(name, (2, 3, 4, 4))
    whole = getattr(F, name)(tenora.ones(shape, dtype=tenora.int64), 0.0, True)
    theirs = getattr(torch.nn.functional, name)(torch.ones(shape, dtype=torch.int64), 0.0, True)
    assert (str(whole.dtype).split(".")[1], theirs.dtype) == ("int64", torch.int64)


def test_cross_entropy_of_no_probabilities(backend: str) -> None:
    ours = F.cross_entropy(tenora.zeros(0, 3), tenora.zeros(0, 3))
    theirs = torch.nn.functional.cross_entropy(torch.zeros(0, 3), torch.zeros(0, 3))
    assert bool(tenora.isnan(ours)) and bool(torch.isnan(theirs))


def test_a_weight_of_multi_margin_loss_has_one_number_a_class(backend: str) -> None:
    for shape, target in (((2, 3), [0, 1]), ((3,), 1)):
        for module in (torch, tenora):
            arguments = (module.zeros(shape), module.tensor(target))
            with pytest.raises(RuntimeError, match="weight"):
                module.nn.functional.multi_margin_loss(*arguments, weight=module.ones(4))
            module.nn.functional.multi_margin_loss(*arguments, weight=module.ones(3))


def test_a_weight_without_rank_is_made_orthogonal(backend: str) -> None:
    for start in (tenora.zeros(3, 3), tenora.ones(4, 3), tenora.eye(3) * tenora.tensor([1.0, 0.0, 1.0])):
        layer = tenora.nn.Linear(start.shape[1], start.shape[0], bias=False)
        with tenora.no_grad():
            layer.weight.copy_(start)
        tenora.nn.utils.parametrizations.orthogonal(layer, use_trivialization=True)
        product = layer.weight.mT @ layer.weight
        np.testing.assert_allclose(op_cases.as_numpy(product.detach()), np.eye(start.shape[1]), atol=1e-5)


@pytest.mark.parametrize("loss", ["MSELoss", "L1Loss", "HuberLoss", "SmoothL1Loss"])
def test_loss_modules_warn_of_broadcasting(loss: str, backend: str) -> None:
    module = getattr(tenora.nn, loss)()
    with pytest.warns(UserWarning, match="another size"):
        module(tenora.ones(2), tenora.ones(2, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(tenora.ones(2), tenora.ones(2))


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_likes_of_what_is_no_tensor(name: str) -> None:
    for module in (torch, tenora):
        with pytest.raises(TypeError, match=name):
            getattr(module, name)([1])


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8"])
@pytest.mark.parametrize("name", ["silu", "rrelu", "relu"])
def test_activations_of_whole_numbers(name: str, dtype: str, backend: str) -> None:
    def answer(module: Any) -> str:
        try:
            return str(
                getattr(module.nn.functional, name)(module.ones(2, dtype=getattr(module, dtype))).dtype
            )
        except RuntimeError:
            return ".refused"

    assert answer(tenora).split(".")[1] == answer(torch).split(".")[1]


def casts(sample: Sample) -> list[Callable[[np.ndarray], np.ndarray]]:
    """All arrays, or the first one alone, as each other kind of numbers."""
    first = edges.arrays_of(sample)[0]

    def to(dtype: str, all_of_them: bool) -> Callable[[np.ndarray], np.ndarray]:
        def change(a: np.ndarray) -> np.ndarray:
            if not all_of_them and a is not first:
                return a
            return (a if dtype == "complex64" else a.real).astype(dtype)

        return change

    return [to(d, every) for d in ("bool", "uint8", "int64", "complex64") for every in (True, False)]


@pytest.mark.parametrize("name", [r.name for r in tenora_ops.records()])
def test_no_dtype_ends_in_a_text_for_authors(name: str, backend: str) -> None:
    """Whatever dtypes an op is called with, its error is not that its record is wrong."""
    record = tenora_ops.record(name)
    dtype = "float32" if "float32" in record.dtypes else record.dtypes[0]
    for sample in op_cases.samples_of(name, dtype)[:2]:
        if not edges.arrays_of(sample) or sum(a.size for a in edges.arrays_of(sample)) > 60:
            continue
        for change in casts(sample):
            try:
                op_cases.call(record, edges.mapped(sample, change))
            except Exception as error:
                assert "op's record" not in str(error), f"{name}({sample}): {error}"
