"""Mistakes raise PyTorch's exception types, name op and values, and lose nothing. Nothing crashes the interpreter."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenora
import tenora_ops


def f(*shape: int, **options: Any) -> tenora.Tensor:
    return tenora.ones(*shape, **options)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = {
    "shapes do not broadcast": (lambda: f(2, 3) * f(2, 2), RuntimeError, ("[mul]", "[2, 3]", "[2, 2]")),
    "inner sizes differ": (lambda: tenora.mm(f(2, 3), f(2, 3)), RuntimeError, ("[mm]", "[2, 3]")),
    "rank for mm": (lambda: tenora.mm(f(2), f(2, 3)), RuntimeError, ("[mm]",)),
    "dtypes in matmul": (
        lambda: f(2, 2) @ f(2, 2, dtype=tenora.float64),
        RuntimeError,
        ("[matmul]", "float32", "float64"),
    ),
    "dim out of range": (lambda: f(2, 3).sum(2), IndexError, ("[sum]", "2")),
    "dim twice": (lambda: f(2, 3).sum((0, 0)), RuntimeError, ("[sum]", "0")),
    "index out of range": (lambda: f(3)[3], IndexError, ("[getitem]", "got 3")),
    "negative index out of range": (lambda: f(3)[-4], IndexError, ("[getitem]", "got -4")),
    "too many indices": (lambda: f(3)[0, 0], IndexError, ("[getitem]", "got 2", "float32[3]")),
    "index of a 0-d tensor": (lambda: f()[0], IndexError, ("[getitem]", "0-d")),
    "index by float": (lambda: f(3)[1.5], (TypeError, IndexError), ("float",)),  # type: ignore[dict-item]
    "index by string": (lambda: f(3)["a"], (TypeError, IndexError), ("str",)),  # type: ignore[dict-item]
    "view of another size": (lambda: f(4).view(3), RuntimeError, ("[view]", "[3]", "4")),
    "view of strides": (lambda: f(2, 3).t().view(6), RuntimeError, ("[view]", "reshape")),
    "two inferred sizes": (lambda: f(4).view(-1, -1), RuntimeError, ("[view]",)),
    "permute twice": (lambda: f(2, 3).permute(0, 0), RuntimeError, ("[permute]",)),
    "expand": (lambda: f(3).expand(2, 4), RuntimeError, ("[expand]", "4", "3")),
    "cat of other sizes": (lambda: tenora.cat([f(2, 3), f(3, 2)]), RuntimeError, ("[cat]",)),
    "cat of nothing": (lambda: tenora.cat([]), (RuntimeError, ValueError), ("[cat]",)),  # type: ignore[dict-item]
    "stack of other sizes": (lambda: tenora.stack([f(2), f(3)]), RuntimeError, ("[stack]",)),
    "argmax of nothing": (lambda: f(0).argmax(), (IndexError, RuntimeError), ("[argmax]",)),  # type: ignore[dict-item]
    "max of nothing": (lambda: f(0).max(), RuntimeError, ("[max]", "[0]")),
    "item of many": (lambda: f(2).item(), RuntimeError, ("2",)),
    "bool of many": (lambda: bool(f(2)), RuntimeError, ()),
    "gather needs int64": (lambda: f(3).gather(0, f(1)), RuntimeError, ("[gather]", "int64")),
    "gather out of range": (
        lambda: f(3).gather(0, tenora.tensor([5])),
        (IndexError, RuntimeError),  # type: ignore[dict-item]
        ("5", "3"),
    ),
    "index tensor out of range": (lambda: f(3)[tenora.tensor([7])], IndexError, ("7", "3")),
    "in place changes dtype": (
        lambda: f(2, dtype=tenora.int64).add_(1.5),
        RuntimeError,
        ("[add", "int64", "float"),
    ),
    "in place changes shape": (lambda: f(2).add_(f(3, 2)), RuntimeError, ("[add",)),
    "in place on a leaf": (lambda: f(2, requires_grad=True).add_(1), RuntimeError, ("leaf",)),
    "in place on an expanded tensor": (lambda: f(1).expand(3).add_(1), RuntimeError, ()),
    "grad of an integer": (lambda: f(2, dtype=tenora.int64).requires_grad_(), RuntimeError, ("int64",)),
    "backward of a vector": (lambda: (f(2, requires_grad=True) * 2).backward(), RuntimeError, ("scalar",)),
    "backward of a constant": (lambda: f(1).backward(), RuntimeError, ("grad",)),
    "unknown keyword": (lambda: tenora.sum(f(2), dimension=0), TypeError, ("sum", "dimension")),
    "missing argument": (lambda: tenora.add(f(2)), TypeError, ("add", "other")),
    "a string operand": (lambda: tenora.add(f(2), "x"), TypeError, ("add", "str")),
    "a ragged list": (lambda: tenora.tensor([[1], [1, 2]]), ValueError, ()),
    "a list of strings": (lambda: tenora.tensor(["a"]), (TypeError, ValueError), ("str",)),  # type: ignore[dict-item]
    "a huge integer": (lambda: tenora.tensor(10**30), (RuntimeError, OverflowError), ()),  # type: ignore[dict-item]
    "a negative size": (lambda: tenora.zeros(-1), RuntimeError, ("-1",)),
    "rank over 64": (lambda: tenora.zeros([1] * 65), (RuntimeError, ValueError), ("65", "64")),  # type: ignore[dict-item]
    "sizes that overflow": (lambda: tenora.zeros(2**40, 2**40), RuntimeError, ()),
    "more memory than there is": (lambda: tenora.zeros(2**50), tenora.OutOfMemoryError, ()),
    "unknown device": (lambda: tenora.zeros(1, device="nope"), RuntimeError, ("nope",)),
    "device index": (lambda: tenora.zeros(1, device="cpu:5"), RuntimeError, ("cpu", "5")),
    "unknown backend": (lambda: tenora.set_default_backend("refrence"), Exception, ("refrence", "reference")),
    "bad reduction": (
        lambda: tenora.nn.functional.mse_loss(f(2), f(2), reduction="avg"),
        ValueError,
        ("avg", "mean"),
    ),
    "class out of range": (
        lambda: tenora.nn.functional.nll_loss(f(2, 3), tenora.tensor([0, 3])),
        (IndexError, RuntimeError),  # type: ignore[dict-item]
        ("3",),
    ),
    "subtract booleans": (
        lambda: tenora.tensor(True) - tenora.tensor(False),
        RuntimeError,
        ("[sub]", "bool"),
    ),
    "integer division by zero": (
        lambda: tenora.tensor([1]) // tenora.tensor([0]),
        (RuntimeError, ZeroDivisionError),  # type: ignore[dict-item]
        (),
    ),
    "integer to a negative power": (lambda: tenora.tensor([2]) ** -1, RuntimeError, ("[pow]",)),
    "shift of floats": (lambda: f(2) & f(2), RuntimeError, ("[bitwise_and]", "float32")),
    "step zero": (lambda: tenora.arange(0, 5, 0), RuntimeError, ("[arange]",)),
    "slice step zero": (lambda: f(3)[::0], ValueError, ()),
    "normal with a negative deviation": (lambda: f(3).normal_(0, -1), RuntimeError, ("-1",)),
    "dropout probability": (lambda: tenora.nn.functional.dropout(f(2), 1.5), ValueError, ("1.5",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, backend: str) -> None:
    call, kind, parts = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), f"{part!r} is missing from: {caught.value}"
    assert (f(2) + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "fail",
    [
        lambda x: x.add_(f(3)),
        lambda x: x.mul_(f(2, 2, 2, 2)),
        lambda x: x.copy_(f(7)),
        lambda x: x.__setitem__(slice(None), f(5)),
        lambda x: x.__setitem__(tenora.tensor([0, 9]), 1.0),
        lambda x: x.scatter_(0, tenora.tensor([[9, 0]]), f(1, 2)),
        lambda x: x.add_("x"),
        lambda x: tenora.add(f(2, 2), f(3), out=x),
        lambda x: x.index_put_([tenora.tensor([0, 5])], f(2, 2)),
    ],
)
def test_a_failing_write_leaves_its_target_unchanged(
    fail: Callable[[tenora.Tensor], Any], backend: str
) -> None:
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]])
    version = x._version
    with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)):
        fail(x)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x._version == version


class _Raising:
    def __index__(self) -> int:
        raise KeyError("from __index__")

    def __float__(self) -> float:
        raise KeyError("from __float__")


def _hostile() -> list[Any]:
    nested: list[Any] = []
    nested.append(nested)
    return [
        None, True, 0, 1, -1, 3, 2**31, 2**63 - 1, -(2**63), 2**64, 10**40, 0.0, -1.5, float("nan"), float("inf"), 1j,
        "", "mean", "float32", b"x", (), [], [0], [0, 1], (1, 1), [-1], [2**62, 2**62], [1] * 65, nested, [None], {},
        object(), _Raising(), slice(None), ..., np.float32(2), np.arange(3), np.zeros((2, 3), np.float32),
        np.array("x"), np.zeros(2, "M8[s]"), tenora.float32, tenora.int64, tenora.device("cpu"), tenora.Tensor,
        f(), f(0), f(3), f(2, 3), f(2, 3).t(), f(1).expand(4), f(2, 0, 3), f(3, dtype=tenora.int64),
        f(2, 3, dtype=tenora.bool), f(3, dtype=tenora.bfloat16), f(3, dtype=tenora.complex64),
        f(3, dtype=tenora.uint64), f(3)[::-1], f(3, requires_grad=True), f(3, requires_grad=True) * 2,
        tenora.tensor([0, 99]), tenora.tensor([-1, 1]), [f(2), f(2)], [f(2), None], [f(2), 3],
    ]  # fmt: skip


def test_hostile_arguments_only_raise(backend: str) -> None:
    """Every public function and method, 40 draws of hostile arguments each: an answer or a Python exception."""
    draw = random.Random(20250101)
    functions: list[tuple[str, Any]] = sorted(tenora_ops.public_functions().items())
    methods = [
        (name, getattr(tenora.Tensor, name))
        for name in dir(tenora.Tensor)
        if not name.startswith("__") and callable(getattr(tenora.Tensor, name))
    ]
    answered = 0
    for name, function in functions + methods:
        for _ in range(40):
            arguments = draw.choices(_hostile(), k=draw.randint(0, 4))
            keywords = {
                key: draw.choice(_hostile())
                for key in draw.sample(
                    ["dim", "keepdim", "dtype", "out", "size", "device", "value"], draw.randint(0, 1)
                )
            }
            try:
                function(*arguments, **keywords)
                answered += 1
            except Exception as error:
                assert not isinstance(error, SystemError), f"{name}{arguments}{keywords}: {error!r}"
    assert answered > 200, "the draws hardly ever form a legal call: the test would prove nothing"


def test_a_name_that_tenora_lacks_is_suggested_once() -> None:
    with pytest.raises(AttributeError) as caught:
        tenora.arrange  # noqa: B018
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Did you mean") == 1 and "'arange'" in shown
