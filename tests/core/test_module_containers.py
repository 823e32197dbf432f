"""Containers of modules and of parameters: programs that must say the same as under PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from both import agree, refused

import tenora

pytestmark = pytest.mark.oracle


def shown(module: Any) -> Any:
    return repr(module), list(module.state_dict())


def sequential(f: Any) -> Any:
    nn = f.nn
    made = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1))
    found = [shown(made[1:]), shown(made[-1]), len(made), [type(m).__name__ for m in made]]
    made.append(nn.Tanh()).insert(1, nn.Sigmoid()).extend([nn.ELU(), nn.GELU()])
    made.insert(-1, nn.SiLU())
    found.append(shown(made))
    made[0] = nn.Linear(1, 3)
    made[-1] = nn.Mish()
    del made[1]
    del made[2:4]
    found += [shown(made), type(made.pop(1)).__name__, type(made.pop(-1)).__name__, shown(made)]
    other = nn.Sequential(nn.Softsign())
    total = made + other
    found += [shown(total), total[0] is made[0]]
    made += other
    twice = other * 2
    found += [shown(made), shown(twice), shown(3 * other), twice[0] is twice[1]]
    other *= 3
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.ELU()))
    found += [shown(other), shown(named[1:]), type(named.b).__name__]
    del named[0]
    return found, shown(named)


def sequential_refuses(f: Any) -> Any:
    made = f.nn.Sequential(f.nn.ReLU())
    calls = (
        lambda: made[1], lambda: made[-2], lambda: made + [f.nn.ReLU()], lambda: made * 0, lambda: made * 1.5,
        lambda: made.insert(3, f.nn.ReLU()), lambda: made.insert(0, 3), lambda: f.nn.Sequential(3),
        lambda: made.append(3), lambda: made.pop(4), lambda: made.__setitem__(5, f.nn.ReLU()),
        lambda: made.__delitem__(5), lambda: made.__iadd__([f.nn.ReLU()]),
    )  # fmt: skip
    return [refused(call) for call in calls]


def module_list(f: Any) -> Any:
    nn = f.nn
    made = nn.ModuleList([nn.Linear(1, 2), nn.ReLU()])
    made.append(nn.Tanh()).extend(nn.ModuleList([nn.ELU()]))
    made.insert(1, nn.GELU())
    made += [nn.SiLU()]
    made[0] = nn.Linear(1, 1)
    found = [
        shown(made),
        shown(made[1:3]),
        shown(made + [nn.Mish()]),
        type(made.pop(1)).__name__,
        shown(made),
    ]
    del made[0], made[-2:]
    found += [shown(made), len(made), shown(nn.ModuleList(m for m in made))]
    refusals = [
        refused(call)
        for call in (
            lambda: made[9], lambda: made.extend(3), lambda: made.append(3), lambda: nn.ModuleList()(f.ones(1)),
            lambda: made.extend(None),
        )
    ]  # fmt: skip
    return found, refusals


def module_dict(f: Any) -> Any:
    nn = f.nn
    made = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
    made["c"] = nn.Tanh()
    made.update([("d", nn.ELU()), ["a", nn.Linear(1, 2)]])
    made.update(nn.ModuleDict({"e": nn.SiLU()}))
    found = [
        shown(made),
        list(made),
        list(made.keys()),
        [type(m).__name__ for m in made.values()],
        "b" in made,
    ]
    found += [[key for key, _ in made.items()], type(made.pop("b")).__name__, len(made)]
    del made["c"]
    refusals = [
        refused(call)
        for call in (
            lambda: made["none"], lambda: made.update(3), lambda: made.update([3]), lambda: made.update([(1, 2, 3)]),
            lambda: made.__setitem__("keys", nn.ReLU()), lambda: made.__setitem__("x", 3), lambda: made.pop("none"),
            lambda: made.__setitem__("x.y", nn.ReLU()),
        )
    ]  # fmt: skip
    listed = shown(made)
    made.clear()
    return found, refusals, listed, shown(made)


def plain_repr(module: Any) -> str:
    return repr(module).replace("tenora.", "torch.")


def parameter_list(f: Any) -> Any:
    nn = f.nn
    made = nn.ParameterList([nn.Parameter(f.ones(2)), f.zeros(1, 3)])
    made.append(f.ones(1)).extend([f.ones(2), "text"])
    made += [f.zeros(2)]
    made[0] = f.full((3,), 2.0)
    found = [
        plain_repr(made),
        list(made.state_dict()),
        len(made),
        made[1:3][0],
        made[-1],
        [type(p).__name__ for p in made],
    ]
    refusals = [
        refused(call)
        for call in (lambda: made[9], lambda: made(1), lambda: made.extend(3), lambda: nn.ParameterList(3))
    ]
    return found, refusals, plain_repr(nn.ParameterList())


def parameter_dict(f: Any) -> Any:
    nn = f.nn
    made = nn.ParameterDict({"b": f.ones(1), "a": nn.Parameter(f.zeros(2)), "n": 3})
    made["c"] = f.ones(2, 2)
    made.update([("d", f.ones(1)), ("e", None)])
    found = [
        plain_repr(made),
        list(made),
        list(made.state_dict()),
        made.get("none", 4),
        made.setdefault("f", f.ones(1)),
    ]
    found += [
        list(made.copy()),
        list(reversed(made)),
        made.pop("d"),
        made.popitem()[0],
        "a" in made,
        len(made),
    ]
    other = nn.ParameterDict(OrderedDict(z=f.ones(1), a=f.full((1,), 5.0)))
    merged = made | other
    made |= other
    found += [
        list(merged),
        merged["a"],
        list(made),
        list(made.fromkeys(["x", "y"], 1)),
        [k for k, _ in made.items()],
    ]
    del made["a"]
    refusals = [
        refused(call)
        for call in (
            lambda: made["none"], lambda: made(1), lambda: made.update(3),
            lambda: nn.ParameterDict().__setitem__(3, f.ones(1)),
            lambda: made.update([(1, 2, 3)]), lambda: made.pop("none"),
        )
    ]  # fmt: skip
    listed = plain_repr(made)
    made.clear()
    return found, refusals, listed, len(made), len(list(made.values()))


def old_names(f: Any) -> Any:
    made = f.nn.Container(a=f.nn.ReLU())
    loss = f.nn.NLLLoss2d(None, None, 1)
    sums = f.nn.MSELoss(size_average=False), f.nn.L1Loss(reduce=False), f.nn.KLDivLoss(True, True)
    return shown(made), repr(loss), loss.ignore_index, [made.reduction for made in sums]


PROGRAMS = {
    program.__name__: program
    for program in (
        sequential, sequential_refuses, module_list, module_dict, parameter_list, parameter_dict, old_names,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    result = agree(PROGRAMS[name])
    assert not isinstance(result, Exception), result


def test_paths_of_pytorch_lead_to_the_same_classes() -> None:
    for path, name in (
        ("conv", "Conv2d"),
        ("linear", "LazyLinear"),
        ("batchnorm", "SyncBatchNorm"),
        ("loss", "L1Loss"),
    ):
        assert getattr(getattr(tenora.nn.modules, path), name) is getattr(tenora.nn, name)
    assert isinstance(tenora.nn.BatchNorm2d(1), tenora.nn.modules.batchnorm._BatchNorm)
    assert tenora.nn.modules.utils._pair(3) == (3, 3) and tenora.nn.modules.module.Module is tenora.nn.Module
    assert tenora.nn.parameter.Parameter is tenora.nn.Parameter
