"""The forms of ops whose number (alpha, beta, value) is complex: attributes of records hold real ones only.

- They are tried after the forms for real numbers, so that those keep their way: `functions` imports this file last.
  Their parts are recorded.
- A complex number needs a complex result. For a real one its imaginary part must be 0 (`checks.number_for`), and
  `add` and its relatives take none at all, as in PyTorch.
- The forms of a later family (`contraction`) are declared there, with `affine_complex`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tenora_engine import Tensor, _engine
from tenora_ops import index_cases, selection
from tenora_ops.arithmetic import scaled
from tenora_ops.checks import number_for
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.oracles import contract
from tenora_ops.record import Family, op
from tenora_ops.reducing_writes import combined_by_definition
from tenora_ops.samples import COMPLEX, NONZERO, Draw, Sample, sample, unary

FORMS = Family("complex", "", "", "", unary, COMPLEX, tolerance="reduction")
FACTOR = 0.5 - 2j


def _common(*tensors: Any) -> Any:
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = _engine.promote_types(dtype, tensor.dtype)
    return dtype


def _scaled(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(input: Any, other: Any, *, alpha: Any) -> Any:
        dtype = combine(input, other).dtype  # of tensors and numbers together
        alpha = number_for(name, "alpha", alpha, dtype, complex_only=True)
        return combine(input, ops.mul(ops.to(other, dtype) if isinstance(other, Tensor) else other, alpha))

    return function


def _rsub(input: Any, other: Any, *, alpha: Any) -> Any:
    dtype = ops.sub(other, input).dtype
    alpha = number_for("rsub", "alpha", alpha, dtype, complex_only=True)
    return ops.sub(other, ops.mul(ops.to(input, dtype), alpha))


def factors(draw: Draw) -> Iterable[Sample]:
    """Two operands and a complex factor."""
    return [sample(*s.arguments, alpha=FACTOR) for s in scaled(draw)]


add_complex = op(
    "add_complex(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Tensor | Scalar) -> Tensor",
    family=FORMS,
    function=_scaled("add", lambda a, b: ops.add(a, b)),
    samples=factors,
    oracle=lambda a, b, alpha: np.add(a, np.multiply(b, alpha)),
    doc="input + alpha * other with a complex alpha.",
    example="tenora.add(tenora.tensor([1j, 2.0]), tenora.tensor([1.0, 1.0]), alpha=3j)",
    public="add",
    display="add",
    method=True,
    inplace=True,
    out=True,
)
sub_complex = op(
    "sub_complex(input: Tensor | Scalar, other: Tensor | Scalar, *, alpha: Tensor | Scalar) -> Tensor",
    family=FORMS,
    function=_scaled("sub", lambda a, b: ops.sub(a, b)),
    samples=factors,
    oracle=lambda a, b, alpha: np.subtract(a, np.multiply(b, alpha)),
    doc="input - alpha * other with a complex alpha.",
    example="tenora.sub(tenora.tensor([1j, 2.0]), tenora.tensor([1.0, 1.0]), alpha=3j)",
    public="sub",
    display="sub",
    method=True,
    inplace=True,
    out=True,
)
rsub_complex = op(
    "rsub_complex(input: Tensor, other: Tensor | Scalar, *, alpha: Tensor | Scalar) -> Tensor",
    family=FORMS,
    function=_rsub,
    samples=factors,
    oracle=lambda a, b, alpha: np.subtract(b, np.multiply(a, alpha)),
    doc="other - alpha * input with a complex alpha.",
    example="tenora.rsub(tenora.tensor([1j, 2.0]), 3, alpha=2j)",
    public="rsub",
    display="rsub",
)


def affine_complex(name: str) -> Callable[..., Any]:
    """The Python of an op `beta * input + alpha * (a product)` for complex factors."""

    def function(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
        dtype = _common(input, a, b)
        beta = number_for(name, "beta", beta, dtype)
        alpha = number_for(name, "alpha", alpha, dtype)
        if not dtype.is_complex:
            return getattr(ops, name)(input, a, b, beta=beta, alpha=alpha)
        found = ops.mul(getattr(ops, name)(input, a, b, beta=0), alpha)
        return found if beta == 0 else ops.add(ops.mul(input, beta), found)

    return function


def affine_samples(*shapes: tuple[tuple[int, ...], ...]) -> Callable[[Draw], Iterable[Sample]]:
    """Input and two factors of a product, with complex numbers."""
    numbers: list[dict[str, Any]] = [
        {"beta": FACTOR},
        {"alpha": FACTOR},
        {"beta": 2j, "alpha": FACTOR},
        {"beta": 0, "alpha": FACTOR},
    ]
    return lambda draw: [
        sample(*[draw.array(*shape) for shape in row], **more) for row in shapes for more in numbers
    ]


addmm_complex = op(
    "addmm_complex(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Tensor | Scalar = 1, "
    "alpha: Tensor | Scalar = 1) -> Tensor",
    family=FORMS,
    function=lambda input, mat1, mat2, *, beta, alpha: affine_complex("addmm")(
        input, mat1, mat2, beta, alpha
    ),
    tolerance="contraction",
    samples=affine_samples(((2, 4), (2, 3), (3, 4)), ((4,), (2, 3), (3, 4))),
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * contract(a, b),
    doc="addmm with complex factors.",
    example="tenora.addmm(tenora.ones(2, 2) * 1j, tenora.ones(2, 2) * 1j, tenora.ones(2, 2) * 1j, alpha=2j)",
    public="addmm",
    display="addmm",
    method=True,
    inplace=True,
    out=True,
)
baddbmm_complex = op(
    "baddbmm_complex(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Tensor | Scalar = 1, "
    "alpha: Tensor | Scalar = 1) -> Tensor",
    family=FORMS,
    function=lambda input, batch1, batch2, *, beta, alpha: affine_complex("baddbmm")(
        input, batch1, batch2, beta, alpha
    ),
    tolerance="contraction",
    samples=affine_samples(((2, 2, 2), (2, 2, 1), (2, 1, 2)), ((2,), (2, 2, 2), (2, 2, 2))),
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * contract(a, b),
    doc="baddbmm with complex factors.",
    example="(tenora.ones(1, 2, 2) * 1j).baddbmm(tenora.ones(1, 2, 2) * 1j, tenora.ones(1, 2, 2) * 1j, alpha=2j)",
    public="baddbmm",
    display="baddbmm",
    method=True,
    inplace=True,
    out=True,
)


def _third(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(input: Any, tensor1: Any, tensor2: Any, *, value: Any) -> Any:
        dtype = _common(input, tensor1, tensor2)
        value = number_for(name, "value", value, dtype)
        if not dtype.is_complex:
            return getattr(ops, name)(input, tensor1, tensor2, value=value)
        return ops.add(input, ops.mul(combine(ops.to(tensor1, dtype), ops.to(tensor2, dtype)), value))

    return function


def _three(draw: Draw) -> Iterable[Sample]:
    return [sample(*s.arguments, value=FACTOR) for s in selection.three(draw)]


addcmul_complex = op(
    "addcmul_complex(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | Scalar) -> Tensor",
    family=FORMS,
    function=_third("addcmul", lambda a, b: ops.mul(a, b)),
    samples=_three,
    oracle=lambda x, a, b, value: x + value * np.multiply(a, b),
    doc="input + value * tensor1 * tensor2 with a complex value.",
    example="tenora.addcmul(tenora.tensor([1j]), tenora.tensor([2.0]), tenora.tensor([3.0]), value=2j)",
    public="addcmul",
    display="addcmul",
    method=True,
    inplace=True,
    out=True,
)
addcdiv_complex = op(
    "addcdiv_complex(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | Scalar) -> Tensor",
    family=FORMS,
    domain=NONZERO,
    function=_third("addcdiv", lambda a, b: ops.div(a, b)),
    samples=_three,
    oracle=lambda x, a, b, value: x + value * np.true_divide(a, b),
    doc="input + value * tensor1 / tensor2 with a complex value.",
    example="tenora.addcdiv(tenora.tensor([1j]), tenora.tensor([2.0]), tenora.tensor([4.0]), value=2j)",
    public="addcdiv",
    display="addcdiv",
    method=True,
    inplace=True,
    out=True,
)


def _filled(input: Any, index: Any, value: Any) -> Any:
    value = number_for("scatter", "value", value, input.dtype)
    return ops.fill_tensor(ops.full_like(index, 0, dtype=input.dtype), value)


def _scatter(input: Any, dim: int, index: Any, value: Any) -> Any:
    return ops.scatter(input, dim, index, _filled(input, index, value))


def _scatter_combined(input: Any, dim: int, index: Any, value: Any, *, reduce: str) -> Any:
    return ops.scatter_combined(input, dim, index, _filled(input, index, value), reduce=reduce)


scatter_complex = op(
    "scatter_complex(input: Tensor, dim: int, index: Tensor, value: Tensor | Scalar) -> Tensor",
    family=FORMS,
    function=_scatter,
    samples=lambda draw: [sample(*s.arguments[:3], FACTOR) for s in index_cases.scatters(draw)],
    oracle=lambda x, dim, places, value: _written(x, dim, places, value),
    apart=("index",),
    doc="scatter of one complex number.",
    example="tenora.scatter(tenora.zeros(3) * 1j, 0, tenora.tensor([1]), 5j)",
    public="scatter",
    display="scatter",
    method=True,
    inplace=True,
    out=True,
)
scatter_combined_complex = op(
    "scatter_combined_complex(input: Tensor, dim: int, index: Tensor, value: Tensor | Scalar, *, reduce: str) "
    "-> Tensor",
    family=FORMS,
    function=_scatter_combined,
    samples=lambda draw: [
        sample(*s.arguments[:3], FACTOR, reduce=reduce)
        for reduce in ("add", "multiply")
        for s in index_cases.additions(draw)
    ],
    oracle=combined_by_definition,
    apart=("index",),
    doc="scatter of one complex number that is added or multiplied instead of set.",
    example="tenora.scatter(tenora.zeros(3) * 1j, 0, tenora.tensor([1]), 5j, reduce='add')",
    public="scatter",
    display="scatter",
    method=True,
    inplace=True,
    out=True,
)


def _written(x: Any, dim: int, places: Any, value: complex) -> Any:
    out = x.copy()
    np.put_along_axis(out, places, np.asarray(value, out.dtype), dim)
    return out
