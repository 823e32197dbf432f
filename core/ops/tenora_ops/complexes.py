"""Complex numbers: made of two real ones, taken apart again, seen as pairs.

- A complex tensor is pairs of real numbers in memory, so `view_as_real` and `view_as_complex` are windows on the same
  storage. Conjugates and negatives are never lazy here: `resolve_conj` and `resolve_neg` have nothing to do.
- Gradients follow PyTorch's convention: the gradient of a real number is the real part of what reaches it.
"""

from __future__ import annotations

import math
from typing import Any

from tenora_engine import _engine
from tenora_ops.formula import is_complex, ops, sum_to
from tenora_ops.lazy import np
from tenora_ops.linalg_rules import Operands, refuse
from tenora_ops.linalg_steps import common_stack, real_dtype
from tenora_ops.oracles import each
from tenora_ops.record import Family, op
from tenora_ops.samples import (
    ALL,
    COMPLEX,
    FLOATING,
    INTEGERS,
    PAIRS,
    POSITIVE,
    SHAPES,
    Domain,
    Draw,
    Sample,
    sample,
    unary,
)

REAL = ("float32", "float64")
PARTS = Family("complex", "", "", "", unary, COMPLEX)


def _need_pair(op_name: str, *dtypes: Any) -> None:
    """Refuses dtypes of parts that no complex dtype has, or that differ."""
    if dtypes[0] not in (_engine.float32, _engine.float64) or len(set(dtypes)) > 1:
        got = " and ".join(map(str, dtypes))
        raise refuse(
            op_name, "dtype", got, "float32 or float64, the same for all", "Cast with .to(...).", "dtype"
        )


def _pair_dtype(op_name: str) -> Any:
    def rule(operands: Operands, attributes: Operands) -> Any:
        _need_pair(op_name, *(dtype for _, dtype in operands))
        return _engine.complex64 if operands[0][1] == _engine.float32 else _engine.complex128

    return rule


def _pairs(draw: Draw) -> list[Sample]:
    """Shapes that have a last dim of two."""
    return [sample(draw.array(*shape, 2)) for shape in SHAPES if 0 not in shape]


view_as_real = op(
    "view_as_real(input: Tensor) -> Tensor",
    family=PARTS,
    view=True,
    dtype=lambda operands, attributes: real_dtype(operands[0][1]),
    shape="view_as_real",
    vjp=lambda g, x, r: ops.view_as_complex(ops.contiguous(g)),
    oracle=lambda x: np.stack([(x + x.conj()).real / 2, ((x - x.conj()) / 2j).real], -1),
    doc="Real and imaginary parts as a last dim of two, a view.",
    example="tenora.view_as_real(tenora.tensor([1 + 2j]))",
)
view_as_complex = op(
    "view_as_complex(input: Tensor) -> Tensor",
    family=PARTS,
    view=True,
    dtypes=REAL,
    dtype=_pair_dtype("view_as_complex"),
    shape="view_as_complex",
    vjp=lambda g, x, r: ops.view_as_real(ops.contiguous(g)),
    samples=_pairs,
    oracle=lambda x: x[..., 0] + 1j * x[..., 1],
    doc="A last dim of two as complex numbers, a view.",
    example="tenora.view_as_complex(tenora.tensor([[1.0, 2.0]]))",
    complex_within=True,
)


def _joined(real: Any, imag: Any) -> Any:
    shape = common_stack(real.shape, imag.shape)
    both = ops.stack([ops.expand(real, shape), ops.expand(imag, shape)], -1)
    return ops.view_as_complex(ops.contiguous(both))


def _two(draw: Draw) -> list[Sample]:
    return [sample(draw.array(*a), draw.array(*b)) for a, b in PAIRS]


def _parts(real: Any, imag: Any) -> Any:
    """real + i imag, whatever they are: a product with i would make NaN of infinities."""
    found = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.complex128)
    found.real, found.imag = real, imag
    return found


complex = op(
    "complex(real: Tensor, imag: Tensor) -> Tensor",
    family=PARTS,
    dtypes=REAL,
    dtype=_pair_dtype("complex"),
    shape="broadcast",
    prepare="pointwise",
    function=_joined,
    vjp=lambda g, a, b, r: (sum_to(ops.real(g), a), sum_to(ops.imag(g), b)),
    dynamic_vjp=True,
    samples=_two,
    oracle=_parts,
    doc="real + i imag.",
    example="tenora.complex(tenora.tensor([1.0]), tenora.tensor([2.0]))",
    complex_within=True,
    out=True,
)


def _turned(abs: Any, angle: Any) -> Any:
    _need_pair("polar", abs.dtype, angle.dtype)
    abs = ops.straight(abs)
    return ops.complex(abs * ops.cos(angle), abs * ops.sin(angle))


polar = op(
    "polar(abs: Tensor, angle: Tensor) -> Tensor",
    family=PARTS,
    dtypes=REAL,
    tolerance="transcendental",
    function=_turned,
    # PyTorch's gradient takes abs for a modulus: not negative.
    samples=lambda draw: [sample(draw.array(*a, domain=POSITIVE), draw.array(*b)) for a, b in PAIRS],
    edges="limited",
    oracle=lambda a, b: _parts(
        each(lambda r, t: r * math.cos(t))(a, b), each(lambda r, t: r * math.sin(t))(a, b)
    ),
    doc="abs (cos angle + i sin angle).",
    example="tenora.polar(tenora.tensor([1.0]), tenora.tensor([0.5]))",
    complex_within=True,
    out=True,
)


def _angle(input: Any) -> Any:
    if is_complex(input):
        across, along, zero = ops.imag(input), ops.real(input), ops.eq(input, 0)
        direction = ops.atan2(
            across, ops.where(zero, 1, along)
        )  # nothing at 0, where gradients have no limit
        return ops.where(zero, ops.atan2(across.detach(), along.detach()), direction)
    if not input.dtype.is_floating_point:
        input = ops.to(input, _engine.default_dtype())
    return ops.where(ops.isnan(input), input, ops.where(ops.lt(input, 0), math.pi, ops.zeros_like(input)))


angle = op(
    "angle(input: Tensor) -> Tensor",
    family=PARTS,
    dtypes=FLOATING,
    domain=Domain(avoid=(0.0,)),
    tolerance="transcendental",
    function=_angle,
    oracle=lambda x: (
        each(lambda v: math.atan2(0.0, v) if v else 0.0, lambda v: math.atan2(v.imag, v.real))(x).real
    ),
    doc="The argument of complex numbers; of real ones 0, or pi where negative.",
    example="tenora.angle(tenora.tensor([1j, -1 + 0j]))",
    method=True,
    out=True,
)
conj_physical = op(
    "conj_physical(input: Tensor) -> Tensor",
    family=PARTS,
    dtypes=INTEGERS + FLOATING,
    composite=lambda x: ops.conj(x),
    oracle=lambda x: x.real - 1j * x.imag if np.iscomplexobj(x) else x,
    doc="Complex conjugate, in memory of its own where it differs.",
    example="tenora.conj_physical(tenora.tensor([1 + 2j]))",
    method=True,
    inplace=True,
    out=True,
)
resolve_conj = op(
    "resolve_conj(input: Tensor) -> Tensor",
    family=PARTS,
    dtypes=ALL,
    composite=lambda x: ops.alias(x),
    oracle=lambda x: x,
    doc="The tensor itself: conjugates are computed at once.",
    example="tenora.resolve_conj(tenora.tensor([1 + 2j]).conj())",
    method=True,
)
resolve_neg = op(
    "resolve_neg(input: Tensor) -> Tensor",
    family=PARTS,
    dtypes=ALL,
    composite=lambda x: ops.alias(x),
    oracle=lambda x: x,
    doc="The tensor itself: negatives are computed at once.",
    example="tenora.resolve_neg(tenora.tensor([1 + 2j]))",
    method=True,
)
