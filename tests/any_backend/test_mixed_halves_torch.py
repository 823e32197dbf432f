"""Half types beside wider ones in ops that round once: the result has the dtype that PyTorch promotes to."""

from __future__ import annotations

import pytest
import torch

import tenora

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("first", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("second", ["float32", "bfloat16", "float16"])
def test_distances_and_integrals_of_half_types_promote(first: str, second: str, backend: str) -> None:
    for name in ("dist", "trapezoid", "trapz", "cumulative_trapezoid"):
        ours, theirs = (
            getattr(m, name)(m.ones(3).to(getattr(m, first)), m.arange(3).to(getattr(m, second)))
            for m in (tenora, torch)
        )
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], name
