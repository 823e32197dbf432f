"""Constructors, groups, names, hooks and texts of optimizers, against PyTorch's."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
import torch

import tenora

#: All of PyTorch's but the one that is refused.
METHODS = sorted(
    name
    for name, kind in vars(torch.optim).items()
    if isinstance(kind, type)
    and issubclass(kind, torch.optim.Optimizer)
    and name not in ("Optimizer", "SparseAdam")
)


def weight(f: Any, *shape: int) -> Any:
    return f.nn.Parameter(f.ones(*(shape or (2, 2))))


@pytest.mark.parametrize("method", METHODS)
def test_constructors_are_pytorchs(method: str) -> None:
    ours, theirs = (getattr(f.optim, method) for f in (tenora, torch))

    def described(kind: Any) -> list[Any]:
        return [(p.name, p.kind, p.default) for p in inspect.signature(kind.__init__).parameters.values()]

    assert described(ours) == described(theirs)
    groups = [getattr(f.optim, method)([weight(f)]).param_groups[0] for f in (tenora, torch)]
    assert all(group.pop("params") for group in groups)
    assert list(groups[0].items()) == list(groups[1].items())


@pytest.mark.parametrize("method", METHODS)
def test_texts_are_pytorchs(method: str) -> None:
    texts = []
    for f in (tenora, torch):
        groups = [{"params": [weight(f)]}, {"params": [weight(f)], "lr": 0.5}][
            : 1 if method == "LBFGS" else 2
        ]
        texts.append(repr(getattr(f.optim, method)(groups)))
    assert texts[0] == texts[1]


BAD: list[tuple[str, dict[str, Any]]] = [
    *[(method, {"lr": -1.0}) for method in METHODS],
    *[(method, {"lr": float("nan")}) for method in METHODS if method != "SGD"],
    ("SGD", {"momentum": -1.0}),
    ("SGD", {"nesterov": True}),
    ("Adam", {"betas": (1.0, 0.9)}),
    ("AdamW", {"betas": (0.9, -0.1)}),
    ("Adam", {"eps": -1.0}),
    ("RMSprop", {"alpha": -0.1}),
    ("RMSprop", {"momentum": -0.1}),
    ("Adagrad", {"lr_decay": -0.1}),
    ("Adagrad", {"initial_accumulator_value": -0.1}),
    ("Adadelta", {"rho": 1.5}),
    ("Adamax", {"betas": (0.9, 1.0)}),
    ("NAdam", {"momentum_decay": -0.1}),
    ("RAdam", {"weight_decay": -0.1}),
    ("ASGD", {"weight_decay": -0.1}),
    ("Rprop", {"etas": (1.5, 1.2)}),
    ("Adafactor", {"d": 0.5}),
    ("Adafactor", {"beta2_decay": 0.5}),
    ("Adafactor", {"eps": (-1.0, 0.1)}),
    ("Muon", {"adjust_lr_fn": "none"}),
    ("Muon", {"momentum": -0.1}),
]


@pytest.mark.parametrize(("method", "options"), BAD, ids=[f"{m} {o}" for m, o in BAD])
def test_bad_options(method: str, options: dict[str, Any]) -> None:
    for f in (tenora, torch):
        with pytest.raises(ValueError):
            getattr(f.optim, method)([weight(f)], **options)


@pytest.mark.parametrize("method", METHODS)
def test_a_rate_of_several_numbers(method: str) -> None:
    for f in (tenora, torch):
        with pytest.raises(ValueError, match=r"one element|1-element"):
            getattr(f.optim, method)([weight(f)], lr=f.ones(2))


def test_muon_takes_matrices_only() -> None:
    for f in (tenora, torch):
        with pytest.raises(ValueError):
            f.optim.Muon([weight(f, 3)])


@pytest.mark.parametrize("method", ["Adafactor", "Muon"])
def test_real_parameters_only(method: str) -> None:
    for f in (tenora, torch):
        parameter = f.nn.Parameter(f.ones(2, 2, dtype=f.complex64))
        parameter.grad = f.ones(2, 2, dtype=f.complex64)
        with pytest.raises(RuntimeError):
            getattr(f.optim, method)([parameter]).step()


def test_fused_and_foreach_exclude_each_other() -> None:
    for f in (tenora, torch):
        with pytest.raises(RuntimeError):
            f.optim.Adam([weight(f)], fused=True, foreach=True)
        assert f.optim.Adam([weight(f)], fused=True).param_groups[0]["fused"]


def test_sparse_adam_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"\[SparseAdam\] sparse gradients: got .*Use Adam"):
        tenora.optim.SparseAdam([weight(tenora)])


def refused(f: Any, kind: type[Exception], params: Any, second: Any = None) -> None:
    with pytest.raises(kind):
        optimizer = f.optim.SGD(params, lr=0.1)
        if second is not None:
            optimizer.add_param_group(second)


@pytest.mark.parametrize("f", [tenora, torch], ids=["tenora", "torch"])
def test_what_is_no_parameter(f: Any) -> None:
    a, b = weight(f), weight(f)
    refused(f, TypeError, a)
    refused(f, TypeError, [1.0])
    refused(f, TypeError, [{"params": {a, b}}])
    refused(f, TypeError, [a], [b])
    refused(f, KeyError, [{"lr": 0.1}])
    refused(f, ValueError, [])
    refused(f, ValueError, [a * 2])
    refused(f, ValueError, [a], {"params": [a]})
    refused(f, ValueError, [("a", a), b])
    refused(f, ValueError, [("a", a)], {"params": [b]})


@pytest.mark.parametrize("f", [tenora, torch], ids=["tenora", "torch"])
def test_what_is_taken(f: Any) -> None:
    a, b = weight(f), weight(f)
    kept = (a * 1).detach() * a
    kept.retain_grad()
    f.optim.SGD([kept])
    with pytest.warns(UserWarning, match="twice|duplicate"):
        assert f.optim.SGD([a, a]).state_dict()["param_groups"][0]["params"] == [1, 1]
    group = {"params": a}
    optimizer = f.optim.SGD([group], lr=0.5)
    assert optimizer.param_groups[0] is group and group["params"] == [a] and group["lr"] == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.add_param_group({"params": iter([b])})
    named = f.optim.SGD([{"params": [("a", a)]}, {"params": [("b", b)]}])
    assert [group["param_names"] for group in named.param_groups] == [["a"], ["b"]]


def test_a_required_option() -> None:
    for f in (tenora, torch):
        required = __import__(f"{f.__name__}.optim.optimizer", fromlist=["required"]).required
        with pytest.raises(ValueError):
            f.optim.Optimizer([weight(f)], {"lr": required})
        optimizer = f.optim.Optimizer([{"params": [weight(f)], "lr": 1}], {"lr": required})
        assert optimizer.param_groups[0]["lr"] == 1 and repr(required) == "<required parameter>"


class OwnSGD(tenora.optim.Optimizer):
    """As a PyTorch program writes one."""

    def __init__(self, params: Any, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    @tenora.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


class TwiceSGD(tenora.optim.SGD):
    def step(self, closure: Any = None) -> Any:
        super().step()
        return super().step(closure)


@pytest.mark.parametrize("kind", [tenora.optim.SGD, OwnSGD, TwiceSGD])
def test_step_hooks(kind: Any) -> None:
    from_all = tenora.optim.optimizer
    parameter = weight(tenora)
    parameter.grad = tenora.ones(2, 2)
    optimizer = kind([parameter], lr=0.1)
    seen: list[Any] = []
    with (
        from_all.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append(("all", args[0] is o))),
        from_all.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("all after")),
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("own", kwargs))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("own after")),
    ):
        optimizer.step()
    assert seen == [("all", True), ("own", {}), "own after", "all after"]
    optimizer.step()
    assert len(seen) == 4


def test_a_pre_hook_may_change_the_arguments() -> None:
    parameter = weight(tenora)
    optimizer = tenora.optim.SGD([parameter])
    with optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7})):
        assert optimizer.step() == 7
    with (
        optimizer.register_step_pre_hook(lambda o, args, kwargs: 3),
        pytest.raises(RuntimeError, match="pre-hook"),
    ):
        optimizer.step()


def test_state_dict_hooks() -> None:
    optimizer = tenora.optim.SGD([weight(tenora)])
    seen: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    saved = optimizer.state_dict()
    assert saved["more"] == 1 and seen == ["first", "second"]
    optimizer.register_load_state_dict_pre_hook(lambda o, d: d.update(param_groups=d.pop("groups")))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    saved["groups"] = saved.pop("param_groups")
    saved["groups"][0]["lr"] = 0.25
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.25 and seen[-1] == "loaded" and "groups" in saved


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("method", ["SGD", "Adam", "Adafactor"])
def test_a_gradient_of_another_dtype_names_its_parameter(method: str, named: bool, backend: str) -> None:
    model = tenora.nn.Sequential(tenora.nn.Linear(2, 2), tenora.nn.Linear(2, 2))
    params = model.named_parameters() if named else model.parameters()
    optimizer = getattr(tenora.optim, method)(params)
    for p in model.parameters():
        p.grad = tenora.ones_like(p)
    model[1].weight.data = model[1].weight.data.double()
    before = [p.tolist() for p in model.parameters()]
    called = r" \(1.weight\)" if named else ""
    with pytest.raises(
        RuntimeError, match=rf"^\[{method}\] gradient of parameter 2{called}: got tenora.float32"
    ):
        optimizer.step()
    assert [p.tolist() for p in model.parameters()] == before


def test_closures_and_zero_grad() -> None:
    parameter = weight(tenora)
    optimizer = tenora.optim.SGD([parameter], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (parameter * parameter).sum()
        loss.backward()
        return loss

    with tenora.no_grad():
        assert optimizer.step(closure).item() == 4
    assert parameter.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    optimizer.zero_grad(set_to_none=False)
    assert parameter.grad is not None and parameter.grad.tolist() == [[0.0] * 2] * 2
    optimizer.zero_grad()
    assert parameter.grad is None


@pytest.mark.parametrize(
    ("method", "option", "value", "error"),
    [
        ("Adam", "betas", 0.9, TypeError),
        ("Adam", "betas", (0.9,), ValueError),
        ("Adam", "betas", (0.9, "x"), TypeError),
        ("Adam", "lr", "x", TypeError),
        ("Adam", "lr", tenora.ones(2), ValueError),
        ("SGD", "momentum", None, TypeError),
        ("Rprop", "etas", 0.5, TypeError),
        ("Adafactor", "eps", 1e-3, TypeError),
        ("RMSprop", "alpha", float("nan"), ValueError),
        ("Muon", "ns_coefficients", (1.0, 2.0), ValueError),
    ],
)
def test_an_option_of_a_group_that_is_none(
    method: str, option: str, value: Any, error: type[Exception]
) -> None:
    """Named when the group comes, not at a step."""
    with pytest.raises(error, match=rf"^\[{method}\] {option}"):
        getattr(tenora.optim, method)([{"params": [tenora.ones(2, 2, requires_grad=True)], option: value}])


def test_options_of_groups_that_fit() -> None:
    for method, option, value in (
        ("Adam", "betas", [0.9, 0.99]),
        ("Adam", "lr", tenora.tensor(0.1)),
        ("SGD", "lr", -0.1),
        ("Adafactor", "eps", (None, 1e-2)),
        ("Adam", "foreach", None),
    ):
        optimizer = getattr(tenora.optim, method)(
            [{"params": [tenora.ones(2, requires_grad=True)], option: value}]
        )
        assert optimizer.param_groups[0][option] is value

    class Own(tenora.optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            """Nothing."""

    Own([{"params": [tenora.ones(1, requires_grad=True)], "lr": "auto"}], {"lr": 0.1})
