"""Plain text output: tables and wrapped lines that read well in any terminal and in a log."""

import shutil
import textwrap
from collections.abc import Sequence


def width() -> int:
    """Columns of the terminal, 100 where there is none."""
    return max(60, shutil.get_terminal_size((100, 24)).columns)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their longest entry, two spaces apart; the last column is left as long as it is."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """`name  value` lines, aligned."""
    size = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(size)}  {value}" for name, value in pairs)


def indented(text: str, by: int = 4) -> str:
    """Text wrapped to the terminal and indented; paths are never broken."""
    space = " " * by
    wrapper = textwrap.TextWrapper(width(), initial_indent=space, subsequent_indent=space)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return "\n".join(wrapper.fill(line) for line in text.splitlines())
