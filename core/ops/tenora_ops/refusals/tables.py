"""All that is stated to be refused, by op."""

from __future__ import annotations

from functools import cache

from tenora_ops.record import RecordError
from tenora_ops.refusals import (
    Refusal,
    arrange_checks,
    contraction_checks,
    convolutions,
    count_checks,
    dtypes,
    dtypes_together,
    fourier_checks,
    image_checks,
    indexing,
    layer_checks,
    linalg_checks,
    loss_checks,
    losses,
    matmul,
    number_checks,
    random_checks,
    scatter_checks,
    selection,
    shapes,
    strides,
    views,
    windows,
)

_MODULES = (
    arrange_checks,
    contraction_checks,
    convolutions,
    count_checks,
    dtypes,
    dtypes_together,
    fourier_checks,
    image_checks,
    indexing,
    layer_checks,
    linalg_checks,
    loss_checks,
    losses,
    matmul,
    number_checks,
    random_checks,
    scatter_checks,
    selection,
    shapes,
    strides,
    views,
    windows,
)


@cache
def _tables() -> dict[str, dict[str, Refusal]]:
    found: dict[str, dict[str, Refusal]] = {}
    for module in _MODULES:
        for op, refused in module.REFUSED.items():
            mine = found.setdefault(op, {})
            if twice := mine.keys() & refused.keys():
                raise RecordError(
                    f"[{op}] refusals: got {sorted(twice)} twice, expected one each. Rename one."
                )
            mine.update(refused)
    return found


def refusals_of(op: str) -> dict[str, Refusal]:
    """What an op has to refuse, by the name of what is wrong; empty where nothing is stated.

    >>> sorted(refusals_of("topk"))[0]
    'dim_above'
    """
    return _tables().get(op, {})


def refusing_ops() -> list[str]:
    """The ops that state something.

    >>> "topk" in refusing_ops()
    True
    """
    return sorted(_tables())
