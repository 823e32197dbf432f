"""The rows of `bench.ops`: op record, and the call that stands for it."""

from __future__ import annotations

from bench.op_cases import Array, Row, normal, positive, unit, whole

PLAIN = (256, 1024)  # elements of pointwise ops
IMAGE = (16, 32, 32, 32)
STATISTICS = (Array((32,), constant=True), Array((32,), "positive", constant=True))
F = "nn.functional."


def _pointwise() -> dict[str, Row]:
    rows = {}
    for name in (
        "silu softplus leaky_relu elu hardtanh relu6 hardsigmoid hardswish hardshrink softshrink celu selu logsigmoid "
        "mish softsign tanhshrink glu"
    ).split():
        rows[name] = Row(F + name, (normal(*PLAIN),))
    for name in (
        "isinf isfinite asinh atanh deg2rad rad2deg sinc signbit lgamma digamma erfc erfinv i0 sgn frac positive "
        "isposinf isneginf isreal log2 log10 log1p expm1 exp2 tan sinh cosh atan asin acos nan_to_num "
        "special.i1 special.ndtr special.log_ndtr special.ndtri special.erfcx special.entr special.i0e special.i1e "
        "logit relu sigmoid gelu square reciprocal rsqrt"
    ).split():
        record = name.rsplit(".", 1)[-1]
        rows[record] = Row(F + name if name == "gelu" else name, (unit(*PLAIN),))
    rows["acosh"] = Row("acosh", (Array(PLAIN, "positive"),), compared=False)
    for name in (
        "hypot logaddexp logaddexp2 xlogy copysign heaviside nextafter igamma igammac fmod fmax fmin isclose "
        "special.xlog1py special.zeta"
    ).split():
        rows[name.rsplit(".", 1)[-1]] = Row(name, (positive(*PLAIN), positive(*PLAIN)))
    rows["zeta"] = Row("special.zeta", (Array(PLAIN, "positive"), positive(*PLAIN)), compared=False)
    rows["gcd"] = Row("gcd", (whole(1000, *PLAIN), whole(1000, *PLAIN)))
    rows["ldexp"] = Row("ldexp", (normal(*PLAIN), whole(5, *PLAIN)))
    rows["clamp"] = Row("clamp", (normal(*PLAIN), -0.5, 0.5))
    rows["lerp"] = Row("lerp", (normal(*PLAIN), normal(*PLAIN), 0.3))
    rows["addcmul"] = Row("addcmul", (normal(*PLAIN), normal(*PLAIN), normal(*PLAIN)))
    rows["addcdiv"] = Row("addcdiv", (normal(*PLAIN), normal(*PLAIN), positive(*PLAIN)))
    rows["add_alpha"] = Row("add", (normal(*PLAIN), normal(*PLAIN)), {"alpha": 2.0})
    rows["prelu"] = Row(F + "prelu", (normal(*PLAIN), normal(1)))
    rows["threshold"] = Row(F + "threshold", (normal(*PLAIN), 0.1, 2.0))
    rows["bitwise_left_shift"] = Row("bitwise_left_shift", (whole(1000, *PLAIN), whole(8, *PLAIN)))
    rows["masked_fill"] = Row("masked_fill", (normal(*PLAIN), Array(PLAIN, "bool"), 0.0))
    rows["tril"] = Row("tril", (normal(*PLAIN),))
    rows["dropout"] = Row(F + "dropout", (normal(*PLAIN), 0.5, True), compared=False)
    rows["cast"] = Row("Tensor.double", (normal(*PLAIN),))
    rows["polygamma"] = Row("polygamma", (1, positive(*PLAIN)))
    return rows


def _reducing() -> dict[str, Row]:
    rows = {}
    for name, record in {
        "var": "var_unbiased", "std": "std_unbiased", "var_mean": "var_mean_unbiased", "median": "median_all",
        "nanmedian": "nanmedian_all", "max": "max", "nansum": "nansum", "nanmean": "nanmean", "mean": "mean",
        "aminmax": "aminmax", "norm": "norm", "histc": "histc", "count_nonzero": "count_nonzero",
        "nonzero": "nonzero", "unique": "unique",
    }.items():  # fmt: skip
        rows[record] = Row(name, (normal(*PLAIN),))
    for (
        name
    ) in "max_dim min_dim median_dim mode sort argsort cumsum cumprod cummax cummin logcumsumexp".split():
        dims = {"mode": ()}.get(name, (-1,))
        public = {"max_dim": "max", "min_dim": "min", "median_dim": "median"}.get(name, name)
        shape = (64, 128) if name == "mode" else PLAIN
        given = whole(50, *shape) if name == "mode" else normal(*shape)
        rows[name] = Row(public, (given, *dims), compared=name not in ("mode", "cumprod"))
    rows["var"] = Row("var", (normal(*PLAIN), 1))
    rows["std"] = Row("std", (normal(*PLAIN), 1))
    rows["mean_dim"] = Row("mean", (normal(*PLAIN), 1))
    rows["logsumexp"] = Row("logsumexp", (normal(*PLAIN), -1))
    rows["topk"] = Row("topk", (normal(*PLAIN), 10))
    rows["kthvalue"] = Row("kthvalue", (normal(*PLAIN), 100))
    rows["quantile"] = Row("quantile", (normal(*PLAIN), 0.3, 1))
    rows["searchsorted"] = Row("searchsorted", (Array((1000,), "sorted"), normal(*PLAIN)))
    rows["bincount"] = Row("bincount", (whole(1000, 100000),))
    rows["isin"] = Row("isin", (whole(1000, 10000), whole(1000, 100)))
    rows["trapezoid"] = Row("trapezoid", (normal(*PLAIN),))
    rows["diff"] = Row("diff", (normal(*PLAIN),))
    rows["cov"] = Row("cov", (normal(64, 1024),))
    rows["linalg_vector_norm"] = Row("linalg.vector_norm", (normal(*PLAIN), 2, 1))
    rows["linalg_norm"] = Row("linalg.norm", (normal(*PLAIN),))
    return rows


def _moving() -> dict[str, Row]:
    rows = {
        "index_select": Row("index_select", (normal(1000, 256), 0, whole(1000, 2000))),
        "gather": Row("gather", (normal(*PLAIN), 1, whole(1024, *PLAIN))),
        "scatter_add": Row("scatter_add", (normal(*PLAIN), 1, whole(1024, *PLAIN), normal(*PLAIN))),
        "index_add": Row("index_add", (normal(1000, 256), 0, whole(1000, 2000), normal(2000, 256))),
        "scatter_reduce": Row(
            "scatter_reduce", (normal(*PLAIN), 1, whole(1024, *PLAIN), normal(*PLAIN), "amax")
        ),
        "masked_select": Row("masked_select", (normal(*PLAIN), Array(PLAIN, "bool"))),
        "repeat": Row("Tensor.repeat", (normal(64, 64), 4, 4)),
        "roll": Row("roll", (normal(*PLAIN), 3, 1)),
        "flip": Row("flip", (normal(*PLAIN), [1])),
        "cat": Row("cat", ([normal(*PLAIN), normal(*PLAIN)], 1)),
        "stack": Row("stack", ([normal(*PLAIN), normal(*PLAIN)], 1)),
        "pad": Row(F + "pad", (normal(*IMAGE), [1, 1, 1, 1])),
        "pad_reflect": Row(F + "pad", (normal(*IMAGE), [1, 1, 1, 1], "reflect")),
        "unfold": Row(F + "unfold", (normal(*IMAGE), 3)),
        "fold": Row(F + "fold", (normal(8, 288, 900), [32, 32], 3)),
        "pixel_shuffle": Row(F + "pixel_shuffle", (normal(*IMAGE), 2)),
        "embedding": Row(F + "embedding", (whole(5000, 32, 64), normal(5000, 64))),
        "embedding backward": Row(F + "embedding", (whole(5000, 32, 64), normal(5000, 64)), gradient=True),
        "embedding_bag": Row(F + "embedding_bag", (whole(5000, 32, 64), normal(5000, 64))),
        "one_hot": Row(F + "one_hot", (whole(100, 5000), 100)),
        "interpolate nearest": Row(F + "interpolate", (normal(*IMAGE),), {"scale_factor": 2}),
        "interpolate bilinear": Row(
            F + "interpolate", (normal(*IMAGE),), {"scale_factor": 2, "mode": "bilinear"}
        ),
        "interpolate bicubic": Row(
            F + "interpolate", (normal(*IMAGE),), {"scale_factor": 2, "mode": "bicubic"}
        ),
        "grid_sample": Row(
            F + "grid_sample", (normal(*IMAGE), normal(16, 32, 32, 2)), {"align_corners": False}
        ),
        "multinomial": Row("multinomial", (unit(64, 1000), 5), compared=False),
        "poisson": Row("poisson", (positive(*PLAIN),), compared=False),
        "bernoulli": Row("bernoulli", (unit(*PLAIN),), compared=False),
        "randn": Row("randn", PLAIN, compared=False),
        "rand": Row("rand", PLAIN, compared=False),
        "randperm": Row("randperm", (100000,), compared=False),
    }
    rows["interpolate bilinear backward"] = Row(
        F + "interpolate", (normal(*IMAGE),), {"scale_factor": 2, "mode": "bilinear"}, gradient=True
    )
    return rows


def _convolutions() -> dict[str, Row]:
    rows = {}
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]] = {
        "conv1d": ((16, 32, 256), (64, 32, 5), {"padding": 2}),
        "conv2d": (IMAGE, (64, 32, 3, 3), {"padding": 1}),
        "conv2d 1x1": (IMAGE, (64, 32, 1, 1), {}),
        "conv2d first": ((64, 1, 28, 28), (32, 1, 3, 3), {}),
        "conv2d strided": (IMAGE, (64, 32, 3, 3), {"padding": 1, "stride": 2}),
        "conv2d depthwise": (IMAGE, (32, 1, 3, 3), {"padding": 1, "groups": 32}),
        "conv2d digits": ((64, 1, 8, 8), (16, 1, 3, 3), {"padding": 1}),
        "conv3d": ((2, 8, 16, 16, 16), (16, 8, 3, 3, 3), {"padding": 1}),
        "conv_transpose2d": (IMAGE, (32, 16, 4, 4), {"stride": 2, "padding": 1}),
    }
    for name, (x, weight, options) in shapes.items():
        row = Row(F + name.split()[0], (normal(*x), normal(*weight)), options)
        rows[name] = row
        rows[f"{name} backward"] = Row(row.public, row.arguments, options, gradient=True)
    return rows


def _pools() -> dict[str, Row]:
    rows = {}
    pools: dict[str, tuple[str, Array, tuple[object, ...]]] = {
        "max_pool2d_with_indices": ("max_pool2d", normal(*IMAGE), (2,)),
        "max_pool2d overlapping": ("max_pool2d", normal(*IMAGE), (3, 2, 1)),
        "avg_pool2d": ("avg_pool2d", normal(*IMAGE), (2,)),
        "avg_pool1d": ("avg_pool1d", normal(16, 32, 256), (2,)),
        "max_pool1d_with_indices": ("max_pool1d", normal(16, 32, 256), (2,)),
        "max_pool3d_with_indices": ("max_pool3d", normal(2, 16, 16, 16, 16), (2,)),
        "avg_pool3d": ("avg_pool3d", normal(2, 16, 16, 16, 16), (2,)),
        "adaptive_avg_pool2d": ("adaptive_avg_pool2d", normal(*IMAGE), (1,)),
        "adaptive_max_pool2d_with_indices": ("adaptive_max_pool2d", normal(*IMAGE), (5,)),
        "lp_pool2d": ("lp_pool2d", positive(*IMAGE), (2.0, 2)),
    }
    for name, (public, image, rest) in pools.items():
        rows[name] = Row(F + public, (image, *rest))
        rows[f"{name} backward"] = Row(F + public, (image, *rest), gradient=True)
    return rows


def _norms() -> dict[str, Row]:
    rows = {}
    norms: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
        "batch_norm": ((normal(*IMAGE), *STATISTICS, normal(32), normal(32), True), {}),
        "batch_norm eval": ((normal(*IMAGE), *STATISTICS, normal(32), normal(32)), {}),
        "layer_norm": ((normal(512, 256), [256], normal(256), normal(256)), {}),
        "group_norm": ((normal(*IMAGE), 8, normal(32), normal(32)), {}),
        "instance_norm": ((normal(*IMAGE),), {}),
        "rms_norm": ((normal(512, 256), [256], normal(256)), {}),
        "local_response_norm": ((normal(*IMAGE), 5), {}),
        "normalize": ((normal(512, 256),), {}),
        "scaled_dot_product_attention": ((normal(4, 8, 64, 32), normal(4, 8, 64, 32), normal(4, 8, 64, 32)), {}),
        "bilinear": ((normal(64, 32), normal(64, 32), normal(16, 32, 32)), {}),
        "cosine_similarity": ((normal(512, 256), normal(512, 256)), {}),
        "pairwise_distance": ((normal(512, 256), normal(512, 256)), {}),
    }  # fmt: skip
    for name, (arguments, options) in norms.items():
        public = F + name.split()[0]
        rows[name] = Row(public, arguments, options)
        if "eval" not in name:
            rows[f"{name} backward"] = Row(
                public, arguments, options, gradient=True, compared=name != "batch_norm"
            )
    return rows


def _products() -> dict[str, Row]:
    return {
        "cdist": Row("cdist", (normal(256, 64), normal(256, 64))),
        "pdist": Row(F + "pdist", (normal(256, 64),)),
        "baddbmm": Row("baddbmm", (normal(16, 64, 64), normal(16, 64, 64), normal(16, 64, 64))),
        "outer": Row("outer", (normal(512), normal(512))),
        "kron": Row("kron", (normal(16, 16), normal(32, 32))),
        "einsum": Row("einsum", ("bij,bjk->bik", normal(16, 64, 64), normal(16, 64, 64))),
    }


def _losses() -> dict[str, Row]:
    logits, target = normal(256, 100), whole(100, 256)
    rows = {
        "cross_entropy": (F + "cross_entropy", (logits, target)),
        "mse_loss": (F + "mse_loss", (normal(*PLAIN), normal(*PLAIN))),
        "l1_loss": (F + "l1_loss", (normal(*PLAIN), normal(*PLAIN))),
        "smooth_l1_loss": (F + "smooth_l1_loss", (normal(*PLAIN), normal(*PLAIN))),
        "huber_loss": (F + "huber_loss", (normal(*PLAIN), normal(*PLAIN))),
        "kl_div": (F + "kl_div", (normal(*PLAIN), unit(*PLAIN))),
        "binary_cross_entropy": (F + "binary_cross_entropy", (unit(*PLAIN), unit(*PLAIN))),
        "binary_cross_entropy_with_logits": (
            F + "binary_cross_entropy_with_logits", (normal(*PLAIN), unit(*PLAIN)),
        ),
        "poisson_nll_loss": (F + "poisson_nll_loss", (normal(*PLAIN), positive(*PLAIN))),
        "soft_margin_loss": (F + "soft_margin_loss", (normal(*PLAIN), normal(*PLAIN))),
        "multi_margin_loss": (F + "multi_margin_loss", (logits, target)),
        "multilabel_soft_margin_loss": (F + "multilabel_soft_margin_loss", (logits, unit(256, 100))),
        "triplet_margin_loss": (
            F + "triplet_margin_loss", (normal(512, 256), normal(512, 256), normal(512, 256)),
        ),
        "cosine_embedding_loss": (
            F + "cosine_embedding_loss", (normal(512, 256), normal(512, 256), Array((512,), "positive")),
        ),
    }  # fmt: skip
    found = {name: Row(public, given) for name, (public, given) in rows.items()}
    found["cross_entropy_smooth"] = Row(F + "cross_entropy", (logits, target), {"label_smoothing": 0.1})
    found["cosine_embedding_loss"] = Row(*rows["cosine_embedding_loss"], compared=False)
    found["soft_margin_loss"] = Row(*rows["soft_margin_loss"], compared=False)
    lengths = ([50] * 16, [10] * 16)
    found["ctc_loss"] = Row(F + "ctc_loss", (normal(50, 16, 20), whole(19, 16, 10), *lengths), compared=False)
    found["ctc_loss backward"] = Row(
        F + "ctc_loss", (normal(50, 16, 20), whole(19, 16, 10), *lengths), gradient=True, compared=False
    )
    return found


def _linear_algebra() -> dict[str, Row]:
    square, definite = normal(64, 64), Array((64, 64), "definite")
    rows = {
        "linalg_cholesky_ex": Row("linalg.cholesky", (definite,)),
        "linalg_lu_factor_ex": Row("linalg.lu_factor", (square,)),
        "linalg_qr": Row("linalg.qr", (square,), compared=False),
        "linalg_eigh": Row("linalg.eigh", (definite,), compared=False),
        "linalg_eigvalsh": Row("linalg.eigvalsh", (definite,)),
        "linalg_svd": Row("linalg.svd", (square,), compared=False),
        "linalg_svdvals": Row("linalg.svdvals", (square,)),
        "linalg_eig": Row("linalg.eig", (square,), compared=False),
        "linalg_pinv": Row("linalg.pinv", (square,), compared=False),
        "linalg_det": Row("linalg.det", (definite,), compared=False),
        "linalg_slogdet": Row("linalg.slogdet", (definite,)),
        "linalg_solve": Row("linalg.solve", (definite, square)),
        "linalg_inv": Row("linalg.inv", (definite,)),
        "linalg_matrix_exp": Row("linalg.matrix_exp", (unit(16, 16),), compared=False),
        "fft_c2c": Row("fft.fft", (normal(64, 1024),), compared=False),
        "fft_r2c": Row("fft.rfft", (normal(64, 1024),), compared=False),
        "fft 1000": Row("fft.fft", (normal(64, 1000),), compared=False),
        "fft2": Row("fft.fft2", (normal(8, 64, 64),), compared=False),
    }
    return rows


ROWS: dict[str, Row] = {
    **_pointwise(), **_reducing(), **_moving(), **_convolutions(), **_pools(), **_norms(), **_products(), **_losses(),
    **_linear_algebra()
}  # fmt: skip
