"""A batch norm in evaluation is a linear map of each channel: it can go into the weights of the layer before it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..module import Module
from ..parameter import Parameter

T = TypeVar("T", bound=Module)


def _pieces(mean: Tensor, variance: Tensor, eps: float, weight: Any, bias: Any) -> tuple[Any, Any]:
    """Scale and shift of each channel."""
    scale = tenora_ops.rsqrt(variance + eps)
    scale = scale if weight is None else weight * scale
    shift = -mean * scale
    return scale, shift if bias is None else shift + bias


def _fused(
    weight: Tensor, bias: Any, scale: Any, shift: Any, along: list[int]
) -> tuple[Parameter, Parameter]:
    new_weight = (weight * scale.reshape(along)).to(weight.dtype)
    new_bias = shift if bias is None else bias * scale + shift
    dtype, trained = (weight.dtype, False) if bias is None else (bias.dtype, bias.requires_grad)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias.to(dtype), trained)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of one convolution that does what a convolution and a batch norm in evaluation do.

    `bn_rm` and `bn_rv` are the running mean and variance; `transpose` says that dim 1 of the weight is the outputs'.

    >>> import tenora
    >>> one = tenora.ones(1)
    >>> weight, bias = fuse_conv_bn_weights(tenora.ones(1, 1, 1), None, one, 4 * one, 0.0, None, None)
    >>> weight.item(), bias.item()
    (0.5, -0.5)
    """
    scale, shift = _pieces(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    along = [1] * conv_w.ndim
    along[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, scale, shift, along)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of one linear layer that does what a linear layer and a batch norm in evaluation do.

    >>> import tenora
    >>> one = tenora.ones(1)
    >>> weight, bias = fuse_linear_bn_weights(tenora.ones(1, 1), one, one, 4 * one, 0.0, one, one)
    >>> weight.item(), bias.item()
    (0.5, 1.0)
    """
    scale, shift = _pieces(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fused(linear_w, linear_b, scale, shift, [-1, 1])


def _check(layer: Module, bn: Any) -> None:
    if layer.training or bn.training:
        raise errors.ConditionError(
            f"[fusion] {type(layer).__name__} and {type(bn).__name__}: got a module in training, expected both in "
            "evaluation. Call eval() on both."
        )
    if bn.running_mean is None or bn.running_var is None:
        raise errors.ConditionError(
            f"[fusion] {type(bn).__name__}: got no running statistics, expected some. "
            "Make it with track_running_stats=True."
        )


def fuse_conv_bn_eval(conv: T, bn: Any, transpose: bool = False) -> T:
    """A convolution that does what `conv` and then the batch norm `bn` do; both must be in evaluation.

    AssertionError for a module in training.

    >>> import tenora
    >>> conv, bn = tenora.nn.Conv1d(1, 2, 1).eval(), tenora.nn.BatchNorm1d(2).eval()
    >>> x = tenora.ones(1, 1, 3)
    >>> tenora.allclose(fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
    True
    """
    _check(conv, bn)
    fused: Any = deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: T, bn: Any) -> T:
    """A linear layer that does what `linear` and then the batch norm `bn` do; both must be in evaluation.

    `bn` has as many features as `linear` gives, or one.

    AssertionError for a module in training, and for another number of features.

    >>> import tenora
    >>> linear, bn = tenora.nn.Linear(1, 2).eval(), tenora.nn.BatchNorm1d(2).eval()
    >>> x = tenora.ones(3, 1)
    >>> tenora.allclose(fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))
    True
    """
    _check(linear, bn)
    fused: Any = deepcopy(linear)
    if bn.num_features not in (1, fused.out_features):
        raise errors.ConditionError(
            f"[fuse_linear_bn_eval] features of the batch norm: got {bn.num_features}, expected {fused.out_features} "
            "or 1. Fuse layers that follow one another."
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
