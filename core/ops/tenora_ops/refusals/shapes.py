"""Shapes that do not go together, sizes that no tensor has, and dimensions that one has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.refusals.makers import Pair, dims, pairs

_X = reals(3, 4)
_NUMBER = reals()
_DEEP = 64
_ALIKE: dict[str, Pair] = {
    "last_size": (Call(_X, reals(3, 3)), Call(_X, reals(3, 4))),
    "last_size_above": (Call(_X, reals(3, 5)), Call(_X, reals(3, 1))),
    "first_size": (Call(_X, reals(2, 4)), Call(_X, reals(1, 4))),
    "second_lower_rank": (Call(_X, reals(3)), Call(_X, reals(4))),
    "first_lower_rank": (Call(reals(3), _X), Call(reals(4), _X)),
    "middle_size": (Call(reals(2, 3, 4), reals(2, 2, 4)), Call(reals(2, 3, 4), reals(2, 1, 4))),
    "first_of_size_one": (Call(reals(1, 4), reals(3, 3)), Call(reals(1, 4), reals(3, 4))),
    "no_elements": (Call(reals(0), reals(2)), Call(reals(0), reals(1))),
    "none_behind": (Call(reals(2, 2), reals(2, 0)), Call(reals(2, 1), reals(2, 0))),
}


def _sizes(call: Callable[[tuple[int, ...]], Call]) -> dict[str, Refusal]:
    """Sizes of a tensor that is made."""
    return pairs(
        "shape",
        size_below_zero=(call((-1,)), call((0,))),
        last_size_below_zero=(call((2, -1)), call((2, 0))),
        first_size_below_zero=(call((-1, 0)), call((0, 0))),
        too_many_dims=(call((1,) * (_DEEP + 1)), call((1,) * _DEEP)),
        too_many_elements=(call((2**32, 2**31)), call((2**32, 2**31, 0))),
    )


def _reductions(call: Callable[..., Call]) -> dict[str, Refusal]:
    """Dimensions that are reduced: two of them, or of a tensor that has none."""
    return dims(lambda dim: call(_X, (dim,)), 2) | pairs(
        "dim",
        first_above=(call(_X, (2, 0)), call(_X, (1, 0))),
        last_below=(call(_X, (0, -3)), call(_X, (1, -2))),
        twice=(call(_X, (1, 1)), call(_X, (1, 0))),
        twice_first=(call(_X, (0, 0)), call(_X, (0, 1))),
        twice_from_behind=(call(_X, (0, -2)), call(_X, (0, -1))),
        of_number_above=(call(_NUMBER, (1,)), call(_NUMBER, (0,))),
        of_number_below=(call(_NUMBER, (-2,)), call(_NUMBER, (-1,))),
        of_number_twice=(call(_NUMBER, (0, -1)), call(_NUMBER, (-1,))),
    )


def _one_dim(*more: Any) -> dict[str, Refusal]:
    """A dimension of a tensor with two, and of one that counts as one of one."""
    return dims(lambda dim: Call(_X, dim, *more), 2) | dims(
        lambda dim: Call(_NUMBER, dim, *more), 1, "of_number_dim"
    )


def _choices(whole: Callable[..., Call]) -> dict[str, Refusal]:
    """Nothing to choose from."""
    return pairs(
        "shape",
        nothing=(whole(reals(0)), whole(reals(1))),
        nothing_in_rows=(whole(reals(2, 0)), whole(reals(2, 1))),
    ) | pairs(
        "shape",
        "at least one element along the dimension",
        nothing_along_last=(whole(reals(2, 0), 1), whole(reals(2, 0), 0)),
        nothing_along_first=(whole(reals(0, 2), 0), whole(reals(0, 2), 1)),
        nothing_from_behind=(whole(reals(2, 0), -1), whole(reals(2, 0), -2)),
        nothing_within=(whole(reals(2, 0, 2), 1), whole(reals(2, 0, 2), 2)),
    )


def _several(*, first: int, last: int) -> dict[str, Refusal]:
    """Of several dimensions the first or the last has no element."""
    return pairs(
        "shape",
        nothing_in_last_of_two=(Call(reals(2, 0), (first, last)), Call(reals(2, 0), (first,))),
        nothing_in_first_of_two=(Call(reals(0, 2), (first, last)), Call(reals(0, 2), (last,))),
    )


def _norms(call: Callable[..., Call]) -> dict[str, Refusal]:
    """`normalized_shape`, the trailing sizes, which the weight has too."""
    return pairs(
        "shape",
        nothing_named=(call(_X, ()), call(_X, (4,))),
        last_size=(call(_X, (3,)), call(_X, (4,))),
        last_size_of_two=(call(_X, (3, 5)), call(_X, (3, 4))),
        first_size_of_two=(call(_X, (2, 4)), call(_X, (3, 4))),
        too_many=(call(_X, (1, 3, 4)), call(reals(1, 3, 4), (1, 3, 4))),
    ) | pairs(
        "shape",
        "weight does not fit",
        weight_size=(call(_X, (4,), reals(3)), call(_X, (4,), reals(4))),
        weight_rank=(call(_X, (4,), reals(1, 4)), call(_X, (4,), reals(4))),
        weight_of_last=(call(_X, (3, 4), reals(4)), call(_X, (3, 4), reals(3, 4))),
        weight_of_one=(call(_X, (4,), reals(1)), call(_X, (4,), reals(4))),
    )


def _layer_norm(x: Any, shape: tuple[int, ...], weight: Any = None, bias: Any = None) -> Call:
    return Call(x, shape, weight, bias)


def _rms_norm(x: Any, shape: tuple[int, ...], weight: Any = None) -> Call:
    return Call(x, shape, weight, 1e-5)


_UNEQUAL = pairs(
    "shape",
    last_size=(Call(_X, reals(3, 3), 1), Call(_X, reals(3, 4), 1)),
    first_size=(Call(_X, reals(2, 4), 0), Call(_X, reals(3, 4), 0)),
    of_one=(Call(_X, reals(1, 4), 1), Call(reals(1, 4), reals(1, 4), 1)),
    rank=(Call(_X, reals(4), 0), Call(reals(4), reals(4), 0)),
) | dims(lambda dim: Call(_X, _X, dim), 2)

REFUSED: dict[str, dict[str, Refusal]] = {
    "add": pairs("shape", **_ALIKE),
    "mul": pairs("shape", **_ALIKE)
    | pairs("shape", "in dimension 0", first=(Call(reals(2, 1), reals(3, 4)), Call(reals(1, 1), reals(3, 4))))
    | pairs(
        "shape",
        "in dimension 2",
        last_of_vector=(Call(reals(2, 3, 4), reals(3)), Call(reals(2, 3, 4), reals(1))),
    )
    | pairs(
        "shape",
        "in dimension 1",
        middle=(Call(reals(2, 3, 4), reals(2, 4)), Call(reals(2, 3, 4), reals(1, 4))),
    ),
    "eq": pairs("shape", **_ALIKE),
    "where": pairs(
        "shape",
        condition=(
            Call(wholes(2, dtype="bool"), reals(3), 1.0),
            Call(wholes(1, dtype="bool"), reals(3), 1.0),
        ),
        condition_of_both=(
            Call(wholes(2, dtype="bool"), reals(3), reals(3)),
            Call(wholes(3, dtype="bool"), reals(3), reals(3)),
        ),
        last_operand=(
            Call(wholes(3, dtype="bool"), reals(3), reals(2)),
            Call(wholes(3, dtype="bool"), reals(3), reals(1)),
        ),
    ),
    "clamp": pairs(
        "shape",
        min=(Call(_X, reals(3), None), Call(_X, reals(4), None)),
        max=(Call(_X, None, reals(3)), Call(_X, None, reals(4))),
        max_of_both=(Call(_X, reals(4), reals(2, 1)), Call(_X, reals(4), reals(3, 1))),
    ),
    "lerp": pairs(
        "shape",
        end=(Call(_X, reals(3), 0.5), Call(_X, reals(4), 0.5)),
        weight=(Call(_X, _X, reals(3)), Call(_X, _X, reals(4))),
    ),
    "addcmul": pairs("shape", tensor2=(Call(_X, _X, reals(3)), Call(_X, _X, reals(4)))),
    "prelu": pairs(
        "shape",
        too_few=(Call(reals(2, 3, 2), reals(2)), Call(reals(2, 3, 2), reals(3))),
        too_many=(Call(reals(2, 3, 2), reals(4)), Call(reals(2, 3, 2), reals(3))),
        none=(Call(reals(2, 3), reals(0)), Call(reals(2, 3), reals(1))),
        of_matrix=(Call(reals(2, 3), reals(2)), Call(reals(2, 3), reals(3))),
        of_vector=(Call(reals(3), reals(3)), Call(reals(3), reals(1))),
        of_number=(Call(reals(), reals(2)), Call(reals(), reals())),
        rank=(Call(reals(2, 3), reals(1, 3)), Call(reals(2, 3), reals(3))),
        rank_of_one=(Call(reals(2, 3), reals(1, 1)), Call(reals(2, 3), reals())),
    ),
    "tril": pairs(
        "shape", vector=(Call(reals(3)), Call(reals(3, 1))), number=(Call(reals()), Call(reals(1, 1)))
    ),
    "triu": pairs("shape", vector=(Call(reals(3)), Call(reals(1, 3)))),
    "softmax": _one_dim(),
    "log_softmax": _one_dim(),
    "softmax_backward": _UNEQUAL,
    "log_softmax_backward": _UNEQUAL,
    "cumsum": _one_dim(),
    "cumprod": _one_dim(),
    "sort": _one_dim(),
    "cummax": _one_dim(),
    "max_dim": _one_dim()
    | {
        name: wrong
        for name, wrong in _choices(lambda x, dim=0: Call(x, dim)).items()
        if name != "nothing_in_rows"  # along dim 0 there are two
    },
    "argmax": _one_dim() | _choices(Call),
    "argmin": _choices(Call) | dims(lambda dim: Call(reals(2, 3, 4), dim, True), 3),
    "topk": pairs("shape", "expected 0 to 1", k_above_one=(Call(_NUMBER, 2, 0), Call(_NUMBER, 1, 0)))
    | pairs("shape", "expected 0 to 3", k_above_first=(Call(_X, 4, 0), Call(_X, 3, 0)))
    | pairs("shape", "expected 0 to 4", k_above_behind=(Call(_X, 5, -1), Call(_X, 4, -1))),
    "sum": _reductions(Call),
    "mean": _reductions(Call),
    "any": _reductions(Call),
    "all": _reductions(Call),
    "logsumexp": _reductions(Call),
    "norm_two": _reductions(Call),
    "var": _reductions(Call),
    "std": _reductions(Call),
    "norm_power": _reductions(lambda x, dim: Call(x, 3.0, dim)),
    "amax": _reductions(Call) | _choices(Call) | _several(first=0, last=1),
    "amin": _choices(Call) | _several(first=-2, last=-1),
    "layer_norm": _norms(_layer_norm)
    | pairs(
        "shape",
        "bias does not fit",
        bias_size=(Call(_X, (4,), None, reals(3)), Call(_X, (4,), None, reals(4))),
        bias_beside_weight=(Call(_X, (4,), reals(4), reals(5)), Call(_X, (4,), reals(4), reals(4))),
        bias_rank=(Call(_X, (3, 4), reals(3, 4), reals(4)), Call(_X, (3, 4), reals(3, 4), reals(3, 4))),
    ),
    "rms_norm_eps": _norms(_rms_norm),
    "zeros": _sizes(Call),
    "ones": _sizes(Call),
    "empty": _sizes(Call),
    "full": _sizes(lambda size: Call(size, 2.0)),
    "random_bits": pairs(
        "shape",
        size_below_zero=(Call((-1,)), Call((0,))),
        far_too_many_dims=(Call((1,) * 2**18), Call((1,) * _DEEP)),
    ),
    "iota": {"size_below_zero": refusal("shape", Call(0, 1, -1), Call(0, 1, 0))},
}
