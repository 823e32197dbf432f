"""Views: sizes that the elements do not fill, places outside a tensor, and dimensions named twice or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals
from tenora_ops.refusals.makers import dims, of, pairs

_X = reals(3, 4)
_NUMBER = reals()
_DEEP = 64
_DEEPEST = reals(*(1,) * _DEEP)
_HUGE = 2**62
_TOO_DEEP = f"got {_DEEP + 1}, expected at most {_DEEP}. Flatten some dimensions."


def _sizes(call: Callable[..., Call]) -> dict[str, Refusal]:
    """Sizes that a tensor is expanded to."""
    return pairs(
        "shape",
        too_few=(call(_X, (4,)), call(_X, (3, 4))),
        none_at_all=(call(reals(1), ()), call(_NUMBER, ())),
        first_of_one=(call(reals(1, 4), (3, 3)), call(reals(1, 4), (3, 4))),
        none_of_three=(call(reals(3), (0,)), call(reals(1), (0,))),
        kept_before=(call(_X, (-1, 3, 4)), call(_X, (1, 3, 4))),
        kept_of_number=(call(_NUMBER, (-1,)), call(_NUMBER, (0,))),
        too_many_elements=(call(reals(1), (2**32, 2**31)), call(reals(1), (2**31, 2**31))),
    ) | _named_sizes(call)


def _named_sizes(call: Callable[..., Call]) -> dict[str, Refusal]:
    """Those of which the error says why."""
    return (
        pairs("shape", "the existing size in dimension 1", last_size=(call(_X, (3, 5)), call(_X, (3, 4))))
        | pairs("shape", "the existing size in dimension 0", first_size=(call(_X, (2, 4)), call(_X, (3, 4))))
        | pairs(
            "shape",
            "a size of 0 or more in dimension 0",
            below_zero=(call(reals(1, 4), (-2, 4)), call(reals(1, 4), (-1, 4))),
            below_zero_before=(call(reals(4), (-2, 4)), call(reals(4), (0, 4))),
        )
        | pairs(
            "shape",
            _TOO_DEEP,
            too_many_dims=(call(reals(1), (1,) * (_DEEP + 1)), call(reals(1), (1,) * _DEEP)),
        )
    )


def _places(call: Callable[[Any, int], Call]) -> dict[str, Refusal]:
    """The dimension of a tensor that has two; a number has none."""
    return dims(lambda dim: call(_X, dim), 2) | pairs(
        "dim",
        number=(call(_NUMBER, 0), call(reals(1), 0)),
        number_from_behind=(call(_NUMBER, -1), call(reals(1), -1)),
    )


def _indexed(*code: int) -> Call:
    """Items of an index: 0 an Ellipsis, 1 None, 2 a number, 3 a slice (start, stop, step)."""
    return Call(_X, code)


_SWAPS = dims(lambda dim: Call(_X, dim, 0), 2, "first_dim") | dims(
    lambda dim: Call(_X, 1, dim), 2, "second_dim"
)

REFUSED: dict[str, dict[str, Refusal]] = {
    "view": pairs(
        "shape",
        too_few=(Call(_X, (2, 5)), Call(_X, (2, 6))),
        too_many=(Call(_X, (13,)), Call(_X, (12,))),
        of_none=(Call(reals(0, 3), (1,)), Call(reals(0, 3), (0,))),
        of_number=(Call(_NUMBER, (2,)), Call(_NUMBER, (1,))),
        to_number=(Call(reals(2), ()), Call(reals(1), ())),
        rest_unfilled=(Call(_X, (-1, 5)), Call(_X, (-1, 6))),
        rest_before=(Call(_X, (8, -1)), Call(_X, (12, -1))),
        two_rests=(Call(_X, (-1, -1)), Call(_X, (-1, 1))),
        two_rests_apart=(Call(_X, (-1, 3, -1)), Call(_X, (1, 3, -1))),
        below_zero=(Call(_X, (-2, 6)), Call(_X, (-1, 6))),
        below_zero_twice=(Call(_X, (-3, -4)), Call(_X, (3, 4))),
        rest_of_none=(Call(reals(0, 3), (-1, 0)), Call(reals(0, 3), (-1, 3))),
        rest_of_some=(Call(_X, (-1, 0)), Call(_X, (-1, 12))),
        too_many_dims=(Call(reals(1), (1,) * (_DEEP + 1)), Call(reals(1), (1,) * _DEEP)),
    )
    | pairs(
        "overflow",
        too_many_elements=(Call(reals(0), (_HUGE, 2)), Call(reals(0), (_HUGE, 2, 0))),
        rest_of_too_many=(Call(reals(0), (-1, _HUGE, 2)), Call(reals(0), (-1, _HUGE))),
    ),
    "permute": pairs(
        "dim",
        too_few=(Call(_X, (0,)), Call(_X, (0, 1))),
        too_many=(Call(_X, (0, 1, 0)), Call(_X, (1, 0))),
        of_number=(Call(_NUMBER, (0,)), Call(_NUMBER, ())),
        twice=(Call(_X, (1, 1)), Call(_X, (1, 0))),
        twice_first=(Call(_X, (0, 0)), Call(_X, (0, 1))),
        twice_from_behind=(Call(_X, (0, -2)), Call(_X, (0, -1))),
        first_above=(Call(_X, (2, 0)), Call(_X, (1, 0))),
        last_above=(Call(_X, (0, 2)), Call(_X, (0, 1))),
        last_below=(Call(_X, (1, -3)), Call(_X, (1, -2))),
    ),
    "transpose": _SWAPS | dims(lambda dim: Call(_NUMBER, dim, 0), 1, "of_number_dim"),
    "swapaxes": _SWAPS,
    "t": pairs("shape", rank=(Call(reals(2, 3, 1)), Call(reals(2, 3)))),
    "expand": _sizes(Call),
    "broadcast_to": _sizes(Call),
    "expand_as": pairs(
        "shape",
        last_size=(Call(_X, reals(3, 5)), Call(_X, _X)),
        too_few=(Call(_X, reals(4)), Call(reals(4), _X)),
        none_of_three=(Call(reals(3), reals(0)), Call(reals(1), reals(0))),
    ),
    "squeeze": dims(lambda dim: Call(_X, (dim,)), 2)
    | pairs(
        "dim",
        twice=(Call(reals(1, 1), (0, 0)), Call(reals(1, 1), (0, 1))),
        twice_last=(Call(reals(1, 1), (1, -1)), Call(reals(1, 1), (1, -2))),
        last_above=(Call(reals(1, 1), (0, 2)), Call(reals(1, 1), (0, 1))),
        of_number_above=(Call(_NUMBER, (1,)), Call(_NUMBER, (0,))),
    ),
    "unsqueeze": dims(lambda dim: Call(_X, dim), 3)
    | dims(lambda dim: Call(_NUMBER, dim), 1, "of_number_dim")
    | pairs("shape", _TOO_DEEP, too_many_dims=(Call(_DEEPEST, 0), Call(_DEEPEST[0], 0))),
    "select": _places(lambda x, dim: Call(x, dim, 0))
    | pairs(
        "index",
        "expected -4 to 3",
        above=(Call(_X, 1, 4), Call(_X, 1, 3)),
        below=(Call(_X, 1, -5), Call(_X, 1, -4)),
    )
    | pairs(
        "index",
        first_above=(Call(_X, 0, 3), Call(_X, 0, 2)),
        first_below=(Call(_X, -2, -4), Call(_X, -2, -3)),
        of_none=(Call(reals(2, 0), 1, 0), Call(reals(2, 0), 0, 0)),
        of_none_from_behind=(Call(reals(0), 0, -1), Call(reals(1), 0, -1)),
    ),
    "slice": _places(lambda x, dim: Call(x, dim, 0, 1))
    | pairs(
        "index",
        step_zero=(Call(_X, 0, 0, 2, 0), Call(_X, 0, 0, 2, 1)),
        step_zero_back=(Call(_X, 1, 2, 0, 0), Call(_X, 1, 2, 0, -1)),
        step_zero_of_none=(Call(reals(0), 0, None, None, 0), Call(reals(0), 0, None, None, 1)),
    ),
    "narrow": _places(lambda x, dim: Call(x, dim, 0, 1))
    | pairs(
        "index",
        "expected -4 to 4",
        start_above=(Call(_X, 1, 5, 0), Call(_X, 1, 4, 0)),
        start_below=(Call(_X, 1, -5, 1), Call(_X, 1, -4, 1)),
    )
    | pairs(
        "index",
        first_start_above=(Call(_X, 0, 4, 0), Call(_X, 0, 3, 0)),
    )
    | pairs(
        "shape",
        length_above=(Call(_X, 1, 0, 5), Call(_X, 1, 0, 4)),
        length_below_zero=(Call(_X, 1, 1, -1), Call(_X, 1, 1, 0)),
        length_at_end=(Call(_X, 1, 4, 1), Call(_X, 1, 4, 0)),
        length_from_behind=(Call(_X, 0, -2, 3), Call(_X, 0, -2, 2)),
        length_from_all=(Call(_X, 0, -3, 4), Call(_X, 0, -3, 3)),
    )
    | pairs("shape", "a length of 0 to 2", length_beyond_end=(Call(_X, 1, 2, 3), Call(_X, 1, 2, 2))),
    "diagonal": pairs(
        "dim",
        first_above=(Call(_X, 0, 2, 0), Call(_X, 0, 1, 0)),
        first_below=(Call(_X, 0, -3, 1), Call(_X, 0, -2, 1)),
        second_above=(Call(_X, 0, 0, 2), Call(_X, 0, 0, 1)),
        second_below=(Call(_X, 0, 1, -3), Call(_X, 0, 1, -2)),
        alike=(Call(_X, 0, 0, 0), Call(_X, 0, 0, 1)),
        alike_last=(Call(_X, 1, 1, 1), Call(_X, 1, 1, 0)),
        alike_from_behind=(Call(_X, 0, 0, -2), Call(_X, 0, 0, -1)),
        vector=(Call(reals(3)), Call(reals(3, 1))),
        number=(Call(_NUMBER, 0, 0, -1), Call(reals(1, 1), 0, 0, -1)),
    ),
    "as_strided": pairs(
        "shape",
        too_few_strides=(Call(_X, (2, 2), (1,)), Call(_X, (2, 2), (1, 1))),
        too_many_strides=(Call(_X, (2,), (1, 1)), Call(_X, (2,), (1,))),
        size_below_zero=(Call(_X, (-1,), (1,)), Call(_X, (0,), (1,))),
        too_many_dims=(Call(_X, (1,) * 2**18, (1,) * 2**18), Call(_X, (1,) * _DEEP, (1,) * _DEEP)),
        beyond_end_at_once=(Call(_X, (2, 2), (1, 11), 0), Call(_X, (2, 2), (1, 10), 0)),
        beyond_end_in_steps=(Call(_X, (3,), (6,), 0), Call(_X, (3,), (5,), 0)),
        begins_beyond_end=(Call(_X, (1,), (1,), 12), Call(_X, (1,), (1,), 11)),
        number_beyond_end=(Call(_X, (), (), 12), Call(_X, (), (), 11)),
        begins_before=(Call(_X, (1,), (1,), -1), Call(_X, (1,), (1,), 0)),
        none_before=(Call(_X, (0,), (1,), -1), Call(_X, (0,), (1,), 0)),
    )
    | pairs(
        "shape",
        "got elements 0 to 12, expected 0 to 11",
        beyond_end=(Call(_X, (13,), (1,), 0), Call(_X, (12,), (1,), 0)),
    )
    | pairs(
        "overflow",
        reach=(Call(_X, (3,), (_HUGE,)), Call(_X, (1,), (_HUGE,))),
        reaches=(Call(_X, (2, 2), (_HUGE, _HUGE)), Call(_X, (1, 1), (_HUGE, _HUGE))),
    ),
    "basic_index": pairs(
        "index",
        tag_above=(_indexed(4), _indexed(0)),
        tag_below=(_indexed(-1), _indexed(0)),
        number_missing=(_indexed(2), _indexed(2, 0)),
        slice_cut=(_indexed(3, 0, 1), _indexed(3, 0, 1, 1)),
        slice_cut_behind=(_indexed(2, 0, 3, 0, 1), _indexed(2, 0, 3, 0, 1, 1)),
        two_ellipses=(_indexed(0, 0), _indexed(0)),
        two_ellipses_apart=(_indexed(0, 2, 0, 0), _indexed(0, 2, 0)),
        too_many=(_indexed(2, 0, 2, 0, 2, 0), _indexed(2, 0, 2, 0)),
        too_many_slices=(_indexed(3, 0, 1, 1, 3, 0, 1, 1, 3, 0, 1, 1), _indexed(3, 0, 1, 1, 3, 0, 1, 1)),
        too_many_beside_none=(_indexed(1, 2, 0, 2, 0, 2, 0), _indexed(1, 2, 0, 2, 0)),
        of_number=(Call(_NUMBER, (2, 0)), Call(_NUMBER, (0,))),
        second_above=(_indexed(2, 0, 2, 4), _indexed(2, 0, 2, 3)),
        second_below=(_indexed(0, 2, -5), _indexed(0, 2, -4)),
        step_zero=(_indexed(3, 0, 2, 0), _indexed(3, 0, 2, -1)),
    )
    | pairs(
        "index",
        "expected -3 to 2",
        above=(_indexed(2, 3), _indexed(2, 2)),
        below=(_indexed(2, -4), _indexed(2, -3)),
    )
    | pairs("shape", _TOO_DEEP, too_many_dims=(Call(_X, (1,) * (_DEEP - 1)), Call(_X, (1,) * (_DEEP - 2)))),
    "unreduce": pairs(
        "shape",
        size=(Call(reals(4), _X, (1,), False), Call(reals(3), _X, (1,), False)),
        first_size=(Call(reals(3), _X, (0,), False), Call(reals(4), _X, (0,), False)),
        rank_below=(Call(_NUMBER, _X, (1,), False), Call(reals(3), _X, (1,), False)),
        kept_missing=(Call(reals(3), _X, (1,), True), Call(reals(3, 1), _X, (1,), True)),
        kept_size=(Call(reals(3, 4), _X, (1,), True), Call(reals(3, 1), _X, (1,), True)),
        all_kept=(Call(reals(1), _X, None, True), Call(reals(1, 1), _X, None, True)),
    )
    | dims(lambda dim: Call(reals(3 if dim in (1, -3, 2) else 4), _X, (dim,), False), 2),
    "unfold_dim": dims(lambda dim: Call(_X, dim, 2, 1), 2)
    | pairs(
        "shape",
        size_above=(Call(_X, 1, 5, 1), Call(_X, 1, 4, 1)),
        size_above_first=(Call(_X, 0, 4, 2), Call(_X, 0, 3, 2)),
        size_below_zero=(Call(_X, 1, -1, 1), Call(_X, 1, 0, 1)),
        of_number=(Call(_NUMBER, 0, 2, 1), Call(_NUMBER, 0, 1, 1)),
        step_zero=(Call(_X, 1, 2, 0), Call(_X, 1, 2, 1)),
        step_below_zero=(Call(_X, 1, 2, -1), Call(_X, 1, 2, 2)),
    )
    | pairs("shape", _TOO_DEEP, too_many_dims=(Call(_DEEPEST, 0, 1, 1), Call(_DEEPEST[0], 0, 1, 1))),
    "imag": pairs("dtype", float64=(Call(of("float64", 3)), Call(of("complex128", 3)))),
    "view_as_real": pairs("dtype", float64=(Call(of("float64", 3)), Call(of("complex128", 3))))
    | pairs(
        "shape",
        _TOO_DEEP,
        too_many_dims=(
            Call(_DEEPEST.astype("complex64")),
            Call(_DEEPEST[0].astype("complex64")),
        ),
    ),
    "view_as_complex": pairs(
        "shape",
        number=(Call(_NUMBER), Call(reals(2))),
        one_part=(Call(reals(3, 1)), Call(reals(3, 2))),
        three_parts=(Call(reals(2, 3)), Call(reals(3, 2))),
        no_part=(Call(reals(2, 0)), Call(reals(2, 2))),
    ),
    "view_dtype": pairs(
        "dtype",
        number_widened=(Call(_NUMBER, "float64"), Call(_NUMBER, "int32")),
        number_narrowed=(Call(_NUMBER, "int8"), Call(_NUMBER, "float32")),
        odd_size=(Call(reals(3), "float64"), Call(reals(4), "float64")),
        odd_last_size=(Call(reals(2, 3), "int64"), Call(reals(3, 2), "int64")),
        odd_bytes=(Call(of("uint8", 6), "float32"), Call(of("uint8", 8), "float32")),
    ),
}
