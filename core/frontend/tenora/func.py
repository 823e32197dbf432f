"""Functions of functions of modules: what PyTorch has under `torch.func`, as far as tenora has it yet.

>>> import tenora
>>> layer = tenora.nn.Linear(1, 1)
>>> tensors = {"weight": tenora.ones(1, 1), "bias": tenora.ones(1)}
>>> tenora.func.functional_call(layer, tensors, tenora.ones(1)).tolist()
[2.0]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from .lazy_names import lazy_names as _lazy_names
from .nn.module import Module
from .nn.utils import stateless

Tensors = dict[str, Tensor]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with these tensors, by path, in the place of its parameters and buffers.

    Gradients flow to the tensors given. `args` that are no tuple are one argument. Names that are left out keep the
    module's tensors, unless `strict`. A tensor that the module has under several names is exchanged under all of them
    unless `tie_weights=False`. What the module assigns to a buffer meanwhile goes into the dict.

    Raises ValueError for a name in two dicts or several tensors for a shared one, RuntimeError for names that `strict`
    refuses.

    >>> import tenora
    >>> layer = tenora.nn.Linear(2, 1)
    >>> weight = tenora.zeros(1, 2, requires_grad=True)
    >>> functional_call(layer, {"weight": weight}, tenora.tensor([3.0, 4.0])).backward()
    >>> weight.grad, layer.weight.grad
    (tensor([[3., 4.]]), None)
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        dicts = list(given) if isinstance(given, Sequence) else None
        if dicts is None or not all(isinstance(part, dict) for part in dicts):
            raise errors.ArgumentValueError(
                f"[functional_call] tensors: got {type(given).__name__}, expected a dict or a sequence of dicts. "
                "Pass tensors by name."
            )
        twice = [
            name for name, count in Counter(name for part in dicts for name in part).items() if count > 1
        ]
        if twice:
            raise errors.ArgumentValueError(
                f"[functional_call] names: got {twice} in several dicts, expected each in one. Leave one out."
            )
        given = {name: tensor for part in dicts for name, tensor in part.items()}
    return stateless.call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    wishes = {tensor.requires_grad for tensor in tensors}
    if len(wishes) > 1:
        raise errors.OperationError(
            f"[stack_module_state] {name}: got tensors with and without requires_grad, expected one kind. "
            "Set requires_grad alike in all models."
        )
    result: Tensor = tenora_ops.stack(tensors).detach()
    return result.requires_grad_(wishes == {True})


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of models of one class, stacked by name along a new first dim.

    Raises RuntimeError for no models, several classes, and models partly in training.

    >>> import tenora
    >>> parameters, buffers = stack_module_state([tenora.nn.Linear(2, 3) for _ in range(4)])
    >>> parameters["weight"].shape, buffers
    (tenora.Size([4, 3, 2]), {})
    """
    kinds = {(type(model).__name__, model.training) for model in models}
    if len({type(model) for model in models}) != 1 or len(kinds) != 1:
        raise errors.OperationError(
            f"[stack_module_state] models: got {sorted(kinds) or 'none'} (class, training), expected one kind. "
            "Pass models of one class, all in training or none."
        )
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _stacked(name, [each[name] for each in parameters]) for name in parameters[0]},
        {name: _stacked(name, [each[name] for each in buffers]) for name in buffers[0]},
    )


__all__ = ["functional_call", "stack_module_state"]

__getattr__, __dir__ = _lazy_names(globals(), (), {})
