"""What `save` and `load` raise.

- Readers raise `Unreadable`, which knows nothing of the file's name; `load` turns it, and whatever else a hostile
  file provokes, into a `FileError` that names the file.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

from tenora_dispatch.errors import ArgumentTypeError, TenoraError

DAMAGED = "The file is damaged or was written by something else: take another copy of it."


class FileError(TenoraError, RuntimeError):
    """A file that cannot be read: damaged, cut off, of another kind, or of a device that is not there.

    >>> import io, tenora
    >>> try:
    ...     tenora.load(io.BytesIO(b"nothing"))
    ... except tenora.serialization.FileError as error:
    ...     print(error.code)
    file
    """

    default_code = "file"


class UnsafeFileError(FileError, pickle.UnpicklingError):
    """A file that names something which `load` runs or builds only when told to.

    >>> import io, pickle, tenora
    >>> try:
    ...     tenora.load(io.BytesIO(pickle.dumps(print)))
    ... except UnsafeFileError as error:
    ...     print(error.code)
    unsafe_file
    """

    default_code = "unsafe_file"


class RefusedValueError(ArgumentTypeError):
    """A value that `save` does not write; the text says where it lies and what to save instead.

    >>> import io, tenora
    >>> try:
    ...     tenora.save({"f": print}, io.BytesIO())
    ... except RefusedValueError as error:
    ...     print(error.code)
    refused_value
    """

    default_code = "refused_value"


class NotAFileError(ArgumentTypeError, AttributeError):
    """An argument that is neither a path nor a binary file; an AttributeError too, as PyTorch raises.

    >>> import tenora
    >>> try:
    ...     tenora.load(3)
    ... except NotAFileError as error:
    ...     print(error.code)
    not_a_file
    """

    default_code = "not_a_file"


class Unreadable(Exception):
    """What is wrong with a file, before its name is known."""

    def __init__(self, got: str, expected: str, advice: str, unsafe: bool) -> None:
        super().__init__(got)
        self.got, self.expected, self.advice, self.unsafe = got, expected, advice, unsafe

    def named(self, name: str) -> FileError:
        """The error that the user sees."""
        kind = UnsafeFileError if self.unsafe else FileError
        return kind(f"[load] {name}: got {self.got}, expected {self.expected}. {self.advice}")


def unreadable(got: str, expected: str, advice: str = DAMAGED, unsafe: bool = False) -> Unreadable:
    """What is wrong with a file; `named` puts it into the form of an error."""
    return Unreadable(got, expected, advice, unsafe)


def refused(got: str, advice: str) -> Unreadable:
    """A name or feature in a file that is not among those that are read."""
    return unreadable(got, "tensors, containers, numbers and text", advice, unsafe=True)


_LETTERS = 60
_PARTS = 6


def shown(value: Any) -> str:
    """A value of a file for an error's text: plain ones and the first parts of lists, of all else the type.

    A file's values may share themselves and nest: this walks over no more than it shows.
    """
    text = _brief(value, 2)
    return text if len(text) <= 2 * _LETTERS else text[: 2 * _LETTERS] + "..."


def _brief(value: Any, depth: int) -> str:
    kind = type(value)
    if kind in (str, bytes):
        return repr(value[:_LETTERS]) + "..." * (len(value) > _LETTERS)
    if kind is int and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    if value is None or kind in (bool, int, float, complex):
        return repr(value)
    if kind in (list, tuple) and depth:
        parts = [_brief(each, depth - 1) for each in value[:_PARTS]] + ["..."] * (len(value) > _PARTS)
        inside = ", ".join(parts)
        return f"[{inside}]" if kind is list else f"({inside}{',' * (len(value) == 1)})"
    return f"a {kind.__name__}"


class Foreign(Exception):
    """Carries an exception of code that is not ours past what turns errors into `FileError`."""


@contextlib.contextmanager
def foreign() -> Iterator[None]:
    """For calls of the user's functions and of pickles that are trusted: what they raise reaches the user as it is."""
    try:
        yield
    except Unreadable:
        raise
    except Exception as error:
        raise Foreign from error
