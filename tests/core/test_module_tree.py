"""Listing, finding, registering, moving and calling modules: programs that must say the same as under PyTorch."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from both import agree, refused

import tenora

pytestmark = pytest.mark.oracle


def net(f: Any) -> Any:
    made = f.nn.Module()
    made.first = f.nn.Linear(2, 3)
    made.layers = f.nn.ModuleList([f.nn.BatchNorm1d(3), f.nn.ReLU(), made.first])
    made.scale = f.nn.Parameter(f.ones(1))
    made.again = made.first
    made.register_buffer("steps", f.zeros(1, dtype=f.int64))
    made.none = None
    made.register_module("gap", None)
    made.register_parameter("empty", None)
    return made


def names(f: Any) -> Any:
    made = net(f)
    lists = (
        made.named_modules(), made.named_modules(prefix="x"), made.named_modules(None, "y", False),
        made.named_children(), made.named_parameters(), made.named_parameters("p", recurse=False),
        made.named_parameters(remove_duplicate=False), made.named_buffers(), made.named_buffers("b"),
        made.named_buffers(recurse=False, remove_duplicate=False),
    )  # fmt: skip
    counts = [
        len(list(found)) for found in (made.modules(), made.children(), made.parameters(), made.buffers())
    ]
    return (
        [[name for name, _ in found] for found in lists],
        counts,
        len(list(made.modules(remove_duplicate=False))),
    )


def reprs(f: Any) -> Any:
    made = net(f)
    block = f.nn.Sequential(f.nn.Linear(1, 1), f.nn.ReLU())
    repeated = f.nn.ModuleList([block, block, f.nn.ReLU(), f.nn.ReLU(), f.nn.Linear(2, 1)])

    class Said(f.nn.Module):
        def extra_repr(self) -> str:
            return "one=1\ntwo=2"

    alone, around = Said(), Said()
    around.inner = f.nn.Tanh()
    empty = (f.nn.Sequential(), f.nn.ModuleList(), f.nn.ModuleDict(), f.nn.Module())
    return [repr(m) for m in (made, repeated, alone, around, *empty)]


def places(f: Any) -> Any:
    made = net(f)
    made.set_submodule("layers.1", f.nn.Tanh())
    made.set_submodule("fresh", f.nn.Identity())
    made.set_submodule("first", f.nn.Linear(2, 4), strict=True)
    return [
        type(made.get_submodule("layers.1")).__name__,
        made.get_submodule("") is made,
        type(made.fresh).__name__,
        tuple(made.get_parameter("first.weight").shape),
        made.get_buffer("layers.0.running_var"),
        *(
            refused(call)
            for call in (
                lambda: made.get_submodule("layers.7"),
                lambda: made.get_submodule("scale"),
                lambda: made.get_parameter("steps"),
                lambda: made.get_parameter("layers.0.none"),
                lambda: made.get_buffer("scale"),
                lambda: made.set_submodule("", f.nn.Identity()),
                lambda: made.set_submodule("nowhere.x", f.nn.Identity()),
                lambda: made.set_submodule("new", f.nn.Identity(), strict=True),
                lambda: made.set_submodule("layers.0", 3),
            )
        ),
    ]


def registering(f: Any) -> Any:
    made = net(f)
    calls = {
        "taken": lambda: made.register_parameter("forward", f.nn.Parameter(f.ones(1))),
        "other kind": lambda: made.register_buffer("scale", f.ones(1)),
        "dot": lambda: made.register_buffer("a.b", f.ones(1)),
        "empty": lambda: made.add_module("", f.nn.Identity()),
        "number": lambda: made.add_module(3, f.nn.Identity()),
        "no parameter": lambda: made.register_parameter("w", f.ones(1)),
        "no tensor": lambda: made.register_buffer("w", 3),
        "no module": lambda: made.add_module("w", 3),
        "history": lambda: made.register_parameter("w", made.scale * 1),
        "number as parameter": lambda: setattr(made, "scale", 3),
        "tensor as parameter": lambda: setattr(made, "scale", f.ones(1)),
        "number as module": lambda: setattr(made, "first", 3),
        "number as buffer": lambda: setattr(made, "steps", 3),
        "missing": lambda: made.nothing,
        "deleting what is missing": lambda: delattr(made, "nothing"),
        "mode": lambda: made.train(1),
        "arguments": lambda: f.nn.Module(3),
        "call": lambda: f.nn.Module()(3),
        "extra": lambda: made.get_extra_state(),
    }
    return {name: refused(call) for name, call in calls.items()}


def changing_kinds(f: Any) -> Any:
    made = net(f)
    made.scale = None
    listed = [[n for n, _ in made.named_parameters()]]
    made.scale = f.nn.Parameter(f.zeros(2))
    made.steps = f.ones(3)
    made.plain = 3
    made.plain = f.nn.Parameter(f.ones(1))
    made.first = f.nn.Tanh()
    made.scratch = f.nn.Buffer(f.ones(1), persistent=False)
    listed += [list(made.state_dict()), list(made._buffers), list(made._modules), list(made._parameters)]
    del made.scale, made.first, made.steps
    listed += [list(made.state_dict()), hasattr(made, "scale")]
    made._parameters["late"] = f.nn.Parameter(f.ones(1))
    made._buffers.pop("scratch")
    return listed, made.late, hasattr(made, "scratch"), [n for n, _ in made.named_parameters()]


def casting(f: Any) -> Any:
    def kinds(made: Any) -> Any:
        return [str(t.dtype).split(".")[-1] for t in (*made.parameters(), *made.buffers())]

    made = net(f)
    weight, found = made.first.weight, []
    made.first.weight.grad = f.ones(3, 2)
    for change in (
        lambda: made.double(), lambda: made.half(), lambda: made.bfloat16(), lambda: made.float(),
        lambda: made.to(f.float64), lambda: made.to("cpu", f.float32), lambda: made.to(f.ones(1, dtype=f.float16)),
        lambda: made.to(dtype=f.float32, non_blocking=True), lambda: made.to(device="cpu"), lambda: made.cpu(),
        lambda: made.type(f.float64), lambda: made.to_empty(device="cpu"),
    ):  # fmt: skip
        same = change() is made
        found.append((same, kinds(made), str(made.first.weight.grad.dtype).split(".")[-1]))
    bad = refused(lambda: made.to(f.int64)), refused(lambda: made.to(dtype=f.int32))
    return found, made.first.weight is weight, isinstance(weight, f.nn.Parameter), bad


def applying(f: Any) -> Any:
    made, order = net(f), []
    made.apply(lambda module: order.append(type(module).__name__))
    made._apply(lambda tensor: tensor * 0 + 2 if tensor.is_floating_point() else tensor)
    own = f.nn.Sequential(f.nn.Linear(1, 1))
    own._apply(lambda tensor: tensor * 0, recurse=False)
    return (
        order,
        made.first.weight,
        made.layers[0].running_var,
        made.first.weight.requires_grad,
        own[0].weight.numel(),
    )


def gradients(f: Any) -> Any:
    made = f.nn.Linear(2, 1)
    made(f.ones(1, 2)).sum().backward()
    gradient = made.weight.grad
    made.zero_grad(set_to_none=False)
    zeroed = made.weight.grad is gradient, gradient
    made.zero_grad()
    made.requires_grad_(False)
    return zeroed, made.weight.grad, made.weight.requires_grad


def super_init(f: Any) -> Any:
    class Other:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.got = (args, sorted(kwargs))

    class Both(f.nn.Module, Other):
        call_super_init = True

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

    class Early(f.nn.Module):
        def __init__(self) -> None:
            self.layer = f.nn.Identity()

    return Both(3, name=4).got, hasattr(f.nn.Module(), "got"), refused(Early)


def dirs(f: Any) -> Any:
    made = f.nn.Sequential(f.nn.Linear(1, 1))
    made.named = f.nn.Parameter(f.ones(1))
    listed = dir(made)
    return "0" in listed, "named" in listed, "forward" in listed, "weight" in dir(made[0])


PROGRAMS = {
    program.__name__: program
    for program in (
        names, reprs, places, registering, changing_kinds, casting, applying, gradients, super_init, dirs,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, backend: str) -> None:
    result = agree(PROGRAMS[name])
    assert not isinstance(result, Exception), result


#: Methods of PyTorch's Module that have no place here, and why.
ABSENT = {
    "T_destination": "a type variable",
    "forward": "takes any arguments here, so that a type checker lets subclasses choose theirs",
}


def test_every_public_method_has_pytorchs_signature() -> None:
    def shape(function: Any) -> list[tuple[str, str, str]]:
        found = inspect.signature(function).parameters.values()
        return [(p.name, str(p.kind), str(p.default)) for p in found]

    wanted = [name for name in dir(torch.nn.Module) if not name.startswith("_") and name not in ABSENT]
    wanted += [
        "_load_from_state_dict", "_save_to_state_dict", "_register_state_dict_hook", "_apply", "_named_members",
        "_register_load_state_dict_pre_hook", "_get_name", "_replicate_for_data_parallel",
    ]  # fmt: skip
    differing = [
        name
        for name in wanted
        if not hasattr(tenora.nn.Module, name)
        or (callable(getattr(torch.nn.Module, name)))
        and shape(getattr(torch.nn.Module, name)) != shape(getattr(tenora.nn.Module, name))
    ]
    assert differing == []


def test_compile_changes_nothing() -> None:
    made = tenora.nn.Linear(1, 1)
    assert made.compile() is made.compile(mode="max-autotune", dynamic=True) is None
    assert made(tenora.ones(1)).shape == (1,)


def test_what_has_no_device_or_no_shared_memory_says_so() -> None:
    for move in (lambda m: m.cuda(), lambda m: m.to("cuda"), lambda m: m.xpu(0), lambda m: m.cuda("cuda:1")):
        with pytest.raises(RuntimeError, match="no backend computes on"):
            move(tenora.nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="state_dict"):
        tenora.nn.Linear(1, 1).share_memory()


@pytest.mark.parametrize("second", ["parameter", "buffer", "module", "plain", "tensor", "none"])
@pytest.mark.parametrize(
    "first", ["parameter", "buffer", "module", "plain", "tensor", "none", "of the class"]
)
def test_members_that_take_the_place_of_others(first: str, second: str) -> None:
    """What PyTorch refuses is refused and changes nothing."""

    def program(f: Any) -> Any:
        class Owner(f.nn.Module):  # type: ignore[misc, name-defined]
            pass

        made = {
            "parameter": lambda: f.nn.Parameter(f.ones(2)),
            "buffer": lambda: f.nn.Buffer(f.ones(2), persistent=False),
            "module": lambda: f.nn.ReLU(),
            "plain": lambda: 3,
            "tensor": lambda: f.ones(3),
            "none": lambda: None,
        }
        if first == "of the class":
            Owner.x = 1
        owner = Owner()
        if first != "of the class":
            owner.x = made[first]()
        said = "nothing"
        try:
            owner.x = made[second]()
        except (TypeError, KeyError) as error:
            said = next(kind.__name__ for kind in (TypeError, KeyError) if isinstance(error, kind))
        kinds = [list(getattr(owner, kind)) for kind in ("_parameters", "_buffers", "_modules")]
        return said, kinds, isinstance(owner.x, f.Tensor), list(owner.state_dict())

    agree(program)


def test_a_path_that_is_no_text_is_refused() -> None:
    for path in (None, 0, ["first"]):
        with pytest.raises(TypeError, match=r"^\[get_submodule\] target: got .*, expected a path"):
            net(tenora).get_submodule(path)
