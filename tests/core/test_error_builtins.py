"""Errors that PyTorch raises as KeyError, AttributeError, AssertionError and BufferError are those, with fields."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenora
from tenora import nn
from tenora_dispatch import errors

CALLS: list[tuple[Callable[[], Any], type[Exception], str, str]] = [
    (lambda: nn.Module().register_buffer("a.b", tenora.ones(1)), KeyError, "key", "Module"),
    (lambda: nn.functional.linaer, AttributeError, "attribute", "nn.functional"),
    (lambda: nn.Module().get_submodule("a"), AttributeError, "attribute", "get_submodule"),
    (lambda: nn.ParameterDict()["a"], AttributeError, "attribute", "ParameterDict"),
    (lambda: nn.Embedding(2, 3, padding_idx=5), AssertionError, "condition", "Embedding"),
    (
        lambda: tenora.from_dlpack(np.ones(2).astype("datetime64[s]")),
        BufferError,
        "sharing",
        "from_dlpack",
    ),
]


@pytest.mark.parametrize(("call", "builtin", "code", "op"), CALLS, ids=[case[3] for case in CALLS])
def test_fields(call: Callable[[], Any], builtin: type[Exception], code: str, op: str) -> None:
    with pytest.raises(builtin) as caught:
        call()
    error = caught.value
    assert isinstance(error, errors.TenoraError) and (error.code, error.op) == (code, op)
    assert str(error).startswith(f"[{op}] ") and str(pickle.loads(pickle.dumps(error))) == str(error)


def test_python_suggests_by_name_and_object() -> None:
    """Given or left out as in AttributeError itself, which Python fills where nothing is given."""
    given = errors.MissingAttributeError("[nn] attribute", name="Linaer", obj=None)
    assert given.name == "Linaer"

    class Owner:
        def __getattr__(self, name: str) -> Any:
            raise errors.MissingAttributeError("[owner] attribute")

    owner = Owner()
    with pytest.raises(AttributeError) as caught:
        _ = owner.absent
    assert caught.value.name == "absent" and caught.value.obj is owner
