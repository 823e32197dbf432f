"""Which gradients of gradients there are, for every public op on its samples, beside PyTorch's.

- PyTorch answers zeros where a gradient does not move with an operand of its op (the slope of a line, the shares of a
  mean); a missing one would end a second backward in an error. Their values: test_ops_parity.py, test_kinks_torch.py.
- What may be asked is compared too: whether a gradient requires grad, and whether an operand has one at all.
- Where PyTorch has none, nothing is said. Ops whose samples have no counterpart there are compared in other files.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import op_cases
import parity_cases as parity
import pytest
import torch
from differences import NO_DERIVATIVE

import tenora
import tenora_ops
from tenora_ops.record import module_of

pytestmark = pytest.mark.oracle

FAMILIES: dict[str, list[str]] = collections.defaultdict(list)
for record in tenora_ops.records():
    if record.public and record.differentiable and "float64" in record.dtypes and not parity.draws(record):
        FAMILIES[module_of(record.name).rsplit(".", 1)[-1]].append(record.name)
#: Of each leaf: whether it has a gradient, whether that requires grad, by which leaves it has a derivative.
Links = list[tuple[bool, bool, list[bool]]]


def links(module: Any, run: Callable[[], Any], leaves: list[Any]) -> Links:
    for leaf in leaves:
        leaf.requires_grad_(True)
    outputs = [o for o in parity.results_of(run()) if o.requires_grad]
    if not outputs:
        return [(False, False, [False] * len(leaves))] * len(leaves)
    given = parity.weights(outputs, module, 1)
    first = module.autograd.grad(outputs, leaves, given, create_graph=True, allow_unused=True)
    found: Links = []
    for g in first:
        again: Any = [None] * len(leaves)
        if g is not None and g.requires_grad:
            again = module.autograd.grad(g.sum(), leaves, allow_unused=True, retain_graph=True)
        found.append((g is not None, g is not None and g.requires_grad, [h is not None for h in again]))
    return found


def missing(name: str) -> list[str]:
    """What PyTorch has and tenora has not."""
    record, told = tenora_ops.record(name), []
    for sample in op_cases.samples_of(name, "float64"):
        if not all(getattr(value, "size", 1) for value in sample.arguments):
            continue
        try:
            function, arguments, options = parity.torch_call(record, sample)
            run = functools.partial(function, *arguments, **options)
            theirs = links(torch, run, parity.leaves_of(arguments, torch))
        except (RuntimeError, TypeError, ValueError, parity.Uncompared):
            continue  # PyTorch refuses, or does not name it
        mine = op_cases.arguments_of(record, sample)
        call = functools.partial(tenora_ops.REGISTERED[name], *mine, **op_cases.options_of(record, sample))
        ours = links(tenora, call, parity.leaves_of(mine, tenora))
        for i, (has, wanted) in enumerate(zip(ours, theirs, strict=True)):
            if less(has, wanted):
                told.append(f"{name}({sample}): gradient {i}: {has}, PyTorch {wanted}")
    return told


def less(has: tuple[bool, bool, list[bool]], wanted: tuple[bool, bool, list[bool]]) -> bool:
    """Whether something that PyTorch has is not there."""
    pairs = zip([*has[:2], *has[2]], [*wanted[:2], *wanted[2]], strict=True)
    return any(there and not here for here, there in pairs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_have_the_derivatives_that_pytorch_has(family: str, backend: str) -> None:
    found = {name: missing(name) for name in FAMILIES[family]}
    assert {name: told for name, told in found.items() if bool(told) != (name in NO_DERIVATIVE)} == {}


#: Name -> a write into a tensor with a history, which must end in zeros rather than in nothing.
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "fill_": lambda y, z: y.fill_(2),
    "fill_ by a tensor": lambda y, z: y.fill_(z[0]),
    "zero_": lambda y, z: y.zero_(),
    "copy_": lambda y, z: y.copy_(z),
    "all elements": lambda y, z: y.__setitem__(slice(None), z),
    "a number in all elements": lambda y, z: y.__setitem__(slice(None), 2.0),
    "one element": lambda y, z: y.__setitem__(0, 2.0),
    "one element by a tensor": lambda y, z: y.__setitem__(0, z[1]),
    "a view": lambda y, z: y.view(3).fill_(1.0),
    "a part": lambda y, z: y[1:].copy_(z[:2]),
    "parts that overlap": lambda y, z: (y[1:].copy_(z[:2]), y[:2].fill_(0.5)),
    "masked_fill_": lambda y, z: y.masked_fill_(y > 0, 2.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_overwritten_has_a_gradient_of_zeros(name: str, backend: str) -> None:
    found = []
    for module in (tenora, torch):
        x: Any = module.tensor([1.0, 2.0, 3.0], requires_grad=True)
        z: Any = module.tensor([4.0, 5.0, 6.0], requires_grad=True)
        y = x * 3
        WRITES[name](y, z)
        given = module.autograd.grad((y * y).sum(), [x, z], allow_unused=True)
        found.append([None if g is None else g.tolist() for g in given])
    assert found[0] == found[1]


def test_a_part_that_was_overwritten_keeps_its_history(backend: str) -> None:
    found = []
    for module in (tenora, torch):
        x: Any = module.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 3
        part = y[1:]
        part.fill_(7.0)
        whole, again = module.autograd.grad((part * y[:2]).sum(), [x, y], retain_graph=True)
        found.append([part.requires_grad, part.tolist(), whole.tolist(), again.tolist()])
    assert found[0] == found[1]


def kept(module: Any, name: str) -> list[bool]:
    """Which gradients of a layer with weight and bias require grad."""
    functional, x = module.nn.functional, module.arange(24.0).reshape(2, 3, 4).requires_grad_(True)
    size = 4 if name == "layer_norm" else 3
    w, b = (module.ones(size, requires_grad=True) for _ in range(2))
    match name:
        case "batch_norm":
            y = functional.batch_norm(x, None, None, w, b, True)
        case "batch_norm of statistics":
            y = functional.batch_norm(x, module.zeros(3), module.ones(3), w, b, False)
        case "instance_norm":
            y = functional.instance_norm(x, None, None, w, b)
        case "layer_norm":
            y = functional.layer_norm(x, (4,), w, b)
        case _:
            w = module.ones(3, 3, 2, requires_grad=True)
            y = getattr(functional, name)(x, w, b)
    found = module.autograd.grad(y.sum(), [x, w, b], create_graph=True)
    found[2].sum().backward()  # nothing to do, and no error
    return [g.requires_grad for g in found]


LAYERS = (
    "batch_norm",
    "batch_norm of statistics",
    "instance_norm",
    "layer_norm",
    "conv1d",
    "conv_transpose1d",
)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_biases_require_grad(name: str, backend: str) -> None:
    assert kept(tenora, name) == kept(torch, name) == [True] * 3
