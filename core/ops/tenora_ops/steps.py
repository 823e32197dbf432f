"""Steps of SGD and Adam, and what the records of all optimizer steps share.

- A step is stated once, for one parameter, as a composite that answers with the new values; `step_lists.py` applies it
  to lists, through the backend's fused kernel of the op where it has one (docs/decisions/0003). Further methods are in
  `steps_squares.py`, `steps_moments.py` and `steps_plain.py`.
- A fused kernel sees the written tensors, then those only read, and writes the former; attributes as in the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import Draw, Sample, Samples, sample

STEP = Family("steps", "", "", "", lambda draw: [], ("float32", "float64"), tolerance="transcendental")
SHAPES: tuple[tuple[int, ...], ...] = ((5,), (3, 4), (), (0,), (2, 1, 3), (2, 3, 2, 2))


def direction(p: Any, g: Any, weight_decay: Any, maximize: bool) -> Any:
    """Where a step goes against: the gradient of what is minimised, with the weights' decay.

    None is no decay: 0 times an infinite parameter would be NaN.
    """
    d = -g if maximize else g
    return d if weight_decay is None else d + p * weight_decay


def step_samples(
    states: str, options: Callable[[int], dict[str, Any]], *, weight_decay: bool = True
) -> Samples:
    """Samples of a step: one letter a state, `s` for any sign, `p` for not negative, `o` for None now and then."""

    def samples(draw: Draw) -> Iterable[Sample]:
        found = []
        for i, shape in enumerate(SHAPES):
            kept = [_kept(draw, kind, i, shape) for kind in states]
            shared = {"weight_decay": 0.01 * i or None} if weight_decay else {}
            given = {**shared, "maximize": i == 4, **options(i)}
            found.append(sample(draw.array(*shape), *kept, draw.array(*shape), **given))
        return found

    return samples


def _kept(draw: Draw, kind: str, i: int, shape: tuple[int, ...]) -> Any:
    if kind == "o" and i % 3 == 0:
        return None
    drawn = draw.array(*shape)
    return abs(drawn).astype(drawn.dtype) if kind == "p" else drawn


def _sgd_options(i: int) -> dict[str, Any]:
    rates = {"lr": 0.1, "momentum": 0.9 if i % 3 else 0.0, "dampening": 0.1}
    return {**rates, "nesterov": i == 2, "first": i == 5}


def _sgd(
    p: Any,
    buffer: Any,
    g: Any,
    lr: Any,
    momentum: Any,
    dampening: Any,
    weight_decay: Any,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> tuple[Any, Any]:
    d = direction(p, g, weight_decay, maximize)
    if buffer is None:
        return p - d * lr, d
    buffer = d if first else buffer * momentum + d * (1.0 - dampening)
    return p - (d + buffer * momentum if nesterov else buffer) * lr, buffer


def _sgd_oracle(
    p: Any,
    buffer: Any,
    g: Any,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float | None,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> Any:
    d = (weight_decay or 0) * p + (-1 if maximize else 1) * g
    if buffer is None:
        return p - lr * d, d
    new = d if first else momentum * buffer + (1 - dampening) * d
    return p - lr * (d + momentum * new if nesterov else new), new


sgd_step = op(
    "sgd_step(param: Tensor, momentum_buffer: Tensor?, grad: Tensor, lr: float, momentum: float, dampening: float, "
    "weight_decay: float?, nesterov: bool, maximize: bool, first: bool) -> (Tensor, Tensor)",
    family=STEP,
    samples=step_samples("o", _sgd_options),
    composite=_sgd,
    differentiable=False,
    oracle=_sgd_oracle,
    doc="One step of gradient descent with momentum; answers the new parameter and buffer (Sutskever et al. 2013).",
    example="tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=0.1).step()",
    public="",
)


def moment_options(i: int) -> dict[str, Any]:
    """What the samples of all steps with moments share."""
    return {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3, "step": i + 1}


adam_samples = step_samples("sp", lambda i: {**moment_options(i), "decoupled": i % 2 == 1})


def decayed(p: Any, g: Any, lr: Any, weight_decay: Any, decoupled: bool, maximize: bool) -> tuple[Any, Any]:
    """Parameter and direction under either kind of decay: of the weights themselves, or through the gradient."""
    if decoupled and weight_decay is not None:
        return p * (1.0 - lr * weight_decay), -g if maximize else g
    return p, direction(p, g, weight_decay, maximize)


def moments(m: Any, v: Any, d: Any, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    """Running means of the direction and of its square."""
    return m + (d - m) * (1.0 - beta1), v * beta2 + d * d * (1.0 - beta2)


def nadam_momentum(beta1: Any, momentum_decay: Any, step: Any) -> Any:
    """NAdam's warming momentum: the factor of this number of steps."""
    return beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))


def radam_length(beta2: Any, step: Any) -> Any:
    """How many steps the mean of squares stands for, RAdam's rho; the variance is known from 5 on."""
    power = beta2**step
    return 2.0 / (1.0 - beta2) - 1.0 - 2.0 * step * power / (1.0 - power)


def _adam_update(p: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, step: Any) -> Any:
    scale = (1.0 - beta2**step) ** 0.5
    return p - (m / (ops.sqrt(v) / scale + eps)) * (lr / (1.0 - beta1**step))


def _adam(
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    weight_decay: Any,
    decoupled: bool,
    maximize: bool,
    step: Any,
) -> tuple[Any, Any, Any]:
    p, d = decayed(p, g, lr, weight_decay, decoupled, maximize)
    m, v = moments(m, v, d, beta1, beta2)
    return _adam_update(p, m, v, lr, beta1, beta2, eps, step), m, v


def _amsgrad(
    p: Any,
    m: Any,
    v: Any,
    largest: Any,
    g: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    weight_decay: Any,
    decoupled: bool,
    maximize: bool,
    step: Any,
) -> tuple[Any, Any, Any, Any]:
    p, d = decayed(p, g, lr, weight_decay, decoupled, maximize)
    m, v = moments(m, v, d, beta1, beta2)
    largest = ops.maximum(largest, v)
    return _adam_update(p, m, largest, lr, beta1, beta2, eps, step), m, v, largest


def decayed_oracle(
    p: Any, g: Any, lr: float, weight_decay: float | None, decoupled: bool, maximize: bool
) -> tuple[Any, Any]:
    """Parameter and gradient as oracles begin, under either kind of decay."""
    g, rate = -g if maximize else g, weight_decay or 0
    return (p * (1 - lr * rate), g) if decoupled else (p, g + rate * p)


def _adam_oracle(
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float | None,
    decoupled: bool,
    maximize: bool,
    step: int,
    largest: Any = None,
) -> Any:
    p, g = decayed_oracle(p, g, lr, weight_decay, decoupled, maximize)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    used = v if largest is None else np.maximum(largest, v)
    p = p - lr * (m / (1 - beta1**step)) / (np.sqrt(used / (1 - beta2**step)) + eps)
    return (p, m, v) if largest is None else (p, m, v, used)


#: What all steps with moments are given first.
BETAS = "lr: float, beta1: float, beta2: float, eps: float, weight_decay: float?"
HYPER = f"{BETAS}, decoupled: bool, maximize: bool, step: int"
adam_update = op(
    "adam_update(param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, grad: Tensor, "
    f"{HYPER}) -> (Tensor, Tensor, Tensor)",
    family=STEP,
    samples=adam_samples,
    composite=_adam,
    differentiable=False,
    oracle=_adam_oracle,
    doc="One step of Adam (Kingma and Ba 2015), or of AdamW when decoupled (Loshchilov and Hutter 2019).",
    example="tenora.optim.Adam([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)
amsgrad_update = op(
    "amsgrad_update(param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, max_exp_avg_sq: Tensor, grad: Tensor, "
    f"{HYPER}) -> (Tensor, Tensor, Tensor, Tensor)",
    family=STEP,
    samples=lambda draw: [
        sample(*s.arguments[:3], s.arguments[2] * s.arguments[2].dtype.type(1.5), s.arguments[3], **s.options)
        for s in adam_samples(draw)
    ],
    composite=_amsgrad,
    differentiable=False,
    oracle=lambda p, m, v, largest, g, **options: _adam_oracle(p, m, v, g, largest=largest, **options),
    doc="One step of Adam with the largest second moment so far (Reddi et al. 2018).",
    example="tenora.optim.Adam([tenora.ones(1, requires_grad=True)]).step()",
    public="",
)
