"""Every public name has a docstring with an example, and the example runs and says what it shows.

- Names are found by walking: what each namespace offers, and the public methods of the classes among it.
- A method that overrides another is explained by that one: an example along the chain of bases will do. So `forward`
  of a layer is shown by the example of its class and by `Module.forward`.
- An op's docstring is made from its record, whose example runs in the tests of records; the types and functions of the
  engine are C++, and are described by its stubs.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tenora
import tenora_engine

#: Public modules that are no packages. Packages are public by themselves, but the command line.
FILES = (
    "accelerator",
    "autograd",
    "fft",
    "func",
    "linalg",
    "nn.functional",
    "nn.init",
    "nn.parallel",
    "nn.parameter",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.stateless",
    "optim.optimizer",
    "optim.swa_utils",
    "profiler",
    "random",
    "signal.windows",
    "special",
    "utils.dlpack",
    "utils.hooks",
)
PACKAGES = [
    found.name
    for found in pkgutil.walk_packages(tenora.__path__, "tenora.")
    if found.ispkg and "._" not in found.name and found.name != "tenora.cli"
]
SPACES = ["tenora", *PACKAGES, *(f"tenora.{name}" for name in FILES)]


def offered(space: str) -> Iterator[tuple[str, Any]]:
    """What a namespace offers: what `__all__` lists, or without one its own public names."""
    module = importlib.import_module(space)
    listed = getattr(module, "__all__", None)
    names = [name for name in vars(module) if not name.startswith("_")] if listed is None else listed
    for name in names:
        value = getattr(module, name)
        own = listed is not None or getattr(value, "__module__", None) == space
        if own and callable(value) and getattr(tenora_engine, name, None) is not value:
            yield f"{space}.{name}", value


def code_of(member: object) -> Any:
    """The Python function behind a method, a class method or a property; None for what is something else."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    return function if inspect.isfunction(function) else None


def methods(where: str, kind: type) -> Iterator[tuple[str, list[Any]]]:
    """The public methods of a class that are tenora's own, each with the methods that it overrides behind it."""
    for name in dir(kind):
        chain = [code for base in kind.__mro__ if name in vars(base) and (code := code_of(vars(base)[name]))]
        if chain and not name.startswith("_") and chain[0].__module__.startswith("tenora"):
            yield f"{where}.{name}", chain


def documented() -> Iterator[tuple[str, list[Any]]]:
    """Every public name of Python's with what may hold its example."""
    seen: set[int] = set()
    kinds: list[tuple[str, type]] = [("tenora.Tensor", tenora.Tensor)]
    for space in SPACES:
        for where, value in offered(space):
            if id(value) not in seen:
                seen.add(id(value))
                yield where, [value]
                if inspect.isclass(value):
                    kinds.append((where, value))
    for where, kind in kinds:
        yield from methods(where, kind)


def has_example(value: object) -> bool:
    return ">>>" in (value.__doc__ or "")


def test_every_public_name_shows_an_example() -> None:
    found = dict(documented())
    assert len(found) > 1500
    assert not [where for where, holders in found.items() if not any(map(has_example, holders))]


def test_the_walk_sees_what_lacks_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare() -> None:
        """No example."""

    class Bare:
        """None here.

        >>> None
        """

        def method(self) -> None:
            """Nor here."""

    bare.__module__ = Bare.__module__ = Bare.method.__module__ = "tenora.nn"
    monkeypatch.setattr(tenora.nn, "bare", bare, raising=False)
    monkeypatch.setattr(tenora.nn, "Bare", Bare, raising=False)
    monkeypatch.setattr(tenora.nn, "__all__", [*tenora.nn.__all__, "bare", "Bare"])
    missing = {where for where, holders in documented() if not any(map(has_example, holders))}
    assert missing == {"tenora.nn.bare", "tenora.nn.Bare.method"}


@functools.cache
def examples() -> list[tuple[str, Any]]:
    """What Python holds examples, each once; those of ops are their records'."""
    holders = {
        id(value): (where, value)
        for where, values in documented()
        for value in values
        if (inspect.isfunction(value) or inspect.isclass(value)) and has_example(value)
    }
    return sorted(holders.values(), key=lambda held: held[0])


def run(where: str, value: Any) -> str:
    """What went wrong in the example, or an empty text."""
    written = inspect.unwrap(value)
    module = sys.modules.get(getattr(written, "__module__", ""), tenora)
    test = doctest.DocTestParser().get_doctest(value.__doc__, dict(vars(module)), where, None, None)
    told = io.StringIO()
    tenora.manual_seed(0)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.write)
    return told.getvalue()


@pytest.mark.parametrize("group", sorted({where.rpartition(".")[0] for where, _ in examples()}))
def test_the_examples_run(group: str) -> None:
    wrong = [run(where, value) for where, value in examples() if where.rpartition(".")[0] == group]
    assert not any(wrong), "\n".join(wrong)


def test_an_example_that_shows_something_else_fails() -> None:
    def wrong() -> None:
        """One.

        >>> 1 + 1
        3
        """

    assert "Expected:\n    3\nGot:\n    2" in run("wrong", wrong)
