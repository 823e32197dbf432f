"""Complex numbers as alpha, beta and value, against PyTorch: values, dtypes, gradients, in-place, out=, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from differences import COMPLEX_NUMBERS

import tenora

pytestmark = pytest.mark.oracle

NUMBER = 0.5 - 2j


def tensors(m: Any, dtype: str, *shapes: tuple[int, ...]) -> list[Any]:
    """Deterministic values, complex ones with both parts."""
    found = []
    for number, shape in enumerate(shapes, 1):
        size = 1
        for n in shape:
            size *= n
        whole = (m.arange(size).reshape(shape) % 5 + number).to(getattr(m, dtype))
        found.append(whole * (1 - 0.5j * number) if dtype.startswith("complex") else whole)
    return found


#: Name -> the shapes of three tensors, and the call on them with a number.
CALLS: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "add": (((2, 3), (3,), ()), lambda m, a, b, c, z: m.add(a, b, alpha=z)),
    "add a number": (((2, 3), (), ()), lambda m, a, b, c, z: m.add(a, 2.0, alpha=z)),
    "sub": (((2, 3), (3,), ()), lambda m, a, b, c, z: m.sub(a, b, alpha=z)),
    "subtract": (((2, 3), (3,), ()), lambda m, a, b, c, z: m.subtract(a, b, alpha=z)),
    "rsub": (((2, 3), (3,), ()), lambda m, a, b, c, z: m.rsub(a, b, alpha=z)),
    "Tensor.add": (((2, 3), (3,), ()), lambda m, a, b, c, z: a.add(b, alpha=z)),
    "add_": (((2, 3), (3,), ()), lambda m, a, b, c, z: a.clone().add_(b, alpha=z)),
    "sub_": (((2, 3), (3,), ()), lambda m, a, b, c, z: a.clone().sub_(b, alpha=z)),
    "index_add": (
        ((3, 2), (2, 2), ()),
        lambda m, a, b, c, z: m.index_add(a, 0, m.tensor([2, 0]), b, alpha=z),
    ),
    "index_add_": (
        ((3, 2), (2, 2), ()),
        lambda m, a, b, c, z: a.clone().index_add_(0, m.tensor([2, 0]), b, alpha=z),
    ),
    "index_fill": (((3, 2), (), ()), lambda m, a, b, c, z: m.index_fill(a, 0, m.tensor([2, 0]), z)),
    "index_fill_": (((3, 2), (), ()), lambda m, a, b, c, z: a.clone().index_fill_(0, m.tensor([2, 0]), z)),
    "index_fill by a tensor": (
        ((3, 2), (), ()),
        lambda m, a, b, c, z: m.index_fill(a, 0, m.tensor([2, 0]), m.tensor(z)),
    ),
    "masked_fill": (((3, 2), (), ()), lambda m, a, b, c, z: m.masked_fill(a, m.abs(a) > 2, z)),
    "masked_fill_": (((3, 2), (), ()), lambda m, a, b, c, z: a.clone().masked_fill_(m.abs(a) > 2, z)),
    "addcmul": (((2, 3), (3,), (2, 1)), lambda m, a, b, c, z: m.addcmul(a, b, c, value=z)),
    "addcdiv": (((2, 3), (3,), (2, 1)), lambda m, a, b, c, z: m.addcdiv(a, b, c, value=z)),
    "addcmul_": (((2, 3), (3,), (2, 1)), lambda m, a, b, c, z: a.clone().addcmul_(b, c, value=z)),
    "addmm": (((2, 4), (2, 3), (3, 4)), lambda m, a, b, c, z: m.addmm(a, b, c, beta=z, alpha=2 * z)),
    "addmm, beta": (((4,), (2, 3), (3, 4)), lambda m, a, b, c, z: m.addmm(a, b, c, beta=z)),
    "addmm, alpha": (((4,), (2, 3), (3, 4)), lambda m, a, b, c, z: m.addmm(a, b, c, beta=0, alpha=z)),
    "addmm_": (((2, 4), (2, 3), (3, 4)), lambda m, a, b, c, z: a.clone().addmm_(b, c, alpha=z)),
    "addmv": (((2,), (2, 3), (3,)), lambda m, a, b, c, z: m.addmv(a, b, c, beta=z, alpha=2 * z)),
    "addr": (((2, 3), (2,), (3,)), lambda m, a, b, c, z: m.addr(a, b, c, beta=z, alpha=2 * z)),
    "baddbmm": (
        ((2, 2, 4), (2, 2, 3), (2, 3, 4)),
        lambda m, a, b, c, z: m.baddbmm(a, b, c, beta=z, alpha=2 * z),
    ),
    "addbmm": (
        ((2, 4), (2, 2, 3), (2, 3, 4)),
        lambda m, a, b, c, z: m.addbmm(a, b, c, beta=z, alpha=2 * z),
    ),
    "scatter": (((3, 2), (), ()), lambda m, a, b, c, z: m.scatter(a, 0, m.tensor([[2, 0]]), z)),
    "scatter_": (((3, 2), (), ()), lambda m, a, b, c, z: a.clone().scatter_(0, m.tensor([[2, 0]]), z)),
}
#: PyTorch has no gradient of these; their parts have one.
COMBINING: dict[str, Callable[..., Any]] = {
    "add": lambda m, a, z: m.scatter(a, 0, m.tensor([[2, 0], [2, 0]]), z, reduce="add"),
    "multiply": lambda m, a, z: m.scatter(a, 0, m.tensor([[2, 0], [2, 0]]), z, reduce="multiply"),
    "value=": lambda m, a, z: m.scatter(a, 0, m.tensor([[2, 0]]), value=z, reduce="add"),
    "in place": lambda m, a, z: a.clone().scatter_(0, m.tensor([[2, 0], [2, 0]]), z, reduce="multiply"),
    "out=": lambda m, a, z: m.scatter(
        a, 0, m.tensor([[2, 0]]), z, reduce="add", out=m.empty_like(a).detach()
    ),
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32"])
@pytest.mark.parametrize("name", COMBINING)
def test_scatter_combines(backend: str, name: str, dtype: str) -> None:
    for number in (NUMBER, 3) if dtype.startswith("complex") else (3, 2.5):
        ours, theirs = (COMBINING[name](m, tensors(m, dtype, (3, 2))[0], number) for m in (tenora, torch))
        torch.testing.assert_close(torch.tensor(ours.numpy()), theirs)


def test_scatter_combines_real_tensors_with_real_numbers(backend: str) -> None:
    for m in (tenora, torch):
        with pytest.raises(RuntimeError):
            COMBINING["add"](m, tensors(m, "float32", (3, 2))[0], 1j)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(backend: str, name: str, dtype: str) -> None:
    shapes, call = CALLS[name]
    found = []
    for m in (tenora, torch):
        given = [t.detach().requires_grad_() for t in tensors(m, dtype, *shapes)]
        result = call(m, *given, NUMBER)
        weight = tensors(m, dtype, tuple(result.shape))[0]
        (result * weight).sum().abs().backward()
        grads = [None if t.grad is None else t.grad.resolve_conj().numpy().tolist() for t in given]
        found.append((str(result.dtype).split(".")[1], result.detach().numpy(), grads))
    assert found[0][0] == found[1][0] == dtype
    close = torch.testing.assert_close
    exact = {"rtol": 1e-5, "atol": 1e-5} if dtype == "complex64" else {"rtol": 1e-12, "atol": 1e-12}
    close(torch.tensor(found[0][1]), torch.tensor(found[1][1]), **exact)
    for number, (ours, theirs) in enumerate(zip(found[0][2], found[1][2], strict=True)):
        assert (ours is None) == (theirs is None)
        if ours is None:
            continue
        wanted = torch.tensor(theirs, dtype=torch.complex128)
        if name.startswith("index_add") and number == 1:
            wanted = (
                wanted / NUMBER * NUMBER.conjugate()
            )  # PyTorch's index_add leaves out the conjugate that add has
        close(torch.tensor(ours, dtype=torch.complex128), wanted, **exact)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("addcdiv", "addcmul_")])
def test_real_tensors_refuse(backend: str, name: str, dtype: str) -> None:
    shapes, call = CALLS[name]
    raised = []
    for m in (tenora, torch):
        with pytest.raises(RuntimeError) as error:
            call(m, *tensors(m, dtype, *shapes), 1j)
        raised.append(error.value)
    op = name.split(",")[0].split()[0].removeprefix("Tensor.").rstrip("_").replace("subtract", "sub")
    assert str(raised[0]).startswith(f"[{op}]"), raised[0]


def test_scatter_names_an_unknown_reduction(backend: str) -> None:
    """In place under autograd too, where the gradient's formula is read first."""
    index, x = tenora.tensor([0]), tenora.ones(3, requires_grad=True)
    for src in (tenora.ones(1), 2.0):
        for call in ((x * 1).scatter_, x.scatter, x.detach().scatter):
            with pytest.raises(RuntimeError, match=r"^\[scatter\] reduce is wrong: got 'no', expected 'add'"):
                call(0, index, src, reduce="no")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_recorded_composite_takes_a_complex_number(backend: str, dtype: str) -> None:
    found = []
    for m in (tenora, torch):
        (x,) = (t.requires_grad_() for t in tensors(m, dtype, (2, 3)))
        result = m.true_divide(x, NUMBER)
        result.abs().sum().backward()
        found.append((result.detach().resolve_conj().numpy(), x.grad.resolve_conj().numpy()))
        if not dtype.startswith("complex"):
            with pytest.raises(RuntimeError, match="cast"):
                (x * 1).true_divide_(NUMBER)
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))


def test_out_and_mixed_dtypes(backend: str) -> None:
    for m in (tenora, torch):
        z, r = m.tensor([1j, 2 + 0j]), m.tensor([1.0, 2.0])
        out = m.empty(2, dtype=m.complex64)
        assert m.add(z, z, alpha=1j, out=out) is out
        assert out.tolist() == [-1 + 1j, 2 + 2j]
        assert m.add(z, r, alpha=1j).tolist() == [2j, 2 + 2j]
        assert m.add(r, z, alpha=1j).tolist() == [0j, 2 + 2j]
        assert m.sub(z.to(m.complex128), r, alpha=1j).dtype == m.complex128
        assert m.add(r, 2j, alpha=1j).tolist() == [-1 + 0j, 0j]
        assert m.add(z, z, alpha=m.tensor(1j)).tolist() == [-1 + 1j, 2 + 2j]
        with pytest.raises(RuntimeError, match="cast"):
            r.add_(z, alpha=1j)


def test_only_numbers_are_factors(backend: str) -> None:
    one = tenora.ones(2)
    for call in (
        lambda a: tenora.add(one, one, alpha=a),
        lambda a: tenora.index_add(one, 0, tenora.tensor([0, 1]), one, alpha=a),
        lambda a: tenora.addcmul(one, one, one, value=a),
    ):
        with pytest.raises(TypeError, match="got Tensor, expected number"):
            call(tenora.ones(2))


REAL = 2 + 0j  # a complex number that is a real one
#: What takes such a number for real tensors, by what PyTorch makes of it; None: refused.
REAL_CALLS: dict[str, Callable[..., Any]] = {
    **{name: call for name, (_, call) in CALLS.items()},
    "lerp": lambda m, a, b, c, z: m.lerp(a, b, z),
    "fill_": lambda m, a, b, c, z: a.clone().fill_(z),
    "full_like": lambda m, a, b, c, z: m.full_like(a, z),
    "leaky_relu": lambda m, a, b, c, z: m.nn.functional.leaky_relu(-a, z),
    "elu": lambda m, a, b, c, z: m.nn.functional.elu(-a, z),
    "celu": lambda m, a, b, c, z: m.nn.functional.celu(-a, z),
    "hardshrink": lambda m, a, b, c, z: m.nn.functional.hardshrink(a, z),
    "softshrink": lambda m, a, b, c, z: m.nn.functional.softshrink(a, z),
    "softplus": lambda m, a, b, c, z: m.nn.functional.softplus(a, z, z),
    "threshold": lambda m, a, b, c, z: m.nn.functional.threshold(a, z, z),
    "rrelu": lambda m, a, b, c, z: m.nn.functional.rrelu(-a, z, z),
    "std": lambda m, a, b, c, z: m.std(a, correction=z),
    "var_mean": lambda m, a, b, c, z: m.var_mean(a, correction=z)[0],
    "multi_margin_loss": lambda m, a, b, c, z: m.nn.functional.multi_margin_loss(
        a, m.zeros(a.shape[0]).to(m.int64), margin=z
    ),
    "layer_norm": lambda m, a, b, c, z: m.nn.functional.layer_norm(a, (3,), eps=z),
    "dropout": lambda m, a, b, c, z: m.nn.functional.dropout(a, z),
    "hardtanh": lambda m, a, b, c, z: m.nn.functional.hardtanh(a, z, z + 1),
}
BOTH_REFUSE = ("addcdiv",)  # of whole numbers


def real_answer(m: Any, name: str, dtype: str, number: complex) -> Any:
    shapes = CALLS[name][0] if name in CALLS else ((2, 3), (2, 3), ())
    try:
        result = REAL_CALLS[name](m, *tensors(m, dtype, *shapes), number)
    except (RuntimeError, TypeError) as error:
        return error
    return str(result.dtype).split(".")[-1], result.tolist()


@pytest.mark.parametrize("dtype", ["float32", "int64", "float64"])
@pytest.mark.parametrize("name", REAL_CALLS)
def test_a_real_number_that_is_complex(name: str, dtype: str) -> None:
    theirs = real_answer(torch, name, dtype, REAL)
    mine = real_answer(tenora, name, dtype, REAL)
    if isinstance(theirs, NotImplementedError) and name not in BOTH_REFUSE:
        return  # no kernel, of real numbers neither
    if isinstance(theirs, Exception):
        assert (name in COMPLEX_NUMBERS and dtype != "int64") or isinstance(mine, type(theirs)), mine
    else:
        assert not isinstance(mine, Exception), mine
        assert mine[0] == theirs[0]
        torch.testing.assert_close(torch.tensor(mine[1]), torch.tensor(theirs[1]))


@pytest.mark.parametrize(
    "name", ["lerp", "fill_", "full_like", "leaky_relu", "threshold", "addcmul", "masked_fill"]
)
def test_an_imaginary_part_is_refused(name: str) -> None:
    assert isinstance(real_answer(torch, name, "float32", 1 + 1j), RuntimeError)
    mine = real_answer(tenora, name, "float32", 1 + 1j)
    assert isinstance(mine, RuntimeError | TypeError), mine
