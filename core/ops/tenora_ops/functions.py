"""The public faces of the records: functions, methods, operators, in-place and out= forms.

- Records that share a public name are overloads of one function; the first whose signature matches is called.
- Importing this module installs methods and operators on the engine's Tensor type and fills this module's namespace.
  The families imported here are those that most programs use; those of `later.py` follow when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import OpFunction, Tensor
from tenora_ops import (  # noqa: F401 - importing a family registers its records
    activation,
    activation_pieces,
    activation_rows,
    adaptive,
    arithmetic,
    compare,
    complexes,
    conv,
    creation,
    elementary,
    index,
    joining,
    later,
    loss,
    matmul,
    movement,
    normalise,
    norms,
    padding,
    pool,
    random,
    rearrange,
    reduce,
    reducing_writes,
    rounding,
    sampling,
    scans,
    scattering,
    search,
    selection,
    splitting,
    steps,
    structural,
    transcendental,
    whole,
    with_complex,
)
from tenora_ops.formula import REGISTERED, ops
from tenora_ops.python_op import Overloads, PythonOp
from tenora_ops.record import Record, record, registered

_PUBLIC: dict[str, OpFunction] = {}


def public_functions(module: str = "") -> dict[str, OpFunction]:
    """Name -> function of one public module ("" = tenora itself, "nn.functional"), aliases included."""
    later.load_module(f"{module}." if module else "")
    return loaded_functions(module)


def loaded_functions(module: str = "") -> dict[str, OpFunction]:
    """Those of `public_functions` whose family has been loaded."""
    prefix = f"{module}." if module else ""
    names = {name.removeprefix(prefix): f for name, f in tuple(_PUBLIC.items()) if name.startswith(prefix)}
    return {name: f for name, f in names.items() if "." not in name}


def resolve(name: str) -> OpFunction:
    """The public function of a name, wherever it is published, else the op of that name.

    Raises:
        AttributeError: there is neither.
    """
    for public in (name, f"nn.functional.{name}"):
        if (function := public_function(public)) is not None:
            return function
    try:
        return cast(OpFunction, REGISTERED[name])
    except KeyError:
        raise errors.MissingAttributeError(
            f"[tenora_ops] unknown op: got {name!r}, expected one of `records()`. Check the spelling."
        ) from None


def public_function(name: str) -> OpFunction | None:
    """The function of a public name with its module (`linalg.det`), or None; loads its family."""
    if name not in _PUBLIC:
        later.load_function(name)
    return _PUBLIC.get(name)


def _grouped(entries: Sequence[Record], name_of: Callable[[Record], str]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for entry in entries:
        if name_of(entry):
            groups.setdefault(name_of(entry), []).append(entry)
    return groups


def _called(entry: Record, out: bool) -> str:
    """The signature of a record under its public name, with the out= that the call takes."""
    text = entry.schema.text.replace(entry.name, entry.public or entry.name, 1)
    if not (out and entry.out):
        return text
    parameters, arrow, results = text.rpartition(") ->")
    star = "" if "*, " in parameters else "*, "
    targets = "Tensor?" if entry.schema.results == 1 else "Tensor[]?"
    return f"{parameters}, {star}out: {targets} = None{arrow}{results}"


def documentation(group: list[Record], out: bool = False) -> str:
    """The docstring of a public function: what each overload does, an example; `out`: out= forms are shown."""
    lines = [f"{_called(entry, out)}\n    {entry.doc}" for entry in group]
    return "\n\n".join([*lines, f"Example:\n    >>> {group[0].example}"])


def call_function(op: str, operands: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
    """Runs an op whose implementation is Python: all its parameters by name."""
    entry = record(op)
    assert entry.function is not None, f"[{op}] has no Python implementation"
    names = [p.name for p in entry.schema.operands]
    if entry.schema.variadic:
        fixed = len(names) - 1
        operands = (*operands[:fixed], list(operands[fixed:]))
    values = dict(zip(names, operands, strict=True))
    values.update(zip((p.name for p in entry.schema.attributes), attributes, strict=True))
    return entry.function(**values)


def _publish(family: str = "") -> None:
    """Gives the records of a family their faces; "" for all families that every start loads.

    One that another family has imported waits until it is asked for: it may be half imported, by another thread.
    """
    later_modules = {f"tenora_ops.{name}" for name in later.LATER}
    entries = [
        entry
        for entry, module in registered()
        if (module == f"tenora_ops.{family}" if family else module not in later_modules)
    ]
    for name, group in _grouped(entries, lambda entry: entry.public).items():
        function = _face(group[0].short, group, "function")
        for public in (name, *group[0].aliases):
            _PUBLIC[public] = function
    for name, group in _grouped(entries, lambda entry: entry.method_name).items():
        _set_method(name, group, "method")
    for name, group in _grouped(entries, lambda entry: entry.inplace_name).items():
        _set_method(name, group, "inplace")
    for entry in entries:
        if entry.attribute:
            _engine.set_tensor_method(entry.attribute, _attribute(entry))


def _attribute(entry: Record) -> property:
    """A tensor property; the parts of complex numbers are written through their view, all others are only read."""
    function = REGISTERED[entry.name]
    write = (lambda self, value: function(self).copy_(value)) if entry.name in ("real", "imag") else None
    return property(function, write, doc=entry.doc)


def _face(
    name: str, group: list[Record], kind: Literal["function", "method", "inplace"], **options: str
) -> Any:
    """One callable for the overloads of a name."""
    native = [e.name for e in group if e.kind != "python"]
    python = [REGISTERED[e.name] for e in group if e.kind == "python"]
    doc = documentation(group, out=kind == "function")
    made = _engine.make_function(name, native, kind, doc=doc, **options) if native else None
    if not python:
        return made
    if made is None and len(python) == 1:
        return PythonOp(python[0].text, name, python[0].function, doc, python[0].result_type)
    assert made is not None, f"[{name}] two Python ops share the name"
    return Overloads(made, python, doc)


def _set_method(name: str, group: list[Record], kind: Literal["method", "inplace"]) -> None:
    names = [e.name for e in group]
    method = _face(name, group, kind, qualname=f"Tensor.{name}")
    mark = "_" if kind == "inplace" else ""
    for public in (name, *(alias + mark for alias in group[0].aliases)):
        _engine.set_tensor_method(public, method)
    slot = group[0].operator
    if kind == "inplace" and slot in INPLACE_SLOTS:
        _engine.set_operator(f"i{slot}", method)
    elif kind == "method" and slot:
        _engine.set_operator(slot, _engine.make_function(name, names, "function", doc=documentation(group)))


def index_put(self: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy of the tensor with `self[indices]` set to `values`, or with `values` added there.

    Example:
        >>> import tenora
        >>> tenora.zeros(3).index_put((tenora.tensor([0, 2]),), tenora.ones(2)).tolist()
        [1.0, 0.0, 1.0]
    """
    return ops.index_put(self, values, list(indices), accumulate=accumulate)


def index_put_(self: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Sets `self[indices]` to `values`, or adds `values` there.

    Example:
        >>> import tenora
        >>> places = tenora.tensor([0, 0, 2])
        >>> tenora.zeros(3).index_put_((places,), tenora.ones(3), accumulate=True).tolist()
        [2.0, 0.0, 1.0]
    """
    return self._index_put_(values, list(indices), accumulate=accumulate)  # type: ignore[attr-defined]


for _method in (
    index_put,
    index_put_,
):  # PyTorch's order of parameters; a list of tensors comes last in a signature
    _engine.set_tensor_method(_method.__name__, _method)

#: Operators that have an augmented form (`+=`).
INPLACE_SLOTS = frozenset({"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"})
later.announce(_publish)
_publish()
_engine.set_function_caller(call_function)
globals().update(loaded_functions())
__all__ = [*loaded_functions(), *later.function_names("")]


def __getattr__(name: str) -> OpFunction:
    """A function whose family is loaded later."""
    return resolve(name)
