"""Edges of pooling, padding, activations, losses and pointwise ops: answered or refused as PyTorch does.

- `answer` is what a call says: results (and gradients, where asked) as arrays, or that it was refused, and how.
- Where tenora answers although PyTorch cannot, or refuses what PyTorch gets wrong, a test of its own says so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle
inf, nan = math.inf, math.nan
Call = Callable[[Any, Any], Any]


def answer(lib: Any, call: Call) -> Any:
    """The results as arrays, or the built-in class of the exception."""
    try:
        found = call(lib, lib.nn.functional)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        return next(
            c for c in (NotImplementedError, RuntimeError, TypeError, ValueError) if isinstance(error, c)
        )
    parts = found if isinstance(found, tuple | list) else (found,)
    return [t.detach().resolve_conj().numpy() for t in parts]


def agree(call: Call, units: float = 8.0, least: float = 0.0) -> None:
    """Both refuse, or both answer alike: `units` of the dtype's epsilon of the largest finite element (or `least`)."""
    ours, theirs = answer(tenora, call), answer(torch, call)
    if isinstance(theirs, type) or isinstance(ours, type):
        assert isinstance(ours, type) and isinstance(theirs, type) and issubclass(ours, theirs), (
            ours,
            theirs,
        )
        return
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
        if a.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b)
            continue
        bound = units * np.finfo(a.dtype).eps
        size = np.abs(b[np.isfinite(b)]).max(initial=least)
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * size)


def with_gradients(call: Callable[..., Any], *values: Any, dtype: str = "float64") -> Call:
    """The results of `call(lib, *leaves)` and the gradients of a weighted sum of them."""

    def run(lib: Any, _: Any) -> Any:
        leaves = [lib.tensor(v, dtype=getattr(lib, dtype), requires_grad=True) for v in values]
        result = call(lib, *leaves)
        rng = np.random.default_rng(3)
        real = lib.from_numpy(np.asarray(rng.uniform(0.5, 1.5, tuple(result.shape))))
        if result.is_complex():
            other = lib.from_numpy(np.asarray(rng.uniform(0.5, 1.5, tuple(result.shape))))
            total = (result.real * real).sum() + (result.imag * other).sum()
        else:
            total = (result * real).sum()
        total.backward()
        return (result, *(leaf.grad for leaf in leaves))

    return run


# ---- pooling ---------------------------------------------------------------------------------------------
SHAPES = {1: (2, 3, 4), 2: (2, 3, 4, 4), 3: (2, 3, 4, 4, 4)}


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_pools_without_windows(kind: str, n: int, backend: str) -> None:
    name = f"adaptive_{kind}_pool{n}d"
    for size in (0, (0,) * n, (0, *[2] * (n - 1)), (*[2] * (n - 1), 0), -1, (2, *[-1] * (n - 1))):
        agree(lambda lib, F, size=size: getattr(F, name)(lib.ones(SHAPES[n]), size))
    agree(lambda lib, F: getattr(F, name)(lib.ones(2, 3, *[0] * n), 0))
    if kind == "max":
        agree(lambda lib, F: getattr(F, name)(lib.ones(SHAPES[n]), 0, return_indices=True))
    x = tenora.ones(SHAPES[n], requires_grad=True)  # PyTorch refuses this gradient
    getattr(tenora.nn.functional, name)(x, 0).sum().backward()
    assert x.grad.shape == x.shape and not x.grad.any()


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 1.5, 0.5, -1.0])
@pytest.mark.parametrize(
    "row", [[nan, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 2.0], [-1.0, 1.0, -2.0, 2.0], [-0.0, 0.0, -3.0, 1.0]]
)
def test_lp_pool_at_zero_and_nan(p: float, row: list[float], backend: str) -> None:
    agree(with_gradients(lambda lib, x: lib.nn.functional.lp_pool1d(x, p, 2), [[row]]))
    agree(with_gradients(lambda lib, x: lib.nn.functional.lp_pool2d(x, p, 2), [[[row, row]]]))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_lp_pool_has_no_root_of_order_zero(n: int, backend: str) -> None:
    for lib in (tenora, torch):
        for p in (0, 0.0, -0.0):
            with pytest.raises(ZeroDivisionError):
                getattr(lib.nn.functional, f"lp_pool{n}d")(lib.ones(SHAPES[n]), p, 2)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool", "float32"])
@pytest.mark.parametrize("mode", ["linear", "bilinear", "bicubic", "trilinear"])
def test_interpolate_of_whole_numbers(dtype: str, mode: str, backend: str) -> None:
    rank = {"linear": 3, "trilinear": 5}.get(mode, 4)
    agree(
        lambda lib, F: F.interpolate(lib.ones([2] * rank).to(getattr(lib, dtype)), scale_factor=2, mode=mode)
    )


# ---- layers ----------------------------------------------------------------------------------------------
BIASES = [(2, 5), (1, 5), (5,), (1,), (), (4, 2, 5), (3, 5), (4,), (2, 4), (1, 4)]


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("rows", [(2,), (), (4, 2)])
def test_linear_with_a_bias_of_any_rank(bias: tuple[int, ...], rows: tuple[int, ...], backend: str) -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=s).tolist() for s in ((*rows, 3), (5, 3), bias))
    agree(with_gradients(lambda lib, *given: lib.nn.functional.linear(*given), x, w, b))


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3), (3,), (1,), (), (0, 3)])
@pytest.mark.parametrize("weight", [(3,), (1,), (), (2,), (4,), (0,), (1, 3), (3, 1), (1, 1)])
def test_prelu_weights(shape: tuple[int, ...], weight: tuple[int, ...], backend: str) -> None:
    x, w = np.full(shape, -2.0).tolist(), np.full(weight, 0.5).tolist()
    agree(
        with_gradients(lambda lib, x, w: lib.nn.functional.prelu(x.reshape(shape), w.reshape(weight)), x, w)
    )


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (1, 2, 1, 2), (1, 2, 1, 1, 2)])
def test_softmax_chooses_a_dim_and_warns(name: str, shape: tuple[int, ...], backend: str) -> None:
    layer = {"softmax": "Softmax", "softmin": "Softmin", "log_softmax": "LogSoftmax"}[name]
    values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda lib, F: getattr(F, name)(lib.from_numpy(values)))
        agree(lambda lib, F: getattr(F, name)(lib.from_numpy(values), dtype=lib.float64))
        agree(lambda lib, F: getattr(lib.nn, layer)()(lib.from_numpy(values)))
    with pytest.warns(UserWarning, match=rf"^\[{name}\] no dim: .* Pass dim\.$") as told:
        getattr(tenora.nn.functional, name)(tenora.from_numpy(values))
    assert told[0].filename == __file__
    with pytest.raises(TypeError):
        getattr(tenora, "softmax" if name == "softmin" else name)(tenora.from_numpy(values))


# ---- padding ---------------------------------------------------------------------------------------------
DTYPES = ("uint8", "int8", "int16", "int32", "int64", "bool", "float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [-1, -1.0, 255, 300, 1.5, True, 70000, 1e10, 1e39, inf, -inf, nan, None])
def test_pad_values(dtype: str, value: float | None, backend: str) -> None:
    def padded(lib: Any, F: Any) -> Any:
        result = F.pad(lib.ones(2, dtype=getattr(lib, dtype)), (1, 1), value=value)
        return result.to(lib.float32) if dtype == "bfloat16" else result

    agree(padded)
    agree(lambda lib, F: F.pad(lib.ones(3, dtype=lib.uint8), (-1, 0), value=value))  # nothing is written


# ---- losses ----------------------------------------------------------------------------------------------
LOSSES = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "cross_entropy", "nll_loss",
    "binary_cross_entropy_with_logits", "kl_div", "soft_margin_loss", "poisson_nll_loss", "multi_margin_loss",
)  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("wrong", [[1], 1, 1.0, "a", None])
def test_losses_name_what_is_no_tensor(name: str, wrong: Any, backend: str) -> None:
    loss = getattr(tenora.nn.functional, name)
    told = type(wrong).__name__
    with pytest.raises(TypeError, match=rf"^\[{name}\] input is wrong: got {told}, expected Tensor"):
        loss(wrong, wrong)
    with pytest.raises(TypeError, match=rf"^\[{name}\] target is wrong: got {told}, expected Tensor"):
        loss(tenora.ones(1, 1), wrong)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("log_probs", 1), ("targets", [[1, 2]]), ("targets", "a"), ("input_lengths", 4), ("target_lengths", 2),
        ("target_lengths", None), ("input_lengths", [4.0]), ("target_lengths", (2.0,)), ("blank", 0.0),
        ("zero_infinity", 1),
    ],
)  # fmt: skip
def test_ctc_loss_names_what_is_wrong(argument: str, value: Any, backend: str) -> None:
    def call(lib: Any, F: Any) -> Any:
        given = {
            "log_probs": lib.zeros(4, 1, 3), "targets": lib.tensor([[1, 2]]),
            "input_lengths": lib.tensor([4]), "target_lengths": lib.tensor([2]), argument: value,
        }  # fmt: skip
        return F.ctc_loss(**given)

    with pytest.raises(TypeError):
        call(torch, torch.nn.functional)
    with pytest.raises(TypeError, match=rf"^\[ctc_loss\] {argument} is wrong: got .*, expected "):
        call(tenora, tenora.nn.functional)


# ---- pointwise -------------------------------------------------------------------------------------------
ENDS = [(1.0, inf), (inf, 1.0), (-inf, inf), (inf, inf), (1e30, 1.1), (0.1, 0.3), (nan, 1.0), (3e38, -3e38)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("weight", [0, 1, 0.0, 1.0, 0.5, 0.3, 0.7, 0.49999, -1.0, 2.0])
def test_lerp_from_the_nearer_end(dtype: str, weight: float, backend: str) -> None:
    for start, end in ENDS:
        if dtype == "complex64" and not (math.isfinite(start) and math.isfinite(end)):
            continue  # the parts of infinite complex products are left open

        def ends(lib: Any, start: float = start, end: float = end) -> Any:
            return [lib.tensor([v], dtype=getattr(lib, dtype)) for v in (start, end, weight)]

        size = max((abs(v) for v in (start, end) if math.isfinite(v)), default=0.0)  # what cancels
        agree(lambda lib, F, ends=ends: lib.lerp(*ends(lib)[:2], weight), least=size)
        agree(lambda lib, F, ends=ends: lib.lerp(*ends(lib)), least=size)
    exact = tenora.lerp(tenora.tensor([1e30]), tenora.tensor([1.1]), 1.0)
    assert exact.tolist() == tenora.tensor([1.1]).tolist()


@pytest.mark.parametrize("weight", [0.0, 1.0, 0.5, 0.3, 0.8])
def test_gradients_of_lerp(weight: float, backend: str) -> None:
    agree(with_gradients(lambda lib, a, b, w: lib.lerp(a, b, w), [1.0, 2.0], [3.0, -1.0], [weight]))
    agree(with_gradients(lambda lib, a, b: lib.lerp(a, b, weight), [1.0, 2.0], [3.0, -1.0]))


@pytest.mark.parametrize("dtypes", ["iii", "fii", "fif", "ffi", "iff", "iif", "bbb", "fbb", "fbf"])
def test_addcdiv_of_whole_numbers(dtypes: str, backend: str) -> None:
    def operands(lib: Any) -> Any:
        kinds = {"i": lib.int64, "f": lib.float32, "b": lib.bool}
        return [lib.ones(2, dtype=kinds[d]) for d in dtypes]

    agree(lambda lib, F: lib.addcdiv(*operands(lib), value=2))
    agree(lambda lib, F: operands(lib)[0].addcdiv_(*operands(lib)[1:]))
    if "b" not in dtypes:
        agree(lambda lib, F: lib.addcmul(*operands(lib), value=2))


def test_true_divide_takes_no_rounding_mode(backend: str) -> None:
    for name in ("true_divide", "divide", "div"):
        for options in ({}, {"rounding_mode": None}, {"rounding_mode": "floor"}, {"rounding_mode": "trunc"}):

            def pair(lib: Any) -> Any:
                return lib.tensor([7.0, -7.0]), lib.tensor([2.0])

            agree(lambda lib, F, n=name, o=options: getattr(lib, n)(*pair(lib), **o))
            agree(lambda lib, F, n=name, o=options: getattr(pair(lib)[0], n)(pair(lib)[1], **o))
            agree(lambda lib, F, n=name, o=options: getattr(pair(lib)[0], f"{n}_")(pair(lib)[1], **o))
    agree(lambda lib, F: lib.true_divide(lib.tensor([1, 2]), 2))
    agree(with_gradients(lambda lib, a, b: lib.true_divide(a, b), [1.0, 2.0], [3.0, -4.0]))


# ---- scans, statistics, segments -------------------------------------------------------------------------
COMPLEX_ROWS = [
    [1 + 2j, -3 + 0.5j, 0.25 - 1j, 2j],
    [0j, 3j, 3j, 3j, -3j, 1 + 3j],
    [800 + 1j, 801 - 2j, -900j],
    [-800 + 1j, -801 + 2j],
    [1 + 20j, 1 + 4j, -2 - 30j],
]


@pytest.mark.parametrize("row", COMPLEX_ROWS)
def test_logcumsumexp_of_complex_numbers(row: list[complex], backend: str) -> None:
    units = 64 + max(map(abs, row))  # exp multiplies the rounding of its argument
    agree(with_gradients(lambda lib, x: lib.logcumsumexp(x, 0), row, dtype="complex128"), units)
    agree(with_gradients(lambda lib, x: lib.logcumsumexp(x, 1), [row, row[::-1]], dtype="complex128"), units)


@pytest.mark.parametrize(
    "row",
    [
        [complex(-inf, 0), 1 + 1j], [complex(-inf, 2), 1 + 1j], [complex(-inf, 0), complex(-inf, 1)],
        [complex(inf, 0), 1 + 1j], [complex(inf, 1)],
    ],
)  # fmt: skip
def test_logcumsumexp_of_infinite_complex_numbers(row: list[complex], backend: str) -> None:
    for dtype in ("complex64", "complex128"):
        agree(lambda lib, F, dtype=dtype: lib.logcumsumexp(lib.tensor(row, dtype=getattr(lib, dtype)), 0))
    agree(lambda lib, F: lib.logcumsumexp(lib.zeros(2, 0, dtype=lib.complex64), 1))
    agree(lambda lib, F: lib.logcumsumexp(lib.tensor(1 + 2j), 0))


MATRIX = [[1 + 2j, 0.5j, 2 - 1j, 1], [0.3, 1j, -1 + 0.5j, 2], [1.5j, 2, 1 - 1j, 0]]


def test_complex_covariances(backend: str) -> None:
    counts, shares = [1, 2, 3, 1], [0.5, 1.0, 1.5, 0.7]

    def weights(lib: Any) -> dict[str, Any]:
        return {"fweights": lib.tensor(counts), "aweights": lib.tensor(shares, dtype=lib.float64)}

    for options in ((), ("fweights",), ("aweights",), ("fweights", "aweights")):
        agree(
            with_gradients(
                lambda lib, x, options=options: lib.cov(x, **{k: weights(lib)[k] for k in options}),
                MATRIX,
                dtype="complex128",
            ),
            units=32,
        )
    for given in (MATRIX, MATRIX[0]):
        agree(with_gradients(lambda lib, x: lib.cov(x, correction=0), given, dtype="complex128"), units=32)
        agree(with_gradients(lambda lib, x: lib.corrcoef(x), given, dtype="complex128"), units=32)


@pytest.mark.parametrize("initial", [None, 0.0, 1.0, 2.0, -5.0, 5.0, inf, -inf, nan])
@pytest.mark.parametrize("reduce", ["max", "min", "sum", "mean", "prod"])
def test_ties_of_segments_with_an_initial_value(reduce: str, initial: float | None, backend: str) -> None:
    for data in ([1.0, 2.0, 2.0, 0.0, 1.0], [2.0, 2.0, 2.0, 1.0, 1.0]):
        agree(
            with_gradients(
                lambda lib, x: lib.segment_reduce(x, reduce, lengths=lib.tensor([3, 0, 2]), initial=initial),
                data,
            )
        )


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name: str, backend: str) -> None:
    for given in ((0,), (1,), (4, 0.5), (5, -1.0), (2.5,), ("a",), (4, "x"), (0, 2.0), (-1,), (-2,), (-5,)):
        agree(lambda lib, F, given=given: getattr(lib.fft, name)(*given))
        agree(lambda lib, F, given=given: lib.signbit(getattr(lib.fft, name)(*given)))
    with pytest.raises(RuntimeError, match=rf"^\[(fft\.)?{name}\] n: got -5"):
        getattr(tenora.fft, name)(-5)


# ---- NaN, and numbers without order --------------------------------------------------------------------
AT_NAN = {
    "relu": lambda F, x: F.relu(x),
    "leaky_relu": lambda F, x: F.leaky_relu(x),
    "threshold": lambda F, x: F.threshold(x, 0.5, 2.0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", AT_NAN)
def test_gradients_of_pieces_at_nan(name: str, dtype: str, backend: str) -> None:
    """Of those for which PyTorch's vector code answers as its code for single elements does."""
    row = [nan, -1.0, 0.0, 2.0, nan, 7.0, -inf, inf, -0.0, nan] * 4
    agree(with_gradients(lambda lib, x: AT_NAN[name](lib.nn.functional, x), row, dtype=dtype))


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_gradients_of_extremes_at_nan(name: str, backend: str) -> None:
    a, b = [nan, 1.0, nan, 1.0, 2.0, 3.0, inf], [1.0, nan, nan, 1.0, 3.0, 2.0, inf]
    agree(with_gradients(lambda lib, x, y: getattr(lib, name)(x, y), a, b))


ORDERED: dict[str, Call] = {
    **{
        name: lambda lib, F, name=name: getattr(lib, name)(lib.ones(2) * 1j, lib.ones(2))
        for name in ("gt", "ge", "lt", "le", "maximum", "fmin", "fmod", "hypot", "heaviside")
    },
    **{
        name: lambda lib, F, name=name: getattr(lib, name)(lib.ones(2) * 1j)
        for name in ("floor", "ceil", "round", "sign", "relu", "signbit", "digamma", "bitwise_not")
    },
    "clamp": lambda lib, F: lib.clamp(lib.ones(2) * 1j, 0, 1),
    "gelu": lambda lib, F: F.gelu(lib.ones(2) * 1j),
}


@pytest.mark.parametrize("name", ORDERED)
def test_complex_numbers_have_no_order(name: str, backend: str) -> None:
    assert issubclass(answer(tenora, ORDERED[name]), answer(torch, ORDERED[name]))


def test_where_takes_a_condition_of_bytes(backend: str) -> None:
    """PyTorch does, with a warning."""
    chosen = with_gradients(
        lambda lib, x, y: lib.where(lib.tensor([1, 0, 2, 255, 0], dtype=lib.uint8), x, y),
        [1.0, 2.0, 3.0, 4.0, 5.0],
        [6.0],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(chosen)
        agree(lambda lib, F: lib.ones(2, 3).where(lib.arange(6, dtype=lib.uint8).view(3, 2).t(), 0))
        agree(lambda lib, F: lib.where(lib.tensor(2, dtype=lib.uint8), 1, 2.5))
        agree(lambda lib, F: lib.where(lib.ones(2, dtype=lib.int8), 1, 2))


# ---- backward a second time ------------------------------------------------------------------------------
TWICE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b,
    "neg": lambda lib, a, b: -a,
    "add a number": lambda lib, a, b: 1 - a,
    "sum": lambda lib, a, b: (a + b).sum(0),
    "mean": lambda lib, a, b: a.mean(),
    "view": lambda lib, a, b: a.view(2, 1).t().expand(3, 1, 2),
    "index": lambda lib, a, b: a[0] + b[1],
    "cat": lambda lib, a, b: lib.stack([lib.cat([a, b]), lib.cat([b, a])]),
    "clone": lambda lib, a, b: a.clone(),
    "in place": lambda lib, a, b: (a + 0).add_(b),
    "cumsum": lambda lib, a, b: a.cumsum(0).flip(0),
    "pad": lambda lib, a, b: lib.nn.functional.pad(a, (1, 1)),
    "cast": lambda lib, a, b: a.to(lib.float32),
    "mul": lambda lib, a, b: a * b,
    "exp": lambda lib, a, b: a.exp(),
    "pow": lambda lib, a, b: a**2,
    "matmul": lambda lib, a, b: a @ b,
    "relu": lambda lib, a, b: a.relu(),
}


@pytest.mark.parametrize("name", TWICE)
def test_backward_twice(name: str, backend: str) -> None:
    """A graph that saves nothing runs again, one that saved something has freed it."""

    def run(lib: Any, _: Any) -> Any:
        a, b = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
        result = TWICE[name](lib, a, b)
        result.sum().backward()
        result.sum().backward()
        return a.grad

    agree(run)


@pytest.mark.parametrize("call", [lambda a: a * 2, lambda a: a / 2])
def test_a_product_with_a_number_saves_nothing(call: Any, backend: str) -> None:
    """PyTorch wraps the number in a tensor, which it frees."""
    a = tenora.ones(2, requires_grad=True)
    result = call(a)
    result.sum().backward()
    first = a.grad.tolist()
    result.sum().backward()
    assert a.grad.tolist() == [2 * v for v in first]
