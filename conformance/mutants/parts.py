"""The pieces of Python that are mutated, each with the ops that it is a part of.

- Of a backend: what its kernels reach, by what it registers.
- Of op records: what their formulas reach (`vjp`: "gradient"; `composite`, `function`, `python`: "composite"), less
  what an oracle or a sample reaches: that is the judge.
"""

from __future__ import annotations

import ast
import functools
import importlib
import types
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tenora_ops
from mutants.graph import Graph, Key, Module
from tenora_ops.record import Record

#: Fields of a record, by what a mutant of them is.
GRADIENTS = ("vjp", "jvp")
COMPOSITES = ("composite", "function", "python")
JUDGES = ("oracle", "samples", "gradient_samples")
#: Modules of op records that hold no formulas, or the judge's tools.
NO_FORMULAS = frozenset(
    f"tenora_ops.{name}"
    for name in "record samples oracles tolerance schema lazy later later_names generate families census limits".split()
)


@dataclass
class Part:
    """A piece of a module: its root, its name there, and what it belongs to."""

    module: Module
    name: str
    root: ast.AST
    role: str
    ops: set[str] = field(default_factory=set)


class _Registry:
    """Takes down what a backend registers."""

    def __init__(self) -> None:
        self.kernels: dict[str, Any] = {}

    def kernel(self, op: str, function: Any, **_: Any) -> None:
        self.kernels[op] = function


def kernel_parts(package: Path) -> list[Part]:
    """The parts of a backend in Python; its package must be importable."""
    graph, registry = Graph(package), _Registry()
    importlib.import_module(package.name).load(registry)
    homes = {
        id(getattr(importlib.import_module(module.name), name)): (module.name, name)
        for module in graph.modules.values()
        for name in module.definitions
        if callable(getattr(importlib.import_module(module.name), name, None))
    }
    parts: dict[Key, Part] = {}
    for op, function in registry.kernels.items():
        if id(function) in homes:
            for key in graph.reach({homes[id(function)]}):
                module = graph.modules[key[0]]
                parts.setdefault(key, Part(module, key[1], graph.node(key), "kernel")).ops.add(op)
    return [parts[key] for key in sorted(parts)]


def formula_parts(package: Path, kernels: Collection[str] = ()) -> list[Part]:
    """The parts of the op records' formulas; a composite in whose place one of `kernels` runs is none."""
    graph = Graph(package)
    judged: set[int] = set()
    found: dict[int, Part] = {}
    records = tenora_ops.records()
    for record in records:
        for module, name, root in _roots(graph, record, JUDGES):
            judged |= {id(node) for _, _, node in _with_helpers(graph, module, name, root)}
    for record in records:
        for role, fields in (("gradient", GRADIENTS), ("composite", COMPOSITES)):
            if role == "composite" and record.name in kernels:
                continue
            for module, name, root in _roots(graph, record, fields):
                for m, n, node in _with_helpers(graph, module, name, root):
                    if id(node) not in judged and m.name not in NO_FORMULAS and not _declares(node):
                        found.setdefault(id(node), Part(m, n, node, role)).ops.add(record.name)
    return sorted(found.values(), key=lambda part: (part.module.name, part.name))


def _with_helpers(
    graph: Graph, module: Module, name: str, root: ast.AST
) -> Iterator[tuple[Module, str, ast.AST]]:
    yield module, name, root
    for key in graph.reach(graph.used_by(module, root)):
        node = graph.node(key)
        if node is not root and isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield graph.modules[key[0]], key[1], node


def _declares(node: ast.AST) -> bool:
    """Whether a piece declares ops: its lambdas are then parts by themselves."""
    calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == "op" for called in calls)


def _roots(graph: Graph, record: Record, fields: Iterable[str]) -> Iterator[tuple[Module, str, ast.AST]]:
    """The functions of a record's fields, found by where their code begins."""
    for field_name in fields:
        seen: set[types.CodeType] = set()
        for code in _codes(getattr(record, field_name, None), seen):
            module = graph.at(code.co_filename)
            if module is None:
                continue
            nodes = [n for n in module.callables.get(code.co_firstlineno, []) if _same(n, code)]
            if len(nodes) == 1:
                (node,) = nodes
                yield module, module.qualified.get(id(node), f"{record.name}.{field_name}"), node


def _same(node: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> bool:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    kind = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    return kind == code.co_name and names == list(code.co_varnames[: len(names)])


def _codes(value: object, seen: set[types.CodeType]) -> Iterator[types.CodeType]:
    """The code of a function, and of those that it closes over."""
    if isinstance(value, functools.partial):
        for inner in (value.func, *value.args, *value.keywords.values()):
            yield from _codes(inner, seen)
    elif isinstance(value, types.FunctionType) and value.__code__ not in seen:
        seen.add(value.__code__)
        yield value.__code__
        for cell in value.__closure__ or ():
            yield from _codes(cell.cell_contents, seen)
        yield from _codes(getattr(value, "__wrapped__", None), seen)
