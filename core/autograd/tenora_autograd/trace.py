"""Tracing: a formula of an op record, run once on symbols, becomes a Program.

- What the engine passes is structure only: which inputs need gradients, the kind of each operand (same shape and
  dtype as the first result, another tensor, one of another floating dtype, a number, absent; "*" marks complex), and
  per attribute whether it is None, a bool, a string or a value known at replay.
- Tensor slots: gradients of all results, operands, results (a vjp); operands (a composite). Attribute slots: the
  op's attributes, then one per operand, which holds the number where the operand is one.
- Simplified here, because it is structure: `sum_to(g, x)` where x has the result's shape and dtype, `conj` and `real`
  where nothing is complex, a composite that hands its operand back (an alias, as ops never return their operand).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tenora_autograd.symbols import Sym, SymAttr, TraceError
from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Program, ProgramBuilder, Tensor
from tenora_ops.formula import ops
from tenora_ops.record import Formula, Record, record

#: What a schema type wants of a number, and the instruction that converts to it.
CONVERSIONS = {"int": "as_int", "float": "as_float", "real": "as_float", "Scalar": "as_scalar"}
TYPES = {
    "int": "int",
    "float": "float",
    "real": "float",
    "bool": "int",
    "Scalar": "scalar",
    "int[]": "span",
    "dtype": "dtype",
}


class Trace:
    """One formula being traced."""

    def __init__(
        self, entry: Record, field: str, formula: Formula, n_tensors: int, n_attributes: int
    ) -> None:
        self.op = entry.name
        self.entry = entry
        self.field = field
        self.formula = formula
        self.complex = False
        self.mixed = False  # floating operands of several dtypes: what is computed may have a wider one
        self.settled: set[tuple[int, int]] = (
            set()
        )  # (slot, the slot of the tensor whose dtype it has for sure)
        self.n_tensors = n_tensors
        self.builder = ProgramBuilder(entry.name, n_tensors, n_attributes)

    @property
    def where(self) -> str:
        code = self.formula.__code__
        return f"{Path(code.co_filename).name}:{code.co_firstlineno}"

    def fail(self, what: str) -> NoReturn:
        raise TraceError(
            f"[{self.op}] the {self.field} formula at {self.where} {what}. Rewrite it with ops such as where, or with "
            "arithmetic on the symbols."
        )

    # ---- what symbols record ---------------------------------------------------------------------------------------
    def attribute(
        self,
        code: str,
        tensors: Sequence[Sym],
        attributes: Sequence[Any],
        type: str,
        origin: Sym | None = None,
    ) -> SymAttr:
        slots = [("slot", t.slot) for t in tensors]
        return SymAttr(
            self, self.builder.attribute(code, slots, [self._plain(a) for a in attributes]), type, origin
        )

    def arithmetic(self, code: str, a: Any, b: Any) -> SymAttr:
        types = {self._type(a), self._type(b)}
        if "span" in types or "dtype" in types:
            self.fail(f"does arithmetic ({code}) on a span or dtype")
        if "scalar" in types:
            type = "scalar"
        elif types == {"int"} and code not in ("true_div", "pow"):
            type = "int"
        else:
            type = "float"
        return self.attribute(code, [], [a, b], type)

    def concatenate(self, a: Any, b: Any) -> SymAttr:
        return self.attribute("concat", [], [self.span(a), self.span(b)], "span")

    def span(self, value: Any) -> Any:
        """A span of items, some of which may be symbols."""
        if isinstance(value, SymAttr):
            return value if value.type == "span" else self.attribute("make_span", [], [value], "span")
        if isinstance(value, tuple | list) and any(isinstance(item, SymAttr) for item in value):
            return self.attribute("make_span", [], list(value), "span")
        return value

    def call(self, name: str, operands: Sequence[Any], attributes: Sequence[Any]) -> Any:
        simple = self._simplify(name, operands)
        if simple is not None:
            return simple
        entry = record(name)
        arguments = [self._operand(value) for value in operands]
        values = [
            self._attribute(p.type, v) for p, v in zip(entry.schema.attributes, attributes, strict=True)
        ]
        slots = self.builder.call(name, arguments, values)
        like = _settles(name, operands, attributes)
        if like is not None:
            self.settled.add((slots[0], like.slot))
        results = tuple(Sym(self, slot, "derived", self.complex) for slot in slots)
        return results[0] if len(results) == 1 else results

    # ---- arguments -------------------------------------------------------------------------------------------------
    def _simplify(self, name: str, operands: Sequence[Any]) -> Sym | None:
        first = operands[0] if operands else None
        if not isinstance(first, Sym):
            return None
        if name == "sum_to" and self.field == "vjp" and operands[1].kind == "same" and self._keeps(first):
            return first
        if name in ("conj", "real") and not self.complex:
            return first
        return None

    def _keeps(self, gradient: Sym) -> bool:
        """Whether a gradient has the first result's dtype: of one floating dtype all have it."""
        return not self.mixed or gradient.slot == 0

    def as_gradient(self, gradient: Any, operand: Any) -> Any:
        """The gradient in its operand's dtype; nothing is added where that is known."""
        if not self.mixed or not isinstance(operand, Sym):
            return gradient
        settled = (gradient.slot, operand.slot) in self.settled
        plain = gradient.slot == 0 and operand.kind == "same"
        return gradient if settled or plain else ops.sum_to(gradient, operand)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Sym):
            return ("slot", value.slot)
        if isinstance(value, SymAttr):
            return ("attribute", value.slot)
        if isinstance(value, Tensor):
            self.fail("uses a tensor from outside; a formula may only use its arguments")
        return None if value is None else ("scalar", value)

    def _attribute(self, type: str, value: Any) -> Any:
        if type.startswith("int[]"):
            return self._plain(self.span(value))
        if isinstance(value, SymAttr):
            wanted = TYPES.get(type.rstrip("?"))
            convert = CONVERSIONS.get(type.rstrip("?"))
            if convert and wanted != value.type:
                value = self.attribute(convert, [], [value], wanted or "int")
        return self._plain(value)

    def _plain(self, value: Any) -> Any:
        return ("slot", value.slot) if isinstance(value, SymAttr) else ("constant", value)

    def _type(self, value: Any) -> str:
        if isinstance(value, SymAttr):
            return value.type
        if isinstance(value, int):
            return "int"
        if isinstance(value, float):
            return "float"
        self.fail(f"does arithmetic with {value!r}")

    # ---- inputs and outputs ----------------------------------------------------------------------------------------
    def operand_symbols(self, kinds: Sequence[str], first_slot: int, first_attribute: int) -> list[Any]:
        symbols: list[Any] = []
        for i, kind in enumerate(kinds):
            plain = kind.rstrip("*")
            if plain == "none":
                symbols.append(None)
            elif plain == "scalar":
                symbols.append(SymAttr(self, first_attribute + i, "scalar"))
            else:
                symbols.append(Sym(self, first_slot + i, plain, kind.endswith("*")))
        return symbols

    def packed(self, operands: list[Any]) -> list[Any]:
        """The operands with a variadic list as one argument."""
        if not self.entry.schema.variadic:
            return operands
        fixed = len(self.entry.schema.operands) - 1
        return [*operands[:fixed], operands[fixed:]]

    def attribute_symbols(self, structure: Sequence[tuple[str, object]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for i, (parameter, (kind, value)) in enumerate(
            zip(self.entry.schema.attributes, structure, strict=True)
        ):
            if kind in ("none", "bool", "str"):
                values[parameter.name] = value
            else:
                values[parameter.name] = SymAttr(self, i, TYPES.get(parameter.type.rstrip("?"), "int"))
        return values

    def run(self, tensors: Sequence[Any], attributes: dict[str, Any]) -> Any:
        try:
            return self.formula(*tensors, **accepted(self.formula, len(tensors), attributes))
        except Exception as error:
            if isinstance(error, TraceError) or str(error).startswith(f"[{self.entry.shown}] "):
                raise  # a mistake of the caller's is told in the op's own words, as an error of its own class
            text = f"[{self.op}] the {self.field} formula at {self.where} failed: {error}"
            raise TraceError(text) from error


def _settles(name: str, operands: Sequence[Any], attributes: Sequence[Any]) -> Sym | None:
    """The tensor whose dtype the result of a call has."""
    if name == "sum_to":
        return operands[1] if isinstance(operands[1], Sym) else None
    dtype = attributes[0] if name == "to" else None
    return dtype.origin if isinstance(dtype, SymAttr) else None


def accepted(formula: Formula, positional: int, attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that a formula has parameters for."""
    code = formula.__code__
    names = code.co_varnames[positional : code.co_argcount + code.co_kwonlyargcount]
    return {name: attributes[name] for name in names}


def trace(
    op: str, vjp: bool, needs: int, operands: tuple[str, ...], attributes: tuple[tuple[str, object], ...]
) -> Program:
    """Called by the engine when a call's structure is met for the first time."""
    entry = record(op)
    return (
        _trace_vjp(entry, needs, operands, attributes)
        if vjp
        else _trace_composite(entry, operands, attributes)
    )


def _trace_vjp(
    entry: Record, needs: int, kinds: tuple[str, ...], structure: tuple[tuple[str, object], ...]
) -> Program:
    assert entry.vjp is not None, f"[{entry.name}] has no vjp formula"
    n_out, n_in = entry.schema.results, len(kinds)
    tracing = Trace(entry, "vjp", entry.vjp, n_out + n_in + n_out, len(structure) + n_in)
    tracing.complex = any(kind.endswith("*") for kind in kinds)
    tracing.mixed = any(kind.startswith("other") for kind in kinds)
    gradients = [
        Sym(tracing, i, "derived", tracing.complex) for i in range(n_out) if i not in entry.not_differentiable
    ]
    inputs = tracing.operand_symbols(kinds, n_out, len(structure))
    results = [Sym(tracing, n_out + n_in + i, "derived", tracing.complex) for i in range(n_out)]
    value = tracing.run([*gradients, *tracing.packed(inputs), *results], tracing.attribute_symbols(structure))
    return tracing.builder.finish(_gradient_slots(tracing, value, needs, inputs))


def _gradient_slots(tracing: Trace, value: Any, needs: int, inputs: list[Any]) -> list[int | None]:
    values = list(value) if isinstance(value, tuple | list) else [value]
    if tracing.entry.schema.variadic and values and isinstance(values[-1], tuple | list):
        values = [*values[:-1], *values[-1]]
    if len(values) != len(inputs):
        tracing.fail(f"gives {len(values)} gradients for {len(inputs)} inputs")
    slots: list[int | None] = []
    for i, (gradient, operand) in enumerate(zip(values, inputs, strict=True)):
        if gradient is not None and not isinstance(gradient, Sym):
            tracing.fail(f"gives {gradient!r} as gradient {i}, expected a tensor or None")
        wanted = gradient is not None and needs >> min(i, 63) & 1
        slots.append(tracing.as_gradient(gradient, operand).slot if wanted else None)
    return slots


def _trace_composite(
    entry: Record, kinds: tuple[str, ...], structure: tuple[tuple[str, object], ...]
) -> Program:
    assert entry.composite is not None, f"[{entry.name}] has no composite formula"
    n_in = len(kinds)
    tracing = Trace(entry, "composite", entry.composite, n_in, len(structure) + n_in)
    tracing.complex = any(kind.endswith("*") for kind in kinds)
    inputs = tracing.operand_symbols(kinds, 0, len(structure))
    value = tracing.run(tracing.packed(inputs), tracing.attribute_symbols(structure))
    values = list(value) if isinstance(value, tuple | list) else [value]
    if len(values) != entry.schema.results:
        tracing.fail(f"gives {len(values)} results, expected {entry.schema.results}")
    slots: list[int | None] = []
    for result in values:
        if not isinstance(result, Sym):
            tracing.fail(f"gives {result!r} as a result, expected a tensor")
        slots.append(result.slot if result.slot >= n_in else ops.alias(result).slot)
    return tracing.builder.finish(slots)


def call_formula(
    op: str, needs: int, tensors: tuple[Tensor | None, ...], attributes: tuple[Any, ...]
) -> Sequence[Tensor | None]:
    """Runs a formula that branches on data, on the tensors themselves."""
    entry = record(op)
    assert entry.vjp is not None, f"[{op}] has no vjp formula"
    for i, operand in enumerate(entry.schema.operands):
        if operand.name in entry.no_gradient and needs >> min(i, 63) & 1:
            raise errors.NotImplementedOperationError(
                f"[{op}] no gradient: got {operand.name} that needs one, expected it to need none. "
                f"Detach {operand.name}, or ask for the other gradients alone (tenora.autograd.grad)."
            )
    results = entry.schema.results
    gradients = [tensors[i] for i in range(results) if i not in entry.not_differentiable]
    inputs: list[Any] = list(tensors[results:-results])
    if entry.schema.variadic:
        fixed = len(entry.schema.operands) - 1
        inputs = [*inputs[:fixed], inputs[fixed:]]
    named = {p.name: v for p, v in zip(entry.schema.attributes, attributes, strict=False)}
    arguments = [*gradients, *inputs, *tensors[-results:]]
    value = entry.vjp(*arguments, **accepted(entry.vjp, len(arguments), named))
    values = list(value) if isinstance(value, tuple | list) else [value]
    if entry.schema.variadic and isinstance(values[-1], tuple | list):
        values = [*values[:-1], *values[-1]]
    return [
        _cast(v, operand) if needs >> min(i, 63) & 1 else None
        for i, (v, operand) in enumerate(zip(values, tensors[results:-results], strict=True))
    ]


def _cast(gradient: Tensor | None, operand: Tensor | None) -> Tensor | None:
    if gradient is not None and operand is not None and gradient.dtype != operand.dtype:
        gradient = ops.sum_to(gradient, operand)
    return gradient


def install() -> None:
    """Hands the tracer to the engine."""
    _engine.set_tracer(trace)
    _engine.set_formula_caller(call_formula)
