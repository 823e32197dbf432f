"""Which definitions of a package's modules use which: read from the text, so that nothing is missed for not having run.

A *definition* is a statement at the top of a module that binds a name: a function, a class, an assignment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mutants.rewrite import line_offsets

Key = tuple[str, str]
"""Module and name of a definition."""
Callable_ = ast.FunctionDef | ast.Lambda


@dataclass
class Module:
    """One file of Python."""

    name: str
    path: Path
    source: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.source)

    @cached_property
    def offsets(self) -> list[int]:
        return line_offsets(self.source)

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """By name; a name that is bound twice is what it was bound to last."""
        return {name: node for node in self.tree.body for name in _bound(node)}

    @cached_property
    def imports(self) -> dict[str, Key]:
        """Local name -> module and name; the name is "" for a module."""
        found: dict[str, Key] = {}
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module, alias.name)
        return found

    @cached_property
    def qualified(self) -> dict[int, str]:
        """Names of functions with those around them, by the node's identity: `outer.inner`."""
        found: dict[int, str] = {}

        def enter(node: ast.AST, around: str) -> None:
            for child in ast.iter_child_nodes(node):
                name = around
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    name = f"{around}.{child.name}".lstrip(".")
                    found[id(child)] = name
                enter(child, name)

        enter(self.tree, "")
        return found

    @cached_property
    def callables(self) -> dict[int, list[Callable_]]:
        """Functions and lambdas by the line on which their code begins."""
        found: dict[int, list[Callable_]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                begin = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found.setdefault(begin, []).append(node)
            elif isinstance(node, ast.Lambda):
                found.setdefault(node.lineno, []).append(node)
        return found


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id


class Graph:
    """The modules below a package's folder."""

    def __init__(self, package: Path) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(package.glob("*.py")):
            name = package.name if path.stem == "__init__" else f"{package.name}.{path.stem}"
            self.modules[name] = Module(name, path, path.read_text(encoding="utf-8"))
        self._uses: dict[Key, set[Key]] = {}

    def at(self, path: str) -> Module | None:
        """The module of a file."""
        return next((m for m in self.modules.values() if str(m.path) == path), None)

    def node(self, key: Key) -> ast.stmt:
        return self.modules[key[0]].definitions[key[1]]

    def used_by(self, module: Module, node: ast.AST) -> set[Key]:
        """The definitions that a piece of a module names."""
        found: set[Key] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                found |= self._resolved(module, part.id)
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                package, name = module.imports.get(part.value.id, ("", ""))
                other = self.modules.get(f"{package}.{name}")
                if other is not None and part.attr in other.definitions:
                    found.add((other.name, part.attr))
        return found

    def _resolved(self, module: Module, name: str) -> set[Key]:
        if name in module.definitions:
            return {(module.name, name)}
        package, original = module.imports.get(name, ("", ""))
        other = self.modules.get(package)
        return {(package, original)} if other is not None and original in other.definitions else set()

    def reach(self, keys: set[Key]) -> set[Key]:
        """The definitions, and all that they use, step by step."""
        found: set[Key] = set()
        waiting = set(keys)
        while waiting:
            key = waiting.pop()
            found.add(key)
            if key not in self._uses:
                self._uses[key] = self.used_by(self.modules[key[0]], self.node(key))
            waiting |= self._uses[key] - found
        return found
