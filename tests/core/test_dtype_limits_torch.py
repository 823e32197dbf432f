"""finfo, iinfo and the questions about dtypes against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tenora
from tenora_ops.limits import smallest_subnormal
from tenora_ops.samples import ALL, COMPLEX, INTEGERS, REALS

pytestmark = pytest.mark.oracle

FLOATING = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")


@pytest.mark.parametrize("name", [*REALS, *COMPLEX])
def test_finfo(name: str) -> None:
    mine, theirs = tenora.finfo(getattr(tenora, name)), torch.finfo(getattr(torch, name))
    for field in FLOATING:
        assert getattr(mine, field) == getattr(theirs, field), field
    assert repr(mine) == repr(theirs)
    least = smallest_subnormal(getattr(tenora, name))
    assert least > 0 and tenora.tensor(least, dtype=getattr(tenora, mine.dtype)).item() == least
    assert tenora.tensor(least / 2, dtype=getattr(tenora, mine.dtype)).item() == 0


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name: str) -> None:
    mine, theirs = tenora.iinfo(getattr(tenora, name)), torch.iinfo(getattr(torch, name))
    for field in ("bits", "max", "min", "dtype"):
        assert getattr(mine, field) == getattr(theirs, field), field
    assert repr(mine) == repr(theirs)


def test_the_default_dtype_has_limits() -> None:
    assert tenora.finfo() == tenora.finfo(tenora.float32) != tenora.finfo(tenora.float64)
    tenora.set_default_dtype(tenora.float64)
    try:
        assert tenora.finfo() == tenora.finfo(tenora.float64)
    finally:
        tenora.set_default_dtype(tenora.float32)
    assert tenora.iinfo(tenora.int8) == tenora.iinfo(tenora.int8) != tenora.iinfo(tenora.uint8)


WRONG: dict[str, Callable[[Any], Any]] = {
    "finfo of whole numbers": lambda m: m.finfo(m.int64),
    "finfo of bool": lambda m: m.finfo(m.bool),
    "finfo of a text": lambda m: m.finfo("float32"),
    "iinfo of floats": lambda m: m.iinfo(m.float32),
    "iinfo of bool": lambda m: m.iinfo(m.bool),
    "iinfo of complex numbers": lambda m: m.iinfo(m.complex64),
    "iinfo of nothing": lambda m: m.iinfo(),
    "hash of finfo": lambda m: hash(m.finfo(m.float32)),
    "numel of a list": lambda m: m.numel([1]),
    "is_complex of a number": lambda m: m.is_complex(1j),
    "is_floating_point of a number": lambda m: m.is_floating_point(1.0),
    "can_cast of a number": lambda m: m.can_cast(1.0, m.float32),
    "result_type of a text": lambda m: m.result_type(m.ones(2), "x"),
    "promote_types of a number": lambda m: m.promote_types(1, m.float32),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name: str) -> None:
    for m in (torch, tenora):
        with pytest.raises(TypeError):
            WRONG[name](m)


def test_casts_and_promotion_of_all_pairs() -> None:
    for a in ALL:
        for b in ALL:
            pair, other = (getattr(tenora, a), getattr(tenora, b)), (getattr(torch, a), getattr(torch, b))
            assert tenora.can_cast(*pair) == torch.can_cast(*other), (a, b)
            try:
                theirs = torch.promote_types(*other)
            except RuntimeError:  # of wide unsigned numbers
                continue
            assert str(tenora.promote_types(*pair)).split(".")[-1] == str(theirs).split(".")[-1]


def _of_dtype(value: Any, name: str) -> Callable[[Any], Any]:
    return lambda m: m.tensor(value).to(getattr(m, name))


VALUES: dict[str, Callable[[Any], Any]] = {
    **{name: _of_dtype([1.0, 1.0], name) for name in ALL},
    **{f"{name} 0-d": _of_dtype(1, name) for name in ALL},
    "True": lambda m: True,
    "2": lambda m: 2,
    "2.5": lambda m: 2.5,
    "2j": lambda m: 2j,
}


def test_result_types() -> None:
    compared = 0
    for a in VALUES.values():
        for b in VALUES.values():
            try:
                theirs = torch.result_type(a(torch), b(torch))
            except RuntimeError:  # of wide unsigned numbers
                continue
            if theirs == torch.complex32:  # there is no complex number of two float16
                theirs = torch.complex64
            found = tenora.result_type(a(tenora), b(tenora))
            assert str(found).split(".")[-1] == str(theirs).split(".")[-1], (a(torch), b(torch))
            compared += 1
    assert compared > 900


def test_kinds_and_counts() -> None:
    for name in ALL:
        mine, theirs = tenora.ones(2, 3).to(getattr(tenora, name)), torch.ones(2, 3).to(getattr(torch, name))
        assert tenora.is_complex(mine) == torch.is_complex(theirs)
        assert tenora.is_floating_point(mine) == torch.is_floating_point(theirs)
        assert tenora.numel(mine) == torch.numel(theirs) == 6
