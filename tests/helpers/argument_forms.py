"""Arguments that the samples of the records leave at their defaults: further calls, hints, and reasons.

- `FORMS`: calls of a record with other values, compared with PyTorch (tests/any_backend/test_argument_forms_torch.py).
- `HINTS`: arguments that may not change a result, with another value.
- `SAID`: what else judges an argument, or why it cannot be tried.
- `unvaried(record)`: the arguments with a default that no sample varies; each must be in one of the three
  (tests/core/test_argument_forms.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenora_ops.record import Record
from tenora_ops.samples import Domain, Draw, Sample, Seed, sample
from tenora_ops.schema import REQUIRED

Forms = Callable[[Draw], list[Sample]]
SQUARE = Domain(-2.0, 2.0)


def regular(draw: Draw, *shape: int) -> Any:
    """Matrices with a dominant diagonal."""
    x = draw.array(*shape, domain=SQUARE)
    n = min(shape[-2:])
    diagonal = np.zeros(shape[-2:], x.dtype)
    diagonal[np.arange(n), np.arange(n)] = 6
    return x + diagonal


def symmetric(draw: Draw, n: int) -> Any:
    x = regular(draw, n, n)
    return x + np.swapaxes(x.conj(), -1, -2)


def deficient(draw: Draw, n: int) -> Any:
    """Of singular values near 12 and 1e-3 but for the last, which is 0."""
    q, _ = np.linalg.qr(regular(draw, n, n).astype(complex if draw.is_complex else float))
    values = np.array([12.0, *[0.5] * (n - 3), 1e-3, 0.0])
    return (q * values @ q.conj().T).astype(draw.array().dtype)


def tolerance(draw: Draw) -> Any:
    """A tensor of one number, between the large singular values of `deficient` and the small."""
    return np.full((), 0.01, draw.array(1).real.dtype)


def norms(*arguments: Any) -> Forms:
    """The same norm of a matrix, accumulated in a wider dtype."""

    def made(draw: Draw) -> list[Sample]:
        wide = "complex128" if draw.is_complex else "float64"
        return [sample(draw.array(3, 4), *arguments, dtype=wide)]

    return made


def drawn_twice(*arguments: Any, **options: Any) -> Forms:
    return lambda draw: [
        sample(draw.array(3, 4), *arguments, **options),
        sample(draw.array(2, 3, 4), *arguments, **options),
    ]


def ratios(n: int) -> Forms:
    """Fractional pools that are told how much smaller to become."""
    return lambda draw: [
        sample(
            draw.array(1, 2, *[6] * n),
            2,
            output_ratio=(0.5,) * n,
            _random_samples=draw.array(1, 2, n, domain=Domain(0.0, 0.99)),
        )
    ]


FORMS: dict[str, Forms] = {
    **{
        name: lambda draw: [sample(draw.array(2, 3), dtype=d) for d in ("int16", "float64")]
        for name in ("zeros_like", "ones_like", "empty_like")
    },
    "full_like": lambda draw: [sample(draw.array(2, 3), 2, dtype=d) for d in ("int16", "float64")],
    "norm": norms(3.0, 1),
    "norm_name": norms("fro", (0, 1)),
    "linalg_vector_norm": norms(3.0, 1),
    "linalg_matrix_norm": norms(1.0),
    "linalg_matrix_norm_str": norms("fro"),
    "linalg_norm": norms(1.0),
    "linalg_norm_str": norms("fro"),
    "prod": drawn_twice(0, dtype="float64"),
    "cumsum": drawn_twice(-1, dtype="float64"),
    "cumprod": drawn_twice(-1, dtype="float64"),
    "repeat_interleave": lambda draw: [
        sample(draw.array(3), 2, output_size=6),
        sample(draw.array(2, 3), 2, 1, output_size=6),
    ],
    "repeat_interleave_by": lambda draw: [sample(draw.array(3), np.array([2, 0, 3]), 0, output_size=5)],
    "repeat_interleave_places": lambda draw: [
        sample(np.array([2, 0, 3]).astype(draw.array().dtype), output_size=5)
    ],
    "searchsorted": lambda draw: [
        sample(draw.array(6), draw.array(4), sorter=np.arange(6)),
        *[
            sample(x, draw.array(2, 3), sorter=np.argsort(x.astype(float), -1, "stable"), right=True)
            for x in (draw.array(2, 5),)
        ],
    ],
    "allclose": lambda draw: [
        sample(
            np.array([100, 50]).astype(draw.array().dtype), np.array([102, 49]).astype(draw.array().dtype), r
        )
        for r in (0.1, 0.001)
    ],
    "softplus": drawn_twice(2.0, 1.5),
    "smooth_l1_loss": lambda draw: [sample(draw.array(3, 4), draw.array(3, 4), beta=b) for b in (0.25, 2.0)],
    "poisson_nll_loss": lambda draw: [sample(draw.array(3, 4), draw.array(3, 4), False, eps=0.25)],
    "gaussian_nll_loss": lambda draw: [sample(*(draw.array(3, 4) for _ in range(3)), eps=2.25)],
    "triplet_margin_loss": lambda draw: [sample(*(draw.array(3, 4) for _ in range(3)), eps=0.25)],
    "istft": lambda draw: [
        sample(draw.array(3, 5), 4, 2, 3, np.array([0.5, 1.0, 0.75]).astype(draw.array().real.dtype)),
        sample(
            draw.array(4, 5),
            *(4, 1),
            window=np.array([0.5, 1, 1, 0.5]).astype(draw.array().dtype),
            onesided=False,
            return_complex=True,
        ),
    ],
    "fft_fftfreq": lambda draw: [sample(5, 0.5, dtype="float64")],
    "fft_rfftfreq": lambda draw: [sample(5, 0.5, dtype="float64")],
    "fractional_max_pool2d": ratios(2),
    "fractional_max_pool3d": ratios(3),
    "fractional_max_pool2d_with_indices": ratios(2),
    "fractional_max_pool3d_with_indices": ratios(3),
    "nonzero_static": lambda draw: [sample(draw.array(2, 3), size=9, fill_value=7)],
    "lu_unpack": lambda draw: [
        sample(regular(draw, 3, 3), np.array([2, 3, 3], np.int32), data, pivots)
        for data, pivots in ((True, False), (False, True))
    ],
    "linalg_tensorsolve": lambda draw: [
        sample(regular(draw, 6, 6).reshape(2, 6, 3), draw.array(2, 3), (1,)),
    ],
    "linalg_matrix_rank": lambda draw: [
        sample(deficient(draw, 4), **options)
        for options in (
            {"rtol": 0.01},
            {"atol": 0.01},
            {"atol": 0.75, "rtol": 0.0},
            {"hermitian": True, "rtol": 0.01},
        )
    ],
    "linalg_matrix_rank_tol": lambda draw: [sample(deficient(draw, 4), 0.01, True)],
    "linalg_pinv": lambda draw: [
        sample(symmetric(draw, 3), hermitian=True),
        sample(regular(draw, 4, 3), atol=0.001),
        sample(regular(draw, 4, 3), atol=0.0, rtol=0.001),
    ],
    "linalg_matrix_rank_by": lambda draw: [sample(deficient(draw, 4), atol=tolerance(draw), hermitian=True)],
    "linalg_matrix_rank_tol_by": lambda draw: [sample(deficient(draw, 4), tolerance(draw), True)],
    "linalg_pinv_by": lambda draw: [sample(symmetric(draw, 3), atol=tolerance(draw), hermitian=True)],
    "linalg_pinv_rcond": lambda draw: [sample(symmetric(draw, 3), 0.001, True)],
    "pinverse": lambda draw: [sample(regular(draw, 4, 3), 0.001)],
    "linalg_lstsq": lambda draw: [
        sample(regular(draw, 4, 3), draw.array(4, 2), 0.001, driver="gelsd"),
        sample(regular(draw, 4, 3), draw.array(4, 2), driver="gels"),
    ],
    "triangular_solve": lambda draw: [
        sample(draw.array(3, 2), regular(draw, 3, 3), *flags)
        for flags in ((False,), (True, True), (False, True, True), (True, False, True))
    ],
    "linalg_solve_ex": lambda draw: [sample(regular(draw, 3, 3), draw.array(2, 3), left=False)],
    "linalg_lu_solve": lambda draw: [
        sample(regular(draw, 3, 3), np.array([2, 3, 3], np.int32), draw.array(3, 2), adjoint=True),
        sample(regular(draw, 3, 3), np.array([2, 3, 3], np.int32), draw.array(2, 3), left=False),
    ],
}

#: Another value of an argument that leaves the result as it is.
HINTS: dict[tuple[str, str], Any] = {
    ("topk", "sorted"): False,
    ("unique", "sorted"): False,
    ("isin", "assume_unique"): False,
    ("to", "non_blocking"): True,
    ("copy", "non_blocking"): True,
    ("gumbel_softmax", "eps"): 1e-6,
    ("batch_norm", "momentum"): 0.5,
    ("instance_norm", "momentum"): 0.5,
    ("cdist", "compute_mode"): "donot_use_mm_for_euclid_dist",
    ("linalg_cholesky_ex", "check_errors"): True,
    ("linalg_lu_factor_ex", "check_errors"): True,
    ("linalg_solve_ex", "check_errors"): True,
    ("linalg_inv_ex", "check_errors"): True,
    ("linalg_svd", "driver"): "gesvd",
    ("linalg_svdvals", "driver"): "gesvd",
    ("segment_reduce", "unsafe"): True,
}

NO_PIVOTS = "PyTorch's CPU has none: test_argument_forms.py, test_factors_without_pivots"
ONE_FORM = "the frontend's function of this name turns it into the other record"
SAID: dict[tuple[str, str], str] = {
    ("linalg_pinv_within", "hermitian"): "no public op; that of linalg_pinv_by calls it",
    ("scaled_dot_product_attention", "dropout_p"): "test_random.py: what is dropped",
    ("svd", "some"): "test_linalg_torch.py: factors have a free phase",
    ("svd", "compute_uv"): "test_linalg_torch.py: factors have a free phase",
    ("lu", "get_infos"): ONE_FORM,
    **{
        (name, "pivot"): NO_PIVOTS
        for name in (
            "linalg_lu_factor_ex",
            "linalg_lu_factor_ex_checked",
            "linalg_lu_factor",
            "linalg_lu",
            "lu",
        )
    },
    ("pad", "mode"): "the other modes are records of their own, which nn.functional.pad calls",
    (
        "embedding_bag",
        "scale_grad_by_freq",
    ): "PyTorch divides by counts of other rows: test_argument_forms.py",
    **{
        (f"fractional_max_pool{n}d{form}", "return_indices"): ONE_FORM
        for n in (2, 3)
        for form in ("", "_with_indices")
    },
    ("median_all", "dim"): "internal: PyTorch's median without a dim has none",
    ("nanmedian_all", "dim"): "internal: PyTorch's nanmedian without a dim has none",
    ("segment_reduce", "indices"): "refused, as PyTorch refuses it (test_segments.py)",
}


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray | list | Seed):
        return False
    both_numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (value, default))
    return bool(value == default) and (both_numbers or type(value) is type(default))


def unvaried(record: Record) -> set[str]:
    """The parameters with a default that every sample leaves there, in all dtypes.

    `device` is no such: creation functions are called with the device of the backend being judged.
    """
    parameters = record.schema.parameters
    left = {
        p.name: p.default for p in parameters if p.default is not REQUIRED and not p.type.startswith("device")
    }
    places = [p.name for p in parameters if not p.keyword_only]
    for dtype in record.dtypes:
        for drawn in record.samples(Draw(dtype, record.domain, record.name)):
            given = dict(zip(places, drawn.arguments, strict=False)) | drawn.options
            for name, value in given.items():
                if name in left and not _same(value, left[name]):
                    del left[name]
        if not left:
            break
    return set(left)
