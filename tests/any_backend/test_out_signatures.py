"""A public function that takes out= says so: in its signature, its documentation and the stub; no other one does."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from public_calls import NAMES, calls, public

import tenora
import tenora_ops
from tenora_engine._engine import OpFunction

#: How a call says that it takes none.
REFUSALS = (
    r"takes no out=|unexpected keyword argument 'out'|no signature takes|missing argument|unknown keyword"
)


def empty_like(result: Any) -> Any:
    """A target for one result; what is no tensor (`allclose`, the edges of `histogramdd`) gets any."""
    return tenora.empty_like(result) if isinstance(result, tenora.Tensor) else tenora.empty(0)


def takes_out(name: str) -> bool:
    """Whether any call writes into targets and gives them back."""
    function, found = public(name), False
    for arguments, options in calls(name):
        with tenora.no_grad():
            result = function(*arguments, **options)
            several = isinstance(result, tuple)
            targets = tuple(map(empty_like, result)) if several else empty_like(result)
            try:
                again = function(*arguments, **options, out=targets)
            except TypeError as error:
                assert re.search(REFUSALS, str(error)), error
                continue
        found = True
        assert all(a is t for a, t in zip(again, targets, strict=True)) if several else again is targets
    return found


def shown_in(text: str) -> dict[str, bool]:
    """Name -> whether any of its overloads in a stub has `out`."""
    shown: dict[str, bool] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            here = any(a.arg == "out" for a in node.args.kwonlyargs)
            shown[node.name] = shown.get(node.name, False) or here
    return shown


STUB = shown_in((Path(tenora_ops.__file__).parent / "functions.pyi").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_out_is_shown_where_it_is_taken(name: str) -> None:
    function, takes = public(name), takes_out(name)
    assert ("out" in inspect.signature(function).parameters) == takes
    if type(function) is OpFunction:
        assert bool(re.search(r"\bout: Tensor", function.__doc__ or "")) == takes
        assert ("out=None" in function.__text_signature__) == takes
    if name in STUB:
        assert STUB[name] == takes
