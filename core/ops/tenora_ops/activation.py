"""Activations of neural networks and their gradients."""

from __future__ import annotations

import cmath
import math
from typing import Any

from tenora_ops.families import (
    ACTIVATION,
    BINARY,
    BINARY_FUNCTION,
    COMPLEX_FUNCTION_INPUTS,
    ORDERED_NUMBERS,
    REAL_BINARY_FUNCTION,
    UNARY,
    UNARY_FUNCTION,
)
from tenora_ops.formula import below_zero, conj, ops, sum_to
from tenora_ops.lazy import np, special
from tenora_ops.oracles import each
from tenora_ops.record import op
from tenora_ops.samples import (
    COMPLEX,
    DISTINCT,
    NONZERO,
    REALS,
    Domain,
    binary,
    sample,
    unary,
)

relu = op(
    "relu(input: Tensor) -> Tensor",
    family=UNARY,
    dtype="promote_real_number",
    dtypes=ORDERED_NUMBERS,
    domain=NONZERO,
    composite=lambda x: ops.maximum(x, 0),
    vjp=lambda g, x, r: ops.threshold_backward(g, r),
    tolerance="exact",
    either_zero=True,
    oracle=lambda x: np.where(x <= 0, np.zeros((), x.dtype), x),
    doc="max(x, 0).",
    example="tenora.relu(tenora.tensor([1.0, -2.0]))",
    method=True,
    inplace=True,
)

threshold_backward = op(
    "threshold_backward(grad: Tensor, input: Tensor) -> Tensor",
    family=BINARY,
    dtype="promote_real_number",
    dtypes=REALS,
    domain=DISTINCT,
    samples=lambda draw: [
        sample(draw.array(*s), draw.array(*s))
        for s in ((5,), (3, 4), (), (0,), (2, 3, 2, 2), (1, 1, 2, 1, 2))
    ],
    composite=lambda g, x: ops.where(ops.le(x, 0), 0, g),
    vjp=lambda h, g, x, r: (
        ops.threshold_backward(h, x),
        ops.zeros_like(x),
    ),  # a derivative that is 0, not none
    tolerance="exact",
    oracle=lambda g, x: np.where(x <= 0, 0, g),
    doc="The gradient of relu: 0 where input <= 0, else grad, of NaN too.",
    example="tenora.relu(tenora.tensor([1.0, -2.0], requires_grad=True)).sum().backward()",
    public="",
)

tanh = op(
    "tanh(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    domain=Domain(-1.4, 1.4),
    vjp=lambda g, x, r: ops.tanh_backward(g, conj(r)),
    oracle=each(math.tanh, cmath.tanh),
    doc="Hyperbolic tangent.",
    example="tenora.tanh(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

tanh_backward = op(
    "tanh_backward(grad: Tensor, output: Tensor) -> Tensor",
    family=BINARY_FUNCTION,
    dtype="promote",
    dtypes=REALS + COMPLEX,
    samples=lambda draw: [s for s in binary(draw) if all(hasattr(a, "shape") for a in s.arguments)],
    composite=lambda g, y: g * (1 - y * y),
    vjp=lambda h, g, y, r: (
        sum_to(h * conj(1 - y * y), g),
        sum_to(h * conj(g * y) * -2, y),
    ),
    edges="limited",
    oracle=lambda g, y: g * (1 - y * y),
    doc="The gradient of tanh from its output y: grad (1 - y^2).",
    example="tenora.tanh(tenora.tensor([1.0], requires_grad=True)).sum().backward()",
    public="",
)

sigmoid = op(
    "sigmoid(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=COMPLEX_FUNCTION_INPUTS,
    composite=lambda x: 1 / (ops.exp(-x) + 1),
    vjp=lambda g, x, r: ops.sigmoid_backward(g, r),
    edges="ordinary",
    oracle=each(lambda x: 1 / (1 + math.exp(-x)), lambda x: 1 / (1 + cmath.exp(-x))),
    doc="1 / (1 + e^-x).",
    example="tenora.sigmoid(tenora.tensor([0.0, 1.0]))",
    method=True,
    inplace=True,
    out=True,
)

sigmoid_backward = op(
    "sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor",
    family=BINARY_FUNCTION,
    dtype="promote",
    samples=lambda draw: [s for s in binary(draw) if all(hasattr(a, "shape") for a in s.arguments)],
    dtypes=REALS + COMPLEX,
    composite=lambda g, y: g * conj((1 - y) * y),
    vjp=lambda h, g, y, r: (sum_to(h * ((1 - y) * y), g), sum_to(conj(h) * g * conj(1 - y * 2), y)),
    edges="limited",
    oracle=lambda g, y: g * np.conj((1 - y) * y),
    doc="The gradient of sigmoid from its output y: grad conj(y (1 - y)).",
    example="tenora.sigmoid(tenora.tensor([1.0], requires_grad=True)).sum().backward()",
    public="",
)

silu = op(
    "silu(input: Tensor) -> Tensor",
    family=UNARY_FUNCTION,
    dtype="float_same",
    dtypes=REALS,
    composite=lambda x: x * ops.sigmoid(x),
    vjp=lambda g, x, r: g * (ops.sigmoid(x) * (x * (1 - ops.sigmoid(x)) + 1)),
    edges="ordinary",
    oracle=each(lambda x: x / (1 + math.exp(-x))),
    doc="x sigmoid(x), also called swish.",
    example="tenora.nn.functional.silu(tenora.tensor([0.0, 1.0]))",
    public="nn.functional.silu",
    inplace="_silu_",
)

softplus = op(
    "softplus(input: Tensor, beta: real = 1.0, threshold: real = 20.0) -> Tensor",
    family=UNARY_FUNCTION,
    dtypes=REALS,
    composite=lambda x, beta, threshold: ops.where(
        ops.gt(x * beta, threshold),
        x,
        (ops.maximum(x * beta, 0) + ops.log1p(ops.exp(-ops.abs(x * beta)))) / beta,
    ),
    vjp=lambda g, x, r, beta, threshold: ops.where(ops.gt(x * beta, threshold), g, g * ops.sigmoid(x * beta)),
    oracle=lambda x, beta=1.0, threshold=20.0: np.where(
        x * beta > threshold, x, np.logaddexp(0, x * beta) / beta
    ),
    doc="log(1 + e^(beta x)) / beta, and x itself where beta x > threshold.",
    example="tenora.nn.functional.softplus(tenora.tensor([0.0, 1.0]))",
    public="nn.functional.softplus",
)

GELU_SCALE = math.sqrt(2.0 / math.pi)


def _gelu(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        return x * 0.5 * (ops.tanh((x + x * x * x * 0.044715) * GELU_SCALE) + 1)
    return x * 0.5 * (ops.erf(x * math.sqrt(0.5)) + 1)


def _gelu_backward(g: Any, x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        inner = ops.tanh((x + x * x * x * 0.044715) * GELU_SCALE)
        slope = (x * x * (3 * 0.044715) + 1) * GELU_SCALE
        return g * ((inner + 1) * 0.5 + x * 0.5 * (1 - inner * inner) * slope)
    cdf = (ops.erf(x * math.sqrt(0.5)) + 1) * 0.5
    return g * (cdf + x * ops.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)))


def _gelu_curvature(x: Any, approximate: str) -> Any:
    """The second derivative of gelu."""
    if approximate == "tanh":
        inner = ops.tanh((x + x * x * x * 0.044715) * GELU_SCALE)
        slope, bend = (x * x * (3 * 0.044715) + 1) * GELU_SCALE, x * (6 * 0.044715 * GELU_SCALE)
        square = 1 - inner * inner
        return square * slope + x * 0.5 * square * (bend - inner * slope * slope * 2)
    return ops.exp(x * x * -0.5) * ((2 - x * x) * (1 / math.sqrt(2 * math.pi)))


def _gelu_backward_oracle(g: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        inner = np.tanh(GELU_SCALE * (x + 0.044715 * x**3))
        return g * (0.5 * (1 + inner) + 0.5 * x * (1 - inner**2) * GELU_SCALE * (1 + 3 * 0.044715 * x**2))
    return g * (special.ndtr(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi))


def _gelu_oracle(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(GELU_SCALE * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def _approximations(samples: Any) -> Any:
    def both(draw: Any) -> Any:
        found = list(samples(draw))
        return found + [type(s)(s.arguments, {"approximate": "tanh"}) for s in found[:3]]

    return both


gelu = op(
    "gelu(input: Tensor, *, approximate: str = 'none') -> Tensor",
    family=UNARY_FUNCTION,
    dtype="gelu",
    dtypes=REALS,
    samples=_approximations(unary),
    composite=_gelu,
    vjp=lambda g, x, r, approximate: ops.gelu_backward(g, x, approximate=approximate),
    edges="cancels",
    oracle=_gelu_oracle,
    doc="x P(X <= x) for a standard normal X, or its tanh approximation (Hendrycks and Gimpel, 2016).",
    example="tenora.nn.functional.gelu(tenora.tensor([0.0, 1.0]))",
    public="nn.functional.gelu",
)

gelu_backward = op(
    "gelu_backward(grad: Tensor, input: Tensor, *, approximate: str = 'none') -> Tensor",
    family=REAL_BINARY_FUNCTION,
    samples=_approximations(
        lambda draw: [s for s in binary(draw) if all(hasattr(a, "shape") for a in s.arguments)]
    ),
    composite=_gelu_backward,
    vjp=lambda h, g, x, r, approximate: (
        sum_to(ops.gelu_backward(h, x, approximate=approximate), g),
        sum_to(h * g * _gelu_curvature(x, approximate), x),
    ),
    edges="positive",
    oracle=_gelu_backward_oracle,
    doc="The gradient of gelu.",
    example="tenora.nn.functional.gelu(tenora.tensor([1.0], requires_grad=True)).sum().backward()",
    public="",
)

leaky_relu = op(
    "leaky_relu(input: Tensor, negative_slope: real = 0.01) -> Tensor",
    family=ACTIVATION,
    composite=lambda x, negative_slope: ops.where(ops.gt(x, 0), x, x * negative_slope),
    vjp=lambda g, x, r, negative_slope: ops.constant_in(ops.where(ops.gt(x, 0), g, g * negative_slope), x),
    samples=lambda draw: [sample(s.arguments[0], 0.2) for s in unary(draw)],
    oracle=lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
    doc="x where positive, negative_slope x elsewhere.",
    example="tenora.nn.functional.leaky_relu(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.leaky_relu",
    inplace="_leaky_relu_",
)

elu = op(
    "elu(input: Tensor, alpha: real = 1.0) -> Tensor",
    family=ACTIVATION,
    tolerance="transcendental",
    composite=lambda x, alpha: ops.where(ops.gt(x, 0), x, ops.expm1(ops.minimum(x, 0)) * alpha),
    vjp=lambda g, x, r, alpha: ops.where(ops.gt(x, 0), g, g * (ops.exp(below_zero(x)) * alpha)),
    samples=lambda draw: [sample(s.arguments[0], 0.7) for s in unary(draw)],
    oracle=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)),
    doc="x where positive, alpha (e^x - 1) elsewhere.",
    example="tenora.nn.functional.elu(tenora.tensor([1.0, -2.0]))",
    public="nn.functional.elu",
    inplace="_elu_",
)
