"""Names of a package that are loaded when they are first asked for (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

from tenora_dispatch.errors import did_you_mean


def lazy_names(
    namespace: dict[str, Any], modules: Collection[str], members: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of the package with this namespace.

    `modules` are its submodules, `members` names and the submodules that hold them; a submodule with its member's name
    would take the member's place. AttributeError for other names, with the one that a likely typo leads to.
    """
    package = namespace["__name__"]

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f".{name}", package)
        if name in members:
            return namespace.setdefault(name, getattr(import_module(f".{members[name]}", package), name))
        public = [known for known in names() if not known.startswith("_")]
        raise AttributeError(
            f"[{package}] module attribute: got {name!r}, expected a name that {package.rpartition('.')[2]} has. "
            "Check the name." + did_you_mean(name, public),
            name=name,
            obj=None,  # else a traceback adds the interpreter's own suggestion
        )

    def names() -> list[str]:
        return sorted({*namespace, *modules, *members})

    return get, names
