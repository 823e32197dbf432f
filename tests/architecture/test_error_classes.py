"""Errors that core raises in Python are of tenora's own classes, which carry fields and are PyTorch's built-in ones."""

from collections import Counter

import pytest
from messages import BUILTIN, builtin_classes
from tree import ROOT, core_sources

from tenora_dispatch import errors

# Mentions of built-in classes by file, and why. A number may only fall: a file with fewer fails as well.
ALLOWED: dict[str, tuple[int, str]] = {
    "core/dispatch/tenora_dispatch/masks.py": (3, "caught by who reads the manifest"),
    "core/dispatch/tenora_dispatch/versions.py": (2, "the same"),
    "core/engine/tenora_engine/_decorate.py": (1, "the engine imports no other room"),
    "core/frontend/tenora/nn/module_members.py": (1, "a mapping's own, caught by dict's methods"),
    "core/hooks/tenora_hooks/__init__.py": (1, "the room imports no other"),
    "core/hooks/tenora_hooks/entrypoints.py": (1, "caught by the reader of entry points"),
    "core/ops/tenora_ops/__init__.py": (1, "a private name, asked for by hasattr"),
    "core/ops/tenora_ops/formula.py": (2, "a mapping's own, and told to who writes a record"),
    "core/ops/tenora_ops/record.py": (1, "told to who writes a record"),
    "core/ops/tenora_ops/schema.py": (1, "the same"),
}


def test_core_raises_its_own_classes() -> None:
    home = "core/dispatch/tenora_dispatch/errors.py"
    files = core_sources((".py",))
    found = {name: list(builtin_classes((ROOT / name).read_text())) for name in files if name != home}
    beyond = [
        f"{name}:{finding.line}: {finding.what}"
        for name, findings in found.items()
        if len(findings) > ALLOWED.get(name, (0, ""))[0]
        for finding in findings
    ]
    assert beyond == [], (
        "raise the class of tenora_dispatch.errors: `errors.OperationError` is a RuntimeError"
    )
    count = Counter({name: len(findings) for name, findings in found.items() if findings})
    assert {name: number for name, (number, _) in ALLOWED.items()} == dict(count), "fewer: lower the number"


def test_each_has_one_of_its_own() -> None:
    bases = {
        base.__name__
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, errors.TenoraError)
        for base in found.__mro__
    }
    assert bases >= BUILTIN


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("raise ValueError('x')", 1),
        ("raise NotImplementedError", 1),
        ("raise KeyError(name)", 1),
        ("raise AssertionError", 1),
        ("kind = IndexError if a else TypeError", 2),
        ("def f(error=RuntimeError): raise error('x')", 1),
        ("class Own(RuntimeError): pass", 1),
        ("class Own(errors.TenoraError, RuntimeError): pass", 0),
        ("raise errors.ArgumentValueError('x')", 0),
        ("try: f()\nexcept (ValueError, TypeError) as e: raise", 0),
        ("isinstance(e, TypeError)", 0),
        ("with contextlib.suppress(ValueError): f()", 0),
        ("def f(e: TypeError | None) -> RuntimeError: g(e)", 0),
    ],
)
def test_the_rule_sees(source: str, count: int) -> None:
    assert len(list(builtin_classes(source))) == count
