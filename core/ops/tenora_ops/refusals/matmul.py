"""Products of matrices: ranks, inner sizes, and what is added to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals
from tenora_ops.refusals.makers import Pair, pairs

_A = reals(2, 3)
_B = reals(3, 4)
_V = reals(3)
_NUMBER = reals()
_STACK = reals(2, 3, 4)
_OTHER = reals(2, 4, 5)


def _stacks(call: Callable[[Any, Any], Call]) -> dict[str, Pair]:
    """Two stacks of matrices."""
    taken = call(_STACK, _OTHER)
    return {
        "first_rank_below": (call(reals(3, 4), _OTHER), taken),
        "first_rank_above": (call(reals(1, 2, 3, 4), _OTHER), taken),
        "second_rank_below": (call(_STACK, reals(4, 5)), taken),
        "second_rank_above": (call(_STACK, reals(2, 1, 4, 5)), taken),
        "batch_above": (call(_STACK, reals(3, 4, 5)), taken),
        "batch_of_one": (call(_STACK, reals(1, 4, 5)), taken),
        "inner_above": (call(_STACK, reals(2, 5, 5)), taken),
        "inner_below": (call(_STACK, reals(2, 3, 5)), taken),
        "inner_of_one": (call(reals(2, 3, 1), _OTHER), taken),
    }


def _addmm(a: Any = _A, b: Any = _B, addend: Any = _NUMBER) -> Call:
    return Call(addend, a, b)


def _baddbmm(a: Any = _STACK, b: Any = _OTHER, addend: Any = _NUMBER) -> Call:
    return Call(addend, a, b)


REFUSED: dict[str, dict[str, Refusal]] = {
    "mm": pairs(
        "shape",
        first_rank_below=(Call(_V, _B), Call(_A, _B)),
        first_rank_above=(Call(reals(1, 2, 3), _B), Call(_A, _B)),
        second_rank_below=(Call(_A, _V), Call(_A, reals(3, 1))),
        second_rank_above=(Call(_A, reals(1, 3, 4)), Call(_A, _B)),
        inner_above=(Call(_A, reals(4, 4)), Call(_A, _B)),
        inner_below=(Call(_A, reals(2, 3)), Call(_A, reals(3, 2))),
        inner_of_one=(Call(_A, reals(1, 4)), Call(reals(2, 1), reals(1, 4))),
        inner_of_none=(Call(_A, reals(0, 4)), Call(reals(2, 0), reals(0, 4))),
    ),
    "bmm": pairs("shape", **_stacks(Call)),
    "mv": pairs(
        "shape",
        first_rank_below=(Call(_V, _V), Call(reals(1, 3), _V)),
        first_rank_above=(Call(reals(1, 2, 3), _V), Call(_A, _V)),
        second_rank_below=(Call(reals(2, 1), _NUMBER), Call(reals(2, 1), reals(1))),
        second_rank_above=(Call(_A, reals(3, 1)), Call(_A, _V)),
        inner_above=(Call(_A, reals(4)), Call(_A, _V)),
        inner_below=(Call(_A, reals(2)), Call(_A, _V)),
        inner_of_one=(Call(_A, reals(1)), Call(reals(2, 1), reals(1))),
    ),
    "dot": pairs(
        "shape",
        first_rank_below=(Call(_NUMBER, reals(1)), Call(reals(1), reals(1))),
        first_rank_above=(Call(reals(1, 3), _V), Call(_V, _V)),
        second_rank_below=(Call(reals(1), _NUMBER), Call(reals(1), reals(1))),
        second_rank_above=(Call(_V, reals(3, 1)), Call(_V, _V)),
        size_above=(Call(_V, reals(4)), Call(_V, _V)),
        size_below=(Call(_V, reals(2)), Call(_V, _V)),
        size_of_one=(Call(_V, reals(1)), Call(reals(1), reals(1))),
    ),
    "matmul": pairs(
        "shape",
        first_number=(Call(_NUMBER, _V), Call(reals(1), reals(1))),
        second_number=(Call(_V, _NUMBER), Call(reals(3, 1), reals(1))),
        vectors=(Call(_V, reals(2)), Call(_V, _V)),
        vector_and_matrix=(Call(reals(4), _B), Call(_V, _B)),
        matrix_and_vector=(Call(_A, reals(2)), Call(_A, _V)),
        matrices=(Call(_A, reals(2, 3)), Call(_A, reals(3, 2))),
        inner_above=(Call(_A, reals(4, 4)), Call(_A, _B)),
        stack_and_matrix=(Call(_STACK, _B), Call(_STACK, reals(4, 3))),
        stacks=(Call(_STACK, reals(2, 5, 4)), Call(_STACK, _OTHER)),
        batches=(Call(_STACK, reals(3, 4, 5)), Call(_STACK, reals(1, 4, 5))),
        first_batches=(
            Call(reals(3, 1, 2, 3), reals(2, 1, 3, 2)),
            Call(reals(3, 1, 2, 3), reals(1, 1, 3, 2)),
        ),
        last_batches=(Call(reals(1, 3, 2, 3), reals(1, 2, 3, 2)), Call(reals(1, 3, 2, 3), reals(1, 1, 3, 2))),
        batches_of_ranks=(Call(reals(2, 3, 1, 4), reals(2, 4, 1)), Call(reals(2, 3, 1, 4), reals(3, 4, 1))),
    ),
    "addmm": pairs(
        "shape",
        first_rank_below=(_addmm(a=_V), _addmm()),
        first_rank_above=(_addmm(a=reals(1, 2, 3)), _addmm()),
        second_rank_below=(_addmm(b=_V), _addmm()),
        second_rank_above=(_addmm(b=reals(1, 3, 4)), _addmm()),
        inner_above=(_addmm(b=reals(4, 4)), _addmm()),
        inner_below=(_addmm(b=reals(2, 4)), _addmm()),
        addend_last=(_addmm(addend=reals(3)), _addmm(addend=reals(4))),
        addend_first=(_addmm(addend=reals(3, 4)), _addmm(addend=reals(2, 4))),
        addend_rank=(_addmm(addend=reals(1, 2, 4)), _addmm(addend=reals(2, 4))),
        addend_rank_of_ones=(_addmm(addend=reals(1, 1, 1)), _addmm(addend=reals(1, 1))),
        addend_larger=(_addmm(a=reals(1, 3), addend=reals(2, 4)), _addmm(a=reals(1, 3), addend=reals(1, 4))),
        addend_wider=(_addmm(b=reals(3, 1), addend=reals(2, 4)), _addmm(b=reals(3, 1), addend=reals(2, 1))),
    ),
    "baddbmm": pairs(
        "shape",
        **_stacks(_baddbmm),
        addend_last=(_baddbmm(addend=reals(4)), _baddbmm(addend=reals(5))),
        addend_first=(_baddbmm(addend=reals(3, 3, 5)), _baddbmm(addend=reals(2, 3, 5))),
        addend_rank=(_baddbmm(addend=reals(1, 2, 3, 5)), _baddbmm(addend=reals(2, 3, 5))),
        addend_larger=(
            _baddbmm(a=reals(2, 1, 4), addend=reals(2, 3, 5)),
            _baddbmm(a=reals(2, 1, 4), addend=reals(2, 1, 5)),
        ),
    ),
    "linear": pairs(
        "shape",
        number=(Call(_NUMBER, reals(4, 1)), Call(reals(1), reals(4, 1))),
        weight_rank_below=(Call(_A, _V), Call(_A, reals(1, 3))),
        weight_rank_above=(Call(_A, reals(1, 4, 3)), Call(_A, reals(4, 3))),
        features_above=(Call(_A, reals(3, 4)), Call(_A, reals(4, 3))),
        features_below=(Call(_A, reals(3, 2)), Call(_A, reals(2, 3))),
        features_of_vector=(Call(_V, reals(3, 1)), Call(_V, reals(1, 3))),
        bias_above=(Call(_A, reals(4, 3), reals(5)), Call(_A, reals(4, 3), reals(4))),
        bias_below=(Call(_A, reals(4, 3), reals(3)), Call(_A, reals(4, 3), reals(1))),
        bias_of_none=(Call(_A, reals(4, 3), reals(0)), Call(_A, reals(4, 3), reals(1))),
        bias_rank=(Call(_A, reals(4, 3), reals(2, 4)), Call(_A, reals(4, 3), reals(4))),
        bias_rank_of_batch=(Call(_A, reals(4, 3), reals(4, 1)), Call(_A, reals(4, 3), _NUMBER)),
    ),
}
