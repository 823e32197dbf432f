"""opencl's own tests: it is found, it computes, and its memory is a device's.

What every backend has to do is judged by `tenora-conformance run opencl`.
"""

import ctypes
import multiprocessing.synchronize
import os
import signal
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import tenora
from tenora_opencl.device import device
from tenora_opencl.layout import merged
from tenora_opencl.memory import LOWEST

DEVICE = "opencl"


@pytest.fixture(autouse=True)
def computing() -> Iterator[None]:
    """Every test computes with opencl, each kernel under guard."""
    with tenora.use_backend("opencl"), tenora.debug.guard("opencl"):
        yield


def test_it_computes() -> None:
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]], device=DEVICE)
    assert (x @ x.t() + 1).tolist() == [[6.0, 12.0], [12.0, 26.0]]
    assert x.sum(dim=0).tolist() == [4.0, 6.0]


def test_layouts_and_indices() -> None:
    x = tenora.arange(12, device=DEVICE).reshape(3, 4)
    assert x.t()[::2].flip(1).tolist() == [[8, 4, 0], [10, 6, 2]]
    x[1:, ::2] += 100
    assert x[tenora.tensor([2, 0], device=DEVICE)].tolist() == [[108, 9, 110, 11], [0, 1, 2, 3]]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[tenora.tensor([0, 3, 4], device=DEVICE)]


def test_it_trains() -> None:
    tenora.manual_seed(0)
    net = tenora.nn.Sequential(tenora.nn.Linear(2, 8), tenora.nn.Tanh(), tenora.nn.Linear(8, 1)).to(DEVICE)
    optimizer = tenora.optim.SGD(net.parameters(), lr=0.1)
    inputs = tenora.rand(64, 2, device=DEVICE)
    losses = []
    for _ in range(50):
        loss = ((net(inputs) - inputs.sum(dim=1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


def read_as_a_pointer(started: multiprocessing.synchronize.Event) -> None:
    """Takes the address of a tensor of the device for one of the host."""
    tenora.set_default_backend("opencl")
    x = tenora.ones(4, device=DEVICE)
    assert x.data_ptr() >= LOWEST
    started.set()
    ctypes.string_at(x.data_ptr(), 4)


def test_the_host_cannot_read_its_memory() -> None:
    """A new process: it has to end with a fault, at that line."""
    spawning = multiprocessing.get_context("spawn")
    started = spawning.Event()
    process = spawning.Process(target=read_as_a_pointer, args=(started,))
    process.start()
    process.join()
    assert started.is_set() and process.exitcode is not None and process.exitcode < 0


def test_memory_that_is_not_there_is_an_error_of_tenora() -> None:
    quarter = device.context.devices[0].global_mem_size // 4
    for sizes in ([8 * quarter], [quarter] * 4):  # more than one buffer may have, and more than there is
        with pytest.raises(RuntimeError, match="out of memory"):
            [tenora.empty(size, dtype=tenora.uint8, device=DEVICE) for size in sizes]
    assert tenora.ones(3, device=DEVICE).sum().item() == 3


def test_a_dtype_that_it_lacks_is_refused() -> None:
    with pytest.raises(tenora.NotSupportedError, match="got complex64, expected one of bool"):
        tenora.ones(3, device=DEVICE).to(tenora.complex64)


def test_what_is_written_twice_is_written_in_order() -> None:
    places = tenora.zeros(1000, dtype=tenora.int64, device=DEVICE)
    values = tenora.arange(1000, dtype=tenora.float32, device=DEVICE)
    assert tenora.zeros(2, device=DEVICE).scatter(0, places, values).tolist() == [999, 0]
    assert tenora.zeros(2, device=DEVICE).scatter_add(0, places, values).tolist() == [499500, 0]


@pytest.mark.parametrize("descending", [False, True])
def test_a_long_sort_is_stable(descending: bool) -> None:
    numbers = np.random.default_rng(0).integers(0, 50, (3, 1000)).astype(np.float32)
    values, places = tenora.tensor(numbers, device=DEVICE).sort(dim=1, descending=descending, stable=True)
    expected = np.argsort(-numbers if descending else numbers, axis=1, kind="stable")
    assert places.tolist() == expected.tolist()
    assert values.tolist() == np.take_along_axis(numbers, expected, axis=1).tolist()


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_numbers_become_halves_by_rounding_once(dtype: str, half: str) -> None:
    """In the middle between each two neighbours and beside it, where rounding by way of another dtype goes wrong."""
    last = {"float16": 0x7BFF, "bfloat16": 0x7F7F if dtype != "int64" else 0x5E00}[half]
    kind = np.dtype(np.float16 if half == "float16" else ml_dtypes.bfloat16)
    numbers = np.arange(last + 1, dtype=np.uint16).view(kind).astype(np.float64)
    if dtype == "int64":
        numbers = numbers[numbers >= 2048]  # apart by two at least
    middles = ((numbers[:-1] + numbers[1:]) / 2).astype(dtype)
    below = middles - 1 if dtype == "int64" else np.nextafter(middles, middles.dtype.type(0))
    above = middles + 1 if dtype == "int64" else np.nextafter(middles, middles.dtype.type(np.inf))
    codes = numbers.astype(kind).view(np.uint16)
    tied = np.where(codes[:-1] % 2 == 0, numbers[:-1], numbers[1:])
    for given, expected in ((below, numbers[:-1]), (middles, tied), (above, numbers[1:])):
        for sign in (1, -1):
            got = tenora.tensor(sign * given, device=DEVICE).to(getattr(tenora, half)).to(tenora.float64)
            assert got.tolist() == (sign * expected).tolist()


def test_dimensions_without_a_gap_become_one() -> None:
    assert merged((2, 1, 3, 4), [(12, 99, 4, 1)]) == ([24], [[1]])
    assert merged((2, 3, 4), [(12, 4, 1), (0, 4, 1)]) == ([2, 12], [[12, 1], [0, 1]])
    assert merged((2, 3), [(3, -1)]) == ([2, 3], [[3, -1]])


def test_a_forked_process_is_refused() -> None:
    """The device's threads stay behind; without an error the child would wait for them for ever."""
    x = tenora.ones(3, device=DEVICE)
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits
        try:
            x.tolist()
        except RuntimeError as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
