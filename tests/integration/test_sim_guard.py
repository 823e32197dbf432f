"""Guarded kernels on an asynchronous device: their memory is reached by the stream's copies alone."""

from __future__ import annotations

import numpy as np
import sim_device

import tenora


def values(tensor: tenora.Tensor) -> list[float]:
    return tensor.detach().cpu().flatten().tolist()


def work() -> list[float]:
    """A step of a small network, writes in place and at indices, on the simulated device."""
    tenora.manual_seed(5)
    x = tenora.randn(4, 6, device="sim")
    layer = tenora.nn.Linear(6, 3, device="sim")
    layer(x).relu().sum().backward()
    x[::2, 1:4] *= 2
    x[:, 0] += 1
    places = tenora.tensor([2, 0], device="sim")
    return [*values(layer.weight.grad), *values(x), *values(x[places]), *values(x.sort(1).values)]


def test_results_are_the_same_and_no_wait_is_missing() -> None:
    with tenora.use_backend("sim"):
        plain = work()
        with tenora.debug.guard("sim"):
            guarded = work()
        tenora.sim.synchronize()  # where missing waits are told
    assert np.array_equal(plain, guarded) and sim_device.reports() == []


def test_a_stream_of_its_own_is_waited_for() -> None:
    with tenora.use_backend("sim"), tenora.debug.guard("sim"):
        x = tenora.ones(64, device="sim")
        side = tenora.sim.Stream()
        side.wait_stream(tenora.sim.current_stream())
        with tenora.sim.stream(side):
            y = x * 3 + 1
        tenora.sim.current_stream().wait_stream(side)
        assert values(y) == [4.0] * 64
        tenora.sim.synchronize()
        assert sim_device.reports() == []
