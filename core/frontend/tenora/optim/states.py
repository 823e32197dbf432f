"""An optimizer's state as a dictionary, in PyTorch's form, and back.

- Parameters are numbers there, in the order of the groups; what is kept for them are the very dictionaries.
- Numbers kept for a parameter (its step) are tensors without dims, on the host: a dictionary that is kept stays whole.
- Loading copies tensors, and takes floating-point ones to their parameter's dtype and device.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor, _engine

from ..defaults import get_default_dtype

Group = dict[str, Any]
State = dict[str, Any]
# Options that came after the first checkpoints, with the value that means what those did.
ADDED: Group = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}


def number_dtype() -> Any:
    """The dtype of numbers in a state: that of an ordinary Python float."""
    return _engine.float64 if get_default_dtype() == _engine.float64 else _engine.float32


def held(value: float) -> Tensor:
    """A number as a state keeps it."""
    return tenora_ops.full((), float(value), dtype=number_dtype(), device="cpu")


def counted(optimizer: object, state: State) -> int:
    """The number of a state's step, after adding one: for what `count_steps` leaves, as a number that a user put."""
    if "step" not in state:
        raise errors.ArgumentValueError(
            f"[{type(optimizer).__name__}] a state has no 'step': got one with {', '.join(map(repr, state))}, "
            "expected this optimizer's. Load a state that it saved."
        )
    number: Any = numbered(optimizer, state, "step").add_(1).item()
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise errors.ArgumentValueError(
            f"[{type(optimizer).__name__}] step: got {number} in a state, expected a whole number. Set the number of "
            "steps that were taken."
        )
    return int(number)


def numbered(optimizer: object, state: State, name: str) -> Tensor:
    """A number of a state, made a tensor where a user put a number of Python's."""
    value = state[name]
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float):
            raise errors.ArgumentTypeError(
                f"[{type(optimizer).__name__}] {name}: got {type(value).__name__} in a state, expected a tensor of one "
                "element. Put a tensor."
            )
        value = state[name] = held(value)
    return value


def put(kept: Tensor, value: float) -> None:
    """Sets a number of a state."""
    if not _engine.put_number(kept, value):
        kept.fill_(value)


def filled(parameter: Tensor, value: float) -> Tensor:
    """A tensor like the parameter, full of a number: both parts of complex ones, which step by themselves."""
    result = tenora_ops.zeros_like(parameter)
    (tenora_ops.view_as_real(result) if result.is_complex() else result).fill_(value)
    return result


def pack(groups: list[Group], state: dict[Tensor, State]) -> tuple[dict[Any, State], list[Group]]:
    """State by parameter number, and groups with numbers for parameters."""
    places: dict[int, int] = {}
    packed_groups = []
    start = 0
    for group in groups:
        # Of a parameter named twice the last place counts, as in PyTorch.
        places.update({id(parameter): place for place, parameter in enumerate(group["params"], start)})
        start += len(group["params"])
        packed = {name: value for name, value in group.items() if name != "params"}
        packed["params"] = [places[id(parameter)] for parameter in group["params"]]
        packed_groups.append(packed)

    # What a method keeps beside its parameters stays under its own key.
    packed_state = {places[id(key)] if isinstance(key, Tensor) else key: kept for key, kept in state.items()}
    return packed_state, packed_groups


def unpack(
    groups: list[Group], state_dict: dict[str, Any], numbers: tuple[str, ...]
) -> tuple[defaultdict[Any, State], list[Group]]:
    """The reverse of `pack` for these groups, with copies; raises ValueError where the dictionary does not fit."""
    for name in ("param_groups", "state"):
        if name not in state_dict:
            found = ", ".join(map(repr, list(state_dict)[:4])) or "nothing"
            raise errors.MissingKeyError(
                f"[load_state_dict] state_dict: got one with {found}, expected {name!r} in it. "
                "Pass what optimizer.state_dict() gave, out of the checkpoint."
            )
    saved_groups: list[Group] = copy.deepcopy(state_dict["param_groups"])
    sizes, own = ([len(group["params"]) for group in each] for each in (saved_groups, groups))
    if sizes != own:
        raise errors.ArgumentValueError(
            f"[load_state_dict] group sizes: got {sizes}, expected {own}."
            " Load the state of an optimizer with the same groups."
        )
    parameters = {
        place: parameter
        for saved, group in zip(saved_groups, groups, strict=True)
        for place, parameter in zip(saved["params"], group["params"], strict=True)
    }
    loaded: defaultdict[Any, State] = defaultdict(dict)
    for place, kept in state_dict["state"].items():
        if place in parameters:
            parameter = parameters[place]
            loaded[parameter] = {name: _taken(parameter, name, v, numbers) for name, v in kept.items()}
        elif isinstance(place, int):
            raise errors.ArgumentValueError(
                f"[load_state_dict] a state of no parameter: got number {place!r}, expected one of the groups' "
                f"{len(parameters)}. Load the state of an optimizer with the same parameters."
            )
        else:
            loaded[place] = kept
    for group, saved in zip(groups, saved_groups, strict=True):
        saved["params"] = group["params"]
        for name, value in group.items():
            if name not in ADDED:  # names of parameters, options of another method
                saved.setdefault(name, value)
    return loaded, saved_groups


def _taken(parameter: Tensor, name: str, value: Any, numbers: tuple[str, ...]) -> Any:
    if name in numbers:
        return held(float(value))
    if isinstance(value, Tensor):
        if name == "step":  # of a method of the user's: a number, whatever the parameter is
            return value.detach().clone()
        dtype = parameter.dtype if parameter.is_floating_point() else value.dtype
        return value.detach().to(device=parameter.device, dtype=dtype, copy=True)
    if isinstance(value, dict):
        return {key: _taken(parameter, str(key), v, numbers) for key, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        kind: Any = type(value)  # of a method of the user's: a list, a tuple, a deque
        return kind(_taken(parameter, "", v, numbers) for v in value)
    return value
