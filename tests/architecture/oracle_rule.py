"""Core's op records may use NumPy and SciPy in oracles and samples only, which tests and conformance call.

- What a record gives to `oracle=`, `samples=`, `gradient_samples=` or `domain=`, and the functions those call, may.
- What it gives to any other keyword (`vjp=`, `composite=`, `function=`, `dtype=`, ...), and what that calls, may not.
- A function that uses an array library and is called by no oracle or sample may not either.
Calls are followed by name through the modules of the package; methods are not followed.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

JUDGES = {"oracle", "samples", "gradient_samples", "domain", "family"}
LAZY_MODULE = "lazy"
NO_ARRAYS = {"opt_einsum"}  # loaded lazily too, but it only plans: it sees shapes
# Modules that consist of judges: whatever they define is called by oracles and samples.
JUDGE_MODULES = {"lazy", "oracles", "samples"}
JUDGE_SUFFIX = "_cases"  # so do modules of this name: oracles and samples of records that are made in a loop

Name = tuple[str, str]


@dataclass
class Module:
    """What a module defines, imports, and where its module-level code refers to what."""

    lazy: set[str] = field(default_factory=set)
    imports: dict[str, Name] = field(default_factory=dict)
    definitions: dict[str, ast.AST] = field(default_factory=dict)
    judged: list[ast.AST] = field(default_factory=list)
    running: list[ast.AST] = field(default_factory=list)


def _sort_keywords(module: Module, node: ast.AST) -> None:
    """Sorts what calls are given by keyword; what is inside a given value belongs to it."""
    if isinstance(node, ast.keyword):
        (module.judged if node.arg in JUDGES else module.running).append(node.value)
        return
    for child in ast.iter_child_nodes(node):
        _sort_keywords(module, child)


def _read(source: str) -> Module:
    module = Module()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            origin = node.module.split(".")[-1]
            for alias in node.names:
                if origin == LAZY_MODULE and alias.name not in NO_ARRAYS:
                    module.lazy.add(alias.asname or alias.name)
                else:
                    module.imports[alias.asname or alias.name] = (origin, alias.name)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            module.definitions[node.name] = node
        else:
            _sort_keywords(module, node)
    return module


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _reach(modules: Mapping[str, Module], start: Iterator[tuple[str, ast.AST]]) -> set[Name]:
    """The module-level definitions that the given pieces of code refer to, directly or through others."""
    found: set[Name] = set()
    waiting = list(start)
    while waiting:
        home, node = waiting.pop()
        for name in _names(node):
            place = (home, name) if name in modules[home].definitions else modules[home].imports.get(name)
            if place and place not in found and place[1] in getattr(modules.get(place[0]), "definitions", {}):
                found.add(place)
                waiting.append((place[0], modules[place[0]].definitions[place[1]]))
    return found


def array_use_outside_judges(sources: Mapping[str, str]) -> list[str]:
    """`module: what` for every use of an array library that an oracle or sample does not make."""
    modules = {name: _read(source) for name, source in sources.items()}
    judges = _reach(modules, ((name, node) for name, module in modules.items() for node in module.judged))
    running = _reach(modules, ((name, node) for name, module in modules.items() for node in module.running))
    found = []
    for name, module in modules.items():
        if name in JUDGE_MODULES or name.endswith(JUDGE_SUFFIX):
            continue
        for node in module.running:
            found += [
                f"{name}: {used} in {ast.unparse(node)[:60]}" for used in sorted(_names(node) & module.lazy)
            ]
        for function, node in module.definitions.items():
            place = (name, function)
            if _names(node) & module.lazy and (place in running or place not in judges):
                found.append(f"{name}: {function}")
    return found
