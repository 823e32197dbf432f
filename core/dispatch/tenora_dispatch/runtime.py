"""The one table of backends of a process, wired to the engine, and the functions that applications call.

Importing this module discovers nothing and loads nothing: it only tells the engine whom to ask.
"""

from pathlib import Path
from typing import Any

from tenora_dispatch import config, fallback_policy, opset, options
from tenora_dispatch.choice import Choice, Chooser, UseBackend, serving
from tenora_dispatch.engine_port import Mode
from tenora_dispatch.errors import ENGINE_CLASSES, ArgumentTypeError, BackendError, did_you_mean
from tenora_dispatch.explanation import OpExplanation, explain_op
from tenora_dispatch.fallback_policy import Fallback, FallbackMode
from tenora_dispatch.lifecycle import BackendRow, BackendTable, State
from tenora_dispatch.masks import DTYPES
from tenora_engine import _engine

_HERE = Path(__file__).resolve().parent

table = BackendTable(_engine)
chooser = Chooser(table)


def _find_schema(name: str) -> opset.OpSchema | None:
    return opset.parse_signature(_engine.op_info(name), name) if name in set(_engine.op_names()) else None


_engine.set_error_classes(ENGINE_CLASSES)
_engine.set_chooser(chooser.choose)
opset.use_source(_find_schema, _engine.op_names)


def get_include() -> str:
    """The folder of `tenora_backend.h`, for compilers: `cc -I$(tenora --include)`."""
    return str(_HERE / "include")


def get_cmake_dir() -> str:
    """The folder of `tenora_backendConfig.cmake`, for `find_package(tenora_backend)`."""
    return str(_HERE / "cmake")


def backends() -> list[BackendRow]:
    """All installed backends with their state; discovers, loads nothing.

    Example:
        >>> [row.name for row in backends() if row.manifest and row.manifest.reference]
        ['reference']
    """
    return table.rows()


def kernels(name: str) -> dict[str, str]:
    """The ops for which a backend has a kernel of its own, sorted, each with "native" or "python". Loads the backend.

    Raises: `BackendNotFoundError` for an unknown name, or the error that keeps it from loading.

    Example:
        >>> kernels("reference")["add"]
        'python'
    """
    return dict(sorted(table.ready(name).kernels.items()))


def device_types() -> set[str]:
    """The device types that installed backends say they serve; loads nothing."""
    return {kind for row in table.rows() for kind in row.device_types}


def device_count(device_type: str) -> int:
    """How many devices of a type can be used here; 0 when no backend for it works. Probes, loads nothing."""
    most = 0
    for row in table.rows():
        if device_type not in row.device_types:
            continue
        try:
            found = table.probed(row.name)
        except BackendError:
            continue
        if found.state is State.READY:  # its memory space knows what is there
            most = max(most, _engine.device_count(device_type))
        elif found.probe:
            most = max(most, found.probe.devices.get(device_type, 1))
    return most


def use_backend(name: str, *, device: object = None) -> UseBackend:
    """A context manager and decorator: ops of this thread inside it are computed by the backend `name`.

    `device`: only for this device type; by default for all that the backend serves. Tensors stay where they are:
    backends of one memory space share storages, and backward uses the backend of each op's forward.
    Raises: `BackendNotFoundError` at once for an unknown name; on entering, the error that keeps it from loading.

    Example:
        >>> with use_backend("reference"):
        ...     current_backend("cpu")
        'reference'
    """
    return UseBackend(chooser, name, device)


def set_default_backend(name: str | None, *, device: object = None) -> None:
    """Makes a backend the default of this process; None takes that back. `device` as in `use_backend`.

    Raises: `BackendNotFoundError`, or the error that keeps it from loading.

    Example:
        >>> set_default_backend("reference")
        >>> current_backend("cpu")
        'reference'
        >>> set_default_backend(None)
    """
    chooser.set_default(name, None if device is None else str(device).split(":")[0])


def current_backend(device: object = "cpu") -> str:
    """Name of the backend that computes on a device in this thread now; loads it. Raises like the first op would.

    Example:
        >>> with use_backend("reference"):
        ...     current_backend("cpu")
        'reference'
    """
    kind = str(device).split(":")[0]
    return chooser.override(kind) or _engine.default_backend(kind) or chooser.choose(kind)


def explain_choice(device: object = "cpu") -> Choice:
    """Which backend computes on a device and how that came about; loads nothing."""
    return chooser.explain(str(device).split(":")[0])


def explain(op: str, *, device: object = "cpu", dtype: object = "float32") -> OpExplanation:
    """How an op would be computed on a device for a dtype. Loads the backend. Raises: `UnknownOpError`."""
    name = str(dtype).rpartition(".")[2]
    if name not in DTYPES:
        raise ArgumentTypeError(
            f"[explain] dtype is wrong: got {name!r}, expected one of {', '.join(DTYPES)}. Name one."
            + did_you_mean(name, DTYPES)
        )
    return explain_op(chooser, op, str(device), name, getattr(_engine, name))


def set_backend_option(name: str, **values: Any) -> None:
    """Sets options that a backend's manifest declares: `set_backend_option("NAME", threads=4)`.

    Raises: `BackendOptionError` for an undeclared option or a value that it does not allow; then none is set.

    Example:
        >>> try:
        ...     set_backend_option("reference", colour="red")
        ... except BackendError as error:
        ...     type(error).__name__
        'BackendOptionError'
    """
    options.set_option(table, name, values)


def backend_options(name: str) -> dict[str, Any]:
    """The options of a backend with the values in force."""
    return options.options(table, name)


def fallback(mode: Mode) -> FallbackMode:
    """A context manager: what happens in this thread when a backend cannot do an op: "error", "warn" or "allow".

    Raises: `ArgumentValueError` on entering for another word.

    Example:
        >>> with fallback("allow"):
        ...     set_fallback("allow")
        'allow'
    """
    return FallbackMode(chooser, mode)


def set_fallback(mode: Mode) -> Mode:
    """Sets this thread's fallback mode and returns the previous one; see `fallback`."""
    return fallback_policy.set_mode(chooser, mode)


def fallbacks() -> list[Fallback]:
    """How often the reference stood in for a backend, by op and backend.

    Example:
        >>> sum(row.calls for row in fallbacks() if row.backend == "reference")
        0
    """
    return fallback_policy.counts(chooser)


def write_choice(name: str, *, device: object = None) -> Path:
    """Writes `tenora use NAME` into the user's configuration. Raises like `use_backend` for an unknown name."""
    row = table.probed(name)
    kinds = serving(row, None if device is None else str(device))
    path = config.write_backends(config.configured_backends() | dict.fromkeys(kinds, name))
    chooser.forget_choices()
    return path


def clear_choice(*, device: object = None) -> Path:
    """Takes the user's choice out of the configuration, for one device type or all."""
    kept = {} if device is None else config.configured_backends()
    kept.pop(str(device).split(":")[0], None)
    path = config.write_backends(kept)
    chooser.forget_choices()
    return path


def config_path() -> Path:
    """Where the user's configuration is, whether or not the file exists."""
    return config.config_path()
