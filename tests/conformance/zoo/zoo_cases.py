"""Every backend of the zoo, and the table in README.md that says how the suite names it."""

import re
from dataclasses import dataclass
from pathlib import Path

from broken_cases import Broken
from zoo_kernel_cases import CLAIMS, WRONG
from zoo_loading_cases import LOADING
from zoo_memory_cases import MEMORY
from zoo_process_cases import PROCESS
from zoo_stream_cases import STREAMS

ZOO: tuple[Broken, ...] = (*LOADING, *CLAIMS, *WRONG, *MEMORY, *STREAMS, *PROCESS)
README = Path(__file__).resolve().with_name("README.md")
_ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)
_NAMED = re.compile(r"code (\d), (?:not loaded: (.+)|([A-Z]+) `(\S+)`: (.+)|everything passes)")


@dataclass(frozen=True)
class Named:
    """How the suite names a backend. `cases`: a glob of all that failed by itself; "" where nothing ran."""

    what: str
    code: int
    status: str
    cases: str
    sentence: str

    def is_said(self, text: str) -> bool:
        """Whether a text is the sentence, in which `...` stands for anything."""
        parts = map(re.escape, self.sentence.split("..."))
        return re.fullmatch(".*".join(parts), text) is not None


def table() -> dict[str, Named]:
    """The rows of the README by backend. Raises: ValueError for one that says nothing which can be checked."""
    found = {}
    for name, what, told in _ROW.findall(README.read_text(encoding="utf-8")):
        match = _NAMED.fullmatch(told)
        if match is None:
            raise ValueError(
                f"{README.name}, row {name}: got {told!r}, expected `code N, STATUS ...` and the like"
            )
        code, refusal, status, cases, sentence = (part or "" for part in match.groups())
        found[name] = Named(what, int(code), status, cases, refusal or sentence)
    return found
