"""Writes the files that are derived from the records, or checks that they are current.

    python -m tenora_ops.generate            write
    python -m tenora_ops.generate --check    exit 1 and name the files that differ

- `core/ops/tenora_ops/functions.pyi`: the public functions.
- `core/engine/tenora_engine/_methods.pyi`, `_methods_inplace.pyi`: the Tensor methods that come from records.
- `core/engine/tenora_engine/_results.pyi`: the named tuples that functions and methods return.
- `core/ops/tenora_ops/later_names.py`: what the families add that are loaded when they are asked for.
- `docs/ops.md`: the table of all ops. Its columns for backends come from `backends/*/kernels.txt`, which
  `tenora kernels NAME` prints (docs/decisions/0013).
"""

from __future__ import annotations

import argparse
import inspect
import math
import pprint
import sys
import tomllib
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

from tenora_ops.census import census
from tenora_ops.functions import public_functions
from tenora_ops.later import LATER
from tenora_ops.record import OPSET_VERSION, Record, RecordError, module_of, records
from tenora_ops.samples import ALL
from tenora_ops.schema import REQUIRED, Parameter

ROOT = Path(__file__).resolve().parents[3]
#: Schema type -> type in a stub.
STUB_TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "Tensor | Scalar": "Tensor | complex",
    "Tensor | Scalar | None": "Tensor | complex | None",
    "Tensor | real": "Tensor | complex",
    "Tensor | real | None": "Tensor | complex | None",
    "Scalar": "float",
    "real": "builtins.float",
    "dtype": "dtype",
    "device": "device | str",
    "int[]": "int | Sequence[int]",
    "Generator": "Generator",
}
HEADER = "# Written by `python -m tenora_ops.generate` from the op records; do not edit.\n"


def stub_type(parameter: Parameter) -> str:
    """The type of a parameter in a stub."""
    name = parameter.type
    if name in STUB_TYPES:
        return STUB_TYPES[name]
    base, optional = name.removesuffix("?"), name.endswith("?")
    plain = STUB_TYPES.get(base, f"builtins.{base}" if base in ("int", "float", "bool", "str") else base)
    return f"{plain} | None" if optional else plain


def qualified(text: str) -> str:
    """Builtin types by their full names: methods called `float` or `int` would hide them."""
    words = {"int": "builtins.int", "float": "builtins.float", "complex": "builtins.complex"}
    parts = text.replace("[", " [ ").replace("]", " ] ").split(" ")
    joined = " ".join(words.get(p, p) for p in parts).replace(" [ ", "[").replace(" ]", "]")
    return " ".join(joined.split())


def default_text(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "..."
    return repr(value)


def parameters_text(parameters: Iterable[Parameter], method: bool) -> str:
    """The parameter list of a stub; a method's first tensor is self, a size may be spelled as varargs."""
    given = list(parameters)
    pieces = ["self"] if method else []
    rest = given[1:] if method else given
    positional = [p for p in rest if not p.keyword_only]
    varargs = len(positional) == 1 and positional[0].type == "int[]"
    if varargs:
        pieces.append(f"*{positional[0].name}: {qualified(stub_type(positional[0]))}")
        rest = [p for p in rest if p is not positional[0]]
    star = varargs
    for parameter in rest:
        if parameter.keyword_only and not star:
            pieces.append("*")
            star = True
        default = "" if parameter.default is REQUIRED else f" = {default_text(parameter.default)}"
        pieces.append(f"{parameter.name}: {qualified(stub_type(parameter))}{default}")
    return ", ".join(pieces)


def python_text(entry: Record, method: bool) -> str:
    """The parameter list of a Python op: its schema's, where the function itself takes `*tensors`."""
    assert entry.python is not None
    text = parameters_text(entry.schema.parameters, method)
    for parameter in inspect.signature(entry.python).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            text = text.replace(
                f"{parameter.name}: Sequence[Tensor]", f"*{parameter.name}: Tensor | Sequence[Tensor]"
            )
            text = text.replace("*, ", "")
    return text


def class_name(results: tuple[str, ...]) -> str:
    """What a stub calls the named tuple of these results."""
    return "".join(result.title().replace("_", "") for result in results)


def returned(entry: Record) -> str:
    if entry.schema.results == 1:
        return "Tensor"
    if entry.schema.results == 0:
        return "tuple[Tensor, ...]"
    if entry.result:
        return class_name(entry.result)
    return f"tuple[{', '.join(['Tensor'] * entry.schema.results)}]"


def results_of(entries: Iterable[Record]) -> list[tuple[str, ...]]:
    """The named tuples that these ops return, each once."""
    return list(dict.fromkeys(entry.result for entry in entries if entry.result))


def results_stub() -> str:
    """The stub of the named tuples that ops return."""
    lines = [
        HEADER.rstrip(),
        "from typing import NamedTuple",
        "",
        "from tenora_engine._engine import Tensor",
    ]
    for names in results_of(records()):
        lines += ["", f"class {class_name(names)}(NamedTuple):", *[f"    {n}: Tensor" for n in names]]
    return "\n".join(lines) + "\n"


def results_import(entries: Iterable[Record]) -> list[str]:
    """What a stub of these ops imports of their named tuples."""
    names = [class_name(result) for result in results_of(entries)]
    names.sort(key=lambda name: (not name.isupper(), name))  # as ruff sorts them
    return ["from tenora_engine._results import (", *[f"    {name}," for name in names], ")"]


def stub_lines(name: str, group: list[Record], indent: str, method: bool, out: bool) -> list[str]:
    lines = []
    for entry in group:
        parameters = list(entry.schema.parameters)
        text = parameters_text(parameters, method)
        if entry.kind == "python":
            text = python_text(entry, method)
        if out and (entry.out or (entry.python and "out" in inspect.signature(entry.python).parameters)):
            targets = "Tensor" if entry.schema.results == 1 else "Sequence[Tensor]"
            text += f"{'' if '*' in text else ', *'}, out: {targets} | None = None"
        if len(group) > 1:
            lines.append(f"{indent}@overload")
        lines.append(f"{indent}def {name}({text}) -> {returned(entry)}: ...")
    return lines


def functions_stub() -> str:
    """The stub of `tenora_ops.functions`."""
    functions = sorted(public_functions().items())
    entries = [e for e in records() if any(e.name in function.ops for _, function in functions)]
    lines = [
        HEADER.rstrip(),
        "import builtins",
        "from collections.abc import Sequence",
        "from typing import Any, overload",
        "",
        "from tenora_engine._engine import Generator, OpFunction, Tensor, device, dtype",
        *results_import(entries),
        "",
        "def public_functions(module: builtins.str = ...) -> dict[builtins.str, OpFunction]: ...",
        "def loaded_functions(module: builtins.str = ...) -> dict[builtins.str, OpFunction]: ...",
        "def public_function(name: builtins.str) -> OpFunction | None: ...",
        "def resolve(name: builtins.str) -> OpFunction: ...",
        "def call_function(op: builtins.str, operands: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any: ...",
    ]
    for name, function in functions:
        group = [e for e in records() if e.name in function.ops]
        lines += stub_lines(name, group, "", method=False, out=True)
    return "\n".join(lines) + "\n"


def _method_names() -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for entry in records():
        for name in (entry.method_name, entry.inplace_name):
            if name:
                groups.setdefault(name, []).append(entry)
    for name, group in tuple(groups.items()):  # an alias names all overloads
        mark = "_" if name == group[0].inplace_name else ""
        groups.update({alias + mark: group for alias in group[0].aliases})
    return groups


def methods_stub() -> str:
    """The stub of the Tensor methods that come from records."""
    methods = [(name, group) for name, group in sorted(_method_names().items()) if not name.endswith("_")]
    lines = [
        HEADER.rstrip(),
        "import builtins",
        "from collections.abc import Sequence",
        "from typing import overload",
        "",
        "from tenora_engine._engine import Generator, Tensor, device, dtype",
        "from tenora_engine._methods_inplace import InplaceMethods",
        *results_import(entry for _, group in methods for entry in group),
        "",
        "class TensorMethods(InplaceMethods):",
    ]
    for name, group in methods:
        lines += stub_lines(name, group, "    ", method=True, out=False)
    return "\n".join(lines) + "\n"


def inplace_stub() -> str:
    """The stub of the Tensor methods that write into the tensor."""
    lines = [
        HEADER.rstrip(),
        "import builtins",
        "from collections.abc import Sequence",
        "from typing import overload",
        "",
        "from tenora_engine._engine import Generator, Tensor, device, dtype",
        "",
        "class InplaceMethods:",
    ]
    for name, group in sorted(_method_names().items()):
        if name.endswith("_"):
            lines += stub_lines(name, group, "    ", method=True, out=False)
    return "\n".join(lines) + "\n"


def dtypes_text(entry: Record) -> str:
    if set(entry.dtypes) == set(ALL):
        return "all"
    short = {"uint": "u", "int": "i", "float": "f", "bfloat": "bf", "complex": "c"}
    words = []
    for name in entry.dtypes:
        stem = name.rstrip("0123456789")
        words.append(short.get(stem, stem) + name[len(stem) :])
    return " ".join(words)


def gradient_text(entry: Record) -> str:
    """Up to which order there are gradients, and how: formulas are ops themselves, so what has one has all."""
    if not entry.differentiable:
        return "none"
    how = "formula" if entry.vjp is not None else "through its parts"
    words = ["any", f"{how} called back" if entry.dynamic_vjp else how]
    if entry.no_gradient:
        words[-1] += f"; none for {', '.join(entry.no_gradient)}"
    if entry.no_differences:
        words[-1] += f"; not compared: {entry.no_differences}"
    return ", ".join(words)


#: What runs where a backend has no kernel of the op's own.
WITHOUT_KERNEL = {
    "kernel": "missing",
    "view": "view",
    "structural": "plan",
    "composite": "composite",
    "function": "Python",
    "python": "Python",
}


def implementation_text(entry: Record, kernels: Set[str]) -> str:
    """What computes the op on a backend with these kernels."""
    if entry.name in kernels:
        return "**kernel**"
    if entry.kernel in kernels:
        return f"kernel of `{entry.kernel}`"
    return WITHOUT_KERNEL[entry.kind]


def read_kernel_lists(root: Path = ROOT) -> dict[str, frozenset[str]]:
    """Backend -> its kernels, of the backends that lie in the repository (docs/decisions/0013).

    Raises:
        FileNotFoundError: a backend lies there without its list.
    """
    lists = {}
    for manifest in sorted(root.glob("backends/*/*/tenora-backend.toml")):
        name = tomllib.loads(manifest.read_text())["name"]
        lines = (manifest.parents[1] / "kernels.txt").read_text().splitlines()
        lists[name] = frozenset(line.split()[0] for line in lines)
    return lists


def ops_page(lists: Mapping[str, Set[str]]) -> str:
    """docs/ops.md, from the records and the kernel list of each backend."""
    every = records()
    own = ", ".join(f"{name} {len(kernels)}" for name, kernels in lists.items())
    lines = [
        "# Ops",
        "",
        "<!-- Written by `python -m tenora_ops.generate` from the op records and the backends' kernel lists -->",
        "",
        f"Op set {OPSET_VERSION}. The distinct public ops, and what is not counted among them:",
        "",
        "```text",
        *census().lines(),
        "```",
        "",
        "- *Gradient*: the order up to which there are gradients. A formula is made of ops with formulas of their",
        "  own, so what has a first gradient has all; first and second are compared with finite differences in",
        "  double precision, but where the column says *not compared*, and why, or *none for* an input.",
        "- *Tolerance*: the class within which every backend must agree with the op's oracle.",
        f"- One column for each backend of this repository (kernels of their own: {own}):",
        "  **kernel** where it brings one, which then runs for the dtypes that `tenora explain` tells; else what runs",
        "  in its place. A *composite* is a Program of other ops, a *plan* is the engine's own (allocation, copies,",
        "  windows), a *view* computes nothing, *Python* calls other ops; a backend may override most of these.",
        "",
        f"| op | public as | what | dtypes tried | gradient | tolerance | {' | '.join(lists)} |",
        f"| {' | '.join(['---'] * (6 + len(lists)))} |",
    ]
    for entry in every:
        faces = [f"`{entry.public}`"] if entry.public else []
        faces += [f"`x.{entry.method_name}`"] if entry.method else []
        faces += [f"`x.{entry.inplace_name}`"] if entry.inplace and entry.inplace_name[0] != "_" else []
        faces += [f"`x.{entry.attribute}`"] if entry.attribute else []
        what = entry.doc.replace("|", "\\|")
        row = [
            f"`{entry.name}`",
            " ".join(faces),
            what,
            dtypes_text(entry),
            gradient_text(entry),
            entry.tolerance,
        ]
        row += [implementation_text(entry, kernels) for kernels in lists.values()]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _faces(entry: Record) -> tuple[list[str], list[str]]:
    """The public functions and the members of Tensor that a record has, aliases included."""
    aliases = entry.aliases
    functions = [entry.public, *aliases] if entry.public else []
    members = [entry.method_name, *aliases] if entry.method_name else []
    if entry.inplace_name:
        members += [entry.inplace_name, *(f"{alias}_" for alias in aliases)]
    return functions, [*members, *([entry.attribute] if entry.attribute else [])]


def check_families(families: Mapping[str, Iterable[Record]]) -> None:
    """Overloads of a name come together: all in one family that is loaded later, or none in any.

    Raises:
        RecordError: a name lies in such a family and elsewhere.
    """
    homes: dict[str, str] = {}
    for family, entries in families.items():
        place = family if family in LATER else "the families of every start"
        for entry in entries:
            for name in (*_faces(entry)[0], *(f"Tensor.{member}" for member in _faces(entry)[1])):
                if homes.setdefault(name, place) != place:
                    raise RecordError(
                        f"[{entry.name}] the name {name!r} lies in two places: got {homes[name]!r} and {place!r}, "
                        "expected one, since overloads are loaded together. Move the record, or both out of LATER."
                    )


def later_names() -> str:
    """The file of what the families of LATER add."""
    families: dict[str, list[Record]] = {}
    for entry in records():
        families.setdefault(module_of(entry.name).removeprefix("tenora_ops."), []).append(entry)
    check_families(families)
    table = {family: _announced(families[family]) for family in LATER}
    lines = [
        HEADER.rstrip(),
        "# Family -> its ops (whether they take kernels; None: Python), public functions and members of Tensor.",
        "# fmt: off",
        "FAMILIES: dict[str, tuple[dict[str, bool | None], tuple[str, ...], tuple[str, ...]]] = \\",
        pprint.pformat(table, width=110, compact=True, sort_dicts=False),
    ]
    return "\n".join(lines) + "\n"


def _announced(entries: Iterable[Record]) -> tuple[dict[str, bool | None], tuple[str, ...], tuple[str, ...]]:
    # Steps have no rules: they are called on lists, and take kernels there.
    takes_kernels = {
        e.name: None if e.kind == "python" else e.overridable or e.family.name == "steps" for e in entries
    }
    faces = [_faces(entry) for entry in entries]
    functions, members = (dict.fromkeys(name for pair in faces for name in pair[side]) for side in (0, 1))
    return takes_kernels, tuple(functions), tuple(members)


def derived() -> dict[Path, str]:
    """Path -> text of every derived file."""
    return {
        ROOT / "core/ops/tenora_ops/functions.pyi": functions_stub(),
        ROOT / "core/ops/tenora_ops/later_names.py": later_names(),
        ROOT / "core/engine/tenora_engine/_methods.pyi": methods_stub(),
        ROOT / "core/engine/tenora_engine/_methods_inplace.pyi": inplace_stub(),
        ROOT / "core/engine/tenora_engine/_results.pyi": results_stub(),
        ROOT / "docs/ops.md": ops_page(read_kernel_lists()),
    }


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tenora_ops.generate", description="Derived files of the op records."
    )
    parser.add_argument("--check", action="store_true", help="only say which files are not current")
    check = parser.parse_args(arguments).check
    stale = [path for path, text in derived().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(
                f"not current: {path.relative_to(ROOT)}; run python -m tenora_ops.generate", file=sys.stderr
            )
        else:
            path.write_text(derived()[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
