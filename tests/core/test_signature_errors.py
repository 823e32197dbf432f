"""What a call says that no signature takes: the name that was called, never that of an overload inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenora
import tenora_dispatch

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


HALF = 6 / 2  # what a division without // gives


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: api.zeros(2, HALF), "[zeros] item 1 of size is wrong: got float, expected int."),
        (lambda: api.zeros([2, [3]]), "[zeros] item 1 of size is wrong: got list, expected int."),
        (lambda: api.ones(2, 3).sum((0, "a")), "[sum] item 1 of dim is wrong: got str, expected int."),
        (
            lambda: api.ones(2, 3).roll((1, HALF)),
            "[roll] item 1 of shifts is wrong: got float, expected int.",
        ),
        (lambda: api.empty(HALF), "[empty] size is wrong: got float, expected ints."),
        (
            lambda: api.arange(6).split([2, 4.0]),
            "[split] item 1 of split_size_or_sections is wrong: got float, expected int.",
        ),
        (
            lambda: api.arange(6).split("a"),
            "[split] split_size_or_sections is wrong: got str, expected ints.",
        ),
        (lambda: api.unique(api.ones(2), dim="a"), "[unique] dim is wrong: got str, expected int or None."),
    ],
)
def test_the_item_that_is_no_int_is_named(call: Callable[[], Any], told: str) -> None:
    assert refused(call).startswith(f"{told} Signature: ")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: api.ones(2).mT, "[mT] wrong number of dimensions"),
        (lambda: api.ones(2, 2, 2).H, "[H] wrong number of dimensions"),
        (lambda: api.ones(3).unfold(0, 4, 1), "[unfold] window out of range"),
        (lambda: api.ones(3).unfold(0, 1, 0), "[unfold] step is not positive"),
    ],
)
def test_methods_and_properties_without_a_function_are_told_by_their_names(
    call: Callable[[], Any], told: str
) -> None:
    with pytest.raises(tenora.TenoraError) as found:
        call()
    assert str(found.value).startswith(told) and "In its part" not in str(found.value)


@pytest.mark.parametrize("name", ["clamp", "clip", "clamp_"])
def test_a_mistake_that_a_formula_finds_keeps_its_class(name: str) -> None:
    with pytest.raises(tenora.TenoraError) as found:
        getattr(api.ones(2), name)()
    assert type(found.value) is tenora_dispatch.OperationError
    assert str(found.value).startswith("[clamp] no bound: got None and None, expected min, max or both.")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: api.arange(0, 10, -0.5), "got start 0, end 10 and step -0.5, expected"),
        (lambda: api.arange(0.1, 1e300), "got 1e+300, expected"),
        (lambda: api.tensor([1.5e300], dtype=api.int64), "got 1.5e+300, expected"),
    ],
)
def test_numbers_are_told_by_their_fewest_digits(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(RuntimeError) as found:
        call()
    assert told in str(found.value)
