"""Floating-point warnings: how NumPy is kept from reporting what IEEE arithmetic defines.

- tenora computes 1 / 0, log(-1), float -> int casts and overflow silently; NumPy warns unless told otherwise.
- `with np.errstate` would cost more than a small ufunc. NumPy keeps this state in a context variable, so a
  context prepared once per thread, with everything ignored, gives the same for the price of `Context.run`.
- The state of the user's own NumPy is never touched.
- A context cannot be entered twice: `quiet(ufunc, ...)` is for calls that run no Python code. Longer bodies
  use the decorator `silent`.
"""

import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


class _Quiet(threading.local):
    """One context per thread, with all of NumPy's floating-point reports ignored."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


quiet = _Quiet()


def silent(function: Function) -> Function:
    """Run `function` with NumPy's floating-point reports ignored."""
    return np.errstate(all="ignore")(function)
