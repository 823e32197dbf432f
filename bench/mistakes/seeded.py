"""What a seeded mistake is, and how the text that a framework prints for it is judged.

A mistake is a function of the framework module (`tenora` or `torch`) that ends in an exception. The line at fault ends
in the comment `# mistake`. Beside it stand the criteria, the same for both frameworks:

- path: the module that the failing call belongs to, as `named_modules()` of the outermost module calls it (a path that
  goes on to one of its parameters is fine); a mistake that no module takes part in has none, and both sides pass. A
  path of one word must be called a module or go on to a parameter: "the loss" is no path.
- op: one of the names of the operation that the user called, in any spelling (`addmm` and `mat1` for `linear`). Where
  the text begins with a name in brackets, as tenora's do, that is the op it names and no other counts; elsewhere a
  whole word does, also in `MulBackward0`. A name with `()` is an English word too and counts only when called.
- values: the offending shapes, dtypes, indices or numbers; each is a regular expression with both notations. A phrase
  that the framework says whatever the values are is none.
- line: file and number of the line at fault.

Path, op and values are looked for in what the exception and warnings say, the line in the whole printed traceback:
source lines that Python shows say nothing about what the framework found out. Op and values have to stand outside
tracebacks, paths and the note of the module, which tell where and not what.
"""

from __future__ import annotations

import inspect
import io
import re
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from typing import Any

Framework = Any
MARK = "# mistake"
CRITERIA = ("path", "op", "values", "line")


@dataclass(frozen=True)
class Mistake:
    """One program and what its error has to name."""

    program: Callable[[Framework], None]
    kind: str
    path: str
    op: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The function's name, in words."""
        return self.program.__name__.replace("_", " ")

    def line(self) -> tuple[str, int]:
        """File and number of the line at fault."""
        source, first = inspect.getsourcelines(self.program)
        (found,) = (number for number, text in enumerate(source, first) if text.rstrip().endswith(MARK))
        return inspect.getsourcefile(self.program) or "", found


Program = Callable[[Framework], None]


def mistake(
    into: list[Mistake], kind: str, *, path: str = "", op: str | tuple[str, ...], values: tuple[str, ...]
) -> Callable[[Program], Program]:
    """Puts the program into the list `into`, with its criteria."""

    def register(program: Program) -> Program:
        names = (op,) if isinstance(op, str) else op
        into.append(Mistake(program, kind, path, names, values))
        return program

    return register


@dataclass
class Printed:
    """What a user sees: the message (exceptions, notes, warnings) and all of it with the frames."""

    message: str
    whole: str


def printed_by(program: Callable[[Framework], None], framework: Framework) -> Printed:
    """Runs a program that must fail."""
    stderr = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, redirect_stderr(stderr):
        warnings.simplefilter("always")
        try:
            program(framework)
        except Exception as error:
            shown = traceback.TracebackException.from_exception(error)
            chain = [shown]
            while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None:
                chain.append(inner)
            own = ["".join(part.format_exception_only()) for part in chain]
            whole = "".join(shown.format())
        else:
            raise RuntimeError(f"[bench] {program.__name__}: the seeded mistake raised nothing.")
    said = stderr.getvalue() + "".join(
        f"{warning.category.__name__}: {warning.message}\n" for warning in warned
    )
    return Printed(said + "".join(own), said + whole)


NOT_THE_FINDING = (
    r'^ *File "[^\n]*\n(?:    [^\n]*\n?)*',  # a frame with its source
    r"^ *[Ii]n module [^\n]*",
    r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*\.\d+(?:\.\w+)*",  # encoder.layers.3.linear.weight
)
HEAD = re.compile(r"^(?:[\w.]+: )?\[([\w.]+)\] ", re.MULTILINE)


def finding(message: str) -> str:
    """What a message says outside tracebacks, paths and notes of modules."""
    for pattern in NOT_THE_FINDING:
        message = re.sub(pattern, "", message, flags=re.MULTILINE)
    return message


def names_op(names: tuple[str, ...], message: str) -> bool:
    """Whether a message names the operation: in the brackets at its beginning or, where there are none, as a word."""
    text = finding(message)
    if heads := HEAD.findall(text):
        plain = {name.removesuffix("()") for name in names}
        return any(head.rpartition(".")[2].rstrip("_") in plain for head in heads)
    words = (
        rf"(?<!\w){re.escape(name[:-1])}"
        if name.endswith("()")
        else rf"(?<!\w){re.escape(name)}(Backward\d*)?(?!\w)"
        for name in names
    )
    return any(re.search(word, text, re.IGNORECASE) for word in words)


def names_path(path: str, message: str) -> bool:
    """Whether a message names the module."""
    if "." in path:
        return bool(re.search(rf"(?<![\w.]){re.escape(path)}(?!\w)", message))
    return bool(re.search(rf"[Mm]odule ['\"`]?{path}(?!\w)|(?<![\w.]){path}\.\w", message))


def named(mistake: Mistake, printed: Printed) -> dict[str, bool]:
    """Which of the four the text names."""
    file, number = mistake.line()
    short = re.escape(file.rsplit("/", 1)[-1])
    line = rf'{re.escape(file)}", line {number}\b|{short}:{number}\b'
    return {
        "path": not mistake.path or names_path(mistake.path, printed.message),
        "op": names_op(mistake.op, printed.message),
        "values": all(re.search(value, finding(printed.message)) for value in mistake.values),
        "line": bool(re.search(line, printed.whole)),
    }
