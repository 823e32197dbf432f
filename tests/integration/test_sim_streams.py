"""Streams on the simulated device: any legal order gives the same results, and a missing wait is always found."""

from __future__ import annotations

import pytest
import sim_device
from sim_device import everywhere, simulated

import tenora

SEEDS = 20


def start() -> tenora.Tensor:
    return tenora.arange(64.0, device="sim").reshape(8, 8)


def two_streams(x: tenora.Tensor, *, wait: bool) -> tenora.Tensor:
    """A program on two streams, right when `wait` is true."""
    side = tenora.sim.Stream()
    if wait:
        side.wait_stream(tenora.sim.current_stream())
    with tenora.sim.stream(side):
        y = (x @ x) / 8 + 1
    z = x.sum(1)
    if wait:
        tenora.sim.current_stream().wait_stream(side)
    return y.sum(0) + z


def test_every_schedule_gives_the_same() -> None:
    x = tenora.arange(64.0).reshape(8, 8)
    expected = (((x @ x) / 8 + 1).sum(0) + x.sum(1)).tolist()
    for policy, seed in everywhere(SEEDS):
        with simulated(policy, seed):
            assert two_streams(start(), wait=True).tolist() == expected, (policy, seed)
            assert sim_device.reports() == [], (policy, seed)


def test_schedules_differ() -> None:
    orders = set()
    for seed in range(SEEDS):
        with simulated("random", seed):
            two_streams(start(), wait=True).tolist()
            orders.add(tuple(line.split("@")[0] for line in sim_device.history()[-12:]))
    assert len(orders) > SEEDS // 2


def test_lazy_runs_nothing_before_somebody_waits() -> None:
    with simulated("lazy"):
        x = start() + 1
        assert sim_device.pending() > 0
        assert not tenora.sim.current_stream().query()
        x.tolist()
        assert sim_device.pending() == 0
    with simulated("eager"):
        x = start() + 1
        assert sim_device.pending() == 0 and tenora.sim.current_stream().query()


def test_a_missing_wait_is_found_in_every_run() -> None:
    for policy, seed in everywhere(SEEDS):
        with simulated(policy, seed):
            with pytest.raises(RuntimeError, match="a wait is missing") as caught:
                two_streams(start(), wait=False).tolist()
            text = str(caught.value)
            assert "reading allocation" in text and "Record an event on stream" in text
            first = sim_device.reports()[0]
            assert "'matmul'" in first and "'iota'" in first, first
            with pytest.raises(RuntimeError, match="a wait is missing"):
                tenora.sim.synchronize()  # until it is forgotten
            sim_device.forget()
            tenora.sim.synchronize()


def test_a_write_after_a_read_needs_a_wait_too() -> None:
    with simulated():
        x, side = start(), tenora.sim.Stream()
        side.wait_stream(tenora.sim.current_stream())
        with tenora.sim.stream(side):
            total = x.sum()
        x.zero_()
        assert any(
            "'fill'" in line and "writing" in line and "'sum'" in line for line in sim_device.reports()
        )
        del total


def test_parts_without_a_common_byte_need_no_wait() -> None:
    with simulated():
        x, side = tenora.zeros(8, 8, device="sim"), tenora.sim.Stream()
        side.wait_stream(tenora.sim.current_stream())
        with tenora.sim.stream(side):
            x[:, 1::2] += 1  # interleaved with
        x[:, ::2] += 2
        tenora.sim.current_stream().wait_stream(side)
        assert x.sum().item() == 8 * (4 + 8) and sim_device.reports() == []


def test_events_order_streams_and_tell_time() -> None:
    for policy, seed in everywhere(3):
        with simulated(policy, seed):
            begin, end = (tenora.sim.Event(enable_timing=True) for _ in range(2))
            side = tenora.sim.Stream()
            begin.record()
            x = start()
            end.record()
            assert end.query() is (policy == "eager") or policy in ("random", "pct")
            end.wait(side)
            with tenora.sim.stream(side):
                y = x * 2
            side.synchronize()
            assert y.sum().item() == 4032 and sim_device.reports() == []
            assert begin.elapsed_time(end) > 0


def test_asking_again_and_again_comes_to_an_end() -> None:
    for policy in sim_device.POLICIES:
        with simulated(policy):
            x = start()
            for _ in range(5):
                x = x + 1
            done = tenora.sim.current_stream().record_event()
            asked = 0
            while not done.query():
                asked += 1
            assert asked < 100 and x.sum().item() == 2016 + 5 * 64


def test_memory_that_another_stream_reads_is_not_given_out_again() -> None:
    for policy, seed in everywhere(SEEDS):
        with simulated(policy, seed):
            side = tenora.sim.Stream()
            x = start()
            side.wait_stream(tenora.sim.current_stream())
            with tenora.sim.stream(side):
                y = x * 2
            del x
            again = [tenora.full((8, 8), float(i), device="sim") for i in range(4)]
            tenora.sim.current_stream().wait_stream(side)
            assert y.sum().item() == 4032 and sim_device.reports() == [], (policy, seed)
            del again


@pytest.mark.parametrize("caller", ["default", "other"])
def test_backward_follows_the_streams_of_the_forward(caller: str) -> None:
    x = tenora.arange(64.0).reshape(8, 8).requires_grad_()
    ((x @ x * 1e-4).tanh() * x).sum().backward()
    assert x.grad is not None
    expected = (2 * x.grad).ravel().tolist()
    for policy, seed in everywhere(6):
        with simulated(policy, seed):
            x = start().requires_grad_()
            outer = tenora.sim.Stream() if caller == "other" else None
            side = tenora.sim.Stream()
            if outer is not None:
                outer.wait_stream(tenora.sim.current_stream())
            with tenora.sim.stream(outer):
                here = tenora.sim.current_stream()
                for _ in range(2):
                    side.wait_stream(here)
                    with tenora.sim.stream(side):
                        y = (x @ x * 1e-4).tanh()
                    here.wait_stream(side)
                    (y * x).sum().backward()
                assert x.grad is not None
                assert x.grad.ravel().tolist() == pytest.approx(expected, rel=1e-5), (policy, seed)
            assert sim_device.reports() == [], (policy, seed)


def test_gradients_that_are_handed_out_are_the_callers_to_use() -> None:
    for policy, seed in everywhere(6):
        with simulated(policy, seed):
            x, side = start().requires_grad_(), tenora.sim.Stream()
            side.wait_stream(tenora.sim.current_stream())
            with tenora.sim.stream(side):
                y = x * 2
                y.retain_grad()
                z = (y * y).sum()
            tenora.sim.current_stream().wait_stream(side)
            (inner,) = tenora.autograd.grad(z, [y], retain_graph=True)
            z.backward()
            assert inner.sum().item() == 4 * 2016 and y.grad is not None
            assert (y.grad - 2 * inner).abs().sum().item() == 0  # kept by both
            assert sim_device.reports() == [], (policy, seed)


def test_gradients_are_added_up_in_one_order() -> None:
    with simulated():
        tenora.manual_seed(0)
        x = tenora.rand(64, device="sim").requires_grad_()
        results = [(x * k).sin() for k in (0.1, 0.7, 1.3, 2.9, 4.1)]
        weights = [tenora.full_like(r, 0.3) for r in results]
        found = {
            tuple(tenora.autograd.grad(results, [x], weights, retain_graph=True)[0].tolist())
            for _ in range(30)
        }
        assert len(found) == 1


def test_the_current_stream_is_a_threads_own_and_comes_back() -> None:
    with simulated():
        usual, side = tenora.sim.current_stream(), tenora.sim.Stream()
        assert usual.is_default and not side.is_default
        with tenora.sim.stream(side):
            assert tenora.sim.current_stream() is side
            with pytest.raises(ValueError), tenora.sim.stream(usual):
                raise ValueError
            assert tenora.sim.current_stream() is side
        assert tenora.sim.current_stream() is usual
        other = tenora.sim.Stream(1)
        with tenora.sim.stream(other):
            assert str(tenora.ones(1, device="sim").device) == "sim:1" and tenora.sim.current_device() == 1
        assert tenora.sim.current_device() == 0 and tenora.sim.current_stream() is usual


def test_devices_have_streams_of_their_own() -> None:
    for policy, seed in everywhere(3):
        with simulated(policy, seed):
            x = start()
            y = x.to("sim:1")
            assert (y + 1).sum().item() == 2080 and (x + 1).sum().item() == 2080
            assert sim_device.reports() == []
            with pytest.raises(RuntimeError, match="sim:1"):
                tenora.add(x, y)
            for call in (tenora.add, lambda a, b, out: tenora.cat([a, b], out=out)):
                with pytest.raises(RuntimeError, match="out= is on another device: got cpu, expected sim:0"):
                    call(x, x, out=tenora.zeros(0))
