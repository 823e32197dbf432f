"""How a tensor prints: PyTorch's form, written with NumPy's number formatting."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

import tenora_engine
from tenora_engine import Tensor

_PREFIX = "tensor("


@dataclass
class PrintOptions:
    """What `set_printoptions` changes."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Changes how tensors print: digits, when to summarise, items at the edges, line width, scientific notation.

    >>> import tenora
    >>> tenora.set_printoptions(precision=2); tenora.tensor(1.23456)
    tensor(1.23)
    >>> tenora.set_printoptions(profile="default")
    """
    if profile is not None:
        profiles = {
            "default": PrintOptions(),
            "short": PrintOptions(precision=2, edgeitems=2),
            "full": PrintOptions(threshold=2**62),
        }
        if profile not in profiles:
            raise ValueError(
                f"[set_printoptions] profile: got {profile!r}, expected one of {list(profiles)}."
            )
        for field in fields(PrintOptions):
            setattr(_options, field.name, getattr(profiles[profile], field.name))
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
        "sci_mode": sci_mode,
    }
    for name, value in given.items():
        if value is not None:
            setattr(_options, name, value)


def format_tensor(tensor: Tensor) -> str:
    """The repr of `tensor`."""
    plain = tensor.detach()
    if type(plain) is not Tensor:
        plain = plain.as_subclass(Tensor)
    suffixes = _suffixes(tensor)
    if plain.numel() == 0:
        body = "[]"
        if plain.ndim != 1:
            suffixes.insert(0, f"size={tuple(plain.shape)}")
    else:
        body = _format_array(
            plain.cpu().numpy() if str(plain.dtype) != "tenora.bfloat16" else _widened(plain)
        )
    text = _PREFIX + body
    for suffix in suffixes:
        last = len(text) - text.rfind("\n") - 1
        text += (
            f", {suffix}"
            if last + len(suffix) + 2 < _options.linewidth
            else f",\n{' ' * len(_PREFIX)}{suffix}"
        )
    return text + ")"


def _widened(tensor: Tensor) -> np.ndarray[Any, Any]:
    return tensor.float().cpu().numpy()


def _suffixes(tensor: Tensor) -> list[str]:
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    inferred = (tenora_engine.default_dtype(), tenora_engine.int64, tenora_engine.bool)
    if tensor.dtype not in inferred or (tensor.numel() == 0 and tensor.dtype != inferred[0]):
        suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _format_array(array: np.ndarray[Any, Any]) -> str:
    options = _options
    formatter: dict[str, Any] = {}
    if array.dtype.kind == "f":
        formatter = {"float_kind": _float_formatter(_visible(array))}
    elif array.dtype.kind == "c":
        visible = _visible(array)
        real, imaginary = _float_formatter(visible.real), _float_formatter(visible.imag)
        formatter = {
            "complex_kind": lambda value: (
                real(value.real)
                + ("-" if math.copysign(1, value.imag) < 0 else "+")
                + imaginary(abs(value.imag)).strip()
                + "j"
            )
        }
    elif array.dtype.kind in "iu":
        width = max(len(str(value)) for value in _visible(array).ravel())
        formatter = {"int_kind": lambda value: str(value).rjust(width)}
    elif array.dtype.kind == "b":
        width = 4 if _visible(array).all() else 5
        formatter = {"bool": lambda value: str(bool(value)).rjust(width)}
    if array.ndim == 0:
        return next(iter(formatter.values()))(array[()]).strip()
    return np.array2string(
        array,
        separator=", ",
        prefix=_PREFIX,
        suffix="",
        threshold=options.threshold,
        edgeitems=options.edgeitems,
        max_line_width=options.linewidth,
        formatter=formatter,
    )


def _visible(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that will be printed: all, or the edges of a large array."""
    if array.size <= _options.threshold:
        return array
    edge = _options.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis=axis)
    return array


def _float_formatter(values: np.ndarray[Any, Any]) -> Any:
    """One width for all: whole numbers as `3.`, others with the chosen digits, scientific when the range is wide."""
    precision = _options.precision
    wide = values.astype(np.float64, copy=False).ravel()
    finite = np.abs(wide[np.isfinite(wide) & (wide != 0)])
    whole = bool(np.all(wide[np.isfinite(wide)] == np.rint(wide[np.isfinite(wide)])))
    largest, smallest = (float(finite.max()), float(finite.min())) if finite.size else (0.0, 1.0)
    scientific = _options.sci_mode
    if scientific is None:
        scientific = largest > 1e8 or (not whole and (largest / smallest > 1e3 or smallest < 1e-4))

    def one(value: float) -> str:
        if not math.isfinite(value):
            return str(float(value))
        if scientific:
            return f"{value:.{precision}e}"
        return f"{value:.0f}." if whole else f"{value:.{precision}f}"

    width = max(len(one(float(value))) for value in wide)
    return lambda value: one(float(value)).rjust(width)
