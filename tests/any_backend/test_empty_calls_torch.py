"""Convolution, pooling, normalisation, sampling, least squares and distances without elements, against PyTorch.

- What PyTorch takes is taken, with its shapes, dtypes, values and gradients; what it refuses is refused.
- `DIFFERS` holds what is otherwise on purpose, by the start of a call's name; what no longer differs must leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from differences import WITHOUT_ELEMENTS

import tenora

pytestmark = pytest.mark.oracle

Shape = tuple[int, ...]
#: A call of a module, with the leaves it makes of shapes.
Call = Callable[[Any, Callable[[Shape], Any]], Any]
SIZES: dict[int, Shape] = {1: (5,), 2: (5, 5), 3: (4, 4, 4)}
KERNELS: dict[int, Shape] = {1: (3,), 2: (3, 3), 3: (2, 2, 2)}
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def images(n: int) -> dict[str, Shape]:
    """Inputs of n spatial dims, by what they are without."""
    size = SIZES[n]
    return {
        "no batch": (0, 2, *size),
        "no channels": (2, 0, *size),
        "neither": (0, 0, *size),
        "no pixels": (2, 2, 0, *size[1:]),
        "unbatched": (2, *size),
        "unbatched, no channels": (0, *size),
        "unbatched, no pixels": (2, 0, *size[1:]),
    }


def _call(name: str, x: Shape, *shapes: Shape, **options: Any) -> Call:
    """The function of a name, of leaves."""

    def run(m: Any, leaf: Callable[[Shape], Any]) -> Any:
        return getattr(m.nn.functional, name)(leaf(x), *map(leaf, shapes), **options)

    return run


def _pooled(name: str, x: Shape, *arguments: Any, **options: Any) -> Call:
    return lambda m, leaf: getattr(m.nn.functional, name)(leaf(x), *arguments, **options)


def convolutions(n: int) -> Iterator[tuple[str, Call]]:
    for what, x in images(n).items():
        channels, kernel = x[-n - 1], KERNELS[n]
        weights = {
            "weight": (3, channels, *kernel),
            "no filters": (0, channels, *kernel),
            "no kernel": (3, channels, 0, *kernel[1:]),
            "other channels": (3, channels + 1, *kernel),
        }
        for which, weight in weights.items():
            turned = (weight[1], weight[0], *weight[2:])
            for option in ({}, {"padding": 1}, {"groups": 2}):
                told = f"{what}, {which}, {option}"
                yield f"conv{n}d: {told}", _call(f"conv{n}d", x, weight, **option)
                yield f"conv_transpose{n}d: {told}", _call(f"conv_transpose{n}d", x, turned, **option)
            yield f"conv{n}d: {what}, {which}, same", _call(f"conv{n}d", x, weight, padding="same")
        yield f"conv{n}d: {what}, bias", _call(f"conv{n}d", x, weights["weight"], (3,))
        turned = (channels, 3, *kernel)
        yield f"conv_transpose{n}d: {what}, bias", _call(f"conv_transpose{n}d", x, turned, (3,))


def pools(n: int) -> Iterator[tuple[str, Call]]:
    for what, x in images(n).items():
        for kind in ("max", "avg"):
            yield f"{kind}_pool{n}d: {what}", _pooled(f"{kind}_pool{n}d", x, 2)
            yield f"{kind}_pool{n}d: {what}, padded", _pooled(f"{kind}_pool{n}d", x, 2, padding=1)
            for size in (1, 2, 0):
                name = f"adaptive_{kind}_pool{n}d"
                yield f"{name}: {what}, to {size}", _pooled(name, x, size)
        yield f"lp_pool{n}d: {what}", _pooled(f"lp_pool{n}d", x, 1, 2)
        if n > 1:
            name = f"fractional_max_pool{n}d"
            yield f"{name}: {what}", _pooled(name, x, 2, output_size=(2,) * n)
        yield (
            f"max_unpool{n}d: {what}",
            lambda m, leaf, x=x: getattr(m.nn.functional, f"max_unpool{n}d")(
                leaf(x), m.zeros(x, dtype=m.int64), 2
            ),
        )


def _batch_norm(x: Shape, training: bool, m: Any, leaf: Callable[[Shape], Any]) -> Any:
    c = x[1]
    mean, variance = m.zeros(c, dtype=m.float64), m.ones(c, dtype=m.float64)
    return m.nn.functional.batch_norm(leaf(x), mean, variance, leaf((c,)), leaf((c,)), training)


def norms(n: int) -> Iterator[tuple[str, Call]]:
    for what, x in images(n).items():
        if what.startswith("unbatched"):
            continue
        c = (x[1],)
        for training in (True, False):
            yield f"batch_norm: {what}, {n}d, {training}", partial(_batch_norm, x, training)
        options: dict[str, Any] = {"running_mean": None, "running_var": None}
        yield f"instance_norm: {what}, {n}d", _pooled("instance_norm", x, **options)
        yield (
            f"instance_norm with weights: {what}, {n}d",
            lambda m, leaf, x=x, c=c: m.nn.functional.instance_norm(leaf(x), None, None, leaf(c), leaf(c)),
        )
        for groups in (1, 2):
            yield (
                f"group_norm: {what}, {n}d, {groups}",
                lambda m, leaf, x=x, c=c, g=groups: m.nn.functional.group_norm(leaf(x), g, leaf(c), leaf(c)),
            )
        yield f"local_response_norm: {what}, {n}d", _pooled("local_response_norm", x, 2)
        for mode in ("nearest", LINEAR[n]):
            yield f"interpolate: {what}, {mode}", _pooled("interpolate", x, scale_factor=2, mode=mode)
            yield f"interpolate: {what}, {mode}, to none", _pooled("interpolate", x, (0,) * n, mode=mode)
    for x in ((0, 4), (4, 0), (0, 0), (2, 0, 4), (2, 4, 0)):
        for dims in (1, 2):
            shape = x[-dims:]
            for name in ("layer_norm", "rms_norm"):
                yield f"{name}: {x}, {dims}", _pooled(name, x, shape)
        yield f"normalize: {x}", _pooled("normalize", x, dim=-1)


def samplings(n: int) -> Iterator[tuple[str, Call]]:
    if n == 1:
        return
    for x in ((0, 2, *[4] * n), (2, 0, *[4] * n), (2, 2, 0, *[4] * (n - 1)), (0, 0, *[4] * n)):
        grids = (
            (x[0], *[3] * n, n),
            (x[0], 0, *[3] * (n - 1), n),
            (x[0], *[0] * n, n),
            (3, *[3] * n, n),
            (x[0], *[3] * n, 0),
        )
        for grid in grids:
            for mode in ("bilinear", "nearest"):
                yield (
                    f"grid_sample: {x}, {grid}, {mode}",
                    _call("grid_sample", x, grid, mode=mode, align_corners=False),
                )


def _least_squares(a: Shape, b: Shape, driver: str | None, m: Any, leaf: Callable[[Shape], Any]) -> Any:
    found = m.linalg.lstsq(leaf(a), leaf(b), driver=driver)
    return [found.solution.detach(), found.residuals.detach(), found.rank, found.singular_values.detach()]


def least_squares() -> Iterator[tuple[str, Call]]:
    shapes: tuple[Shape, ...] = (
        (0, 0),
        (2, 0, 0),
        (0, 3, 3),
        (3, 0),
        (0, 3),
        (0, 3, 2),
        (2, 0, 3),
        (2, 3, 0),
    )
    for a in shapes:
        for b in ((*a[:-1], 2), (*a[:-1], 0), a[:-1]):
            for driver in (None, "gelsy", "gels", "gelsd", "gelss"):
                # The gradient is that of the pseudo-inverse, so values alone are compared (test_linalg_torch.py).
                yield f"lstsq, {driver}: {a}, {b}", partial(_least_squares, a, b, driver)
    # Of no right-hand sides PyTorch ends the process with driver='gelss'.
    for driver in (None, "gelsy", "gels", "gelsd", "gelss"):
        yield f"lstsq, {driver}: (3, 2), (3, 2)", partial(_least_squares, (3, 2), (3, 2), driver)


def _distances(first: str, second: str, shapes: tuple[Shape, Shape], m: Any, leaf: Any) -> Any:
    a, b = (m.zeros(s, dtype=getattr(m, d)) for s, d in zip(shapes, (first, second), strict=True))
    return m.cdist(a, b)


def distances() -> Iterator[tuple[str, Call]]:
    dtypes = ("float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool", "complex64")
    for first in dtypes:
        for second in dtypes:
            for shapes in (
                ((3, 2), (4, 2)),
                ((0, 2), (4, 2)),
                ((4, 2), (0, 2)),
                ((3, 0), (4, 0)),
                ((30, 2), (30, 2)),
            ):
                halves = (
                    "cdist of halves" if first == second and "float" in first and "16" in first else "cdist"
                )
                yield f"{halves}: {first}, {second}, {shapes}", partial(_distances, first, second, shapes)


CALLS: dict[str, Call] = {
    **{
        name: call
        for n in SIZES
        for make in (convolutions, pools, norms, samplings)
        for name, call in make(n)
    },
    **dict(least_squares()),
    **dict(distances()),
}


def outcome(module: Any, call: Call) -> list[Any] | None:
    """Results and gradients as arrays; None where the call is refused. `refused` where only the gradient is."""
    leaves: list[Any] = []

    def leaf(shape: Shape) -> Any:
        values = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
        leaves.append(module.from_numpy(values).requires_grad_())
        return leaves[-1]

    try:
        found = call(module, leaf)
        results = list(found) if isinstance(found, tuple | list) else [found]
    except Exception as error:
        # The builtin classes of both sides: an accident of a kernel would have another.
        assert isinstance(error, RuntimeError | ValueError | TypeError | IndexError | NotImplementedError)
        assert module is torch or str(error).startswith("["), error
        return None
    told: list[Any] = [r.detach().numpy() if r.dtype != module.bfloat16 else tuple(r.shape) for r in results]
    graded = [r for r in results if r.requires_grad]
    if not graded:
        return told
    try:
        gradients = module.autograd.grad(sum(r.sum() for r in graded), leaves, allow_unused=True)
    except RuntimeError:
        return [*told, "refused"]
    none = [np.zeros(tuple(a.shape)) for a in leaves]
    return [*told, *[z if g is None else g.numpy() for g, z in zip(gradients, none, strict=True)]]


def same(ours: list[Any] | None, theirs: list[Any] | None) -> bool:
    if ours is None or theirs is None or len(ours) != len(theirs):
        return ours is None and theirs is None
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            if not (isinstance(a, type(b)) and a == b):
                return False
        elif (
            a.shape != b.shape
            or a.dtype != b.dtype
            or not np.allclose(a, b, rtol=1e-12, atol=1e-14, equal_nan=True)
        ):
            return False
    return True


def reason_for(name: str) -> str | None:
    return next((key for key in WITHOUT_ELEMENTS if name.startswith(key)), None)


FAMILIES = sorted({name.split(":")[0] for name in CALLS})


@pytest.mark.parametrize("family", FAMILIES)
def test_as_pytorch(family: str, backend: str) -> None:
    members = {name: call for name, call in CALLS.items() if name.split(":")[0] == family}
    used, wrong = set(), []
    for name, call in members.items():
        ours, theirs = outcome(tenora, call), outcome(torch, call)
        if same(ours, theirs):
            continue
        reason = reason_for(name)
        used.add(reason)
        if reason is None:
            wrong.append(f"{name}: {ours} against PyTorch's {theirs}")
    assert not wrong, wrong[:3]
    unused = {key for key in WITHOUT_ELEMENTS if any(n.startswith(key) for n in members)} - used
    assert not unused, f"no longer differ: take {unused} off the list"


def test_listed_calls_exist() -> None:
    assert all(any(name.startswith(key) for name in CALLS) for key in WITHOUT_ELEMENTS)


def test_a_difference_is_noticed() -> None:
    assert same(None, None) and not same(None, [np.zeros(2)])
    for wrong in (np.zeros(3), np.zeros(2, np.float32), np.ones(2), "refused"):
        assert not same([wrong], [np.zeros(2)])


def test_convolution_without_channels_is_an_empty_sum(backend: str) -> None:
    """The bias alone, with as many channels as the weight has, as in PyTorch's documentation of the shape."""
    x, weight = tenora.zeros(2, 0, 5, 5), tenora.zeros(3, 0, 3, 3)
    assert tenora.nn.functional.conv2d(x, weight).tolist() == tenora.zeros(2, 3, 3, 3).tolist()
    bias = tenora.tensor([1.0, 2.0, 3.0], requires_grad=True)
    result = tenora.nn.functional.conv2d(x, weight, bias)
    result.sum().backward()
    assert result[1, :, 0, 0].tolist() == [1.0, 2.0, 3.0] and bias.grad.tolist() == [18.0] * 3
    assert tenora.nn.Conv2d(0, 3, 3)(x).shape == (2, 3, 3, 3)
