"""Op records: one declaration per operation, from which everything else is derived.

- `Record` states the fields once. `op(...)` takes the same, validates the record, keeps it and registers it with the
  engine. It returns the op's function, which formulas call.
- Errors at registration name the op, the field, what was given and what was expected.
- Public functions, methods, operators, in-place and out= forms are made by `functions.py` when all records are known.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any, ParamSpec, cast

from tenora_engine import _engine
from tenora_engine._engine import OpFunction
from tenora_ops import later
from tenora_ops.formula import REGISTERED
from tenora_ops.python_op import PythonOp
from tenora_ops.samples import ALL, EDGES, EVERYWHERE, Domain, Samples
from tenora_ops.schema import Schema, parse
from tenora_ops.tolerance import TOLERANCES

OPSET_VERSION = "1.0"
Formula = Callable[..., Any]
Fields = ParamSpec("Fields")


class RecordError(ValueError):
    """A record that contradicts itself or lacks something."""


@dataclass(frozen=True, slots=True)
class Family:
    """What the ops of a family share unless a record says otherwise."""

    name: str
    dtype: str
    shape: str
    prepare: str
    samples: Samples
    dtypes: tuple[str, ...] = ALL
    domain: Domain = EVERYWHERE
    tolerance: str = "exact"


#: Stands for a value that is worked out from the family or from other fields when the record is made.
DERIVED: Any = object()


@dataclass(frozen=True, slots=True)
class Record:
    """One operation: the one statement of its fields, which are also what `op` takes.

    Meaning: `signature` (typed, parsed into `schema`), `doc` (one line with formula or source), `example` (a line that
    runs).
    Rules: `dtype`, `shape`, `prepare` (names of native rules, or a Python callable for a plugin's dtype/shape rule;
    empty on a composite: no backend can override it), `kernel` (another op's kernel it runs).
    Implementation, at most one: a kernel (ring 0) when none is given, `view`, `structural` (native plan), `composite`
    (formula), `function` (Python whose result size or path depends on data or dtype; with rules a backend may
    override it and the tape records one node) or `python` (Python over other ops with a signature of its own: as many
    results as the call asks for, `*tensors`; the engine does not know it, so it has no in-place or out= form).
    Gradient: `vjp(g[, g1..], *inputs, *results, **attributes)`, or by replaying the composite (`through`);
    `dynamic_vjp` formulas branch on data and are called back; `jvp` is reserved for forward mode; `shape_only` names
    inputs that are read for shape and dtype only; `not_differentiable` numbers outputs without a gradient;
    `no_gradient` names inputs that have one nobody knows: asking for it is refused (with `dynamic_vjp`).
    `no_differences` says why finite differences are not the gradient, which is then compared with them on the
    `gradient_samples` only, if there are any. `random` ops draw from a generator; `checks_data`: a kernel may refuse
    because of element values; `exact_target`: in place and out= take the result's own dtype alone.
    Judgement: `oracle` (independent, float64 or exact), `domain`, `samples`, `dtypes`, `tolerance`; `edges`: which
    numbers at the edges of a dtype the oracle knows the answer for (`samples.EDGES`); `either_zero`: where the result
    is zero it may have either sign; `hermitian`: one triangle of a Hermitian matrix is read, so finite differences
    must keep it Hermitian; `labels`: operands that name one of a few cases by their value, which no difference moves;
    `complex_within`: real numbers too lead to complex ones, in the result or on the way to it.
    Faces: `public` name shared by overloads (with its module, as in `nn.functional.gelu`; "" keeps the op out of the
    namespace), `method` and `inplace` (a name, or True for the public one), `attribute` (a Tensor property), `out`,
    `operator` slot, `aliases`, `result` names, `display` (what errors call an op without a public name).
    `apart`: tensor parameters whose memory `out=` may not share, as PyTorch rules for what reads here and there;
    `masks`: those that must be of dtype bool.
    `renames`: the public name of the op that this record gives a second name or an argument form; such a record is no
    op of its own (`census.py`).

    Raises:
        SchemaError: the signature cannot be parsed.
        RecordError: more than one implementation.
    """

    signature: str
    _: KW_ONLY
    family: Family
    doc: str
    example: str
    oracle: Formula
    dtype: str | Formula = DERIVED
    shape: str | Formula = DERIVED
    prepare: str = DERIVED
    kernel: str = ""
    view: bool = False
    structural: str = ""
    composite: Formula | None = None
    function: Formula | None = None
    python: Formula | None = None
    vjp: Formula | None = None
    jvp: Formula | None = None
    dynamic_vjp: bool = False
    differentiable: bool = DERIVED
    shape_only: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    not_differentiable: tuple[int, ...] = ()
    no_gradient: tuple[str, ...] = ()
    no_differences: str = ""
    random: bool = False
    checks_data: bool = False
    exact_target: bool = False
    domain: Domain = DERIVED
    samples: Samples = DERIVED
    dtypes: tuple[str, ...] = DERIVED
    gradient_samples: Samples | None = None
    edges: str = "all"
    either_zero: bool = False
    hermitian: bool = False
    labels: tuple[str, ...] = ()
    complex_within: bool = False
    tolerance: str = DERIVED
    public: str = DERIVED
    method: str | bool = False
    inplace: str | bool = False
    out: bool = False
    display: str = ""
    operator: str = ""
    attribute: str = ""
    aliases: tuple[str, ...] = ()
    renames: str = ""
    result: tuple[str, ...] = ()
    schema: Schema = field(init=False)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        schema = parse(self.signature)
        worked_out: dict[str, Any] = {
            "schema": schema,
            "kind": _kind(
                schema.name,
                view=self.view,
                structural=self.structural,
                composite=self.composite,
                function=self.function,
                python=self.python,
            ),
            "public": schema.name,
            "differentiable": any((self.vjp, self.composite, self.function, self.python)),
        }
        for name in _derivable():
            if getattr(self, name, DERIVED) is DERIVED:
                value = worked_out[name] if name in worked_out else getattr(self.family, name)
                object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def short(self) -> str:
        """The public name without its module."""
        return self.public.rsplit(".", 1)[-1]

    @property
    def shown(self) -> str:
        """What errors and the tape call the op: `add`, `linalg.cond`, `softmax` of `nn.functional`, `H` of `x.H`."""
        public = self.public.removeprefix("nn.functional.")
        return self.display or public or self.method_name or self.attribute or self.name

    @property
    def result_name(self) -> str:
        """The named tuple of several results, in `tenora.return_types`: the public name in one word."""
        return self.public.removeprefix("nn.functional.").replace(".", "_") or self.name

    @property
    def method_name(self) -> str:
        """The Tensor method's name, "" when there is none."""
        return self.short if self.method is True else self.method or ""

    @property
    def inplace_name(self) -> str:
        """The in-place method's name, "" when there is none."""
        return f"{self.short or self.name}_" if self.inplace is True else self.inplace or ""

    @property
    def through(self) -> bool:
        """Whether the gradient is that of its parts, which are recorded one by one."""
        by_parts = self.kind == "composite" or (self.kind == "function" and not self.overridable)
        return by_parts and self.vjp is None and self.differentiable

    @property
    def overridable(self) -> bool:
        """Whether a backend can bring a kernel of this name."""
        return (
            self.kind in ("kernel", "composite", "structural", "function")
            and bool(self.dtype and self.shape)
            and not self.kernel
        )


@functools.cache
def _derivable() -> tuple[str, ...]:
    """Fields that a record need not state; worked out once, because every start of a process makes all records."""
    return tuple(f.name for f in fields(Record) if not f.init or f.default is DERIVED)


_RECORDS: dict[str, Record] = {}
_MODULES: dict[str, str] = {}


def records() -> tuple[Record, ...]:
    """All records, in order of registration; loads the families that are loaded later."""
    later.load_module("")
    return tuple(_RECORDS.values())


def record(name: str) -> Record:
    """The record of an op.

    Raises:
        KeyError: when there is none of that name.
    """
    if name not in _RECORDS:
        later.load_op(name)
    return _RECORDS[name]


def registered() -> tuple[tuple[Record, str], ...]:
    """The records so far and the modules that declared them, in order; loads nothing. Safe beside other threads."""
    return tuple((entry, _MODULES[entry.name]) for entry in tuple(_RECORDS.values()))


def dtypes_of(shown: str) -> tuple[str, ...]:
    """The dtypes of the loaded ops that errors call by this name; none where it is of no op."""
    named = [entry for entry, _ in registered() if entry.shown == shown]
    return tuple(dict.fromkeys(dtype for entry in named for dtype in entry.dtypes))


def module_of(name: str) -> str:
    """The module whose code declared an op that is registered."""
    return _MODULES[name]


def _kind(name: str, **given: object) -> str:
    chosen = [kind for kind, value in given.items() if value]
    if len(chosen) > 1:
        raise RecordError(
            f"[{name}] more than one implementation: got {' and '.join(chosen)}, expected at most one."
            " Leave the others out."
        )
    return chosen[0] if chosen else "kernel"


def _register(entry: Record) -> OpFunction:
    _validate(entry)
    if entry.kind == "python":
        _RECORDS[entry.name] = entry
        assert entry.python is not None
        names = _engine.make_result_type(entry.result_name, entry.result) if entry.result else None
        python = PythonOp(entry.schema.text, entry.short or entry.name, entry.python, entry.doc, names)
        REGISTERED[entry.name] = python
        return cast(OpFunction, python)
    schema = entry.schema
    operands = [p.name for p in schema.operands]
    outputs = (1 << schema.results) - 1
    for number in entry.not_differentiable:
        outputs &= ~(1 << number)
    _engine.register_op(
        name=entry.name,
        signature=schema.text,
        result=entry.result,
        result_name=entry.result_name,
        display=entry.shown,
        kernel=entry.kernel,
        implementation=entry.kind,
        dtype_rule=entry.dtype,
        shape_rule=entry.shape,
        prepare=entry.prepare,
        structural=entry.structural,
        differentiable=entry.differentiable,
        through=entry.through,
        dynamic_vjp=entry.dynamic_vjp,
        shape_only=sum(1 << operands.index(name) for name in entry.shape_only),
        apart=sum(1 << operands.index(name) for name in entry.apart),
        masks=sum(1 << operands.index(name) for name in entry.masks),
        output_differentiable=outputs,
        random=entry.random,
        checks_data=entry.checks_data,
        exact_target=entry.exact_target,
        inplace_ok=bool(entry.inplace_name),
        out_ok=entry.out,
    )
    _RECORDS[entry.name] = entry
    function = _engine.make_function(entry.name, [entry.name], "function", doc=entry.doc, module="tenora_ops")
    REGISTERED[entry.name] = function
    return function


def _validate(entry: Record) -> None:
    name = entry.name
    if name in _RECORDS:
        raise RecordError(
            f"[{name}] the op is registered already: got it twice, expected it once, in family "
            f"{_RECORDS[name].family.name}. Rename one."
        )
    if entry.tolerance not in TOLERANCES:
        raise RecordError(
            f"[{name}] unknown tolerance class: got {entry.tolerance!r}, expected one of {sorted(TOLERANCES)}. "
            "Choose one."
        )
    if entry.edges not in EDGES:
        raise RecordError(
            f"[{name}] unknown edges: got {entry.edges!r}, expected one of {sorted(EDGES)}. Choose one."
        )
    for told in ("doc", "example"):
        if not getattr(entry, told).strip():
            raise RecordError(f"[{name}] field {told!r} is empty: got '', expected a line. Write it.")
    if not entry.dtypes:
        raise RecordError(
            f"[{name}] field 'dtypes' is empty: got none, expected one at least. Name those that samples are drawn in."
        )
    unknown = set(entry.shape_only + entry.apart + entry.masks + entry.labels) - {
        p.name for p in entry.schema.operands
    }
    if unknown:
        raise RecordError(
            f"[{name}] shape_only, apart, masks or labels: got {sorted(unknown)}, expected names of tensor parameters. "
            "Rename them."
        )
    if entry.kind == "python" and (entry.inplace or entry.out or entry.operator or entry.vjp):
        raise RecordError(
            f"[{name}] a Python op has no in-place form, out= form, operator or vjp: got one, expected none. Leave "
            "it out."
        )
    if entry.schema.results == 0 and entry.kind != "python":
        raise RecordError(
            f"[{name}] a list of results (`-> Tensor[]`): got no `python`, expected it. Write such a function."
        )
    if entry.kind == "kernel" and not (entry.dtype and entry.shape):
        raise RecordError(
            f"[{name}] a kernel needs a dtype rule and a shape rule: got one or none, expected both. Name them."
        )
    _validate_formulas(entry)


def _validate_formulas(entry: Record) -> None:
    operands = len(entry.schema.operands)
    if entry.vjp is not None:
        gradients = entry.schema.results - len(entry.not_differentiable)
        _validate_formula(entry, "vjp", entry.vjp, gradients + operands + entry.schema.results)
    if entry.composite is not None:
        _validate_formula(entry, "composite", entry.composite, operands)
    if entry.vjp is not None and entry.kind == "function" and not entry.overridable:
        raise RecordError(
            f"[{entry.name}] vjp: got a formula for a function without rules, whose parts are recorded, expected none: "
            "it would never be used. Give the record a dtype and a shape rule, or leave the formula out."
        )
    if entry.dynamic_vjp and entry.vjp is None:
        raise RecordError(f"[{entry.name}] dynamic_vjp: got no vjp formula, expected one. Write it.")
    unknown = [name for name in entry.no_gradient if name not in {p.name for p in entry.schema.operands}]
    if unknown or (entry.no_gradient and not entry.dynamic_vjp):
        raise RecordError(
            f"[{entry.name}] no_gradient: got {entry.no_gradient}, expected operands of an op with dynamic_vjp."
            " Set dynamic_vjp, and name its operands."
        )


def _parameter_names(formula: Formula) -> list[str]:
    """As `inspect.signature` tells them, which takes twenty times as long for a plain function."""
    code = getattr(formula, "__code__", None)
    if code is None or hasattr(formula, "__wrapped__") or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return list(inspect.signature(formula).parameters)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _validate_formula(entry: Record, field: str, formula: Formula, positional: int) -> None:
    """A formula takes the tensors by position and any of the attributes by name."""
    names = _parameter_names(formula)
    if len(names) < positional:
        raise RecordError(
            f"[{entry.name}] {field} parameters: got {len(names)}, expected at least {positional} (tensors). Take "
            "them all."
        )
    attributes = {p.name for p in entry.schema.attributes}
    unknown = [n for n in names[positional:] if n not in attributes]
    if unknown:
        raise RecordError(
            f"[{entry.name}] {field} parameters after its {positional} tensors are not attributes: got {unknown}, "
            f"expected some of {sorted(attributes)}. Rename them."
        )


def _declaring(record: Callable[Fields, Record]) -> Callable[Fields, OpFunction]:
    """`op` takes what `Record` takes; the fields are stated there and nowhere else."""

    def op(*arguments: Fields.args, **fields: Fields.kwargs) -> OpFunction:
        """Declares an op with the fields of a `Record` and returns its function.

        Raises:
            RecordError: the record contradicts itself (the text names op and field).
            SchemaError: the signature cannot be parsed.
        """
        entry = record(*arguments, **fields)
        module = sys._getframe(1).f_globals["__name__"]
        if later.home_of(entry.name) not in ("", module):
            later.load_op(entry.name)  # so that a second op of an announced name is refused
        _MODULES.setdefault(entry.name, module)  # before the record, which other threads then see
        return _register(entry)

    return op


op = _declaring(Record)
