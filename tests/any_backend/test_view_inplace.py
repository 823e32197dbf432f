"""In-place changes of a tensor's own window, several views of one call, and parts of complex numbers, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

LIBRARIES = (tenora, torch)


def values(tensors: Any) -> list[np.ndarray]:
    return [np.asarray(t.detach().resolve_conj().numpy()) for t in tensors]


def agree(run: Callable[[Any], Any]) -> None:
    """Both libraries answer with the same numbers."""
    for a, b in zip(values(run(tenora)), values(run(torch)), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12)


WINDOWS: dict[str, Callable[[Any, Any], Any]] = {
    "t_": lambda lib, y: y.t_(),
    "transpose_": lambda lib, y: y.transpose_(0, 1),
    "swapaxes_": lambda lib, y: y.swapaxes_(0, 1),
    "swapdims_": lambda lib, y: y.swapdims_(-1, 0),
    "unsqueeze_": lambda lib, y: y.unsqueeze_(1),
    "squeeze_": lambda lib, y: y.unsqueeze_(0).unsqueeze_(-1).squeeze_(),
    "squeeze_ of a dim": lambda lib, y: y.unsqueeze_(0).squeeze_(0),
    "as_strided_": lambda lib, y: y.as_strided_((2, 2), (1, 2), 1),
    "several": lambda lib, y: y.t_().unsqueeze_(0).transpose_(1, 2).squeeze_(),
}


def leaf(lib: Any) -> Any:
    return lib.arange(6.0, dtype=lib.float64).reshape(2, 3).requires_grad_(True)


def squares(lib: Any, y: Any, *inputs: Any) -> list[Any]:
    """First and second gradients of a weighted sum of cubes."""
    weights = lib.arange(1.0, y.numel() + 1, dtype=lib.float64).reshape(tuple(y.shape))
    first = lib.autograd.grad((y**3 * weights).sum(), inputs, create_graph=True)
    second = lib.autograd.grad(sum((g * g).sum() for g in first), inputs)
    return [*first, *second]


@pytest.mark.parametrize("name", WINDOWS)
def test_a_changed_window_keeps_its_gradient(name: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = leaf(lib)
        y = x * 2
        assert WINDOWS[name](lib, y) is y
        return [y, lib.tensor(y._version), *squares(lib, y, x)]

    agree(run)


@pytest.mark.parametrize("name", WINDOWS)
def test_a_changed_window_is_written(name: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = leaf(lib)
        base = x * 2
        y = base[:]
        WINDOWS[name](lib, y)
        y.mul_(x.detach().reshape(-1)[1])
        return [y, base, *squares(lib, base, x)]

    agree(run)


def test_a_base_whose_window_changed_still_has_views() -> None:
    def run(lib: Any) -> list[Any]:
        x = leaf(lib)
        y = x * 2
        row = y[0]
        y.t_()
        row.mul_(3)
        return [y, row, *squares(lib, y, x)]

    agree(run)


def test_a_changed_window_is_noticed_by_backward() -> None:
    x = leaf(tenora)
    y = x * 2
    z = y * y
    y.t_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_leaf_keeps_its_window_unless_nothing_is_recorded() -> None:
    x = leaf(tenora)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.t_()
    with tenora.no_grad():
        x.t_()
    assert tuple(x.shape) == (3, 2) and x.requires_grad


LEAF_WRITES: dict[str, Callable[[Any], Any]] = {
    "an item": lambda x: x.__setitem__(0, 1.0),
    "through a view": lambda x: x[0].mul_(2),
    "through a view of all": lambda x: x.view(-1).add_(1),
    "itself": lambda x: x.add_(1),
}


@pytest.mark.parametrize("write", LEAF_WRITES)
@pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.__name__)
def test_a_leaf_made_of_a_view_is_not_written_while_gradients_are_recorded(lib: Any, write: str) -> None:
    x = leaf(lib)  # of reshape: its base wants no gradient
    with pytest.raises(RuntimeError, match="leaf Variable"):
        LEAF_WRITES[write](x)
    assert x.is_leaf
    x.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 3)))


PARTS: dict[str, Callable[[Any], Any]] = {
    "split": lambda y: y.split(1),
    "split into lengths": lambda y: y.split([1, 1]),
    "split_with_sizes": lambda y: y.split_with_sizes([1, 1]),
    "chunk": lambda y: y.chunk(2),
    "unbind": lambda y: y.unbind(0),
    "a loop": tuple,
}


@pytest.mark.parametrize("name", PARTS)
def test_one_of_several_views_refuses_recorded_writes(name: str) -> None:
    for lib in LIBRARIES:
        y = leaf(lib) * 2
        parts = PARTS[name](y)
        with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
            parts[0].mul_(2)
        with pytest.raises(RuntimeError, match="multiple views"):
            parts[1][..., 0].mul_(2)
        assert y._version == 0
        with lib.no_grad():
            part = PARTS[name](y)[0]
            part.mul_(2)
        assert y._version == part._version == 1
        with pytest.raises(RuntimeError, match="no_grad"):
            part.mul_(2)


@pytest.mark.parametrize("name", PARTS)
def test_several_views_without_gradients_are_written(name: str) -> None:
    def run(lib: Any) -> list[Any]:
        y = leaf(lib).detach()
        parts = PARTS[name](y)
        parts[0].mul_(2)
        parts[1].add_(parts[0])
        return [y, *parts]

    agree(run)


@pytest.mark.parametrize("name", ["tensor_split", "hsplit"])
def test_slices_of_one_call_are_written_with_gradients(name: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = leaf(lib)
        y = x * 2
        getattr(y, name)(3 if name == "hsplit" else 2)[1].mul_(3)
        return [y, *squares(lib, y, x)]

    agree(run)


@pytest.mark.parametrize(
    ("name", "argument"), [("unsafe_split", 1), ("unsafe_chunk", 2), ("unsafe_split_with_sizes", [1, 1])]
)
def test_unsafe_parts_are_written_apart(name: str, argument: Any) -> None:
    def run(lib: Any) -> list[Any]:
        x = leaf(lib)
        y = x * 2
        parts = getattr(y, name)(argument)
        parts[0].add_(1)
        return [lib.tensor(y._version), *parts, *squares(lib, lib.stack(parts), x)]

    agree(run)


def test_a_second_derivative_goes_through_a_write_into_a_reversed_view() -> None:
    """PyTorch has no such views: x[::-1].mul_(w) is x * w.flip(0)."""

    def run(lib: Any) -> list[Any]:
        x = lib.arange(1.0, 6.0, dtype=lib.float64).requires_grad_(True)
        w = lib.arange(2.0, 7.0, dtype=lib.float64).requires_grad_(True)
        if lib is torch:
            y = (x * 2) * (w * w).flip(0)
        else:
            y = x * 2
            y[::-1].mul_(w * w)
        return [y, *squares(lib, y, x, w)]

    agree(run)


COMPLEX_WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda lib, y: y.real.mul_(2),
    "imag by itself": lambda lib, y: y.imag.mul_(y.imag.clone()),
    "real by imag": lambda lib, y: y.real.mul_(y.imag.clone()),
    "a window of real": lambda lib, y: y.real[1:].mul_(y.imag[:1].clone()),
    "view_as_real": lambda lib, y: lib.view_as_real(y)[:, 1].add_(y.real.clone()),
    "real set": lambda lib, y: setattr(y, "real", y.imag.clone()),
    "of the transpose": lambda lib, y: y.reshape(1, -1).t().real.mul_(3),
}


@pytest.mark.parametrize("name", COMPLEX_WRITES)
def test_parts_of_complex_numbers_are_written_with_gradients(name: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = lib.tensor([1.0 + 2.0j, 3.0 - 1.0j], dtype=lib.complex128).requires_grad_(True)
        y = x * (1 + 1j)
        COMPLEX_WRITES[name](lib, y)
        (first,) = lib.autograd.grad((y * y.conj() * y).real.sum(), x, create_graph=True)
        (second,) = lib.autograd.grad((first * first).real.sum(), x)
        return [y, first, second]

    agree(run)


def test_a_stale_part_reads_its_base_again() -> None:
    def run(lib: Any) -> list[Any]:
        x = lib.tensor([1.0 + 2.0j, 3.0 - 1.0j], dtype=lib.complex128).requires_grad_(True)
        y = x * 1
        part = y.real
        y.mul_(2j)
        return [part, *lib.autograd.grad((part * part).sum(), x)]

    agree(run)


def test_complex_numbers_are_written_on_a_real_base() -> None:
    def run(lib: Any) -> list[Any]:
        r = lib.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=lib.float64).requires_grad_(True)
        w = lib.tensor([1.0 + 1.0j, 2.0 - 1.0j], dtype=lib.complex128).requires_grad_(True)
        a = r * 2
        lib.view_as_complex(a).mul_(w)
        first = lib.autograd.grad((a**3).sum(), (r, w), create_graph=True)
        second = lib.autograd.grad((first[0] ** 2).sum() + (first[1] * first[1]).real.sum(), (r, w))
        return [a, *first, *second]

    agree(run)


BASES: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda lib, x: x * 2,
    "columns": lambda lib, x: (x * 2).t(),
    "some columns": lambda lib, x: (x * 2)[:, 1:3],
    "later rows": lambda lib, x: (x * 2)[1:],
    "every other column": lambda lib, x: (x * 2)[:, ::2],
    "column-major": lambda lib, x: lib.empty_strided((3, 4), (1, 3), dtype=lib.float64).copy_(x * 2),
}
STRIDED: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "vector": ((3,), (2,)),
    "matrix": ((2, 2), (3, 1)),
    "overlapping": ((3, 2), (1, 1)),
    "diagonal": ((2,), (5,)),
}


@pytest.mark.parametrize("window", STRIDED)
@pytest.mark.parametrize("base", BASES)
def test_as_strided_differentiates_by_its_input_s_own_strides(base: str, window: str) -> None:
    size, stride = STRIDED[window]

    def run(lib: Any) -> list[Any]:
        x = lib.arange(12.0, dtype=lib.float64).reshape(3, 4).requires_grad_(True)
        y = BASES[base](lib, x)
        return [y, *squares(lib, y.as_strided(size, stride), x)]

    agree(run)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "transposed back": lambda lib, y: y.t()[1, ::2].mul_(3),
    "diagonal": lambda lib, y: y.diagonal().mul_(3),
    "row": lambda lib, y: y[1].mul_(3),
    "column": lambda lib, y: y[:, 1].mul_(3),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("change", ["t_", "empty_strided", "as it is"])
def test_a_base_that_is_not_row_major_is_written_through_views(change: str, write: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = lib.arange(9.0, dtype=lib.float64).reshape(3, 3).requires_grad_(True)
        y = x * 2
        if change == "t_":
            y.t_()
        elif change == "empty_strided":
            memory = lib.empty_strided((3, 3), (1, 3), dtype=lib.float64)
            memory.copy_(y)
            y = memory
        WRITES[write](lib, y)
        return [y, *squares(lib, y, x)]

    agree(run)


def test_a_transposed_base_is_written_as_one_row() -> None:
    """`y.t().reshape(-1)` is a view here, with strides that mix both dims of y."""

    def run(lib: Any) -> list[Any]:
        x = lib.arange(6.0, dtype=lib.float64).reshape(2, 3).requires_grad_(True)
        y = x * 2
        y.t_()
        y.t().reshape(-1)[1::2].mul_(3)
        return [y, *squares(lib, y, x)]

    agree(run)


def test_a_reversed_column_major_base_is_written_through_a_diagonal() -> None:
    x = tenora.arange(9.0, dtype=tenora.float64).reshape(3, 3).requires_grad_(True)
    y = tenora.empty_strided((3, 3), (1, 3), dtype=tenora.float64)
    y.copy_(x)
    y[::-1].diagonal().mul_(3)
    (gradient,) = tenora.autograd.grad(y.sum(), x)
    assert gradient.tolist() == [[1.0, 1.0, 3.0], [1.0, 3.0, 1.0], [3.0, 1.0, 1.0]]


@pytest.mark.parametrize("base", BASES)
def test_as_strided_scatter_writes_where_pytorch_writes(base: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = lib.arange(12.0, dtype=lib.float64).reshape(3, 4)
        y = BASES[base](lib, x)
        src = -lib.ones(2, 2, dtype=lib.float64)
        found = [lib.as_strided_scatter(y, src, (2, 2), (4, 1), offset) for offset in (None, 1, 5)]
        return [y, *found]

    agree(run)


def test_unsafe_parts_take_names_and_tell_of_wrong_arguments(backend: str) -> None:
    x = tenora.arange(4)
    assert [part.tolist() for part in tenora.unsafe_chunk(x, chunks=2, dim=0)] == [[0, 1], [2, 3]]
    assert [part.tolist() for part in x.unsafe_split(split_size=3)] == [[0, 1, 2], [3]]
    with pytest.raises(TypeError, match=r"\[unsafe_chunk\] chunks is wrong: got ndarray, expected int"):
        tenora.unsafe_chunk(x, np.zeros(2))
