"""Which backend computes on a device, and why.

The first of these that says anything decides:

1. `with use_backend(...)` of this thread.
2. `set_default_backend(...)` of this process.
3. `TENORA_BACKEND`, a comma list with one backend per device type.
4. The user's configuration (`tenora use NAME`).
5. The one installed backend for the device whose manifest says `auto = true` and which carries a conformance report
   (attestation.py); one without is passed over, and `Choice.steps` says why.
6. The backend whose manifest says `reference = true`, if it serves the device.

- 1 to 4 are wishes: if the backend cannot be had, that is an error, never another backend.
- Two candidates in step 5, one that fails, or none but those passed over: an error that names them, or a warning where
  the reference serves.
- Steps 3 to 6 are answered once per device type and process; the engine remembers the answer.
"""

import functools
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import ParamSpec, TypeVar

from tenora_dispatch import attestation, config, opset
from tenora_dispatch.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    ArgumentValueError,
    BackendError,
    BackendNotFoundError,
    ConfigurationError,
    OperationError,
    did_you_mean,
)
from tenora_dispatch.lifecycle import OUT, BackendRow, BackendTable, State

P = ParamSpec("P")
R = TypeVar("R")


class BackendChoiceWarning(UserWarning):
    """The reference serves because nothing says which of several backends is meant."""


@dataclass(frozen=True)
class Choice:
    """The answer for one device type. `steps` lists, in order, each source that was asked and what it said."""

    device_type: str
    name: str | None
    source: str
    steps: tuple[tuple[str, str], ...]
    problem: BackendError | None = None
    warning: str = ""


class Chooser:
    """Answers for one table of backends."""

    def __init__(self, table: BackendTable) -> None:
        self.table = table
        self._lock = threading.RLock()
        self._defaults: dict[str, str] = {}  # set_default_backend; guarded by _lock
        self._local = threading.local()

    # ---- wishes of the program

    def override(self, device_type: str) -> str | None:
        """What `use_backend` says in this thread."""
        overrides: dict[str, str] = getattr(self._local, "overrides", {})
        return overrides.get(device_type)

    def set_override(self, device_type: str, name: str | None) -> str | None:
        """Sets this thread's backend for a device type; returns what it was."""
        overrides: dict[str, str] = self._local.__dict__.setdefault("overrides", {})
        previous = overrides.pop(device_type, None)
        if name is not None:
            overrides[device_type] = name
        self.table.engine.set_override_backend(device_type, name)
        return previous

    def set_default(self, name: str | None, device_type: str | None = None) -> None:
        """See `tenora_dispatch.set_default_backend`."""
        with self._lock:
            if name is None:
                for kind in [device_type] if device_type else self._known_types():
                    self._defaults.pop(kind, None)
                    self._forget(kind)
                return
            row = self.table.ready(name)
            for kind in serving(row, device_type):
                self._defaults[kind] = name
                self.table.engine.set_default_backend(kind, name)

    def forget_choices(self) -> None:
        """Makes the next op ask again: after a change of configuration inside a process."""
        with self._lock:
            for kind in self._known_types():
                if kind not in self._defaults:
                    self._forget(kind)

    def _known_types(self) -> list[str]:
        return list(self.table.engine.space_names())

    def _forget(self, kind: str) -> None:
        if kind in self.table.engine.space_names():
            self.table.engine.set_default_backend(kind, None)

    # ---- the choice

    def choose(self, device_type: str) -> str:
        """Name of the READY backend for a device type; loads it, and tells the engine. Called by the engine.

        Raises: the `BackendError` that says why there is none, or `ConfigurationError`.
        """
        choice = self.explain(device_type)
        if choice.problem is not None:
            raise choice.problem
        assert choice.name is not None
        if choice.warning:
            warnings.warn(choice.warning, BackendChoiceWarning, stacklevel=2)
        name = choice.name
        if choice.source == _AUTO:
            name = self._load_or_reference(choice)
        self.table.ready(name)
        if choice.source != _OVERRIDE:
            self.table.engine.set_default_backend(device_type, name)
        return name

    def _load_or_reference(self, choice: Choice) -> str:
        """An automatic candidate was not asked for by name, so its failure is a warning where the reference serves."""
        assert choice.name is not None
        try:
            return self.table.ready(choice.name).name
        except BackendError as error:
            reference = self._reference(choice.device_type)
            if reference is None:
                raise
            warnings.warn(
                f"{error} The reference backend '{reference}' serves '{choice.device_type}' instead.",
                BackendChoiceWarning,
                stacklevel=3,
            )
            return reference

    def explain(self, device_type: str) -> Choice:
        """The choice and how it came about, without loading anything."""
        steps: list[tuple[str, str]] = []
        wishes: list[tuple[str, Callable[[str], str | None]]] = [
            (_OVERRIDE, self.override),
            (_DEFAULT, self._defaults.get),
            (_ENVIRONMENT, self._from_environment),
            (_CONFIGURATION, lambda kind: config.configured_backends().get(kind)),
        ]
        for source, ask in wishes:
            try:
                name = ask(device_type)
                steps.append((source, name or "says nothing"))
                if name is not None:
                    self._check_serves(name, device_type, source)
                    return Choice(device_type, name, source, tuple(steps))
            except (BackendError, ConfigurationError) as error:
                steps.append((source, str(error)))
                problem = error if isinstance(error, BackendError) else _as_backend_error(error)
                return Choice(device_type, None, source, tuple(steps), problem)
        return self._automatic(device_type, steps)

    def _from_environment(self, device_type: str) -> str | None:
        rows = [self.table.find(name) for name in config.environment_backends()]
        for row in rows:
            if row.manifest is None:  # which device it serves is unknown, but it was asked for
                self.table.probed(row.name)
        names = [row.name for row in rows if device_type in row.device_types]
        if len(names) > 1:
            raise AmbiguousBackendError(
                f"[backend] {config.BACKEND_VARIABLE} names several backends for '{device_type}': got "
                f"{', '.join(names)}, expected one per device type. Remove all but one."
            )
        return names[0] if names else None

    def _check_serves(self, name: str, device_type: str, source: str) -> None:
        row = self.table.find(name)
        if row.manifest is not None and device_type not in row.device_types:
            raise BackendNotFoundError(
                f"[backend] {source} names '{name}' for '{device_type}': got a backend for "
                f"{', '.join(row.device_types)}, expected one for '{device_type}'. Name another, or none.",
                backend=name,
            )

    def _automatic(self, device_type: str, steps: list[tuple[str, str]]) -> Choice:
        rows = [row for row in self.table.rows() if device_type in row.device_types]
        willing = [row for row in rows if row.manifest and row.manifest.auto and row.state not in OUT]
        objections = {row.name: _objection(row, device_type) for row in willing}
        candidates = [row for row in willing if not objections[row.name]]
        if len(candidates) > 1:
            candidates = [row for row in candidates if self._works(row)]
        names = [row.name for row in candidates]
        passed_over = {name: reason for name, reason in objections.items() if reason}
        steps += [(_AUTO, f"{name} is passed over: {reason}") for name, reason in passed_over.items()]
        reference = self._reference(device_type)
        if len(names) == 1:
            steps.append((_AUTO, names[0]))
            return Choice(device_type, names[0], _AUTO, tuple(steps))
        steps.append((_AUTO, f"{len(names)} candidates: {', '.join(names)}" if names else "no candidate"))
        warning = ""
        if names:
            warning = (
                f"[backend] several backends could compute on '{device_type}': got {', '.join(names)}, expected one. "
                f"Choose: tenora use {names[0]}"
            )
        elif passed_over:
            warning = _passed_over(device_type, passed_over)
        steps.append((_REFERENCE, reference or f"does not serve '{device_type}'"))
        if reference is not None:
            told = f"{warning} (the reference '{reference}' serves until then)" if warning else ""
            return Choice(device_type, reference, _REFERENCE, tuple(steps), warning=told)
        if names:
            problem: BackendError = AmbiguousBackendError(warning)
        else:
            problem = BackendNotFoundError(warning) if warning else self._nobody(device_type, rows)
        return Choice(device_type, None, _REFERENCE, tuple(steps), problem)

    def _works(self, row: BackendRow) -> bool:
        try:
            return self.table.probed(row.name).state in (State.PROBED, State.LOADED, State.READY)
        except BackendError:
            return False

    def _reference(self, device_type: str) -> str | None:
        names = [row.name for row in self.table.rows() if row.manifest and row.manifest.reference]
        if len(names) > 1:
            raise AmbiguousBackendError(
                f"[backend] several backends call themselves the reference: got {', '.join(names)}, expected one. "
                "Uninstall all but one."
            )
        return names[0] if names and device_type in self.table.find(names[0]).device_types else None

    def reference(self) -> str | None:
        """Name of the backend whose manifest says `reference = true`, if it is installed."""
        names = [row.name for row in self.table.rows() if row.manifest and row.manifest.reference]
        return names[0] if len(names) == 1 else None

    def _nobody(self, device_type: str, rows: list[BackendRow]) -> BackendNotFoundError:
        serving_names = [
            f"{row.name} ({row.state}{': ' + row.reason() if row.state in OUT else ', auto = false'})"
            for row in rows
        ]
        known = sorted({kind for row in self.table.rows() for kind in row.device_types})
        if serving_names:
            advice = f"Choose one: tenora use {rows[0].name}"
        else:
            advice = _no_device(device_type) + (
                f"Devices with a backend: {', '.join(known) or 'none'}.{did_you_mean(device_type, known)}"
            )
            advice += " `tenora backends` lists what is installed."
        return BackendNotFoundError(
            f"[backend] no backend computes on '{device_type}': got {', '.join(serving_names) or 'none installed'}, "
            f"expected one. {advice}"
        )


def _objection(row: BackendRow, device_type: str) -> str:
    """Why a backend that is willing may not be chosen automatically; "" if it may."""
    assert row.manifest is not None
    return attestation.objection(row.manifest.path, row.package, device_type, opset.version())


def _passed_over(device_type: str, reasons: Mapping[str, str]) -> str:
    told = "; ".join(f"{name} ({reason})" for name, reason in reasons.items())
    return (
        f"[backend] no backend may be chosen automatically for '{device_type}': got {told}, expected a conformance "
        f"report of level {attestation.REQUIRED_LEVEL}. Choose by name: tenora use {next(iter(reasons))}"
    )


def _no_device(name: str) -> str:
    """What to say first of a name that is no kind of device, but a dtype or a common slip."""
    if name in _DTYPES:
        return f"'{name}' is a dtype and no device: pass tenora.{name}, as a value and not as text. "
    return "'gpu' is no kind of device: write the kind itself, such as 'cuda'. " if name == "gpu" else ""


_DTYPES = frozenset(
    "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool "
    "float double half int long short cfloat cdouble".split()
)
_OVERRIDE = "use_backend() in this thread"
_DEFAULT = "set_default_backend()"
_ENVIRONMENT = config.BACKEND_VARIABLE
_CONFIGURATION = "configuration"
_AUTO = "installed backends with auto = true"
_REFERENCE = "reference"


def _as_backend_error(error: ConfigurationError) -> BackendError:
    problem = BackendError(str(error), code=error.code)
    problem.__cause__ = error
    return problem


def serving(row: BackendRow, device_type: str | None) -> tuple[str, ...]:
    """The device types for which a backend is meant. Raises: `ArgumentValueError` if the named one is not its own."""
    if device_type is None:
        return row.device_types
    kind = str(device_type).split(":")[0]
    if kind not in row.device_types:
        raise ArgumentValueError(
            f"[use_backend] backend '{row.name}' does not serve this device: got '{kind}', expected one of "
            f"{', '.join(row.device_types)}. Leave device= out, or name another backend.",
            backend=row.name,
        )
    return (kind,)


class UseBackend:
    """Context manager and decorator behind `use_backend`. May be entered again, and in several threads at once."""

    def __init__(self, chooser: Chooser, name: str, device: object = None) -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"[use_backend] argument 'name' is wrong: got {type(name).__name__}, expected a backend's name. "
                "See `tenora backends`."
            )
        chooser.table.find(name)  # a misspelt name is an error here, not at the first op
        self._chooser = chooser
        self._name = name
        self._device = None if device is None else str(device)
        self._local = threading.local()

    def __enter__(self) -> None:
        row = self._chooser.table.ready(self._name)
        kinds = serving(row, self._device)
        previous = [(kind, self._chooser.set_override(kind, self._name)) for kind in kinds]
        self._local.__dict__.setdefault("stack", []).append(previous)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack = self._local.__dict__.get("stack")
        if not stack:
            raise OperationError(
                "[use_backend] left without being entered: got __exit__ in a thread that did not enter it, expected "
                "`with use_backend(...)`. Enter and leave it in the same thread."
            )
        for device_type, name in reversed(stack.pop()):
            self._chooser.set_override(device_type, name)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return inside
