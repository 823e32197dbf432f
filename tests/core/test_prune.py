"""nn.utils.prune and functional_call beside PyTorch."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from typing import Any

import pytest
import torch.nn.utils.prune  # noqa: F401 - PyTorch loads it by this only
from both import agree, refused
from draws import numbers

import tenora

pytestmark = pytest.mark.oracle


def layer(f: Any, seed: int = 0) -> Any:
    made = f.nn.Conv1d(3, 4, 2).double()
    with f.no_grad():
        for i, parameter in enumerate(made.parameters()):
            parameter.copy_(f.tensor(numbers(*parameter.shape, seed=seed + i)))
    return made


def seen(made: Any) -> Any:
    return (
        dict(made.state_dict()),
        made.weight,
        [name for name, _ in made.named_parameters()],
        [name for name, _ in made.named_buffers()],
        len(made._forward_pre_hooks),
    )


def mask(f: Any, seed: int = 5) -> Any:
    return f.tensor((numbers(4, 3, 2, seed=seed) > 0).astype("float64"))


CERTAIN = {
    "identity": lambda f, p, m: p.identity(m, "weight"),
    "l1 count": lambda f, p, m: p.l1_unstructured(m, "weight", 5),
    "l1 share": lambda f, p, m: p.l1_unstructured(m, "weight", amount=0.4),
    "l1 nothing": lambda f, p, m: p.l1_unstructured(m, "weight", 0),
    "l1 scores": lambda f, p, m: p.l1_unstructured(
        m, "weight", 3, importance_scores=f.tensor(numbers(4, 3, 2, seed=8))
    ),
    "l2 rows": lambda f, p, m: p.ln_structured(m, "weight", 2, n=2, dim=0),
    "l1 middle": lambda f, p, m: p.ln_structured(m, "weight", 0.3, n=1, dim=1),
    "max last": lambda f, p, m: p.ln_structured(m, "weight", 1, n=math.inf, dim=-1),
    "ln nothing": lambda f, p, m: p.ln_structured(m, "weight", 0, n=2, dim=-1),
    "ln scores": lambda f, p, m: p.ln_structured(
        m, "weight", 1, 2, 0, importance_scores=f.tensor(numbers(4, 3, 2, seed=8))
    ),
    "mask": lambda f, p, m: p.custom_from_mask(m, "weight", mask(f)),
}


@pytest.mark.parametrize("second", [None, "identity", "l1 share", "l2 rows", "max last", "mask"])
@pytest.mark.parametrize("first", CERTAIN)
def test_pruned_once_and_again(first: str, second: str | None) -> None:
    def program(f: Any) -> Any:
        p, made = f.nn.utils.prune, layer(f)
        returned = CERTAIN[first](f, p, made) is made
        told: list[Any] = [returned, seen(made), p.is_pruned(made)]
        if second is not None:
            CERTAIN[second](f, p, made)
            told.append([type(method).__name__ for method in next(iter(made._forward_pre_hooks.values()))])
        (made(f.tensor(numbers(2, 3, 5))) ** 2).sum().backward()
        told.append(made.weight_orig.grad)
        with f.no_grad():
            made.weight_orig -= 0.1 * made.weight_orig.grad
        told += [made(f.tensor(numbers(2, 3, 5))), seen(made)]
        p.remove(made, "weight")
        return [*told, seen(made), type(made.weight).__name__, made.weight.is_leaf, p.is_pruned(made)]

    agree(program)


def test_on_every_backend(backend: str) -> None:
    def program(f: Any) -> Any:
        made = layer(f)
        for name in ("l1 count", "l2 rows", "mask"):
            CERTAIN[name](f, f.nn.utils.prune, made)
        return seen(made)

    agree(program)


@pytest.mark.parametrize("amount", [0, 4, 24, 0.25, 1.0])
def test_random_elements(amount: float, backend: str) -> None:
    p = tenora.nn.utils.prune
    made = p.random_unstructured(layer(tenora), "weight", amount)
    zeros = amount if isinstance(amount, int) else round(24 * amount)
    assert (made.weight_mask == 0).sum().item() == zeros
    if 0 < zeros < 24:
        others = {
            tuple(p.random_unstructured(layer(tenora), "weight", amount).weight_mask.flatten().tolist())
            for _ in range(9)
        }
        assert len(others) > 1
        p.random_unstructured(made, "weight", 2)
        assert (made.weight_mask == 0).sum().item() == zeros + 2


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_random_slices(dim: int, backend: str) -> None:
    p = tenora.nn.utils.prune
    made = p.random_structured(layer(tenora), "weight", 1, dim)
    kept = made.weight_mask.movedim(dim, 0).flatten(1)
    assert sorted(set(kept.sum(1).tolist())) == [0.0, kept.shape[1]]
    assert (kept.sum(1) == 0).sum().item() == 1
    p.random_structured(made, "weight", 1, dim)
    assert (made.weight_mask.movedim(dim, 0).flatten(1).sum(1) == 0).sum().item() == 2


def test_global(backend: str) -> None:
    def program(f: Any) -> Any:
        p, net = f.nn.utils.prune, f.nn.Sequential(layer(f, 1), layer(f, 9))
        pairs = ((net[0], "weight"), (net[1], "weight"), (net[1], "bias"))
        p.global_unstructured(pairs, p.L1Unstructured, amount=11)
        told = [
            part
            for module, name in pairs
            for part in (getattr(module, name), getattr(module, f"{name}_mask"))
        ]
        scores = {(net[0], "weight"): f.tensor(numbers(4, 3, 2, seed=4))}
        p.global_unstructured(pairs[:2], p.L1Unstructured, importance_scores=scores, amount=0.25)
        return [*told, *(getattr(module, f"{name}_mask") for module, name in pairs), p.is_pruned(net)]

    agree(program)


def test_a_method_of_the_users_own() -> None:
    def program(f: Any) -> Any:
        p = f.nn.utils.prune

        class EveryOther(p.BasePruningMethod):  # type: ignore[misc, name-defined]  # of either framework
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t: Any, default_mask: Any) -> Any:
                made = default_mask.clone()
                made.view(-1)[::2] = 0
                return made

        made = layer(f)
        EveryOther.apply(made, "weight")
        EveryOther.apply(made, "weight")
        container = next(iter(made._forward_pre_hooks.values()))
        method = EveryOther()
        x = f.tensor(numbers(5))
        return (
            made.weight_mask,
            len(container),
            type(container[0]).__name__,
            method.prune(x),
            method.prune(x, x > 0),
        )

    agree(program)


@pytest.mark.parametrize(
    "act",
    [
        lambda f, p: p.l1_unstructured(layer(f), "weight", 1.5),
        lambda f, p: p.l1_unstructured(layer(f), "weight", -1),
        lambda f, p: p.l1_unstructured(layer(f), "weight", -0.5),
        lambda f, p: p.l1_unstructured(layer(f), "weight", 25),
        lambda f, p: p.l1_unstructured(layer(f), "weight", "all"),
        lambda f, p: p.l1_unstructured(layer(f), "nothing", 1),
        lambda f, p: p.l1_unstructured(layer(f), "weight", 1, importance_scores=f.zeros(3)),
        lambda f, p: p.ln_structured(layer(f), "bias", 1, 2, 0),
        lambda f, p: p.ln_structured(layer(f), "weight", 1, 2, 3),
        lambda f, p: p.random_structured(layer(f), "weight", 5, 0),
        lambda f, p: p.custom_from_mask(layer(f), "weight", f.ones(3)),
        lambda f, p: p.remove(layer(f), "weight"),
        lambda f, p: p.global_unstructured(3, p.L1Unstructured, amount=1),
        lambda f, p: p.global_unstructured([(layer(f), "weight")], p.LnStructured, amount=1, n=2),
        lambda f, p: p.global_unstructured([(layer(f), "weight")], p.L1Unstructured, [], amount=1),
        lambda f, p: p.PruningContainer(p.Identity()),
    ],
)
def test_refusals(act: Any) -> None:
    assert agree(lambda f: refused(lambda: act(f, f.nn.utils.prune)))


@pytest.mark.parametrize("before", [None, "l1 count", "mask"])
def test_a_refused_pruning_changes_nothing(before: str | None) -> None:
    p, made = tenora.nn.utils.prune, layer(tenora)
    if before is not None:
        CERTAIN[before](tenora, p, made)
    old = repr(seen(made))
    assert refused(lambda: p.l1_unstructured(made, "weight", 100)) == "ValueError"
    assert repr(seen(made)) == old
    p.l1_unstructured(made, "weight", 2)
    kinds = [type(m).__name__ for m in next(iter(made._forward_pre_hooks.values()))] if before else []
    assert len(kinds) == (2 if before else 0)


def test_states_and_copies() -> None:
    p, made = tenora.nn.utils.prune, layer(tenora)
    p.l1_unstructured(made, "weight", 3)
    other = p.identity(layer(tenora, 7), "weight")
    other.load_state_dict(made.state_dict())
    x = tenora.tensor(numbers(2, 3, 5))
    assert other(x).tolist() == made(x).tolist()
    with tenora.no_grad():
        made(x)  # leaves a weight without history, which can be copied
    twin = copy.deepcopy(made)
    p.remove(twin, "weight")
    assert p.is_pruned(made) and not p.is_pruned(twin) and twin(x).tolist() == made(x).tolist()


# ---- functional_call ----
def net(f: Any) -> Any:
    made = f.nn.Sequential(OrderedDict(first=f.nn.Linear(2, 2), norm=f.nn.BatchNorm1d(2))).double()
    made.again = f.nn.Linear(2, 2).double()
    made.again.bias = made.first.bias
    with f.no_grad():
        for i, parameter in enumerate(made.parameters()):
            parameter.copy_(f.tensor(numbers(*parameter.shape, seed=i)))
    return made


CALLS: dict[str, Any] = {
    "one": lambda f, m, x: f.func.functional_call(m, {"first.weight": f.ones(2, 2, dtype=f.float64)}, x),
    "several dicts": lambda f, m, x: f.func.functional_call(
        m, [{"first.bias": x[0]}, {"norm.weight": x[1]}], (x,), {}
    ),
    "tied": lambda f, m, x: f.func.functional_call(m, {"again.bias": x[0]}, x),
    "not tied": lambda f, m, x: f.func.functional_call(m, {"again.bias": x[0]}, x, tie_weights=False),
    "tied twice": lambda f, m, x: f.func.functional_call(m, {"again.bias": x[0], "first.bias": x[1]}, x),
    "twice": lambda f, m, x: f.func.functional_call(m, [{"first.bias": x[0]}, {"first.bias": x[1]}], x),
    "strict": lambda f, m, x: f.func.functional_call(m, {"first.bias": x[0]}, x, strict=True),
    "strict whole": lambda f, m, x: f.func.functional_call(
        m, {**dict(m.named_parameters()), **dict(m.named_buffers())}, x, strict=True
    ),
    "unknown": lambda f, m, x: f.func.functional_call(m, {"last.bias": x[0]}, x),
    "no tensor": lambda f, m, x: f.func.functional_call(m, {"first.bias": 3}, x),
    "a module": lambda f, m, x: f.func.functional_call(m, {"first": x}, x),
    "no dict": lambda f, m, x: f.func.functional_call(m, 3, x),
    "wrong shape": lambda f, m, x: f.func.functional_call(m, {"first.weight": x[0, :1]}, x),
    "old place": lambda f, m, x: f.nn.utils.stateless.functional_call(m, {"first.bias": x[0]}, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_functional_call(name: str, backend: str) -> None:
    def program(f: Any) -> Any:
        made, x = net(f), f.tensor(numbers(3, 2), requires_grad=True)
        before = {key: value.clone() for key, value in made.state_dict().items()}
        try:
            result = CALLS[name](f, made, x)
            (result**3).sum().backward()
            told = [result, x.grad, *(parameter.grad is None for parameter in made.parameters())]
        except Exception:  # which one is compared below
            told = [refused(lambda: CALLS[name](f, net(f), f.tensor(numbers(3, 2))))]
        kept = [bool((value == before[key]).all()) for key, value in made.state_dict().items()]
        return told, kept, [type(parameter).__name__ for parameter in made.parameters()]

    agree(program)


def test_a_module_with_two_names_is_put_back() -> None:
    made = tenora.nn.Sequential(tenora.nn.Linear(2, 2))
    made.again = made[0]
    before = made[0].weight  # PyTorch leaves the tensor that was given under the other name
    tenora.func.functional_call(made, {"0.weight": tenora.ones(2, 2)}, tenora.ones(2))
    assert made[0].weight is before and made.again.weight is before


def test_buffers_that_the_call_assigns_come_back() -> None:
    def program(f: Any) -> Any:
        class Counting(f.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("seen", f.zeros(1))

            def forward(self, x: Any) -> Any:
                self.seen = self.seen + 1
                return x * self.seen

        made, given = Counting(), {"seen": f.tensor([4.0])}
        return f.func.functional_call(made, given, f.ones(1)), given, made.seen

    agree(program)


def test_stacked_modules() -> None:
    agree(lambda f: [list(part) for part in f.func.stack_module_state([net(f), net(f)])])
    agree(lambda f: f.func.stack_module_state([net(f), net(f)])[0]["norm.weight"])
    agree(lambda f: refused(lambda: f.func.stack_module_state([])))
    agree(lambda f: refused(lambda: f.func.stack_module_state([net(f), net(f).eval()])))
    agree(lambda f: refused(lambda: f.func.stack_module_state([net(f), net(f).requires_grad_(False)])))
