"""Normalisation over batches, groups, channels and vectors: batch, group, instance, rms, local response, normalize.

- Inside, channels stand at a fixed place: (N, C, L) with all spatial dims as one L; one formula serves every rank.
- `batch_norm` and `instance_norm` also write their running statistics, which no Program can: they are Python functions
  over the composites `batch_norm_train` and `batch_norm_eval`. Half types are computed in float32 there too.
- Running variances are unbiased (n - 1), those that normalise are not (Ioffe and Szegedy 2015, as PyTorch does it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import need_real
from tenora_ops.families import ALONG
from tenora_ops.formula import is_complex, max_number, ops
from tenora_ops.lazy import np
from tenora_ops.limits import default_eps
from tenora_ops.record import Family, op
from tenora_ops.samples import REALS, Draw, Sample, sample

CHANNELS = Family(
    "channels", "float_same", "same", "plain", lambda draw: batches(draw), REALS, tolerance="statistics"
)


def batches(draw: Draw) -> Iterable[Sample]:
    """Input, with and without weight and bias."""
    shapes = ((4, 3), (3, 2, 5), (2, 3, 2, 4), (2, 1, 3, 2, 2), (5, 4), (2, 2, 3))
    return [
        sample(
            draw.array(*shape),
            *((draw.array(shape[1]), draw.array(shape[1]), 1e-3) if i % 2 else (None, None, 1e-5)),
        )
        for i, shape in enumerate(shapes)
    ]


def _columns(x: Any) -> Any:
    """(N, C, ...) as (N, C, L)."""
    n, c = x.shape[0], x.shape[1]
    return ops.reshape(x, (n, c, x.numel // max_number(n * c, 1)))


def _scaled(columns: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        columns = columns * ops.unsqueeze(weight, -1)
    return columns if bias is None else columns + ops.unsqueeze(ops.straight(bias), -1)


def _batch_norm_train(x: Any, weight: Any, bias: Any, eps: Any) -> tuple[Any, Any, Any]:
    columns = _columns(x)
    mean = ops.mean(columns, (0, 2))
    centred = columns - ops.unsqueeze(mean, -1)
    square = ops.mean(centred * centred, (0, 2))
    normal = centred * ops.unsqueeze(ops.rsqrt(square + eps), -1)
    return ops.reshape(_scaled(normal, weight, bias), x.shape), mean, square


def _with_channels(operands: Any, attributes: Any) -> tuple[Any, Any, Any]:
    shape = tuple(operands[0][0])
    return shape, shape[1:2], shape[1:2]


def _batch_norm_slopes(g: Any, x: Any, weight: Any, bias: Any, eps: Any) -> tuple[Any, Any, Any]:
    columns, slope = _columns(x), _columns(g)
    centred = columns - ops.mean(columns, (0, 2), True)
    scale = ops.rsqrt(ops.mean(centred * centred, (0, 2), True) + eps)
    normal = centred * scale
    along = ops.sum(slope * normal, (0, 2), True)
    total = ops.sum(slope, (0, 2), True)
    count = x.numel // max_number(x.shape[1], 1)
    of_normal = slope - total / count - normal * (along / count)
    if weight is not None:
        scale = scale * ops.unsqueeze(weight, -1)
    return (
        ops.reshape(of_normal * scale, x.shape),
        None if weight is None else ops.reshape(along, weight.shape),
        None if bias is None else ops.constant_in(ops.reshape(total, bias.shape), bias),
    )


def _normal_oracle(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True) + eps)


def _per_channel(values: Any, ndim: int) -> Any:
    return values.reshape([1, -1, *[1] * (ndim - 2)])


def _affine_oracle(normal: Any, weight: Any, bias: Any) -> Any:
    normal = normal if weight is None else normal * _per_channel(weight, normal.ndim)
    return normal if bias is None else normal + _per_channel(bias, normal.ndim)


def _batch_oracle(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return _affine_oracle(_normal_oracle(x, (0, *range(2, x.ndim)), eps), weight, bias)


def _train_oracle(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    axes = (0, *range(2, x.ndim))
    return _batch_oracle(x, weight, bias, eps), x.mean(axis=axes), x.var(axis=axes)


batch_norm_train = op(
    "batch_norm_train(input: Tensor, weight: Tensor?, bias: Tensor?, eps: float) -> (Tensor, Tensor, Tensor)",
    family=CHANNELS,
    dtype="float_same_real",
    shape=_with_channels,
    composite=_batch_norm_train,
    # Not from the statistics that are results: second derivatives go through them as well.
    vjp=lambda g, x, weight, bias, r, mean, square, eps: _batch_norm_slopes(g, x, weight, bias, eps),
    not_differentiable=(1, 2),
    oracle=_train_oracle,
    doc="Every channel (dim 1) with mean 0 and variance 1 over all other dims, then weight and bias per channel; "
    "the means and the variances.",
    example="tenora.nn.functional.batch_norm(tenora.rand(4, 2), None, None, training=True)",
    public="",
)


def _batch_norm_eval(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: Any) -> Any:
    centred = _columns(x) - ops.unsqueeze(mean, -1)
    return ops.reshape(_scaled(centred * ops.unsqueeze(ops.rsqrt(var + eps), -1), weight, bias), x.shape)


def _batch_norm_eval_slopes(
    g: Any, x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: Any
) -> tuple[Any, Any, Any, Any, Any]:
    slope = _columns(g)
    scale = ops.rsqrt(var + eps)
    factor = scale if weight is None else scale * weight
    along = ops.sum(slope * (_columns(x) - ops.unsqueeze(mean, -1)), (0, 2))
    total = ops.sum(slope, (0, 2))
    return (
        ops.reshape(slope * ops.unsqueeze(factor, -1), x.shape),
        -total * factor,
        along * factor * (scale * scale) * -0.5,
        None if weight is None else along * scale,
        None if bias is None else ops.constant_in(total, bias),
    )


def _evaluations(draw: Draw) -> Iterable[Sample]:
    found = []
    for s in batches(draw):
        x, *rest = s.arguments
        var = np.abs(draw.array(x.shape[1])) + x.dtype.type(0.5)
        found.append(sample(x, draw.array(x.shape[1]), var, *rest))
    return found


def _eval_oracle(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
    normal = (x - _per_channel(mean, x.ndim)) / np.sqrt(_per_channel(var, x.ndim) + eps)
    return _affine_oracle(normal, weight, bias)


batch_norm_eval = op(
    "batch_norm_eval(input: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor?, bias: Tensor?, "
    "eps: float) -> Tensor",
    family=CHANNELS,
    dtype="float_same_real",
    samples=_evaluations,
    composite=_batch_norm_eval,
    vjp=lambda g, x, mean, var, weight, bias, r, eps: _batch_norm_eval_slopes(
        g, x, mean, var, weight, bias, eps
    ),
    oracle=_eval_oracle,
    doc="(x - mean) / sqrt(var + eps) with a given mean and variance per channel, then weight and bias.",
    example="tenora.nn.functional.batch_norm(tenora.rand(4, 2), tenora.zeros(2), tenora.ones(2))",
    public="",
)


def is_half(x: Any) -> bool:
    return x.dtype in (_engine.float16, _engine.bfloat16)


def widened(*tensors: Any) -> list[Any]:
    """Half types in float32."""
    return [ops.to(t, _engine.float32) if t is not None and is_half(t) else t for t in tensors]


def narrowed(result: Any, dtype: Any) -> Any:
    """What was computed of widened operands, in their own dtype."""
    return result if result.dtype == dtype else ops.to(result, dtype)


def _channel_count(op_name: str, x: Any, **per_channel: Any) -> None:
    if x.ndim < 2:
        raise errors.OperationError(
            f"[{op_name}] too few dimensions: got {x.ndim}-d, expected at least 2, (N, C, ...). Unsqueeze the input."
        )
    for name, value in per_channel.items():
        if value is not None and tuple(value.shape) != (x.shape[1],):
            raise errors.OperationError(
                f"[{op_name}] {name} does not fit: got {list(value.shape)}, expected one value for each of "
                f"{x.shape[1]} channels. Check the layer's sizes."
            )


def _follow(running: Any, value: Any, momentum: float, unbiased: float = 1.0) -> None:
    """running = (1 - momentum) running + momentum unbiased value, without history."""
    if running is not None:
        running.mul_(1.0 - momentum).add_(narrowed(value * (momentum * unbiased), running.dtype))


def _unbiased(count: int) -> float:
    """Makes the variance of a population, whose mean square is known from `count` of it."""
    return count / max(count - 1, 1)


def _moments(columns: Any) -> tuple[Any, Any, int]:
    count = columns.shape[0] * columns.shape[2]
    mean = ops.mean(columns, (0, 2))
    squares = ops.mean(ops.square(columns - ops.reshape(mean, (1, -1, 1))), (0, 2))
    return mean, squares, count


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    _channel_count(
        "batch_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    x, mean, var, w, b = widened(input, running_mean, running_var, weight, bias)
    if not training:
        if mean is None or var is None:
            raise errors.OperationError(
                "[batch_norm] no statistics: got running_mean or running_var None without training, expected both. "
                "Pass them, or training=True."
            )
        return narrowed(ops.batch_norm_eval(x, mean, var, w, b, eps), input.dtype)
    size = input.numel() // max(input.shape[1], 1)
    if size == 1:
        raise errors.ArgumentValueError(
            f"[batch_norm] one value per channel: got {list(input.shape)}, expected more in training. "
            "Pass a larger batch, or training=False."
        )
    result, mean, squares = ops.batch_norm_train(x, w, b, eps)
    if input.numel() and (running_mean is not None or running_var is not None):  # no batch, nothing to follow
        with _engine.no_grad():
            _follow(running_mean, mean, momentum)
            _follow(running_var, squares, momentum, _unbiased(size))
    return narrowed(result, input.dtype)


def _batch_norm_checked(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """`eps` is bounded here only: instance_norm takes any, as in PyTorch."""
    if eps < 0 or (training and eps == 0):
        raise errors.ArgumentValueError(
            f"[batch_norm] eps is wrong: got {eps}, expected a number above 0{'' if training else ' or 0'}. "
            "Pass a small positive one."
        )
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _with_statistics(draw: Draw) -> Iterable[Sample]:
    """In training without statistics, and with given ones otherwise: calls that write nothing."""
    found = []
    for i, s in enumerate(_evaluations(draw)):
        x, mean, var, weight, bias, eps = s.arguments
        if i % 3 == 0:
            found.append(sample(x, None, None, weight, bias, True, 0.1, eps))
        else:
            found.append(sample(x, mean, var, weight, bias, False, 0.1, eps))
    return found


def _batch_norm_oracle(
    x: Any,
    mean: Any,
    var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return _batch_oracle(x, weight, bias, eps) if training else _eval_oracle(x, mean, var, weight, bias, eps)


batch_norm = op(
    "batch_norm(input: Tensor, running_mean: Tensor?, running_var: Tensor?, weight: Tensor? = None, "
    "bias: Tensor? = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor",
    family=Family("batch_norm", "", "", "", _with_statistics, REALS, tolerance="statistics"),
    function=_batch_norm_checked,
    oracle=_batch_norm_oracle,
    doc="Channels normalised by their batch (training; running statistics follow) or by running statistics.",
    example="tenora.nn.functional.batch_norm(tenora.rand(4, 2), tenora.zeros(2), tenora.ones(2), training=True)",
    public="nn.functional.batch_norm",
)


def _group_norm(x: Any, weight: Any, bias: Any, num_groups: Any, eps: Any) -> Any:
    n, c = x.shape[0], x.shape[1]
    groups = ops.reshape(x, (n, num_groups, x.numel // max_number(n * num_groups, 1)))
    normal = ops.reshape(ops.standardise(groups, (2,), eps, True), (n, c, x.numel // max_number(n * c, 1)))
    return ops.reshape(_scaled(normal, weight, bias), x.shape)


def _grouped(operands: Any, attributes: Any) -> tuple[int, ...]:
    """The shape rule of group_norm."""
    shape, groups = operands[0][0], attributes[0]
    if len(shape) < 2:
        raise errors.OperationError(
            f"[group_norm] too few dimensions: got {len(shape)}-d, expected at least 2, (N, C, ...). Unsqueeze it."
        )
    if groups <= 0 or shape[1] % groups:
        raise errors.OperationError(
            f"[group_norm] num_groups does not fit: got {groups} for {shape[1]} channels, expected a divisor of the "
            "number of channels. Choose another number of groups."
        )
    if math.prod(shape) == groups:
        raise errors.ArgumentValueError(
            f"[group_norm] one value per group: got {list(shape)}, expected more. Pass more or take fewer groups."
        )
    for name, other in zip(("weight", "bias"), operands[1:], strict=True):
        if other is not None and tuple(other[0]) != (shape[1],):
            raise errors.OperationError(
                f"[group_norm] {name} does not fit: got {list(other[0])}, expected one value for each of {shape[1]} "
                "channels. Check the layer's sizes."
            )
    return tuple(shape)


def _group_samples(draw: Draw) -> Iterable[Sample]:
    rows = (
        ((2, 4, 3), 2),
        ((3, 4), 2),
        ((2, 6, 2, 2), 3),
        ((1, 2, 2, 1, 3), 1),
        ((2, 3, 4), 3),
        ((0, 4, 2), 2),
    )
    found = []
    for i, (shape, groups) in enumerate(rows):
        affine = (draw.array(shape[1]), draw.array(shape[1])) if i % 2 else ()
        found.append(sample(draw.array(*shape), groups, *affine, eps=1e-3 if i % 2 else 1e-5))
    return found


def _group_oracle(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    if not x.size:
        return x
    groups = x.reshape(x.shape[0], num_groups, -1)
    return _affine_oracle(_normal_oracle(groups, (2,), eps).reshape(x.shape), weight, bias)


group_norm = op(
    "group_norm(input: Tensor, num_groups: int, weight: Tensor? = None, bias: Tensor? = None, eps: float = 1e-05) "
    "-> Tensor",
    family=CHANNELS,
    dtype="float_same_real",
    shape=_grouped,
    samples=_group_samples,
    composite=_group_norm,
    oracle=_group_oracle,
    doc="Every group of channels of a sample with mean 0 and variance 1, then weight and bias (Wu and He 2018).",
    example="tenora.nn.functional.group_norm(tenora.rand(2, 4, 3), 2)",
    public="nn.functional.group_norm",
)


def _instance_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> Any:
    _channel_count(
        "instance_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    if not use_input_stats:
        return _batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    n, c = input.shape[0], input.shape[1]
    length = input.numel() // max(n * c, 1)
    if not c:
        return ops.clone(input)
    if length == 1:
        raise errors.ArgumentValueError(
            f"[instance_norm] one value per channel: got {list(input.shape)}, expected more in training. "
            "Pass more spatial elements."
        )
    x, w, b = widened(input, weight, bias)
    if running_mean is not None or running_var is not None:
        with _engine.no_grad():
            columns = ops.reshape(x, (1, n * c, length))
            mean, squares, count = _moments(columns)
            _follow(running_mean, ops.mean(ops.reshape(mean, (n, c)), 0), momentum)
            _follow(running_var, ops.mean(ops.reshape(squares, (n, c)), 0), momentum, _unbiased(count))
    return narrowed(ops.group_norm(x, c, w, b, eps), input.dtype)


def _instances(draw: Draw) -> Iterable[Sample]:
    found = []
    for s in _with_statistics(draw):
        x, mean, var, weight, bias, training, momentum, eps = s.arguments
        x = x if x.ndim > 2 else draw.array(*x.shape, 3)
        found.append(sample(x, mean, var, weight, bias, training, momentum, eps))
    return found


def _instance_oracle(
    x: Any, mean: Any, var: Any, weight: Any, bias: Any, use_input_stats: bool, momentum: float, eps: float
) -> Any:
    if not use_input_stats:
        return _eval_oracle(x, mean, var, weight, bias, eps)
    return _affine_oracle(_normal_oracle(x, tuple(range(2, x.ndim)), eps), weight, bias)


instance_norm = op(
    "instance_norm(input: Tensor, running_mean: Tensor? = None, running_var: Tensor? = None, weight: Tensor? = None, "
    "bias: Tensor? = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor",
    family=Family("batch_norm", "", "", "", _instances, REALS, tolerance="statistics"),
    function=_instance_norm,
    oracle=_instance_oracle,
    doc="Every channel of a sample with mean 0 and variance 1 (Ulyanov et al. 2016), or by running statistics.",
    example="tenora.nn.functional.instance_norm(tenora.rand(2, 4, 3))",
    public="nn.functional.instance_norm",
)


def _rms_norm_eps(x: Any, weight: Any, normalized_shape: Any, eps: Any) -> Any:
    dims = x.trailing_dims(normalized_shape)
    if is_complex(x):
        normal = x * ops.rsqrt(ops.mean(x * x, dims, True) + eps)
    else:
        normal = ops.standardise(x, dims, eps, False)
    return normal if weight is None else normal * weight


def _rms_oracle(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    if eps is None:
        name = str((x.dtype.metadata or {}).get("drawn", x.dtype.name))
        eps = default_eps(getattr(_engine, name))
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    normal = x / np.sqrt((x**2).mean(axis=dims, keepdims=True) + eps)
    return normal if weight is None else normal * weight


def _rms_samples(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(3, 5), (5,), None, 1e-5),
        sample(draw.array(3, 5), (5,), draw.array(5), 1e-5),
        sample(draw.array(2, 3, 4), (3, 4), draw.array(3, 4), 1e-3),
        sample(draw.array(2, 3, 2, 4), (4,), None, 1e-2),
        sample(draw.array(7), (7,), draw.array(7), 1e-3),
        sample(draw.array(1, 2, 1, 3, 4), (3, 4), None, 1e-5),
    ]


rms_norm_eps = op(
    "rms_norm_eps(input: Tensor, normalized_shape: int[], weight: Tensor?, eps: float) -> Tensor",
    family=ALONG,
    shape="layer_norm",
    tolerance="statistics",
    composite=_rms_norm_eps,
    samples=_rms_samples,
    oracle=_rms_oracle,
    doc="x / sqrt(mean(x^2) + eps) over the last dims, then weight (Zhang and Sennrich 2019).",
    example="tenora.rms_norm(tenora.ones(2, 3), (3,), None, 1e-5)",
    public="",
)


def _rms_norm(input: Any, normalized_shape: Any, weight: Any, eps: float | None) -> Any:
    if eps is None:  # that of the dtype in which it is computed
        eps = default_eps(input.dtype)
    if weight is None or weight.dtype == input.dtype or not weight.dtype.is_floating_point:
        return ops.rms_norm_eps(input, normalized_shape, weight, eps)
    wide = _engine.promote_types(input.dtype, weight.dtype)  # the weight of a layer may be kept wider
    found = ops.rms_norm_eps(ops.to(input, wide), normalized_shape, ops.to(weight, wide), eps)
    return ops.to(found, input.dtype)


rms_norm = op(
    "rms_norm(input: Tensor, normalized_shape: int[], weight: Tensor? = None, eps: float? = None) -> Tensor",
    family=Family("rms_norm", "", "", "", _rms_samples, REALS, tolerance="statistics"),
    function=_rms_norm,
    samples=lambda draw: [*_rms_samples(draw), sample(draw.array(2, 3), (3,))],
    oracle=_rms_oracle,
    doc="x / sqrt(mean(x^2) + eps) over the last dims, then weight; eps defaults to the epsilon of the dtype.",
    example="tenora.rms_norm(tenora.ones(2, 3), (3,))",
    aliases=("nn.functional.rms_norm",),
)


def _local_response_norm(input: Any, size: int, alpha: float, beta: float, k: float) -> Any:
    if input.ndim < 3:
        raise errors.ArgumentValueError(
            f"[local_response_norm] too few dimensions: got {input.ndim}-d, expected at least 3, (N, C, L...). "
            "Unsqueeze the input."
        )
    if size < 1:
        raise errors.ArgumentValueError(
            f"[local_response_norm] size: got {size}, expected 1 or more channels. Choose a positive size."
        )
    need_real("local_response_norm", input)
    (x,) = widened(input)
    channels = x.shape[1]
    squares = ops.transpose(ops.square(x), 1, -1)
    padded = ops.pad(squares, (size // 2, (size - 1) // 2))
    total = ops.narrow(padded, -1, 0, channels)
    for shift in range(1, size):
        total = total + ops.narrow(padded, -1, shift, channels)
    scale = ops.pow(ops.transpose(total, 1, -1) * (alpha / size) + k, beta)
    return ops.to(x / scale, input.dtype) if input.dtype.is_floating_point else x / scale


def _response_oracle(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    out = np.empty_like(x)
    for c in range(x.shape[1]):
        window = x[:, max(c - size // 2, 0) : c + (size - 1) // 2 + 1]
        out[:, c] = x[:, c] / (k + alpha * (window**2).sum(axis=1) / size) ** beta
    return out


local_response_norm = op(
    "local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) "
    "-> Tensor",
    family=Family("response", "", "", "", lambda draw: _responses(draw), REALS, tolerance="statistics"),
    function=_local_response_norm,
    oracle=_response_oracle,
    doc="x / (k + alpha mean of squares over `size` channels)^beta (Krizhevsky et al. 2012).",
    example="tenora.nn.functional.local_response_norm(tenora.rand(2, 4, 3), 2)",
    public="nn.functional.local_response_norm",
)


def _responses(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(2, 4, 3), 2),
        sample(draw.array(2, 5, 2), 3, 0.5, 0.5, 2.0),
        sample(draw.array(1, 3, 2, 2), 5, 0.1),
        sample(draw.array(1, 2, 2, 1, 3), 1, 1.0),
        sample(draw.array(1, 6, 3), 4, alpha=0.3, k=1.5),
        sample(draw.array(2, 3, 4), 2, beta=1.0),
    ]


def _normalize_oracle(x: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    dim = dim if isinstance(dim, int) else tuple(dim)
    total = (np.abs(x) ** p).sum(axis=dim, keepdims=True) ** (1 / p)
    return x / np.maximum(total, eps)


normalize = op(
    "normalize(input: Tensor, p: float = 2.0, dim: int[] = (1,), eps: float = 1e-12) -> Tensor",
    family=ALONG,
    shape="same",
    tolerance="statistics",
    composite=lambda x, p, dim, eps: x / ops.maximum(ops.norm(x, p, dim, True), eps),
    samples=lambda draw: [
        sample(draw.array(3, 4)),
        sample(draw.array(2, 3, 4), 2.0, -1),
        sample(draw.array(2, 3, 2, 2), 3.0, 2),
        sample(draw.array(1, 2, 1, 3, 2), 2.0, 3),
        sample(draw.array(6), 2.0, 0),
        sample(draw.array(2, 3, 2), 2.0, (0, 2)),
        sample(draw.array(3, 4), eps=10.0),
    ],
    oracle=_normalize_oracle,
    doc="x / max(p-norm along dim, eps).",
    out=True,
    example="tenora.nn.functional.normalize(tenora.ones(2, 4))",
    public="nn.functional.normalize",
)
