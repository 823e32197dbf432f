"""The mutation operators of `operators.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from mutants.cpp_rewrite import CppRewrite
from mutants.rewrite import Rewrite

FILE = Path(__file__).with_name("operators.toml")
ROLES = frozenset({"kernel", "gradient", "composite", "engine"})


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of fault, and what it looks like in either language."""

    name: str
    models: str
    where: frozenset[str]
    python: tuple[Rewrite, ...]
    cpp: tuple[CppRewrite, ...]


@dataclass(frozen=True, slots=True)
class Operators:
    """All of them, and how many of the drawn mutants each source gets, in parts."""

    rows: tuple[Operator, ...]
    shares: dict[str, int]


def load(path: Path = FILE) -> Operators:
    """Reads the list. Raises: ValueError naming what is wrong in it."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = []
    for row in data["operator"]:
        unknown = set(row) - {"name", "models", "where", "python", "cpp"} | set(row.get("where", ())) - ROLES
        if unknown or not (row.get("python") or row.get("cpp")):
            raise ValueError(
                f"[mutants] operator {row.get('name')!r}: got {sorted(unknown) or 'no rewrite'}, expected name, models,"
                " where, python and cpp. Correct operators.toml."
            )
        rows.append(
            Operator(
                row["name"],
                row["models"],
                frozenset(row.get("where", ROLES)),
                tuple(Rewrite.parse(*pair) for pair in row.get("python", ())),
                tuple(CppRewrite.parse(*pair) for pair in row.get("cpp", ())),
            )
        )
    names = [row.name for row in rows]
    if len(set(names)) < len(names):
        raise ValueError("[mutants] operators: got a name twice, expected each once. Rename one.")
    return Operators(tuple(rows), dict(data["shares"]))
