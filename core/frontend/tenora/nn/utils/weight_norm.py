"""Weight normalisation (Salimans and Kingma 2016, https://arxiv.org/abs/1602.07868), the form with hooks.

A weight is its direction `v` times its length `g`; the weight itself is an ordinary attribute that is computed before
every forward. `parametrizations.weight_norm` is the newer form.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..module import Module
from ..parameter import Parameter, is_lazy

T = TypeVar("T", bound=Module)


def length(direction: Tensor, dim: int) -> Any:
    """The norm over all dims but `dim`, which keeps its place; over all of them, without dims, for `dim` -1."""
    norm = tenora_ops.resolve("linalg.vector_norm")
    if dim == -1:
        return norm(direction)
    rank = direction.ndim
    if not -rank <= dim < rank:
        raise errors.IndexRangeError(
            f"[weight_norm] dim: got {dim}, expected a dim of a {rank}-d weight. Choose one from {-rank} to {rank - 1}."
        )
    return (
        norm(direction, 2, [d for d in range(rank) if d != dim % rank], True) if rank > 1 else direction.abs()
    )


def scaled(length_wished: Tensor, direction: Tensor, dim: int) -> Any:
    """`direction` with another length."""
    return direction * (length_wished / length(direction, dim))


class WeightNorm:
    """The forward pre-hook of one weight."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """The weight of this moment, with its history."""
        return scaled(getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Puts length and direction in the place of the weight, and the hook before the forward."""
        warnings.warn(
            "[weight_norm] with hooks is PyTorch's old form: use nn.utils.parametrizations.weight_norm.",
            FutureWarning,
            stacklevel=3,
        )
        if find_hook(module, WeightNorm, name) is not None:
            raise errors.OperationError(
                f"[weight_norm] {name}: got a weight that has the hook, expected one without. Apply it once."
            )
        if name not in module._parameters:
            raise errors.MissingAttributeError(
                f"[weight_norm] name: got {name!r}, expected one of {type(module).__name__}'s parameters "
                f"{list(module._parameters)}. Name one of them."
            )
        hook, weight = WeightNorm(name, dim), getattr(module, name)
        if is_lazy(weight):
            raise errors.ArgumentValueError(
                f"[weight_norm] {name}: got a parameter without a shape, expected an initialised one. "
                "Call the module once before."
            )
        lengths = length(weight.detach(), hook.dim)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(lengths))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        hook(module, ())
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def find_hook(module: Module, kind: type[Any], name: str) -> int | None:
    """The number of the forward pre-hook of this kind for the weight `name`."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return int(number)
    return None


def weight_norm(module: T, name: str = "weight", dim: int | None = 0) -> T:
    """Makes the parameter `name` length times direction: `name_g` and `name_v` are trained in its place.

    A length belongs to each index of `dim`, or with None to the whole weight. Returns the module. PyTorch's old form,
    which warns; `parametrizations.weight_norm` is the newer one.

    Source: Salimans and Kingma 2016, https://arxiv.org/abs/1602.07868.

    >>> import tenora, warnings
    >>> warnings.simplefilter("ignore")
    >>> layer = weight_norm(tenora.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: T, name: str = "weight") -> T:
    """Makes the weight that `weight_norm` took apart one parameter again; ValueError if there is none.

    >>> import tenora, warnings
    >>> warnings.simplefilter("ignore")
    >>> list(remove_weight_norm(weight_norm(tenora.nn.Linear(2, 3))).state_dict())
    ['bias', 'weight']
    """
    number = find_hook(module, WeightNorm, name)
    if number is None:
        raise errors.ArgumentValueError(
            f"[remove_weight_norm] {name}: got {type(module).__name__}, which has no such hook, expected a module that "
            "weight_norm was applied to. Check the name."
        )
    module._forward_pre_hooks.pop(number).remove(module)
    return module
