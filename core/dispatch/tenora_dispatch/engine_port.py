"""The part of the engine's Python face that the dispatcher uses, as a protocol.

The dispatcher is written against this, so its rules can be tested on a recording double, and a reader sees in one
place what crosses between the two rooms.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

Mode = Literal["error", "warn", "allow"]


class Engine(Protocol):
    """Functions of `tenora_engine._engine`; see its stub file for what each does."""

    def register_backend(
        self, name: str, version: str, spaces: Sequence[str], *, wrap: Any = None, reference: bool = False
    ) -> int: ...

    def register_space(
        self,
        device_type: str,
        provider: str,
        *,
        dlpack_type: int,
        device_count: int,
        alloc: Callable[..., int],
        release: Callable[..., None],
        copy: Callable[..., None],
        host_accessible: bool = False,
        host_order: bool = True,
        granule: int = 0,
        alignment: int = 0,
        memory_info: Any = None,
        synchronize: Any = None,
    ) -> int: ...

    def register_kernel(
        self, backend: str, op: str, fn: Any, *, dtypes: int = ..., flags: int = 0, supports: Any = None
    ) -> None: ...

    def load_native_backend(
        self, path: str, expected_name: str = "", options: Mapping[str, str] = ...
    ) -> Mapping[str, Any]: ...

    def set_backend_option(self, backend: str, option: str, value: str) -> None: ...

    def space_names(self) -> list[str]: ...

    def backend_names(self) -> list[str]: ...

    def set_default_backend(self, space: str, name: str | None) -> None: ...

    def default_backend(self, space: str) -> str | None: ...

    def set_override_backend(self, space: str, name: str | None) -> str | None: ...

    def set_fallback(self, mode: Mode) -> Mode: ...

    def fallbacks(self) -> list[tuple[str, str, int]]: ...

    def explain(self, op: str, device: str, dtype: Any) -> Mapping[str, Any]: ...

    def set_chooser(self, chooser: Callable[[str], str]) -> None: ...

    def set_error_classes(self, classes: Mapping[str, type[BaseException]]) -> None: ...

    def set_host_info(self, tenora_version: str, opset_version: str) -> None: ...

    def op_names(self) -> list[str]: ...

    def op_info(self, name: str) -> Mapping[str, Any]: ...
