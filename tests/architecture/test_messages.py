"""Errors that core raises in Python say what was wrong, what was got and expected, and what to do."""

from collections import Counter

import pytest
from messages import faulty_messages
from tree import ROOT, core_sources

# How many raises of a file may lack a part of the form. A number may only fall: a file with fewer fails as well.
ALLOWED: dict[str, int] = {
    "core/autograd/tenora_autograd/function.py": 2,  # PyTorch's words, told without values
    "core/autograd/tenora_autograd/trace.py": 1,  # a formula's line and what it does there
    "core/dispatch/tenora_dispatch/lifecycle.py": 2,  # a backend's own reason; a pair of versions
    "core/dispatch/tenora_dispatch/masks.py": 3,  # completed by who reads the manifest
    "core/dispatch/tenora_dispatch/versions.py": 2,  # the same
    "core/hooks/tenora_hooks/entrypoints.py": 1,  # caught by the reader of entry points
    "core/ops/tenora_ops/python_op.py": 1,  # an argument's misfit and the signature
}


def test_errors_keep_their_form() -> None:
    files = core_sources((".py",))
    found = {name: list(faulty_messages((ROOT / name).read_text())) for name in files}
    count = Counter({name: len(findings) for name, findings in found.items() if findings})
    beyond = [
        f"{name}:{finding.line}: {finding.what}"
        for name in files
        if count[name] > ALLOWED.get(name, 0)
        for finding in found[name]
    ]
    assert beyond == [], "write `[op] what: got ..., expected .... What to do.`"
    assert ALLOWED == dict(count), "fewer than allowed: lower the number"


@pytest.mark.parametrize(
    ("source", "lacking"),
    [
        ("raise ValueError('[a] b: got 1, expected 2. Pass 2.')", None),
        ("raise ValueError(f'[{a}] b: got {x}, expected {y}. Pass {y}.')", None),
        ("raise ValueError(f'[{a}] b: got {x}, expected {y}.' + hint(a))", "what to do"),
        ("raise ValueError(f'[{a}] b: got {x}, expected {y}. ' + hint(a))", None),
        ("def f():\n    raise errors.Wrong('b: got 1, expected 2. Pass 2.')", "[op]"),
        ("raise ValueError('[a] b: expected 2. Pass 2.')", "'got'"),
        ("raise ValueError('[a] b: got 1. Pass 2.')", "'expected'"),
        ("raise ValueError('[a] b. Then: got 1, expected 2.')", "what to do"),
        ("raise refuse('a', 'b')", None),
        ("raise ValueError(message)", None),
        ("raise", None),
    ],
)
def test_the_rule_sees(source: str, lacking: str | None) -> None:
    found = list(faulty_messages(source))
    assert bool(found) == (lacking is not None)
    assert lacking is None or lacking in found[0].what
