"""Window functions against PyTorch: all lengths, both kinds, all options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}, {"center": 2.0, "sym": False}],
    "gaussian": [{}, {"std": 3.0}],
    "general_cosine": [{"a": [0.4, 0.3, 0.2, 0.1]}],
    "general_hamming": [{}, {"alpha": 0.3}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.0}, {"beta": 5.0}],
    "nuttall": [{}],
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
def test_windows(name: str, length: int) -> None:
    for options in OPTIONS[name]:
        for sym in [True, False] if "sym" not in options else [options["sym"]]:
            given = options | {"sym": sym}
            ours = getattr(tenora.signal.windows, name)(length, dtype=tenora.float64, **given)
            theirs = getattr(torch.signal.windows, name)(length, dtype=torch.float64, **given)
            np.testing.assert_allclose(
                ours.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-14, err_msg=str(given)
            )
            assert getattr(tenora.signal.windows, name)(length, **given).dtype == tenora.float32


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
def test_windows_at_the_top(name: str, length: int) -> None:
    for arguments in ((), (False,)):
        ours = getattr(tenora, f"{name}_window")(length, *arguments)
        theirs = getattr(torch, f"{name}_window")(length, *arguments)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=2e-7)


def test_a_window_may_require_gradients() -> None:
    assert tenora.hann_window(4, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("kind", "run"),
    [
        (RuntimeError, lambda: tenora.hann_window(-1)),
        (ValueError, lambda: tenora.signal.windows.hann(-1)),
        (TypeError, lambda: tenora.hann_window(4.5)),
        (TypeError, lambda: tenora.signal.windows.kaiser("4")),
        (TypeError, lambda: tenora.hann_window(4, layout="nonsense")),
        (RuntimeError, lambda: tenora.hann_window(4, dtype=tenora.int64)),
        (ValueError, lambda: tenora.signal.windows.exponential(4, tau=0.0)),
        (ValueError, lambda: tenora.signal.windows.exponential(4, center=1.0)),
        (ValueError, lambda: tenora.signal.windows.gaussian(4, std=-1.0)),
        (ValueError, lambda: tenora.signal.windows.general_cosine(4, a=[])),
        (ValueError, lambda: tenora.signal.windows.kaiser(4, beta=-1.0)),
    ],
)
def test_bad_arguments(kind: type[Exception], run: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=r"^\[\w+\] "):
        run()


@pytest.mark.parametrize(
    "name", [*OPTIONS, *(f"{n}_window" for n in ("bartlett", "blackman", "hamming", "hann", "kaiser"))]
)
def test_errors_name_the_function_that_was_called(name: str) -> None:
    function = getattr(tenora, name) if name.endswith("_window") else getattr(tenora.signal.windows, name)
    options = {"a": [1.0]} if name == "general_cosine" else {}
    with pytest.raises((ValueError, RuntimeError), match=rf"^\[{name}\] length: got -1, expected 0 or more"):
        function(-1, **options)
