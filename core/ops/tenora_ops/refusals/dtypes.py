"""Dtypes that an op has no meaning for, and numbers that do not fit one."""

from __future__ import annotations

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.refusals.makers import dtypes, of, pairs

_X = reals(3)
_WHOLE = wholes(3)
_SMALL = wholes(3, dtype="int8")
_BYTES = wholes(3, dtype="uint8")
_TRUE = wholes(3, dtype="bool")
_COMPLEX = reals(3, dtype="complex64")
_NAN = float("nan")

#: Of one operand, or of each of two: complex numbers have no order.
_REAL_ONE = dtypes("complex64", "float64", Call)
_REAL_TWO = (
    dtypes("complex64", "float64", lambda x: Call(x, _X), "first_")
    | dtypes("complex128", "float32", lambda x: Call(_X, x), "second_")
    | pairs("dtype", complex_number=(Call(_X, 1j), Call(_X, 1.0)))
)
_REAL_TENSORS = {name: wrong for name, wrong in _REAL_TWO.items() if name != "complex_number"}
#: Of two operands that must not be bool.
_NO_BOOL = pairs(
    "dtype",
    both_bool=(Call(_TRUE, _TRUE), Call(_BYTES, _BYTES)),
    first_bool=(Call(_TRUE, _WHOLE), Call(_BYTES, _WHOLE)),
    second_bool=(Call(_WHOLE, _TRUE), Call(_WHOLE, _BYTES)),
    number_bool=(Call(_WHOLE, True), Call(_WHOLE, 1)),
)
#: A factor that the result's dtype has no room for.
_FACTORS = pairs(
    "value",
    factor_above=(Call(_SMALL, _SMALL, alpha=128), Call(_SMALL, _SMALL, alpha=127)),
    factor_below=(Call(_SMALL, _SMALL, alpha=-129), Call(_SMALL, _SMALL, alpha=-128)),
    factor_above_unsigned=(Call(_BYTES, _BYTES, alpha=256), Call(_BYTES, _BYTES, alpha=255)),
) | pairs(
    "dtype",
    factor_of_whole=(Call(_WHOLE, _WHOLE, alpha=1.5), Call(_WHOLE, _X, alpha=1.5)),
    factor_float=(Call(_WHOLE, _WHOLE, alpha=2.0), Call(_WHOLE, _WHOLE, alpha=2)),
)
#: What is chosen from must be able to hold the number.
_BOUNDS = _REAL_TWO | pairs(
    "value",
    number_above=(Call(_SMALL, 128), Call(_SMALL, 127)),
    number_below=(Call(_SMALL, -129), Call(_SMALL, -128)),
    number_first=(Call(128, _SMALL), Call(127, _SMALL)),
    number_above_unsigned=(Call(_BYTES, 256), Call(_BYTES, 255)),
)
_WHOLE_TWO = (
    dtypes("float16 float32 complex64", "int8", lambda x: Call(x, _BYTES), "first_")
    | dtypes("bfloat16 float64 complex128", "int64", lambda x: Call(_BYTES, x), "second_")
    | pairs("dtype", number_float=(Call(_WHOLE, 1.0), Call(_WHOLE, 1)))
)
_SHIFTS = _WHOLE_TWO | pairs(
    "dtype",
    both_bool=(Call(_TRUE, _TRUE), Call(_BYTES, _BYTES)),
    number_bool=(Call(_TRUE, True), Call(_TRUE, 1)),
)
#: Of a dtype that has fractions, in which it is computed.
_FRACTIONS = dtypes("bool uint8 int64", "float16", Call)
_REAL_FRACTIONS = dtypes("bool int32", "bfloat16", Call) | dtypes("complex64 complex128", "float64", Call)

REFUSED: dict[str, dict[str, Refusal]] = {
    "relu": _REAL_ONE | dtypes("bool", "uint8", Call),
    "threshold_backward": _REAL_TENSORS | pairs("dtype", both_bool=(Call(_TRUE, _TRUE), Call(_TRUE, _BYTES))),
    "floor": _REAL_ONE,
    "sign": _REAL_ONE,
    "round": _REAL_ONE,
    "floor_divide": _REAL_TWO,
    "fmod": _REAL_TWO,
    "nextafter": pairs("dtype", complex64=(Call(_COMPLEX, _COMPLEX), Call(_X, _X))),
    "lt": _REAL_TWO,
    "ge": _REAL_TWO,
    "isposinf": _REAL_ONE,
    "deg2rad": _REAL_ONE,
    "hypot": _REAL_TENSORS,
    "xlogy": _REAL_TWO,
    "smooth_l1_loss": _REAL_TENSORS,
    "huber_loss": _REAL_TENSORS,
    "mse_loss": _REAL_TENSORS,
    "maximum": _BOUNDS,
    "minimum": _BOUNDS,
    "clamp": pairs(
        "value",
        min_below=(Call(_SMALL, -129), Call(_SMALL, -128)),
        min_above=(Call(_SMALL, 128), Call(_SMALL, 127)),
        max_above=(Call(_SMALL, None, 128), Call(_SMALL, None, 127)),
        max_below=(Call(_SMALL, 0, -129), Call(_SMALL, 0, -128)),
    )
    | pairs(
        "dtype", complex64=(Call(_COMPLEX, 0), Call(_X, 0)), min_complex=(Call(_X, _COMPLEX), Call(_X, _X))
    ),
    "sub": _NO_BOOL,
    "sub_alpha": {name: wrong for name, wrong in _FACTORS.items() if wrong.code == "dtype"}
    | pairs(
        "dtype",
        first_bool=(Call(_TRUE, _WHOLE, alpha=2), Call(_BYTES, _WHOLE, alpha=2)),
        second_bool=(Call(_WHOLE, _TRUE, alpha=2), Call(_WHOLE, _BYTES, alpha=2)),
    ),
    "neg": dtypes("bool", "uint8", Call),
    "positive": dtypes("bool", "int8", Call),
    "add_alpha": _FACTORS
    | pairs("dtype", factor_of_bool=(Call(_TRUE, _TRUE, alpha=1.0), Call(_TRUE, _TRUE, alpha=300))),
    "addcmul": pairs(
        "dtype", factor=(Call(_WHOLE, _WHOLE, _WHOLE, value=1.5), Call(_WHOLE, _WHOLE, _WHOLE, value=2))
    )
    | pairs(
        "value",
        factor_above=(Call(_SMALL, _SMALL, _SMALL, value=128), Call(_SMALL, _SMALL, _SMALL, value=127)),
    ),
    "addcdiv": pairs(
        "dtype",
        whole_quotient=(Call(_X, _WHOLE, _WHOLE), Call(_X, _X, _WHOLE)),
        bool_quotient=(Call(_X, _TRUE, _TRUE), Call(_X, _TRUE, _X)),
        whole_divisor=(Call(_X, _WHOLE, _BYTES), Call(_X, _WHOLE, _COMPLEX)),
    ),
    "lerp": pairs(
        "value",
        complex_weight=(Call(_X, _X, 1j), Call(_X, _X, 1.0)),
        complex_weight_of_reals=(Call(_X, _X, 0.5j), Call(_COMPLEX, _COMPLEX, 0.5j)),
    ),
    "isclose": pairs(
        "value",
        rtol_below_zero=(Call(_X, _X, -1e-9, 1.0), Call(_X, _X, 0.0, 1.0)),
        atol_below_zero=(Call(_X, _X, 1.0, -1e-9), Call(_X, _X, 1.0, 0.0)),
        rtol_nan=(Call(_X, _X, _NAN, 1.0), Call(_X, _X, 1.0, 1.0)),
        atol_nan=(Call(_X, _X, 1.0, _NAN), Call(_X, _X, 1.0, 1.0)),
    ),
    "bitwise_not": dtypes("float32 float64 complex64", "bool", Call),
    "bitwise_and": _WHOLE_TWO,
    "bitwise_xor": _WHOLE_TWO,
    "bitwise_left_shift": _SHIFTS,
    "bitwise_right_shift": _SHIFTS,
    "pow": pairs(
        "value",
        negative_power=(Call(_WHOLE, -1), Call(_WHOLE, 0)),
        negative_power_of_whole=(Call(_WHOLE, -1), Call(_X, -1)),
        negative_power_of_bool=(Call(_TRUE, -1), Call(_TRUE, 1)),
        negative_whole_power=(Call(_WHOLE, -2), Call(_WHOLE, -2.0)),
        power_above=(Call(_SMALL, 128), Call(_SMALL, 127)),
        power_above_unsigned=(Call(_BYTES, 256), Call(_BYTES, 255)),
    ),
    "silu": _FRACTIONS,
    "leaky_relu": _FRACTIONS,
    "logsigmoid": dtypes("int64", "float64", Call),
    "softmax": dtypes("bool int64", "float32", lambda x: Call(x, 0)),
    "log_softmax": dtypes("int8", "bfloat16", lambda x: Call(x, 0)),
    "prelu": dtypes("int64", "float32", lambda x: Call(x, x[:1]))
    | pairs("dtype", weight_float64=(Call(_X, reals(1, dtype="float64")), Call(_X, reals(1)))),
    "hardshrink": _REAL_FRACTIONS,
    "glu": pairs(
        "dtype",
        complex64=(Call(of("complex64", 4)), Call(of("float64", 4))),
        int64=(Call(of("int64", 4)), Call(of("float32", 4))),
    ),
    "gelu": _REAL_FRACTIONS
    | {
        f"approximate_{name}": refusal(
            "argument", Call(_X, approximate=name), Call(_X, approximate=name.lower())
        )
        for name in ("Tanh", "None")
    },
    "var": dtypes("bool uint8 int64", "complex64", Call) | dtypes("int32", "float16", Call, "real_"),
    "std": dtypes("int64", "float32", Call),
    "norm_two": dtypes("bool int64", "complex128", Call),
    "norm_power": dtypes("int8", "float64", lambda x: Call(x, 3.0)),
    "mean": dtypes("bool int64", "float16", Call)
    | dtypes("uint8", "complex64", Call)
    | pairs(
        "dtype",
        to_whole=(Call(_X, dtype="int64"), Call(_X, dtype="float64")),
        of_whole=(Call(_WHOLE), Call(_WHOLE, dtype="float32")),
        of_complex_to_whole=(Call(_COMPLEX, dtype="int32"), Call(_COMPLEX)),
    ),
    "nanmean": dtypes("int64", "float32", Call),
    "nll_loss": {
        name: refusal("dtype", Call(of(name, 2, 3), wholes(2)), Call(of("float64", 2, 3), wholes(2)))
        for name in ("int64", "bool", "complex64")
    },
    "multi_margin_loss": {
        name: refusal("dtype", Call(of(name, 2, 3), wholes(2)), Call(of("float64", 2, 3), wholes(2)))
        for name in ("int64", "complex128")
    },
    "multilabel_margin_loss": {
        name: refusal("dtype", Call(of(name, 3), _WHOLE), Call(of("float64", 3), _WHOLE))
        for name in ("int32", "complex64")
    },
    "where": dtypes("int8 int64 float32", "bool", lambda x: Call(x, _X, _X), "condition_")
    | dtypes("int16", "uint8", lambda x: Call(x, _X, _X), "condition_")
    | pairs(
        "value",
        input_above=(Call(_TRUE, 128, _SMALL), Call(_TRUE, 127, _SMALL)),
        other_above=(Call(_TRUE, _SMALL, 128), Call(_TRUE, _SMALL, 127)),
        other_below=(Call(_TRUE, _SMALL, -129), Call(_TRUE, _SMALL, -128)),
    ),
}
