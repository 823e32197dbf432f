"""Bad input gets an error of tenora's: the right class, a code, the op's name; made from the records.

- Calls are sound samples with one thing wrong: an unknown keyword, an object in the place of a tensor, too few
  arguments, a dim out of range, shapes that do not broadcast, a dtype the op is not for, an operand on another device.
- What only a kernel can see is the backend's own duty: an index out of range, a whole number divided by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking
from tenora_conformance.judge.calls import Call, prepare, samples_of
from tenora_conformance.judge.layouts import LAYOUTS
from tenora_conformance.judge.pointwise import arrays_of, is_plain
from tenora_conformance.judge.results import told
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import HOST, Subject, judged_by
from tenora_ops.record import Record
from tenora_ops.samples import COMPLEX, Sample

#: Parameters that count dims, and those that are indices into one.
DIMS = frozenset(("dim", "dim0", "dim1", "axis"))
#: Parameters that are a hint to a backend, which may know none of them.
HINTS = frozenset(("driver",))
#: What only a kernel sees.
SEEN_LATE = frozenset(("index", "negative", "zero"))
#: Ops whose last operand may be of the host: it is copied, a number, an index, lengths.
HOST_TOO = frozenset(("copy", "fill_tensor", "index_fill", "index_places", "take", "ctc_loss"))
#: Numbers that no whole dtype holds, and that int32 does not.
BEYOND, BEYOND_INT32 = 2**70, 2**40
#: Ops that take complex numbers although no sample of their record has any.
COMPLEX_TOO = frozenset(
    "allclose alpha_dropout avg_pool1d avg_pool2d avg_pool3d bilinear conv_tbc corrcoef dropout embedding_bag"
    " equal feature_alpha_dropout index_reduce interpolate isclose l1_loss ldexp log_softmax_dtype logcumsumexp"
    " nanmean nansum norm_name normalize renorm rms_norm scatter_combined scatter_combined_value scatter_reduce"
    " segment_reduce silu softmax_dtype std std_mean std_mean_of_all std_mean_unbiased std_of_all std_unbiased"
    " stft upsample upsample_bilinear upsample_nearest var var_mean var_mean_of_all var_mean_unbiased var_of_all"
    " var_unbiased".split()
)
#: Built-in classes for each kind of wrong.
Kinds = dict[str, tuple[type[Exception], ...]]
CLASSES: Kinds = {
    "keyword": (TypeError,),
    "object": (TypeError,),
    "missing": (TypeError,),
    "dim": (IndexError,),
    "shapes": (RuntimeError, ValueError, IndexError),
    "dtype": (RuntimeError, TypeError, ValueError, NotImplementedError),
    "device": (RuntimeError,),
    "index": (IndexError, RuntimeError),
    "negative": (IndexError, RuntimeError),
    "zero": (RuntimeError, ZeroDivisionError),
    "larger": (RuntimeError, ValueError),
    "size": (RuntimeError, ValueError),
    "bound": (RuntimeError, ValueError, OverflowError),
    # An unknown mode of pad, interpolate and upsample is a NotImplementedError, as PyTorch's.
    "choice": (RuntimeError, ValueError, NotImplementedError),
    "number": (RuntimeError, ValueError, OverflowError),
}
CODES: dict[str, frozenset[str]] = {
    "keyword": frozenset(("type",)),
    "missing": frozenset(("type",)),
    "dim": frozenset(("dim", "index")),
    "device": frozenset(("device",)),
    "index": frozenset(("index",)),
    "negative": frozenset(("index",)),
}
#: Types of parameters that are one of a few words, and that are numbers of the result's dtype.
TEXTS, NUMBERS = (
    frozenset(("str", "str?")),
    frozenset(("Scalar", "Scalar?", "Tensor | Scalar", "Tensor | Scalar?")),
)
#: Types of parameters that are numbers between which elements lie.
BOUNDS = frozenset(("Tensor | real", "Tensor | real | None"))
#: What the text must name, as a call may be refused for something else.
WORDS = {"dtype": "complex"}


def cases_of(name: str) -> tuple[Case, ...]:
    """Those of one record."""
    record = tenora_ops.record(name)
    dtype = "float32" if "float32" in record.dtypes else record.dtypes[0]
    return tuple(
        Case(name, used, kind, "0:error", Level.L2, "errors")
        for kind, used in kinds_of(record, dtype)
        if sample_of(record, used, kind) is not None
    )


def kinds_of(record: Record, dtype: str) -> Iterator[tuple[str, str]]:
    """What can be wrong in a call, and the dtype that it is tried in."""
    yield "keyword", dtype
    first = record.schema.parameters[0] if record.schema.parameters else None
    if first is not None and first.type == "Tensor":
        yield "object", dtype
        yield "missing", dtype
    if record.public and any(p.name in DIMS and p.type in ("int", "int?") for p in record.schema.parameters):
        yield "dim", dtype
    if record.shape == "broadcast" and len(record.schema.operands) == 2:
        yield "shapes", dtype
    if real_only(record):
        yield "dtype", dtype
    several = first is not None and len(record.schema.operands) > 1
    if several and record.kind != "python" and record.name not in HOST_TOO:
        yield "device", dtype
    if indexes(record):
        yield "index", dtype
        yield "negative", dtype
        if record.shape != "index_select":
            yield "larger", dtype
    if record.checks_data:
        yield "zero", "int64"
    if record.public and any(p.name == "size" and p.type == "int[]" for p in record.schema.parameters[:1]):
        yield "size", dtype
    if record.public and any(p.type in TEXTS and p.name not in HINTS for p in record.schema.parameters):
        yield "choice", dtype
    if (
        record.public
        and "int32" in record.dtypes
        and any(p.type in NUMBERS for p in record.schema.parameters)
    ):
        yield "number", "int32"
    if record.public and "int32" in record.dtypes and any(p.type in BOUNDS for p in record.schema.parameters):
        yield "bound", "int32"


def real_only(record: Record) -> bool:
    """Whether an op is for real numbers: it would drop imaginary parts, or order what has no order."""
    ruled = record.shape in ("same", "broadcast") and str(record.dtype).endswith("_real")
    named = record.schema.parameters[:1]
    stated = bool(record.public) and any(p.type == "Tensor" for p in named) and record.name not in COMPLEX_TOO
    return (ruled or stated) and not set(record.dtypes) & set(COMPLEX)


def indexes(record: Record) -> bool:
    """Whether an op reads or writes at the places that an operand `index` names."""
    return record.shape in ("gather", "scatter", "index_select") and any(
        p.name == "index" for p in record.schema.operands
    )


def sample_of(record: Record, dtype: str, kind: str) -> Sample | None:
    """The first sample with an element in every array, in which a kind can be wrong."""
    for sample in samples_of(record.name, dtype):
        arrays = arrays_of(sample)
        if kind in ("keyword", "missing", "object") or (
            kind in ("dtype", "choice", "number", "bound") and arrays
        ):
            return sample
        if kind == "size" or (kind == "larger" and beside_first(record, sample)):
            return sample
        if kind == "larger" or not is_plain(sample) or not arrays[0].ndim or not all(a.size for a in arrays):
            continue
        if kind in ("shapes", "device") and len(arrays) < 2:
            continue
        return sample
    return None


def beside_first(record: Record, sample: Sample) -> bool:
    """Whether an index runs along another dim than the first of two or more."""
    rank = arrays_of(sample)[0].ndim
    place = next(i for i, p in enumerate(record.schema.parameters) if p.name == "dim")
    return rank > 1 and bool(sample.arguments[place] % rank)


def needs(case: Case, subject: Subject) -> str:
    """Two devices are needed to mix them, and complex numbers to be refused where they are."""
    if case.layout == "dtype" and "complex64" not in subject.dtypes:
        return "dtype complex64, which the op has to refuse, is not declared"
    if case.layout == "device" and subject.device_type == HOST:
        return "operands on two devices need a second memory space"
    return ""


def run(case: Case, subject: Subject) -> Outcome:
    """One call with one thing wrong."""
    record = tenora_ops.record(case.op)
    sample = sample_of(record, case.dtype, case.layout)
    assert sample is not None, f"{case.id} has no sample"
    with asking(record, sample), judged_by(subject):
        call = prepare(record, sample, LAYOUTS["contiguous"], subject)
        wrong = SPOIL[case.layout](record, call, subject)
        expect(record, waited(wrong, subject) if case.layout in SEEN_LATE else wrong, case.layout)
        call.check_inputs()
    return Outcome()


def waited(call: Callable[[], Any], subject: Subject) -> Callable[[], Any]:
    """A call that returns when the device is done with it: what a kernel finds wrong is told then at the latest."""

    def run() -> Any:
        got = call()
        getattr(tenora, subject.device_type).synchronize(subject.device)
        return got

    return run


def expect(record: Record, call: Callable[[], Any], kind: str) -> None:
    """Raises: Failed where a call is not refused as it should be; NotSupportedError where the backend cannot do it,
    which is no answer to what is wrong (but to a dtype that the op is not for)."""
    try:
        got = call()
    except CLASSES[kind] as error:
        if isinstance(error, tenora.NotSupportedError) and kind != "dtype":
            raise
        code, op = getattr(error, "code", None), getattr(error, "op", None)
        if not code or not op or (kind in CODES and code not in CODES[kind]):
            wanted = " or ".join(sorted(CODES.get(kind, ()))) or "one"
            raise Failed(
                f"wrong {kind}: got code {code} of op {op} ({told(error)}), expected code {wanted}"
            ) from error
        if not str(error).startswith(f"[{op}") or WORDS.get(kind, "") not in str(error):
            raise Failed(
                f"wrong {kind}: got {told(error)}, expected a text that begins with [{op}]{wanted_words(kind)}"
            ) from error
        return
    except tenora.TenoraError as error:
        names = " or ".join(c.__name__ for c in CLASSES[kind])
        raise Failed(f"wrong {kind}: got {told(error)}, expected {names}") from error
    raise Failed(f"wrong {kind}: got {type(got).__name__}, expected a refusal")


def wanted_words(kind: str) -> str:
    """What a text must hold besides."""
    return f" and names what is wrong: {WORDS[kind]}" if kind in WORDS else ""


def _keyword(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return lambda: call.function(*call.arguments, **call.options, no_such_keyword=1)


def _object(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return lambda: call.function(object(), *call.arguments[1:], **call.options)


def _missing(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return lambda: call.function()


def _dim(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    place = next(
        i for i, p in enumerate(record.schema.parameters) if p.name in DIMS and p.type in ("int", "int?")
    )
    return _given(record, call, place, call.arguments[0].ndim + 3)


def _given(record: Record, call: Call, place: int, value: Any) -> Callable[[], Any]:
    """The call with another value for one parameter."""
    parameter = record.schema.parameters[place]
    if parameter.keyword_only or place >= len(call.arguments):
        return lambda: call.function(*call.arguments, **call.options | {parameter.name: value})
    given = [*call.arguments[:place], value, *call.arguments[place + 1 :]]
    return lambda: call.function(*given, **call.options)


def _last_of(record: Record, types: frozenset[str]) -> int:
    """The last parameter of some types: those before it are sound."""
    return max(i for i, p in enumerate(record.schema.parameters) if p.type in types and p.name not in HINTS)


def _choice(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return _given(record, call, _last_of(record, TEXTS), "no such word")


def _number(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return _given(record, call, _last_of(record, NUMBERS), BEYOND)


def _shapes(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    first, second, *rest = call.arguments
    wide = [tenora.ones(n, dtype=t.dtype, device=subject.device) for n, t in ((4, first), (5, second))]
    return lambda: call.function(*wide, *rest, **call.options)


def _dtype(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    drawn = next(
        a.dtype for a in call.arguments if isinstance(a, tenora.Tensor)
    )  # indices and masks beside it stay what they are
    given = [
        a.to(tenora.complex64) if isinstance(a, tenora.Tensor) and a.dtype == drawn else a
        for a in call.arguments
    ]
    return lambda: call.function(*given, **call.options)


def _device(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    places = [i for i, a in enumerate(call.arguments) if isinstance(a, tenora.Tensor)]
    given = list(call.arguments)
    given[places[-1]] = given[places[-1]].to(HOST)
    return lambda: call.function(*given, **call.options)


def _index(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return _indexed(record, call, 1000)


def _negative(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    """Counted from the end they are taken by indexing alone."""
    return _indexed(record, call, -1)


def _larger(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    """An index that reaches beyond the operand in the first dim, along which it does not run."""
    place = next(i for i, p in enumerate(record.schema.parameters) if p.name == "index")
    index, rows = call.arguments[place], call.arguments[0].shape[0]
    shape = (rows + 1, *index.shape[1:])
    return _given(record, call, place, tenora.zeros(shape, dtype=index.dtype, device=index.device))


def _bound(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return _given(record, call, _last_of(record, BOUNDS), BEYOND_INT32)


def _size(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    return _given(record, call, 0, (2, -3))


def _indexed(record: Record, call: Call, value: int) -> Callable[[], Any]:
    place = next(i for i, p in enumerate(record.schema.parameters) if p.name == "index")
    return _given(record, call, place, tenora.full_like(call.arguments[place], value))


def _zero(record: Record, call: Call, subject: Subject) -> Callable[[], Any]:
    given = list(call.arguments)
    given[1] = tenora.zeros_like(given[1]) if isinstance(given[1], tenora.Tensor) else 0
    return lambda: call.function(*given, **call.options)


SPOIL: dict[str, Callable[[Record, Call, Subject], Callable[[], Any]]] = {
    "keyword": _keyword,
    "object": _object,
    "missing": _missing,
    "dim": _dim,
    "shapes": _shapes,
    "dtype": _dtype,
    "device": _device,
    "index": _index,
    "negative": _negative,
    "larger": _larger,
    "size": _size,
    "bound": _bound,
    "zero": _zero,
    "choice": _choice,
    "number": _number,
}
CHECK = Check("errors", run, cases_of, needs=needs, lowest=Level.L2)
