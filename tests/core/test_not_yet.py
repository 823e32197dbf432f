"""Names of PyTorch's that are not there yet: what is said of them, and that the table tells the truth."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import tenora
from tenora.not_yet import NOT_YET

api: Any = tenora
NAMES = [(package, name) for package, names in NOT_YET.items() for name in names]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_what_is_listed_is_not_there_and_says_what_to_do(package: str, name: str) -> None:
    """A name that has come is to go from the table; programs ask with hasattr."""
    module: Any = importlib.import_module(package)
    assert not hasattr(module, name) and name not in dir(module)
    with pytest.raises(AttributeError) as found:
        getattr(module, name)
    text = str(found.value)
    assert text == (
        f"[{package}] {name}: got a name that tenora does not have yet, expected one it has. {NOT_YET[package][name]}"
    )
    assert found.value.name == name and isinstance(found.value, tenora.TenoraError)


@pytest.mark.parametrize(
    "statement",
    [
        "from tenora.nn import LSTM",
        "from tenora.nn import Linear, LSTM",
        "from tenora import compile",
        "from tenora.utils import checkpoint",
        "from tenora.nn.utils import rnn",
    ],
)
def test_an_import_says_it_too(statement: str) -> None:
    with pytest.raises(ImportError, match="does not have yet, expected one it has. ") as found:
        exec(statement)
    assert found.value.name in NOT_YET


def test_other_names_are_typos_or_submodules() -> None:
    with pytest.raises(AttributeError, match=r"Check the name. Did you mean 'Linear'\?"):
        _ = api.nn.Linaer
    with pytest.raises(AttributeError, match=r"\[tenora\] module attribute: .*Did you mean 'zeros'\?"):
        _ = api.zeross
    with pytest.raises(ImportError, match="cannot import name 'Linaer'"):
        exec("from tenora.nn import Linaer")
    exec("from tenora.nn import container")
    for package in NOT_YET:
        exec(f"from {package} import *")


def test_a_program_that_can_do_without_goes_on() -> None:
    names: dict[str, Any] = {}
    exec("try:\n    from tenora import amp\nexcept ImportError:\n    amp = None", names)
    assert names["amp"] is None and "tenora.amp" not in sys.modules
    assert getattr(tenora.nn, "LSTM", None) is None
