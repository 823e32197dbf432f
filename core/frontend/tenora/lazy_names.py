"""Names of a package that are loaded when they are first asked for (PEP 562), and what is said of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tenora_dispatch.errors import MissingAttributeError, MissingModuleError, did_you_mean

from .not_yet import NOT_YET


def lazy_names(
    namespace: dict[str, Any], modules: Collection[str], members: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of the package with this namespace.

    `modules` are its submodules, `members` names and the submodules that hold them; a submodule with its member's name
    would take the member's place. Other names are `refused`.
    """
    package = namespace["__name__"]

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f".{name}", package)
        if name in members:
            return namespace.setdefault(name, getattr(import_module(f".{members[name]}", package), name))
        raise refused(package, name, names())

    def names() -> list[str]:
        return sorted({*namespace, *modules, *members})

    return get, names


def refused(package: str, name: str, known: Iterable[str]) -> Exception:
    """The error for a name that a package does not have, called by its `__getattr__`.

    An AttributeError with what to do meanwhile, or with the name that a likely typo leads to. Where a name that is not
    there yet is imported, it is the ImportError: Python would say no more than that there is no such name.
    """
    text = _not_yet(package, name)
    if text is not None:
        # Where `from package import name` asks: what is raised there ends it, unless it is an AttributeError.
        if sys._getframe(2).f_code.co_name == "_handle_fromlist":
            return ImportError(text, name=package)
    else:
        text = (
            f"[{package}] module attribute: got {name!r}, expected a name that {package.rpartition('.')[2]} has. "
            "Check the name." + did_you_mean(name, [public for public in known if not public.startswith("_")])
        )
    # Without the object a traceback adds no suggestion of the interpreter's own.
    return MissingAttributeError(text, name=name)


def _not_yet(package: str, name: str) -> str | None:
    remedy = NOT_YET.get(package, {}).get(name)
    if remedy is None:
        return None
    return f"[{package}] {name}: got a name that tenora does not have yet, expected one it has. {remedy}"


class AbsentModules:
    """The last finder of all: it says of `import tenora.distributions` what `refused` says, and finds `tenora.cuda`.

    Asked only for what no other finder knows; a name outside the table is left to Python's own error.
    """

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None but for a kind of device; MissingModuleError for a name of `NOT_YET`.

        >>> AbsentModules.find_spec("tenora.linear") is None
        True
        """
        package, _, name = fullname.rpartition(".")
        text = _not_yet(package, name)
        if text is not None:
            raise MissingModuleError(text, name=fullname)
        if package != __package__:
            return None
        from .accelerator import spec_of

        return spec_of(getattr(sys.modules[package], name, None))


def install_finder() -> None:
    """Puts `AbsentModules` behind all finders; called once when tenora is imported."""
    if AbsentModules not in sys.meta_path:
        sys.meta_path.append(AbsentModules)
