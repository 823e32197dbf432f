"""Every place where an operator applies: the mutants, with ids that stay.

- An id is `file:part:operator:number`: the place among those of the operator in that function. A change elsewhere in
  the file leaves it as it is.
- Two rewrites that give the same text are one mutant: the first operator's of the list.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import tenora_dispatch
import tenora_ops
from mutants import cpp_rewrite
from mutants.operators import Operator, Operators
from mutants.parts import Part, formula_parts, kernel_parts
from mutants.rewrite import Splice, kinds, splices
from tenora_conformance.subject import load


@dataclass(frozen=True, slots=True)
class Source:
    """What is mutated together: a folder of one language, and the backend that is judged meanwhile."""

    name: str
    folder: str
    files: str
    language: str
    role: str
    subject: str


#: Of the engine, its rules: shape, dtype, window and order of elements of every result. The rest (tape, pools, queues,
#: locks) computes nothing that an op says, and is the engine's own tests' and sanitizers' to judge.
SOURCES = (
    Source("reference", "backends/reference/tenora_reference", "*.py", "python", "kernel", "reference"),
    Source("ops", "core/ops/tenora_ops", "*.py", "python", "formula", "reference"),
    Source("engine", "core/engine/src", "rules*.cpp", "cpp", "engine", "reference"),
    Source("sim", "backends/sim/src", "**/*.cpp", "cpp", "kernel", "sim"),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    id: str
    source: Source
    path: str
    operator: str
    role: str
    line: int
    ops: tuple[str, ...]
    splice: Splice
    old: str
    new: str = field(default="")


@dataclass
class Taken:
    """Numbers that were given, by path, part and operator; splices that are mutants already: parts may overlap."""

    numbers: collections.Counter[tuple[str, str, str]] = field(default_factory=collections.Counter)
    splices: set[tuple[str, Splice]] = field(default_factory=set)


def all_mutants(root: Path, operators: Operators, names: Iterable[str] = ()) -> list[Mutant]:
    """The mutants of every source below `root`, in the order of their files; `names`: of these sources only.

    A source whose backend is not installed has none.
    """
    wanted, installed = set(names), {row.name for row in tenora_dispatch.backends()}
    found: list[Mutant] = []
    for source in SOURCES:
        folder = root / source.folder
        if folder.is_dir() and source.subject in installed and (not wanted or source.name in wanted):
            made = python_mutants if source.language == "python" else cpp_mutants
            found += made(root, source, operators.rows)
    return found


def python_mutants(root: Path, source: Source, operators: Iterable[Operator]) -> list[Mutant]:
    """Those of a source in Python."""
    package = root / source.folder
    if source.role == "formula":
        parts = formula_parts(package, load(source.subject).kernels)
    else:
        parts = kernel_parts(package)
    taken = Taken()
    return [m for part in parts for m in part_mutants(root, source, part, operators, taken)]


def part_mutants(
    root: Path, source: Source, part: Part, operators: Iterable[Operator], taken: Taken
) -> Iterator[Mutant]:
    """Those of one part, which differ from it in more than form and are not `taken` by another."""
    text, nodes = part.module.source, kinds(part.root)
    path = part.module.path.relative_to(root).as_posix()
    for operator in operators:
        if part.role not in operator.where:
            continue
        found = {s for rewrite in operator.python for s in splices(rewrite, nodes, part.module.offsets)}
        for splice in sorted(found, key=_place):
            if (path, splice) in taken.splices:
                continue
            taken.splices.add((path, splice))
            name = (path, part.name, operator.name)
            yield _mutant(
                source, path, part.name, operator.name, taken.numbers[name], part.role, part.ops, splice, text
            )
            taken.numbers[name] += 1


def _place(splice: Splice) -> tuple[int, int, str]:
    return splice.begin, splice.end, splice.text


def _mutant(
    source: Source,
    path: str,
    part: str,
    operator: str,
    number: int,
    role: str,
    ops: Iterable[str],
    splice: Splice,
    text: str,
) -> Mutant:
    raw = text.encode()
    short = path.removeprefix(source.folder + "/")
    return Mutant(
        id=f"{source.name}/{short}:{part}:{operator}:{number}",
        source=source,
        path=path,
        operator=operator,
        role=role,
        line=raw[: splice.begin].count(b"\n") + 1,
        ops=tuple(sorted(ops)),
        splice=splice,
        old=raw[splice.begin : splice.end].decode(),
        new=splice.text,
    )


def cpp_mutants(root: Path, source: Source, operators: Iterable[Operator]) -> list[Mutant]:
    """Those of a source in C++; whether they compile is seen when they are built."""
    rules = rule_ops() if source.role == "engine" else {}
    found: list[Mutant] = []
    for path in sorted((root / source.folder).glob(source.files)):
        found += _cpp_file(root, source, path, operators, rules)
    return found


def _cpp_file(
    root: Path, source: Source, path: Path, operators: Iterable[Operator], rules: Mapping[str, set[str]]
) -> Iterator[Mutant]:
    text = path.read_text(encoding="utf-8")
    raw = text.encode()
    blanked = cpp_rewrite.blank(text)
    begins = cpp_rewrite.functions(blanked)
    named = functions_ops(text, blanked, begins, rules)
    seen: set[Splice] = set()
    for operator in operators:
        if source.role not in operator.where:
            continue
        found = {s for rewrite in operator.cpp for s in rewrite.splices(blanked, text)} - seen
        numbers: collections.Counter[str] = collections.Counter()
        seen |= found
        for splice in sorted(found, key=_place):
            if splice.text == raw[splice.begin : splice.end].decode():
                continue
            place = len(raw[: splice.begin].decode())
            part = cpp_rewrite.function_at(begins, place)
            ops = ops_of_line(text, place, rules) or named.get(part, set())
            yield _mutant(
                source,
                path.relative_to(root).as_posix(),
                part,
                operator.name,
                numbers[part],
                source.role,
                ops,
                splice,
                text,
            )
            numbers[part] += 1


def rule_ops() -> dict[str, set[str]]:
    """Ops by the names of the engine's rules that they use."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for record in tenora_ops.records():
        for rule in (record.dtype, record.shape, record.prepare, record.structural):
            if isinstance(rule, str) and rule:
                found[rule].add(record.name)
    return found


_ENTRY = re.compile(r'"(\w+)"\s*,\s*&?([A-Za-z_]\w*)')
_QUOTED = re.compile(r'"(\w+)"')


def ops_of_line(text: str, place: int, rules: Mapping[str, set[str]]) -> set[str]:
    """The ops that the line of a place names, as a line of kernels does; none of a line of rules."""
    begin = text.rfind("\n", 0, place) + 1
    line = text[begin : text.find("\n", place)]
    if rules or "k.push_back" not in line:
        return set()
    return set(_QUOTED.findall(line)[:1])


def functions_ops(
    text: str, blanked: str, begins: list[tuple[int, str]], rules: Mapping[str, set[str]]
) -> dict[str, set[str]]:
    """Ops by function of a C++ file: those of the entries that name it, and of the functions that use it."""
    direct: dict[str, set[str]] = collections.defaultdict(set)
    for name, function in _ENTRY.findall(text):
        direct[function] |= rules.get(name, set()) if rules else {name}
    bodies: dict[str, str] = collections.defaultdict(str)
    for (begin, name), (end, _) in zip(begins, [*begins[1:], (len(blanked), "")], strict=True):
        bodies[name] += blanked[begin:end]
    used = {name: set(re.findall(r"\w+", body)) & bodies.keys() - {name} for name, body in bodies.items()}
    for _ in range(len(bodies)):
        before = sum(map(len, direct.values()))
        for name, others in used.items():
            for other in others:
                direct[other] |= direct.get(name, set())
        if sum(map(len, direct.values())) == before:
            break
    return direct
