"""Runs one program under tenora and under PyTorch and compares what it says."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

import tenora


def plain(value: Any) -> Any:
    """`value` with tensors as (dtype, shape, numbers), containers as lists and dicts, the rest as it prints."""
    if isinstance(value, tenora.Tensor | torch.Tensor):
        numbers = value.detach().reshape(-1).tolist()
        return (str(value.dtype).split(".")[-1], tuple(value.shape), numbers)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, BaseException):
        return value
    return value if isinstance(value, int | float | str | bool | None) else repr(value)


def equal(a: Any, b: Any) -> bool:
    """Whether two plain values are the same, numbers to the last digits of double precision."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-14) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and bool(a == b)


def outcome(program: Callable[[Any], Any], f: Any) -> Any:
    """What `program(f)` gives, or the exception that it raises; deprecation warnings of either side are silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(program(f))
        except Exception as error:  # the comparison is about which
            return error.with_traceback(None)


def agree(program: Callable[[Any], Any]) -> Any:
    """Asserts that both sides say the same: equal results, or an error of PyTorch's type. Gives ours."""
    theirs, ours = outcome(program, torch), outcome(program, tenora)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(ours, type(theirs)), f"{ours!r} against PyTorch's {theirs!r}"
    else:
        assert equal(ours, theirs), f"tenora says\n{ours}\nPyTorch says\n{theirs}"
    return ours


def refused(call: Callable[[], Any]) -> str:
    """The name of PyTorch's class of the error that a call raises, or an empty text."""
    try:
        call()
    except Exception as error:  # told apart by class
        kinds = (
            KeyError,
            IndexError,
            AttributeError,
            TypeError,
            ValueError,
            NotImplementedError,
            AssertionError,
        )
        return next((kind.__name__ for kind in kinds if isinstance(error, kind)), "RuntimeError")
    return ""
