"""Making tensors by range: evenly spaced numbers, the identity matrix, the places of a triangle."""

from __future__ import annotations

import math
from numbers import Number, Real
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, float64
from tenora_engine import dtype as DType

from .creation_steps import finish, into
from .defaults import default_device, get_default_dtype
from .pinning import check_pinning


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`start, start + step, ...` below `end`; `arange(n)` and `arange(end=n)` count from 0.

    The result is 1-d: int64 for whole numbers, else of the default dtype, unless another is given. RuntimeError for
    a step of 0 or one that leads away from `end`, and for an imaginary part that is not 0; TypeError without an end.

    >>> import tenora
    >>> tenora.arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    if out is not None:
        return into("arange", out, dtype, lambda **options: arange(start, end, step, **options))
    if pin_memory is not False:
        check_pinning("arange", pin_memory)
    if start is None or end is None:
        start, end = 0, start if end is None else end
    if end is None:
        raise errors.ArgumentTypeError(
            "[arange] end: got none, expected a number. Write arange(5) or arange(2, 5)."
        )
    start, end, step = map(_real, (start, end, step))
    return finish(
        tenora_ops.arange(start, end, step, dtype=dtype, device=default_device(device)),
        requires_grad,
        pin_memory,
    )


def _real(number: Any) -> Any:
    """A complex number without imaginary part as the real one that it is; all else as it is."""
    if isinstance(number, Tensor) and number.dtype.is_complex and not number.ndim:
        number = number.item()
    if not isinstance(number, complex):
        return number
    if number.imag:
        raise errors.OperationError(
            f"[arange] a number does not fit: got {number}, expected a real one. Pass its real part."
        )
    return number.real


def _line(op: str, start: Any, end: Any, steps: int, dtype: DType | None, device: Any) -> Tensor:
    """Evenly spaced values of any dtype."""
    for name, v in (("start", start), ("end", end)):
        if isinstance(v, Tensor) and v.ndim:
            raise errors.OperationError(
                f"[{op}] {name} has dims: got {list(v.shape)}, expected a tensor without dims or a number. "
                "Take its element with .item()."
            )
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    for name, v in (("start", start), ("end", end)):
        if not isinstance(v, Number):
            raise errors.ArgumentTypeError(
                f"[{op}] {name} is wrong: got {type(v).__name__}, expected a number. Pass a Python number."
            )
    if steps < 0:
        raise errors.OperationError(
            f"[{op}] negative dimension: got {steps} steps, expected 0 or more. Ask for none or more."
        )
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = get_default_dtype().to_complex()
    if dtype is None or dtype.is_floating_point:
        return tenora_ops.linspace(start, end, steps, dtype=dtype, device=device)
    if not dtype.is_complex:  # the ends are cut first, as PyTorch does
        ends = _whole(op, start), _whole(op, end)
        line = tenora_ops.linspace(*ends, steps, dtype=float64, device=device)
        return tenora_ops.cast(line, dtype)
    start, end, part = complex(start), complex(end), dtype.to_real()
    return tenora_ops.complex(
        tenora_ops.linspace(start.real, end.real, steps, dtype=part, device=device),
        tenora_ops.linspace(start.imag, end.imag, steps, dtype=part, device=device),
    )


def _whole(op: str, number: Any) -> int:
    number = number.item() if isinstance(number, Tensor) else number
    if not isinstance(number, Real) or not math.isfinite(number):
        raise errors.OperationError(
            f"[{op}] an end is wrong: got {number}, expected a finite number for a whole dtype."
            " Pass finite numbers, or a floating dtype."
        )
    return int(math.trunc(number))


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced; of a whole dtype: cut to whole numbers.

    The result is (steps), of the default dtype unless another is given. RuntimeError for a negative number of steps
    and an end that is not finite in a whole dtype, TypeError for what is no number.

    >>> import tenora
    >>> tenora.linspace(0, 10, 4, dtype=tenora.int64).tolist()
    [0, 3, 6, 10]
    """
    if out is not None:
        return into("linspace", out, dtype, lambda **options: linspace(start, end, steps, **options))
    if pin_memory is not False:
        check_pinning("linspace", pin_memory)
    line = _line("linspace", start, end, steps, dtype, default_device(device))
    return finish(line, requires_grad, pin_memory)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`steps` powers of `base`, whose exponents are those of `linspace`.

    The result is (steps), of the default dtype unless another is given. RuntimeError for a negative number of steps,
    TypeError for what is no number.

    >>> import tenora
    >>> tenora.logspace(0, 3, 4, base=2.0).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    if out is not None:
        return into("logspace", out, dtype, lambda **options: logspace(start, end, steps, base, **options))
    if pin_memory is not False:
        check_pinning("logspace", pin_memory)
    place = default_device(device)
    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        exponents = _line("logspace", start, end, steps, dtype, place)
        return finish(tenora_ops.pow(base, exponents), requires_grad, pin_memory)
    ends = _whole("logspace", start), _whole("logspace", end)
    wide = tenora_ops.pow(base, _line("logspace", *ends, steps, float64, place))
    return finish(tenora_ops.cast(wide, dtype), requires_grad, pin_memory)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Ones on the diagonal of an n x m matrix (n x n without `m`), zeros elsewhere.

    The default dtype unless another is given. RuntimeError for a negative size.

    >>> import tenora
    >>> tenora.eye(2, 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if out is not None:
        return into("eye", out, dtype, lambda **options: eye(n, m, **options))
    if pin_memory is not False:
        check_pinning("eye", pin_memory)
    return finish(tenora_ops.eye(n, m, dtype=dtype, device=default_device(device)), requires_grad, pin_memory)


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Rows and columns of the elements on and below a diagonal of a `row` x `col` matrix, row by row.

    `offset` counts diagonals upwards from the main one. The result is (2, elements), int64 unless another dtype is
    given. RuntimeError for a negative size.

    >>> import tenora
    >>> tenora.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    if pin_memory is not False:
        check_pinning("tril_indices", pin_memory)
    places = tenora_ops.tril_indices(row, col, offset, dtype=dtype, device=default_device(device))
    return finish(places, requires_grad, pin_memory)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """Rows and columns of the elements on and above a diagonal of a `row` x `col` matrix, row by row.

    `offset` counts diagonals upwards from the main one. The result is (2, elements), int64 unless another dtype is
    given. RuntimeError for a negative size.

    >>> import tenora
    >>> tenora.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    if pin_memory is not False:
        check_pinning("triu_indices", pin_memory)
    places = tenora_ops.triu_indices(row, col, offset, dtype=dtype, device=default_device(device))
    return finish(places, requires_grad, pin_memory)
