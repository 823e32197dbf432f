"""Windows that slide over the last dims of a tensor: what convolution, pooling and unfold have in common.

- `n` is the number of spatial dims, known when a formula is written; all sizes are numbers of the call. An int[] of one
  item stands for every dim, so formulas read items through `item`.
- A tensor is (N, C, spatial...) or, unbatched, (C, spatial...); formulas fold what comes before C into one N.
- A window view of a dense tensor comes from as_strided. Its adjoint has the kernel's dims first: the engine then adds
  one kernel position after another, each without overlap.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_ops.checks import ints
from tenora_ops.formula import ops
from tenora_ops.lazy import np

Sizes = tuple[int, ...]


# ---- in formulas: numbers are symbols --------------------------------------------------------------------
def item(span: Any, i: int) -> Any:
    """Item i of an int[] attribute; the only one where it has one."""
    return span[(span.length() - 1).minimum(i)]


def items(span: Any, n: int) -> list[Any]:
    return [item(span, i) for i in range(n)]


def spatial(shape: Any, n: int) -> list[Any]:
    """The last n sizes."""
    return [shape[i - n] for i in range(n)]


def product(sizes: Sequence[Any]) -> Any:
    total = 1
    for size in sizes:
        total = size * total
    return total


def leading(x: Any, n: int) -> tuple[Any, Any]:
    """The shape before the channels, and its product: the batch."""
    lead = x.shape.part(0, -(n + 1))
    return lead, lead.product()


def row_strides(sizes: Sequence[Any]) -> list[Any]:
    """Strides of a dense array."""
    strides: list[Any] = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, strides[0] * size)
    return strides


def window_count(size: Any, k: Any, s: Any, d: Any = 1, p: Any = 0, ceil_mode: bool = False) -> Any:
    """How many windows of k elements, d apart, fit into a dim with p elements of padding on both sides, in steps of s.

    `ceil_mode` keeps a last window that leaves the padded dim, if it begins inside input or padding before it. Numbers
    of formulas or of oracles.
    """
    room = size + p * 2 - d * (k - 1) - 1
    if not ceil_mode:
        return room // s + 1
    fitting, begun = (room + s - 1) // s + 1, (size + p - 1) // s + 1
    return min(fitting, begun) if isinstance(fitting, int) else fitting.minimum(begun)


def counts(sizes: Sequence[Any], *numbers: Sequence[Any]) -> list[Any]:
    """How many windows fit into each dim of sizes; numbers: kernel, stride, dilation and padding, each per dim."""
    return [window_count(*row) for row in zip(sizes, *numbers, strict=True)]


def around(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Amounts per dim, as pad takes them: pairs from the last dim on."""
    pairs = zip(reversed(before), reversed(after), strict=True)
    return [amount for pair in pairs for amount in pair]


class Windows:
    """Where the windows of a dense tensor (N, C, spatial...) lie: sizes and strides of their view."""

    def __init__(self, outer: Any, sizes: Any, kernel: Any, stride: Any, dilation: Any, out: Any) -> None:
        steps = row_strides(sizes)
        area = steps[0] * sizes[0]
        self.area = area
        outer_strides = row_strides([*outer, area])[: len(outer)]
        kernel_strides = [d * step for d, step in zip(dilation, steps, strict=True)]
        out_strides = [s * step for s, step in zip(stride, steps, strict=True)]
        self.outer = (list(outer), outer_strides)
        self.kernel = (list(kernel), kernel_strides)
        self.out = (list(out), out_strides)

    def view(self, x: Any, *parts: tuple[list[Any], list[Any]]) -> Any:
        """The windows of x with the named dims in order, e.g. outer, kernel, out."""
        return ops.as_strided(x, *self.geometry(*parts), 0)

    def geometry(self, *parts: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
        return [s for part in parts for s in part[0]], [s for part in parts for s in part[1]]

    def add(self, values: Any, shape: list[Any]) -> Any:
        """The adjoint of view(kernel, outer, out): adds values into zeros of the shape, which must be dense."""
        like = ops.zeros(shape, dtype=values.dtype, device=values.device)
        return ops.embed_strided(values, like, *self.geometry(self.kernel, self.outer, self.out), 0)


# ---- in rules and oracles: numbers are numbers -----------------------------------------------------------
def spread(name: str, what: str, value: Any, n: int, least: int) -> Sizes:
    """An int[] attribute as n numbers, each at least `least`.

    Raises:
        RuntimeError: another number of items, or one that is too small.
    """
    given = ints(value)
    if len(given) not in (1, n):
        raise errors.OperationError(
            f"[{name}] wrong number of items in {what}: got {given}, expected 1 or {n}. Give one number per "
            "spatial dim."
        )
    if min(given) < least:
        raise errors.OperationError(
            f"[{name}] {what} is too small: got {given}, expected at least {least}. Choose larger numbers."
        )
    return given * n if len(given) == 1 else given


def check_rank(name: str, shape: Sizes, n: int) -> None:
    """A stack of images (N, C, spatial...), of which only the first dim may be empty, as in PyTorch."""
    if len(shape) not in (n + 1, n + 2):
        raise errors.OperationError(
            f"[{name}] wrong rank of input: got {shape}, expected {n + 1} (unbatched) or {n + 2} (batched) dims. "
            "Reshape it to (N, C, spatial...)."
        )
    if 0 in shape[1:]:
        raise errors.OperationError(
            f"[{name}] input has no elements: got {shape}, expected only the first dim to be empty. Check its sizes."
        )


def positions(*sizes: int) -> Iterator[tuple[int, ...]]:
    """All index tuples of the sizes."""
    return itertools.product(*map(range, sizes))


def padded(x: Any, padding: Sizes, value: float = 0.0) -> Any:
    """x with `padding` elements of value on both sides of its last dims."""
    n = len(padding)
    sizes = [size + 2 * p for size, p in zip(x.shape[-n:], padding, strict=True)]
    out = np.full([*x.shape[:-n], *sizes], value, dtype=x.dtype)
    inner: Any = tuple(slice(p, p + size) for p, size in zip(padding, x.shape[-n:], strict=True))
    out[(..., *inner)] = x
    return out


def taps(at: Sizes, out: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Any, ...]:
    """The slices of a padded array that kernel position `at` meets, one element per window."""
    return tuple(
        slice(k * d, k * d + s * (o - 1) + 1, s) for k, o, s, d in zip(at, out, stride, dilation, strict=True)
    )


def area(sizes: Sequence[int]) -> int:
    return math.prod(sizes)
