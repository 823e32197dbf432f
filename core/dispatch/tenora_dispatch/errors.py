"""The exceptions of tenora: PyTorch's types, with fields that a program can read.

- Every error is a `TenoraError` and also the built-in class that PyTorch raises in the same place, so
  `except RuntimeError` and `except IndexError` in existing programs keep working.
- `code`, `op`, `backend` and `dtype` are machine-readable; the text is for people and reads
  `[op] what is wrong: got ..., expected .... What to do.`
- The original exception, where there is one, is the `__cause__`.
- The engine raises these classes too: they are pushed into it once, under the names of `ENGINE_CLASSES`.
- Core's Python raises them, never the built-in classes (`tests/architecture/test_error_classes.py`); where it gives no
  `op`, the name in front of the text is it.
"""

import difflib
import re
from collections.abc import Callable, Iterable


class TenoraError(Exception):
    """Any error that tenora raises on purpose.

    Fields: `code` (short and stable, such as "shape" or "unsupported"), `op`, `backend`, `dtype` (names, or None).
    `op` is the name in front of the text, unless it is given.

    Example:
        >>> error = TenoraError("[add] shapes do not broadcast", code="shape")
        >>> error.code, error.op, error.backend
        ('shape', 'add', None)
    """

    default_code = "error"
    names_op = True  # whether the name in front of the text is an op's

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        op: str | None = None,
        backend: str | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.op = op or (_op_named(message) if self.names_op else None)
        self.backend = backend or None
        self.dtype = dtype or None

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders (data loaders, test runners); keyword fields must survive that.
        return (_rebuild, (type(self), str(self.args[0]), self.code, self.op, self.backend, self.dtype))


def _op_named(text: str) -> str | None:
    """The name in brackets that a text begins with."""
    head, found, _ = str(text).partition("] ")
    return head[1:] if found and head.startswith("[") else None


def _rebuild(
    kind: type[TenoraError], text: str, code: str, op: str | None, backend: str | None, dtype: str | None
) -> TenoraError:
    return kind(text, code=code, op=op, backend=backend, dtype=dtype)


class OperationError(TenoraError, RuntimeError):
    """Shapes, dtypes, devices or versions that do not fit the operation."""

    default_code = "runtime"


class ArgumentTypeError(TenoraError, TypeError):
    """An argument of the wrong Python type, missing, or unknown."""

    default_code = "type"


class ArgumentValueError(TenoraError, ValueError):
    """An argument of the right type with a value that the operation refuses."""

    default_code = "value"


class ZeroNumberError(TenoraError, ZeroDivisionError):
    """A number that is divided by, and is 0."""

    default_code = "value"


class IndexRangeError(TenoraError, IndexError, RuntimeError):
    """An index or a dimension out of range.

    Both built-in classes: PyTorch raises IndexError for most ops, and RuntimeError where gather and scatter read it.
    """

    default_code = "index"


class MissingKeyError(TenoraError, KeyError):
    """A key or a name that is not there, or that is taken; KeyError alone would print its text in quotes.

    Example:
        >>> str(MissingKeyError("[register_buffer] name: got 'a.b', expected one without dots. Choose another."))
        "[register_buffer] name: got 'a.b', expected one without dots. Choose another."
    """

    default_code = "key"

    def __str__(self) -> str:
        return str(self.args[0])


class MissingAttributeError(TenoraError, AttributeError):
    """An attribute that is not there; `name` and `obj` are for Python's own suggestions.

    Example:
        >>> error = MissingAttributeError("[nn] attribute: got 'Linaer'", name="Linaer")
        >>> error.name, error.code
        ('Linaer', 'attribute')
    """

    default_code = "attribute"

    def __init__(
        self,
        message: str = "",
        *,
        name: str | None = None,
        obj: object = None,
        code: str | None = None,
        op: str | None = None,
        backend: str | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(message, code=code, op=op, backend=backend, dtype=dtype)
        if name is not None:
            self.name, self.obj = name, obj


class MissingModuleError(TenoraError, ModuleNotFoundError):
    """A module that is not there; `name` is what was to be imported.

    Example:
        >>> MissingModuleError("[tenora] distributions: got ...", name="tenora.distributions").name
        'tenora.distributions'
    """

    default_code = "import"

    def __init__(
        self,
        message: str = "",
        *,
        name: str | None = None,
        code: str | None = None,
        op: str | None = None,
        backend: str | None = None,
        dtype: str | None = None,
    ) -> None:
        super().__init__(message, code=code, op=op, backend=backend, dtype=dtype)
        self.name, self.msg = name, message


class ConditionError(TenoraError, AssertionError):
    """Something that must hold and does not, where PyTorch asserts it."""

    default_code = "condition"


class SharingError(TenoraError, BufferError):
    """Memory that its owner does not share."""

    default_code = "sharing"


class NotImplementedOperationError(TenoraError, NotImplementedError):
    """Something that tenora itself does not do (yet), whatever the backend."""

    default_code = "not_implemented"


class NotSupportedError(TenoraError, NotImplementedError):
    """A backend declines the operation: no kernel, or not for this dtype, layout or attribute.

    The engine advises another backend or dtype; where the op is defined for no such dtype, the text says so instead.

    Example:
        >>> error = NotSupportedError("[add] no kernel", backend="mine")
        >>> error.code, error.backend, isinstance(error, RuntimeError)
        ('unsupported', 'mine', True)
    """

    default_code = "unsupported"

    def __str__(self) -> str:
        text = super().__str__()
        head, found, tail = text.partition("Choose another backend or dtype")
        taken = _dtypes_of(self.op) if found and self.op and self.dtype else ()
        if not taken or self.dtype in taken:
            return text
        part = "(In its part " + tail.partition("(In its part ")[2] if "(In its part " in tail else ""
        return f"{head}No backend takes it: cast to one of {', '.join(taken)}. {part}".rstrip()


class OutOfMemoryError(TenoraError, RuntimeError):
    """A device could not give the memory, after its work was waited for and its cached memory given back.

    Example:
        >>> error = OutOfMemoryError("[empty] out of memory")
        >>> error.code, isinstance(error, RuntimeError)
        ('memory', True)
    """

    default_code = "memory"


class LinAlgError(TenoraError, RuntimeError):
    """A matrix that has no such factorisation, inverse or solution.

    Example:
        >>> error = LinAlgError("[linalg.inv] the matrix is singular")
        >>> error.code, isinstance(error, RuntimeError)
        ('linalg', True)
    """

    default_code = "linalg"


class DeviceLostError(TenoraError, RuntimeError):
    """A device stopped working; every later call on it fails the same way."""

    default_code = "device_lost"


class HiddenCopyError(TenoraError, RuntimeError):
    """Under `no_hidden_copies()`: a copy, transfer or wait that the program did not ask for.

    Example:
        >>> error = HiddenCopyError("[add] a hidden copy")
        >>> error.code, error.op
        ('hidden_copy', 'add')
    """

    default_code = "hidden_copy"


class BackendError(TenoraError, RuntimeError):
    """Anything wrong with a backend as a whole; the subclasses say what."""

    default_code = "backend"
    names_op = False


class BackendNotFoundError(BackendError, LookupError):
    """No backend of that name, or none for that device, is installed."""

    default_code = "backend_not_found"

    def name_op(self, op: str) -> None:
        """Puts the name of the call that asked for the device in front; the engine tells it, the chooser has none.

        Example:
            >>> error = BackendNotFoundError("[backend] no backend computes on 'npu': got none installed")
            >>> error.name_op("ones")
            >>> error.op, str(error)
            ('ones', "[ones] no backend computes on 'npu': got none installed")
        """
        if self.op is None:
            self.op = op
            self.args = (str(self.args[0]).replace("[backend]", f"[{op}]", 1),)


class BackendUnavailableError(BackendError):
    """The backend is sound but cannot work here: no device, no driver."""

    default_code = "backend_unavailable"


class IncompatibleBackendError(BackendError):
    """The versions of the backend and of this tenora do not fit; the text names both."""

    default_code = "backend_incompatible"


class BackendFailedError(BackendError):
    """The backend's own code failed while it was probed or loaded; its exception is the cause."""

    default_code = "backend_failed"


class AmbiguousBackendError(BackendError):
    """Several backends could serve, and nothing says which is meant."""

    default_code = "backend_ambiguous"


class ManifestError(BackendError, ValueError):
    """`tenora-backend.toml` is missing, unreadable or wrong; the text names file and key."""

    default_code = "manifest"


class RegistrationError(BackendError, TypeError):
    """A kernel, space or library that the contract forbids; the text names backend, op and argument."""

    default_code = "registration"


class BackendOptionError(BackendError, ValueError):
    """An option that the backend's manifest does not declare, or a value that it does not allow."""

    default_code = "option"


class UnknownOpError(TenoraError, LookupError):
    """No op of that name; the text has the nearest one."""

    default_code = "unknown_op"


class ConfigurationError(TenoraError, ValueError):
    """The user's `config.toml` or an environment variable cannot be understood."""

    default_code = "configuration"
    names_op = False


def _unknown(op: str) -> tuple[str, ...]:
    """Before the records are there."""
    return ()


_dtypes_of: Callable[[str], tuple[str, ...]] = _unknown


def use_dtypes(source: Callable[[str], tuple[str, ...]]) -> None:
    """Says which dtypes an op is defined for (by the name that errors use; none: unknown); called once at start-up."""
    global _dtypes_of
    _dtypes_of = source


# The engine's error kinds. It calls `cls(message, code=..., op=..., backend=..., dtype=...)`.
ENGINE_CLASSES: dict[str, type[TenoraError]] = {
    "Runtime": OperationError,
    "Type": ArgumentTypeError,
    "Value": ArgumentValueError,
    "Index": IndexRangeError,
    "NotImplemented": NotImplementedOperationError,
    "OutOfMemory": OutOfMemoryError,
    "NotSupported": NotSupportedError,
    "DeviceLost": DeviceLostError,
    "HiddenCopy": HiddenCopyError,
}


def message(op: str, what: str, *, got: object = None, expected: object = None, advice: str = "") -> str:
    """Builds the text of an error: `[op] what: got ..., expected .... What to do.`

    Example:
        >>> message("cat", "dimension out of range", got=3, expected="-2 to 1", advice="Choose a dimension of x.")
        '[cat] dimension out of range: got 3, expected -2 to 1. Choose a dimension of x.'
    """
    facts = []
    if got is not None:
        facts.append(f"got {got}")
    if expected is not None:
        facts.append(f"expected {expected}")
    sentence = f"[{op}] {what}" + (f": {', '.join(facts)}" if facts else "")
    sentence = sentence.rstrip(".") + "."
    return f"{sentence} {advice}".rstrip()


def root_cause(error: BaseException) -> BaseException:
    """The exception at the bottom of a chain of causes, which is the one a person has to act on."""
    seen = {id(error)}
    while True:
        deeper = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if deeper is None or id(deeper) in seen:
            return error
        seen.add(id(deeper))
        error = deeper


def describe(error: BaseException) -> str:
    """One line for tables: the class and the first line of the text."""
    text = str(error).strip()
    first = text.splitlines()[0] if text else "no message"
    return first if isinstance(error, TenoraError) else f"{type(error).__name__}: {first}"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """`" Did you mean 'x'?"` for the candidate that a likely typo of `name` leads to, or an empty text.

    Where there is none, the shortest candidate with all words of `name` in their order, and more.

    Example:
        >>> did_you_mean("sofmax", ["softmax", "sum"]), did_you_mean("save", ["ravel"])
        (" Did you mean 'softmax'?", '')
        >>> did_you_mean("CosineLR", ["CosineAnnealingLR", "StepLR"])
        " Did you mean 'CosineAnnealingLR'?"
    """
    public = [found for found in candidates if not found.startswith("_") or name.startswith("_")]
    near = difflib.get_close_matches(name, public, n=8)
    typos = [
        (slips, order, found)
        for order, found in enumerate(near)
        if (slips := _slips(name, found)) is not None
    ]
    if typos:
        return f" Did you mean '{min(typos)[2]}'?"
    longer = [found for found in public if _abbreviates(name, found)]
    return f" Did you mean '{min(longer, key=len)}'?" if longer else ""


def _abbreviates(name: str, meant: str) -> bool:
    """Whether the words of `name` are some of those of `meant`, in order; at least three letters."""
    words, rest = _words(name), iter(_words(meant))
    return len("".join(words)) > 2 and all(word in rest for word in words)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def type_name(value: object) -> str:
    """The type's name; with its module where a stranger's class is called like tenora's.

    Example:
        >>> type_name([])
        'list'
    """
    kind = type(value)
    alike = kind.__name__ in ("Tensor", "Parameter") and kind.__module__.partition(".")[0] != "tenora"
    return f"{kind.__module__}.{kind.__name__}" if alike else kind.__name__


def _slips(name: str, meant: str) -> int | None:
    """How many slips of the hand make `name` of `meant` (a letter more, less, another, or two in the wrong order).

    None where it is another word rather: more than one slip (two in ten letters or more), or another letter in three.
    """
    if name.casefold() == meant.casefold():
        return 0
    if len(name) > 2 and sorted(name) == sorted(meant):
        return 1
    rows = [list(range(len(meant) + 1))]
    for i, letter in enumerate(name, 1):
        row = [i]
        for j, other in enumerate(meant, 1):
            best = min(row[-1] + 1, rows[-1][j] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and name[i - 2] == other:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    slips = rows[-1][-1]
    another_word = len(name) < 3 or len(name) == len(meant) == 3
    return None if another_word or slips > (1 if len(name) < 10 else 2) else slips
