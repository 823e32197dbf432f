"""A failing call as a file: the op, the dtype, which form of the op's samples, and the arrays in their places.

- `.npz`, without pickled objects; bfloat16 is kept as its 16 bits.
- Files lie in `TENORA_CONFORMANCE_VECTORS`, or in a folder of the system's for temporary files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

FOLDER = "TENORA_CONFORMANCE_VECTORS"


@dataclass(frozen=True)
class Vector:
    """One call: the arrays stand in the places of those of the op's form of this number."""

    op: str
    dtype: str
    form: int
    arrays: tuple[np.ndarray, ...]


def folder() -> Path:
    """Where vectors are written to; made where it is not there."""
    found = Path(os.environ.get(FOLDER) or Path(tempfile.gettempdir()) / "tenora-conformance")
    found.mkdir(parents=True, exist_ok=True)
    return found


def save(vector: Vector, name: str) -> Path:
    """Writes a vector and returns its file. Raises: OSError."""
    path = folder() / f"{name}.npz"
    stored: dict[str, Any] = {f"array{i}": _bits(a) for i, a in enumerate(vector.arrays)}
    names = np.array([a.dtype.name for a in vector.arrays])
    np.savez(path, op=vector.op, dtype=vector.dtype, form=vector.form, names=names, **stored)
    return path


def load(path: str | Path) -> Vector:
    """Reads a vector. Raises: OSError, ValueError for a file of another kind."""
    with np.load(path, allow_pickle=False) as stored:
        missing = {"op", "dtype", "form", "names"} - set(stored.files)
        if missing:
            raise ValueError(
                f"[conformance] not a vector: got {path} without {', '.join(sorted(missing))}, expected a file that a"
                " property run wrote. Name one."
            )
        names: Sequence[str] = stored["names"].tolist()
        arrays = tuple(_values(stored[f"array{i}"], name) for i, name in enumerate(names))
        return Vector(str(stored["op"]), str(stored["dtype"]), int(stored["form"]), arrays)


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


def _values(array: np.ndarray, name: str) -> np.ndarray:
    return array.view(ml_dtypes.bfloat16) if name == "bfloat16" else array
