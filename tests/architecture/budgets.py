"""Measures files and functions: the line counts that DESIGN's house style limits.

- A Python function's body counts: the parameter list and the docstring are its interface, and long on purpose where
  it is rich. Nested functions count within the outer one.
- A C++ function counts from the first line of its signature to its closing brace; lambdas count within the function
  around them. The scanner knows comments, literals and braces, no types: a brace after a parameter list is a body.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

FILE_LIMIT = 600
FUNCTION_LIMIT = 60


@dataclass(frozen=True)
class Function:
    """A function's name, first line and number of lines."""

    name: str
    line: int
    lines: int


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first, last = node.body[0], node.end_lineno or node.lineno
    told = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return last - (first.end_lineno or first.lineno) if told else last - first.lineno + 1


def python_functions(source: str) -> Iterator[Function]:
    """The functions and methods of a Python source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(node.name, node.lineno, _body_lines(node))


_LITERALS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^()\s\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'""",
    re.S,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|concept)\b[^()]*$")
# What may stand between a parameter list and a body.
_TAIL = re.compile(
    r"\)\s*(?:(?:const|volatile|override|final|mutable|try|&&?|noexcept\b(?:\s*\([^{}]*\))?)\s*)*"
    r"(?:->[^{};]*|requires\b[^{};]*)?$"
)
_INITIALISERS = re.compile(r"\)\s*(?:noexcept\b(?:\s*\([^{}]*\))?\s*)?:(?!:)")
_NAME = re.compile(
    r"((?!(?:requires|alignas|alignof|sizeof|decltype|__attribute__)\b)\b[~\w:]+|operator\s*[^\s\w(]+|operator\s*\(\))\s*\("
)


def blank_literals(source: str, directives: bool = True) -> str:
    """The source with comments, literals and (by default) preprocessor lines blanked, lines and columns kept."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found.group())

    code = _LITERALS.sub(blank, source)
    return _DIRECTIVE.sub(blank, code) if directives else code


def _brace_kind(head: str) -> str:
    """What a `{` after this text opens: a `body`, a `scope` (namespace, class), or an `initialiser`."""
    head = head.rstrip()
    if head.endswith("]") and not re.search(r"\w\s*\[[^\[\]]*\]$", head):
        return "body"  # a lambda without a parameter list
    if _INITIALISERS.search(head):
        return "body" if head[-1] in ")}" else "initialiser"
    if _TAIL.search(head):
        return "body"
    if head.count("(") > head.count(")") or head.endswith(("=", ",", "return")):
        return "initialiser"
    return "scope" if _SCOPE.search(head) or not head or head.endswith("extern") else "initialiser"


def _closing(text: str, position: int) -> int:
    """The position of the brace that closes the one at this position."""
    depth = 0
    for place in range(position, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text) - 1


def cpp_functions(source: str) -> Iterator[Function]:
    """The outermost function and lambda bodies of a C++ source."""
    text = blank_literals(source)
    start = position = 0
    while position < len(text):
        mark = text[position]
        if mark == "{":
            head = text[start:position]
            kind = _brace_kind(head)
            if kind != "scope":
                closing = _closing(text, position)
                if kind == "body":
                    yield _function(text, head, start, closing)
                    # A lambda's enclosing statement goes on; a function's is over.
                    start = closing + 1 if head.count("(") == head.count(")") else start
                position = closing
            else:
                start = position + 1
        elif mark in ";}":
            start = position + 1
        position += 1


def _function(text: str, head: str, start: int, closing: int) -> Function:
    """The function whose signature is head and whose body ends at closing."""
    first = text.count("\n", 0, start + len(head) - len(head.lstrip())) + 1
    found = _NAME.search(head)
    last = text.count("\n", 0, closing) + 1
    return Function(found.group(1) if found else "lambda", first, last - first + 1)


def too_long(functions: Iterator[Function], limit: int = FUNCTION_LIMIT) -> list[Function]:
    """The functions over the limit."""
    return [function for function in functions if function.lines > limit]
