"""A package whose names are loaded when they are asked for writes them several times: the lists agree."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import pytest

from tenora import nn
from tenora.nn import lazy, modules

#: Package -> its lists of submodules and of members that are loaded later.
PACKAGES = {
    "tenora.nn": ("_LAZY_MODULES", "_LAZY"),
    "tenora.nn.utils": ("_MODULES", "_FUNCTIONS"),
    "tenora.optim": ("_MODULES", "_LATER"),
}


def imports(statements: list[ast.stmt]) -> dict[str, str]:
    """The public names that a package imports from itself, and the submodule that each is in; its submodules: ''."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in statements
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if not (alias.asname or alias.name).startswith("_")
    }


def listed(source: str) -> tuple[dict[str, str], dict[str, str]]:
    """What is imported, and what only type checkers see imported."""
    tree = ast.parse(source)
    checked = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    return imports(tree.body), imports([each for node in checked for each in node.body])


def differences(source: str, submodules: Any, members: Any, public: Any) -> list[str]:
    """The lists that are not as the imports say; a submodule that holds members needs no import of its own."""
    now, later = listed(source)
    homes = {name: home for name, home in later.items() if home}
    rooms = set(later) - set(homes)
    found = {
        "submodules": not rooms <= set(submodules) <= rooms | set(members.values()),
        "members": homes != members,
        "__all__": sorted(public) != sorted({*now, *later}),
    }
    return [kind for kind, differs in found.items() if differs]


@pytest.mark.parametrize("name", PACKAGES)
def test_lists_of_a_package_agree(name: str) -> None:
    package: Any = importlib.import_module(name)
    submodules, members = (getattr(package, each) for each in PACKAGES[name])
    source = Path(package.__file__).read_text()
    assert differences(source, submodules, members, package.__all__) == []
    assert all(hasattr(package, public) for public in package.__all__)


SOURCE = "from .a import A\nif TYPE_CHECKING:\n    from . import b\n    from .c import C\n"


@pytest.mark.parametrize(
    ("submodules", "members", "public", "found"),
    [
        (["b"], {"C": "c"}, ["A", "C", "b"], []),
        (["b", "c"], {"C": "c"}, ["A", "C", "b"], []),
        (["b", "a"], {"C": "c"}, ["A", "C", "b"], ["submodules"]),
        ([], {"C": "c"}, ["A", "C", "b"], ["submodules"]),
        (["b"], {"C": "d"}, ["A", "C", "b"], ["members"]),
        (["b"], {}, ["A", "C", "b"], ["members"]),
        (["b"], {"C": "c"}, ["A", "C"], ["__all__"]),
        (["b"], {"C": "c"}, ["A", "A", "C", "b"], ["__all__"]),
    ],
)
def test_differences_are_found(submodules: Any, members: Any, public: Any, found: list[str]) -> None:
    assert differences(SOURCE, submodules, members, public) == found


#: Of `nn`, and of no submodule of `nn.modules` in PyTorch either.
BESIDE = {"Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter"}


def test_the_paths_of_pytorch_show_every_class() -> None:
    classes = {name for name in nn.__all__ if isinstance(getattr(nn, name), type)}
    assert sorted(modules.__all__) == sorted(classes - BESIDE)


def test_lazy_layers_are_listed() -> None:
    defined = [
        name
        for name, kind in vars(lazy).items()
        if getattr(kind, "__module__", "") == lazy.__name__ and name[0] != "_"
    ]
    assert sorted(lazy.__all__) == sorted(name for name in defined if isinstance(getattr(lazy, name), type))
