"""Four version axes, each a range, never an equality: protocol, C ABI, op set, native runtime.

- protocol: the Python contract of `contract.py` and the manifest.
- C ABI: `TNR_ABI_VERSION` of `tenora_backend.h`.
- op set: what the operations mean (`tenora_ops.OPSET_VERSION`); a new MAJOR means a changed meaning.
- native runtime: libraries that a backend needs on the machine (`[native_libraries]` of its manifest).
- Each side states what it accepts: a backend in its manifest, tenora in this file. Both are checked.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import importlib_metadata

from tenora_dispatch import opset
from tenora_hooks.entrypoints import identity

PROTOCOL_VERSION = "1.0"
PROTOCOL_OLDEST = "1.0"
# These two equal TNR_ABI_VERSION and TNR_ABI_VERSION_MIN of the header; a test compares them.
ABI_VERSION = 1
ABI_OLDEST = 1

_CLAUSE = re.compile(r"^(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)$")
_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def parse_version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: `"12.4.1rc2"` -> `(12, 4, 1)`. ValueError when there is none."""
    match = re.match(r"\d+(?:\.\d+)*", text.strip())
    if match is None:
        raise ValueError(f"not a version: {text!r}")
    return tuple(int(part) for part in match.group().split("."))


def _padded(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    length = max(len(first), len(second))
    return first + (0,) * (length - len(first)), second + (0,) * (length - len(second))


@dataclass(frozen=True)
class VersionRange:
    """A range such as `>=1.0,<2`: every clause must hold.

    Example:
        >>> accepted = VersionRange.parse(">=1.0, <2")
        >>> "1.7" in accepted, "2.0" in accepted
        (True, False)
    """

    text: str
    clauses: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def parse(cls, text: str) -> "VersionRange":
        """Reads comma-separated clauses of `>= <= > < == !=` and a dotted number; ValueError names the bad clause."""
        clauses = []
        for part in text.split(","):
            match = _CLAUSE.match(part.strip())
            if match is None:
                raise ValueError(
                    f"clause {part.strip()!r} of {text!r} is no operator with a version, such as '>=1.0'"
                )
            clauses.append((match.group(1), parse_version(match.group(2))))
        return cls(text=text, clauses=tuple(clauses))

    def __contains__(self, version: str) -> bool:
        number = parse_version(version)
        return all(_COMPARE[sign](*_padded(number, bound)) for sign, bound in self.clauses)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Versions:
    """What this tenora offers; a backend finds it as `registry.versions`."""

    protocol: str
    abi: int
    opset: str


def current() -> Versions:
    """The versions of the running tenora."""
    return Versions(protocol=PROTOCOL_VERSION, abi=ABI_VERSION, opset=opset.version())


def disagreement(axis: str, offered: str, accepted: VersionRange) -> str | None:
    """A sentence that names both sides if `offered` (tenora's) is outside the backend's range, else None."""
    if offered in accepted:
        return None
    return f"{axis}: this tenora has {offered}, the backend accepts {accepted}"


@functools.cache
def own_version() -> str:
    """The version of the distribution `tenora`, or "0" when this is run from a source tree that is not installed."""
    try:
        return identity(importlib_metadata.distribution("tenora"))[1]
    except importlib_metadata.PackageNotFoundError:
        return "0"
