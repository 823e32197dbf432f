"""plain_c's own tests: it is C11, it computes, whole numbers wrap, and its kernels write nothing but their outputs.

What every backend has to do is judged by `tenora-conformance run plain_c`.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import tenora
import tenora_dispatch

SOURCES = Path(__file__).resolve().parent.parent / "src"


@pytest.fixture
def computing() -> Iterator[None]:
    """The test computes with plain_c, each kernel under guard."""
    with tenora.use_backend("plain_c"), tenora.debug.guard("plain_c"):
        yield


@pytest.mark.parametrize("file", sorted(SOURCES.glob("*.c")), ids=lambda file: file.name)
def test_it_is_plain_c11(file: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler, "no cc: a C compiler builds this backend"
    strict = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wstrict-prototypes", "-fsyntax-only"]
    command = [compiler, *strict, f"-I{tenora_dispatch.get_include()}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("computing")
def test_it_computes_on_any_layout() -> None:
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x @ x.t() + 1).tolist() == [[6.0, 12.0], [12.0, 26.0]]
    assert x.sum(dim=0).tolist() == [4.0, 6.0]
    whole = tenora.arange(12).reshape(3, 4)
    assert whole.t()[::2].flip(1).tolist() == [[8, 4, 0], [10, 6, 2]]
    whole[1:, ::2] += 100
    assert whole[tenora.tensor([2, 0])].tolist() == [[108, 9, 110, 11], [0, 1, 2, 3]]


@pytest.mark.usefixtures("computing")
def test_whole_numbers_wrap_around() -> None:
    low = tenora.tensor([-128], dtype=tenora.int8)
    assert (-low).tolist() == low.abs().tolist() == (low // -1).tolist() == [-128]
    assert (low - 1).tolist() == [127]
    assert (low % -1).tolist() == [0]
    assert (tenora.tensor([250], dtype=tenora.uint8) + 10).tolist() == [4]


@pytest.mark.usefixtures("computing")
def test_what_only_a_kernel_can_see_is_an_error() -> None:
    whole = tenora.arange(4)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        whole[tenora.tensor([4])]
    with pytest.raises(RuntimeError, match="division by zero"):
        whole // tenora.tensor([1, 1, 0, 1])


@pytest.mark.usefixtures("computing")
def test_equal_elements_keep_their_order() -> None:
    nan = float("nan")
    x = tenora.tensor([2.0, nan, 1.0, 2.0, nan, 1.0, 0.0])
    assert x.sort(stable=True).indices.tolist() == [6, 2, 5, 0, 3, 1, 4]
    assert x.sort(descending=True, stable=True).indices.tolist() == [1, 4, 0, 3, 2, 5, 6]


@pytest.mark.usefixtures("computing")
def test_other_dtypes_are_refused() -> None:
    with pytest.raises(tenora.NotSupportedError, match="plain_c"):
        tenora.ones(2).to(tenora.complex64)
