"""The `Registry` that a backend's `load` is given; every registration is checked the moment it is made.

- A kernel must fit its op: enough positional arrays, an `out` keyword, every attribute, and no duty beyond them.
- A native library must be the backend it says it is, for the versions of both sides.
- Errors name backend, op and argument, and say what was expected.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tenora_dispatch import opset
from tenora_dispatch.contract import Space
from tenora_dispatch.engine_port import Engine
from tenora_dispatch.errors import (
    BackendFailedError,
    IncompatibleBackendError,
    RegistrationError,
    TenoraError,
    did_you_mean,
)
from tenora_dispatch.manifest import Manifest
from tenora_dispatch.masks import ALL_FLAGS, KernelFlag, dtype_mask
from tenora_dispatch.versions import Versions, current, parse_version

_KINDS_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_SPACE_FIELDS = ("device_type", "dlpack_type", "host_accessible", "granule", "alignment")
_SPACE_METHODS = ("device_count", "alloc", "release", "copy", "memory_info", "synchronize", "wrap")


def option_text(value: object) -> str:
    """An option's value as the C side reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class BackendRegistry:
    """Registers one backend's spaces and kernels with the engine. See `contract.Registry` for the methods."""

    def __init__(
        self, engine: Engine, manifest: Manifest, version: str, options: Mapping[str, Any], folder: Path
    ) -> None:
        self.name = manifest.name
        self.versions: Versions = current()
        self.options = dict(options)
        self.kernels: dict[str, str] = {}  # op -> "python" or "native"
        self.libraries: list[Mapping[str, Any]] = []
        self._engine = engine
        self._manifest = manifest
        self._version = version
        self._folder = folder
        self._wraps: dict[str, Any] = {}
        self._announced = False

    def native(self, library: str | os.PathLike[str]) -> Mapping[str, Any]:
        """Loads a shared library; a relative path is taken from the backend's package."""
        path = self._folder / Path(library)
        if self._announced:
            raise self._error(
                "native", "a library after kernels or spaces in Python", "registry.native() first"
            )
        if not path.is_file():
            raise self._error(
                "native", f"no file {path}", "a shared library built when the backend was installed"
            )
        try:
            options = {name: option_text(value) for name, value in self.options.items()}
            report = self._engine.load_native_backend(str(path), self.name, options)
        except TenoraError as error:
            kind = IncompatibleBackendError if error.code == "incompatible" else BackendFailedError
            told = str(error).partition("] ")[2] or str(error)
            raise kind(
                f"[registry] library {path.name} of backend '{self.name}': {told}",
                op=error.op,
                backend=self.name,
            ) from error
        self._check_report(path, report)
        self.libraries.append(report)
        for op in report["kernels"]:
            self.kernels[str(op)] = "native"
        self._announced = True
        return report

    def _check_report(self, path: Path, report: Mapping[str, Any]) -> None:
        """The second half of the version check: what the library says, against the manifest and against tenora."""
        told = f"{path.name} of backend '{self.name}'"
        if report["name"] != self.name:
            raise self._error("native", f"a library that calls itself '{report['name']}'", f"'{self.name}'")
        if str(report["abi_version"]) not in self._manifest.abi:
            raise IncompatibleBackendError(
                f"[backend] {told} and its manifest disagree about the C ABI: got {report['abi_version']} "
                f"in the library, expected {self._manifest.abi} as the manifest says. "
                "Rebuild and reinstall the backend.",
                backend=self.name,
            )
        written_for = str(report["opset_version"])
        if parse_version(written_for)[0] != parse_version(self.versions.opset)[0]:
            raise IncompatibleBackendError(
                f"[backend] {told} was written for another op set: got {written_for}, expected "
                f"{self.versions.opset} or the same MAJOR. Install a matching pair of tenora and '{self.name}'.",
                backend=self.name,
            )
        undeclared = [space for space in report["spaces"] if space not in self._manifest.device_types]
        if undeclared:
            raise self._error(
                "native",
                f"device type '{undeclared[0]}'",
                f"one of the manifest's {list(self._manifest.device_types)}",
            )

    def space(self, space: Space) -> None:
        """Declares a memory space in Python; before the first kernel."""
        if self._announced:
            raise self._error(
                "space", "a space after the first kernel or library", "spaces first, then kernels"
            )
        for name in (*_SPACE_FIELDS, *_SPACE_METHODS):
            if not hasattr(space, name):
                raise self._error(
                    "space", f"{type(space).__name__} without '{name}'", "an object of contract.Space"
                )
        if space.device_type not in self._manifest.device_types:
            expected = f"one of the manifest's {list(self._manifest.device_types)}"
            raise self._error("space", f"device type '{space.device_type}'", expected)
        self._engine.register_space(
            space.device_type,
            self.name,
            dlpack_type=space.dlpack_type,
            device_count=space.device_count(),
            alloc=space.alloc,
            release=space.release,
            copy=space.copy,
            host_accessible=space.host_accessible,
            granule=space.granule,
            alignment=space.alignment,
            memory_info=space.memory_info,
            synchronize=space.synchronize,
        )
        self._wraps[space.device_type] = space.wrap

    def kernel(
        self,
        op: str,
        function: Callable[..., Any],
        *,
        dtypes: int | str | Iterable[str] = "all",
        flags: KernelFlag | int = KernelFlag.NONE,
        supports: Callable[..., bool | str] | None = None,
    ) -> Callable[..., Any]:
        """Registers a Python kernel; returns the function."""
        schema = opset.find(op)
        if schema is None:
            hint = did_you_mean(op, opset.names()).lstrip()
            advice = f"{hint} " if hint else ""
            raise self._error("op", f"'{op}'", "an op that `tenora ops` lists", op=op, advice=advice)
        if op in self.kernels:
            raise self._error("op", f"a second kernel for '{op}'", "one kernel per op", op=op)
        check_kernel(self.name, schema, function)
        if supports is not None and not callable(supports):
            raise self._error("supports", repr(supports), "a callable or None", op=op)
        if int(flags) & ~ALL_FLAGS:
            raise self._error("flags", f"{int(flags):#x}", f"bits of KernelFlag, {ALL_FLAGS:#x}", op=op)
        try:
            mask = dtype_mask(dtypes)
        except ValueError as error:
            raise self._error("dtypes", str(error), "dtype names, groups or a mask", op=op) from error
        self.announce()
        self._engine.register_kernel(
            self.name, op, function, dtypes=mask, flags=int(flags), supports=supports
        )
        self.kernels[op] = "python"
        return function

    def announce(self) -> None:
        """Makes the backend known to the engine, once, with the spaces that exist by then."""
        if self._announced:
            return
        known = self._engine.space_names()
        missing = [kind for kind in self._manifest.device_types if kind not in known]
        if missing:
            raise self._error(
                "space",
                f"no memory space '{missing[0]}'",
                "registry.space() or registry.native() for each device type",
            )
        wrap = self._wraps.get(self._manifest.device_types[0])
        spaces, reference = list(self._manifest.device_types), self._manifest.reference
        self._engine.register_backend(self.name, self._version, spaces, wrap=wrap, reference=reference)
        self._announced = True

    def _error(
        self, argument: str, got: str, expected: str, *, op: str = "", advice: str = ""
    ) -> RegistrationError:
        where = f"backend '{self.name}'" + (f", op '{op}'" if op else "")
        return RegistrationError(
            f"[registry] {where}, argument '{argument}' is wrong: got {got}, expected {expected}. "
            f"{advice}Correct the backend's load().",
            op=op or None,
            backend=self.name,
        )


def check_kernel(backend: str, schema: opset.OpSchema, function: object) -> None:
    """Checks a Python kernel's signature against its op. Raises: `RegistrationError` naming the argument."""

    def error(argument: str, got: str) -> RegistrationError:
        return RegistrationError(
            f"[registry] backend '{backend}', op '{schema.name}', argument '{argument}' of the kernel is wrong: "
            f"got {got}, expected {schema}. Correct the kernel's signature.",
            op=schema.name,
            backend=backend,
        )

    if not callable(function):
        raise error("function", repr(function))
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return  # some C callables show no signature; their first call will tell
    keywords = {"out", *schema.attributes}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    starred = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    positional = [p for p in parameters if p.kind in _KINDS_POSITIONAL]
    arrays = [p for p in positional if p.kind is p.POSITIONAL_ONLY or p.name not in keywords]
    by_name = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY and p.name in keywords}
    wanted = len(schema.tensors)
    if schema.variadic and not starred:
        raise error(schema.tensors[-1], f"no *{schema.tensors[-1]} for a list of tensors")
    if not starred and len(arrays) < wanted:
        raise error(schema.tensors[len(arrays)], f"{len(arrays)} positional arrays")
    surplus = [p for p in arrays[wanted - schema.variadic :] if p.default is p.empty]
    if surplus:
        raise error(surplus[0].name, "a positional argument that no tensor fills")
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in keywords:
            if parameter.default is parameter.empty:
                raise error(parameter.name, "a keyword that the op does not have")
    for keyword in ("out", *schema.attributes):
        if not takes_any and keyword not in by_name:
            raise error(keyword, "no such keyword")
