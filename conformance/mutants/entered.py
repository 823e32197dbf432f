"""Notes which functions of some packages are entered, by a line in front of each body: whatever thread calls it.

- A process begins with it where `MUTANTS_ENTERED` names packages (`hook.py`); it imports nothing of ours.
- A function or lambda is named `package/file:line:column`, as it stands there.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

VARIABLE = "MUTANTS_ENTERED"
#: What was entered since it was emptied last; every module finds it among the builtins.
ENTERED: set[str] = set()
_NAME = "__entered__"
_Function = ast.FunctionDef | ast.Lambda


def install() -> None:
    """Has the modules of the packages that the variable names note what is entered."""
    setattr(builtins, _NAME, ENTERED)
    sys.meta_path.insert(0, _Finder(frozenset(os.environ[VARIABLE].split(","))))


def named(path: str, node: _Function) -> str:
    """The name of a function of a file."""
    return f"{'/'.join(Path(path).parts[-2:])}:{node.lineno}:{node.col_offset}"


def innermost(path: str, source: str, begin: int) -> str:
    """The function in whose body a byte of a file lies; "" for none."""
    before = source.encode()[:begin].split(b"\n")
    place = (len(before), len(before[-1]))
    found = ""
    for node in ast.walk(ast.parse(source)):  # outer ones come first
        if isinstance(node, _Function):
            body = node.body if isinstance(node.body, list) else [node.body]
            last = body[-1]
            assert last.end_lineno is not None and last.end_col_offset is not None
            if (body[0].lineno, body[0].col_offset) <= place < (last.end_lineno, last.end_col_offset):
                found = named(path, node)
    return found


class _Noting(ast.NodeTransformer):
    def __init__(self, path: str) -> None:
        self.path = path

    def _noted(self, node: _Function) -> ast.Call:
        add = ast.Attribute(ast.Name(_NAME, ast.Load()), "add", ast.Load())
        return ast.Call(add, [ast.Constant(named(self.path, node))], [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        noted = self._noted(node)
        self.generic_visit(node)
        node.body.insert(ast.get_docstring(node, clean=False) is not None, ast.Expr(noted))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        noted = self._noted(node)
        self.generic_visit(node)
        node.body = ast.BoolOp(ast.Or(), [noted, node.body])  # `add` returns None
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Never from a cached file, which would be of the text as it is."""
        path = self.get_filename(fullname)
        tree = _Noting(path).visit(ast.parse(self.get_data(path)))
        code: CodeType = compile(ast.fix_missing_locations(tree), path, "exec")
        return code


class _Finder:
    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """What the other finders find, with another loader for modules of the packages."""
        if fullname.partition(".")[0] not in self.packages:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = _Loader(fullname, spec.origin)
        return spec
