"""Window functions under PyTorch's names: `hann(M, sym=True)` here, `hann_window(M, periodic=True)` in `tenora`.

- A symmetric window ends as it begins; a periodic one (`sym=False`) is the symmetric one of M + 1 without its last
  value. The windows are computed in float64 and rounded once.
- All raise ValueError for a negative length and RuntimeError for a dtype that is not floating.
- Formulas: Harris, On the use of windows for harmonic analysis (1978); Nuttall (1981); Kaiser and Schafer (1980).

>>> import tenora
>>> tenora.signal.windows.bartlett(5).tolist()
[0.0, 0.5, 1.0, 0.5, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import tenora_ops
from tenora_engine import Tensor, float64

from ..defaults import default_device, get_default_dtype


def _window(
    name: str,
    length: int,
    formula: Callable[[Tensor, float], Tensor],
    sym: bool,
    *,
    moved: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`formula` of the places 0 .. length - 1 and of the last place of the symmetric window.

    The only value of a window is 1, unless its centre was `moved`.
    """
    if length < 0:
        raise ValueError(f"[{name}] length: got {length}, expected 0 or more. Ask for some values.")
    dtype = get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise RuntimeError(f"[{name}] dtype: got {dtype}, expected a floating one. Cast the window.")
    place = default_device(device)
    if length == 0 or (length == 1 and not moved):
        made = tenora_ops.full((length,), 1.0, dtype=dtype, device=place)
    else:
        last = float(length if not sym and length > 1 else length - 1)
        places = tenora_ops.arange(0, length, 1, dtype=float64, device=place)
        made = tenora_ops.cast(formula(places, last), dtype)
    return made.requires_grad_(True) if requires_grad else made


def _cosines(coefficients: list[float]) -> Callable[[Tensor, float], Tensor]:
    """a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) - ..."""

    def formula(places: Tensor, last: float) -> Tensor:
        total = places * 0.0
        for i, a in enumerate(coefficients):
            total = total + tenora_ops.cos(places * (2 * math.pi * i / last)) * (a if i % 2 == 0 else -a)
        return total

    return formula


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """1 - |2 n / N - 1|."""
    return _window("bartlett", M, lambda n, last: 1 - tenora_ops.abs(n * (2 / last) - 1), sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """sin(pi (n + 1/2) / M)."""
    return _window(
        "cosine", M, lambda n, last: tenora_ops.sin((n + 0.5) * (math.pi / (last + 1))), sym, **options
    )


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """exp(-|n - center| / tau); ValueError unless tau is positive, and for a centre of a symmetric window."""
    if tau <= 0:
        raise ValueError(f"[exponential] tau: got {tau}, expected more than 0.")
    if sym and center is not None:
        raise ValueError(f"[exponential] center: got {center} for a symmetric window, expected None.")

    def formula(n: Tensor, last: float) -> Tensor:
        middle = last / 2 if center is None else center
        return tenora_ops.exp(-tenora_ops.abs(n - middle) / tau)

    return _window("exponential", M, formula, sym, moved=True, **options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-((n - N / 2) / std)^2 / 2); ValueError unless std is positive."""
    if std <= 0:
        raise ValueError(f"[gaussian] std: got {std}, expected more than 0.")
    return _window(
        "gaussian",
        M,
        lambda n, last: tenora_ops.exp(tenora_ops.square((n - last / 2) / std) * -0.5),
        sym,
        **options,
    )


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """A sum of cosines with coefficients `a`; TypeError or ValueError unless there are some."""
    if not isinstance(a, Iterable):
        raise TypeError(f"[general_cosine] a: got {type(a).__name__}, expected a list of numbers.")
    coefficients = list(a)
    if not coefficients:
        raise ValueError("[general_cosine] a: got no coefficients, expected one or more.")
    return _window("general_cosine", M, _cosines(coefficients), sym, **options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi n / N)."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.54 - 0.46 cos(2 pi n / N)."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """(1 - cos(2 pi n / N)) / 2."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta); ValueError for a negative beta."""
    if beta < 0:
        raise ValueError(f"[kaiser] beta: got {beta}, expected 0 or more.")

    def formula(n: Tensor, last: float) -> Tensor:
        inside = tenora_ops.clamp(1 - tenora_ops.square(n * (2 / last) - 1), 0.0)
        whole = tenora_ops.full((), float(beta), dtype=float64, device=n.device)
        return tenora_ops.i0(tenora_ops.sqrt(inside) * beta) / tenora_ops.i0(whole)

    return _window("kaiser", M, formula, sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Nuttall's sum of four cosines with the lowest side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """`bartlett`, periodic unless told otherwise."""
    return bartlett(window_length, sym=not periodic, **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """`blackman`, periodic unless told otherwise."""
    return blackman(window_length, sym=not periodic, **options)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """alpha - beta cos(2 pi n / N), periodic unless told otherwise."""
    return general_cosine(window_length, a=[alpha, beta], sym=not periodic, **options)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """`hann`, periodic unless told otherwise.

    >>> import tenora
    >>> tenora.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return hann(window_length, sym=not periodic, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """`kaiser`, periodic unless told otherwise."""
    return kaiser(window_length, beta=beta, sym=not periodic, **options)


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
