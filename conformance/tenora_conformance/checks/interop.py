"""L4: what leaves and enters: DLPack, buffers, NumPy, pickles, saved files.

On host memory nothing is copied: a write on one side is seen on the other. On a device an exchange is a copy by way of
the host, and DLPack names the device.
"""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np

import tenora
from tenora_conformance.checks.scripts import Script, script_check
from tenora_conformance.judge.compare import fetched
from tenora_conformance.model import Failed, Level, Outcome
from tenora_conformance.subject import Subject
from tenora_ops.samples import numpy_dtype

#: Dtypes that NumPy, DLPack and pickles all know.
EXCHANGED = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")


def _array(dtype: str) -> np.ndarray:
    return (np.arange(24).reshape(4, 6) % 7).astype(numpy_dtype(dtype))


def _there(subject: Subject, dtype: str) -> Any:
    return tenora.from_numpy(_array(dtype)).to(subject.device)


def _expect(got: Any, expected: np.ndarray, what: str) -> None:
    found = fetched(got)
    if found.dtype != expected.dtype or not np.array_equal(found, expected):
        raise Failed(
            f"{what}: got {found.tolist()} ({found.dtype}), expected {expected.tolist()} ({expected.dtype})"
        )


def _numpy(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """To NumPy and back, in place where memory is the host's."""
    tensor = _there(subject, dtype)
    array = tensor.cpu().numpy()
    if not np.array_equal(array, _array(dtype)):
        raise Failed(f"tensor.cpu().numpy(): got {array.tolist()}, expected {_array(dtype).tolist()}")
    if subject.host_memory:
        array[1, 2] = 1
        tensor[1, 3] = 1
        if not (tensor[1, 2].item() == array[1, 3].item() == 1):
            raise Failed("numpy() of host memory is a copy: a write on one side is not seen on the other")


def _dlpack(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A consumer of DLPack sees the same elements, strides included."""
    tensor = _there(subject, dtype)[::2, 1:4]
    expected = _array(dtype)[::2, 1:4]
    again = tenora.from_dlpack(tensor)
    if again.device != tensor.device or again.stride() != tensor.stride():
        raise Failed(
            f"from_dlpack: got {again.device} with strides {again.stride()}, expected {tensor.device} with"
            f" {tensor.stride()}"
        )
    _expect(again, expected, "from_dlpack of a window")
    if subject.host_memory:
        _expect(tenora.from_numpy(np.from_dlpack(tensor).copy()), expected, "np.from_dlpack of a window")


def _buffer(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Bytes of a buffer become elements."""
    raw = bytearray(_array(dtype).tobytes())
    tensor = tenora.frombuffer(raw, dtype=subject.dtype(dtype)).to(subject.device)
    _expect(tensor.reshape(4, 6), _array(dtype), "frombuffer")


def _pickled(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A pickle and a deep copy hold values, dtype, device and what requires a gradient."""
    tensor = _there(subject, dtype)
    if tensor.dtype.is_floating_point:
        tensor.requires_grad_(True)
    for what, again in (
        ("pickle", pickle.loads(pickle.dumps(tensor))),
        ("copy.deepcopy", copy.deepcopy(tensor)),
    ):
        if again.device != tensor.device or again.requires_grad != tensor.requires_grad:
            raise Failed(
                f"{what}: got {again.device}, requires_grad={again.requires_grad}, expected those of the tensor"
            )
        _expect(again, _array(dtype), what)


def _saved(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A file holds two views of one storage as such."""
    whole = _there(subject, dtype)
    file = io.BytesIO()
    tenora.save({"whole": whole, "row": whole[1]}, file)
    file.seek(0)
    loaded = tenora.load(file)
    _expect(loaded["whole"], _array(dtype), "a saved tensor")
    loaded["row"].fill_(1)
    if not np.array_equal(fetched(loaded["whole"])[1], np.ones(6)):
        raise Failed("a saved view no longer shares the storage of its base")


SCRIPTS: dict[str, Script] = {
    "numpy": _numpy,
    "dlpack": _dlpack,
    "buffer": _buffer,
    "pickled": _pickled,
    "saved": _saved,
}
CHECK = script_check("interop", Level.L4, SCRIPTS, dtypes=EXCHANGED)
