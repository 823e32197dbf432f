"""Indices whose shapes do not fit what they choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.refusals.makers import dims, pairs

_X = reals(3, 4)
_BOX = reals(2, 3, 4)
_NUMBER = reals()
_ONE = wholes(1)
_DEEP = 64


def _fits(call: Callable[..., Call]) -> dict[str, Refusal]:
    """The index has the rank of the input, and outside `dim` no larger sizes."""
    return dims(lambda dim: call(_X, dim, wholes(2, 2)), 2) | pairs(
        "shape",
        larger_first=(call(_X, 1, wholes(4, 4)), call(_X, 1, wholes(3, 4))),
        larger_last=(call(_X, 0, wholes(2, 5)), call(_X, 0, wholes(2, 4))),
        larger_first_of_three=(call(_BOX, 1, wholes(3, 1, 1)), call(_BOX, 1, wholes(2, 5, 1))),
        larger_last_of_three=(call(_BOX, 1, wholes(1, 1, 5)), call(_BOX, 1, wholes(1, 5, 4))),
        larger_middle=(call(_BOX, 0, wholes(1, 4, 1)), call(_BOX, 0, wholes(5, 3, 1))),
        larger_from_behind=(call(_X, -1, wholes(4, 4)), call(_X, -1, wholes(3, 5))),
        rank_below=(call(_X, 0, wholes(2)), call(_X, 0, wholes(2, 2))),
        rank_above=(call(reals(3), 0, wholes(2, 1)), call(reals(3), 0, wholes(2))),
        rank_of_number=(call(_NUMBER, 0, wholes(1, 1)), call(_NUMBER, 0, wholes(1) * 0)),
        number=(call(_X, 0, wholes()), call(reals(3), 0, wholes())),
        rank_of_some=(call(_X, 0, wholes(1)), call(_X, 0, wholes(0))),
        larger_of_some=(call(_X, 1, wholes(4, 1)), call(_X, 1, wholes(4, 0))),
    )


def _gather(x: Any, dim: int, index: Any) -> Call:
    return Call(x, dim, index)


def _scatter(x: Any, dim: int, index: Any) -> Call:
    return Call(x, dim, index, reals(*index.shape))


#: A source that is too small for the index.
_SOURCES = pairs(
    "shape",
    src_first=(Call(_X, 0, wholes(2, 2), reals(1, 2)), Call(_X, 0, wholes(2, 2), reals(2, 2))),
    src_last=(Call(_X, 0, wholes(2, 2), reals(2, 1)), Call(_X, 0, wholes(2, 2), reals(2, 3))),
    src_last_along_last=(Call(_X, 1, wholes(2, 2), reals(2, 1)), Call(_X, 1, wholes(2, 2), reals(3, 2))),
    src_rank_below=(Call(_X, 0, wholes(2, 2), reals(4)), Call(_X, 0, wholes(2, 2), reals(2, 2))),
    src_rank_above=(Call(reals(3), 0, wholes(2), reals(2, 1)), Call(reals(3), 0, wholes(2), reals(2))),
    src_number=(Call(reals(3), 0, wholes(2), _NUMBER), Call(reals(3), 0, wholes(1), _NUMBER)),
)


def _plans(call: Callable[..., Call]) -> dict[str, Refusal]:
    """Index tensors, one for each leading dimension: (input, indices)."""
    return pairs(
        "index",
        too_many=(call(_X, [_ONE, _ONE, _ONE]), call(_X, [_ONE, _ONE])),
        too_many_with_none=(call(_X, [_ONE, None, None]), call(_X, [_ONE, None])),
        of_number=(call(_NUMBER, [_ONE]), call(reals(1), [_ONE * 0])),
        only_none=(call(_X, [None]), call(_X, [_ONE])),
        only_nones=(call(_X, [None, None]), call(_X, [None, _ONE])),
    ) | pairs(
        "shape",
        sizes=(call(_X, [wholes(2), wholes(3)]), call(_X, [wholes(2), wholes(2)])),
        sizes_apart=(call(_BOX, [wholes(2), None, wholes(3)]), call(_BOX, [wholes(2), None, wholes(1)])),
        first_sizes=(call(_X, [wholes(2, 2), wholes(3, 2)]), call(_X, [wholes(2, 2), wholes(1, 2)])),
        last_sizes=(call(_X, [wholes(2, 2), wholes(2, 3)]), call(_X, [wholes(2, 2), wholes(2, 1)])),
        ranks=(call(_X, [wholes(2, 3), wholes(2)]), call(_X, [wholes(2, 3), wholes(3)])),
        third=(call(_BOX, [_ONE, wholes(2), wholes(3)]), call(_BOX, [_ONE, wholes(2), wholes(2)])),
        too_many_dims=(
            call(_X, [wholes(*(1,) * _DEEP)]),
            call(_X, [wholes(*(1,) * (_DEEP - 1))]),
        ),
    )


def _index(x: Any, indices: list[Any]) -> Call:
    return Call(x, indices)


def _index_put(x: Any, indices: list[Any]) -> Call:
    return Call(x, reals(1), indices)


REFUSED: dict[str, dict[str, Refusal]] = {
    "gather": _fits(_gather),
    "scatter": _fits(_scatter) | _SOURCES,
    "scatter_add": _SOURCES | dims(lambda dim: _scatter(_X, dim, wholes(2, 2)), 2),
    "index_select": dims(lambda dim: Call(_X, dim, _ONE), 2)
    | dims(lambda dim: Call(_NUMBER, dim, _ONE * 0), 1, "of_number_dim")
    | pairs(
        "shape",
        rank=(Call(_X, 0, wholes(2, 1)), Call(_X, 0, wholes(2))),
        rank_of_one=(Call(_X, 0, wholes(1, 1)), Call(_X, 0, wholes())),
        of_number_above=(Call(_NUMBER, 0, wholes(2) * 0), Call(_NUMBER, 0, wholes(1) * 0)),
        of_number_below=(Call(_NUMBER, 0, wholes(0)), Call(_NUMBER, 0, wholes())),
    ),
    "index": _plans(_index),
    "index_put": _plans(_index_put)
    | {
        name: refusal("shape", Call(_X, wrong, indices), Call(_X, right, indices))
        for name, wrong, right, indices in (
            ("values_last", reals(2, 3), reals(2, 4), [wholes(2)]),
            ("values_first", reals(3, 4), reals(1, 4), [wholes(2)]),
            ("values_rank", reals(1, 2, 4), reals(2, 4), [wholes(2)]),
            ("values_rank_of_ones", reals(1, 1, 1), reals(1, 1), [wholes(2)]),
            ("values_larger", reals(2), reals(1), [_ONE, _ONE]),
            ("values_for_one_row", reals(2, 4), reals(1, 4), [_ONE]),
            ("values_for_column", reals(3, 2), reals(3, 1), [None, _ONE]),
        )
    },
}
