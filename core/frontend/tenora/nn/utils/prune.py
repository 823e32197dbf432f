"""Pruning of modules: parameters times masks of zeros and ones. The methods are in `prune_methods.py`.

>>> import tenora
>>> layer = l1_unstructured(tenora.nn.Linear(2, 2), "weight", amount=0.5)
>>> int((layer.weight == 0).sum())
2
>>> list(layer.state_dict())
['bias', 'weight_orig', 'weight_mask']
>>> list(remove(layer, "weight").state_dict())
['bias', 'weight']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..module import Module
from .convert_parameters import parameters_to_vector
from .prune_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    hook_of,
)

T = TypeVar("T", bound=Module)


def identity(module: T, name: str) -> T:
    """Prunes nothing of the parameter `name`, but gives it a mask and an original. Returns the module.

    >>> import tenora
    >>> list(identity(tenora.nn.Linear(2, 2), "bias").state_dict())
    ['weight', 'bias_orig', 'bias_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: T, name: str, amount: float) -> T:
    """Prunes elements of the parameter `name` at random: `amount` of them, or that share. Returns the module.

    TypeError for an amount that is no number, ValueError for a negative one or one of more than there are.

    >>> import tenora
    >>> int(random_unstructured(tenora.nn.Linear(2, 3), "weight", amount=2).weight_mask.sum())
    4
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: T, name: str, amount: float, importance_scores: Tensor | None = None) -> T:
    """Prunes the elements of least absolute value, or of least `importance_scores`. Returns the module.

    TypeError for an amount that is no number, ValueError for a negative one or one of more than there are.

    >>> import tenora
    >>> layer = tenora.nn.Linear(2, 1)
    >>> layer.weight.data = tenora.tensor([[3.0, -1.0]])
    >>> l1_unstructured(layer, "weight", amount=1).weight_mask
    tensor([[1., 0.]])
    """
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: T, name: str, amount: float, dim: int) -> T:
    """Prunes whole slices along `dim` at random: `amount` of them, or that share. Returns the module.

    Errors as in `LnStructured`.

    >>> import tenora
    >>> random_structured(tenora.nn.Linear(2, 3), "weight", 1, dim=0).weight_mask.sum().item()
    4.0
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: T, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> T:
    """Prunes the slices along `dim` of least norm of order `n`. Returns the module.

    Errors as in `LnStructured`.

    >>> import tenora
    >>> layer = tenora.nn.Linear(1, 2)
    >>> layer.weight.data = tenora.tensor([[3.0], [-1.0]])
    >>> ln_structured(layer, "weight", 1, n=2, dim=0).weight_mask
    tensor([[1.],
            [0.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def custom_from_mask(module: T, name: str, mask: Tensor) -> T:
    """Prunes what `mask` has zeros for, beside what is pruned already. Returns the module.

    AssertionError for a mask of another shape.

    >>> import tenora
    >>> layer = custom_from_mask(tenora.nn.Linear(1, 2), "bias", tenora.tensor([0, 1]))
    >>> layer.bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes single elements of many parameters at once: `kwargs` (such as `amount`) count over all of them.

    `parameters`: pairs of a module and a name. Scores that are not in `importance_scores` are the parameters. Raises
    TypeError for a method that is not "unstructured".

    >>> import tenora
    >>> a, b = tenora.nn.Linear(2, 2), tenora.nn.Linear(2, 2)
    >>> global_unstructured([(a, "weight"), (b, "weight")], L1Unstructured, amount=3)
    >>> int(a.weight_mask.sum() + b.weight_mask.sum())
    5
    """
    if not isinstance(parameters, Iterable):
        raise errors.ArgumentTypeError(
            f"[global_unstructured] parameters: got {type(parameters).__name__}, expected pairs of a module and a "
            "name. Pass a list of pairs."
        )
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise errors.ArgumentTypeError(
            f"[global_unstructured] importance_scores: got {type(importance_scores).__name__}, expected a dict from "
            "pairs to tensors. Pass a dict."
        )
    pairs = [(module, name, getattr(module, name).detach()) for module, name in parameters]
    given = importance_scores or {}
    scores = parameters_to_vector([given.get((module, name), tensor) for module, name, tensor in pairs])
    masks = [getattr(module, f"{name}_mask", tenora_ops.ones_like(tensor)) for module, name, tensor in pairs]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise errors.ArgumentTypeError(
            f"[global_unstructured] pruning_method: got {pruning_method.__name__} of type {method.PRUNING_TYPE!r}, "
            "expected an 'unstructured' one. Prune each parameter by itself."
        )
    method._tensor_name = "temp"
    whole = PruningContainer(method).compute_mask(scores, parameters_to_vector(masks))
    start = 0
    for module, name, tensor in pairs:
        custom_from_mask(module, name, whole[start : start + tensor.numel()].view(tensor.shape))
        start += tensor.numel()


def remove(module: T, name: str) -> T:
    """Makes the pruning of `name` permanent: mask and hook go, the parameter has the zeros. Returns the module.

    Raises ValueError if the parameter is not pruned.

    >>> import tenora
    >>> layer = remove(identity(tenora.nn.Linear(2, 2), "bias"), "bias")
    >>> is_pruned(layer)
    False
    """
    found = hook_of(module, name)
    if found is None:
        raise errors.ArgumentValueError(
            f"[prune.remove] name: got {name!r} of {type(module).__name__}, expected a pruned parameter. "
            "Check the name."
        )
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module: Module) -> bool:
    """Whether `module`, or one below it, has a pruned parameter.

    >>> import tenora
    >>> is_pruned(tenora.nn.Sequential(identity(tenora.nn.Linear(2, 2), "bias")))
    True
    """
    hooks = (hook for part in module.modules() for hook in part._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
