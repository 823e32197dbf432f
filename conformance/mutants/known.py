"""What is known of survivors: `equivalents.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from mutants import exhaustive

FILE = Path(__file__).with_name("equivalents.toml")
READINGS = ("gap", "unreachable")


@dataclass(frozen=True, slots=True)
class Known:
    """Mutants that are proven equivalent, with the proof; survivors, with their reading and why."""

    equivalents: dict[str, str]
    survivors: dict[str, tuple[str, str]]


def load(path: Path = FILE) -> Known:
    """Reads the list and runs its exhaustive checks.

    Raises: ValueError naming a row without a proof, or with one that does not hold.
    """
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    equivalents = {row["mutant"]: _proof(row) for row in data.get("equivalent", ())}
    survivors = {row["mutant"]: (row["reading"], row["why"]) for row in data.get("survivor", ())}
    wrong = [m for m, (reading, why) in survivors.items() if reading not in READINGS or not why]
    if wrong:
        raise ValueError(
            f"[mutants] survivor {wrong[0]}: got no reading, expected one of {READINGS} and why."
        )
    return Known(equivalents, survivors)


def _proof(row: dict[str, str]) -> str:
    name, proof = row.get("check", ""), row.get("proof", "")
    if name and not exhaustive.CHECKS[name]():
        raise ValueError(
            f"[mutants] {row['mutant']}: got a difference in {name}, expected none. It is no equivalent."
        )
    if not name and len(proof) < 20:
        raise ValueError(
            f"[mutants] {row['mutant']}: got no proof, expected one, or a check of exhaustive.py."
        )
    return proof or f"exhaustive check `{name}`: {(exhaustive.CHECKS[name].__doc__ or name).splitlines()[0]}"


def stale(known: Known, ids: Collection[str]) -> list[str]:
    """Rows of mutants that there are no more."""
    return [mutant for mutant in (*known.equivalents, *known.survivors) if mutant not in ids]
