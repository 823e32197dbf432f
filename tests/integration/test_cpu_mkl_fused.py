"""Matrix products, softmax, losses and optimizer steps of the native CPU backend against NumPy in float64."""

import itertools

import numpy as np
import pytest
from kernel_data import LAYOUTS, as_wide, draw, empty_like_layout, lay_out, library, spacing
from kernel_table import NAMES, Array, KernelError, KernelTable, numpy_dtype

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIZES = (0, 1, 2, 3, 5, 8, 10, 16, 17, 31, 33, 64, 70)


@pytest.fixture(scope="module")
def table() -> KernelTable:
    return KernelTable(library())


def _near(got: Array, want: Array, scale: Array, message: str) -> None:
    """Within a few rounding errors of the sum of magnitudes `scale`, and of one rounding of the result."""
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=message)
        return
    inner = np.finfo("float64" if got.dtype.name in ("float64", "complex128") else "float32").eps
    allowed = 8 * inner * (scale + 1e-30) + spacing(want, got.dtype)
    worst = float(np.max(np.abs(as_wide(got) - want) / allowed, initial=0))
    assert worst <= 1, f"{message}: {worst} of the allowed error"


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    if a.dtype.kind == "b":
        return np.matmul(a, b), np.zeros(())
    wide = as_wide(a), as_wide(b)
    return np.matmul(*wide), np.matmul(np.abs(wide[0]).astype(float), np.abs(wide[1]).astype(float))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_matmul_of_every_small_size(table: KernelTable, name: str) -> None:
    kinds = ("dense", "transposed")
    for m, k, n in itertools.product(SIZES, SIZES, SIZES):
        a, b = draw(name, (m, k)), draw(name, (k, n), seed=1)
        want, scale = _product(a, b)
        left, right, to = kinds[(m + k) % 2], kinds[(k + n) % 2], kinds[(m + n // 2) % 2]
        out = empty_like_layout((m, n), numpy_dtype(name), to)
        table.call("matmul", [lay_out(a, left), lay_out(b, right)], [out])
        _near(out, want, scale, f"{name} {m}x{k}x{n} {left} {right} {to}")


@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, LAYOUTS, LAYOUTS)))
def test_matmul_layouts(table: KernelTable, layouts: tuple[str, str, str]) -> None:
    for m, k, n in ((7, 9, 21), (1, 64, 10), (33, 1, 17), (64, 20, 1), (2, 40, 40)):
        a, b = draw("float32", (m, k)), draw("float32", (k, n), seed=1)
        want, scale = _product(a, b)
        out = empty_like_layout((m, n), a.dtype, layouts[2])
        table.call("matmul", [lay_out(a, layouts[0]), lay_out(b, layouts[1])], [out])
        _near(out, want, scale, f"{m}x{k}x{n} {layouts}")
        out[...] = 3
        table.call("matmul", [lay_out(a, layouts[0]), lay_out(b, layouts[1])], [out], accumulate=True)
        _near(out, want + 3, scale + 3, f"accumulate {m}x{k}x{n} {layouts}")


def test_matmul_large(table: KernelTable) -> None:
    for (m, k, n), (left, right) in itertools.product(
        ((200, 300, 250), (150, 600, 40), (513, 129, 2100), (300, 300, 20)),
        (("dense", "dense"), ("transposed", "dense"), ("dense", "transposed")),
    ):
        for name in ("float32", "float64"):
            a, b = draw(name, (m, k)), draw(name, (k, n), seed=1)
            want, scale = _product(a, b)
            out = np.empty((m, n), name)
            table.call("matmul", [lay_out(a, left), lay_out(b, right)], [out])
            _near(out, want, scale, f"{name} {m}x{k}x{n} {left} {right}")


def test_matmul_of_every_dtype(table: KernelTable) -> None:
    for name in NAMES:
        a, b = draw(name, (5, 7), small=True), draw(name, (7, 9), seed=1, small=True)
        want, scale = _product(a, b)
        for layout in LAYOUTS:
            out = empty_like_layout((5, 9), numpy_dtype(name), layout)
            table.call("matmul", [lay_out(a, layout), b], [out])
            _near(out, want.astype(out.dtype) if out.dtype.kind in "iub" else want, scale, f"{name} {layout}")


def test_matmul_batches(table: KernelTable) -> None:
    for name in ("float32", "float64", "float16", "int32"):
        a, b = draw(name, (2, 3, 4, 5), small=True), draw(name, (2, 3, 5, 6), seed=1, small=True)
        shared = np.broadcast_to(b[0, 0], b.shape)
        mixed = np.broadcast_to(b[:, :1], b.shape)
        for right in (b, shared, mixed):
            want, scale = _product(a, right)
            out = np.empty((2, 3, 4, 6), numpy_dtype(name))
            table.call("matmul", [a, right], [out])
            _near(out, want, scale, name)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_linear_and_addmm(table: KernelTable, name: str) -> None:
    for rows, k, n in itertools.product((1, 2, 4, 9, 32), (3, 64), (1, 10, 64)):
        w, bias = draw(name, (n, k), seed=1), draw(name, (n,), seed=2)
        for x in (draw(name, (rows, k)), draw(name, (2, rows, k)), draw(name, (k, rows)).T, draw(name, (k,))):
            want, scale = as_wide(x) @ as_wide(w).T, np.abs(as_wide(x)) @ np.abs(as_wide(w)).T
            out = np.empty(want.shape, name)
            table.call("linear", [x, w, bias], [out])
            _near(out, want + bias, scale + np.abs(bias), "linear")
            table.call("linear", [x, w, None], [out])
            _near(out, want, scale, "linear without bias")
        a, b = draw(name, (rows, k)), draw(name, (k, n), seed=1)
        want, scale = _product(a, b)
        for start in (
            bias,
            draw(name, (rows, n), seed=3),
            draw(name, (), seed=3),
            draw(name, (rows, 1), seed=3),
        ):
            out = np.empty((rows, n), name)
            table.call("addmm", [start, a, b], [out], [0.5, 2.0])
            _near(out, 0.5 * as_wide(start) + 2 * want, 2 * scale + 7, "addmm")
            table.call("addmm", [np.full_like(start, np.nan), a, b], [out], [0, 1])
            _near(out, want, scale, "addmm with beta 0")


def test_linear_of_expanded_rows(table: KernelTable) -> None:
    w, bias = draw("float32", (5, 8), seed=1), draw("float32", (5,), seed=2)
    rows = draw("float32", (3, 1, 8))
    for x in (np.broadcast_to(rows, (3, 4, 8)), np.broadcast_to(rows[:1], (3, 4, 8)), rows[:, 0]):
        wide = as_wide(x)
        out = np.empty((*x.shape[:-1], 5), np.float32)
        table.call("linear", [x, w, bias], [out])
        _near(out, wide @ as_wide(w).T + bias, np.abs(wide) @ np.abs(as_wide(w)).T + 7, "expanded rows")
        table.call("linear", [x, w, bias[:1]], [out])
        _near(
            out, wide @ as_wide(w).T + bias[0], np.abs(wide) @ np.abs(as_wide(w)).T + 7, "one number as bias"
        )


def _softmax(x: Array, dim: int) -> Array:
    powers = np.exp(x - x.max(axis=dim, keepdims=True))
    return np.asarray(powers / powers.sum(axis=dim, keepdims=True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FLOATS)
def test_softmax(table: KernelTable, name: str, layout: str) -> None:
    for shape, dim in (((5, 10), 1), ((5, 10), 0), ((3, 4, 33), 1), ((2, 700), -1), ((600,), 0)):
        x, g = draw(name, shape), draw(name, shape, seed=1)
        wide, grad = as_wide(x), as_wide(g)
        y = _softmax(wide, dim)
        out = empty_like_layout(shape, x.dtype, layout)
        table.call("softmax", [lay_out(x, layout)], [out], [dim])
        _near(out, y, 4 * y, f"softmax {name}")
        table.call("log_softmax", [lay_out(x, layout)], [out], [dim])
        _near(out, np.log(y), np.abs(np.log(y)) + 20, f"log_softmax {name}")
        result, logs = y.astype(x.dtype), np.log(y).astype(x.dtype)
        want = as_wide(result) * (grad - (grad * as_wide(result)).sum(axis=dim, keepdims=True))
        table.call(
            "softmax_backward",
            [
                lay_out(g, layout),
                lay_out(result, layout),
            ],
            [out],
            [dim],
        )
        _near(out, want, np.full(shape, 20.0), f"softmax_backward {name}")
        want = grad - np.exp(as_wide(logs)) * grad.sum(axis=dim, keepdims=True)
        table.call("log_softmax_backward", [lay_out(g, layout), lay_out(logs, layout)], [out], [dim])
        _near(out, want, np.full(shape, 400.0), f"log_softmax_backward {name}")


def test_softmax_of_infinities(table: KernelTable) -> None:
    out = np.empty(3, np.float32)
    table.call("softmax", [np.array([-np.inf, 0, 0], np.float32)], [out], [0])
    assert out.tolist() == [0, 0.5, 0.5]
    table.call("log_softmax", [np.array([1000, 0, -np.inf], np.float32)], [out], [0])
    assert out.tolist() == [0, -1000, -np.inf]
    table.call("softmax", [np.array([np.nan, 0, 0], np.float32)], [out], [0])
    assert np.isnan(out).all()


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", FLOATS)
def test_nll_loss(table: KernelTable, name: str, reduction: str) -> None:
    rng = np.random.default_rng(0)
    weight = draw(name, (4,), positive=True, seed=9)
    for shape, weights in itertools.product(((6, 4), (4,), (2, 4, 3, 2)), (None, weight)):
        x = draw(name, shape)
        classes = rng.integers(0, 4, (*shape[:1], *shape[2:]) if len(shape) > 1 else ())
        target = np.where(rng.random(classes.shape) < 0.3, -100, classes).astype(np.int64)
        if (target < 0).all():
            target = classes.astype(np.int64)
        counted = target >= 0
        chosen = np.where(counted, target, 0)
        w = np.where(counted, 1.0 if weights is None else as_wide(weights)[chosen], 0.0)
        dim = 1 if len(shape) > 1 else 0
        picked = np.take_along_axis(as_wide(x), np.expand_dims(chosen, dim), dim).squeeze(dim)
        losses = -w * picked
        want = (
            losses
            if reduction == "none"
            else np.asarray(losses.sum() / (w.sum() if reduction == "mean" else 1))
        )
        out = np.empty(want.shape, x.dtype)
        table.call("nll_loss", [x, target, weights], [out], [-100, reduction])
        _near(out, want, np.full(want.shape, 50.0), f"{name} {reduction} {shape}")
    with pytest.raises(KernelError, match="index 4 is out of bounds for dimension 1 with size 4"):
        table.call(
            "nll_loss", [draw(name, (2, 4)), np.array([0, 4]), None], [np.empty((), x.dtype)], [-100, "mean"]
        )


@pytest.mark.parametrize("name", FLOATS)
def test_sgd_step(table: KernelTable, name: str) -> None:
    shapes = [(5,), (33, 7), (), (0, 3)]
    for momentum, nesterov, maximize, first in itertools.product(
        (0.0, 0.9), (False, True), (False, True), (False, True)
    ):
        p = [draw(name, s, seed=1) for s in shapes]
        b = [draw(name, s, seed=2) for s in shapes] if momentum else []
        g = [draw(name, s, seed=3) for s in shapes]
        p[1], g[1] = lay_out(p[1], "transposed"), lay_out(g[1], "strided")
        old_p, old_b = [as_wide(x).copy() for x in p], [as_wide(x).copy() for x in b]
        written = [*p, *b]
        table.call(
            "sgd_step",
            [*written, *g],
            written,
            [0.1, momentum, 0.3, 0.02, nesterov, maximize, first],
        )
        for i in range(len(shapes)):
            d = (-1 if maximize else 1) * as_wide(g[i]) + 0.02 * old_p[i]
            move = d
            if momentum:
                new = d if first else momentum * old_b[i] + 0.7 * d
                _near(b[i], new, np.full(new.shape, 20.0), "momentum")
                move = d + momentum * new if nesterov else new
            _near(p[i], old_p[i] - 0.1 * move, np.full(move.shape, 20.0), f"{name} {momentum} {nesterov}")


@pytest.mark.parametrize("name", FLOATS)
def test_adam_step(table: KernelTable, name: str) -> None:
    shapes = [(5,), (33, 7), (), (0, 3)]
    for decoupled, amsgrad, maximize in itertools.product((False, True), repeat=3):
        p, m, g = ([draw(name, s, seed=i) for s in shapes] for i in (1, 2, 3))
        v, top = ([draw(name, s, seed=i, positive=True) for s in shapes] for i in (4, 5))
        p[1], g[1] = lay_out(p[1], "transposed"), lay_out(g[1], "strided")
        old = [[as_wide(x).copy() for x in group] for group in (p, m, v, top)]
        written = [*p, *m, *v, *(top if amsgrad else [])]
        settings = [0.01, 0.9, 0.99, 1e-3, 0.1, decoupled, maximize, 7]
        table.call("amsgrad_update" if amsgrad else "adam_update", [*written, *g], written, settings)
        for i in range(len(shapes)):
            grad, param = (-1 if maximize else 1) * as_wide(g[i]), old[0][i]
            param, grad = (param * (1 - 0.01 * 0.1), grad) if decoupled else (param, grad + 0.1 * param)
            first, second = 0.9 * old[1][i] + 0.1 * grad, 0.99 * old[2][i] + 0.01 * grad**2
            used = np.maximum(second, old[3][i]) if amsgrad else second
            want = param - 0.01 * (first / (1 - 0.9**7)) / (np.sqrt(used / (1 - 0.99**7)) + 1e-3)
            for got, expected in ((m[i], first), (v[i], second), (p[i], want)):
                _near(
                    got, expected, np.full(expected.shape, 20.0), f"{name} {decoupled} {amsgrad} {maximize}"
                )
