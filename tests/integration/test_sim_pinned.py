"""Pinned memory on the simulated device, whose copies read it when they run and not when they are called."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from sim_device import POLICIES, pending, simulated

import tenora
from tenora.utils.data import DataLoader, TensorDataset


def test_a_copy_from_pinned_memory_does_not_wait() -> None:
    with simulated("lazy"):
        x = tenora.full((8,), 3.0).pin_memory()
        assert x.is_pinned() and x.is_pinned("sim") and x[2:].is_pinned() and x.device.type == "cpu"
        there = x.to("sim", non_blocking=True)
        assert pending() > 0
        x.fill_(9.0)  # too early: the copy reads what is there when it runs
        assert there.tolist() == [9.0] * 8
        target = tenora.zeros(8, device="sim")
        x.fill_(3.0)
        target.copy_(x, non_blocking=True)
        x.fill_(4.0)
        assert target.tolist() == [4.0] * 8


@pytest.mark.parametrize(
    "copied",
    [
        lambda x: x.to("sim", non_blocking=True),
        lambda x: x.pin_memory().to("sim"),
        lambda x: x.pin_memory().repeat(2)[:8].to("sim", non_blocking=True),
        lambda x: x.pin_memory().flip(0).to("sim", non_blocking=True),
    ],
)
def test_every_other_copy_of_the_host_waits(copied: Callable[[tenora.Tensor], tenora.Tensor]) -> None:
    with simulated("lazy"):
        x = tenora.full((8,), 3.0)
        there = copied(x)
        assert pending() == 0
        x.fill_(9.0)
        assert there.tolist() == [3.0] * 8


@pytest.mark.parametrize("policy", POLICIES)
def test_pinned_memory_outlives_the_copies_from_it(policy: str) -> None:
    with simulated(policy, seed=3):
        side = tenora.sim.Stream()
        there = []
        with tenora.sim.stream(side):
            for number in range(40):
                there.append(tenora.full((600,), float(number)).pin_memory().to("sim", non_blocking=True))
        tenora.sim.current_stream().wait_stream(side)
        assert [float(t.sum().item()) for t in there] == [600.0 * number for number in range(40)]
        del there
        gc.collect()
        tenora.sim.synchronize()  # would tell of memory that went too early


def test_two_streams_that_share_pinned_memory_need_no_order_to_read_it() -> None:
    with simulated():
        x, side = tenora.ones(4).pin_memory(), tenora.sim.Stream()
        first = x.to("sim", non_blocking=True)
        with tenora.sim.stream(side):
            second = x.to("sim", non_blocking=True)
        tenora.sim.synchronize()
        assert (first + second).tolist() == [2.0] * 4


def test_gradients_go_through_pinning() -> None:
    with simulated():
        x = tenora.tensor([1.0, 2.0], requires_grad=True)
        (x.pin_memory().to("sim", non_blocking=True) ** 2).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [2.0, 4.0] and not x.is_pinned()


def test_tensors_are_made_in_pinned_memory() -> None:
    with simulated():
        for make in (tenora.zeros, tenora.rand, tenora.empty):
            assert make(3, pin_memory=True).is_pinned(), make
        assert tenora.zeros(0, pin_memory=True).shape == (0,)
        assert tenora.tensor([1.5], pin_memory=True).tolist() == [1.5]
        assert tenora.empty_strided((2, 3), (1, 2), pin_memory=True).is_pinned()
        assert tenora.ones(2, pin_memory=True, requires_grad=True).requires_grad
        assert tenora.hann_window(4, pin_memory=True).is_pinned()
        pinned = tenora.arange(3, pin_memory=True)
        assert pinned.pin_memory() is pinned and pinned.is_pinned("sim")


def test_what_is_not_on_the_host_is_not_pinned() -> None:
    with simulated():
        there = tenora.ones(2, device="sim")
        assert not there.is_pinned()
        for pin in (there.pin_memory, lambda: tenora.ones(2, device="sim", pin_memory=True)):
            with pytest.raises(
                RuntimeError, match=r"\[pin_memory\] the tensor is not on the host: got one on sim:0"
            ):
                pin()
        with pytest.raises(RuntimeError, match=r"\[pin_memory\] the device is the host: got device 'cpu'"):
            tenora.ones(2).pin_memory("cpu")


def test_no_room_to_pin_is_an_error_and_nothing_more() -> None:
    with simulated():
        x = tenora.ones(4)
        tenora.set_backend_option("sim", fail_allocation=1)
        with pytest.raises(tenora.OutOfMemoryError, match="pinning of host memory"):
            x.pin_memory()
        assert x.pin_memory().tolist() == [1.0] * 4


def test_a_loader_pins_its_batches() -> None:
    with simulated():
        data = TensorDataset(tenora.arange(8.0), tenora.arange(8))
        for x, y in DataLoader(data, batch_size=4, pin_memory=True):
            assert x.is_pinned() and y.is_pinned()
            assert (x.to("sim", non_blocking=True).sum() - y.to("sim", non_blocking=True).sum()).item() == 0
