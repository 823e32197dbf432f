"""What a newcomer from PyTorch meets first: imports of what is not there yet, device modules, odd names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import tenora
from tenora import nn

api: Any = tenora


class Stranger:
    """Called Tensor, as other libraries' classes are."""


Stranger.__name__ = Stranger.__qualname__ = "Tensor"
Stranger.__module__ = "elsewhere"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nn.functional.cross_entropy(x, x),
        lambda x: nn.functional.softmax(x),
        lambda x: tenora.is_complex(x),
        lambda x: nn.Parameter(x),
    ],
)
def test_pythons_checks_name_it_too(call: Any) -> None:
    with pytest.raises(TypeError, match=r"got elsewhere\.Tensor"):
        call(Stranger())


@pytest.mark.parametrize(
    "statement",
    [
        "from tenora.nn.utils.rnn import pad_sequence",
        "from tenora.utils.checkpoint import checkpoint",
        "import tenora.distributions",
        "from tenora.distributions.normal import Normal",
        "import tenora.utils.tensorboard",
        "from tenora.cuda.amp import autocast",
    ],
)
def test_an_import_of_what_is_not_there_yet_says_what_to_do(statement: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="does not have yet, expected one it has. ") as found:
        exec(statement)
    assert isinstance(found.value, tenora.TenoraError)
    assert found.value.name is not None and found.value.name.startswith("tenora.")


def test_imports_of_other_names_are_pythons() -> None:
    for name in ("tenora.linaer", "tenora.nn.utils.rn", "tenora_elsewhere"):
        with pytest.raises(ModuleNotFoundError, match=f"^No module named '{name}'$"):
            importlib.import_module(name)
    assert importlib.import_module("tenora.cuda") is api.cuda
    assert [finder.__name__ for finder in sys.meta_path if isinstance(finder, type)][-1] == "AbsentModules"


def test_device_modules_without_a_device_do_nothing() -> None:
    if api.cuda.is_available():
        pytest.skip("there is such a device")
    tenora.manual_seed(7)
    api.cuda.manual_seed(0)
    api.cuda.manual_seed_all(0)
    api.cuda.empty_cache()
    assert tenora.initial_seed() == 7
    with pytest.raises(ValueError, match="invalid literal"):
        api.cuda.manual_seed("seven")
    host = tenora.accelerator.accelerator("cpu")
    host.manual_seed_all(3)
    assert tenora.initial_seed() == 3
    host.manual_seed(4)
    assert tenora.initial_seed() == 4


def test_no_guessed_name_is_advised_to_be_installed() -> None:
    with pytest.raises(tenora.TenoraError, match="unknown backend: got 'foo'") as found:
        tenora.use_backend("foo")
    assert "tenora-" not in str(found.value) and "`pip install DISTRIBUTION`" in str(found.value)


def test_part_of_a_name_leads_to_it() -> None:
    errors: Any = tenora.errors
    assert errors.did_you_mean("mkl", ["reference", "cpu_mkl"]) == " Did you mean 'cpu_mkl'?"
    assert errors.did_you_mean("___", ["a", "b_c"]) == errors.did_you_mean("pu", ["pu_mkl"]) == ""
    with pytest.raises(AttributeError, match=r"\[tenora.optim.lr_scheduler\].*'CosineAnnealingLR'"):
        _ = api.optim.lr_scheduler.CosineLR
    with pytest.raises(AttributeError, match=r"\[tenora.nn.init\].*'xavier_\w+_'"):
        _ = api.nn.init.xavier


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, y: nn.CrossEntropyLoss(x, y), r"nn\.CrossEntropyLoss\(\)\(\.\.\.\)"),
        (lambda x, y: nn.MSELoss(x, y), "Build the module first, then call it"),
        (lambda x, y: nn.ReLU(x), r"\[ReLU\] inplace: got a Tensor.*Build the module first, then call it"),
        (lambda x, y: nn.Softmax(x), r"\[Softmax\] dim: got a Tensor"),
        (lambda x, y: x.to("float64"), r"\[to\].*is a dtype and no device: pass tenora\.float64"),
        (lambda x, y: tenora.ones(2, device="gpu"), "'gpu' is no kind of device"),
        (lambda x, y: tenora.autograd.Function()(x), r"\[Function\] call: .*Write Function\.apply"),
    ],
)
def test_a_text_says_what_was_meant(call: Any, text: str) -> None:
    with pytest.raises((TypeError, RuntimeError), match=text):
        call(tenora.ones(2, 2), tenora.tensor([0, 1]))


def test_a_users_module_may_keep_tensors_under_any_name() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dim = self.alpha = tenora.ones(2)

    assert Scaled().dim.tolist() == [1.0, 1.0]


def test_load_state_dict_advises_strict_for_names_alone() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="size mismatch") as found:
        layer.load_state_dict(nn.Linear(3, 2).state_dict())
    assert "strict" not in str(found.value)
    with pytest.raises(RuntimeError, match="missing or too many are left out with strict=False"):
        layer.load_state_dict({})


def test_popitem_of_an_empty_dict_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="empty dict"):
        nn.ParameterDict().popitem()


def test_numbers_that_cannot_be_drawn_from_are_told() -> None:
    with pytest.raises(RuntimeError, match=r"invalid weights: got -1\.0 to 2\.0, "):
        tenora.multinomial(tenora.tensor([-1.0, 2.0]), 1)
    with pytest.raises(RuntimeError, match="invalid weights: got nan to nan, "):
        tenora.multinomial(tenora.tensor([float("nan"), 2.0]), 1)
    with pytest.raises(RuntimeError, match=r"got counts of 1\.0 to 1\.0 and probabilities of 0\.5 to 2\.0, "):
        tenora.binomial(tenora.tensor([1.0, 1.0]), tenora.tensor([0.5, 2.0]))


def test_an_optimizer_of_no_parameters_asks_for_a_module_list() -> None:
    with pytest.raises(ValueError, match=r"plain list instead of nn\.ModuleList"):
        tenora.optim.SGD([], lr=0.1)
