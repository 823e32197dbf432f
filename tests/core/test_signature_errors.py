"""What a call says that no signature takes: the name that was called, never that of an overload inside."""

from __future__ import annotations

from typing import Any

import pytest

import tenora

api: Any = tenora
OVERLOADED = sorted(
    name
    for name in dir(tenora)
    if isinstance(function := getattr(tenora, name), type(api.add)) and len(function.ops) > 1
)


def refused(function: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(TypeError) as found:
        function(*args, **kwargs)
    return str(found.value)


def test_there_are_functions_of_several_forms() -> None:
    assert {"add", "max", "div", "norm"} <= set(OVERLOADED)


@pytest.mark.parametrize("name", OVERLOADED)
def test_every_form_is_shown_under_the_name_of_the_call(name: str) -> None:
    function = getattr(tenora, name)
    first, *forms = refused(function, tenora.ones(2), nonsense=1).split("\n")
    assert first == (
        f"[{function.__name__}] unknown keyword 'nonsense': got (Tensor, nonsense=int), expected one of:"
    )
    assert len(forms) == len(function.ops)
    assert all(form.startswith(f"    {function.__name__}(") for form in forms)
    with pytest.raises(TypeError) as found:
        function.bind((tenora.ones(2),), {"nonsense": 1})
    assert str(found.value).split("\n")[1:] == forms


def test_methods_and_forms_in_place_show_theirs() -> None:
    x = api.ones(2)
    assert "\n    add(input: Tensor" in refused(x.add, x, beta=2)
    text = refused(x.add_, x, beta=2)
    assert text.startswith("[add_] unknown keyword 'beta'") and "\n    add_(input: Tensor" in text
    assert (
        "[inv] too many positional arguments: got 2, expected at most 1. Signature: inv(A: Tensor)"
        in refused(api.linalg.inv, x, 1)
    )


def test_a_keyword_that_some_form_has_is_not_unknown() -> None:
    x = api.ones(2)
    for text in (
        refused(tenora.add, 1, 2, 3, 4),
        refused(tenora.add, x, 1, alpha="x"),
        refused(tenora.max, x, axis="x"),
        refused(tenora.max, x, keepdims="x"),
        refused(tenora.max, x, 1, 2, 3, out=None),
    ):
        assert "no signature takes these arguments: got (" in text
    assert "unknown keyword 'rounding': got" in refused(tenora.div, x, x, rounding="floor")
