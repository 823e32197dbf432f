"""Windows on any memory: as_strided of tensors whose elements share places, as_strided_scatter and its bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora
import tenora_ops

pytestmark = pytest.mark.oracle

#: A view of three numbers, and a window on its memory: size, stride, offset.
WINDOWS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "expanded": (lambda x: x.expand(2, 3), ((2,), (2,), 0)),
    "expanded, read twice": (lambda x: x.expand(2, 3), ((3, 3), (0, 1), 0)),
    "expanded columns": (lambda x: x.view(3, 1).expand(3, 4), ((2, 2), (1, 1), 0)),
    "windows of windows": (lambda x: x.unfold(0, 2, 1), ((3,), (1,), 0)),
    "a part expanded": (lambda x: x[1:].expand(4, 2), ((2, 2), (1, 1), 0)),
    "one expanded": (lambda x: x[1].expand(3), ((2,), (0,), 1)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_gradients_of_shared_places(name: str, backend: str) -> None:
    """Every element gets its share, first and second gradients, as PyTorch divides them."""
    view, window = WINDOWS[name]
    found = []
    for lib in (tenora, torch):
        x = lib.tensor([1.0, -2.0, 3.0], requires_grad=True)
        y = view(x)
        seen = y.as_strided(*window)
        weights = lib.arange(1.0, 1.0 + seen.numel()).reshape(seen.shape)
        (first,) = lib.autograd.grad((seen**3 * weights).sum(), y, create_graph=True)
        (whole,) = lib.autograd.grad((first * first).sum(), x)
        found.append((first.tolist(), whole.tolist()))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))


SCATTERED: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "expanded": (lambda lib: lib.arange(3.0).expand(2, 3), ((2,), (3,))),
    "a part": (lambda lib: lib.arange(10.0)[1:5], ((2,), (2,))),
    "beyond a part": (lambda lib: lib.arange(10.0)[1:5], ((2,), (5,))),
    "before a part": (lambda lib: lib.arange(10.0)[1:5], ((2,), (4,), 0)),
    "nothing": (lambda lib: lib.zeros(4), ((0,), (1,), 9)),
    "one element, any stride": (lambda lib: lib.zeros(4), ((1,), (2**63 - 1,))),
    "beyond the memory": (lambda lib: lib.zeros(4), ((2,), (1000,))),
    "one beyond the memory": (lambda lib: lib.zeros(4), ((2,), (1,), 3)),
    "before the memory": (lambda lib: lib.zeros(4), ((2,), (1,), -1)),
    "nothing before the memory": (lambda lib: lib.zeros(4), ((0,), (1,), -1)),
    "64 TiB": (lambda lib: lib.zeros(4), ((3,), (2**44,))),
    "beyond 64 bits": (lambda lib: lib.zeros(4), ((3,), (2**62 + 2**40,))),
    "beyond 64 bits in two dims": (lambda lib: lib.zeros(4), ((2, 2), (2**62, 2**62))),
    "no memory": (lambda lib: lib.zeros(0), ((1,), (1,))),
    "numbers differ": (lambda lib: lib.zeros(4), ((2, 1), (1,))),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_where_a_window_is_written(name: str, backend: str) -> None:
    make, window = SCATTERED[name]
    found: list[Any] = []
    for lib in (tenora, torch):
        try:
            found.append(lib.as_strided_scatter(make(lib), lib.full(window[0], 9.0), *window).tolist())
        except RuntimeError as error:
            assert lib is torch or str(error).startswith("[as_strided_scatter] "), error
            found.append("refused")
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["embed_strided", "window", "write_window"])
@pytest.mark.parametrize("stride", [2**62 + 2**40, -(2**62) - 2**40, 2**46, -(2**63)])
def test_the_ops_behind_them_count_in_64_bits(name: str, stride: int, backend: str) -> None:
    x, src = tenora.zeros(4), tenora.ones(3)
    operands = {"embed_strided": (src, x), "window": (x,), "write_window": (x, src)}[name]
    with pytest.raises(RuntimeError, match="window"):
        tenora_ops.REGISTERED[name](*operands, (3,), (stride,), 0)
