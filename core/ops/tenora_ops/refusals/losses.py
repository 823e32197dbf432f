"""Losses: what is reduced how, targets and weights of classes that do not fit their input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.refusals.makers import of, pairs

_X = reals(2, 3)
_Y = wholes(2)
_WEIGHT = reals(3)
_KINDS = ("none", "mean", "sum")


def _reductions(call: Callable[[str], Call]) -> dict[str, Refusal]:
    """The three names of a reduction are spelt in one way."""
    return {
        f"reduction_{kind}": refusal("argument", call(kind.capitalize()), call(kind)) for kind in _KINDS
    } | {"reduction_unnamed": refusal("argument", call(""), call("mean"))}


def _classes(call: Callable[..., Call]) -> dict[str, Refusal]:
    """(input, target, weight) of class numbers: `call` has the rest."""
    return (
        pairs(
            "shape",
            "target does not fit",
            number=(call(reals(), wholes()), call(reals(1), wholes())),
            batch_above=(call(_X, wholes(3)), call(_X, _Y)),
            batch_below=(call(_X, wholes(1)), call(_X, _Y)),
            target_rank_above=(call(_X, wholes(2, 1)), call(_X, _Y)),
            target_rank_below=(call(reals(2, 3, 2), _Y), call(reals(2, 3, 2), wholes(2, 2))),
            target_of_classes=(call(_X, wholes(2, 3)), call(reals(2, 3, 3), wholes(2, 3))),
            deep_batch=(call(reals(2, 3, 4), wholes(1, 4)), call(reals(2, 3, 4), wholes(2, 4))),
            deep_first=(call(reals(2, 3, 4, 5), wholes(2, 3, 5)), call(reals(2, 3, 4, 5), wholes(2, 4, 5))),
            deep_last=(call(reals(2, 3, 4, 5), wholes(2, 4, 4)), call(reals(2, 3, 4, 5), wholes(2, 4, 5))),
            vector=(call(_WEIGHT, _Y), call(_WEIGHT, wholes())),
        )
        | pairs(
            "shape",
            "weight does not fit",
            weight_above=(call(_X, _Y, reals(4)), call(_X, _Y, _WEIGHT)),
            weight_below=(call(_X, _Y, reals(2)), call(_X, _Y, _WEIGHT)),
            weight_rank_above=(call(_X, _Y, reals(3, 1)), call(_X, _Y, _WEIGHT)),
            weight_rank_below=(call(_X, _Y, reals()), call(_X, _Y, _WEIGHT)),
            weight_of_one=(call(_X, _Y, reals(1)), call(_X, _Y, _WEIGHT)),
            weight_of_vector=(call(_WEIGHT, wholes(), reals(2)), call(_WEIGHT, wholes(), _WEIGHT)),
        )
        | pairs(
            "dtype",
            "wrong dtype of ",
            target_int32=(call(_X, of("int32", 2)), call(_X, _Y)),
            target_float32=(call(_X, of("float32", 2)), call(_X, _Y)),
            target_bool=(call(_X, of("bool", 2), _WEIGHT), call(_X, _Y, _WEIGHT)),
            weight_float64=(call(_X, _Y, of("float64", 3)), call(_X, _Y, _WEIGHT)),
            weight_float16=(call(_X, _Y, of("float16", 3)), call(_X, _Y, _WEIGHT)),
        )
    )


def _forward(x: Any, y: Any, weight: Any = None, reduction: str = "mean") -> Call:
    return Call(x, y, weight=weight, reduction=reduction)


def _smooth(x: Any, y: Any, weight: Any = None, reduction: str = "mean") -> Call:
    return Call(x, y, weight, -100, reduction, 0.1)


def _backward(x: Any, y: Any, weight: Any = None, reduction: str = "sum", grad: Any = None) -> Call:
    return Call(reals() if grad is None else grad, x, y, weight, -100, reduction)


def _gradient(grad: Any, reduction: str) -> Call:
    return _backward(_X, _Y, None, reduction, grad)


def _probabilities(x: Any, y: Any, weight: Any = None, reduction: str = "mean") -> Call:
    return Call(x, y, weight, reduction)


REFUSED: dict[str, dict[str, Refusal]] = {
    "mse_loss": _reductions(lambda r: Call(_X, _X, reduction=r))
    | pairs(
        "shape",
        target_size=(Call(_X, reals(2, 2)), Call(_X, _X)),
        target_batch=(Call(_X, reals(3, 3), reduction="none"), Call(_X, _X, reduction="none")),
    ),
    "l1_loss": _reductions(lambda r: Call(_X, _X, reduction=r)),
    "smooth_l1_loss": _reductions(lambda r: Call(_X, _X, reduction=r)),
    "kl_div": _reductions(lambda r: Call(_X, _X, reduction=r)),
    "nll_loss": _classes(_forward) | _reductions(lambda r: _forward(_X, _Y, None, r)),
    "cross_entropy": _classes(_forward) | _reductions(lambda r: _forward(_X, _Y, None, r)),
    "cross_entropy_smooth": _classes(_smooth) | _reductions(lambda r: _smooth(_X, _Y, None, r)),
    "nll_loss_backward": _classes(_backward)
    | {
        name: wrong
        for name, wrong in _reductions(lambda r: _gradient(reals(), r)).items()
        if "none" not in name
    }
    | pairs("argument", reduction_none=(_gradient(reals(2), "None"), _gradient(reals(2), "none")))
    | pairs(
        "shape",
        "grad does not fit",
        grad_of_sum=(_gradient(reals(2), "sum"), _gradient(reals(), "sum")),
        grad_of_mean=(_gradient(reals(1), "mean"), _gradient(reals(), "mean")),
        grad_of_none=(_gradient(reals(), "none"), _gradient(reals(2), "none")),
        grad_above=(_gradient(reals(3), "none"), _gradient(reals(2), "none")),
        grad_below=(_gradient(reals(1), "none"), _gradient(reals(2), "none")),
        grad_rank=(_gradient(reals(2, 1), "none"), _gradient(reals(2), "none")),
    )
    | pairs(
        "dtype",
        grad_float64=(_gradient(reals(dtype="float64"), "sum"), _gradient(reals(), "sum")),
        grad_float16=(_gradient(reals(2, dtype="float16"), "none"), _gradient(reals(2), "none")),
    ),
    "cross_entropy_probabilities": _reductions(lambda r: _probabilities(_X, _X, None, r))
    | pairs(
        "shape",
        number=(_probabilities(reals(), reals()), _probabilities(reals(1), reals(1))),
        target_batch=(_probabilities(_X, reals(1, 3)), _probabilities(_X, _X)),
        target_classes=(_probabilities(_X, reals(2, 2)), _probabilities(_X, _X)),
        target_rank_above=(_probabilities(_X, reals(2, 3, 1)), _probabilities(_X, _X)),
        target_rank_below=(_probabilities(_X, reals(2)), _probabilities(_X, _X)),
        weight_above=(_probabilities(_X, _X, reals(4)), _probabilities(_X, _X, _WEIGHT)),
        weight_below=(_probabilities(_X, _X, reals(2), "none"), _probabilities(_X, _X, _WEIGHT, "none")),
        weight_rank_above=(_probabilities(_X, _X, reals(3, 1)), _probabilities(_X, _X, _WEIGHT)),
        weight_rank_below=(_probabilities(_X, _X, reals()), _probabilities(_X, _X, _WEIGHT)),
        weight_of_vector=(
            _probabilities(_WEIGHT, _WEIGHT, reals(1), "sum"),
            _probabilities(_WEIGHT, _WEIGHT, reals(3), "sum"),
        ),
    ),
}
