"""One call on both sides, compared: values, dtypes, shapes, gradients and second gradients.

- What has no counterpart raises `Uncompared` with the reason, one that the tests count (test_ops_parity.py).
- Both sides round, so a difference may be the sum of both bounds: twice the record's tolerance. Gradients round once
  more an order; what cancels beyond that stands in `CANCELLING` with its reason, and only while it needs to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import op_cases
import torch
from differences import EMPTY_RESULTS, GRADIENTS, SECOND_GRADIENTS

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import COMPLEX, REALS, Sample, Seed
from tenora_ops.tolerance import TOLERANCES

NAMES = [r.name for r in tenora_ops.records() if r.public]
#: Bounds of the record's class that first and second gradients get: both sides round, and an order's formulas about as
#: often as the op. Of the records beside those of CANCELLING none needs more than 3 and 7 of them.
FIRST, SECOND_ORDER = 4.0, 8.0
#: Bounds for gradients whose terms cancel: they round relative to the terms, the bounds are relative to the result.
CANCELLING: dict[str, tuple[float, str]] = {
    "group_norm": (
        96.0,
        "a group of two is 1 and -1 whatever its elements; eps / variance of the terms is left",
    ),
    "i1e": (96.0, "exp(-|x|) (I0 - I1 / x) - I1 exp(-|x|), each near the other"),
    "logcumsumexp": (64.0, "running sums, from the end, of shares that cancel"),
    **dict.fromkeys(
        ("softmax", "softmax_dtype", "softmin"),
        (32.0, "differences from the mean under the distribution, twice"),
    ),
    "log_ndtr": (24.0, "-x h - h^2 for a hazard h that is near -x"),
    "gelu": (24.0, "(2 - x^2) times a density, near its zero"),
}
#: Second gradients that are zero in some samples: both sides hold the rounding of terms that cancel, alone.
VANISHING = {
    **dict.fromkeys(
        ("scatter_reduce", "index_reduce"), "a product of one factor, or a self that is left out"
    ),
    "corrcoef": "the correlation of one variable with itself is 1",
    "logcumsumexp": "along one element it is the input itself",
}
#: Of those, what some processors compute without rounding (AVX2 does): nothing there shows that the rule is needed.
EXACT_ON_SOME_PROCESSORS = ("corrcoef",)
#: Results whose order among equal elements PyTorch leaves open.
TIES = {("topk", 1)}
SECOND = 64  # elements up to which second gradients are compared
NO_KERNEL = (
    "not implemented for",
    "not supported",
    "unsupported",
    "does not support",
    "expected floating point",
)


class Uncompared(Exception):
    """A reason why a case has no counterpart."""


class Ungraded(Uncompared):
    """A reason why the gradient of a case has none; the values were compared."""


def counterpart(record: Record) -> Callable[..., Any]:
    """PyTorch's function of the record's public name."""
    place: Any = torch
    try:
        for part in record.public.split("."):
            place = getattr(place, part)
    except AttributeError:
        place = getattr(torch.Tensor, record.method_name, None) if record.method_name else None
    if place is None or not callable(place):
        raise Uncompared("PyTorch has no function of this name")
    found: Callable[..., Any] = place
    return found


def to_torch(value: Any) -> Any:
    """A sample's value for PyTorch."""
    if isinstance(value, np.ndarray):
        if value.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(value.view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(np.array(value, copy=True))
    if isinstance(value, list):
        return [to_torch(v) for v in value]
    if isinstance(value, Seed):
        return torch.Generator().manual_seed(value.seed)
    return value


def torch_call(record: Record, sample: Sample) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    kinds = [p.type for p in record.schema.parameters if not p.keyword_only]
    arguments = [
        getattr(torch, v)
        if isinstance(v, str) and i < len(kinds) and kinds[i].startswith("dtype")
        else to_torch(v)
        for i, v in enumerate(sample.arguments)
    ]
    options = {k: getattr(torch, v) if k == "dtype" else to_torch(v) for k, v in sample.options.items()}
    return counterpart(record), arguments, options


def refused(error: Exception) -> Uncompared | None:
    """Whether PyTorch lacks the dtype or the spelling, rather than judging the values."""
    text = str(error)
    if isinstance(error, TypeError):
        return Uncompared(f"PyTorch's {text.split('(', 1)[0]} takes other arguments")
    if isinstance(error, NotImplementedError) or any(word in text for word in NO_KERNEL):
        return Uncompared("PyTorch has no kernel for the dtype")
    return None


def draws(record: Record) -> bool:
    """Whether the op, or a part of it, takes random numbers."""
    return record.random or any(p.type.startswith("Generator") for p in record.schema.parameters)


def results_of(value: Any) -> list[Any]:
    """The tensors of an answer, those of tuples within tuples too."""
    return [t for v in value for t in results_of(v)] if isinstance(value, tuple | list) else [value]


def as_array(tensor: Any) -> np.ndarray:
    tensor = tensor.detach().clone()  # a symbolic zero of a gradient becomes memory
    if tensor.dtype == torch.bfloat16:
        return np.asarray(tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


def compare(record: Record, got: Any, theirs: Any, where: str, factor: float = 2.0) -> None:
    """Shape, dtype, and values within both sides' bounds."""
    name = str(theirs.dtype).rsplit(".", 1)[-1]
    assert str(got.dtype).rsplit(".", 1)[-1] == name, f"{where}: dtype {got.dtype}, PyTorch {theirs.dtype}"
    assert tuple(got.shape) == tuple(theirs.shape), (
        f"{where}: shape {tuple(got.shape)}, PyTorch {tuple(theirs.shape)}"
    )
    if draws(record) or record.tolerance == "unspecified":
        return
    ours, other = op_cases.as_numpy(got), as_array(theirs)
    if name in (*REALS, *COMPLEX):
        wide = np.complex128 if name in COMPLEX else np.float64
        a, b = ours.astype(wide), other.astype(wide)
        finite = np.abs(b[np.isfinite(b)])
        tolerance = TOLERANCES["exact_or_1ulp" if record.tolerance == "exact" else record.tolerance]
        rtol, atol = tolerance.bounds(name, float(finite.max()) if finite.size else 0.0)
        np.testing.assert_allclose(a, b, rtol=factor * rtol, atol=factor * atol, err_msg=where)
    else:
        np.testing.assert_array_equal(ours, other, err_msg=where)


def weights(tensors: list[Any], module: Any, number: int) -> list[Any]:
    """The same fixed weights on both sides."""
    made = []
    for i, t in enumerate(tensors):
        draw = np.random.default_rng(1000 * number + i)
        value = draw.uniform(0.5, 1.5, tuple(t.shape))
        if "complex" in str(t.dtype):
            value = value + 1j * draw.uniform(0.5, 1.5, tuple(t.shape))
        made.append(
            module.tensor(value, dtype=t.dtype) if t.ndim else module.tensor(value.item(), dtype=t.dtype)
        )
    return made


def leaves_of(arguments: list[Any], module: Any) -> list[Any]:
    flat = [a for v in arguments for a in (v if isinstance(v, list) else [v])]
    return [t for t in flat if isinstance(t, module.Tensor) and (t.is_floating_point() or t.is_complex())]


def derivatives(module: Any, run: Callable[[], Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """First gradients of a weighted sum of the results, and second gradients of a weighted sum of the first."""
    for leaf in leaves:
        leaf.requires_grad_(True)
    outputs = [o for o in results_of(run()) if o.requires_grad]
    if not outputs:
        return [], []
    first = module.autograd.grad(
        outputs, leaves, weights(outputs, module, 1), create_graph=True, allow_unused=True
    )
    small = sum(leaf.numel() for leaf in leaves) <= SECOND
    again = [g for g in first if g is not None and g.requires_grad]
    if not again or not small:
        return list(first), []
    return list(first), list(
        module.autograd.grad(again, leaves, weights(again, module, 2), allow_unused=True)
    )


def allowed(record: Record, order: int) -> float:
    """Bounds of the record's class that its gradients of an order get."""
    return max(FIRST if order == 1 else SECOND_ORDER, CANCELLING.get(record.name, (0.0, ""))[0])


def only_rounding(gradient: Any) -> bool:
    """What rounds to zero on one side may be rounding on the other."""
    bound = TOLERANCES["reduction"].bounds(gradient.dtype.name, 1.0)[1]
    return bool(np.abs(gradient).max(initial=0.0) <= bound)


def without_rounding(record: Record, gradients: list[Any]) -> list[Any]:
    """PyTorch's second gradients, None where they vanish: there tenora's must be rounding alone, too."""
    if record.name not in VANISHING:
        return gradients
    return [None if g is not None and only_rounding(as_array(g)) else g for g in gradients]


def compare_derivatives(
    record: Record, ours: list[Any], theirs: list[Any], where: str, factor: float = FIRST
) -> None:
    count = max(len(ours), len(theirs))
    # A side without any gradient says that all of them are zeros.
    ours, theirs = ours or [None] * count, theirs or [None] * count
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None and b is None:
            continue
        # None on one side is a gradient of zeros on the other.
        if a is None or b is None:
            assert only_rounding(op_cases.as_numpy(a) if b is None else as_array(b)), f"{where} of input {i}"
            continue
        compare(record, a, b, f"{where} of input {i}", factor)


def one_case(record: Record, dtype: str, sample: Sample, where: str, second: bool = True) -> None:
    function, arguments, options = torch_call(record, sample)
    try:
        theirs = function(*arguments, **options)
    except Exception as error:
        reason = refused(error)
        if reason is None:
            raise AssertionError(f"{where}: PyTorch refuses what tenora takes: {error}") from error
        raise reason from error
    if isinstance(theirs, bool):
        assert op_cases.call(record, sample) is theirs, where
        return
    if theirs is None or not all(isinstance(t, torch.Tensor) for t in results_of(theirs)):
        raise Uncompared("PyTorch does not answer with tensors")
    if record.name in EMPTY_RESULTS and not any(t.numel() for t in results_of(theirs)):
        raise Uncompared(f"{record.name}: {EMPTY_RESULTS[record.name]}")
    got = op_cases.call(record, sample)
    pairs = list(zip(results_of(got), results_of(theirs), strict=True))
    for i, (a, b) in enumerate(pairs):
        if (record.name, i) not in TIES:
            compare(record, a, b, f"{where} result {i}")
    if dtype in ("float64", "complex128") and not draws(record):
        gradients(record, sample, where, second)


def gradients(record: Record, sample: Sample, where: str, second: bool = True) -> None:
    if record.name in GRADIENTS:
        raise Ungraded(f"{record.name}: {GRADIENTS[record.name]}")
    function, arguments, options = torch_call(record, sample)
    run = functools.partial(function, *arguments, **options)
    try:
        theirs = derivatives(torch, run, leaves_of(arguments, torch))
    except (RuntimeError, NotImplementedError) as error:
        raise Ungraded("PyTorch has no gradient") from error
    if not theirs[0]:
        return
    mine = op_cases.arguments_of(record, sample)
    call = functools.partial(tenora_ops.REGISTERED[record.name], *mine, **op_cases.options_of(record, sample))
    ours = derivatives(tenora, call, leaves_of(mine, tenora))
    compare_derivatives(record, ours[0], theirs[0], f"{where} gradient", allowed(record, 1))
    if second and record.name not in SECOND_GRADIENTS:
        compare_derivatives(
            record,
            ours[1],
            without_rounding(record, theirs[1]),
            f"{where} second gradient",
            allowed(record, 2),
        )
