"""Mistakes whose messages once came from deep inside: each names the op and what it got. Found by `ci/fuzz_ops.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenora
from tenora.nn import functional

api: Any = tenora
PAIR = np.zeros(2)  # has an __index__ that fails


def f(*shape: int) -> Any:
    return api.ones(*shape)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "chunk by a float": (lambda: f(2, 3).chunk(2.0), TypeError, r"\[chunk\] chunks is wrong: got float"),
    "split by a function": (
        lambda: f(2, 3).split(len),
        TypeError,
        r"\[split\] split_size_or_sections is wrong",
    ),
    "split_with_sizes by a number": (
        lambda: api.split_with_sizes(f(3), 4),
        TypeError,
        r"\[split_with_sizes\]",
    ),
    "unbind along a slice": (
        lambda: f(2, 3).unbind(slice(None)),
        TypeError,
        r"\[unbind\] dim is wrong: got slice",
    ),
    "unique along a complex dim": (
        lambda: api.unique(f(2, 2), dim=1j),
        TypeError,
        r"\[unique\] dim is wrong",
    ),
    "tensordot over one list": (
        lambda: api.tensordot(f(2), f(2), ([0],)),
        TypeError,
        r"\[tensordot\] dims",
    ),
    "tensordot over nothing": (lambda: api.tensordot(f(2), f(2), []), TypeError, r"\[tensordot\] dims"),
    "tensordot over a tensor of numbers": (
        lambda: api.tensordot(f(2), f(2), f(2)),
        TypeError,
        r"\[tensordot\] dims",
    ),
    "cartesian_prod of None": (lambda: api.cartesian_prod(None), TypeError, r"\[cartesian_prod\]"),
    "hstack of nothing": (lambda: api.hstack([]), RuntimeError, r"\[hstack\] tensors: got none"),
    "column_stack of nothing": (lambda: api.column_stack([]), RuntimeError, r"\[column_stack\]"),
    "histogram over a number": (
        lambda: api.histogram(f(3), 2, range=5),
        RuntimeError,
        r"\[histogram\] range",
    ),
    "interpolate by a complex factor": (
        lambda: functional.interpolate(f(1, 2, 3), scale_factor=1j),
        TypeError,
        r"\[interpolate\] scale_factor is wrong: got complex",
    ),
    "adaptive pool to too many sizes": (
        lambda: functional.adaptive_max_pool1d(f(1, 2, 5), [3, 3]),
        RuntimeError,
        r"\[adaptive_max_pool1d\]",
    ),
    "adaptive pool to None and too few": (
        lambda: functional.adaptive_avg_pool2d(f(1, 2, 5, 5), [None]),
        RuntimeError,
        r"\[adaptive_avg_pool2d\] output_size",
    ),
    "adaptive pool of a vector": (
        lambda: functional.adaptive_avg_pool2d(f(9), 2),
        RuntimeError,
        r"wrong rank",
    ),
    "embedding from a number": (
        lambda: functional.embedding(f(2).long(), f()[...], 0),
        RuntimeError,
        r"\[embedding\] weight: got \(\)",
    ),
    "unique along a dim too many": (
        lambda: api.unique(f(2, 0), dim=7),
        IndexError,
        r"\[unique\] dimension out",
    ),
    "isin of two numbers": (lambda: api.isin(1, 2), TypeError, r"\[isin\] elements: got two numbers"),
    "a complex quantile": (lambda: api.quantile(f(3), 1j), RuntimeError, r"\[quantile\] q: got 1j"),
    "a degree of minus infinity": (
        lambda: api.special.hermite_polynomial_h(f(3), float("-inf")),
        RuntimeError,
        r"\[special.hermite_polynomial_h\] degree n: got -inf",
    ),
    "interpolate to infinity": (
        lambda: functional.interpolate(f(1, 2, 3), float("inf")),
        TypeError,
        r"\[interpolate\] size: got inf",
    ),
    "interpolate by a tensor": (
        lambda: functional.interpolate(f(1, 2, 3), 3, f(9, 9)),
        TypeError,
        r"\[interpolate\] size and scale_factor: got a tensor",
    ),
    "lstsq of bools": (
        lambda: api.linalg.lstsq(f(2, 2).bool(), f(2, 2).bool()),
        RuntimeError,
        r"\[linalg.lstsq\]",
    ),
    "vander of a number": (lambda: api.vander(f()), RuntimeError, r"\[vander\] rank of x: got 0"),
    "vander of columns without end": (
        lambda: api.vander(f(0), N=2**63 - 1),
        RuntimeError,
        r"\[vander\] N: got 9223372036854775807, expected at most",
    ),
    "tensorsolve along dims that are not there": (
        lambda: api.linalg.tensorsolve(f(), f(3), [2, -1]),
        IndexError,
        r"\[linalg.tensorsolve\] dimension out of range",
    ),
    "lu_solve with a vector": (
        lambda: api.lu_solve(f(2), f(2, 2), f(2).int()),
        RuntimeError,
        r"\[linalg.lu_solve\] not a matrix",
    ),
    "lu_solve with other pivots": (
        lambda: api.lu_solve(f(2, 1), f(2, 2), f(3).int()),
        RuntimeError,
        r"\[linalg.lu_solve\] shape of pivots",
    ),
    "cholesky_inverse of a number": (
        lambda: api.cholesky_inverse(f()),
        RuntimeError,
        r"\[cholesky_inverse\]",
    ),
    "histogram by a number as a tensor": (
        lambda: api.histogram(f(3), f()),
        RuntimeError,
        r"\[histogram\] bins: got edges of shape \(\)",
    ),
    "histogramdd of a number": (
        lambda: api.histogramdd(f(), [2]),
        RuntimeError,
        r"\[histogramdd\] wrong number of dim",
    ),
    "attention of vectors": (
        lambda: functional.scaled_dot_product_attention(f(1), f(1, 2), f(2, 1), None, 0.5, True),
        RuntimeError,
        r"\[scaled_dot_product_attention\] wrong number of dimensions",
    ),
    "logspace from a text": (
        lambda: api.logspace("1", 2, 3),
        TypeError,
        r"\[logspace\] start is wrong: got str",
    ),
    "whole numbers up to infinity": (
        lambda: api.linspace(1, float("inf"), 3, dtype=api.int32),
        RuntimeError,
        r"\[linspace\] an end is wrong: got inf",
    ),
    "split by an infinite size": (lambda: api.split(f(3), (1, float("inf"))), TypeError, r"\[split\]"),
    "a keyword that no text can spell": (
        lambda: api.relu(f(3), **{"\ud800": 1}),
        TypeError,
        r"\[relu\] unknown keyword '.{1,2}ud800'",
    ),
    "a keyword of from_numpy that no text can spell": (
        lambda: api.from_numpy(PAIR, **{"\ud800": 1}),
        TypeError,
        "unexpected keyword",
    ),
    "objects through DLPack": (
        lambda: api.from_dlpack(np.array([None])),
        BufferError,
        r"\[from_dlpack\] the producer refuses",
    ),
    "self as a keyword": (lambda: api.block_diag(f(2), self=3), TypeError, r"\[block_diag\] type: .*'self'"),
    "resize_ by a list among numbers": (
        lambda: f(3).resize_(2, [3]),
        TypeError,
        r"\[resize_\] size: got int, list",
    ),
    "fftshift of a dim too many": (lambda: api.fft.fftshift(f(3), 1), IndexError, r"\[fft.fftshift\]"),
    "affine_grid without a size": (
        lambda: functional.affine_grid(f(2, 2, 3), None),
        TypeError,
        r"\[affine_grid\] size is wrong: got NoneType",
    ),
    "lu_unpack of a vector": (lambda: api.lu_unpack(f(3), f(3)), RuntimeError, r"\[lu_unpack\] not a matrix"),
    "lu_unpack of pivots that do not fit": (
        lambda: api.lu_unpack(f(3, 3), f(2).int()),
        RuntimeError,
        r"\[lu_unpack\] shape of LU_pivots",
    ),
    "svd of a vector": (lambda: api.svd(f(3), compute_uv=False), RuntimeError, r"\[svd\] not a matrix"),
    "orgqr without room for tau": (lambda: api.orgqr(f(3, 3), f(4)), RuntimeError, r"shape of tau"),
    "orgqr of a tau of another rank": (lambda: api.orgqr(f(2, 3, 3), f(3)), RuntimeError, r"shape of tau"),
    "ormqr on a vector": (lambda: api.ormqr(f(3, 3), f(3), f(3)), RuntimeError, r"\[ormqr\] not a matrix"),
    "eigh of no triangle": (
        lambda: api.linalg.eigh(f(2, 2), ""),
        RuntimeError,
        r"\[linalg.eigh\] UPLO: got ''",
    ),
    "polynomial of two numbers": (
        lambda: api.special.shifted_chebyshev_polynomial_t(0.5, 3),
        TypeError,
        r"\[special.shifted_chebyshev_polynomial_t\] input and n",
    ),
    "an array for a dim": (
        lambda: f(2, 3).flatten(PAIR),
        TypeError,
        r"\[flatten\] start_dim is wrong: got ndarray",
    ),
    "an array for sizes": (
        lambda: api.fft.rfft2(f(3, 3), PAIR),
        TypeError,
        r"\[rfft2\] s is wrong: got ndarray",
    ),
    "a format that is no text": (
        lambda: f(2).__format__(3),
        TypeError,
        r"\[format\] format is wrong: got int",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_names_the_op(backend: str, mistake: str) -> None:
    call, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=text):
        call()


def test_no_combination_of_very_many(backend: str) -> None:
    """Nothing of that length is made on the way."""
    assert api.combinations(f(0), 2**31).shape == (0, 2**31)


def test_flags_of_unique_may_be_any_number(backend: str) -> None:
    """They ask for a result; they do not count how often."""
    assert len(api.unique(f(3), return_counts=2**31)) == 2


def test_scatter_of_no_index_takes_any_src(backend: str) -> None:
    """PyTorch looks at src only where there is something to write."""
    none = api.zeros(0, 4, dtype=api.int64)
    for op in (api.scatter, api.scatter_add):
        assert op(f(3, 4), 0, none, f(0, 1, 4)).tolist() == f(3, 4).tolist()
    for dim in (0, 1):
        assert api.gather(f(3, 4), dim, api.zeros(0, dtype=api.int64)).shape == (0,)


@pytest.mark.parametrize(
    "op", ["svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "matrix_rank", "pinv", "cond"]
)
def test_infinite_matrices_are_refused(backend: str, op: str, capfd: pytest.CaptureFixture[str]) -> None:
    """LAPACK never ended, or printed, at some of them."""
    for number in (float("inf"), float("nan")):
        matrix = api.eye(3)
        matrix[2, 1] = number
        with pytest.raises(RuntimeError, match=r"\[linalg.*(converge|infinite|NaN)"):
            getattr(api.linalg, op)(matrix)
    assert capfd.readouterr().out == ""


def test_the_triangle_that_is_not_read_may_hold_anything(backend: str) -> None:
    matrix = api.eye(3)
    matrix[1, 2] = float("nan")
    assert api.linalg.eigvalsh(matrix).tolist() == [1.0, 1.0, 1.0]
    assert api.linalg.eigh(matrix.t(), "U")[0].tolist() == [1.0, 1.0, 1.0]
