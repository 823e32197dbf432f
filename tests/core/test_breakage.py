"""Mistakes that once crashed, read foreign memory or computed wrong numbers in silence.

- Cases with a `backend` run on each CPU backend of the repository: the rules must refuse before a kernel runs.
- What reads beyond its operand may go unnoticed in one process, so the checks are for the error, not for a signal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import tenora
from tenora import nn
from tenora.nn import functional
from tenora_ops.formula import ops


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(lambda: functional.nll_loss(tenora.zeros(2, 3), tenora.zeros(2)), id="target of floats"),
        pytest.param(
            lambda: functional.nll_loss(tenora.zeros(2, 3), tenora.zeros(2, dtype=tenora.int32)),
            id="target of int32",
        ),
        pytest.param(
            lambda: functional.cross_entropy(
                tenora.zeros(2, 3), tenora.tensor([0, 1]), weight=tenora.ones(2)
            ),
            id="too few weights",
        ),
        pytest.param(
            lambda: functional.nll_loss(tenora.zeros(2, 3), tenora.tensor([0, 1]), weight=tenora.ones(3, 3)),
            id="weights of rank 2",
        ),
        pytest.param(
            lambda: functional.nll_loss(
                tenora.zeros(2, 3, dtype=tenora.float64), tenora.tensor([0, 1]), weight=tenora.ones(3)
            ),
            id="weights of another dtype",
        ),
        pytest.param(
            lambda: tenora.scatter_add(
                tenora.ones(1, dtype=tenora.float64),
                0,
                tenora.tensor([0]),
                tenora.ones(1, dtype=tenora.uint16),
            ),
            id="scatter_add of another dtype",
        ),
        pytest.param(
            lambda: tenora.ones(1, dtype=tenora.float64).scatter_(0, tenora.tensor([0]), tenora.ones(1)),
            id="scatter of another dtype",
        ),
    ],
)
def test_operands_that_kernels_would_misread(backend: str, mistake: Callable[[], object]) -> None:
    with pytest.raises(RuntimeError, match=r"wrong dtype of (target|weight|src)|weight does not fit"):
        mistake()


@pytest.mark.parametrize("length", [0, 2])
def test_index_select_of_no_dimension(backend: str, length: int) -> None:
    """The result has room for one element."""
    with pytest.raises(IndexError, match="one number"):
        tenora.index_select(tenora.tensor(1.0), 0, tenora.zeros(length, dtype=tenora.int64))


def test_gather_and_scatter_of_another_rank(backend: str) -> None:
    """Kernels walk input, index and src by one rank; a 0-d tensor counts as a vector of one element."""
    table, vector, indices = tenora.ones(2, 3), tenora.ones(3), tenora.zeros(3, dtype=tenora.int64)
    number, index = tenora.tensor(5.0), tenora.tensor(0)
    for mistake in (
        lambda: tenora.gather(table, 0, indices),
        lambda: tenora.gather(vector, 0, tenora.zeros(1, 1, dtype=tenora.int64)),
        lambda: tenora.gather(table, 0, index),
        lambda: tenora.scatter_add(number, 0, indices, number),
        lambda: tenora.scatter_add(table, 0, indices, vector),
        lambda: tenora.scatter(table, 0, index, number),
    ):
        with pytest.raises(RuntimeError, match="same rank"):
            mistake()
    for mistake in (
        lambda: tenora.gather(number, 0, indices + 1),
        lambda: tenora.gather(vector, 0, index + 3),
        lambda: tenora.scatter(number, 0, indices + 1, vector),
        lambda: tenora.scatter_add(vector, 0, index - 1, number),
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            mistake()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "complex128", "bool"])
def test_gather_and_scatter_between_0d_and_1d(backend: str, dtype: str) -> None:
    kind = getattr(tenora, dtype)
    number, vector = tenora.tensor(1, dtype=kind), tenora.tensor([0, 1, 1], dtype=kind)
    indices, index = tenora.zeros(3, dtype=tenora.int64), tenora.tensor(1)
    assert tenora.gather(number, 0, indices).tolist() == number.expand(3).tolist()
    assert tenora.gather(vector, 0, index).tolist() == vector[1].tolist()
    assert tenora.gather(vector[::-1], -1, index).tolist() == vector[1].tolist()
    assert tenora.scatter(number, 0, indices, vector).tolist() == vector[2].tolist()
    assert tenora.scatter(vector, 0, tenora.tensor(0), number).tolist() == tenora.ones(3, dtype=kind).tolist()
    assert (
        tenora.scatter(vector, 0, tenora.tensor([0]), number).tolist() == tenora.ones(3, dtype=kind).tolist()
    )
    if dtype != "bool":
        assert tenora.scatter_add(number, 0, indices, vector).tolist() == (number + vector.sum()).tolist()
        assert tenora.scatter_add(vector, 0, index, number).tolist() == (vector + vector).tolist()[:2] + [1]


def test_gradients_of_gather_and_scatter_between_0d_and_1d(backend: str) -> None:
    number = tenora.tensor(2.0, dtype=tenora.float64, requires_grad=True)
    vector = tenora.tensor([1.0, 2.0, 3.0], dtype=tenora.float64, requires_grad=True)
    tenora.gather(number, 0, tenora.zeros(3, dtype=tenora.int64)).sum().backward()
    assert number.grad.tolist() == 3.0
    tenora.gather(vector, 0, tenora.tensor(2)).backward()
    assert vector.grad.tolist() == [0.0, 0.0, 1.0]
    number.grad = vector.grad = None
    (
        tenora.scatter_add(vector, 0, tenora.tensor(1), number) * tenora.tensor([1.0, 5.0, 7.0])
    ).sum().backward()
    assert number.grad.tolist() == 5.0 and vector.grad.tolist() == [1.0, 5.0, 7.0]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("size", [1, 100_000])
def test_parameter_swapped_under_its_optimizer(backend: str, momentum: float, size: int) -> None:
    parameter = nn.Parameter(tenora.zeros(50))
    optimizer = tenora.optim.SGD([parameter], lr=0.1, momentum=momentum)
    parameter.grad = tenora.ones(50)
    optimizer.step()
    parameter.data = tenora.zeros(size)
    with pytest.raises(RuntimeError):
        optimizer.step()
    assert parameter.abs().sum().item() == 0.0


def test_linear_over_strange_strides(backend: str) -> None:
    """Expanded middle dimensions, weights of rank 1 with any stride, a bias of one number."""
    values = np.arange(1.0, 11.0)
    rows = tenora.tensor(values.reshape(2, 1, 5)).expand(2, 3, 5)
    weight = tenora.tensor(np.arange(20.0).reshape(4, 5))
    expected = rows.numpy() @ weight.numpy().T
    assert np.array_equal(functional.linear(rows, weight).numpy(), expected)
    one = tenora.tensor(7.0, dtype=tenora.float64)
    for bias in (one, one.reshape(1)):
        assert np.array_equal(functional.linear(rows, weight, bias).numpy(), expected + 7.0)
    vector = tenora.tensor(values)
    for vector_weight in (vector, vector[::-1], tenora.tensor(np.repeat(values, 2))[::2], one.expand(10)):
        expected = values @ vector_weight.numpy()
        assert functional.linear(vector, vector_weight).item() == expected
        assert functional.linear(vector[::-1], vector_weight).item() == values[::-1] @ vector_weight.numpy()


@pytest.mark.parametrize("leaf", [True, False])
def test_view_made_without_a_record_is_not_written_in_silence(leaf: bool) -> None:
    x = tenora.tensor([0.0, 1.0, 2.0, 3.0], requires_grad=True)
    base = x if leaf else x * 1
    with tenora.no_grad():
        view = base[1:3]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.mul_(2)
    with tenora.no_grad():
        view.mul_(2)
    assert base.tolist() == [0.0, 2.0, 4.0, 3.0]


def test_printing_what_is_larger_than_memory() -> None:
    assert repr(tenora.zeros(1).expand(2**62)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    half = tenora.zeros(1, dtype=tenora.bfloat16).expand(2**50)
    assert repr(half) == "tensor([0., 0., 0.,  ..., 0., 0., 0.], dtype=tenora.bfloat16)"
    assert repr(tenora.tensor(1.0).expand(2**31, 2**31)).count("...") == 7


def test_use_backend_left_by_who_did_not_enter() -> None:
    choice = tenora.use_backend("reference")
    with pytest.raises(RuntimeError, match="without being entered"):
        choice.__exit__(None, None, None)
    errors: list[BaseException] = []

    def leave() -> None:
        try:
            choice.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(error)

    with choice:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        assert (tenora.ones(2) + 1).tolist() == [2.0, 2.0]
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("op", "mistake"),
    [
        ("getitem", lambda: tenora.ones(3)[tenora.tensor([5])]),
        ("gather", lambda: tenora.gather(tenora.ones(3), 0, tenora.tensor([5]))),
        ("index_select", lambda: tenora.index_select(tenora.ones(3), 0, tenora.tensor([5]))),
        ("embedding", lambda: functional.embedding(tenora.tensor([5]), tenora.ones(2, 3))),
        ("nll_loss", lambda: functional.nll_loss(tenora.zeros(2, 3), tenora.tensor([0, 7]))),
        ("floor_divide", lambda: tenora.tensor([3]) // tenora.tensor([0])),
        ("remainder", lambda: tenora.tensor([3]) % 0),
    ],
)
def test_findings_of_kernels_name_the_op(backend: str, op: str, mistake: Callable[[], object]) -> None:
    """What a kernel finds in the data is told as the rules tell theirs, whatever language it is written in."""
    kind = RuntimeError if op in ("floor_divide", "remainder") else IndexError
    with pytest.raises(
        kind, match=rf"^\[{op}\] (index \d is out of bounds|integer division by zero)"
    ) as caught:
        mistake()
    assert caught.value.op == op  # type: ignore[attr-defined]


def test_empty_operands_between_full_ones(backend: str) -> None:
    """Kernels in Python keep the arrays of their last call; one made for no memory must not be shown any."""
    for op in (tenora.exp, tenora.sin, tenora.neg):
        for x in (tenora.zeros(0), tenora.ones(5)[2:2], tenora.ones(3), tenora.ones(4)):
            assert op(x).shape == x.shape
    for dims in ((3, 0), (0, 3)):
        empty, window = tenora.zeros(dims), tenora.ones(3, 3)[: dims[0], : dims[1]]
        for x in (empty, window, empty, window):
            assert tuple((x + x).sum(0).shape) == (dims[1],)


@pytest.mark.parametrize("op", ["softmax_backward", "log_softmax_backward"])
def test_gradients_along_a_dimension_of_operands_of_two_shapes(backend: str, op: str) -> None:
    """The kernel walks both by one shape."""
    for output in (tenora.ones(0), tenora.ones(1), tenora.ones(5), tenora.ones(4, 1)):
        with pytest.raises(RuntimeError, match=rf"^\[{op}\] operands differ in shape"):
            getattr(ops, op)(tenora.ones(4), output, 0)
