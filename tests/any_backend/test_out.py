"""out=: where PyTorch documents it tenora takes it, gives it the result's shape, and refuses what does not fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from differences import WITHOUT_OUT

import tenora
import tenora_ops
from tenora_ops.record import Record

pytestmark = pytest.mark.oracle


def documented(name: str) -> bool:
    place: Any = torch
    for part in name.split("."):
        place = getattr(place, part, None)
    return "out=None" in (getattr(place, "__doc__", None) or "")


GROUPS: dict[str, list[Record]] = {}
for entry in tenora_ops.records():
    if entry.public and any(documented(name) for name in (entry.public, *entry.aliases)):
        GROUPS.setdefault(entry.public, []).append(entry)


def test_out_is_taken_where_pytorch_takes_it() -> None:
    without = {name for name, group in GROUPS.items() if not any(entry.out for entry in group)}
    assert without == set(WITHOUT_OUT) & set(GROUPS)


def test_an_empty_target_gets_the_shape(backend: str) -> None:
    values, indices = tenora.empty(0), tenora.empty(0, dtype=tenora.int64)
    out = tenora.max(tenora.tensor([[3.0, 1.0], [2.0, 5.0]]), 1, out=(values, indices))
    assert out == (values, indices) and values.tolist() == [3.0, 5.0] and indices.tolist() == [0, 1]
    q, r = tenora.empty(0), tenora.empty(0)
    tenora.linalg.qr(tenora.eye(3)[:, :2], out=(q, r))
    assert tuple(q.shape) == (3, 2) and tuple(r.shape) == (2, 2)


@pytest.mark.parametrize(
    "out",
    [
        (tenora.empty(2, dtype=tenora.int64), tenora.empty(2, dtype=tenora.int64)),
        (tenora.empty(2),),
        tenora.empty(2),
        (tenora.empty(2), None),
    ],
)
def test_targets_that_do_not_fit_are_refused(out: Any, backend: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=r"^\[max"):
        tenora.max(tenora.tensor([[3.0, 1.0], [2.0, 5.0]]), 1, out=out)


def test_gradients_are_refused(backend: str) -> None:
    x = tenora.ones(2, 2, requires_grad=True)
    targets = (tenora.empty(2), tenora.empty(2, dtype=tenora.int64))
    with pytest.raises(RuntimeError, match="out= does not support gradients"):
        tenora.max(x, 1, out=targets)
    with tenora.no_grad():
        tenora.max(x, 1, out=targets)
    assert targets[0].tolist() == [1.0, 1.0]


CREATED: dict[str, Any] = {
    "zeros": lambda lib, out: lib.zeros(2, 3, out=out),
    "ones": lambda lib, out: lib.ones((2, 3), out=out),
    "full": lambda lib, out: lib.full((2, 3), 7.0, out=out),
    "arange": lambda lib, out: lib.arange(1, 7, 2, out=out),
    "linspace": lambda lib, out: lib.linspace(0, 1, 5, out=out),
    "logspace": lambda lib, out: lib.logspace(0, 2, 3, out=out),
    "eye": lambda lib, out: lib.eye(2, 3, out=out),
}


@pytest.mark.parametrize("name", CREATED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_creation_fills_a_given_tensor(name: str, dtype: str) -> None:
    """The target's dtype is that of the result."""
    ours, theirs = (lib.empty(0, dtype=getattr(lib, dtype)) for lib in (tenora, torch))
    assert CREATED[name](tenora, ours) is ours
    CREATED[name](torch, theirs)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    assert str(ours.dtype).split(".")[1] == dtype


@pytest.mark.parametrize("name", ["rand", "randn", "empty", "randperm", "randint"])
def test_random_creation_fills_a_given_tensor(name: str) -> None:
    target = tenora.empty(0, dtype=tenora.int64 if name in ("randperm", "randint") else tenora.float32)
    if name == "randint":
        found = tenora.randint(0, 5, (4,), out=target)
    else:
        found = getattr(tenora, name)(4, out=target)
    assert found is target and tuple(target.shape) == (4,)


def test_creation_refuses_another_dtype_than_its_targets() -> None:
    with pytest.raises(RuntimeError, match=r"^\[zeros\] out= has another dtype"):
        tenora.zeros(2, dtype=tenora.float64, out=tenora.empty(2))


def outcome(lib: Any, run: Callable[[Any], Any]) -> Any:
    """What a call leaves behind, and whether it warned or was refused."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = run(lib)
        except RuntimeError:
            return "refused"
    shown = [np.asarray(t).tolist() for t in found]
    resized = [w for w in told if w.category is UserWarning and "resized" in str(w.message)]
    return shown, bool(resized)


def resized(lib: Any, target: Any, size: int = 3) -> list[Any]:
    lib.add(lib.ones(size), 1, out=target)
    return [target]


def into_a_window(lib: Any) -> list[Any]:
    base = lib.zeros(6)
    return [*resized(lib, base[1:3]), base]


def into_an_empty_window(lib: Any) -> list[Any]:
    base = lib.zeros(6)
    return [*resized(lib, base[3:3], 2), base]


def into_another_window(lib: Any) -> list[Any]:
    base = lib.zeros(6)
    lib.add(base[:3], 1, out=base[2:4])
    return [base]


def into_an_operand(lib: Any) -> list[Any]:
    target = lib.ones(1)
    lib.add(target, lib.ones(3), out=target)
    return [target]


def into_foreign_memory(lib: Any) -> list[Any]:
    return resized(lib, lib.from_numpy(np.zeros(2, dtype=np.float32)))


def into_foreign_memory_with_room(lib: Any) -> list[Any]:
    memory = np.zeros(5, dtype=np.float32)
    return [*resized(lib, lib.from_numpy(memory)), memory]


def several(lib: Any) -> list[Any]:
    values, indices = lib.empty(3), lib.empty(0, dtype=lib.int64)
    lib.max(lib.tensor([[3.0, 1.0], [2.0, 5.0]]), 1, out=(values, indices))
    return [values, indices]


def without_rules(lib: Any) -> list[Any]:
    target = lib.ones(7, dtype=lib.int64)
    lib.nonzero(lib.tensor([0.0, 2.0, 3.0]), out=target)
    return [target]


RESIZED: dict[str, Callable[[Any], list[Any]]] = {
    "smaller": lambda lib: resized(lib, lib.zeros(2, 2)),
    "larger": lambda lib: resized(lib, lib.zeros(2)),
    "other rank": lambda lib: resized(lib, lib.zeros(3, 1)),
    "0-d": lambda lib: resized(lib, lib.zeros(())),
    "to nothing": lambda lib: resized(lib, lib.zeros(2), 0),
    "strided": lambda lib: resized(lib, lib.zeros(4, 4)[::2, 1]),
    "another dtype": lambda lib: resized(lib, lib.zeros(2, dtype=lib.float64)),
    "no dtype for it": lambda lib: resized(lib, lib.zeros(2, dtype=lib.int64)),
    "empty": lambda lib: resized(lib, lib.zeros(0)),
    "cat": lambda lib: [lib.cat([lib.ones(2), lib.zeros(1)], out=lib.zeros(1))],
    "matmul": lambda lib: [lib.matmul(lib.ones(2, 3), lib.ones(3, 2), out=lib.zeros(2))],
    **{
        f.__name__: f
        for f in (
            into_a_window,
            into_an_empty_window,
            into_another_window,
            into_an_operand,
            into_foreign_memory,
            into_foreign_memory_with_room,
            several,
            without_rules,
        )
    },
}


@pytest.mark.parametrize("name", RESIZED)
def test_a_target_of_another_shape_is_resized_as_pytorch_resizes_it(name: str, backend: str) -> None:
    """Its values, what shares its memory, the warning."""
    assert outcome(tenora, RESIZED[name]) == outcome(torch, RESIZED[name])


def test_the_warning_says_what_is_resized(backend: str) -> None:
    with pytest.warns(UserWarning, match=r"^\[add\] .* resized: got float32\[2\], expected \[3\]\. "):
        tenora.add(tenora.ones(3), 1, out=tenora.zeros(2))


@pytest.mark.parametrize("several_results", [False, True])
def test_a_warning_that_is_an_error_changes_nothing(several_results: bool, backend: str) -> None:
    values, indices = tenora.zeros(0), tenora.full((3,), 7, dtype=tenora.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="resized"):
            if several_results:
                tenora.max(tenora.eye(2), 1, out=(values, indices))
            else:
                tenora.add(tenora.ones(2), 1, out=indices.double())
    assert tuple(values.shape) == (0,) and indices.tolist() == [7, 7, 7]


@pytest.mark.filterwarnings("ignore:.*resized")
def test_a_call_that_fails_leaves_its_target(backend: str) -> None:
    """The kernel finds the wrong index, the factorisation the wrong matrix, after the shape is known."""
    target = tenora.full((3,), 7.0)
    with pytest.raises(IndexError):
        tenora.index_select(tenora.ones(2), 0, tenora.tensor([0, 9]), out=target)
    with pytest.raises(RuntimeError):
        tenora.linalg.cholesky(-tenora.eye(2), out=target)
    assert target.tolist() == [7.0, 7.0, 7.0]


@pytest.mark.filterwarnings("ignore:.*resized")
def test_a_resized_target_is_no_longer_what_was_saved(backend: str) -> None:
    """Backward refuses the changed value, whatever memory the target has got."""
    x = tenora.ones(2, requires_grad=True)
    factor = tenora.full((2,), 3.0).fill_(4.0)  # written once: new memory, written once, would look the same
    product = x * factor
    with tenora.no_grad():
        tenora.add(tenora.ones(5), 1, out=factor)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@pytest.mark.filterwarnings("ignore:.*resized")
def test_a_view_with_memory_of_its_own_is_no_view(backend: str) -> None:
    x = tenora.ones(4, requires_grad=True)
    y = x * 2
    view = y[:2]
    with tenora.no_grad():
        tenora.add(tenora.ones(9), 1, out=view)
    assert view._base is None
    view.detach_()
    view.mul_(5)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0, 2.0, 2.0] and y.tolist() == [2.0] * 4


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("given", ["float32", "int64", "bool"])
@pytest.mark.parametrize("target", ["float32", "float64", "int64"])
def test_a_dtype_not_told_is_the_targets(name: str, given: str, target: str, backend: str) -> None:
    def run(lib: Any) -> list[Any]:
        x = lib.tensor([[1.7, 2.7], [0.0, 3.2]]).to(getattr(lib, given))
        return [getattr(lib, name)(x, 0, out=lib.empty(0, dtype=getattr(lib, target)))]

    ours, theirs = outcome(tenora, run), outcome(torch, run)
    if "refused" in (ours, theirs):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
