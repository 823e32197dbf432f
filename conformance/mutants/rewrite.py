"""Rewrites of Python: `$x.astype($t)` becomes `$x` wherever a syntax tree has that form.

- A hole stands for any expression; the same hole twice for two equal ones.
- Four forms: an expression, a keyword (`axis=$a`), a statement, the condition of an `if` (`if $c:`).
- A rewrite is a splice of source text: what is around it stays as it was written.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

HOLE = re.compile(r"\$(\w+)")
PREFIX = "_hole_"
_KEYWORD = re.compile(r"[A-Za-z_]\w*=(?![=\s])")
#: Fields of a node that say where it stands, or how it is used, and not what it is.
_PLACE = frozenset({"ctx", "kind", "type_comment", "lineno", "col_offset", "end_lineno", "end_col_offset"})
#: Texts and annotations are no behaviour; of an error only whether it is raised.
_SKIPPED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.arguments, ast.Import, ast.ImportFrom)

Holes = dict[str, ast.AST]


class PatternError(ValueError):
    """A rewrite that is no Python."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One `[before, after]`."""

    before: ast.AST
    after: ast.AST
    condition: bool = False

    @classmethod
    def parse(cls, before: str, after: str) -> Rewrite:
        """Raises: PatternError naming the text."""
        condition = before.startswith("if ") and before.endswith(":")
        if condition != (after.startswith("if ") and after.endswith(":")):
            raise PatternError(f"[mutants] rewrite: got {before!r} and {after!r}, expected two conditions.")
        if condition:
            return cls(_expression(before[3:-1]), _expression(after[3:-1]), True)
        if _KEYWORD.match(before):
            return cls(_keyword(before), _keyword(after))
        old, new = _statement(before), _statement(after)
        if isinstance(old, ast.Expr) and isinstance(new, ast.Expr):
            return cls(old.value, new.value)
        return cls(old, new)


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(HOLE.sub(PREFIX + r"\1", text))
    except SyntaxError as error:
        raise PatternError(f"[mutants] rewrite: got {text!r}, expected Python with holes. {error}") from error


def _statement(text: str) -> ast.stmt:
    (found,) = _parsed(text).body
    return found


def _expression(text: str) -> ast.expr:
    found = _statement(text)
    assert isinstance(found, ast.Expr), text
    return found.value


def _keyword(text: str) -> ast.keyword:
    call = _expression(f"f({text})")
    assert isinstance(call, ast.Call), text
    return call.keywords[0]


@dataclass(frozen=True, slots=True)
class Splice:
    """Bytes `begin` to `end` of a file become `text`."""

    begin: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        raw = source.encode()
        return (raw[: self.begin] + self.text.encode() + raw[self.end :]).decode()


Kinds = dict[type[ast.AST], list[ast.AST]]


def kinds(root: ast.AST) -> Kinds:
    """The nodes that are behaviour below a root, by their type."""
    found: Kinds = {}
    for node in nodes(root):
        if not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            found.setdefault(type(node), []).append(node)
    return found


def splices(rewrite: Rewrite, found: Kinds, offsets: list[int]) -> Iterator[Splice]:
    """Where a rewrite applies among `kinds(root)`. `offsets`: where each line of the file begins, in bytes."""
    candidates = found.get(type(rewrite.before), [])
    if rewrite.condition:
        branches = [*found.get(ast.If, ()), *found.get(ast.IfExp, ())]
        candidates = [node.test for node in branches if isinstance(node, ast.If | ast.IfExp)]
    for node in candidates:
        holes: Holes = {}
        if matches(rewrite.before, node, holes):
            text = _filled(rewrite.after, holes)
            if text != _text(node):
                yield _splice(node, text, offsets)


def line_offsets(source: str) -> list[int]:
    """Where each line begins, in bytes."""
    found = [0]
    for line in source.splitlines(keepends=True):
        found.append(found[-1] + len(line.encode()))
    return found


def nodes(root: ast.AST) -> Iterator[ast.AST]:
    """The node and those below it that are behaviour, in the order of the text."""
    yield root
    for name, value in ast.iter_fields(root):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            documentation = (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            )
            if not isinstance(child, _SKIPPED) and not documentation:
                yield from nodes(child)


def matches(pattern: object, node: object, holes: Holes) -> bool:
    """Whether a tree has a pattern's form; fills the holes."""
    if isinstance(pattern, ast.Name) and pattern.id.startswith(PREFIX):
        if not isinstance(node, ast.expr) or isinstance(node, ast.Slice):
            return False
        known = holes.setdefault(pattern.id, node)
        return known is node or ast.dump(known) == ast.dump(node)
    if isinstance(pattern, ast.AST):
        if type(pattern) is not type(node):
            return False
        assert isinstance(node, ast.AST)
        return all(
            matches(getattr(pattern, name, None), getattr(node, name, None), holes)
            for name in pattern._fields
            if name not in _PLACE
        )
    if isinstance(pattern, list):
        return (
            isinstance(node, list)
            and len(pattern) == len(node)
            and all(matches(p, n, holes) for p, n in zip(pattern, node, strict=True))
        )
    return type(pattern) is type(node) and pattern == node


class _Filler(ast.NodeTransformer):
    def __init__(self, holes: Mapping[str, ast.AST]) -> None:
        self.holes = holes

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.holes.get(node.id, node)


def _filled(after: ast.AST, holes: Mapping[str, ast.AST]) -> str:
    return _text(_Filler(holes).visit(copy.deepcopy(after)))


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.keyword):
        return f"{node.arg}={ast.unparse(node.value)}"
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.expr) else text


def _splice(node: ast.AST, text: str, offsets: list[int]) -> Splice:
    assert isinstance(node, ast.expr | ast.stmt | ast.keyword)
    assert node.end_lineno is not None and node.end_col_offset is not None
    begin = offsets[node.lineno - 1] + node.col_offset
    return Splice(begin, offsets[node.end_lineno - 1] + node.end_col_offset, text)
