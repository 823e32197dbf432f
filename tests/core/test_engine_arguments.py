"""How OpFunctions read their arguments, what they say when they cannot, and how foreign types take a call over."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tenora
from tenora_engine import _engine


class Foreign:
    """Takes every call that it takes part in."""

    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    @staticmethod
    def __tenora_op__(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        Foreign.calls.append((function, args, kwargs))
        return "foreign"


class ForeignNumber(Foreign):
    """A stand-in for an attribute."""

    __tenora_attribute__ = True


def square() -> tenora.Tensor:
    return tenora.tensor([[1.0, 2.0], [3.0, 4.0]])


def test_positional_keyword_and_default() -> None:
    x = square()
    expected = x.sum(1, True).tolist()
    assert x.sum(dim=1, keepdim=True).tolist() == expected
    assert tenora.sum(x, [1], keepdim=True).tolist() == expected
    assert tenora.sum(input=x, dim=(1,), keepdim=np.True_).tolist() == expected
    assert tenora.sum(x, axis=1, keepdims=True).tolist() == expected
    assert x.sum(np.int64(1), True).tolist() == expected


def test_trailing_ints() -> None:
    x = square()
    assert x.view(4).shape == x.view(2, 2).view((4,)).shape == x.view([4]).shape == x.view(-1).shape
    assert x.permute(1, 0).tolist() == x.permute((1, 0)).tolist() == x.t().tolist()


def test_overloads_first_match_wins() -> None:
    x = square()
    assert x.max().item() == 4.0
    values, indices = x.max(1)
    assert values.tolist() == [2.0, 4.0] and indices.tolist() == [1, 1]
    assert x.max(square()).tolist() == x.tolist()


def test_named_results() -> None:
    result = square().max(dim=0)
    assert result.values.tolist() == [3.0, 4.0] and result.indices.tolist() == [1, 1]
    assert isinstance(result, tuple) and len(result) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.sum(foo=1), ["sum", "foo"]),
        (lambda x: x.sum(1, dim=1), ["sum", "dim", "twice"]),
        (lambda x: x.sum("a"), ["sum", "dim", "str"]),
        (lambda x: x.view("a"), ["view", "str"]),
        (lambda x: tenora.exp(), ["exp", "input"]),
        (lambda x: tenora.exp(x, x), ["exp", "too many"]),
        (lambda x: tenora.exp([1.0]), ["exp", "list", "Tensor"]),
        (lambda x: tenora.exp(np.ones(2)), ["exp", "ndarray", "Tensor"]),
        (lambda x: tenora.exp(x, out=3), ["exp", "out", "int"]),
        (lambda x: x.max(1, 2, 3, 4), ["max", "expected one of", "int"]),
        (lambda x: tenora.cat(x), ["cat", "Tensor"]),
        (lambda x: tenora.cat([x, 1]), ["cat", "item 1", "int"]),
        (lambda x: x.add("1"), ["add", "str"]),
        (lambda x: x.softmax("x"), ["softmax", "dim"]),
        (lambda x: x.sum(True), ["sum", "dim", "bool"]),
    ],
)
def test_wrong_arguments_are_named(call: Any, words: list[str]) -> None:
    with pytest.raises(TypeError) as caught:
        call(square())
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_numbers_that_do_not_fit() -> None:
    x = tenora.tensor([1])
    with pytest.raises(RuntimeError, match=r"\[add\] integer is out of range"):
        x + 2**70
    with pytest.raises(RuntimeError, match=r"\[view\] integer is out of range"):
        x.view(2**70)
    with pytest.raises(IndexError):
        x[2**62]


class BadIndex:
    """Raises when it is used as an index."""

    def __index__(self) -> int:
        raise ZeroDivisionError("no index")


def test_errors_of_arguments_pass_through() -> None:
    for call in (
        lambda x: x.view(BadIndex()),
        lambda x: x[BadIndex()],
        lambda x: x.sum([BadIndex()]),
        lambda x: x[BadIndex() :],
    ):
        with pytest.raises(ZeroDivisionError, match="no index"):
            call(square())


def test_list_that_shrinks_while_it_is_read() -> None:
    sizes: list[Any] = []

    class Shrinks:
        def __index__(self) -> int:
            sizes.clear()
            return 1

    sizes.extend([Shrinks(), 4, 4, 4])
    with pytest.raises(RuntimeError, match="changed its size"):
        square().view(sizes)


def test_foreign_argument_takes_the_call() -> None:
    x, f = square(), Foreign()
    Foreign.calls.clear()
    assert tenora.add(x, f) == "foreign"
    assert x.add(f) == x + f == f + x if hasattr(f, "__add__") else True
    assert x.mul(other=f) == "foreign"
    assert tenora.cat([x, f]) == "foreign"
    assert x.sum(ForeignNumber()) == "foreign"
    assert x.view([2, ForeignNumber()]) == "foreign"
    function, args, kwargs = Foreign.calls[0]
    Foreign.calls.clear()
    assert function is tenora.add and args == (x, f) and kwargs == {}


def test_operator_with_a_foreign_operand() -> None:
    x, f = square(), Foreign()
    Foreign.calls.clear()
    assert x * f == "foreign"
    function, args, _ = Foreign.calls.pop()
    assert function.ops == ("mul",) and args == (x, f)


def test_bind_resolves_without_calling() -> None:
    x, f, n = square(), Foreign(), ForeignNumber()
    assert tenora.add.bind((x, 2), {}) == ("add", [x, 2], [])
    assert tenora.sum.bind((f,), {"dim": n}) == ("sum", [f], [n, False, None])
    assert tenora.sum.bind((f, (0, n)), {}) == ("sum", [f], [(0, n), False, None])
    assert tenora.max.bind((f, 1), {})[0] == "max_dim"
    assert tenora.cat.bind(([x, f],), {}) == ("cat", [x, f], [0])
    with pytest.raises(TypeError, match="expected one of"):
        tenora.sum.bind((n,), {})


def test_what_a_function_tells_of_itself() -> None:
    assert tenora.exp.__name__ == "exp"
    assert tenora.exp.__doc__
    assert list(inspect.signature(tenora.sum).parameters)[:2] == ["input", "dim"]
    assert tenora.exp.kind == "function" and tenora.Tensor.exp.kind == "method"
    assert "sum(input: Tensor" in tenora.sum.signatures[0]


def test_methods_bind_like_functions() -> None:
    x = square()
    bound = x.exp
    assert bound().tolist() == tenora.exp(x).tolist()
    assert tenora.Tensor.exp(x).tolist() == bound().tolist()
    assert list(map(tenora.Tensor.item, x.view(4))) == [1.0, 2.0, 3.0, 4.0]


def test_inplace_returns_self_and_out_returns_out() -> None:
    x = square()
    assert x.add_(1) is x
    out = tenora.empty(2, 2)
    assert tenora.add(x, 1, out=out) is out
    assert out.tolist() == (x + 1).tolist()


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "f",
        "f(",
        "f(x)",
        "f(x: Foo) -> Tensor",
        "f(x: Tensor = 3) -> Tensor",
        "f(a: Tensor[], b: Tensor) -> Tensor",
        "f(*, *, a: int) -> Tensor",
        "f(a: int = 'x') -> Tensor",
        "f(a: int) -> int",
        "f(a: int = 99999999999999999999) -> Tensor",
    ],
)
def test_bad_signatures_are_value_errors(signature: str) -> None:
    with pytest.raises(ValueError, match="signature"):
        _engine.register_op(name="test_engine_bad", signature=signature)


def test_unknown_registrations_are_errors() -> None:
    with pytest.raises(ValueError, match="no_such_op"):
        _engine.make_function("f", ["no_such_op"])
    with pytest.raises(ValueError, match="slot"):
        _engine.set_operator("sideways", tenora.add)
    with pytest.raises(ValueError, match="fit"):
        _engine.set_operator("neg", tenora.add)
    with pytest.raises(ValueError, match="ad"):
        _engine.op_info("ad")
