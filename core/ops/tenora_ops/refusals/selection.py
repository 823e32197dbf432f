"""Ops that choose among elements."""

from __future__ import annotations

from tenora_ops.refusals import Call, Refusal, reals, refusal

_X = reals(3, 4)

REFUSED: dict[str, dict[str, Refusal]] = {
    "topk": {
        "k_above_size": refusal("shape", Call(_X, 5, 1), Call(_X, 4, 1)),
        "k_below_zero": refusal("shape", Call(_X, -1, 1), Call(_X, 0, 1)),
        "dim_above": refusal("dim", Call(_X, 1, 2), Call(_X, 1, 1)),
        "dim_below": refusal("dim", Call(_X, 1, -3), Call(_X, 1, -2)),
    },
}
