"""The life of each backend: DISCOVERED, PROBED, LOADED, READY, or UNAVAILABLE, INCOMPATIBLE, FAILED with the cause.

- DISCOVERED: its manifest was read. PROBED: its `probe` said it can work here. LOADED: its `load` has returned.
  READY: what it registered was checked, and it computes.
- UNAVAILABLE: sound, but not here. INCOMPATIBLE: versions do not fit. FAILED: its files or its code are broken.
- Only a backend that is asked for is probed and loaded, once; a failure is remembered with its exception, and every
  later request raises it again as the cause.
- Thread-safe: `_lock` guards the table, each row's own lock guards its way upwards; a second thread that asks for the
  same backend waits and gets the same answer. Nothing of a stranger runs under the table's lock.
"""

import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import ModuleType
from typing import Any

from tenora_dispatch import discovery, opset
from tenora_dispatch.contract import Probe
from tenora_dispatch.discovery import Candidate
from tenora_dispatch.engine_port import Engine
from tenora_dispatch.errors import (
    BackendError,
    BackendFailedError,
    BackendNotFoundError,
    BackendUnavailableError,
    IncompatibleBackendError,
    TenoraError,
    describe,
    did_you_mean,
    root_cause,
)
from tenora_dispatch.manifest import Manifest
from tenora_dispatch.registry import BackendRegistry, option_text
from tenora_dispatch.versions import current, disagreement, own_version
from tenora_hooks import plugins


class State(StrEnum):
    """Where a backend stands."""

    DISCOVERED = "DISCOVERED"
    PROBED = "PROBED"
    LOADED = "LOADED"
    READY = "READY"
    UNAVAILABLE = "UNAVAILABLE"
    INCOMPATIBLE = "INCOMPATIBLE"
    FAILED = "FAILED"


OUT = (State.UNAVAILABLE, State.INCOMPATIBLE, State.FAILED)


@dataclass
class BackendRow:
    """One installed backend. `cause` is the exception that put it out; `options` are the values in force."""

    name: str
    package: str
    distribution: str
    version: str
    manifest: Manifest | None
    state: State = State.DISCOVERED
    cause: BaseException | None = None
    probe: Probe | None = None
    kernels: Mapping[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    module: ModuleType | None = None
    touched: bool = False  # somebody has begun to use it; guarded by the table's lock
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def device_types(self) -> tuple[str, ...]:
        """The device types it serves; empty when its manifest cannot be read."""
        return self.manifest.device_types if self.manifest else ()

    def reason(self) -> str:
        """One line that says why the backend is out; empty while it is not."""
        if self.cause is None:
            return ""
        # Our own errors quote what caused them; a stranger's may be wrapped many times.
        return describe(self.cause if isinstance(self.cause, TenoraError) else root_cause(self.cause))


class BackendTable:
    """All backends of a process. Applications use the functions of `tenora_dispatch`; tests make their own tables."""

    def __init__(self, engine: Engine, discover: Callable[[], list[Candidate]] = discovery.discover) -> None:
        self.engine = engine
        self._discover = discover
        self._lock = threading.RLock()
        self._rows: dict[str, BackendRow] | None = None

    def rows(self) -> list[BackendRow]:
        """All installed backends, in order of name. Discovers on the first call."""
        return list(self._table().values())

    def refresh(self) -> None:
        """Discovers again: new backends appear, backends that were out before their code ran get a new chance."""
        fresh = {candidate.name: _row(candidate) for candidate in self._discover()}
        with self._lock:
            for name, row in (self._rows or {}).items():
                if row.touched:  # its code has run or is running: that cannot be taken back
                    fresh[name] = row
            new = [row for name, row in fresh.items() if not row.touched]
            self._rows = dict(sorted(fresh.items()))
        _announce(new)

    def find(self, name: str) -> BackendRow:
        """The row of a backend. Raises: `BackendNotFoundError` with the nearest name and what is installed."""
        row = self._table().get(name)
        if row is None:
            self.refresh()  # it may have been installed since this process began
            row = self._table().get(name)
        if row is None:
            raise self._unknown(name)
        return row

    def probed(self, name: str) -> BackendRow:
        """Takes a backend to PROBED. Raises the subclass of `BackendError` that says why it cannot get there."""
        row = self._take(name)
        with row.lock:
            self._raise_if_out(row)
            if row.state is State.DISCOVERED:
                self._advance(row, self._probe)
        return row

    def _take(self, name: str) -> BackendRow:
        """The row, marked so that `refresh` does not replace it any more."""
        while True:
            row = self.find(name)
            with self._lock:
                if self._rows is not None and self._rows.get(name) is row:
                    row.touched = row.touched or row.manifest is not None
                    return row

    def ready(self, name: str) -> BackendRow:
        """Takes a backend to READY, loading it if needed. Raises like `probed`."""
        row = self.find(name)
        if row.state is State.READY:
            return row
        row = self.probed(name)
        with row.lock:
            self._raise_if_out(row)
            if row.state is State.PROBED:
                self._advance(row, self._load)
                plugins.call("tenora_backend_loaded", name=name, manifest=row.manifest)
        return row

    def _table(self) -> dict[str, BackendRow]:
        if self._rows is None:
            fresh = {candidate.name: _row(candidate) for candidate in self._discover()}
            with self._lock:
                if self._rows is not None:  # another thread was quicker
                    return self._rows
                self._rows = fresh
            _announce(list(fresh.values()))
        return self._rows

    def _advance(self, row: BackendRow, step: Callable[[BackendRow], None]) -> None:
        """Runs a step; whatever it raises becomes the row's state and is raised as a `BackendError`."""
        before = row.state
        try:
            step(row)
        except KeyboardInterrupt:  # the user's
            raise
        except BaseException as error:  # a stranger's module may call sys.exit, or raise what is no Exception
            row.cause = error
            row.state = _state_of(error)
            plugins.call("tenora_backend_failed", name=row.name, state=row.state.value, cause=error)
            self._raise_if_out(row, during="loading" if before is State.PROBED else "probing")

    def _probe(self, row: BackendRow) -> None:
        check_versions(row)
        row.module = importlib.import_module(row.package)
        if not callable(getattr(row.module, "load", None)):
            raise BackendFailedError(
                f"[backend] package '{row.package}' of '{row.name}' is wrong: got no function load, expected "
                "load(registry). See docs/write-a-backend.md.",
                backend=row.name,
            )
        probe = getattr(row.module, "probe", None)
        result = probe() if probe is not None else Probe()
        if not isinstance(result, Probe):
            raise BackendFailedError(
                f"[backend] probe() of '{row.name}' is wrong: got {type(result).__name__}, "
                "expected tenora_dispatch.Probe."
                " Return a Probe.",
                backend=row.name,
            )
        row.probe = result
        check_runtime(row, result)
        plugins.call("tenora_backend_probed", name=row.name, available=result.available, reason=result.reason)
        if not result.available:
            raise BackendUnavailableError(
                f"[backend] '{row.name}' cannot work here: {result.reason or 'it gives no reason'}",
                backend=row.name,
            )
        row.state = State.PROBED

    def _load(self, row: BackendRow) -> None:
        manifest, module = row.manifest, row.module
        assert manifest is not None and module is not None  # _probe has seen to it
        values = {name: option.default for name, option in manifest.options.items()} | row.options
        self.engine.set_host_info(own_version(), opset.version())
        registry = BackendRegistry(self.engine, manifest, row.version, values, manifest.path.parent)
        module.load(registry)
        row.state = State.LOADED
        row.kernels = dict(registry.kernels)
        if not registry.kernels:
            raise BackendFailedError(
                f"[backend] load() of '{row.name}' registered nothing: got no kernel, expected at least one. "
                "See docs/write-a-backend.md.",
                backend=row.name,
            )
        for option, value in row.options.items():
            apply_option(self.engine, row, option, value, native=bool(registry.libraries))
        row.options = values
        row.state = State.READY

    def _raise_if_out(self, row: BackendRow, during: str = "") -> None:
        if row.state not in OUT:
            return
        cause = row.cause
        if isinstance(cause, (BackendUnavailableError, IncompatibleBackendError)):
            raise type(cause)(str(cause), backend=row.name) from (cause.__cause__ or cause)
        kind = BackendUnavailableError if row.state is State.UNAVAILABLE else BackendFailedError
        step = f" while {during} it" if during else ""
        raise kind(
            f"[backend] '{row.name}' failed{step}: {row.reason()} `tenora doctor` shows where.",
            backend=row.name,
        ) from cause

    def _unknown(self, name: str) -> BackendNotFoundError:
        rows = self.rows()
        working = [row.name for row in rows if row.state not in OUT]
        broken = [f"{row.name} ({row.state}: {row.reason()})" for row in rows if row.state in OUT]
        parts = [
            f"[backend] unknown backend: got '{name}', expected one of {', '.join(working) or 'none installed'}."
        ]
        parts[0] += did_you_mean(name, [row.name for row in rows])
        if broken:
            parts.append(f"Installed but out: {'; '.join(broken)}.")
        # With a placeholder: whatever was mistyped may be the name of anyone's package.
        parts.append(
            "`tenora backends` lists what is installed; another backend is a distribution of its own: "
            "`pip install DISTRIBUTION`."
        )
        return BackendNotFoundError(" ".join(parts), backend=name)


def _row(candidate: Candidate) -> BackendRow:
    row = BackendRow(
        candidate.name, candidate.package, candidate.distribution, candidate.version, candidate.manifest
    )
    if candidate.cause is not None:
        row.state, row.cause = State.FAILED, candidate.cause
    return row


def _announce(rows: list[BackendRow]) -> None:
    for row in rows:
        if row.cause is not None:
            plugins.call("tenora_backend_failed", name=row.name, state=row.state.value, cause=row.cause)
        else:
            plugins.call("tenora_backend_discovered", name=row.name, manifest=row.manifest)


def _state_of(error: BaseException) -> State:
    if isinstance(error, BackendUnavailableError):
        return State.UNAVAILABLE
    if isinstance(error, IncompatibleBackendError):
        return State.INCOMPATIBLE
    return State.FAILED


def check_versions(row: BackendRow) -> None:
    """The first half of the version check: the manifest's ranges against this tenora, before any code runs."""
    manifest = row.manifest
    if manifest is None:
        raise BackendError(
            f"[backend] '{row.name}' has no manifest that can be read: got none, expected tenora-backend.toml. "
            "Reinstall it.",
            backend=row.name,
        )
    here = current()
    axes = (
        ("protocol", here.protocol, manifest.protocol),
        ("C ABI", str(here.abi), manifest.abi),
        ("op set", here.opset, manifest.opset),
    )
    problems = [text for axis, offered, accepted in axes if (text := disagreement(axis, offered, accepted))]
    if problems:
        raise IncompatibleBackendError(
            f"[backend] '{row.name}' {row.version} does not fit this tenora: {'; '.join(problems)}. "
            f"Install a matching pair: pip install --upgrade tenora {row.distribution}",
            backend=row.name,
        )


def check_runtime(row: BackendRow, probe: Probe) -> None:
    """Native libraries found by the probe against the ranges of the manifest."""
    wanted = row.manifest.native_libraries if row.manifest else {}
    for library, accepted in wanted.items():
        found = probe.runtime.get(library)
        if found is not None and found not in accepted:
            raise IncompatibleBackendError(
                f"[backend] '{row.name}' {row.version} does not fit this machine's {library}: got {found}, expected "
                f"{accepted}. Install a build of {row.distribution} for {library} {found}.",
                backend=row.name,
            )


def apply_option(engine: Engine, row: BackendRow, option: str, value: object, *, native: bool) -> None:
    """Hands an option's value to a loaded backend, through its package or its native table."""
    setter = getattr(row.module, "set_option", None)
    if setter is not None:
        setter(option, value)
    elif native:
        engine.set_backend_option(row.name, option, option_text(value))
