"""What differs from PyTorch, or from an oracle, at the edges of a dtype (test_pointwise_edges.py): by op and dtype."""

from __future__ import annotations

from collections.abc import Iterable

from tenora_ops.samples import HALVES, REALS, SIGNED

WIDE = ("bfloat16", "float32", "float64")
SINGLES = ("float32", "float64")
BIG = ("uint32", "uint64", "int32", "int64", "bfloat16", "float32", "float64")

FUSES = "PyTorch multiplies and adds in one step, whose product cannot overflow"
STEPS = "PyTorch rounds each step to the half type, or overflows in it"
WRAPS = "PyTorch's absolute value of the lowest number is below zero"
TAIL = "PyTorch flushes the tail to 0, or loses its digits"
OSCILLATES = "SciPy has no digits of huge numbers, no limits at infinity, and infinities at subnormal numbers"
POLES = "PyTorch answers 0 / 0 or infinity where a subnormal number has a finite answer"
SCALED = "SciPy has no digits of scaled functions of huge numbers; " + POLES
EITHER_ZERO = "of two zeros that are equal, either may be taken"
RESULT = "the second operand is a result, between -1 and 1"
OVERFLOWS = "PyTorch's recurrence ends in inf - inf where it overflows"
AND_NAN = OVERFLOWS + "; at NaN it answers an infinity"
TINY_ORDER = "PyTorch's series has no digits where a is tiny, and misses Euler's constant there"
LIMIT = "PyTorch knows no limit at infinity, where the answer is 0, and no tail of huge numbers"


def each(names: Iterable[str], dtypes: Iterable[str], reason: str) -> dict[tuple[str, str], str]:
    return {(name, dtype): reason for name in names for dtype in tuple(dtypes)}


LISTED: dict[tuple[str, str], str] = {
    **each(["tanh_backward", "sigmoid_backward"], ("bfloat16", "float32"), RESULT),
    **each(
        ["binary_entropy"], ["float32"], "a target of 100,000 is no probability, and its two terms cancel"
    ),
    **each(["gelu"], ["float32"], TAIL),
    **each(["gelu_backward"], REALS, "a slope of 1e-86 is a difference, and infinities are multiplied by 0"),
    **each(["relu6"], REALS, EITHER_ZERO),
    **each(["fmax", "fmin"], ("float16", *SINGLES), EITHER_ZERO),
    **each(["softsign", "gcd"], SIGNED, WRAPS),
    **each(["softsign"], ["uint8"], "PyTorch's 1 + |x| wraps in the whole dtype"),
    **each(["lcm"], ("int8", "int16"), "a multiple that does not fit wraps; here it is never below zero"),
    **each(["add_alpha", "sub_alpha", "rsub"], WIDE, FUSES),
    **each(["lerp"], WIDE, "from an end, the other one's share may overflow; " + FUSES),
    **each(["addcmul"], WIDE, "PyTorch takes value * tensor1 first; " + FUSES),
    **each(["addcdiv"], WIDE, "PyTorch takes value * tensor1 first, which may overflow"),
    **each(["pow"], WIDE, "PyTorch takes 1 / sqrt(x) for x to the power of -0.5, infinities and -0 included"),
    **each(["logaddexp2"], WIDE, "PyTorch's log2(1 + x) is rounded where the answer is 0"),
    **each(["remainder", "fmod"], WIDE, "PyTorch's quotient by a tiny number overflows"),
    **each(["ldexp"], ["float16"], STEPS),
    **each(["erf"], ["bfloat16"], TAIL),
    **each(["isclose"], HALVES, STEPS),
    **each(["kl_div", "poisson_nll_loss", "hinge_embedding_loss", "mvlgamma"], HALVES, STEPS),
    **each(["binary_cross_entropy_with_logits"], HALVES, STEPS),
    **each(["gaussian_nll_loss", "margin_ranking_loss"], ["float16"], STEPS),
    **each(["soft_margin_loss"], REALS, "PyTorch's exponential overflows where its logarithm is finite"),
    **each(["zeta"], REALS, LIMIT),
    **each(["polygamma"], ("float16", *WIDE[:2]), LIMIT + "; its trigamma is finite at the poles"),
    **each(
        ["polygamma", "polygamma_any"],
        ["float64"],
        "at -1.5 the fourth derivative is what is left of 771: both lose 4 digits, and tenora's is the nearer",
    ),
    **each(["polygamma_of"], SINGLES, LIMIT + "; its trigamma has 9 digits, its fourth derivative loses 4"),
    **each([f"special_bessel_{n}" for n in ("j0", "j1", "y0", "y1")], BIG, OSCILLATES),
    **each(["special_airy_ai"], BIG, OSCILLATES),
    **each(["special_modified_bessel_k0"], ["float64"], POLES),
    **each(["special_modified_bessel_k1"], SINGLES, POLES),
    **each([f"special_scaled_modified_bessel_{n}" for n in ("k0", "k1")], WIDE, SCALED),
    **each(["igamma", "igammac"], REALS, TINY_ORDER),
    **each(["log_ndtr"], ["float64"], TAIL),
    **each(["ndtr"], (*SIGNED, *HALVES, "float64"), TAIL),
    **each(
        [f"chebyshev_polynomial_{n}" for n in "tv"] + [f"shifted_chebyshev_polynomial_{n}" for n in "tv"],
        ["float32"],
        OVERFLOWS,
    ),
    **each([f"hermite_polynomial_{n}" for n in ("h", "he")], ["float32"], OVERFLOWS),
    **each(
        [f"chebyshev_polynomial_{n}" for n in "uw"] + [f"shifted_chebyshev_polynomial_{n}" for n in "uw"],
        SINGLES,
        AND_NAN,
    ),
    **each(["laguerre_polynomial_l", "legendre_polynomial_p"], SINGLES, AND_NAN),
}
#: What differs on one backend alone.
ONE_BACKEND: dict[tuple[str, str, str], str] = {
    **{("sigmoid", dtype, "cpu_mkl"): "PyTorch flushes the subnormal tail to 0" for dtype in SIGNED},
    **{("relu", dtype, "reference"): EITHER_ZERO for dtype in REALS},
    **{
        (name, "float16", "reference"): EITHER_ZERO
        for name in ("max_other", "min_other", "maximum", "minimum")
    },
    ("sign", "bfloat16", "reference"): "the sign of -0 is a zero of either sign",
}
