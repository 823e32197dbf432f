"""Whatever a public function refuses, it says so by one of tenora's errors, with fields, that is a built-in one too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from public_calls import NAMES, calls, public

import tenora
from tenora_dispatch.errors import TenoraError

#: What takes the place of one argument of a sound call after another.
ODD: dict[str, Callable[[Any], Any]] = {
    "an object": lambda value: object(),
    "a large number": lambda value: 99,
    "text": lambda value: "odd",
    "one dim": lambda value: tenora.ones(13),
    "a complex one": lambda value: tenora.ones(2, 2, dtype=tenora.complex64),
    "a list": lambda value: [1, 2, 3, 4, 5, 6, 7],
}

#: Functions in Python to which a wrong *type* is told by Python itself (`object < int`), as PyTorch's own are. The list
#: may only get shorter.
BARE = {
    "linspace",
    *(f"nn.functional.{name}" for name in ("gaussian_nll_loss", "rrelu", "triplet_margin_loss")),
}


def odd_calls(name: str) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """For each overload a sound call, with each argument odd in turn."""
    for arguments, options in calls(name):
        for odd in ODD.values():
            for place, value in enumerate(arguments):
                yield [*arguments[:place], odd(value), *arguments[place + 1 :]], options
            for key, value in options.items():
                yield arguments, options | {key: odd(value)}


def problem(error: Exception) -> str:
    """What an error lacks; "" for a good one."""
    if not isinstance(error, TenoraError):
        return "another class"
    if not isinstance(error, RuntimeError | TypeError | ValueError | IndexError | NotImplementedError):
        return "no built-in class"
    if not error.op or not error.code:
        return "no op or code"
    return "" if str(error).startswith(f"[{error.op}") else f"another op in the text: {error.op}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_has_fields(name: str) -> None:
    function, faults, refused = public(name), [], 0
    with np.errstate(all="ignore"), tenora.random.fork_rng():
        for arguments, options in odd_calls(name):
            try:
                function(*arguments, **options)
            except Exception as error:
                refused += 1
                if what := problem(error):
                    faults.append((type(error), f"{what}: {error}"))
    if name in BARE:
        assert faults, "no longer bare: take it out"
        faults = [fault for fault in faults if fault[0] not in (TypeError, AttributeError)]
    assert faults == []
    assert refused or not list(odd_calls(name))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tenora.take(tenora.ones(5), tenora.tensor([9])),
        lambda: tenora.ones(5)[tenora.tensor([9])],
        lambda: tenora.ones(5).put(tenora.tensor([9]), tenora.ones(1)),
        lambda: tenora.ones(5).index_fill(0, tenora.tensor([9]), 1.0),
        lambda: tenora.ones(5).index_put_((tenora.tensor([9]),), tenora.ones(1), accumulate=True),
        lambda: tenora.ones(5).gather(0, tenora.tensor([9])),
    ],
)
def test_an_index_is_told_in_the_same_words_by_every_backend(call: Callable[[], Any], backend: str) -> None:
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 0 with size 5"):
        call()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda f: f.fractional_max_pool2d(tenora.ones(1, 1, 7, 7), 2.0, 3),
            TypeError,
            r"^\[fractional_max_pool2d\] kernel_size: got 2.0, expected an int",
        ),
        (
            lambda f: f.fractional_max_pool3d(tenora.ones(1, 1, 7, 7, 7), 2, float("inf")),
            TypeError,
            r"^\[fractional_max_pool3d\] output_size: got inf, expected an int",
        ),
        (
            lambda f: f.hardtanh(tenora.ones(2, dtype=tenora.int32), -1.0, float("inf")),
            RuntimeError,
            r"^\[hardtanh\] bounds: got -1.0 and inf for tenora.int32, expected finite numbers",
        ),
        (
            lambda f: f.ctc_loss(
                tenora.zeros(4, 2, 3), tenora.ones(4, 2), tenora.tensor([4, 4]), tenora.tensor([1, 1])
            ),
            RuntimeError,
            r"^\[ctc_loss\] targets: got \[4, 2\], expected 2 rows",
        ),
    ],
)
def test_what_python_would_tell_is_told_in_form(
    call: Callable[[Any], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        call(tenora.nn.functional)
    assert problem(caught.value) == ""
