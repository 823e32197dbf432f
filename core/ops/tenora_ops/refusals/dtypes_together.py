"""Operands whose dtypes do not go together, and indices of dtypes that count nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.refusals.makers import dtypes, of, pairs

_X = reals(3)
_ONE = wholes(1)
_LAYER = reals(2, 3)


def _each(*shapes: tuple[int, ...], **options: Any) -> dict[str, Refusal]:
    """Operands of one dtype, of which each in turn has another."""
    sound = [reals(*shape) for shape in shapes]
    return {
        f"float64_of_operand_{i}": refusal(
            "dtype",
            Call(*sound[:i], reals(*shape, dtype="float64"), *sound[i + 1 :], **options),
            Call(*sound, **options),
        )
        for i, shape in enumerate(shapes)
    }


def _index(wrong: str, call: Callable[[Any], Call]) -> dict[str, Refusal]:
    """Indices of other dtypes than the two that count, beside either."""
    return dtypes(wrong, "int64", call, "index_") | dtypes("int16", "int32", call, "index_")


def _layer(input: str, weight: str | None, bias: str | None) -> Call:
    """A layer's norm of these dtypes."""
    given = [None if name is None else of(name, 3) for name in (weight, bias)]
    return Call(of(input, 2, 3), (3,), *given)


REFUSED: dict[str, dict[str, Refusal]] = {
    "mm": _each((2, 3), (3, 2)),
    "mv": _each((2, 3), (3,)),
    "addmm": _each((2, 2), (2, 3), (3, 2)),
    "matmul": _each((3,), (3,)),
    "linear": _each((2, 3), (4, 3), (4,)),
    "conv1d": _each((1, 2, 4), (3, 2, 2), (3,)),
    "conv2d_padding": _each((1, 2, 4, 4), (3, 2, 2, 2), (3,)),
    "conv_transpose2d": _each((1, 2, 4, 4), (2, 3, 2, 2)),
    "batch_norm_eval": pairs(
        "dtype",
        running_mean=(
            Call(_LAYER, of("float64", 3), _X, _X, _X, 1e-5),
            Call(_LAYER, _X, _X, _X, _X, 1e-5),
        ),
        bias=(Call(_LAYER, _X, _X, _X, of("float64", 3), 1e-5), Call(_LAYER, _X, _X, None, None, 1e-5)),
    ),
    "layer_norm": pairs(
        "dtype",
        weight_float64=(_layer("float32", "float64", None), _layer("float32", "float32", None)),
        bias_float64=(_layer("float32", None, "float64"), _layer("float32", None, "float32")),
        bias_narrow=(_layer("float16", "float32", "float16"), _layer("float16", "float32", "float32")),
        weight_narrow=(_layer("bfloat16", "bfloat16", "float32"), _layer("bfloat16", "bfloat16", "bfloat16")),
        weight_wide=(_layer("float16", "float64", "float64"), _layer("float16", "float32", "float32")),
        bias_wide=(_layer("bfloat16", "float32", "float64"), _layer("bfloat16", "float32", None)),
        other_half=(_layer("float16", "bfloat16", None), _layer("float16", "float16", None)),
        other_half_of_bias=(_layer("bfloat16", None, "float16"), _layer("bfloat16", None, "float32")),
        narrow_weight=(_layer("float64", "float32", "float32"), _layer("float64", "float64", "float64")),
        half_weight=(_layer("float32", "float16", None), _layer("float32", "float32", None)),
        int64=(_layer("int64", None, None), _layer("float16", None, None)),
        whole_with_weight=(_layer("int64", "float32", "float32"), _layer("bfloat16", "float32", "float32")),
    ),
    "gather": _index("bool uint8 float32", lambda i: Call(_X, 0, i[:1] * 0 if i.dtype != bool else i[:1]))
    | pairs("dtype", index_of_elements=(Call(_X, 0, of("int16", 1)), Call(_X, 0, of("int16", 0)))),
    "scatter": _index("bool uint8 float32", lambda i: Call(_X, 0, i * 0 if i.dtype != bool else i, _X))
    | pairs(
        "dtype",
        "wrong dtype of src",
        src=(Call(_X, 0, _ONE, of("float64", 3)), Call(_X, 0, _ONE, _X)),
        src_narrow=(Call(_X, 0, _ONE, of("float16", 3)), Call(_X, 0, of("int32", 1), _X)),
    )
    | pairs(
        "dtype",
        index_of_elements=(Call(_X, 0, of("uint8", 1), _X), Call(_X, 0, of("uint8", 0), _X)),
    ),
    "scatter_add": pairs(
        "dtype",
        index_int16=(Call(_X, 0, of("int16", 1), _X), Call(_X, 0, of("int32", 1), _X)),
        src=(Call(_X, 0, _ONE, of("int64", 3)), Call(_X, 0, _ONE, _X)),
    ),
    "index_select": _index("int8", lambda i: Call(_X, 0, i))
    | pairs(
        "dtype",
        "Use x[mask] for a mask",
        index_bool=(Call(_X, 0, of("bool", 3)), Call(_X, 0, of("int32", 3))),
        index_uint8=(Call(_X, 0, of("uint8", 3)), Call(_X, 0, of("int64", 3))),
    )
    | pairs(
        "dtype",
        "Cast it with .to(tenora.int64)",
        index_float32=(Call(_X, 0, of("float32", 3)), Call(_X, 0, of("int64", 3))),
    ),
    "index": pairs(
        "dtype",
        float32=(Call(_X, [of("float32", 1)]), Call(_X, [of("int64", 1)])),
        int16=(Call(_X, [of("int16", 1)]), Call(_X, [of("int32", 1)])),
        int8=(Call(_X, [of("int8", 3)]), Call(_X, [of("uint8", 3)])),
        uint32=(Call(_X, [of("uint32", 3)]), Call(_X, [of("bool", 3)])),
        second=(Call(_LAYER, [_ONE, of("float32", 1)]), Call(_LAYER, [_ONE, _ONE])),
        second_behind_none=(Call(_LAYER, [None, of("float64", 1)]), Call(_LAYER, [None, _ONE])),
        first_of_two=(Call(_LAYER, [of("int16", 1), _ONE]), Call(_LAYER, [of("int32", 1), _ONE])),
    ),
    "index_put": pairs(
        "dtype",
        index_float32=(Call(_X, _X[:1], [of("float32", 1)]), Call(_X, _X[:1], [of("int64", 1)])),
        index_int16=(Call(_X, _X[:1], [of("int16", 1)]), Call(_X, _X[:1], [of("int32", 1)])),
        second_behind_none=(
            Call(_LAYER, _X[:1], [None, of("float64", 1)]),
            Call(_LAYER, _X[:1], [None, _ONE]),
        ),
        values=(Call(_X, of("float64", 1), [_ONE]), Call(_X, _X[:1], [_ONE])),
        whole_values=(Call(_X, of("int64", 1), [_ONE]), Call(_X, _X[:1], [_ONE])),
    ),
}
