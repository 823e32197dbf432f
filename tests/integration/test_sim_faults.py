"""Faults on the simulated device: each reaches the user by name, and what can go on goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import sim_device
from sim_device import everywhere, simulated

import tenora


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own: what it does to the device ends with it."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_host_access_dies_by_name() -> None:
    program = (
        "import ctypes, faulthandler, tenora\n"
        "faulthandler.disable()\n"
        "tenora.set_default_backend('sim', device='sim')\n"
        "x = tenora.ones(4, device='sim')\n"
        "tenora.sim.synchronize()\n"
        "print(ctypes.c_float.from_address(x.data_ptr()).value)\n"
    )
    done = run(program)
    assert done.returncode == -signal.SIGSEGV, done.stdout + done.stderr
    assert "[sim] the host touched device memory" in done.stderr and "Copy to the host" in done.stderr
    assert done.stdout == ""


def test_a_forked_child_goes_backward() -> None:
    """The thread that runs the device's nodes stays with the parent; the child waited for it for ever."""
    program = (
        "import os, tenora\n"
        "tenora.set_default_backend('sim', device='sim')\n"
        "def slope():\n"
        "    x = tenora.ones(3, device='sim', requires_grad=True)\n"
        "    (x * x).sum().backward()\n"
        "    return x.grad.tolist()\n"
        "slope()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if slope() == [2.0] * 3 else 1)\n"
        "print(os.waitpid(child, 0)[1], slope())\n"
    )
    done = run(program)
    assert done.stdout == "0 [2.0, 2.0, 2.0]\n", done.stdout + done.stderr


@pytest.mark.parametrize("policy", sim_device.POLICIES)
def test_what_a_kernel_finds_is_told_by_the_next_wait_and_once(policy: str) -> None:
    with simulated(policy):
        x = tenora.arange(4, device="sim")
        for places, divisor, kind, text in (
            ([9], 1, IndexError, "index 9 is out of bounds for dimension 0 with size 4"),
            ([0], 0, RuntimeError, "floor_divide: integer division by zero"),
        ):
            chosen = x[tenora.tensor(places, device="sim")] // tenora.full(
                (1,), divisor, device="sim", dtype=x.dtype
            )
            with pytest.raises(kind, match=text):
                chosen.tolist()
            assert (x + 1).tolist() == [1, 2, 3, 4]


def test_one_allocation_that_fails_is_tried_again() -> None:
    with simulated():
        tenora.sim.empty_cache()
        before = tenora.sim.memory_stats()["retries"]
        tenora.set_backend_option("sim", fail_allocation=1)
        assert tenora.ones(1 << 20, device="sim").sum().item() == 1 << 20
        assert tenora.sim.memory_stats()["retries"] == before + 1


def test_out_of_memory_is_an_error_after_which_life_goes_on() -> None:
    with simulated():
        tenora.sim.empty_cache()
        tenora.set_backend_option("sim", memory=64)
        with pytest.raises(tenora.OutOfMemoryError, match=r"out of memory on sim:0.*sim:0 has 64 MiB"):
            tenora.ones(1 << 25, device="sim")
        assert tenora.ones(1 << 20, device="sim").sum().item() == 1 << 20


def test_a_kernel_that_fails_is_named() -> None:
    for policy, seed in everywhere(3):
        with simulated(policy, seed):
            x = tenora.ones(4, device="sim")
            tenora.sim.synchronize()
            tenora.set_backend_option("sim", fail_kernel=2)
            y = x + 1
            z = y * y
            with pytest.raises(RuntimeError, match="mul: the option fail_kernel asked for it"):
                z.tolist()
            assert y.tolist() == [2.0] * 4


def test_a_lost_device_stays_lost_and_the_process_lives() -> None:
    program = (
        "import tenora, tenora_dispatch\n"
        "tenora.set_default_backend('sim', device='sim')\n"
        "x = tenora.ones(4, device='sim')\n"
        "other = tenora.ones(4, device='sim:1')\n"
        "tenora.set_backend_option('sim', lose_device=2)\n"
        "y = x + 1\n"
        "for attempt in (lambda: y + 1, lambda: x + 1, lambda: x.tolist(), lambda: tenora.ones(2, device='sim'),\n"
        "                tenora.sim.synchronize):\n"
        "    try:\n"
        "        attempt()\n"
        "    except tenora_dispatch.DeviceLostError as error:\n"
        "        print(str(error)[:30])\n"
        "del x, y\n"
        "print((other + 1).tolist(), tenora.ones(2).tolist())\n"
    )
    done = run(program)
    assert done.returncode == 0, done.stderr
    *errors, last = done.stdout.splitlines()
    assert len(errors) == 5, done.stdout
    assert last == "[2.0, 2.0, 2.0, 2.0] [1.0, 1.0]"


@pytest.mark.parametrize(
    ("probe", "told"),
    [("slow", "2.0"), ("raises", "OSError"), ("unavailable", "cannot work here: the option `probe`")],
)
def test_a_probe_that_is_slow_or_fails(probe: str, told: str) -> None:
    program = (
        "import tenora\n"
        f"tenora.set_backend_option('sim', probe={probe!r})\n"
        "try:\n"
        "    with tenora.use_backend('sim'):\n"
        "        print(tenora.ones(2, device='sim').sum().item())\n"
        "except Exception as error:\n"
        "    print(type(error.__cause__).__name__, error)\n"
        "print(tenora.ones(2).tolist())\n"
    )
    done = run(program)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert told in first and last == "[1.0, 1.0]"


def test_what_is_left_out_is_composed_or_refused() -> None:
    program = (
        "import tenora\n"
        "tenora.set_backend_option('sim', without='sort,float64')\n"
        "with tenora.use_backend('sim'):\n"
        "    x = tenora.tensor([3.0, 1.0], device='sim')\n"
        "    print(x.exp().sum().item() > 0)\n"
        "    for attempt in (lambda: x.sort(), lambda: x.double()):\n"
        "        try:\n"
        "            attempt()\n"
        "        except NotImplementedError as error:\n"
        "            print(error)\n"
        "    try:\n"
        "        tenora.set_backend_option('sim', without='')\n"
        "    except ValueError as error:\n"
        "        print(error)\n"
    )
    done = run(program)
    assert done.returncode == 0, done.stderr
    works, sort, double, late = done.stdout.splitlines()
    assert works == "True"
    assert sort.startswith("[sort] not supported") and "float64" in double
    assert "without was read when the backend was loaded" in late


def test_a_write_behind_an_allocation_is_reported() -> None:
    program = (
        "import ctypes, tenora, tenora_engine, sim_device\n"
        "with tenora.use_backend('sim'):\n"
        "    x = tenora.ones(4, device='sim')\n"
        "    (segment,) = tenora_engine.memory_snapshot(x.device)\n"
        "    end = segment['address'] + sum(size for size, _ in segment['blocks'])\n"
        "    ctypes.memset(sim_device.library().tenora_sim_storage(end + 3), 0, 1)\n"
        "    try:\n"
        "        x.tolist()\n"
        "    except RuntimeError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "a write 3 bytes behind allocation 1" in done.stdout, done.stdout + done.stderr


def test_an_option_that_is_wrong_is_refused() -> None:
    with simulated():
        for options, text in (
            ({"policy": "later"}, "expected one of"),
            ({"seed": -1}, "seed is a whole number of at least 0"),
            ({"devices": 3}, "devices was read when the backend was loaded"),
        ):
            with pytest.raises(ValueError, match=text):
                tenora.set_backend_option("sim", **options)
        tenora.set_backend_option("sim", devices=2)
