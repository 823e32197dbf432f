"""Fractional max pooling (Graham 2014): windows of one size whose places are drawn, so that any output size fits."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_size_or_ratio
from tenora_ops.formula import ops
from tenora_ops.fractional_pool_cases import by_definition, few, planes
from tenora_ops.record import Family, op
from tenora_ops.samples import Domain
from tenora_ops.windows import check_rank

FRACTIONAL = Family(
    "fractional_pool", "", "", "", lambda draw: [], ("float32", "float64"), Domain(distinct=True, gap=0.01)
)


def _each(name: str, what: str, value: Any, n: int) -> list[Any]:
    values = [value] * n if isinstance(value, int | float) else list(value)
    if len(values) != n:
        raise errors.OperationError(
            f"[{name}] wrong number of items in {what}: got {value}, expected a number or {n} of them. Give one per "
            "dim."
        )
    return values


def _whole_each(name: str, what: str, value: Any, n: int) -> list[int]:
    """`_each` of whole numbers."""
    try:
        return [index(item) for item in _each(name, what, value, n)]
    except TypeError:
        raise errors.ArgumentTypeError(
            f"[{name}] {what}: got {value}, expected an int or {n} of them. Pass whole numbers."
        ) from None


def _sizes(name: str, x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, n: int) -> Any:
    """The sizes of windows and of the result, checked against the input (N, C, ...) or (C, ...)."""
    check_rank(name, tuple(x.shape), n)
    if not x.dtype.is_floating_point:
        raise errors.NotImplementedOperationError(
            f"[{name}] dtype not supported: got {x.dtype}, expected a floating type. Cast with .to(tenora.float32)."
        )
    need_size_or_ratio(name, output_size, output_ratio)
    kernel = _whole_each(name, "kernel_size", kernel_size, n)
    spatial = list(x.shape[-n:])
    if output_size is None:
        ratios = _each(name, "output_ratio", output_ratio, n)
        out = [int(s * r) for s, r in zip(spatial, ratios, strict=True)]
    else:
        out = _whole_each(name, "output_size", output_size, n)
    for size, k, o in zip(spatial, kernel, out, strict=True):
        if o < 1 or k < 1 or o + k - 1 > size - (n == 3):  # PyTorch leaves one row in three dims
            raise errors.OperationError(
                f"[{name}] windows do not fit: got kernel_size {kernel} and output_size {out} for {tuple(spatial)}, "
                f"expected kernel_size + output_size up to the size{'' if n == 3 else ' plus 1'}. Make them smaller."
            )
    return kernel, out, spatial


def _starts(samples: Any, size: int, kernel: int, out: int) -> Any:
    """Where the windows of one dim begin, (N, C, out): from a drawn start in steps of a fraction."""
    if out == 1:
        return ops.full((*samples.shape, 1), size - kernel, dtype=_engine.int64, device=samples.device)
    step = (size - kernel) / (out - 1)
    u = ops.unsqueeze(samples, -1)
    counts = ops.iota(0, 1, out - 1, dtype=samples.dtype, device=samples.device)
    drawn = ops.to((counts + u) * step, _engine.int64) - ops.to(u * step, _engine.int64)
    last = ops.full((*samples.shape, 1), size - kernel, dtype=_engine.int64, device=samples.device)
    return ops.cat([drawn, last], -1)


def _pooled(n: int, x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any) -> Any:
    name, x = f"fractional_max_pool{n}d", ops.straight(x)
    kernel, out, spatial = _sizes(name, x, kernel_size, output_size, output_ratio, n)
    whole = x if x.ndim == n + 2 else ops.unsqueeze(x, 0)
    planes = tuple(whole.shape[:2])
    if samples is None:
        samples = ops.rand((*planes, n), dtype=x.dtype, device=x.device)
    elif tuple(samples.shape) != (*planes, n):
        raise errors.OperationError(
            f"[{name}] _random_samples do not fit: got {tuple(samples.shape)}, expected {(*planes, n)}. Draw one per "
            "plane and dim."
        )
    places: Any = 0
    for d in range(n):  # PyTorch draws for the last of two dims first
        drawn = ops.select(samples, -1, n - 1 - d if n == 2 else d)
        starts = _starts(drawn, spatial[d], kernel[d], out[d])
        reach = ops.iota(0, 1, kernel[d], device=x.device)
        rows = ops.unsqueeze(starts, -1) + reach  # (N, C, out, kernel)
        shape = [1] * (2 * n)
        shape[d], shape[n + d] = out[d], kernel[d]
        places = places * spatial[d] + ops.reshape(rows, (*planes, *shape))
    each = math.prod(kernel)
    windows = ops.reshape(places, (*planes, math.prod(out) * each))
    flat = ops.reshape(whole, (*planes, math.prod(spatial)))
    values = ops.reshape(ops.gather(flat, 2, windows), (*planes, *out, each))
    best, chosen = ops.max_dim(values, -1)
    where = ops.reshape(windows, (*planes, *out, each))
    indices = ops.squeeze(ops.gather(where, -1, ops.unsqueeze(chosen, -1)), -1)
    return (best, indices) if x.ndim == n + 2 else (ops.squeeze(best, 0), ops.squeeze(indices, 0))


def _form(n: int, always: bool) -> Any:
    """The function of n spatial dims; `always`: with the positions, whatever `return_indices` says."""

    def run(
        input: Any,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        found = _pooled(n, input, kernel_size, output_size, output_ratio, _random_samples)
        return found if always or return_indices else found[0]

    return run


def _declare(n: int) -> None:
    text = (
        "(input: Tensor, kernel_size: int[], output_size: int[]? = None, output_ratio: float? = None, "
        "return_indices: bool = False, _random_samples: Tensor? = None)"
    )
    ones = ", ".join(["4"] * n)
    name = f"fractional_max_pool{n}d"
    op(
        f"{name}{text} -> Tensor",
        family=FRACTIONAL,
        python=_form(n, always=False),
        samples=planes(n),
        gradient_samples=few(n),
        oracle=lambda x, kernel, out, _random_samples: by_definition(n, x, kernel, out, _random_samples)[0],
        doc="The largest element of each of drawn, overlapping windows of one size.",
        example=f"tenora.nn.functional.{name}(tenora.ones(1, 1, {ones}), 2, 2)",
        public=f"nn.functional.{name}",
    )
    op(
        f"{name}_with_indices{text} -> Tensor[]",
        family=FRACTIONAL,
        python=_form(n, always=True),
        samples=planes(n),
        gradient_samples=few(n),
        oracle=lambda x, kernel, out, _random_samples: by_definition(n, x, kernel, out, _random_samples),
        doc="fractional_max_pool and the positions of its elements in the flattened spatial dims.",
        example=f"tenora.nn.functional.{name}_with_indices(tenora.ones(1, 1, {ones}), 2, 2)",
        public=f"nn.functional.{name}_with_indices",
        renames=f"nn.functional.{name}",
    )


_declare(2)
_declare(3)
