"""Arguments that PyTorch refuses are refused, and what the message advises helps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora
from tenora_dispatch.errors import did_you_mean

pytestmark = pytest.mark.oracle


def table(lib: Any) -> Any:
    return lib.tensor([[1.0, 2.0], [3.0, 4.0]])


def scattered(lib: Any, reduce: str, source: Any = None) -> Any:
    x = table(lib)
    return x.scatter(1, lib.tensor([[0], [1]]), x if source is None else source, reduce=reduce)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "clamp": (lambda lib: lib.clamp(table(lib)), r"^\[clamp\] no bound"),
    "clip": (lambda lib: lib.clip(table(lib)), r"^\[clamp\] no bound"),
    "clamp_": (lambda lib: table(lib).clamp_(), r"^\[clamp\] no bound"),
    "lstsq": (
        lambda lib: lib.linalg.lstsq(table(lib), table(lib), driver="foo"),
        r"^\[linalg.lstsq\] unknown driver: .* gels, gelsy, gelsd, gelss",
    ),
    "celu": (lambda lib: lib.nn.functional.celu(table(lib), alpha=0.0), r"^\[celu\] alpha is wrong"),
    "CELU": (lambda lib: lib.nn.CELU(0.0)(table(lib)), r"^\[celu\] alpha is wrong"),
    "scatter amax": (lambda lib: scattered(lib, "amax"), r"^\[scatter\] .*'add' or 'multiply'"),
    "scatter sum": (lambda lib: scattered(lib, "sum"), r"^\[scatter\] .*'add' or 'multiply'"),
    "scatter a number": (lambda lib: scattered(lib, "prod", 2.0), r"^\[scatter\] .*'add' or 'multiply'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_arguments(name: str, backend: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(RuntimeError):
        call(torch)
    with pytest.raises(RuntimeError, match=text):
        call(tenora)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_right_arguments(driver: str, backend: str) -> None:
    tenora.linalg.lstsq(table(tenora), table(tenora), driver=driver)
    assert tenora.clamp(table(tenora), max=2).tolist() == [[1.0, 2.0], [2.0, 2.0]]
    assert scattered(tenora, "multiply").tolist() == scattered(torch, "multiply").tolist()


WITH_INDICES: dict[str, tuple[Any, ...]] = {
    "max": (1,),
    "min": (1,),
    "median": (1,),
    "nanmedian": (1,),
    "mode": (1,),
    "kthvalue": (1, 1),
    "sort": (),
    "topk": (1,),
    "cummax": (1,),
    "cummin": (1,),
}


@pytest.mark.parametrize("name", WITH_INDICES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_indices_go_into_int64_only(name: str, dtype: str, backend: str) -> None:
    for lib in (torch, tenora):
        call = getattr(lib, name)
        arguments = (table(lib), *WITH_INDICES[name])
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call(*arguments, out=(lib.empty(0), lib.empty(0, dtype=getattr(lib, dtype))))
        if lib is tenora:
            assert "expected int64" in str(caught.value)
        indices = lib.empty(0, dtype=lib.int64)
        call(*arguments, out=(lib.empty(0), indices))
        assert indices.tolist() == call(*arguments)[1].tolist()


def test_counts_are_cast_as_in_pytorch(backend: str) -> None:
    for lib in (torch, tenora):
        found = lib.empty((), dtype=lib.float32)
        assert lib.sum(lib.tensor([1, 2]), 0, out=found).item() == 3.0
        assert lib.linalg.matrix_rank(table(lib), out=found).item() == 2.0


@pytest.mark.parametrize("options", [{}, {"max_norm": 1.0}, {"padding_idx": 0}])
def test_a_table_that_is_no_tensor_is_named(options: dict[str, Any], backend: str) -> None:
    indices = tenora.tensor([0])
    with pytest.raises((TypeError, RuntimeError), match=r"got list, expected (a t|T)ensor"):
        tenora.nn.functional.embedding(indices, [[1.0, 2.0]], **options)


def test_padding_says_how_many_amounts_fit(backend: str) -> None:
    with pytest.raises(NotImplementedError, match=r"got 2 amounts .* expected 4 or 6 amounts"):
        tenora.nn.functional.pad(tenora.zeros(1, 1, 4, 4), (1, 1), mode="reflect")
    for amounts in ((0, 0, 1, 1), (1, 0, 0, 0, 0, 0)):
        tenora.nn.functional.pad(tenora.zeros(2, 2, 4, 4), amounts, mode="reflect")
    with pytest.raises(NotImplementedError, match=r"expected 2 to 5 dims.* Reshape it"):
        tenora.nn.functional.pad(tenora.zeros(4), (1, 1), mode="reflect")


@pytest.mark.parametrize("call", [lambda z: z.sort(), lambda z: z.max()])
def test_nobody_is_sent_to_another_backend_where_none_helps(call: Callable[[Any], Any], backend: str) -> None:
    with pytest.raises(tenora.errors.NotSupportedError) as caught:
        call(tenora.zeros(2, dtype=tenora.complex64))
    text = str(caught.value)
    assert "another backend" not in text and "cast to one of" in text and "float64" in text


@pytest.mark.parametrize("name", ["save", "func", "jit", "fx", "hub", "vmap"])
def test_another_word_is_no_typo(name: str) -> None:
    assert did_you_mean(name, [known for known in dir(tenora) if known != name]) == ""


@pytest.mark.parametrize(
    ("module", "typo", "meant"),
    [
        (tenora, "summ", "sum"),
        (tenora, "tnesor", "tensor"),
        (tenora, "zeross", "zeros"),
        (tenora.nn, "Conv2", "Conv2d"),
        (tenora.nn.functional, "conv2", "conv2d"),
        (tenora.nn.functional, "sofmax", "softmax"),
        (tenora.nn.functional, "cross_entropi", "cross_entropy"),
    ],
)
def test_a_typo_gets_a_suggestion(module: Any, typo: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"Did you mean '{meant}'"):
        getattr(module, typo)


@pytest.mark.parametrize(("module", "typo", "meant"), [("tenora.linalg", "svdd", "svd")])
def test_elsewhere_the_interpreter_suggests(module: str, typo: str, meant: str) -> None:
    program = f"import tenora; {module}.{typo}"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    ).stderr
    assert f"Did you mean: '{meant}'" in shown


@pytest.mark.parametrize("name", ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm2d"])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}, {"bias": False}])
def test_normalisations_are_shown_as_in_pytorch(name: str, options: dict[str, bool]) -> None:
    shown, expected = (repr(getattr(f.nn, name)(3, **options)) for f in (tenora, torch))
    assert shown == expected
