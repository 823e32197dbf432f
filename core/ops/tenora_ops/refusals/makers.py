"""What modules of refusals are written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes
from tenora_ops.samples import FLOATING, Sample

#: A refused call, and the nearest one that is taken.
Pair = tuple[Call, Call | None]


def pairs(code: str, says: str = "", /, **calls: Pair) -> dict[str, Refusal]:
    """Refusals of one code, whose errors all say the same where they name a border.

    >>> sorted(pairs("shape", long=(Call(reals(3), 4), Call(reals(3), 3))))
    ['long']
    """
    return {
        wrong: replace(refusal(code, refused, taken), says=says) for wrong, (refused, taken) in calls.items()
    }


def dims(call: Callable[[int], Call], rank: int, prefix: str = "dim") -> dict[str, Refusal]:
    """Both ends of what a dimension may be.

    >>> sorted(dims(lambda dim: Call(reals(3, 4), dim), 2))
    ['dim_above', 'dim_below']
    """
    calls: dict[str, Pair] = {
        f"{prefix}_above": (call(rank), call(rank - 1)),
        f"{prefix}_below": (call(-rank - 1), call(-rank)),
    }
    return pairs("dim", f"expected {-rank} to {rank - 1}", **calls)


@dataclass(frozen=True, slots=True)
class Window:
    """An operand that shows an array's elements from `begin` on, in steps of its own."""

    array: Any
    size: tuple[int, ...]
    stride: tuple[int, ...]
    begin: int = 0


def unwindowed(call: Sample) -> Sample:
    """A call of whole arrays in the place of their windows.

    >>> unwindowed(Call(Window(reals(4), (2,), (2,))).sample).arguments[0].shape
    (4,)
    """
    return replace(call, arguments=tuple(a.array if isinstance(a, Window) else a for a in call.arguments))


def windowed(call: Sample, tensors: Sequence[Any]) -> list[Any]:
    """The operands of a call, given those of the unwindowed one; any library's that has `as_strided`."""
    return [
        t.as_strided(a.size, a.stride, t.storage_offset() + a.begin) if isinstance(a, Window) else t
        for a, t in zip(call.arguments, tensors, strict=True)
    ]


def of(dtype: str, *shape: int) -> Any:
    """Elements of any dtype.

    >>> of("int8", 2).dtype.name
    'int8'
    """
    return reals(*shape, dtype=dtype) if dtype in FLOATING else wholes(*shape, dtype=dtype)


def dtypes(wrong: str, right: str, call: Callable[[Any], Call], prefix: str = "") -> dict[str, Refusal]:
    """Each of the dtypes `wrong` (separated by blanks) of an operand of three elements, beside a right one.

    >>> sorted(dtypes("bool int64", "float32", Call))
    ['bool', 'int64']
    """
    return {prefix + name: refusal("dtype", call(of(name, 3)), call(of(right, 3))) for name in wrong.split()}


def per_dim(call: Callable[..., Call], option: str, n: int, least: int) -> dict[str, Refusal]:
    """An option of one number, or of one for each of n spatial dims: too many, none, and too small ones.

    >>> "stride_last" in per_dim(lambda stride: Call(reals(3), stride), "stride", 2, 1)
    True
    """
    sound = (least,) * n

    def given(value: int | tuple[int, ...]) -> Call:
        return call(**{option: value})

    numbers = {
        f"{option}_unnamed": (given(()), given(sound)),
        f"{option}_too_many": (given((*sound, least)), given(sound)),
    }
    sizes = {
        f"{option}_first": (given((least - 1, *sound[1:])), given(sound)),
        f"{option}_last": (given((*sound[1:], least - 1)), given(sound)),
        f"{option}_of_all": (given(least - 1), given(least)),
    }
    return pairs("shape", f"wrong number of items in {option}", **numbers) | pairs(
        "shape", f"{option} is too small", **sizes
    )
