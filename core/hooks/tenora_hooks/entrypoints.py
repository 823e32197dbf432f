"""Finds entry points in the metadata of installed distributions, without importing anything they name.

- One pass reads the `entry_points.txt` of each distribution; only those that mention tenora are parsed.
- A distribution whose metadata cannot be read becomes a `Broken` row: it can hide itself, not the others.
- The first distribution of a name on `sys.path` wins, as in Python's own rule.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import importlib_metadata

BACKENDS = "tenora.backends"
PLUGINS = "tenora.plugins"
_HEADER = re.compile(r"^(Name|Version):(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Found:
    """One entry point: its group, name and value, and the distribution that has it."""

    group: str
    name: str
    value: str
    distribution: Any  # importlib_metadata's Distribution, or what a custom finder offers in its place
    distribution_name: str
    version: str


@dataclass(frozen=True)
class Broken:
    """A distribution that mentions tenora and whose metadata cannot be read."""

    location: str
    cause: Exception


def scan() -> tuple[list[Found], list[Broken]]:
    """All entry points in tenora's groups, and the distributions that could not be read."""
    found: list[Found] = []
    broken: list[Broken] = []
    seen: set[str] = set()
    for distribution in importlib_metadata.distributions():
        location = str(getattr(distribution, "_path", distribution))
        try:
            text = distribution.read_text("entry_points.txt") or ""
            if BACKENDS not in text and PLUGINS not in text:
                continue
            name, version = identity(distribution)
            if name.lower() in seen:
                continue
            seen.add(name.lower())
            found.extend(_entries(distribution, name, version))
        except Exception as error:  # anything may be in a stranger's files
            broken.append(Broken(location, error))
    return found, broken


def identity(distribution: Any) -> tuple[str, str]:
    """Name and version of a distribution. ValueError when its metadata states none."""
    # Two lines are wanted; the full parser would import the whole of `email`, most of the time of a first op.
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    head: dict[str, str] = {}
    for key, value in _HEADER.findall(text):
        head.setdefault(key, value.strip())  # a description below may contain such lines again
    if not head.get("Name") or not head.get("Version"):
        raise ValueError("the metadata states no Name or no Version")
    return head["Name"], head["Version"]


def _entries(distribution: Any, name: str, version: str) -> Iterator[Found]:
    for entry in list(distribution.entry_points):
        if entry.group in (BACKENDS, PLUGINS):
            yield Found(entry.group, entry.name, entry.value, distribution, name, version)
