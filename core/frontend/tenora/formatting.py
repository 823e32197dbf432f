"""How a tensor prints: PyTorch's form, element by element over a NumPy view."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import tenora_engine
from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_ops.lazy import np  # half a process's start, for those who print

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
            raise errors.ArgumentValueError(
                f"[set_printoptions] profile: got {profile!r}, expected one of {list(profiles)}."
                " Choose one of them."
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
        least = {"precision": 0, "threshold": 0, "edgeitems": 0, "linewidth": 1}.get(name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if least is not None and value is not None and not (whole and value >= least):
            raise errors.ArgumentValueError(
                f"[set_printoptions] {name}: got {value!r:.60}, expected a whole number from {least} on. Pass an int."
            )
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
        summarise = plain.numel() > _options.threshold
        shown = _without_repeats(plain) if summarise else plain
        body = _format_array(_host_array(shown), len(_PREFIX), summarise)
    text = _PREFIX + body
    for suffix in suffixes:
        last = len(text) - text.rfind("\n") - 1
        text += (
            f", {suffix}"
            if last + len(suffix) + 2 < _options.linewidth
            else f",\n{' ' * len(_PREFIX)}{suffix}"
        )
    return text + ")"


def _without_repeats(tensor: Tensor) -> Tensor:
    """Expanded dimensions cut to what is printed of them: they may be larger than any memory."""
    enough = 2 * _options.edgeitems + 1  # one more than the edges, so that the dots stay
    cut = tuple(slice(0, enough) if stride == 0 else slice(None) for stride in tensor.stride())
    return tensor[cut] if tensor.ndim else tensor


def _host_array(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The elements as an array of NumPy's own types: half types widened, they print the same."""
    widened = tensor.float() if tensor.dtype in (tenora_engine.bfloat16, tenora_engine.float16) else tensor
    return widened.cpu().numpy()


def _suffixes(tensor: Tensor) -> list[str]:
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    default = tenora_engine.default_dtype()
    complex_default = (
        tenora_engine.complex128 if default == tenora_engine.float64 else tenora_engine.complex64
    )
    inferred = (default, complex_default, tenora_engine.int64, tenora_engine.bool)
    if tensor.dtype not in inferred or (tensor.numel() == 0 and tensor.dtype != inferred[0]):
        suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _format_array(array: np.ndarray[Any, Any], indent: int, summarise: bool) -> str:
    visible = _visible(array) if summarise else array
    one, width = _formatter(visible)
    if array.ndim == 0:
        return one(array[()]).strip()
    return _nested(array, one, width, indent, summarise)


def _edges(size: int, summarise: bool) -> tuple[list[int], list[int]]:
    """Positions before and after the dots; nothing after them when everything is shown."""
    edge = _options.edgeitems
    if summarise and size > 2 * edge:
        return list(range(edge)), list(range(size - edge, size))
    return list(range(size)), []


def _nested(
    array: np.ndarray[Any, Any], one: Callable[[Any], str], width: int, indent: int, summarise: bool
) -> str:
    head, tail = _edges(array.shape[0], summarise)
    if array.ndim == 1:
        # The dots are one more item, set off by a space of their own.
        items = [one(array[i]) for i in head] + ([" ..."] if tail else []) + [one(array[i]) for i in tail]
        per_line = max(1, (_options.linewidth - indent) // (width + 2))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [_nested(array[i], one, width, indent + 1, summarise) for i in head]
    rows += ["..."] if tail else []
    rows += [_nested(array[i], one, width, indent + 1, summarise) for i in tail]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def _visible(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of a large array that will be printed."""
    for axis, size in enumerate(array.shape):
        head, tail = _edges(size, True)
        array = np.take(array, head + tail, axis=axis)
    return array


def _formatter(values: np.ndarray[Any, Any]) -> tuple[Callable[[Any], str], int]:
    """The text of one element, and the width that all elements are set to."""
    if values.dtype.kind == "f":
        return _float_formatter(values)
    if values.dtype.kind == "c":
        (real, real_width), (imaginary, imaginary_width) = map(_float_formatter, (values.real, values.imag))

        def both(value: Any) -> str:
            sign = "-" if math.copysign(1, value.imag) < 0 else "+"
            return real(value.real) + sign + imaginary(abs(value.imag)).strip() + "j"

        return both, real_width + imaginary_width + 1
    texts = [str(value) for value in values.ravel().tolist()]
    width = max(map(len, texts))
    return lambda value: str(value).rjust(width), width


def _float_formatter(values: np.ndarray[Any, Any]) -> tuple[Callable[[Any], str], int]:
    """Whole numbers as `3.`, others with the chosen digits, all scientific when the range is wide.

    Only finite numbers other than zero decide; the thresholds (a range of 1,000, 1e8 and 1e-4) are PyTorch's.
    """
    precision = _options.precision
    wide = values.astype(np.float64, copy=False).ravel()
    telling = wide[np.isfinite(wide) & (wide != 0)]
    whole = bool(np.all(telling == np.rint(telling)))
    scientific = _options.sci_mode
    if scientific is None and telling.size:
        largest, smallest = float(np.abs(telling).max()), float(np.abs(telling).min())
        scientific = largest > 1e8 or largest / smallest > 1e3 or (not whole and smallest < 1e-4)

    def one(value: float) -> str:
        if not math.isfinite(value):
            return str(float(value))
        if scientific:
            return f"{value:.{precision}e}"
        return f"{value:.0f}." if whole else f"{value:.{precision}f}"

    width = max((len(one(float(value))) for value in telling), default=1)
    return lambda value: one(float(value)).rjust(width), width
