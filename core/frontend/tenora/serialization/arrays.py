"""NumPy's arrays and numbers in files.

- The dtypes are on a list: bools, whole numbers, floats, complex numbers, texts, bytes, dates. Objects and records
  are refused: they hold what only pickle can write.
- An array of a dtype that tensors have is written like a tensor; others are bytes with NumPy's code for the dtype.
- NumPy is reached through `Tensor.numpy()`, so nothing is imported for a file that holds none of its values.
"""

from __future__ import annotations

import base64
import re
from math import prod
from typing import Any

import tenora_engine
from tenora_engine import Storage, Tensor

from ..sharing import from_numpy
from .container import NAMES
from .errors import shown, unreadable
from .layout import separate
from .source import MOST_DIMS, all_bytes

_UNITS = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as"
_LENGTH = r"[1-9]\d{0,5}"  # of a text: NumPy takes memory for one before it sees the data
_CODE = re.compile(
    rf"[|<>](?:b1|[iu][1248]|f[248]|c8|c16|S{_LENGTH}|U{_LENGTH}|[mM]8(?:\[(?:{_LENGTH})?(?:{_UNITS})\])?)"
)
_LAST_LETTER = 0x10FFFF
_WORD = "numpy"


def is_array(kind: type) -> bool:
    """Whether this is NumPy's array; its subclasses (masked, mapped) are not."""
    return kind.__module__ == _WORD and kind.__name__ == "ndarray"


def is_scalar(kind: type) -> bool:
    """Whether this is the type of a NumPy number, text or date."""
    return kind.__module__ == _WORD and any(
        base.__name__ == "generic" and base.__module__ == _WORD for base in kind.__mro__
    )


def _listed(dtype: Any) -> bool:
    return dtype.name == "bfloat16" or _CODE.fullmatch(dtype.str) is not None


def scalar_node(value: Any) -> dict[str, Any] | None:
    """What the structure says of a NumPy number; None for dtypes off the list."""
    array = value.reshape(1)  # an empty text gets room for a letter
    if not _listed(array.dtype):
        return None
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"$": "numpy", "dtype": array.dtype.str, "base64": data}


def as_tensor(array: Any, node: dict[str, Any]) -> Tensor | None:
    """The tensor with an array's elements; `node` gets what it does not say. None for dtypes off the list."""
    dtype = array.dtype
    if not _listed(dtype):
        return None
    if dtype.name not in (*NAMES, "complex128") or dtype.str[0] == ">":
        node.update(code=dtype.str, sizes=list(array.shape))
        return from_numpy(array.copy(order="C").reshape(-1).view("u1"))
    if dtype.name == "complex128":
        node["complex"] = True
    steps = tuple(step // array.itemsize for step in array.strides)
    if array.size and not separate(array.shape, steps):
        return from_numpy(array.copy(order="C"))  # as NumPy writes what repeats its elements
    try:
        return from_numpy(array)
    except ValueError:  # at addresses or in steps that are no multiple of the element
        return from_numpy(array.copy(order="K"))


# ---- reading -----------------------------------------------------------------------------------------------------


def array_of(code: Any, shape: tuple[int, ...], data: bytes | Storage) -> Any:
    """An array in order of rows over these bytes; over a storage it shares them."""
    if isinstance(data, Storage):
        rows = all_bytes(data)
    elif data:
        rows = tenora_engine.from_buffer(bytearray(data), tenora_engine.uint8)
    else:
        rows = tenora_engine.empty((0,), dtype=tenora_engine.uint8, device="cpu")
    check_size(code, shape, rows.numel())
    found = rows.numpy().view(code)
    _check_elements(found)
    return found.reshape(shape)


def scalar_of(code: Any, data: bytes) -> Any:
    """The NumPy number of these bytes."""
    return array_of(code, (1,), data)[0]


def empty_array() -> Any:
    """An array that will be filled."""
    return tenora_engine.empty((0,), dtype=tenora_engine.uint8, device="cpu").numpy().copy()


def fill(array: Any, code: Any, shape: Any, columns: bool, data: bytes) -> None:
    """Makes `array` another one, as NumPy does when it reads a pickle."""
    found = array_of(code, shape, data)
    array.__setstate__((1, shape, found.dtype, columns, data))


def check_size(code: Any, shape: Any, count: int) -> None:
    """Refuses a dtype off the list and a shape that its bytes do not fill."""
    if type(code) is not str or not _CODE.fullmatch(code):
        raise unreadable(f"NumPy's dtype {shown(code)}", "numbers, texts or dates")
    if type(shape) is not tuple or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise unreadable(f"an array of shape {shown(shape)}", "whole numbers from 0 on")
    if len(shape) > MOST_DIMS:
        raise unreadable(f"an array of {len(shape)} dims", f"at most {MOST_DIMS}")
    size = prod(shape) * _itemsize(code)
    if size != count:
        raise unreadable(f"{count} bytes for an array {code!r} of {shown(shape)}", f"{size}")


def _itemsize(code: str) -> int:
    digits = re.search(r"\d+", code)
    assert digits is not None
    return int(digits[0]) * (4 if code[1] == "U" else 1)


def _check_elements(array: Any) -> None:
    """Refuses bytes that are no element: what computes with bools and texts relies on it."""
    if not array.size:
        return
    if array.dtype.kind == "b" and array.view("u1").max() > 1:
        raise unreadable("an array of bools with other bytes than 0 and 1", "0 and 1 only")
    if array.dtype.kind == "U" and array.view(f"{array.dtype.byteorder}u4").max() > _LAST_LETTER:
        raise unreadable("a text with numbers that are no letters", "letters")
