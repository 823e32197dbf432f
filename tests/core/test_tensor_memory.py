"""Where and how a tensor lies: type names, windows changed in place, storages, empty tensors of given strides."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import tenora


def test_type_names_and_casts() -> None:
    x = tenora.ones(2)
    assert x.type() == "tenora.FloatTensor"
    assert x.type("torch.LongTensor").dtype == tenora.int64
    assert x.type(tenora.float64).dtype == tenora.float64
    with pytest.raises(ValueError, match="unknown type"):
        x.type("NoTensor")


def test_answers() -> None:
    x = tenora.ones(2, 3)
    assert (x.is_cuda, x.is_cpu, x.is_pinned(), x.get_device(), x.name) == (False, True, False, -1, None)
    assert x.is_signed() and x.is_same_size(tenora.zeros(2, 3))
    assert tenora.tensor(3).is_nonzero() and x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.t())
    assert x.storage().nbytes() == 24
    with pytest.raises(RuntimeError, match="ambiguous"):
        x.is_nonzero()
    if not tenora.cuda.is_available():
        with pytest.raises(RuntimeError, match="cuda"):
            x.cuda()


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda x: x.resize_(3, 2), (3, 2)),
        (lambda x: x.resize_(5, 2), (5, 2)),
        (lambda x: x.resize_as_(tenora.ones(4)), (4,)),
    ],
)
def test_sizes_change_in_place(change: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    x = tenora.arange(6.0).view(2, 3)
    assert change(x) is x and tuple(x.shape) == shape
    tracked = tenora.ones(2, 3, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="carries gradients"):
        change(tracked)


def test_growing_keeps_the_elements() -> None:
    assert tenora.arange(3.0).resize_(5)[:3].tolist() == [0.0, 1.0, 2.0]


def test_fill_diagonal_wraps() -> None:
    x = tenora.zeros(7, 3)
    x.fill_diagonal_(1.0, wrap=True)
    assert x.sum(1).tolist() == [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    y = tenora.zeros(3, 7).t()
    y.fill_diagonal_(1.0, wrap=True)
    assert y.tolist() == x.tolist()


def test_empty_tensors_of_given_strides() -> None:
    assert tenora.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert tenora.empty_permuted((2, 3, 4), (1, 2, 0)).stride() == (1, 8, 2)
    assert tenora.ones(1, dtype=tenora.int8).new_empty_strided((2,), (3,)).dtype == tenora.int8
    assert tuple(tenora.broadcast_shapes((3, 1), (4,), ())) == (3, 4)
    with pytest.raises(RuntimeError, match="do not broadcast"):
        tenora.broadcast_shapes((3,), (4,))
    with pytest.raises(RuntimeError, match="permutation"):
        tenora.empty_permuted((2, 3), (0, 0))


def test_ops_in_python_name_themselves_in_errors() -> None:
    with pytest.raises(TypeError, match=r"\[chunk\].*Signature: chunk\("):
        tenora.chunk(tenora.ones(3))
    with pytest.raises(TypeError, match=r"\[chunk\] input is wrong: got int, expected Tensor"):
        tenora.chunk(3, 2)
    with pytest.raises(IndexError, match=r"\[split\]"):
        tenora.ones(3).split(1, dim=2)
    with pytest.raises(RuntimeError, match="too many sections"):
        tenora.tensor_split(tenora.ones(3), 2**40)


def test_other_spellings() -> None:
    x = tenora.arange(6)
    assert [t.tolist() for t in x.split(split_size=4)] == [[0, 1, 2, 3], [4, 5]]
    assert [t.tolist() for t in tenora.tensor_split(x, indices=(2,))] == [[0, 1], [2, 3, 4, 5]]
    assert len(tenora.tensor_split(x, sections=4)) == 4 and len(tenora.unbind(x.view(2, 3), axis=1)) == 3
    assert (
        [t.tolist() for t in tenora.where(x > 3)]
        == [[4, 5]]
        == [t.tolist() for t in x.gt(3).nonzero(as_tuple=True)]
    )
    assert tenora.repeat_interleave(x[:2], tenora.tensor([2, 1])).tolist() == [0, 0, 1]
    assert x[:2].repeat_interleave(2).tolist() == [0, 0, 1, 1]
    assert tenora.repeat_interleave(tenora.tensor([2, 1])).tolist() == [0, 0, 1]
    assert x.scatter(0, tenora.tensor([1]), 5, reduce="add").tolist() == [0, 6, 2, 3, 4, 5]
    assert tenora.einsum(x.view(2, 3), [0, 1], [1]).tolist() == [3, 5, 7]
    with pytest.raises(TypeError):
        tenora.where(x > 3, x)


def test_set_shows_the_memory_of_another_tensor() -> None:
    source = tenora.arange(6.0)
    x = tenora.ones(2)
    assert x.set_(source) is x and x.is_set_to(source)
    x.mul_(2)
    assert source.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert x.set_(source, 1, (2, 2), (2, 1)).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert x.set_(source, 2, (2, 2)).tolist() == [[4.0, 6.0], [8.0, 10.0]]
    assert tuple(x.set_().shape) == (0,)


def test_set_refuses_another_dtype_and_gradients() -> None:
    with pytest.raises(RuntimeError, match="dtypes differ"):
        tenora.ones(2).set_(tenora.ones(2, dtype=tenora.int64))
    with pytest.raises(TypeError, match="expected a Tensor"):
        tenora.ones(2).set_([1.0])  # type: ignore[arg-type]
    y = tenora.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="carries gradients"):
        y.set_(tenora.ones(2))


def test_nothing_waits_to_be_computed() -> None:
    x = tenora.tensor([1 + 2j]).conj()
    assert not x.is_conj() and not x.is_neg()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (lambda s: (s, 0, (99,)), RuntimeError),
        (lambda s: (s, -1, (2,)), RuntimeError),
        (lambda s: (s, 0, (-2,)), RuntimeError),
        (lambda s: (s, 99), RuntimeError),
        (lambda s: (s, 0, (2, 2), (1,)), (ValueError, RuntimeError)),
        (lambda s: ([1.0],), TypeError),
        (lambda s: (tenora.ones(2, dtype=tenora.int64),), RuntimeError),
        (lambda s: (s, "0", (2,)), TypeError),
    ],
)
def test_memory_that_does_not_fit_is_refused(arguments: Callable[[Any], Any], error: Any) -> None:
    x = tenora.ones(2)
    with pytest.raises(error):
        x.set_(*arguments(tenora.arange(4.0).untyped_storage()))
    assert x.tolist() == [1.0, 1.0]


def test_a_storage_counts_bytes() -> None:
    storage = tenora.zeros(3, dtype=tenora.float64).untyped_storage()
    assert storage.nbytes() == storage.size() == len(storage) == 24


def test_a_chain_of_matrices_leaves_no_cycle() -> None:
    """What an op needs in between is freed when it returns, without the collector."""
    matrices = [tenora.ones(2, 3), tenora.ones(3, 4), tenora.ones(4, 2)]
    gc.collect()
    gc.disable()
    try:
        before = tenora.live()["tensors"]
        tenora.linalg.multi_dot(matrices)
        assert tenora.live()["tensors"] == before
    finally:
        gc.enable()
