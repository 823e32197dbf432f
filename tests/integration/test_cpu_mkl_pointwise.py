"""Pointwise kernels, copies, fills and ramps of the native CPU backend against NumPy, on every dtype and layout."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_data import LAYOUTS, as_wide, close, draw, empty_like_layout, lay_out, library, spacing
from kernel_table import NAMES, Array, KernelError, KernelTable, numpy_dtype

INTEGERS = tuple(n for n in NAMES if "int" in n)
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")


@pytest.fixture(scope="module")
def table() -> KernelTable:
    return KernelTable(library())


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[float])(x)


UNARY: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": lambda x: (x > 0).astype(int) - (x < 0).astype(int),
    "exp": np.exp,
    "log": lambda x: np.log(x) if x.dtype.kind == "c" else np.log(np.abs(x) + 0.25),
    "sqrt": lambda x: np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": _erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "logical_not": np.logical_not,
    "bitwise_not": np.invert,
    "isnan": np.isnan,
    "relu": lambda x: np.where(x > 0, x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
}
POSITIVE_ONLY = ("log", "sqrt", "rsqrt")
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "atan2": np.arctan2,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "threshold_backward": lambda g, x: np.where(x > 0, g, np.zeros((), g.dtype)),
    "sigmoid_backward": lambda g, s: g * s * (1 - s),
    "tanh_backward": lambda g, t: g * (1 - t * t),
    "gelu_backward": lambda g, x: (
        g * (0.5 * (1 + _erf(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    ),
}
BOOL_RESULT = {
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "isnan",
}


def _expected(op: str, function: Callable[..., Any], *arrays: Array) -> Array:
    exact = op in BOOL_RESULT or arrays[0].dtype.kind in "iub"
    wide = [as_wide(a) if op not in BOOL_RESULT or a.dtype.name == "bfloat16" else a for a in arrays]
    if exact and op not in BOOL_RESULT:
        wide = list(arrays)
    if op == "log" and arrays[0].dtype.kind != "c":
        return np.asarray(np.log(as_wide(arrays[0])))
    with np.errstate(all="ignore"):
        return np.asarray(function(*wide))


def _out_dtype(op: str, name: str) -> np.dtype[Any]:
    if op in BOOL_RESULT:
        return np.dtype(bool)
    if op == "abs" and name in COMPLEX:
        return np.dtype("float32" if name == "complex64" else "float64")
    return numpy_dtype(name)


def _check(op: str, name: str, out: Array, want: Array, operand: Array, message: str) -> None:
    """Units of the last place of the result; for gelu, whose formula cancels, of the operand."""
    if "gelu" in op:
        unit = np.maximum(spacing(as_wide(operand), out.dtype), spacing(np.ones(()), out.dtype))
        assert np.all(np.abs(as_wide(out) - want) <= 8 * unit), message
    else:
        close(out, want, _units(op, name), message)


def _units(op: str, name: str) -> float:
    """Allowed difference in units of the last place, besides the rounding."""
    if op in ("sigmoid_backward", "tanh_backward") or name in COMPLEX:
        return 8
    return {"exp": 2, "log": 2, "tanh": 2, "erf": 2, "sigmoid": 2, "rsqrt": 2, "pow": 1, "atan2": 1}.get(
        op, 1
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", UNARY)
def test_unary(table: KernelTable, op: str, layout: str) -> None:
    ran = 0
    for name in NAMES:
        if not table.supports(op, name):
            continue
        x = draw(name, (5, 6, 7), positive=op in POSITIVE_ONLY and name not in COMPLEX)
        want = _expected(op, UNARY[op], x)
        out = empty_like_layout(x.shape, _out_dtype(op, name), layout)
        table.call(op, [lay_out(x, layout)], [out])
        _check(op, name, out, want, x, f"{op} {name} {layout}")
        ran += 1
    assert ran >= 2


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", BINARY)
def test_binary(table: KernelTable, op: str, layout: str) -> None:
    ran = 0
    for name in NAMES:
        if not table.supports(op, name):
            continue
        a = draw(name, (5, 6, 7), positive=op == "pow" and name not in COMPLEX)
        b = draw(name, (5, 6, 7), seed=1, nonzero=True, small=op == "pow")
        want = _expected(op, BINARY[op], a, b)
        out = empty_like_layout(a.shape, _out_dtype(op, name), layout)
        table.call(op, [lay_out(a, layout), lay_out(b, "dense")], [out])
        _check(op, name, out, want, a, f"{op} {name} {layout}")
        ran += 1
    assert ran >= 2


@pytest.mark.parametrize(
    "shapes", [((5, 6, 7), (7,)), ((6, 1), (5, 6, 7)), ((), (4, 3)), ((5, 1, 7), (6, 1)), ((0, 3), (3,))]
)
@pytest.mark.parametrize("op", ["add", "div", "lt", "maximum", "mul", "remainder"])
def test_broadcasting(table: KernelTable, op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for name in NAMES:
        if not table.supports(op, name):
            continue
        a, b = draw(name, shapes[0]), draw(name, shapes[1], seed=1, nonzero=True)
        want = _expected(op, BINARY[op], a, b)
        out = np.empty(np.broadcast_shapes(*shapes), _out_dtype(op, name))
        table.call(op, [a, b], [out])
        close(out, want, _units(op, name), f"{op} {name} {shapes}")


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("op", ["add", "sub", "div", "pow", "lt"])
def test_host_scalars(table: KernelTable, op: str, side: int) -> None:
    for name in NAMES:
        if not table.supports(op, name):
            continue
        x = draw(name, (37,), positive=True, small=True)
        number = np.full((), 2, numpy_dtype(name))
        pair = [number, x] if side == 0 else [x, number]
        out = np.empty(x.shape, _out_dtype(op, name))
        table.call(op, pair, [out], host_scalars=1 << side)
        close(out, _expected(op, BINARY[op], *pair), 2, f"{op} {name}")


def test_in_place(table: KernelTable) -> None:
    for name in ("float32", "float64", "int32", "bfloat16"):
        a, b = draw(name, (300,)), draw(name, (300,), seed=1)
        want = _expected("sub", np.subtract, a, b)
        table.call("sub", [a, b], [a])
        close(a, want, 1, name)


def test_special_values(table: KernelTable) -> None:
    inf, nan = math.inf, math.nan
    x = np.array(
        [0.0, -0.0, inf, -inf, nan, 1e-40, -1e-40, 88.8, -87.5, -104.5, 200, -200, 1e30, -1e30, 3e8],
        np.float32,
    )
    functions = {
        "exp": np.exp,
        "log": np.log,
        "tanh": np.tanh,
        "sin": np.sin,
        "cos": np.cos,
        "erf": _erf,
        "sqrt": np.sqrt,
    }
    functions["sigmoid"] = lambda v: np.where(v < 0, np.exp(v) / (1 + np.exp(v)), 1 / (1 + np.exp(-v)))
    for op, function in functions.items():
        with np.errstate(all="ignore"):
            want = function(x.astype(np.float64))
            if op == "sigmoid":
                want = np.where(x == -inf, 0, want)
            rounded = want.astype(np.float32)
        out = np.empty_like(x)
        table.call(op, [x], [out])
        np.testing.assert_array_equal(np.isnan(out), np.isnan(rounded), err_msg=op)
        np.testing.assert_array_equal(np.isinf(out), np.isinf(rounded), err_msg=op)
        finite = np.isfinite(rounded)
        np.testing.assert_allclose(out[finite], want[finite], rtol=3e-7, atol=3e-45, err_msg=op)
        zero = (x == 0) & (want == 0)
        np.testing.assert_array_equal(np.signbit(out[zero]), np.signbit(want[zero]), err_msg=op)


@pytest.mark.parametrize(
    ("op", "low", "high"),
    [
        ("exp", -87, 88),
        ("log", 1e-30, 1e30),
        ("tanh", -10, 10),
        ("erf", -5, 5),
        ("sin", -1e6, 1e6),
        ("cos", -1e6, 1e6),
        ("sin", -4, 4),
        ("sigmoid", -80, 80),
    ],
)
def test_accuracy_of_float_functions(table: KernelTable, op: str, low: float, high: float) -> None:
    rng = np.random.default_rng(0)
    if op == "log":
        x = np.exp(rng.uniform(math.log(low), math.log(high), 200_000)).astype(np.float32)
        x[:50_000] = rng.uniform(0.5, 2, 50_000)
    else:
        x = rng.uniform(low, high, 200_000).astype(np.float32)
    wide = x.astype(np.float64)
    want = _expected(op, UNARY[op], wide) if op != "log" else np.log(wide)
    out = np.empty_like(x)
    table.call(op, [x], [out])
    spacing = np.maximum(np.spacing(np.abs(want).astype(np.float32)).astype(np.float64), 2.0**-149)
    worst = float(np.max(np.abs(out - want) / spacing))
    assert worst <= {"sin": 0.6, "cos": 0.6, "sigmoid": 2.1}.get(op, 1.5), f"{op}: {worst} ULP"


def test_integer_division_by_zero(table: KernelTable) -> None:
    for op in ("floor_divide", "remainder"):
        for b in (np.array([1, 0, 2], np.int64), np.array([0, 1, 1], np.int64)[::-1]):
            with pytest.raises(KernelError, match="integer division by zero"):
                table.call(op, [np.ones(3, np.int64), b], [np.empty(3, np.int64)])
    low = np.array([-(2**63), -7, 7], np.int64)
    out = np.empty(3, np.int64)
    table.call("floor_divide", [low, np.full(3, -1, np.int64)], [out])
    assert out.tolist() == [-(2**63), 7, -7]
    table.call("remainder", [low, np.full(3, -1, np.int64)], [out])
    assert out.tolist() == [0, 0, 0]


def test_where(table: KernelTable) -> None:
    for name in NAMES:
        a, b = draw(name, (5, 6, 7)), draw(name, (5, 6, 7), seed=1)
        condition = draw("bool", (5, 6, 7), seed=2)
        for layout in LAYOUTS:
            out = empty_like_layout(a.shape, a.dtype, layout)
            table.call("where", [lay_out(condition, layout), a, lay_out(b, layout)], [out])
            np.testing.assert_array_equal(out, np.where(condition, a, b), err_msg=f"{name} {layout}")
        number = b.reshape(-1)[:1].reshape(())
        out = np.empty_like(a)
        table.call("where", [condition, a, number], [out], host_scalars=4)
        np.testing.assert_array_equal(out, np.where(condition, a, number))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", NAMES)
def test_copy_between_all_dtypes(table: KernelTable, source: str, layout: str) -> None:
    x = draw(source, (17, 33), positive=True)
    for target in NAMES:
        out = empty_like_layout(x.shape, numpy_dtype(target), layout)
        table.call("copy", [lay_out(x, layout)], [out])
        np.testing.assert_array_equal(out, _cast(x, target), err_msg=f"{source} -> {target}")


def _cast(x: Array, target: str) -> Array:
    if target == "bool":
        return np.asarray(x != 0)
    if x.dtype.kind == "c" and target not in COMPLEX:
        x = x.real
    if "float16" in target and x.dtype.itemsize > 2:
        x = x.astype(np.float32)
    if x.dtype.name == "bfloat16":
        x = x.astype(np.float32)
    return x.astype(numpy_dtype(target))


def test_copy_of_half_floats_is_exact_for_every_value(table: KernelTable) -> None:
    for name in ("float16", "bfloat16"):
        every = np.arange(2**16, dtype=np.uint16).view(numpy_dtype(name))
        wide = np.empty(2**16, np.float32)
        table.call("copy", [every], [wide])
        np.testing.assert_array_equal(wide, every.astype(np.float32))
        bits = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
        narrow = np.empty(bits.shape, numpy_dtype(name))
        table.call("copy", [bits], [narrow])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(
                narrow.astype(np.float32), bits.astype(numpy_dtype(name)).astype(np.float32)
            )


def test_fill_and_iota(table: KernelTable) -> None:
    for name in NAMES:
        for layout in LAYOUTS:
            out = empty_like_layout((5, 6, 7), numpy_dtype(name), layout)
            table.call("fill", [], [out], [3])
            np.testing.assert_array_equal(out, np.full((5, 6, 7), 3).astype(numpy_dtype(name)))
        ramp = np.empty((500,), numpy_dtype(name))[::2]
        table.call("iota", [], [ramp], [1, 1])
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(ramp, np.arange(1, 251).astype(numpy_dtype(name)))
    ramp = np.empty(100, np.float64)
    table.call("iota", [], [ramp], [0.5, 0.25])
    np.testing.assert_array_equal(ramp, 0.5 + 0.25 * np.arange(100))
