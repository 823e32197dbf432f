"""Op records: one declaration per operation, from which everything else is derived.

- `op(...)` validates a record, keeps it and registers it with the engine. It returns the op's function, which
  formulas call.
- Errors at registration name the op, the field, what was given and what was expected.
- Public functions, methods, operators, in-place and out= forms are made by `functions.py` when all records are known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tenora_engine import _engine
from tenora_engine._engine import OpFunction
from tenora_ops.formula import REGISTERED
from tenora_ops.samples import ALL, EVERYWHERE, Domain, Samples
from tenora_ops.schema import Schema, parse
from tenora_ops.tolerance import TOLERANCES

OPSET_VERSION = "1.0"
Formula = Callable[..., Any]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One operation.

    Meaning: `schema` (typed signature), `doc` (one line with formula or source), `example` (a line that runs).
    Rules: `dtype`, `shape`, `prepare` (names of native rules, or a Python callable for a plugin's dtype/shape rule;
    empty on a composite: no backend can override it), `kernel` (another op's kernel it runs).
    Implementation: `kind` = kernel (ring 0), view, structural (native plan), composite (`composite` formula) or
    function (`function`, Python whose result size or path depends on data or dtype).
    Gradient: `vjp(g[, g1..], *inputs, *results, **attributes)`, or by replaying the composite (`through`);
    `dynamic_vjp` formulas branch on data and are called back; `jvp` is reserved for forward mode; `shape_only` names
    inputs that are read for shape and dtype only; `not_differentiable` numbers outputs without a gradient. `random`
    ops draw from a generator; `checks_data`: a kernel may refuse because of element values.
    Judgement: `oracle` (independent, float64 or exact), `domain`, `samples`, `dtypes`, `tolerance`.
    Faces: `public` name shared by overloads (with its module, as in `nn.functional.gelu`), `method`, `inplace`,
    `out`, `operator` slot, `aliases`, `result` names.
    """

    name: str
    schema: Schema
    family: Family
    doc: str
    example: str
    kind: str
    dtype: str | Formula
    shape: str | Formula
    prepare: str
    kernel: str
    structural: str
    composite: Formula | None
    function: Formula | None
    vjp: Formula | None
    jvp: Formula | None
    dynamic_vjp: bool
    differentiable: bool
    shape_only: tuple[str, ...]
    not_differentiable: tuple[int, ...]
    random: bool
    checks_data: bool
    oracle: Formula
    domain: Domain
    samples: Samples
    dtypes: tuple[str, ...]
    gradient_samples: Samples | None
    tolerance: str
    public: str
    method: str
    inplace: str
    out: bool
    operator: str
    aliases: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def short(self) -> str:
        """The public name without its module."""
        return self.public.rsplit(".", 1)[-1]

    @property
    def through(self) -> bool:
        """Whether the gradient comes from replaying the composite through the recording dispatcher."""
        return self.kind == "composite" and self.vjp is None and self.differentiable

    @property
    def overridable(self) -> bool:
        """Whether a backend can bring a kernel of this name."""
        return (
            self.kind in ("kernel", "composite", "structural")
            and bool(self.dtype and self.shape)
            and not self.kernel
        )


_RECORDS: dict[str, Record] = {}


def records() -> tuple[Record, ...]:
    """All records, in order of registration."""
    return tuple(_RECORDS.values())


def record(name: str) -> Record:
    """The record of an op.

    Raises:
        KeyError: when there is none of that name.
    """
    return _RECORDS[name]


def op(
    schema: str,
    *,
    family: Family,
    doc: str,
    example: str,
    oracle: Formula,
    dtype: str | Formula | None = None,
    shape: str | Formula | None = None,
    prepare: str | None = None,
    kernel: str = "",
    view: bool = False,
    structural: str = "",
    composite: Formula | None = None,
    function: Formula | None = None,
    vjp: Formula | None = None,
    jvp: Formula | None = None,
    dynamic_vjp: bool = False,
    differentiable: bool | None = None,
    shape_only: tuple[str, ...] = (),
    not_differentiable: tuple[int, ...] = (),
    random: bool = False,
    checks_data: bool = False,
    domain: Domain | None = None,
    samples: Samples | None = None,
    dtypes: tuple[str, ...] | None = None,
    gradient_samples: Samples | None = None,
    tolerance: str | None = None,
    public: str | None = None,
    method: str | bool = False,
    inplace: str | bool = False,
    out: bool = False,
    operator: str = "",
    aliases: tuple[str, ...] = (),
    result: tuple[str, ...] = (),
) -> OpFunction:
    """Declares an op; fields as in `Record`, family's values where left out. `public=""` keeps it out of the namespace.

    Raises:
        RecordError: the record contradicts itself (the text names op and field).
        SchemaError: the signature cannot be parsed.
    """
    parsed = parse(schema)
    public = parsed.name if public is None else public
    short = public.rsplit(".", 1)[-1]
    entry = Record(
        name=parsed.name,
        schema=parsed,
        family=family,
        doc=doc,
        example=example,
        kind=_kind(parsed.name, view, structural, composite, function),
        dtype=family.dtype if dtype is None else dtype,
        shape=family.shape if shape is None else shape,
        prepare=family.prepare if prepare is None else prepare,
        kernel=kernel,
        structural=structural,
        composite=composite,
        function=function,
        vjp=vjp,
        jvp=jvp,
        dynamic_vjp=dynamic_vjp,
        differentiable=_differentiable(differentiable, vjp, composite, function),
        shape_only=shape_only,
        not_differentiable=not_differentiable,
        random=random,
        checks_data=checks_data,
        oracle=oracle,
        domain=domain or family.domain,
        samples=samples or family.samples,
        dtypes=family.dtypes if dtypes is None else dtypes,
        gradient_samples=gradient_samples,
        tolerance=tolerance or family.tolerance,
        public=public,
        method=(short if method is True else method) or "",
        inplace=f"{short or parsed.name}_" if inplace is True else inplace or "",
        out=out,
        operator=operator,
        aliases=aliases,
        result=result,
    )
    return _register(entry)


def _kind(name: str, view: bool, structural: str, composite: object, function: object) -> str:
    given = {"view": view, "structural": structural, "composite": composite, "function": function}
    chosen = [kind for kind, value in given.items() if value]
    if len(chosen) > 1:
        raise RecordError(
            f"[{name}] more than one implementation: got {' and '.join(chosen)}, expected at most one."
        )
    return chosen[0] if chosen else "kernel"


def _differentiable(stated: bool | None, vjp: object, composite: object, function: object) -> bool:
    if stated is not None:
        return stated
    return vjp is not None or composite is not None or function is not None


def _register(entry: Record) -> OpFunction:
    _validate(entry)
    schema = entry.schema
    operands = [p.name for p in schema.operands]
    outputs = (1 << schema.results) - 1
    for number in entry.not_differentiable:
        outputs &= ~(1 << number)
    _engine.register_op(
        name=entry.name,
        signature=schema.text,
        result=entry.result,
        display=entry.short or entry.name,
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
        output_differentiable=outputs,
        random=entry.random,
        checks_data=entry.checks_data,
        inplace_ok=bool(entry.inplace),
        out_ok=entry.out,
    )
    _RECORDS[entry.name] = entry
    function = _engine.make_function(entry.name, [entry.name], "function", doc=entry.doc, module="tenora_ops")
    REGISTERED[entry.name] = function
    return function


def _validate(entry: Record) -> None:
    name = entry.name
    if name in _RECORDS:
        raise RecordError(f"[{name}] the op is registered already, in family {_RECORDS[name].family.name}.")
    if entry.tolerance not in TOLERANCES:
        raise RecordError(
            f"[{name}] unknown tolerance class {entry.tolerance!r}: expected one of {sorted(TOLERANCES)}."
        )
    for field in ("doc", "example"):
        if not getattr(entry, field).strip():
            raise RecordError(f"[{name}] field {field!r} is empty.")
    if not entry.dtypes:
        raise RecordError(
            f"[{name}] field 'dtypes' is empty: name at least one dtype that the samples are drawn in."
        )
    unknown = set(entry.shape_only) - {p.name for p in entry.schema.operands}
    if unknown:
        raise RecordError(f"[{name}] shape_only names {sorted(unknown)}, which are not tensor parameters.")
    if entry.kind == "kernel" and not (entry.dtype and entry.shape):
        raise RecordError(f"[{name}] a kernel needs a dtype rule and a shape rule.")
    _validate_formulas(entry)


def _validate_formulas(entry: Record) -> None:
    operands = len(entry.schema.operands)
    if entry.vjp is not None:
        gradients = entry.schema.results - len(entry.not_differentiable)
        _validate_formula(entry, "vjp", entry.vjp, gradients + operands + entry.schema.results)
    if entry.composite is not None:
        _validate_formula(entry, "composite", entry.composite, operands)
    if entry.dynamic_vjp and entry.vjp is None:
        raise RecordError(f"[{entry.name}] dynamic_vjp without a vjp formula.")


def _validate_formula(entry: Record, field: str, formula: Formula, positional: int) -> None:
    """A formula takes the tensors by position and any of the attributes by name."""
    names = list(inspect.signature(formula).parameters)
    if len(names) < positional:
        raise RecordError(
            f"[{entry.name}] {field} takes {len(names)} parameters, expected at least {positional} (tensors)."
        )
    attributes = {p.name for p in entry.schema.attributes}
    unknown = [n for n in names[positional:] if n not in attributes]
    if unknown:
        raise RecordError(
            f"[{entry.name}] {field} has parameters {unknown} after its {positional} tensors, which are not "
            f"attributes: expected some of {sorted(attributes)}."
        )
