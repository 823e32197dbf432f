"""`Optimizer`: parameter groups, state and its dictionary form.

The mathematics of each method stands once, in its op record; a method's file says what goes in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import tenora_ops
from tenora_autograd import enable_grad, no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

Group = dict[str, Any]
T = TypeVar("T")


def pick(values: list[T], numbers: list[int]) -> list[T]:
    """The values with these numbers."""
    return [values[i] for i in numbers]


class Optimizer:
    """Base class: takes parameters, or dictionaries with `params` and options of their own.

    A subclass defines `_update(group, parameters, gradients)`, called without recording, with the parameters of the
    group that have a gradient.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.SGD([weight], lr=0.5)
    >>> (weight * 2).sum().backward()
    >>> optimizer.step()
    >>> weight.tolist()
    [0.0]
    """

    def __init__(self, params: Iterable[Tensor] | Iterable[Group], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise errors.ArgumentTypeError(
                f"[{type(self).__name__}] params: got a Tensor, expected an iterable of Tensors or of dicts. "
                "Put the tensor in a list."
            )
        for option in ("differentiable", "capturable"):
            if defaults.get(option):
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] {option}: got True, expected False: steps are not recorded. Leave it out."
                )
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        groups = list(params)
        if not groups:
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] params: got an empty list, expected at least one parameter. "
                "Was the iterator used up before?"
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)  # type: ignore[arg-type]

    def _check_not_negative(self, **options: float) -> None:
        for name, value in options.items():
            if not value >= 0:  # NaN is refused too
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] {name}: got {value}, expected a number that is not negative."
                    " Choose another number."
                )

    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters with options of their own; missing options come from the defaults."""
        group = {**self.defaults, **param_group}
        members = group["params"]
        group["params"] = [members] if isinstance(members, Tensor) else list(members)
        known = {id(parameter) for other in self.param_groups for parameter in other["params"]}
        for parameter in group["params"]:
            if not isinstance(parameter, Tensor):
                raise errors.ArgumentTypeError(
                    f"[{type(self).__name__}] params: got {type(parameter).__name__}, expected Tensors."
                    " Pass tensors, such as module.parameters()."
                )
            if not parameter.is_leaf:
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] params: got a tensor with a history, expected leaves. "
                    "Optimize the leaf that it was computed from, or detach it."
                )
            if id(parameter) in known:
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] params: got one parameter in two groups, expected disjoint groups."
                    " Name each parameter once."
                )
            known.add(id(parameter))
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients, or fills them with zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.detach_()
                    parameter.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update from the gradients at hand; `closure` recomputes the loss and is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                parameters, gradients = [], []
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        parameters.append(parameter)
                        gradients.append(gradient)
                if parameters:
                    self._update(group, parameters, gradients)
        return loss

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Any]) -> None:
        raise errors.NotImplementedOperationError(
            f"[Optimizer] {type(self).__name__}._update is not defined: got a call, expected the method's mathematics. "
            "Define it in the subclass."
        )

    def _run_step(
        self,
        name: str,
        names: tuple[str, ...],
        parameters: list[Tensor],
        gradients: list[Tensor],
        hyper: list[Any],
    ) -> None:
        """Counts a step of every parameter and runs the op `name`, whose last attribute is the step's number.

        `names` are the states of a parameter, which begin as zeros.
        """
        states, steps = [], []
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                self._begin(parameter, state, names)
            if "step" not in state:
                raise errors.ArgumentValueError(
                    f"[{type(self).__name__}] a state has no 'step': got one with {', '.join(map(repr, state))}, "
                    "expected this optimizer's. Load a state that it saved."
                )
            state["step"] = step = state["step"] + 1
            states.append(state)
            steps.append(step)
        if steps.count(step) == len(steps):
            tenora_ops.optimizer_step_(name, parameters, states, names, gradients, [*hyper, step])
            return
        # Parameters that joined later count their own steps: one call per number.
        for step in sorted(set(steps)):
            at = [i for i, own in enumerate(steps) if own == step]
            members, grads = pick(parameters, at), pick(gradients, at)
            tenora_ops.optimizer_step_(name, members, pick(states, at), names, grads, [*hyper, step])

    @staticmethod
    def _begin(parameter: Tensor, state: dict[str, Any], names: tuple[str, ...]) -> None:
        state.update(step=0, **{name: tenora_ops.zeros_like(parameter) for name in names})

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number and groups with numbers for parameters, as PyTorch writes it."""
        number = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        return {
            "state": {number[id(parameter)]: dict(state) for parameter, state in self.state.items()},
            "param_groups": [
                {**group, "params": [number[id(parameter)] for parameter in group["params"]]}
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a `state_dict` of the same groups; tensors are copied.

        Raises ValueError when the number or the sizes of the groups differ, or a state has no parameter; nothing is
        changed then.
        """
        sizes = [len(group["params"]) for group in state_dict["param_groups"]]
        own = [len(group["params"]) for group in self.param_groups]
        if sizes != own:
            raise errors.ArgumentValueError(
                f"[load_state_dict] group sizes: got {sizes}, expected {own}."
                " Load the state of an optimizer with the same groups."
            )
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        loaded = {}
        for number, state in state_dict["state"].items():
            if number not in range(len(parameters)):
                raise errors.ArgumentValueError(
                    f"[load_state_dict] a state of no parameter: got number {number!r}, expected 0 to "
                    f"{len(parameters) - 1}."
                    " Load the state of an optimizer with the same parameters."
                )
            loaded[parameters[number]] = {
                name: value.detach().clone() if isinstance(value, Tensor) else value
                for name, value in state.items()
            }
        self.state.clear()
        self.state.update(loaded)
        for group, saved in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({name: value for name, value in saved.items() if name != "params"})

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {value}" for name, value in sorted(group.items()) if name != "params"]
        return "\n".join([*lines, ")"])
