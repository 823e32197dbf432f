"""Optimizer states between tenora and PyTorch in the middle of training, copies and pickles."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from optim_training import (
    CASES,
    assert_same,
    carried,
    double_directions,
    parameters,
    shapes_for,
    train,
)

import tenora

__all__ = ["double_directions"]

# One case a method and layout of its state.
STATES = [
    *[
        "sgd momentum",
        "adam amsgrad",
        "adamw",
        "rmsprop both",
        "adagrad decay",
        "adadelta",
        "adamax",
        "nadam",
    ],
    *["radam", "asgd averaging", "rprop", "adafactor", "muon"],
]


def test_every_method_is_here() -> None:
    """But LBFGS, whose state is in test_optim_lbfgs.py."""
    methods = {
        name
        for name, kind in vars(torch.optim).items()
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
    }
    assert {CASES[case][0] for case in STATES} == methods - {"Optimizer", "SparseAdam", "LBFGS"}


def made(f: Any, case: str) -> tuple[list[Any], Any]:
    method, options = CASES[case]
    params = parameters(f, shapes=shapes_for(method))
    return params, getattr(f.optim, method)(params, **options)


def move(params: list[Any], values: list[Any]) -> None:
    for p, value in zip(params, values, strict=True):
        p.data.copy_(value)


def shapes(state: dict[str, Any]) -> dict[Any, Any]:
    return {
        number: {name: (str(v.dtype).split(".")[-1], tuple(v.shape)) for name, v in kept.items()}
        for number, kept in state["state"].items()
    }


@pytest.mark.parametrize("case", STATES)
def test_both_write_the_same_dictionary(case: str) -> None:
    found = []
    for f in (tenora, torch):
        params, optimizer = made(f, case)
        train(f, optimizer, params, 3)
        found.append(optimizer.state_dict())
    ours, theirs = found
    assert list(ours) == list(theirs)
    assert ours["param_groups"] == theirs["param_groups"]
    assert shapes(ours) == shapes(theirs)


@pytest.mark.usefixtures("double_directions")
@pytest.mark.parametrize("case", STATES)
def test_a_state_of_pytorch_goes_on_here(case: str, backend: str) -> None:
    theirs, optimizer = made(torch, case)
    train(torch, optimizer, theirs, 7)
    ours, other = made(tenora, case)
    move(ours, carried(tenora, theirs))
    other.load_state_dict(carried(tenora, optimizer.state_dict()))
    train(torch, optimizer, theirs, 8, start=7)
    train(tenora, other, ours, 8, start=7)
    assert_same(ours, theirs)


@pytest.mark.usefixtures("double_directions")
@pytest.mark.parametrize("case", STATES)
def test_a_state_of_ours_goes_on_in_pytorch(case: str) -> None:
    ours, optimizer = made(tenora, case)
    train(tenora, optimizer, ours, 7)
    theirs, other = made(torch, case)
    move(theirs, carried(torch, ours))
    other.load_state_dict(carried(torch, optimizer.state_dict()))
    train(tenora, optimizer, ours, 8, start=7)
    train(torch, other, theirs, 8, start=7)
    assert_same(ours, theirs)


@pytest.mark.parametrize("case", STATES)
@pytest.mark.parametrize("way", ["state_dict", "pickle", "deepcopy"])
def test_training_goes_on_to_the_bit(case: str, way: str, backend: str) -> None:
    params, optimizer = made(tenora, case)
    train(tenora, optimizer, params, 5)
    if way == "state_dict":
        others, other = made(tenora, case)
        move(others, params)
        other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    elif way == "pickle":
        others, other = pickle.loads(pickle.dumps((params, optimizer)))
    else:
        others, other = copy.deepcopy((params, optimizer))
    assert all(a is b for a, b in zip(others, other.param_groups[0]["params"], strict=True))
    train(tenora, optimizer, params, 5, start=5)
    train(tenora, other, others, 5, start=5)
    for a, b in zip(params, others, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@pytest.mark.parametrize("case", STATES)
def test_a_dictionary_that_is_kept_follows_the_steps(case: str) -> None:
    """All of it, as in PyTorch: none of its numbers stays behind the others."""
    found = []
    for f in (tenora, torch):
        params, optimizer = made(f, case)
        train(f, optimizer, params, 1)
        saved = optimizer.state_dict()
        train(f, optimizer, params, 2, start=1)
        others, other = made(f, case)
        other.load_state_dict(copy.deepcopy(saved))
        train(f, other, others, 1, start=3)
        found.append((others, saved["state"], optimizer.state_dict()["state"]))
    (ours, kept, now), (theirs, _, _) = found
    for number, state in now.items():
        assert list(kept[number]) == list(state) and all(kept[number][name] is state[name] for name in state)
    if case != "muon":  # whose bfloat16 turns roundings into numbers
        assert_same(ours, theirs)


@pytest.mark.parametrize("value", ["tensor", "double", "whole", "row", "number", "fill_"])
@pytest.mark.parametrize("method", ["Adam", "NAdam", "ASGD", "Adafactor"])
def test_a_number_of_steps_that_a_user_sets(method: str, value: str, backend: str) -> None:
    found = []
    for f in (tenora, torch):
        params = parameters(f)
        optimizer = getattr(f.optim, method)(params, lr=0.01)
        train(f, optimizer, params, 1)
        for state in optimizer.state.values():
            assert state["step"].item() == 1
            if value == "fill_":
                state["step"].fill_(100.0)
            else:
                given = {
                    "tensor": f.tensor(100.0),
                    "double": f.tensor(100.0, dtype=f.float64),
                    "whole": f.tensor(100),
                    "row": f.tensor([100.0]) if f is tenora else f.tensor(100.0),
                    "number": 100 if f is tenora else f.tensor(100.0),
                }
                state["step"] = given[value]
        train(f, optimizer, params, 3, start=1)
        assert [state["step"].item() for state in optimizer.state.values()] == [103] * len(params)
        found.append(params)
    assert_same(*found)


def test_numbers_of_a_state_that_are_none() -> None:
    for value, error, got in (
        ("x", TypeError, r"step: got str in a state"),
        (tenora.tensor(0.5), ValueError, r"step: got 1.5 in a state, expected a whole number"),
        (float("nan"), ValueError, r"step: got nan"),
    ):
        params, optimizer = made(tenora, "adam amsgrad")
        train(tenora, optimizer, params, 1)
        optimizer.state[params[0]]["step"] = value
        with pytest.raises(error, match=rf"^\[Adam\] {got}"):
            train(tenora, optimizer, params, 1)


def test_a_pickle_with_numbers_of_python_goes_on() -> None:
    params, optimizer = made(tenora, "nadam")
    train(tenora, optimizer, params, 2)
    state = copy.deepcopy(optimizer.__getstate__())
    for kept in state["state"].values():
        kept.update(step=int(kept["step"]), mu_product=float(kept["mu_product"]))
    optimizer.__setstate__(state)
    assert {kept["step"].item() for kept in optimizer.state.values()} == {2}
    assert all(kept["mu_product"].dtype == tenora.float32 for kept in optimizer.state.values())


def test_a_loaded_state_is_a_copy_in_the_parameters_dtype() -> None:
    params, optimizer = made(tenora, "adam amsgrad")
    train(tenora, optimizer, params, 2)
    saved = optimizer.state_dict()
    halves = [tenora.nn.Parameter(p.detach().half()) for p in params]
    other = tenora.optim.Adam(halves, amsgrad=True)
    other.load_state_dict(saved)
    state = other.state_dict()["state"][0]
    assert state["exp_avg"].dtype == tenora.float16
    assert state["step"].dtype == tenora.float32 and state["step"].item() == 2
    same = tenora.optim.Adam(params, amsgrad=True)
    same.load_state_dict(saved)
    saved["state"][0]["exp_avg"].zero_()
    assert same.state[params[0]]["exp_avg"].abs().sum().item() > 0


def test_numbers_follow_the_default_dtype() -> None:
    tenora.set_default_dtype(tenora.float64)
    try:
        params, optimizer = made(tenora, "nadam")
        train(tenora, optimizer, params, 2)
        state = optimizer.state_dict()["state"][0]
        assert state["mu_product"].dtype == state["step"].dtype == tenora.float64
    finally:
        tenora.set_default_dtype(tenora.float32)


def test_a_checkpoint_without_newer_options_loads() -> None:
    """As PyTorch's from before `maximize` and `foreach`: they mean what those did."""
    params, optimizer = made(tenora, "adam amsgrad")
    train(tenora, optimizer, params, 2)
    saved = optimizer.state_dict()
    for name in ("maximize", "foreach", "fused", "amsgrad", "decoupled_weight_decay"):
        del saved["param_groups"][0][name]
    optimizer.load_state_dict(saved)
    group = optimizer.param_groups[0]
    assert (group["maximize"], group["foreach"], group["amsgrad"]) == (False, None, False)
    train(tenora, optimizer, params, 1)


def test_names_of_parameters_travel() -> None:
    model = tenora.nn.Linear(2, 2)
    optimizer = tenora.optim.SGD(model.named_parameters())
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["param_names"] == ["weight", "bias"]
    other = tenora.optim.SGD(model.parameters())
    other.load_state_dict(saved)
    assert other.param_groups[0]["param_names"] == ["weight", "bias"]
    del saved["param_groups"][0]["param_names"]
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


def test_what_a_method_keeps_beside_its_parameters() -> None:
    class Global(tenora.optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            self.state["shared"]["count"] = self.state["shared"].get("count", 0) + 1

    parameter = tenora.ones(1, requires_grad=True)
    optimizer, other = Global([parameter], {}), Global([parameter], {})
    optimizer.step()
    other.load_state_dict(optimizer.state_dict())
    assert other.state["shared"] == {"count": 1}
