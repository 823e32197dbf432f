"""Grad modes: thread-local, usable as context managers and as decorators of functions and generators.

The classes are native; this file names and documents them.
"""

from __future__ import annotations

from types import TracebackType

from tenora_engine import _engine
from tenora_engine._engine import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
)


class set_grad_enabled:
    """Switches recording on or off, at once; as a context manager it restores the old mode at the end.

    Example:
        >>> with set_grad_enabled(False):
        ...     pass
    """

    def __init__(self, mode: bool) -> None:
        self._old = _engine.set_grad_enabled(bool(mode))

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _engine.set_grad_enabled(self._old)


class set_detect_anomaly:
    """Switches anomaly mode on or off, at once; as a context manager it restores the old mode at the end.

    With `check_nan=False` errors of backward name the forward line, and NaN in gradients is none.

    Example:
        >>> with set_detect_anomaly(True):
        ...     is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._old = _engine.set_anomaly(bool(mode))
        self._checked = _engine.set_check_nan(bool(check_nan))

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _engine.set_anomaly(self._old)
        _engine.set_check_nan(self._checked)


class detect_anomaly(set_detect_anomaly):
    """In its block, errors of backward name the forward line, and a gradient that is NaN is an error.

    With `check_nan=False` a NaN is none.

    Example:
        >>> with detect_anomaly():
        ...     pass
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def is_inference_mode_enabled() -> bool:
    """Whether inference_mode is on in this thread.

    Example:
        >>> is_inference_mode_enabled()
        False
    """
    return _engine.is_inference_mode()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on in this thread."""
    return _engine.is_anomaly()


__all__ = [
    "detect_anomaly",
    "enable_grad",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
