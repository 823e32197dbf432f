"""Tensors of the host beside those of a device: gradients cross over, and a mistake is an error and no crash."""

from __future__ import annotations

from typing import Any

import pytest
from sim_device import simulated

import tenora


def test_gradients_go_back_to_the_device_that_a_tensor_came_from() -> None:
    with simulated():
        here = tenora.tensor([1.0, 2.0], requires_grad=True)
        there = here.to("sim")
        (there * there).sum().backward()
        assert here.grad is not None and here.grad.device.type == "cpu" and here.grad.tolist() == [2.0, 4.0]
        leaf = tenora.tensor([1.0, 2.0], device="sim", requires_grad=True)
        back = leaf.to("cpu", tenora.float64)  # the cast back happens on the host
        (gradient,) = tenora.autograd.grad((back * back).sum(), [leaf], create_graph=True)
        assert str(gradient.device) == "sim:0" and gradient.tolist() == [2.0, 4.0]
        gradient.sum().backward()
        assert leaf.grad is not None and leaf.grad.tolist() == [2.0, 2.0]


def test_type_as_goes_to_the_device_of_the_other() -> None:
    with simulated():
        here = tenora.tensor([1.0, 2.0], requires_grad=True)
        there = here.type_as(tenora.zeros(1, dtype=tenora.float64, device="sim"))
        assert str(there.device) == "sim:0" and there.dtype is tenora.float64
        there.sum().backward()
        assert here.grad is not None and here.grad.device.type == "cpu" and here.grad.tolist() == [1.0, 1.0]
        back = there.detach().type_as(here)
        assert back.device.type == "cpu" and back.dtype is tenora.float32 and back.tolist() == [1.0, 2.0]


def test_a_number_of_the_host_gets_its_gradient_there() -> None:
    with simulated():
        number = tenora.tensor(3.0, requires_grad=True)
        loss = (tenora.arange(4.0, device="sim") * number).sum()
        (gradient,) = tenora.autograd.grad(loss * loss, [number], create_graph=True)
        assert gradient.device.type == "cpu" and gradient.item() == 2 * 18 * 6
        gradient.backward()
        assert number.grad is not None and number.grad.item() == 2 * 6 * 6


def test_an_index_of_another_device_is_refused() -> None:
    with (
        simulated(),
        pytest.raises(tenora.TenoraError, match="different devices: got cpu and sim:0") as caught,
    ):
        tenora.index_select(tenora.ones(3), 0, tenora.tensor([0, 1], device="sim"))
    assert caught.value.code == "device"


def test_what_a_kernel_found_is_told_with_its_code() -> None:
    with simulated():
        wrong = tenora.ones(3, device="sim").gather(0, tenora.tensor([7], device="sim"))
        with pytest.raises(tenora.TenoraError, match="index 7 is out of bounds") as caught:
            tenora.sim.synchronize()
        assert caught.value.code == "index"
        del wrong


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x.take(i),
        lambda x, i: x.index_fill(0, i, 7.0),
        lambda x, i: x.clone().index_fill_(0, i, 7.0),
        lambda x, i: x.put(i, x[:2]),
        lambda x, i: x.put(i.to(x.device), tenora.ones(2, device=i.device)),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_copy(0, i, x[:2]),
    ],
)
def test_places_lie_where_the_elements_do(call: Any) -> None:
    with simulated():
        for place, other in (("sim:0", "cpu"), ("cpu", "sim:0")):
            x, i = tenora.arange(3.0, device=place), tenora.tensor([2, 0], device=other)
            with pytest.raises(RuntimeError, match=f"different devices: got {place} and {other}"):
                call(x, i)


def test_a_number_of_the_host_is_put_on_the_device() -> None:
    with simulated():
        value = tenora.tensor(7.0, requires_grad=True)
        places = (tenora.tensor([2, 0], device="sim"),)
        written = tenora.arange(3.0, device="sim").index_put(places, value)
        assert written.tolist() == [7.0, 1.0, 7.0] and str(written.device) == "sim:0"
        written.sum().backward()
        assert value.grad is not None and value.grad.item() == 2.0 and value.grad.device.type == "cpu"


def test_memory_of_the_host_alone_is_pinned() -> None:
    x = tenora.ones(2)
    with simulated():
        assert x.pin_memory().tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="not on the host: got one on sim:0, expected one on cpu"):
            x.to("sim").pin_memory()


def test_what_is_made_without_a_device_lies_on_the_default_one() -> None:
    with simulated():
        tenora.set_default_device("sim")
        try:
            made = [
                tenora.normal(0.0, 1.0, (2,)),
                tenora.normal(0.0, 1.0, (2,), out=tenora.empty(2)),
                tenora.randint_like(tenora.ones(2, device="cpu"), 3, device="sim"),
                tenora.tril_indices(2, 2),
                tenora.triu_indices(2, 2),
                tenora.fft.fftfreq(3),
                tenora.fft.rfftfreq(3),
            ]
            assert tenora.randint_like(tenora.ones(2, device="cpu"), 3).device.type == "cpu"
        finally:
            tenora.set_default_device(None)
        assert {str(x.device) for x in made} == {"sim:0"}


@pytest.mark.parametrize("name", ["cholesky_solve", "triangular_solve", "linalg.solve_triangular"])
def test_a_kernel_in_the_place_of_a_function_is_given_one_device(name: str) -> None:
    """The parts of the function would look; a kernel of the host in their place read the device's memory."""
    solve: Any = eval(f"tenora.{name}", {"tenora": tenora})
    options = {"upper": True} if name.startswith("linalg") else {}
    with simulated(), tenora.use_backend("reference", device="cpu"):
        here, there = tenora.eye(3), tenora.eye(3).to("sim")
        for pair in ((here, there), (there, here)):
            with pytest.raises(tenora.TenoraError, match="different devices") as caught:
                solve(*pair, **options)
            assert caught.value.code == "device"
