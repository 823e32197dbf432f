"""The form of core's errors in Python, `[op] what is wrong: got ..., expected .... What to do.`, as a function.

- Judged is each `raise` of a class whose first argument is a text, at any depth. A text that a function of its own
  puts together (`raise refuse(...)`) is that function's to keep in form.
- What stands in braces may say anything.
"""

import ast
import re
from collections.abc import Iterator

from core_rules import Finding

PARTS = {
    "no [op] in front": re.compile(r"^\[[^\]]+\] "),
    "no 'got'": re.compile(r"\bgot\b"),
    "no 'expected'": re.compile(r"\bexpected\b"),
    "no last sentence that says what to do": re.compile(r"\bexpected\b.*[^.]\. [A-Z`{].*$", re.DOTALL),
}


def _text(node: ast.expr) -> str | None:
    """A text with {} for what is filled in; None where the argument is no text at all."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None and right is None else (left or "{}") + (right or "{}")
    return None


def faulty_messages(source: str) -> Iterator[Finding]:
    """The raises whose text lacks a part of the form."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args):
            continue
        name = ast.unparse(node.exc.func).split(".")[-1]
        text = _text(node.exc.args[0]) if name[0].isupper() else None
        lacking = [part for part, found in PARTS.items() if text is not None and not found.search(text)]
        if lacking:
            yield Finding(node.lineno, f"{name}: {', '.join(lacking)}: {text}")


#: Built-in classes of which `tenora_dispatch.errors` has one of its own, with fields.
BUILTIN = {
    "AssertionError",
    "AttributeError",
    "BufferError",
    "IndexError",
    "KeyError",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
}
ASKING = {"isinstance", "issubclass", "suppress"}


def _asked(node: ast.AST) -> list[ast.expr | None]:
    """The parts of a node where a class is asked about, not raised."""
    if isinstance(node, ast.ExceptHandler):
        return [node.type]
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ASKING:
        return list(node.args)
    if isinstance(node, ast.arg | ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.ClassDef) and len(node.bases) > 1:  # beside a class with fields
        return list(node.bases)
    return [node.returns] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []


def builtin_classes(source: str) -> Iterator[Finding]:
    """Where a built-in exception class is raised, handed on or subclassed (not caught, asked about or annotated)."""
    tree = ast.parse(source)
    asked = {id(name) for node in ast.walk(tree) for part in _asked(node) if part for name in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in BUILTIN and id(node) not in asked:
            yield Finding(node.lineno, node.id)
