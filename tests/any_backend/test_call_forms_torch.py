"""Forms of calls that programs use now and then, on every backend: PyTorch's result, gradient or class of error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import call_cases
import pytest
import torch
from call_cases import Call

import tenora

pytestmark = pytest.mark.oracle


def matrices(m: Any) -> Any:
    return m.tensor([[[1.0, 2.0], [2.0, 4.5]], [[1.0, 2.0], [2.0, 40.0]]], dtype=m.float64)


def gradient(call: Callable[[Any, Any], Any], *elements: float) -> Call:
    """The gradient of the sum of a result with respect to a tensor of these elements; of one element: 0-d."""

    def of(m: Any) -> Any:
        x = m.tensor(list(elements) if len(elements) > 1 else elements[0]).requires_grad_()
        return m.autograd.grad(call(m, x).sum(), x)[0]

    return of


COMPLEX_NUMBERS: dict[str, Call] = {
    "clamp": lambda m: m.clamp(m.arange(4.0), 1 + 0j, max=2 + 0j),
    "clamp_": lambda m: m.arange(4.0).clamp_(max=2 + 0j),
    "clamp of halves": lambda m: m.clamp(m.arange(4.0).to(m.float16), 2 + 0j),
    "clamp, imaginary": lambda m: m.clamp(m.arange(4.0), 2 + 1j),
    "clamp of complex numbers": lambda m: m.clamp(m.ones(2).to(m.complex64), 2 + 0j),
    "arange": lambda m: m.arange(2 + 0j),
    "arange in steps": lambda m: m.arange(1 + 0j, 6 + 0j, 2 + 0j),
    "arange of a tensor": lambda m: m.arange(m.tensor(3 + 0j), dtype=m.int64),
    "arange, imaginary": lambda m: m.arange(2 + 1j),
    "constant_pad_nd": lambda m: m.constant_pad_nd(m.arange(3.0), (1, 2), 2 + 0j),
    "constant_pad_nd of whole numbers": lambda m: m.constant_pad_nd(m.arange(3), (1, 2), 2.7 + 0j),
    "constant_pad_nd of bools": lambda m: m.constant_pad_nd(m.arange(3) > 1, (1, 2), 2 + 1j),
    "constant_pad_nd of complex numbers": lambda m: m.constant_pad_nd(
        m.ones(2, 2) * 1j, (1, -1, 0, 1), 2 - 3j
    ),
    "constant_pad_nd, imaginary": lambda m: m.constant_pad_nd(m.arange(3.0), (1, 2), 2 + 1j),
    "constant_pad_nd that adds nothing": lambda m: m.constant_pad_nd(m.arange(3.0), (-1, 0), 2 + 1j),
    "pad": lambda m: m.nn.functional.pad(m.arange(3.0), (1, 2), value=2 + 0j),
}


def pooled(call: str, stride: Any, dims: int, m: Any) -> Any:
    x = m.arange(float(6**dims)).reshape(1, 1, *[6] * dims) % 7
    return eval(call, {"f": m.nn.functional, "nn": m.nn, "m": m, "x": x, "s": stride})


POOLS: dict[str, Call] = {
    f"{call.replace('N', str(dims))}, {stride}": partial(pooled, call.replace("N", str(dims)), stride, dims)
    for call in (
        "f.max_poolNd(x, 2, s)",
        "f.max_poolNd(x, 2, s, return_indices=True)",
        "m.max_poolNd(x, 2, s)",
        "f.avg_poolNd(x, 2, s)",
        "f.avg_poolNd(x.to(m.int64), 2, s)",
        "f.lp_poolNd(x, 2.0, 2, s)",
        "nn.MaxPoolNd(2, s)(x)",
        "nn.AvgPoolNd(2, s)(x)",
        "nn.LPPoolNd(2.0, 2, s)(x)",
        "f.max_poolNd(x, 2, 2, s)",
        "f.avg_poolNd(x, s)",
    )
    for dims in (1, 2, 3)
    for stride in ((), [])
}
POOLS["whole numbers"] = partial(pooled, "f.max_pool2d(x.to(m.int64), 2, s)", (), 2)

TOLERANCES: dict[str, Callable[[Any], Any]] = {
    "a number": lambda m: 0.1,
    "0-d": lambda m: m.tensor(0.1),
    "one for each": lambda m: m.tensor([0.1, 0.0], dtype=m.float64),
    "a column": lambda m: m.tensor([[0.1], [0.0], [0.2]]),
    "whole": lambda m: m.tensor(1),
    "of another batch": lambda m: m.tensor([0.1, 0.2, 0.3]),
    "complex": lambda m: m.tensor(1j),
}


def judged(name: str, option: str, tolerance: str, hermitian: bool, m: Any) -> Any:
    return getattr(m.linalg, name)(matrices(m), **{option: TOLERANCES[tolerance](m)}, hermitian=hermitian)


def lu_into(m: Any, out: Any, **options: bool) -> Any:
    result = m.lu(m.tensor([[1.0, 2.0], [4.0, 3.0]]), out=out, **options)
    assert result is out
    return tuple(result)


#: Name -> the factors of matrices, with a look at what went wrong.
CHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky_ex": lambda m, a: m.linalg.cholesky_ex(a, check_errors=True),
    "cholesky_ex, upper": lambda m, a: m.linalg.cholesky_ex(a, upper=True, check_errors=True),
    "cholesky_ex, unchecked": lambda m, a: m.linalg.cholesky_ex(a[..., :1, :1], check_errors=False),
    "lu_factor_ex": lambda m, a: m.linalg.lu_factor_ex(a, check_errors=True),
    "lu_factor_ex, unchecked": lambda m, a: m.linalg.lu_factor_ex(a, check_errors=False),
    "lu_factor": lambda m, a: m.linalg.lu_factor(a),
    "inv_ex": lambda m, a: m.linalg.inv_ex(a, check_errors=True),
    "solve_ex": lambda m, a: m.linalg.solve_ex(a, m.ones_like(a), check_errors=True),
}


def factors(name: str, what: str, m: Any) -> Any:
    singular = m.tensor([[1.0, 1.0], [1.0, 1.0]])
    regular = m.tensor([[2.0, 1.0], [1.0, 2.0]])
    given = {
        "one": singular,
        "a stack": m.stack([regular, singular, singular]),
        "what is regular": regular,
        "nothing": m.zeros(0, 2, 2),
    }[what]
    return tuple(CHECKED[name](m, given))


TOLERATED: dict[str, Callable[[Any, Any], Any]] = {
    "pinverse": lambda m, v: m.pinverse(matrices(m), v),
    "Tensor.pinverse": lambda m, v: matrices(m).pinverse(rcond=v),
    "pinv, rtol": lambda m, v: m.linalg.pinv(matrices(m), rtol=v),
    "matrix_rank, tol": lambda m, v: m.linalg.matrix_rank(matrices(m), v),
    "matrix_rank, atol": lambda m, v: m.linalg.matrix_rank(matrices(m), atol=v),
    "matrix_rank, both": lambda m, v: m.linalg.matrix_rank(matrices(m), atol=m.tensor(0.1), rtol=v),
}


def tolerated(name: str, how: str, m: Any) -> Any:
    tolerance = {
        "a history": lambda: m.tensor(0.5, requires_grad=True),
        "a history of one": lambda: m.tensor([0.5], requires_grad=True),
        "a complex number": lambda: 0.5 + 0j,
        "text": lambda: "0.5",
        "True": lambda: True,
        "a complex tensor": lambda: m.tensor(0.5 + 0j),
    }[how]()
    return TOLERATED[name](m, tolerance)


LINALG: dict[str, Call] = {
    **{
        f"{name}, {option} {tolerance}, {hermitian}": partial(judged, name, option, tolerance, hermitian)
        for name, options in (("pinv", ("atol", "rtol", "rcond")), ("matrix_rank", ("atol", "rtol", "tol")))
        for option in options
        for tolerance in TOLERANCES
        for hermitian in (False, True)
    },
    "pinv of both": lambda m: m.linalg.pinv(matrices(m), atol=m.tensor(0.1), rtol=0.01),
    "pinv by position": lambda m: m.linalg.pinv(matrices(m), m.tensor([0.1, 0.2]), True),
    "pinv of nothing": lambda m: m.linalg.pinv(m.zeros(0, 2, 2), atol=m.tensor([0.1, 0.2])),
    "pinv of what has a gradient": lambda m: m.linalg.pinv(matrices(m), m.tensor([0.1], requires_grad=True)),
    "pinv, gradient": gradient(
        lambda m, x: m.linalg.pinv(x.reshape(2, 2), atol=m.tensor([[0.5], [0.0]])), 2.0, 0.25, 0.5, 1.0
    ),
    "matrix_rank by position": lambda m: m.linalg.matrix_rank(matrices(m), m.tensor([0.1, 0.2]), True),
    "matrix_rank of nothing": lambda m: m.linalg.matrix_rank(
        m.zeros(2, 2, 0), atol=m.tensor([0.1, 0.2, 0.3])
    ),
    "matrix_rank, out": lambda m: m.linalg.matrix_rank(
        m.ones(2, 2), atol=m.tensor(0.1), out=m.zeros(()).to(m.int64)
    ),
    "pinverse": lambda m: m.pinverse(matrices(m), m.tensor(0.1)),
    "pinverse of a vector of tolerances": lambda m: m.pinverse(matrices(m), m.tensor([0.1])),
    "lu with infos": lambda m: m.lu(m.stack([m.ones(2, 2), m.eye(2)]), get_infos=True),
    "lu without infos": lambda m: m.ones(2, 2).lu(),
    "lu by position": lambda m: m.eye(3).lu(True, True),
    "lu of a vector": lambda m: m.lu(m.ones(2), get_infos=True),
    "lu, out": lambda m: lu_into(m, (m.zeros(2, 2), m.zeros(2).to(m.int32))),
    "lu, out in a list, of other sizes and dtypes": lambda m: lu_into(m, [m.zeros(0).double(), m.zeros(3)]),
    "lu, out with infos": lambda m: lu_into(
        m, (m.zeros(2, 2), m.zeros(2).to(m.int32), m.zeros(()).to(m.int32)), get_infos=True
    ),
    "lu, out, of another length": lambda m: lu_into(m, (m.zeros(2, 2), m.zeros(2)), get_infos=True),
    "lu, out, one tensor": lambda m: lu_into(m, m.zeros(2, 2)),
    **{
        f"{name} of {what}": partial(factors, name, what)
        for name in CHECKED
        for what in ("one", "a stack", "what is regular", "nothing")
    },
    **{
        f"{name}, {how}": partial(tolerated, name, how)
        for name in TOLERATED
        for how in ("a history", "a history of one", "a complex number", "text", "True", "a complex tensor")
    },
    "linalg.vander of a number": lambda m: m.linalg.vander(m.tensor(2.0), N=3),
    "linalg.vander of a number, no N": lambda m: m.linalg.vander(m.tensor(2.0)),
    "linalg.vander of one, no N": lambda m: m.linalg.vander(m.tensor([2.0])),
    "linalg.vander of nothing": lambda m: m.linalg.vander(m.zeros(2, 0)),
    "linalg.vander of bools": lambda m: m.linalg.vander(m.tensor([True, False])),
    "vander of a number": lambda m: m.vander(m.tensor(2.0), 3),
    "vander of a matrix": lambda m: m.vander(m.ones(2, 2), 3),
    "vander of bools": lambda m: m.vander(m.tensor([True, False]), 3),
    "vander, below 0": lambda m: m.vander(m.ones(2), -1),
}

POINTWISE: dict[str, Call] = {
    **{
        f"float_power_ of {dtype}": lambda m, dtype=dtype: m.ones(2).to(getattr(m, dtype)).float_power_(2)
        for dtype in ("float16", "float32", "float64", "complex64", "complex128", "int64")
    },
    "float_power_ of recorded": lambda m: (m.ones(2, requires_grad=True) * 1).float_power_(2),
    "float_power, out": lambda m: m.float_power(m.ones(2), 2, out=m.zeros(2)),
    "float_power, out in double": lambda m: m.float_power(m.ones(2), 2, out=m.zeros(2, dtype=m.float64)),
    **{
        f"{name} of {size}, {option}={number}": lambda m, n=name, s=size, o=option, v=number: (
            m.tensor(getattr(m, n)(m.ones(s), m.ones(s), **{o: v}))
            if n == "allclose"
            else m.isclose(m.ones(s), m.ones(s), **{o: v})
        )
        for name in ("isclose", "allclose")
        for size in (0, 2)
        for option in ("rtol", "atol")
        for number in (-1.0, -1, float("nan"), -0.0, 0, float("inf"))
    },
}


def loss(name: str, operands: tuple[Any, ...], options: dict[str, Any], m: Any) -> Any:
    return getattr(m.nn.functional, name)(*map(m.tensor, operands), **options)


NUMBERS: list[tuple[str, tuple[Any, ...]]] = [
    *[
        (name, (x, y))
        for name in ("multi_margin_loss", "multilabel_margin_loss")
        for x in (2.0, [2.0], [2.0, 0.5], [[2.0, 0.5]], [[2.0, 0.5], [1.0, 3.0]])
        for y in (0, [0], [0, 1], [[0]], [[0, -1], [1, 0]])
    ],
    *[("nll_loss", ([2.0, 0.5], y)) for y in (0, [0], [0, 1])],
    *[("cross_entropy", ([2.0, 0.5], y)) for y in (0, [0])],
    *[("triplet_margin_loss", (2.0, 1.5, x)) for x in (0.5, 1.75, [0.5])],
    ("triplet_margin_with_distance_loss", (2.0, 1.5, 1.75)),
    ("margin_ranking_loss", (2.0, 1.5, 1)),
    ("margin_ranking_loss", (2.0, [1.5], 1)),
    ("hinge_embedding_loss", (2.0, -1)),
    ("cosine_embedding_loss", (2.0, 1.5, 1)),
    ("cosine_embedding_loss", ([2.0, 1.0], [1.5, -1.0], 1)),
    ("cosine_embedding_loss", ([2.0, 1.0], [[1.5, -1.0]], 1)),
]
LOSSES: dict[str, Call] = {
    **{
        f"{name}{operands}, {reduction}": partial(loss, name, operands, {"reduction": reduction})
        for name, operands in NUMBERS
        for reduction in ("none", "mean", "sum")
    },
    "pairwise_distance": partial(loss, "pairwise_distance", (2.0, 0.5), {}),
    "pairwise_distance, keepdim": partial(loss, "pairwise_distance", (2.0, 0.5), {"p": 1.0, "keepdim": True}),
    "a number as weight": lambda m: m.nn.functional.multi_margin_loss(
        m.ones(2), m.tensor(0), weight=m.tensor(2.0)
    ),
    "weights of one row": lambda m: m.nn.functional.multi_margin_loss(
        m.tensor([0.5, 0.25]), m.tensor([1]), weight=m.tensor([2.0, 3.0])
    ),
    "multi_margin_loss, gradient on the margin": gradient(
        lambda m, x: m.nn.functional.multi_margin_loss(x, m.tensor(0)), 2.0, 1.0, 0.5
    ),
    "multilabel_margin_loss, gradient on the margin": gradient(
        lambda m, x: m.nn.functional.multilabel_margin_loss(x, m.tensor([0, -1, -1])), 2.0, 1.0, 1.5
    ),
    "multi_margin_loss, gradient of a number": gradient(
        lambda m, x: m.nn.functional.multi_margin_loss(x, m.tensor(0)), 2.0
    ),
    "triplet_margin_loss, gradient of a number": gradient(
        lambda m, x: m.nn.functional.triplet_margin_loss(x, m.tensor(1.0), m.tensor(2.5)), 2.0
    ),
}

HISTOGRAMS: dict[str, Call] = {
    "histogram of a float of bins": lambda m: m.histogram(m.ones(3), 3.0),
    "histogramdd of a float of bins": lambda m: m.histogramdd(m.ones(3, 2), [2.0, 3]),
    "no points": lambda m: flat(m.histogramdd(m.zeros(0, 2), [3, 2])),
    "no points, density": lambda m: flat(m.histogramdd(m.zeros(0, 3, 2), 2, density=True)),
    "no coordinates": lambda m: flat(m.histogramdd(m.zeros(3, 0), 2)),
    "no coordinates, density": lambda m: flat(m.histogramdd(m.zeros(3, 0), 2, density=True)),
    "equal points": lambda m: flat(m.histogramdd(m.full((3, 2), 7.0), 2)),
    "equal bounds": lambda m: flat(m.histogramdd(m.ones(3, 2), 2, range=[1.0, 1.0, 0.0, 2.0])),
    "no bins": lambda m: flat(m.histogramdd(m.ones(3, 2), [2, 0])),
    "edges in another dtype": lambda m: flat(
        m.histogramdd(m.ones(3, 2), [m.tensor([0.0, 1], dtype=m.float64), m.tensor([0.0, 1])])
    ),
    **{
        f"weight {shape} for {points}": lambda m, shape=shape, points=points: flat(
            m.histogramdd(m.ones(points), 2, weight=m.ones(shape))
        )
        for shape in ((0,), (3,), (3, 1), (2,))
        for points in ((3, 2), (0, 2))
    },
    "weight in double": lambda m: flat(m.histogramdd(m.ones(3, 2), 2, weight=m.ones(3, dtype=m.float64))),
    "of one dim, nothing": lambda m: flat(m.histogram(m.zeros(0, 2), 3)),
    "of one dim, too many weights": lambda m: flat(m.histogram(m.zeros(0, 2), 3, weight=m.ones(2))),
    "of one dim, weights of another shape": lambda m: flat(m.histogram(m.ones(2, 3), 3, weight=m.ones(3, 2))),
    "of one dim, weights in double": lambda m: flat(
        m.histogram(m.ones(3), 3, weight=m.ones(3, dtype=m.float64))
    ),
    "of one dim, edges in double": lambda m: flat(
        m.histogram(m.ones(3), m.tensor([0.0, 2.0], dtype=m.float64))
    ),
}


def flat(found: Any) -> tuple[Any, ...]:
    counts, edges = found
    return (counts, *(edges if isinstance(edges, tuple) else (edges,)))


def table(m: Any) -> Any:
    return m.arange(8.0).reshape(4, 2)


BAGS: dict[str, Call] = {
    "with offsets": lambda m: m.nn.functional.embedding_bag(table(m), m.tensor([0, 1, 3]), m.tensor([0, 2])),
    "by name": lambda m: m.nn.functional.embedding_bag(
        weight=m.tensor([[0, 1], [2, 3]]), input=table(m), mode="max"
    ),
    "weighed": lambda m: m.nn.functional.embedding_bag(
        table(m),
        m.tensor([0, 1, 3]),
        m.tensor([0, 2]),
        mode="sum",
        per_sample_weights=m.tensor([1.0, 2.0, 3.0]),
    ),
    "bounded": lambda m: m.nn.functional.embedding_bag(table(m), m.tensor([[0, 1], [2, 3]]), max_norm=1.0),
    "indices of int32": lambda m: m.nn.functional.embedding_bag(table(m), m.tensor([0, 1]).to(m.int32)),
}
CALLS = {
    f"{family}: {name}": call
    for family, calls in (
        ("complex numbers", COMPLEX_NUMBERS),
        ("pools", POOLS),
        ("linalg", LINALG),
        ("pointwise", POINTWISE),
        ("losses", LOSSES),
        ("histograms", HISTOGRAMS),
        ("bags", BAGS),
    )
    for name, call in calls.items()
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(backend: str, name: str) -> None:
    call_cases.agree(CALLS[name], atol=1e-5)


def test_complex_bounds_have_the_gradient_of_real_ones(backend: str) -> None:
    found = []
    for low, high in (
        (1.0, 2.0),
        (1 + 0j, 2 + 0j),
    ):  # PyTorch compares with the complex ones, and has no kernel for it
        x = tenora.tensor([0.5, 1.5, 2.5], requires_grad=True)
        x.clamp(low, high).sum().backward()
        assert x.grad is not None
        found.append(x.grad.tolist())
    assert found[0] == found[1] == [0.0, 1.0, 0.0]


def test_old_order_of_embedding_bag_warns(backend: str) -> None:
    for m in (torch, tenora):
        with pytest.warns(UserWarning, match="embedding_bag"):
            BAGS["with offsets"](m)
