"""The committed must-run list of an op-set version: `must_run/MAJOR.MINOR.txt`, a file for people and for comparison.

- A section for each level and check, in it a line for each op and dtype with its samples by layout:
  `add float32: contiguous 0-8; strided 1,4,7`. A sample `3:gradient` of the check `gradient` is written `3`.
- `tenora-conformance manifest --write` makes it from the checks. A case that was in it and is no longer needs a row
  `- removed: GLOB: why` in `CHANGELOG.md` whose glob matches no case that stays, or nothing is written.
- A run whose checks list fewer cases than the file is not met (`lacking`).
"""

from __future__ import annotations

import collections
import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import tenora_ops
from tenora_conformance.model import Case, Level

FOLDER = Path(__file__).resolve().parent / "must_run"
CHANGELOG = FOLDER.parent.parent / "CHANGELOG.md"
_REMOVED = re.compile(r"^- removed: (\S+): \S", re.MULTILINE)
_SECTION = re.compile(r"^\[(L\d) (\S+)\]$")
_NAME = re.compile(r"[^\s,;]+")


def path_of(version: str = "") -> Path:
    """The file of an op-set version, this one's by default."""
    return FOLDER / f"{version or tenora_ops.OPSET_VERSION}.txt"


def text_of(cases: Iterable[Case]) -> str:
    """The list of some cases: the same text for the same set, in whatever order they come."""
    sections: dict[tuple[Level, str], list[Case]] = collections.defaultdict(list)
    for case in cases:
        sections[case.level, case.check].append(case)
    lines = [
        f"# tenora op set {tenora_ops.OPSET_VERSION}: the cases of a backend that declares everything.",
        "# Written by `tenora-conformance manifest --write`; a case that leaves needs a row in CHANGELOG.md.",
        "# `triples`: all op x dtype x layout x sample of which a covering design takes the cases.",
        f"# in all: {sum(map(len, sections.values()))} cases",
    ]
    ordered = sorted(sections.items())
    for (level, check), members in ordered:
        lines.append(f"# {level.name} {check}: {len(members)} cases of {_triples(members)} triples")
    for (level, check), members in ordered:
        lines += ["", f"[{level.name} {check}]", *_lines(members, check)]
    return "\n".join(lines) + "\n"


def _triples(cases: Iterable[Case]) -> int:
    """How many cases all combinations of an op's dtypes, layouts and samples would be."""
    layouts: dict[str, set[str]] = collections.defaultdict(set)
    samples: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
    for case in cases:
        layouts[case.op].add(case.layout)
        samples[case.op, case.dtype].add(case.sample)
    return sum(len(found) * len(layouts[op]) for (op, _), found in samples.items())


def _lines(cases: Iterable[Case], check: str) -> Iterator[str]:
    rows: dict[tuple[str, str], dict[str, list[str]]] = collections.defaultdict(dict)
    for case in cases:
        for name in (case.op, case.dtype, case.layout, case.sample):
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"[manifest] case {case.id!r}: got {name!r}, expected a name without blanks, commas and"
                    " semicolons. Name it otherwise."
                )
        sample = case.sample.removesuffix(f":{check}")
        rows[case.op, case.dtype].setdefault(case.layout, []).append(sample)
    for (op, dtype), layouts in sorted(rows.items()):
        parts = [f"{layout} {','.join(_packed(samples))}" for layout, samples in sorted(layouts.items())]
        yield f"{op} {dtype}: {'; '.join(parts)}"


def _packed(samples: Iterable[str]) -> Iterator[str]:
    """Numbers as ranges, names after them."""
    given = list(samples)
    numbers = sorted(int(text) for text in given if text.isdecimal())
    begin = 0
    for i, number in enumerate(numbers):
        if i + 1 == len(numbers) or numbers[i + 1] != number + 1:
            yield str(number) if begin == i else f"{numbers[begin]}-{number}"
            begin = i + 1
    yield from sorted(text for text in given if not text.isdecimal())


def parse(text: str) -> dict[str, str]:
    """Id of every case of a list -> its section, `L2 values`. Raises: ValueError naming the line."""
    found: dict[str, str] = {}
    section = check = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if header := _SECTION.match(line):
            section, check = " ".join(header.groups()), header[2]
            continue
        head, colon, rest = line.partition(": ")
        words = head.split()
        if not (section and colon and len(words) == 2):
            raise ValueError(
                f"[manifest] line {number}: got {line[:60]!r}, expected `op dtype: layout samples; ...` below a"
                " section. Write the list again: tenora-conformance manifest --write"
            )
        for part in rest.split("; "):
            layout, _, samples = part.partition(" ")
            for sample in _unpacked(samples.split(",")):
                suffix = f":{check}" if check != "values" and sample.isdecimal() else ""
                found[f"{words[0]}/{words[1]}/{layout}/{sample}{suffix}"] = section
    return found


def _unpacked(samples: Iterable[str]) -> Iterator[str]:
    for text in samples:
        first, dash, last = text.partition("-")
        if dash and first.isdecimal() and last.isdecimal():
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield text


def committed() -> dict[str, str]:
    """The cases of this op set's file; empty where there is none."""
    path = path_of()
    return parse(path.read_text(encoding="utf-8")) if path.exists() else {}


def lacking(level: Level, listed: Iterable[Case]) -> list[str]:
    """What keeps a run of these checks from being met: cases of the file, up to a level, that they have not."""
    found = committed()
    if not found:
        return [f"there is no must-run list of op set {tenora_ops.OPSET_VERSION}: {path_of().name}"]
    here = {case.id for case in listed}
    gone = [case for case, section in found.items() if case not in here and Level.parse(section[:2]) <= level]
    if not gone:
        return []
    return [f"{len(gone)} cases of {path_of().name} are not among the checks, {gone[0]} first"]


def unexplained(removed: Iterable[str], changelog: str, staying: Collection[str] = ()) -> list[str]:
    """The removed cases for which a changelog has no row `- removed: GLOB: why`.

    A row that matches cases which stay explains nothing: it would let others leave in silence, now and later.
    """
    left = list(removed)
    for glob in _REMOVED.findall(changelog) if left else ():
        rule = re.compile(fnmatch.translate(glob))
        if any(map(rule.match, left)) and not any(map(rule.match, staying)):
            left = [case for case in left if not rule.match(case)]
    return left


def write(cases: Iterable[Case]) -> Path:
    """Writes the file anew. Raises: ValueError where cases leave it without a row, OSError."""
    text = text_of(cases)
    here = parse(text)
    changelog = CHANGELOG.read_text(encoding="utf-8") if CHANGELOG.exists() else ""
    silent = unexplained([case for case in committed() if case not in here], changelog, here)
    if silent:
        raise ValueError(
            f"[manifest] {len(silent)} cases would leave {path_of().name} unexplained: got {silent[0]} first, expected"
            f" a row for each in {CHANGELOG.name}. Write `- removed: CASE: why`; a glob stands for many, and must match"
            " no case that stays."
        )
    path_of().parent.mkdir(exist_ok=True)
    path_of().write_text(text, encoding="utf-8")
    return path_of()
