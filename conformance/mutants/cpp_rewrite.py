"""Rewrites of C++ text: `$a < $b` becomes `$a <= $b`.

- Comments, texts and includes are blanked first, so what is found there is no code.
- A hole is a name with what hangs on it (`t->shape()[i]`), a number, or one pair of brackets with a simple inside.
- A blank of a pattern is one blank or more. The formatter puts blanks around operators and none into templates, so
  `a < b` is a comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mutants.rewrite import HOLE, Splice

_SIMPLE = r"[^()\[\]{};,?&|<>=]*"
_TERM = (
    r"[A-Za-z_0-9][\w.]*"
    rf"(?:(?:->|::|\.)\w+|\[(?:{_SIMPLE}|\w+\({_SIMPLE}\))\]|\((?:{_SIMPLE}|\w+\({_SIMPLE}\))\))*"
)
_BLANKED = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|^[ \t]*#[^\n]*|static_assert\([^;]*;",
    re.S | re.M,
)


@dataclass(frozen=True, slots=True)
class CppRewrite:
    """One `[before, after]`."""

    before: re.Pattern[str]
    after: str

    @classmethod
    def parse(cls, before: str, after: str) -> CppRewrite:
        """A pattern from its text."""
        seen: set[str] = set()
        parts = []
        for piece in re.split(r"(\$\w+|\s+)", before):
            if piece.startswith("$"):
                name = piece[1:]
                parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{_TERM})")
                seen.add(name)
            elif piece.isspace():
                parts.append(r"\s+")
            else:
                parts.append(re.escape(piece))
        text = "".join(parts)
        start = r"(?<![\w.>:\])])" if re.match(r"[\w$]", before) else ""
        end = r"(?![\w(.\[]|->|::)" if re.search(r"[\w)]$", before) else ""
        return cls(re.compile(start + text + end), after)

    def splices(self, blanked: str, source: str) -> Iterator[Splice]:
        """Where it applies; `blanked` is the source without what is no code."""
        for found in self.before.finditer(blanked):
            line = source.rfind("\n", 0, found.start()) + 1
            if source[line] != " ":  # outside of any function
                continue
            text = _filled(self.after, found)
            begin = len(source[: found.start()].encode())
            yield Splice(begin, begin + len(found.group().encode()), text)


def _filled(after: str, found: re.Match[str]) -> str:
    return HOLE.sub(lambda hole: str(found.group(hole[1])), after)


def blank(source: str) -> str:
    """The source with spaces in the places of comments, texts and preprocessor lines."""
    return _BLANKED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


_DEFINITION = re.compile(
    r"^(?![ \t/#}{]|namespace|using|template|extern)(?=[^\n;]*\()[^\n;=]*?(~?\w+)\(", re.M
)
_STRUCT = re.compile(r"^(?:struct|class)\s+(\w+)[^;\n]*\{", re.M)


def functions(blanked: str) -> list[tuple[int, str]]:
    """Where each function or class of a file begins, with its name, in order."""
    found = [(m.start(), m[1]) for pattern in (_DEFINITION, _STRUCT) for m in pattern.finditer(blanked)]
    return sorted(found)


def function_at(begins: list[tuple[int, str]], place: int) -> str:
    """The function in which a place lies; "-" before the first."""
    name = "-"
    for begin, this in begins:
        if begin > place:
            break
        name = this
    return name
