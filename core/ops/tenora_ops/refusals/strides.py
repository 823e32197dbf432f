"""Views that depend on where elements lie: strides and offsets that do not go with them."""

from __future__ import annotations

from typing import Any

from tenora_ops.refusals import Call, Refusal, reals, refusal
from tenora_ops.refusals.makers import Pair, Window, of, pairs

_ROOM = reals(48)
_BYTES = of("uint8", 48)


def _window(size: tuple[int, ...], stride: tuple[int, ...], begin: int = 0, room: Any = _ROOM) -> Window:
    return Window(room, size, stride, begin)


def _wider(dtype: str, refused: Window, taken: Window) -> Pair:
    return Call(refused, dtype), Call(taken, dtype)


_COLUMNS = _window((3, 4), (8, 1))
_TURNED = _window((3, 2), (1, 3))

REFUSED: dict[str, dict[str, Refusal]] = {
    "view": pairs(
        "shape",
        transposed=(Call(_window((4, 3), (1, 4)), (12,)), Call(_window((4, 3), (3, 1)), (12,))),
        columns=(Call(_COLUMNS, (12,)), Call(_COLUMNS, (3, 2, 2))),
        columns_across=(Call(_COLUMNS, (2, 6)), Call(_COLUMNS, (3, 1, 4))),
        columns_by_rest=(Call(_COLUMNS, (-1, 6)), Call(_COLUMNS, (-1, 2, 2))),
        first_apart=(
            Call(_window((2, 3, 4), (24, 4, 1)), (6, 4)),
            Call(_window((2, 3, 4), (24, 4, 1)), (2, 12)),
        ),
        last_apart=(
            Call(_window((2, 3, 2), (12, 4, 1)), (2, 6)),
            Call(_window((2, 3, 2), (12, 4, 1)), (6, 2)),
        ),
        steps_of_five=(Call(_window((3, 2), (5, 2)), (6,)), Call(_window((3, 2), (4, 2)), (6,))),
        behind_begin=(Call(_window((2, 2), (3, 1), 1), (4,)), Call(_window((2, 2), (2, 1), 1), (4,))),
        repeated=(Call(_window((2, 3), (0, 1)), (6,)), Call(_window((2, 3), (0, 1)), (2, 3, 1))),
    ),
    "view_as_complex": pairs(
        "stride",
        odd_begin=(Call(_window((3, 2), (2, 1), 1)), Call(_window((3, 2), (2, 1), 2))),
        odd_stride=(Call(_window((3, 2), (3, 1))), Call(_window((3, 2), (4, 1)))),
        odd_first_stride=(Call(_window((2, 2, 2), (5, 2, 1))), Call(_window((2, 2, 2), (6, 2, 1)))),
        odd_second_stride=(Call(_window((2, 2, 2), (8, 3, 1))), Call(_window((2, 2, 2), (8, 4, 1)))),
        odd_stride_of_two=(Call(_window((2, 2), (3, 1))), Call(_window((1, 2), (3, 1)))),
        parts_apart=(Call(_window((3, 2), (4, 2))), Call(_window((3, 2), (2, 1)))),
        parts_in_columns=(Call(_TURNED), Call(_window((3, 2), (2, 1)))),
    ),
    "view_dtype": pairs(
        "dtype",
        last_apart=_wider("float64", _window((2, 2), (4, 2)), _window((2, 2), (4, 1))),
        last_apart_narrowed=_wider("int8", _window((2, 2), (4, 2)), _window((2, 2), (4, 1))),
        turned=(Call(_TURNED, "int16"), Call(_TURNED, "int32")),
        odd_begin=_wider("float64", _window((2, 2), (2, 1), 1), _window((2, 2), (2, 1), 2)),
        odd_stride=_wider("float64", _window((2, 2), (3, 1)), _window((2, 2), (4, 1))),
        odd_first_stride=_wider("int64", _window((2, 2, 2), (5, 2, 1)), _window((2, 2, 2), (6, 2, 1))),
        odd_second_stride=_wider("int64", _window((2, 2, 2), (8, 3, 1)), _window((2, 2, 2), (8, 4, 1))),
        begin_of_bytes=_wider("float32", _window((4,), (1,), 2, _BYTES), _window((4,), (1,), 4, _BYTES)),
        stride_of_bytes=_wider(
            "float32", _window((2, 4), (6, 1), 0, _BYTES), _window((2, 4), (8, 1), 0, _BYTES)
        ),
    )
    | {
        "begin_of_pairs": refusal(
            "dtype",
            Call(_window((2,), (1,), 3, _BYTES), "int16"),
            Call(_window((2,), (1,), 2, _BYTES), "int16"),
        )
    },
}
