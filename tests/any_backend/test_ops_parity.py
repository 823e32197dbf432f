"""Every record on its samples against PyTorch: values, dtypes, shapes, gradients and second gradients.

- What has no counterpart is not compared, but counted by reason (`not_compared`) and printed at the end of the run:
  ops that PyTorch does not name, dtypes that its CPU kernels lack, spellings that only tenora takes.
- A random op is compared in shape and dtype alone; its values are judged by its Philox oracle.
- Both sides round, so a difference may be the sum of both bounds: twice the record's tolerance. Gradients round once
  more an order; what cancels beyond that stands in `CANCELLING` with its reason, and only while it needs to.
"""

from __future__ import annotations

import collections
import functools
import json
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import op_cases
import pytest
import torch
from engine_fixtures import installed

import tenora
import tenora_dispatch
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import COMPLEX, INTEGERS, REALS, Sample, Seed
from tenora_ops.tolerance import TOLERANCES

pytestmark = pytest.mark.oracle

NAMES = [r.name for r in tenora_ops.records() if r.public]
#: Where tenora means to differ; the reason is printed with the count.
DIFFERS: dict[tuple[str, str], str] = {
    (name, "uint8"): "PyTorch keeps uint8 where every other dtype gives bool" for name in ("all", "any")
}
DIFFERS |= {(name, "float64"): "PyTorch's trigamma has 9 digits" for name in ("digamma", "polygamma")}
DIFFERS |= {
    (f"special_{name}", dtype): "PyTorch's Bessel and Airy functions lose digits where they oscillate"
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")
    for dtype in (*INTEGERS, *REALS)
}
DIFFERS |= {
    (name, dtype): "factors have a free sign, phase or order, which tenora fixes (test_linalg.py)"
    for name in ("linalg_eigh", "linalg_svd", "svd", "linalg_eig", "linalg_eigvals")
    for dtype in ("float32", "float64", *COMPLEX)
}
DIFFERS |= {
    ("cholesky_inverse", dtype): "PyTorch takes the samples' diagonal for real, as that of a factor is"
    for dtype in COMPLEX
}
#: Results without elements whose shape PyTorch does not work out.
EMPTY_DIFFERS = {"pixel_unshuffle": "PyTorch answers an empty input with its own shape"}
#: Gradients that mean something else; the values are compared.
GRADIENT_DIFFERS = {
    "as_strided_scatter": "PyTorch's fails its own gradcheck",
    "ctc_loss": "PyTorch's is that of the logits before log_softmax, and fails its own gradcheck",
    "cholesky_solve": "PyTorch's fills the triangle that is not read (test_linalg_torch.py)",
    "cholesky_inverse": "PyTorch's fills the triangle that is not read (test_linalg_torch.py)",
}
#: Records of which no case is compared here; what judges them.
NOTHING_COMPARED = {
    "linalg_eigh": "test_linalg_torch.py",
    "linalg_svd": "test_linalg_torch.py",
    "svd": "test_linalg_torch.py",
    "linalg_eig": "test_linalg_torch.py",
    "linalg_eigvals": "test_linalg_torch.py",
    "gumbel_softmax": "its oracle: it takes a generator, PyTorch's does not",
    **{
        f"special_{name}": "its oracle, SciPy's"
        for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")
    },
}
#: Second gradients that PyTorch rounds on purpose; the first ones are compared.
SECOND_DIFFERS = {
    "binary_cross_entropy": "PyTorch adds 1e-12 to x (1 - x)",
    "lgamma": "PyTorch's trigamma has 9 digits",
    "mvlgamma": "PyTorch's trigamma has 9 digits",
}
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
}
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
    return place  # type: ignore[no-any-return]


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
    if record.name in EMPTY_DIFFERS and not any(t.numel() for t in results_of(theirs)):
        raise Uncompared(f"{record.name}: {EMPTY_DIFFERS[record.name]}")
    got = op_cases.call(record, sample)
    pairs = list(zip(results_of(got), results_of(theirs), strict=True))
    for i, (a, b) in enumerate(pairs):
        if (record.name, i) not in TIES:
            compare(record, a, b, f"{where} result {i}")
    if dtype in ("float64", "complex128") and not draws(record):
        gradients(record, sample, where, second)


def gradients(record: Record, sample: Sample, where: str, second: bool = True) -> None:
    if record.name in GRADIENT_DIFFERS:
        raise Ungraded(f"{record.name}: {GRADIENT_DIFFERS[record.name]}")
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
    if second and record.name not in SECOND_DIFFERS:
        compare_derivatives(
            record,
            ours[1],
            without_rounding(record, theirs[1]),
            f"{where} second gradient",
            allowed(record, 2),
        )


@pytest.mark.parametrize("name", NAMES)
def test_parity(name: str, backend: str, record_property: Callable[[str, object], None]) -> None:
    record = op_cases.judged(name)
    left_out: collections.Counter[str] = collections.Counter()
    compared = 0
    for dtype in op_cases.dtypes_of(record):
        for number, sample in enumerate(op_cases.samples_of(name, dtype)):
            try:
                if (name, dtype) in DIFFERS:
                    raise Uncompared(f"{name}: {DIFFERS[name, dtype]}")
                one_case(record, dtype, sample, f"{name}({sample}) {dtype} sample {number}")
                compared += 1
            except Uncompared as reason:
                left_out[str(reason)] += 1
    record_property("compared", compared)
    record_property("not_compared", json.dumps(left_out))
    try:
        counterpart(record)
    except Uncompared:
        return  # PyTorch does not name it
    assert bool(compared) != (name in NOTHING_COMPARED), (
        f"{name}: {compared} cases compared, not: {dict(left_out)}"
    )


def fits(record: Record) -> bool:
    """Whether all gradients of the samples are within the bounds."""
    for dtype in {"float64", "complex128"} & set(op_cases.dtypes_of(record)):
        for number, sample in enumerate(op_cases.samples_of(record.name, dtype)):
            try:
                one_case(record, dtype, sample, f"{record.name} {dtype} sample {number}")
            except Uncompared:
                continue
            except AssertionError:
                return False
    return True


@pytest.mark.parametrize("name", CANCELLING)
def test_what_cancels_needs_its_bounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one of the backends the gradients fit neither half the bounds of other records nor an eighth of their own."""
    factor, reason = CANCELLING[name]
    monkeypatch.setitem(CANCELLING, name, (factor / 8, reason))
    monkeypatch.setattr(sys.modules[__name__], "SECOND_ORDER", SECOND_ORDER / 2)
    assert not fits_everywhere(name), f"{name}: take it out of CANCELLING, or lower its bounds"


@pytest.mark.parametrize("name", VANISHING)
def test_what_vanishes_needs_its_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(VANISHING, name)
    assert not fits_everywhere(name), f"{name}: take it out of VANISHING"


def fits_everywhere(name: str) -> bool:
    """Whether the gradients are within the bounds on every backend that is available."""
    record = op_cases.judged(name)
    fitting = []
    for backend in installed():
        try:
            with tenora.use_backend(backend):
                fitting.append(fits(record))
        except tenora_dispatch.BackendUnavailableError:
            continue  # its tests are skipped with the reason
    return all(fitting)


def test_a_difference_is_noticed() -> None:
    """The comparison fails when the values, the dtype or the gradient differ."""
    record = tenora_ops.record("exp")
    right = torch.tensor([1.0, 2.0])
    compare(record, tenora.tensor([1.0, 2.0]), right, "equal")
    for wrong in (tenora.tensor([1.0, 2.1]), tenora.tensor([1.0, 2.0], dtype=tenora.float64), tenora.ones(3)):
        with pytest.raises(AssertionError):
            compare(record, wrong, right, "different")
    for ours, theirs in (([tenora.ones(2)], [None]), ([], [torch.ones(2)]), ([tenora.ones(2)], [])):
        with pytest.raises(AssertionError):
            compare_derivatives(record, ours, theirs, "gradient")
    vanishing = tenora_ops.record("scatter_reduce")
    for ours, other in ((tenora.ones(2), torch.zeros(2)), (tenora.zeros(2), torch.ones(2))):
        with pytest.raises(AssertionError):
            compare_derivatives(vanishing, [ours], without_rounding(vanishing, [other]), "second gradient")
