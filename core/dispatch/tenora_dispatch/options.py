"""Options that backends declare in their manifests: checked against the declaration, handed over when loaded."""

from collections.abc import Mapping
from typing import Any

from tenora_dispatch.errors import BackendOptionError, did_you_mean
from tenora_dispatch.lifecycle import BackendRow, BackendTable, State, apply_option


def set_option(table: BackendTable, name: str, values: Mapping[str, Any]) -> None:
    """Checks all values, then sets them; a backend that is not loaded yet gets them when it is.

    Raises: `BackendOptionError` for an option that is not declared or a value that it does not allow.
    """
    row = table.find(name)
    with row.lock:
        checked = {option: _check(row, option, value) for option, value in values.items()}
        for option, value in checked.items():
            if row.state is State.READY:
                apply_option(table.engine, row, option, value, native="native" in row.kernels.values())
            row.options[option] = value


def options(table: BackendTable, name: str) -> dict[str, Any]:
    """The values in force: what was set, else the declared default."""
    row = table.find(name)
    declared = row.manifest.options if row.manifest else {}
    return {option: row.options.get(option, entry.default) for option, entry in declared.items()}


def _check(row: BackendRow, option: str, value: object) -> object:
    declared = row.manifest.options if row.manifest else {}
    entry = declared.get(option)
    if entry is None:
        raise BackendOptionError(
            f"[set_backend_option] backend '{row.name}' has no option '{option}': got '{option}', expected "
            f"{', '.join(declared) or 'no option, it declares none'}. Check the name."
            + did_you_mean(option, declared),
            backend=row.name,
        )
    if not entry.accepts(value):
        raise BackendOptionError(
            f"[set_backend_option] option '{option}' of backend '{row.name}' is wrong: got {value!r}, expected "
            f"{entry.expectation()}. {entry.doc}".rstrip(),
            backend=row.name,
        )
    return float(value) if entry.type == "float" and isinstance(value, int) else value
