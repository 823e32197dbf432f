"""Where tenora's ops differ from PyTorch's on purpose: every list that a comparison excuses, and docs/differences.md.

- The tests import their lists from here (those of edges of a dtype: edge_differences.py), and what no longer differs
  must leave its list there. test_differences.py keeps lists out of the tests, and the page in step with the lists.
- Run `python tests/any_backend/differences_page.py` after a change: it writes the page.
"""

from __future__ import annotations

from edge_differences import each

from tenora_ops.samples import ALL, COMPLEX, HALVES, INTEGERS, REALS, SIGNED, UNSIGNED

Where = dict[tuple[str, str], str]

# ---- values, gradients, second gradients (test_ops_parity.py) ------------------------------------------------------

#: By op and dtype; the reason is printed with the count.
VALUES: Where = {
    (name, "uint8"): "PyTorch keeps uint8 where every other dtype gives bool" for name in ("all", "any")
}
VALUES |= {(name, "float64"): "PyTorch's trigamma has 9 digits" for name in ("digamma", "polygamma")}
VALUES |= {
    (f"special_{name}", dtype): "PyTorch's Bessel and Airy functions lose digits where they oscillate"
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")
    for dtype in (*INTEGERS, *REALS)
}
VALUES |= {
    (name, dtype): "factors have a free sign, phase or order, which tenora fixes (test_linalg.py)"
    for name in ("linalg_eigh", "linalg_svd", "svd", "linalg_eig", "linalg_eigvals")
    for dtype in ("float32", "float64", *COMPLEX)
}
VALUES |= {
    ("cholesky_inverse", dtype): "PyTorch takes the samples' diagonal for real, as that of a factor is"
    for dtype in COMPLEX
}
#: Results without elements whose shape PyTorch does not work out.
EMPTY_RESULTS = {"pixel_unshuffle": "PyTorch answers an empty input with its own shape"}
#: Gradients that mean something else; the values are compared.
GRADIENTS = {
    "as_strided_scatter": "PyTorch's fails its own gradcheck",
    "ctc_loss": "PyTorch's is that of the logits before log_softmax, and fails its own gradcheck",
    "cholesky_solve": "PyTorch's fills the triangle that is not read (test_linalg_torch.py)",
    "cholesky_inverse": "PyTorch's fills the triangle that is not read (test_linalg_torch.py)",
}
#: Second gradients that PyTorch rounds on purpose; the first ones are compared.
SECOND_GRADIENTS = {
    "binary_cross_entropy": "PyTorch adds 1e-12 to x (1 - x)",
    "lgamma": "PyTorch's trigamma has 9 digits",
    "mvlgamma": "PyTorch's trigamma has 9 digits",
}
#: Gradients of which PyTorch has a derivative, and tenora none (test_gradients_of_gradients_torch.py).
NO_DERIVATIVE = dict.fromkeys(
    ("orgqr", "linalg_householder_product"),
    "PyTorch's derivative of a factor's gradient by the factor itself is 0",
)

# ---- 0-d, empty, one more dim (test_ops_edges_torch.py) ------------------------------------------------------------

NO_CHANNELS = "PyTorch's result has no channels either; here it has the weight's, as its documentation says"
#: What PyTorch takes and tenora refuses, by op and edge; what is taken after all must leave it.
REFUSED_EDGES: Where = {
    ("adjoint", "0-d"): "PyTorch's adjoint of a number is deprecated",
    ("index_add", "empty"): "PyTorch reads no index of a tensor without elements",
    ("cholesky", "empty"): "PyTorch takes matrices that are not square where they have no rows",
}

#: Edges at which PyTorch's results or gradients are left to chance, or wrong.
EDGES: Where = {
    **each([f"conv{n}d{form}" for n in (1, 2) for form in ("", "_padding")], ["empty"], NO_CHANNELS),
    ("multilabel_margin_loss", "empty"): "PyTorch returns memory that nobody wrote",
    ("bincount", "empty"): "PyTorch answers with integers, whatever the weights",
    ("pixel_unshuffle", "empty"): EMPTY_RESULTS["pixel_unshuffle"],
    ("pixel_unshuffle", "taller"): EMPTY_RESULTS["pixel_unshuffle"],
    ("group_norm", "empty"): "PyTorch's gradient of the weight is 0 where it is 0 / 0",
    ("block_diag", "empty"): "PyTorch's gradient is a row off behind an empty vector",
    ("cosine_similarity", "0-d"): "a gradient of 0 is the difference of two equal numbers",
}


# ---- further dtypes (test_dtype_grid.py) ---------------------------------------------------------------------------

NO_WHOLE = "of whole numbers, without gradient: cast first"
ONLY_EMPTY = "PyTorch looks at the dtype only where there are elements"
NO_ORDER = "complex numbers have no order; PyTorch compares what is not documented"
WRAPS = "PyTorch's differences, products and signs of unsigned numbers wrap"
WHOLE = ("bool", *INTEGERS)
KERNELS = ("bool", "uint8", *SIGNED)  # of which PyTorch has most kernels
#: What differs, by op and dtype.
FURTHER_DTYPES: Where = {
    **each(["bilinear"], WHOLE, NO_WHOLE),
    **each(["softmax", "log_softmax", "randn", "normal_size"], WHOLE, ONLY_EMPTY),
    **each(["softmin"], KERNELS[1:], ONLY_EMPTY),
    **each(["unfold", "fold"], ["bool"], "PyTorch moves bool, and no whole numbers"),
    **each(
        [
            f"linalg_{n}"
            for n in (
                "cholesky_ex cholesky_ex_checked cholesky solve_ex solve det lu_solve svd svdvals".split()
            )
        ],
        HALVES,
        ONLY_EMPTY,
    ),
    **each(["det", "lu_solve"], HALVES, ONLY_EMPTY),
    **each(["linalg_matrix_exp", "matrix_exp"], HALVES, "powers of halves have few digits: cast first"),
    **each(
        ["cholesky", "linalg_eigh", "linalg_eigvalsh", "linalg_lu_factor_ex"], (*WHOLE, *HALVES), ONLY_EMPTY
    ),
    **each([f"adaptive_avg_pool{n}d" for n in (1, 2)], WHOLE, ONLY_EMPTY),
    **each(
        [f"adaptive_avg_pool{n}d" for n in (1, 2, 3)],
        COMPLEX,
        "PyTorch takes complex numbers where the result is one mean",
    ),
    **each([f"conv_transpose{n}d" for n in (1, 2, 3)], [d for d in KERNELS if d != "int64"], ONLY_EMPTY),
    **each([f"conv_transpose{n}d" for n in (1, 2, 3)], ["int64"], NO_WHOLE),
    **each(["normal_mean", "normal_std"], KERNELS, ONLY_EMPTY),
    **each(["bernoulli_p"], COMPLEX, ONLY_EMPTY),
    **each(
        ["bernoulli", "searchsorted", "bucketize", "soft_margin_loss"],
        COMPLEX,
        NO_ORDER,
    ),
    **each(
        [
            "trapezoid",
            "cumulative_trapezoid",
            "pairwise_distance",
            "triplet_margin_loss",
            "margin_ranking_loss",
        ],
        ["uint8"],
        WRAPS,
    ),
    **each(["cosine_embedding_loss"], UNSIGNED, WRAPS),
    **each(
        ["scatter_complex", "scatter_combined_complex"],
        [d for d in ALL if d not in ("bool", *COMPLEX)],
        ONLY_EMPTY,
    ),
    **each(["view_as_complex", "complex"], ["float16"], "there is no complex number of two float16"),
    **each(
        ["interpolate", "upsample", "upsample_bilinear"],
        ["uint8"],
        "PyTorch rounds uint8 after each dim, here once",
    ),
    **each(
        ["dropout"],
        WHOLE,
        "whole numbers times a probability are floating",
    ),
    ("square", "bool"): "PyTorch's square of bool is int64; that of a product stays bool",
    ("local_response_norm", "int64"): "PyTorch's mean of squares of int64 is cut to a whole number",
    ("linspace", "uint8"): "PyTorch counts unsigned numbers down by a step that wraps",
}


# ---- kinks (test_kinks_torch.py) -----------------------------------------------------------------------------------

#: Ops whose derivatives on kinks are others than PyTorch's.
KINKS = {
    **dict.fromkeys(["topk", "kthvalue"], "which of equal elements is taken is left open"),
    **dict.fromkeys(["div_mode", "fmod"], "PyTorch's steps have slope 0 where they are divided by 0 too"),
    "index_reduce": "PyTorch shares with the element that include_self=False left out",
    "polar": "PyTorch has no direction to grow in where the modulus is 0",
    "prelu": "PyTorch's mixed derivative at 0 is not that of its first",
    "gaussian_nll_loss": "PyTorch differentiates by what eps replaced as if it were there",
}

# ---- complex operands (test_real_only.py) --------------------------------------------------------------------------

SUMS = "sums and means are those of the parts"
MOVES = "elements are told from zero, or moved"
NOTHING = "of one element or none, where nothing is compared"
INSIDE = "runs only inside ops of its file, which judge dtypes before"
#: Ops that answer where PyTorch refuses or has no such op.
COMPLEX_OPERANDS: dict[str, str] = {
    name: reason
    for names, reason in (
        (
            [
                *[f"avg_pool{n}d{end}" for n in (1, 2, 3) for end in ("", "_backward")],
                *[f"adaptive_avg_pool{n}d_backward" for n in (1, 2, 3)],
                *["interpolate", "upsample", "upsample_nearest", "upsample_bilinear", "segment_reduce"],
                *["nansum", "nanmean", "nll_loss_backward", "embedding_bag", "scatter_fold"],
                *["feature_dropout", "sgd_step", "index_reduce"],
            ],
            SUMS,
        ),
        (["index_places", "scatter_reduced"], MOVES),
        (
            ["cummax", "cummin", "median_dim", "nanmedian_dim", "searchsorted", "bucketize", "isin"],
            NOTHING,
        ),
        (
            [
                *["softmax_backward", "log_softmax_backward"],
                *["bernoulli_of", "adam_update", "rms_norm_eps", "fft_r2c"],
            ],
            INSIDE,
        ),
        (
            [
                f"{name}_update"
                for name in ("nadam", "radam", "asgd", "rmsprop", "centered_rmsprop", "adagrad", "adadelta")
            ],
            "optimizer_step_ gives it the parts of complex numbers",
        ),
    )
    for name in names
}


# ---- pooling and resizing (test_whole_pools_torch.py), losses (test_loss_dtypes_torch.py) --------------------------

#: Op -> the dtypes that tenora answers beside PyTorch's, by reason.
EXACT = (
    "the largest element is exact in every whole dtype; PyTorch has kernels for some, by the number of dims"
)
KEEPS = "elements are moved, whatever their dtype"
LINEAR = "weights of elements are defined for complex numbers too"
HALF = "PyTorch has no half kernel in three dims"
POOLS: dict[str, tuple[tuple[str, ...], str]] = {
    "max_pool1d": (INTEGERS, EXACT),
    "max_pool2d": (UNSIGNED[1:], EXACT),
    "max_pool3d": (UNSIGNED[1:], EXACT),
    **{f"adaptive_max_pool{n}d": (INTEGERS, EXACT) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": (COMPLEX, LINEAR) for n in (1, 2)},
    "avg_pool3d": ((*HALVES, *COMPLEX), f"{LINEAR}; {HALF}"),
    "lp_pool3d": (HALVES, HALF),
    **{
        f"interpolate{n}d {mode}": (("bool", *(d for d in INTEGERS if d != "uint8"), *COMPLEX), KEEPS)
        for n in (1, 2, 3)
        for mode in ("nearest", "nearest-exact")
    },
    "interpolate1d linear": (COMPLEX, LINEAR),
    "interpolate2d bilinear": (COMPLEX, LINEAR),
    "interpolate2d bicubic": (COMPLEX, LINEAR),
    "interpolate3d trilinear": (COMPLEX, LINEAR),
}

NO_KERNEL = "PyTorch has no kernel for the input's dtype"
NO_BOOL = "PyTorch subtracts no bool tensors; here True is 1"
#: Loss -> input dtypes and target dtypes for which tenora answers and PyTorch does not.
LOSSES: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "l1_loss": (("float32", "float64", *HALVES), ("bool",), NO_BOOL),
    "kl_div": (
        ("float32", "float64", *HALVES),
        WHOLE,
        "PyTorch refuses whole numbers; here they are those numbers in floating point",
    ),
    "multi_margin_loss": (HALVES, ("int64",), NO_KERNEL),
    "multilabel_margin_loss": (HALVES, ("int64",), NO_KERNEL),
    "ctc_loss": (("bfloat16",), tuple(d for d in ALL if d not in COMPLEX), NO_KERNEL),
    "ctc_loss, lengths": (("bfloat16",), INTEGERS, NO_KERNEL),
}


# ---- without elements (test_empty_calls_torch.py) ------------------------------------------------------------------
REFUSES_ITSELF = "PyTorch's kernel reads the first channel of none"
INCONSISTENT = "PyTorch takes it in two dims, and in three where the result is one mean"
NO_PIXELS = "PyTorch's mean of no pixels is NaN; here it is refused, as for other sizes"
DEFINED = "PyTorch computes no such gradient"
#: By the start of a call's name there: of these some differ, of the others all agree.
WITHOUT_ELEMENTS: dict[str, str] = {
    **{
        f"conv{n}d: {what}, {which}": reason
        for n in (1, 2, 3)
        for what in ("no channels", "neither", "unbatched, no channels")
        for which, reason in (
            ("weight", NO_CHANNELS),
            ("bias", NO_CHANNELS),
            ("no kernel", "PyTorch takes a kernel without elements where there are no channels"),
        )
    },
    **{
        f"adaptive_avg_pool{n}d: {what}, to 1": NO_PIXELS
        for n in (1, 2, 3)
        for what in ("no pixels", "unbatched, no pixels")
    },
    **{
        f"adaptive_{kind}_pool{n}d: {what}, to 0": DEFINED
        for kind in ("max", "avg")
        for n in (1, 2, 3)
        for what in ("no batch", "unbatched", "unbatched, no channels")
    },
    **{
        f"adaptive_avg_pool{n}d: {what}, to {size}": DEFINED if n < 3 else INCONSISTENT
        for n in (1, 2, 3)
        for what in ("no channels", "neither")
        for size in (2, 0)
    },
    **{f"batch_norm: {what}": REFUSES_ITSELF for what in ("no channels", "neither")},
    **{
        f"instance_norm with weights: {what}": REFUSES_ITSELF
        for what in ("no batch", "no channels", "neither")
    },
    "group_norm: no pixels": "PyTorch's gradient of the weight is NaN; here it is a sum of nothing",
    **{
        f"lstsq, gels: {a}, {b}": "PyTorch's residuals of no columns are 0; here they are those of B"
        for a in ((3, 0), (2, 3, 0))
        for b in ((*a[:-1], 2), a[:-1])
    },
    "cdist of halves": "PyTorch has no kernel for float16 and bfloat16",
}

# ---- out= (test_out.py), numbers (test_complex_attributes_torch.py) ----
COUNTED = "the number of results depends on the call"
REFUSED_OUT = "PyTorch's own function refuses it"
#: Public functions that PyTorch documents with out= and that have none here.
WITHOUT_OUT = {
    **dict.fromkeys(["histogram", "histogramdd"], COUNTED),
    **dict.fromkeys(["empty_like", "zeros_like", "ones_like", "full_like"], REFUSED_OUT),
}
#: Calls with a complex number that is a real one which tenora takes and PyTorch does not.
COMPLEX_NUMBERS = {
    "addmm, beta": "PyTorch refuses the complex beta of an input that broadcasts, and takes that of others",
    "clamp": "PyTorch takes a complex bound of floating elements, and refuses that of whole numbers",
}
