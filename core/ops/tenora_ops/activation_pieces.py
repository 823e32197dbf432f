"""Activations made of pieces: lines, clamps and dead zones (and relatives whose pieces are exponentials).

- Each states its gradient; at a kink the gradient is PyTorch's one-sided choice.
- A NaN passes through every one of them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable
from typing import Any

from tenora_ops.families import ACTIVATION, COMPLEX_FUNCTION_INPUTS
from tenora_ops.formula import below_zero, conj, is_complex, min_number, ops
from tenora_ops.lazy import np
from tenora_ops.oracles import each
from tenora_ops.record import Family, op
from tenora_ops.samples import COMPLEX, INTEGERS, REALS, Domain, Draw, Sample, Samples, sample, unary


def with_arguments(*values: Any) -> Samples:
    """Every shape once, with these arguments in half of the calls."""
    return lambda draw: [sample(*s.arguments, *(values if i % 2 else ())) for i, s in enumerate(unary(draw))]


def _within(g: Any, x: Any, low: Any, high: Any) -> Any:
    """The gradient of what is x between two numbers, a number elsewhere."""
    return ops.constant_in(ops.where(ops.bitwise_and(ops.gt(x, low), ops.lt(x, high)), g, 0), x)


def _beyond(g: Any, x: Any, size: Any) -> Any:
    """The gradient of what is 0 where |x| is up to a size, and moves with x beyond."""
    return ops.constant_in(ops.where(ops.le(ops.abs(x), size), 0, g), x)


hardtanh = op(
    "hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor",
    family=ACTIVATION,
    tolerance="exact",
    domain=Domain(avoid=(-1.0, 1.0, -0.5, 2.0)),
    samples=with_arguments(-0.5, 2.0),
    composite=lambda x, min_val, max_val: ops.minimum(ops.maximum(x, min_val), max_val),
    vjp=lambda g, x, r, min_val, max_val: _within(g, x, min_val, max_val),
    oracle=lambda x, min_val=-1.0, max_val=1.0: np.where(
        x < min_val, min_val, np.where(x > max_val, max_val, x)
    ),
    doc="min(max(x, min_val), max_val).",
    example="tenora.nn.functional.hardtanh(tenora.tensor([-2.0, 0.5]))",
    public="nn.functional.hardtanh",
    inplace="_hardtanh_",
)

relu6 = op(
    "relu6(input: Tensor) -> Tensor",
    family=ACTIVATION,
    tolerance="exact",
    domain=Domain(-8.0, 8.0, avoid=(0.0, 6.0)),
    composite=lambda x: ops.minimum(ops.maximum(x, 0.0), 6.0),
    vjp=lambda g, x, r: _within(g, x, 0.0, 6.0),
    either_zero=True,
    oracle=lambda x: np.where(x < 0, 0, np.where(x > 6, 6, x)),
    doc="min(max(x, 0), 6).",
    example="tenora.nn.functional.relu6(tenora.tensor([-2.0, 7.0]))",
    public="nn.functional.relu6",
    inplace="_relu6_",
)

hardsigmoid = op(
    "hardsigmoid(input: Tensor) -> Tensor",
    family=ACTIVATION,
    domain=Domain(-5.0, 5.0, avoid=(-3.0, 3.0)),
    composite=lambda x: ops.minimum(ops.maximum(x + 3.0, 0.0), 6.0) / 6.0,
    vjp=lambda g, x, r: ops.where(ops.bitwise_and(ops.gt(x, -3.0), ops.lt(x, 3.0)), g / 6.0, 0),
    oracle=lambda x: np.where(x <= -3, 0, np.where(x >= 3, 1, x / 6 + 0.5)),
    doc="min(max(x + 3, 0), 6) / 6.",
    example="tenora.nn.functional.hardsigmoid(tenora.tensor([-4.0, 1.0]))",
    public="nn.functional.hardsigmoid",
    inplace="_hardsigmoid_",
)

hardswish = op(
    "hardswish(input: Tensor) -> Tensor",
    family=ACTIVATION,
    domain=Domain(-5.0, 5.0, avoid=(-3.0, 3.0)),
    composite=lambda x: x * ops.minimum(ops.maximum(x + 3.0, 0.0), 6.0) / 6.0,
    vjp=lambda g, x, r: ops.where(ops.le(x, -3.0), 0, ops.where(ops.lt(x, 3.0), g * (x / 3.0 + 0.5), g)),
    edges="limited",
    oracle=lambda x: x * (np.clip(x + 3, 0, 6) / 6),
    doc="x min(max(x + 3, 0), 6) / 6 (Howard et al. 2019).",
    example="tenora.nn.functional.hardswish(tenora.tensor([-4.0, 1.0]))",
    public="nn.functional.hardswish",
    inplace="_hardswish_",
)

hardshrink = op(
    "hardshrink(input: Tensor, lambd: real = 0.5) -> Tensor",
    family=ACTIVATION,
    dtype="float_same_real",
    tolerance="exact",
    domain=Domain(avoid=(-0.5, 0.5, -1.5, 1.5)),
    samples=with_arguments(1.5),
    composite=lambda x, lambd: ops.where(ops.le(ops.abs(x), lambd), 0, x),
    vjp=lambda g, x, r, lambd: _beyond(g, x, lambd),
    oracle=lambda x, lambd=0.5: np.where((x >= -lambd) & (x <= lambd), 0, x),
    doc="x where |x| > lambd, 0 elsewhere.",
    example="tenora.nn.functional.hardshrink(tenora.tensor([-2.0, 0.25]))",
    public="nn.functional.hardshrink",
    method=True,
)

softshrink = op(
    "softshrink(input: Tensor, lambd: real = 0.5) -> Tensor",
    family=ACTIVATION,
    domain=Domain(avoid=(-0.5, 0.5, -1.5, 1.5)),
    samples=with_arguments(1.5),
    composite=lambda x, lambd: x - ops.minimum(ops.maximum(x, -lambd), lambd),
    vjp=lambda g, x, r, lambd: _beyond(g, x, lambd),
    either_zero=True,
    oracle=lambda x, lambd=0.5: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0 * x)),
    doc="x moved by lambd towards zero, 0 where |x| <= lambd.",
    example="tenora.nn.functional.softshrink(tenora.tensor([-2.0, 0.25]))",
    public="nn.functional.softshrink",
)

threshold = op(
    "threshold(input: Tensor, threshold: real, value: real) -> Tensor",
    family=ACTIVATION,
    tolerance="exact",
    domain=Domain(avoid=(0.5,)),
    samples=lambda draw: [sample(*s.arguments, 0.5, -7.0) for s in unary(draw)],
    composite=lambda x, threshold, value: ops.where(ops.le(x, threshold), value, x),
    vjp=lambda g, x, r, threshold: ops.constant_in(ops.where(ops.le(x, threshold), 0, g), x),
    oracle=lambda x, threshold, value: np.where(x <= threshold, value, x),
    doc="x where x > threshold, value elsewhere.",
    example="tenora.nn.functional.threshold(tenora.tensor([-2.0, 0.25]), 0.0, 9.0)",
    public="nn.functional.threshold",
    inplace="_threshold_",
)

celu = op(
    "celu(input: Tensor, alpha: real = 1.0) -> Tensor",
    family=ACTIVATION,
    tolerance="transcendental",
    samples=with_arguments(1.5),
    composite=lambda x, alpha: ops.maximum(x, 0.0) + ops.expm1(ops.minimum(x, 0.0) / alpha) * alpha,
    vjp=lambda g, x, r, alpha: ops.where(ops.gt(x, 0.0), g, g * ops.exp(below_zero(x) / alpha)),
    oracle=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
    doc="max(x, 0) + min(0, alpha (e^(x / alpha) - 1)) (Barron 2017).",
    example="tenora.nn.functional.celu(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.celu",
    inplace="_celu_",
)

#: The fixed point of mean 0 and variance 1 (Klambauer et al. 2017).
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

selu = op(
    "selu(input: Tensor) -> Tensor",
    family=ACTIVATION,
    tolerance="transcendental",
    composite=lambda x: (
        ops.maximum(x, 0.0) * SELU_SCALE + ops.expm1(ops.minimum(x, 0.0)) * (SELU_ALPHA * SELU_SCALE)
    ),
    vjp=lambda g, x, r: ops.where(
        ops.gt(x, 0.0), g * SELU_SCALE, g * ops.exp(below_zero(x)) * (SELU_ALPHA * SELU_SCALE)
    ),
    oracle=lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)),
    doc="scale (max(x, 0) + min(0, alpha (e^x - 1))) with the constants of Klambauer et al. (2017).",
    example="tenora.nn.functional.selu(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.selu",
    inplace="_selu_",
)


def _prelu(x: Any, weight: Any) -> Any:
    x, weight = ops.straight(x), ops.straight(weight)
    channel = min_number(x.ndim - 1, 1)
    scaled = ops.transpose(ops.transpose(x, channel, -1) * weight, channel, -1)
    return ops.where(ops.gt(x, 0), x, ops.reshape(scaled, x.shape))


def _prelu_rows(draw: Draw) -> Iterable[Sample]:
    shapes = (
        ((5,), 1),
        ((3, 4), 4),
        ((2, 1, 3), 1),
        ((2, 3, 2, 2), 3),
        ((1, 2, 1, 3, 2), 2),
        ((), 1),
        ((0, 3), 3),
    )
    return [sample(draw.array(*shape), draw.array(channels)) for shape, channels in shapes]


def _prelu_oracle(x: Any, weight: Any) -> Any:
    slopes = weight.reshape([1, -1, *[1] * (x.ndim - 2)]) if x.ndim > 1 else weight.reshape(())
    return np.where(x > 0, x, slopes * x)


prelu = op(
    "prelu(input: Tensor, weight: Tensor) -> Tensor",
    family=ACTIVATION,
    shape="prelu",
    samples=_prelu_rows,
    composite=_prelu,
    oracle=_prelu_oracle,
    doc="x where positive, weight x elsewhere, one weight for all or one per channel (dim 1; He et al. 2015).",
    example="tenora.nn.functional.prelu(tenora.tensor([1.0, -2.0]), tenora.tensor([0.25]))",
    public="nn.functional.prelu",
    method=True,
)

DRAWN = Family("random", "", "", "", unary, ("float32", "float64"), Domain(avoid=(0.0,)), tolerance="few_ulp")


def _rrelu(x: Any, lower: Any, upper: Any, training: bool) -> Any:
    x = ops.straight(x)
    if not training:
        return ops.where(ops.gt(x, 0), x, x * ((lower + upper) / 2))
    bits = ops.random_bits(x.shape, device=x.device)
    slopes = ops.to(ops.floor_divide(bits, 2**8), x.dtype) * 2.0**-24 * (upper - lower) + lower
    return ops.where(ops.gt(x, 0), x, x * slopes)


rrelu = op(
    "rrelu(input: Tensor, lower: real = 0.125, upper: real = 0.3333333333333333, training: bool = False) -> Tensor",
    family=DRAWN,
    composite=_rrelu,
    samples=lambda draw: [
        sample(*s.arguments, *((0.25, 0.25, True), (0.1, 0.3), ())[i % 3]) for i, s in enumerate(unary(draw))
    ],
    oracle=lambda x, lower=0.125, upper=1 / 3, training=False: np.where(x > 0, x, x * (lower + upper) / 2),
    doc="x where positive; elsewhere x times a slope uniform in [lower, upper), their mean without training.",
    example="tenora.nn.functional.rrelu(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.rrelu",
    inplace="_rrelu_",
)

logsigmoid = op(
    "logsigmoid(input: Tensor) -> Tensor",
    family=ACTIVATION,
    domain=Domain(),
    tolerance="transcendental",
    composite=lambda x: ops.minimum(x, 0.0) - ops.log1p(ops.exp(-ops.abs(x))),
    vjp=lambda g, x, r: g * ops.sigmoid(-x),
    oracle=lambda x: -np.logaddexp(0, -x),
    doc="log(sigmoid(x)) without overflow.",
    example="tenora.nn.functional.logsigmoid(tenora.tensor([1.0, -200.0]))",
    public="nn.functional.logsigmoid",
)


def _softplus(x: Any) -> Any:
    return ops.maximum(x, 0.0) + ops.log1p(ops.exp(-ops.abs(x)))


def _mish_gradient(g: Any, x: Any) -> Any:
    inner = ops.tanh(_softplus(x))
    return g * (inner + x * ops.sigmoid(x) * (1 - inner * inner))


mish = op(
    "mish(input: Tensor) -> Tensor",
    family=ACTIVATION,
    domain=Domain(),
    tolerance="transcendental",
    composite=lambda x: x * ops.tanh(_softplus(x)),
    vjp=lambda g, x, r: _mish_gradient(g, x),
    oracle=lambda x: x * np.tanh(np.logaddexp(0, x)),
    doc="x tanh(log(1 + e^x)) (Misra 2019).",
    example="tenora.nn.functional.mish(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.mish",
    inplace="_mish_",
)


def _softsign_gradient(g: Any, x: Any, r: Any) -> Any:
    below = ops.square(ops.abs(x) + 1.0)
    if not is_complex(x):
        return g / below
    along = ops.real(g * conj(x))  # how |x| moves, which is real
    size = ops.abs(x)
    still = ops.eq(size, 0)
    return g / (size + 1) - x * (along / (ops.where(still, 1, size) * below))


softsign = op(
    "softsign(input: Tensor) -> Tensor",
    family=ACTIVATION,
    dtype="promote_float",
    dtypes=INTEGERS + REALS + COMPLEX,
    composite=lambda x: x / (ops.abs(x) + 1.0),
    vjp=_softsign_gradient,
    oracle=lambda x: x / (1.0 + np.abs(x * 1.0)),
    doc="x / (1 + |x|).",
    example="tenora.nn.functional.softsign(tenora.tensor([1.0, -3.0]))",
    public="nn.functional.softsign",
)

tanhshrink = op(
    "tanhshrink(input: Tensor) -> Tensor",
    family=ACTIVATION,
    dtype="promote_float",
    dtypes=COMPLEX_FUNCTION_INPUTS,
    domain=Domain(),
    composite=lambda x: x - ops.tanh(x),
    vjp=lambda g, x, r: g * conj(ops.square(ops.tanh(x))),
    edges="cancels",
    either_zero=True,
    oracle=each(lambda v: v - math.tanh(v), lambda v: v - cmath.tanh(v)),
    doc="x - tanh(x).",
    example="tenora.nn.functional.tanhshrink(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.tanhshrink",
)
