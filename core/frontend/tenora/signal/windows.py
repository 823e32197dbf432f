"""Window functions under PyTorch's names: `hann(M, sym=True)` here, `hann_window(M, periodic=True)` in `tenora`.

- A symmetric window ends as it begins; a periodic one (`sym=False`) is the symmetric one of M + 1 without its last
  value. The windows are computed in float64 and rounded once.
- All raise TypeError for a length that is no integer, ValueError (`*_window`: RuntimeError, as PyTorch) for a negative
  one, and RuntimeError for a dtype that is not floating.
- Formulas: Harris, On the use of windows for harmonic analysis (1978); Nuttall (1981); Kaiser and Schafer (1980).

>>> import tenora
>>> tenora.signal.windows.bartlett(5).tolist()
[0.0, 0.5, 1.0, 0.5, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import index
from typing import Any, TypedDict, Unpack

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, float64
from tenora_engine import dtype as DType

from ..creation_steps import finish
from ..defaults import default_device, get_default_dtype
from ..pinning import check_pinning


class Options(TypedDict, total=False):
    """What every window takes beside its shape: a floating dtype, a device, whether it requires gradients."""

    dtype: DType | None
    device: Any
    requires_grad: bool


class WindowOptions(Options, total=False):
    """What the functions of `tenora` itself take beside that."""

    pin_memory: bool | None


def _window(
    name: str,
    length: int,
    formula: Callable[[Tensor, float], Tensor],
    sym: bool,
    options: Options,
    *,
    moved: bool = False,
) -> Tensor:
    """`formula` of the places 0 .. length - 1 and of the last place of the symmetric window.

    The only value of a window is 1, unless its centre was `moved`.
    """
    known = (WindowOptions if name.endswith("_window") else Options).__annotations__
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise errors.ArgumentTypeError(
            f"[{name}] unexpected keyword argument: got {unknown[0]!r}, expected one of {list(known)}. Leave it out."
        )
    check_pinning(name, options.get("pin_memory"))
    length = _length(name, length)
    dtype = options.get("dtype") or get_default_dtype()
    if not dtype.is_floating_point:
        raise errors.OperationError(f"[{name}] dtype: got {dtype}, expected a floating one. Cast the window.")
    place = default_device(options.get("device"))
    if length == 0 or (length == 1 and not moved):
        made = tenora_ops.full((length,), 1.0, dtype=dtype, device=place)
    else:
        last = float(length if not sym and length > 1 else length - 1)
        places = tenora_ops.arange(0, length, 1, dtype=float64, device=place)
        made = tenora_ops.cast(formula(places, last), dtype)
    return finish(made, options.get("requires_grad", False), options.get("pin_memory"))


def _length(name: str, length: Any) -> int:
    try:
        whole = index(length)
    except TypeError:
        raise errors.ArgumentTypeError(
            f"[{name}] length: got {type(length).__name__}, expected an integer. Pass an int."
        ) from None
    if whole < 0:
        kind = errors.OperationError if name.endswith("_window") else errors.ArgumentValueError  # as PyTorch
        raise kind(f"[{name}] length: got {whole}, expected 0 or more. Ask for some values.")
    return whole


def _sum_of_cosines(name: str, M: int, coefficients: list[float], sym: bool, options: Options) -> Tensor:
    return _window(name, M, _cosines(coefficients), sym, options)


def _cosines(coefficients: list[float]) -> Callable[[Tensor, float], Tensor]:
    """a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) - ..."""

    def formula(places: Tensor, last: float) -> Tensor:
        total = places * 0.0
        for i, a in enumerate(coefficients):
            total = total + tenora_ops.cos(places * (2 * math.pi * i / last)) * (a if i % 2 == 0 else -a)
        return total

    return formula


def _bartlett(name: str, M: int, sym: bool, options: Options) -> Tensor:
    return _window(name, M, lambda n, last: 1 - tenora_ops.abs(n * (2 / last) - 1), sym, options)


def _kaiser(name: str, M: int, beta: float, sym: bool, options: Options) -> Tensor:
    if beta < 0:
        raise errors.ArgumentValueError(f"[{name}] beta: got {beta}, expected 0 or more. Pass its size.")

    def formula(n: Tensor, last: float) -> Tensor:
        inside = tenora_ops.clamp(1 - tenora_ops.square(n * (2 / last) - 1), 0.0)
        whole = tenora_ops.full((), float(beta), dtype=float64, device=n.device)
        return tenora_ops.i0(tenora_ops.sqrt(inside) * beta) / tenora_ops.i0(whole)

    return _window(name, M, formula, sym, options)


BLACKMAN = [0.42, 0.5, 0.08]


def bartlett(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """1 - |2 n / N - 1|, a triangle (Bartlett 1950), with N = M - 1, or M where not `sym`.

    The result is (M). Errors and `options` are those of every window, see the module.

    >>> import tenora
    >>> tenora.signal.windows.bartlett(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _bartlett("bartlett", M, sym, options)


def blackman(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N), with N = M - 1, or M where not `sym` (Harris 1978).

    The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _sum_of_cosines("blackman", M, BLACKMAN, sym, options)


def cosine(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """sin(pi (n + 1/2) / M), or of M + 1 where not `sym` (Harris 1978).

    The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window(
        "cosine", M, lambda n, last: tenora_ops.sin((n + 0.5) * (math.pi / (last + 1))), sym, options
    )


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Unpack[Options]
) -> Tensor:
    """exp(-|n - center| / tau); ValueError unless tau is positive, and for a centre of a symmetric window.

    The result is (M); `center` is the middle unless given (Harris 1978).

    >>> import tenora
    >>> tenora.signal.windows.exponential(3, tau=1.0)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise errors.ArgumentValueError(
            f"[exponential] tau: got {tau}, expected more than 0. Pass a positive one."
        )
    if sym and center is not None:
        raise errors.ArgumentValueError(
            f"[exponential] center: got {center} for a symmetric window, expected None. Pass sym=False."
        )

    def formula(n: Tensor, last: float) -> Tensor:
        middle = last / 2 if center is None else center
        return tenora_ops.exp(-tenora_ops.abs(n - middle) / tau)

    return _window("exponential", M, formula, sym, options, moved=True)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """exp(-((n - N / 2) / std)^2 / 2), with N = M - 1, or M where not `sym`; ValueError unless std is positive.

    The result is (M) (Harris 1978).

    >>> import tenora
    >>> tenora.signal.windows.gaussian(3, std=1.0)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise errors.ArgumentValueError(
            f"[gaussian] std: got {std}, expected more than 0. Pass a positive one."
        )
    return _window(
        "gaussian",
        M,
        lambda n, last: tenora_ops.exp(tenora_ops.square((n - last / 2) / std) * -0.5),
        sym,
        options,
    )


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """A sum of cosines with coefficients `a`; TypeError or ValueError unless there are some.

    a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) - ..., with N = M - 1, or M where not `sym` (Harris 1978). The
    result is (M).

    >>> import tenora
    >>> tenora.signal.windows.general_cosine(5, a=[0.5, 0.5]).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if not isinstance(a, Iterable):
        raise errors.ArgumentTypeError(
            f"[general_cosine] a: got {type(a).__name__}, expected a list of numbers. Put it into one."
        )
    coefficients = list(a)
    if not coefficients:
        raise errors.ArgumentValueError(
            "[general_cosine] a: got no coefficients, expected one or more. Pass some."
        )
    return _sum_of_cosines("general_cosine", M, coefficients, sym, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi n / N), with N = M - 1, or M where not `sym` (Harris 1978).

    The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.general_hamming(5, alpha=0.5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _sum_of_cosines("general_hamming", M, [alpha, 1 - alpha], sym, options)


def hamming(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """0.54 - 0.46 cos(2 pi n / N), with N = M - 1, or M where not `sym` (Harris 1978).

    The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return _sum_of_cosines("hamming", M, [0.54, 0.46], sym, options)


def hann(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """(1 - cos(2 pi n / N)) / 2, with N = M - 1, or M where not `sym` (Harris 1978).

    The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.hann(5).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _sum_of_cosines("hann", M, [0.5, 0.5], sym, options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta); ValueError for a negative beta (Kaiser and Schafer 1980).

    N = M - 1, or M where not `sym`; I0 is the modified Bessel function. The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.kaiser(3, beta=0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    return _kaiser("kaiser", M, beta, sym, options)


def nuttall(M: int, *, sym: bool = True, **options: Unpack[Options]) -> Tensor:
    """Nuttall's sum of four cosines with the lowest side lobes (Nuttall 1981).

    The result is (M).

    >>> import tenora
    >>> tenora.signal.windows.nuttall(5)[1:4]
    tensor([0.2270, 1.0000, 0.2270])
    """
    return _sum_of_cosines("nuttall", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """`bartlett`, periodic unless told otherwise: (window_length). RuntimeError for a negative length.

    >>> import tenora
    >>> tenora.bartlett_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _bartlett("bartlett_window", window_length, not periodic, options)


def blackman_window(window_length: int, periodic: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """`blackman`, periodic unless told otherwise: (window_length). RuntimeError for a negative length.

    >>> import tenora
    >>> tenora.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _sum_of_cosines("blackman_window", window_length, BLACKMAN, not periodic, options)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Unpack[WindowOptions],
) -> Tensor:
    """alpha - beta cos(2 pi n / N), periodic unless told otherwise: (window_length).

    RuntimeError for a negative length.

    >>> import tenora
    >>> tenora.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _sum_of_cosines("hamming_window", window_length, [alpha, beta], not periodic, options)


def hann_window(window_length: int, periodic: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """`hann`, periodic unless told otherwise.

    The result is (window_length). RuntimeError for a negative length.

    >>> import tenora
    >>> tenora.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _sum_of_cosines("hann_window", window_length, [0.5, 0.5], not periodic, options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[WindowOptions]
) -> Tensor:
    """`kaiser`, periodic unless told otherwise: (window_length). RuntimeError for a negative length.

    >>> import tenora
    >>> tenora.kaiser_window(3, beta=0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    return _kaiser("kaiser_window", window_length, beta, not periodic, options)


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
