"""`tenora.debug.guard`: what careless kernels do is named, in Python and in C; sound backends pass on any memory."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from attic_package import MANIFEST as ATTIC_MANIFEST
from attic_package import PACKAGE as ATTIC
from conftest import HERE, run_python

import tenora
import tenora_dispatch
from tenora_dispatch.errors import BackendNotFoundError, TenoraError
from tenora_engine import _engine

MANIFEST = """
name = "{name}"
device_types = ["cpu"]
protocol = ">=1,<2"
abi = ">=1,<2"
opset = ">=0,<9"
"""
CARELESS = """
import ctypes
import numpy as np
from numpy.lib.stride_tricks import as_strided
from tenora_dispatch import KernelFlag

def sound(a, b, *, out):
    np.add(a, b, out=out)

def too_far(a, b, *, out):
    as_strided(out, (out.size + 2,), out.strides)[:] = 0

def unwritten(a, b, *, out):
    out[:-1] = (a - b)[:-1]

def in_its_input(a, *, out):
    ctypes.memset(a.ctypes.data + 6, (int(a.view(np.uint8)[6]) + 1) % 256, 1)
    np.negative(a, out=out)

def one_result(a, *, out, dim, **attributes):
    out[0][:] = a.max()

def load(registry):
    registry.kernel("add", sound, dtypes=("reals", "ints"), flags=KernelFlag.INPLACE)
    registry.kernel("mul", too_far, dtypes="reals")
    registry.kernel("sub", unwritten, dtypes=("reals", "ints"))
    registry.kernel("neg", in_its_input, dtypes="reals")
    registry.kernel("copy", lambda a, *, out: np.copyto(out, a), flags=KernelFlag.STRIDED | KernelFlag.STRIDED_OUT)
    registry.kernel("fill", lambda *, out, value: out.fill(value))
"""


@pytest.fixture
def careless(install, request) -> str:
    """A careless backend of this process, in Python or in C by the test's parameter; loaded once per process."""
    name = f"careless_{request.param}"
    if name not in _engine.backend_names():
        native = "def load(registry):\n    registry.native('careless.so')\n"
        home = install(name, package=CARELESS if request.param == "python" else native, manifest=MANIFEST)
        if request.param == "c":
            compile_careless(home, name)
        tenora_dispatch.runtime.table.refresh()
        tenora_dispatch.kernels(name)
    return name


def compile_careless(folder: Path, name: str) -> None:
    """Builds careless.c into a package's folder."""
    compiler = shutil.which("cc")
    assert compiler, "no cc: the tests need a C compiler"
    options = ["-std=c11", "-shared", "-fPIC", f"-I{tenora_dispatch.get_include()}", f'-DNAME="{name}"']
    command = [compiler, *options, str(HERE / "careless.c"), "-o", str(folder / "careless.so")]
    subprocess.run(command, check=True, timeout=60, capture_output=True)


both = pytest.mark.parametrize("careless", ["python", "c"], indirect=True)


def found(name: str, call) -> str:
    """The error of a call under guard; without the guard it passes, or there would be nothing to find."""
    with tenora.use_backend(name):
        call()
        with tenora.debug.guard(name), pytest.raises(TenoraError) as caught:
            call()
        call()
    error = caught.value
    assert isinstance(error, RuntimeError) and (error.backend, error.code) == (name, "kernel")
    return str(error)


@both
def test_a_write_outside_is_named(careless):
    a, room = tenora.tensor([1.0, 2.0, 3.0]), tenora.zeros(16)  # where the plain call may write too far

    def call():
        tenora.mul(a, a, out=room[:3]) if careless.endswith("_c") else tenora.mul(a, a)

    text = found(careless, call)
    assert text.startswith(f"[mul] guard: the kernel of backend '{careless}' writes outside of output 0"), (
        text
    )
    assert "byte 12 of 12" in text


@both
def test_an_element_left_unwritten_is_named(careless):
    a, b = tenora.tensor([1.0, 2.0, 3.0]), tenora.ones(3)
    text = found(careless, lambda: a - b)
    assert "[sub]" in text and "leaves an element of output 0 unwritten: got poison at byte 8 of 12" in text


@both
def test_a_changed_input_is_named(careless):
    a = tenora.tensor([1.0, 2.5, 3.0])
    text = found(careless, lambda: -a)
    byte = 6 if careless == "careless_python" else 3  # the C kernel begins with the sign of the first element
    assert "[neg]" in text and f"changes input 0: got byte {byte} of 12 set to" in text


@pytest.mark.parametrize("careless", ["c"], indirect=True)
def test_a_write_between_strided_elements_is_named(careless):
    target, source = tenora.zeros(4, 2), tenora.ones(4)

    def call():
        target[:, 0].copy_(source)

    text = found(careless, call)
    assert "[copy]" in text and "writes between the elements of output 0: got byte 4 of 28" in text
    assert target.sum().item() > 0


@pytest.mark.parametrize("careless", ["c"], indirect=True)
def test_a_write_before_the_workspace_is_named(careless):
    ones = tenora.ones(4)
    text = found(careless, lambda: ones.exp())
    assert "[exp]" in text and "writes outside of the workspace: got byte -4 of 16 set to 0" in text


@both
def test_a_sound_kernel_passes_and_computes_in_place(careless):
    with tenora.use_backend(careless), tenora.debug.guard(careless):
        a = tenora.tensor([1.0, 2.0, 3.0])
        assert (a + a).tolist() == [2.0, 4.0, 6.0]
        a += a
        assert a.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("careless", ["python"], indirect=True)
def test_a_right_value_that_looks_like_poison_passes(careless):
    ones = tenora.full((5,), -1, dtype=tenora.int64)
    with tenora.use_backend(careless), tenora.debug.guard(careless):
        assert (ones + tenora.zeros(5, dtype=tenora.int64)).tolist() == [-1] * 5
        with pytest.raises(TenoraError, match="unwritten"):
            ones - tenora.zeros(5, dtype=tenora.int64)


def exercise() -> list[float]:
    """A set of ops of every family with layouts, writes in place, gradients and an optimizer's step."""
    tenora.manual_seed(3)
    x = tenora.randn(5, 7, requires_grad=True)
    told = [((x @ x.t()).relu() + 1).softmax(-1).sum(dim=1)]
    layer = tenora.nn.Linear(7, 3)
    optimizer = tenora.optim.AdamW(layer.parameters())
    (layer(x) ** 2).sum().backward()
    optimizer.step()
    told += [x.grad, layer.weight.detach(), x.detach().flip(0)[::2, 1:4].cumsum(0)]
    grid = tenora.zeros(4, 6)
    grid[::2, 1::2] += 3
    grid.add_(grid).t().mul_(2)
    index = tenora.tensor([[0, 3, 1, 2, 2, 0]])
    told += [grid, grid.scatter(0, index, 5.0), grid.scatter_add(0, index, tenora.ones(1, 6))]
    told += [grid[index[0, :3]], grid.gather(0, index), grid.sort(descending=True).values, grid.argmax(1)]
    told += [tenora.where(grid > 3, grid, -grid), tenora.arange(9).view(3, 3).t().amin(0), grid[:0].sum(0)]
    told += [
        tenora.full((3,), 255, dtype=tenora.uint8),
        tenora.tensor([True, False]) & True,
        grid.mean().isnan(),
    ]
    return [value for each in told for value in each.detach().to(tenora.float64).flatten().tolist()]


def test_sound_backends_pass_and_compute_the_same(backend):
    plain = exercise()
    with tenora.debug.guard(backend):
        assert exercise() == plain


def test_ops_loaded_later_are_guarded_too(install):
    """Kernels of ops that are only announced wait for them outside of the table."""
    package = """
        def load(registry):
            registry.kernel("add", lambda a, b, *, out: a + b)
            registry.kernel("special_bessel_j0", lambda a, *, out: None)
    """
    home = install("later_guarded", package=package, manifest=MANIFEST)
    program = """
import tenora
with tenora.use_backend("later_guarded"), tenora.debug.guard("later_guarded"):
    try:
        tenora.special.bessel_j0(tenora.tensor([1.0, 2.0]))
    except RuntimeError as error:
        print(error)
"""
    done = run_python(["-c", program], path=home.parent)
    assert "leaves an element of output 0 unwritten" in done.stdout, done.stdout + done.stderr


def test_memory_written_in_python_is_guarded(install):
    home = install("attic", package=ATTIC, manifest=ATTIC_MANIFEST)
    program = """
import tenora
x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]]).to("attic")
with tenora.debug.guard("attic"):
    print((x.t() + x).cpu().tolist())
"""
    done = run_python(["-c", program], path=home.parent)
    assert done.stdout.strip() == "[[2.0, 5.0], [5.0, 8.0]]", done.stdout + done.stderr


def test_the_memory_of_a_native_stranger_is_guarded(strangers):
    program = """
import tenora
x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]]).to("rock")
with tenora.debug.guard("stranger_c"):
    print(((x.t() @ x + 1) * x[:, :1]).cpu().tolist())
"""
    done = run_python(["-c", program], path=strangers)
    assert done.stdout.strip() == "[[11.0, 15.0], [45.0, 63.0]]", done.stdout + done.stderr


def test_guards_nest_and_end_with_their_block():
    (name,) = [row.name for row in tenora_dispatch.backends() if row.manifest and row.manifest.reference]
    with tenora.debug.guard(name), pytest.raises(KeyError), tenora.debug.guard(name):
        raise KeyError
    with pytest.raises(ValueError, match="guard is not on"):
        _engine.guard_backend(name, False)


def test_an_unknown_backend_is_named():
    with pytest.raises(BackendNotFoundError, match="unknown backend"), tenora.debug.guard("nobody"):
        raise AssertionError("the block ran")
