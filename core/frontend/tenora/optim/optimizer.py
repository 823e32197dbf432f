"""`Optimizer`: parameter groups, steps, state.

- The mathematics of each method stands once: in its op record, and the method's file says what goes in; or in that file
  where a step is not elementwise (Adafactor, Muon, LBFGS).
- `state` keeps tensors, its numbers (the step) among them; `state_dict` gives the very tensors (`states.py`).
- Nothing is asked of a gradient before a step: when one fails, the gradient that does not fit is looked for.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import tenora_ops
from tenora_autograd import enable_grad
from tenora_dispatch import errors
from tenora_engine import Tensor, _engine

from .checks import check_group
from .hooks import (
    AFTER,
    BEFORE,
    Hooked,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    run_with_hooks,
)
from .states import ADDED, Group, State, counted, held, pack, unpack

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

Params = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
T = TypeVar("T")


class _Required:
    """Stands in `defaults` for an option that each group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def pick(values: list[T], numbers: list[int]) -> list[T]:
    """The values with these numbers."""
    return [values[i] for i in numbers]


def number(value: Any) -> Any:
    """An option that may be a tensor, or an array of NumPy's, of one element."""
    return value if type(value) is float or not hasattr(value, "item") else value.item()


def decay(group: Group) -> Any:
    """A group's weight decay for an op of a step: None where there is none, as 0 * inf would be NaN."""
    return number(group["weight_decay"]) or None


def scalar(value: Tensor) -> float:
    """The real number that a tensor of one element holds."""
    return float(cast(float, value.item()))


class Optimizer(Hooked):
    """Base class: takes parameters, `(name, parameter)` pairs, or dictionaries with `params` and options of their own.

    A subclass defines `step(closure=None)`, or only `_update(group, parameters, gradients)`, which `step` calls without
    recording for the parameters of each group that have a gradient.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.SGD([weight], lr=0.5)
    >>> (weight * 2).sum().backward()
    >>> optimizer.step()
    >>> weight.tolist()
    [0.0]
    """

    # The names of the states that are numbers: tensors of one element on the host, whatever the parameter is.
    _numbers: tuple[str, ...] = ()

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        name = type(self).__name__
        if isinstance(params, Tensor):
            raise errors.ArgumentTypeError(
                f"[{name}] params: got a Tensor, expected an iterable of Tensors or of dicts. "
                "Put the tensor in a list."
            )
        for option in ("differentiable", "capturable"):
            if defaults.get(option):
                raise errors.ArgumentValueError(
                    f"[{name}] {option}: got True, expected False: steps are not recorded. Leave it out."
                )
        if defaults.get("fused") and defaults.get("foreach"):
            raise errors.OperationError(
                f"[{name}] fused and foreach: got True for both, expected at most one. Leave both out: they make no "
                "difference here."
            )
        self._clear_hooks()
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: defaultdict[Any, State] = defaultdict(dict)
        groups = self._listed(params)
        if not groups:
            raise errors.ArgumentValueError(
                f"[{name}] params: got an empty list, expected at least one parameter. "
                "Was the iterator used up before? Are the layers in a plain list instead of nn.ModuleList?"
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _listed(self, params: Any) -> list[Any]:
        """The members of `params`; what is meant instead is told where it cannot be gone through."""
        if isinstance(params, dict):
            got, advice = "a dict", "Pass model.parameters(), or put the dict of a group in a list."
        elif not hasattr(params, "__iter__"):
            got, advice = type(params).__name__, "Pass model.parameters(), or a list of tensors."
        else:
            return list(params)
        raise errors.ArgumentTypeError(
            f"[{type(self).__name__}] params: got {got}, expected an iterable of Tensors or of dicts. {advice}"
        )

    def add_param_group(self, param_group: Group) -> None:
        """Adds parameters with options of their own; missing options are filled in from the defaults.

        Raises TypeError or ValueError for anything but leaves in an ordered collection, for a parameter of another
        group, and where only some parameters are named. A parameter named twice in its group is warned of.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=0.5)
        >>> optimizer.add_param_group({"params": [tenora.ones(2, requires_grad=True)], "lr": 0.25})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.5, 0.25]
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise errors.ArgumentTypeError(
                f"[{name}] param_group: got {type(param_group).__name__}, expected a dict. "
                "Pass {'params': [...]} and the group's options."
            )
        if "params" not in param_group:
            raise errors.MissingKeyError(
                f"[{name}] params: got a group with {', '.join(map(repr, param_group)) or 'nothing'}, expected one "
                "with 'params'. Give the group its parameters."
            )
        members = param_group["params"]
        if isinstance(members, set):
            raise errors.ArgumentTypeError(
                f"[{name}] params: got a set, expected an ordered collection: the order would differ between runs. "
                "Pass a list."
            )
        param_group["params"] = [members] if isinstance(members, Tensor) else self._listed(members)
        self._take_names(param_group)
        for parameter in param_group["params"]:
            self._check_parameter(parameter)
        for option, default in self.defaults.items():
            if default is required and option not in param_group:
                raise errors.ArgumentValueError(
                    f"[{name}] {option}: got a group without it, expected a value of every group. Give one."
                )
            param_group.setdefault(option, default)
        if type(self)._update is not Optimizer._update:  # a method with a step of its own may mean anything
            check_group(self, self.defaults, param_group)
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def _take_names(self, group: Group) -> None:
        members = group["params"]
        named = [isinstance(member, tuple) for member in members]
        if any(named) and not all(named):
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] params: got names for {sum(named)} of {len(named)} parameters, expected "
                "names for all or none. Pass model.named_parameters(), or model.parameters()."
            )
        if named and all(named):
            group["param_names"] = [member[0] for member in members]
            group["params"] = [member[1] for member in members]

    def _check_parameter(self, parameter: Any) -> None:
        if not isinstance(parameter, Tensor):
            raise errors.ArgumentTypeError(
                f"[{type(self).__name__}] params: got {type(parameter).__name__}, expected Tensors."
                " Pass tensors, such as module.parameters()."
            )
        if not (parameter.is_leaf or parameter.retains_grad):
            raise errors.ArgumentValueError(
                f"[{type(self).__name__}] params: got a tensor with a history, expected leaves. "
                "Optimize the leaf that it was computed from, or detach it."
            )

    def _check_group(self, group: Group) -> None:
        name, members = type(self).__name__, {id(parameter) for parameter in group["params"]}
        if len(members) != len(group["params"]):
            warnings.warn(
                f"[{name}] params: got one parameter twice in a group, expected each once: it takes every step twice. "
                "Name it once.",
                stacklevel=4,
            )
        for other in self.param_groups:
            if ("param_names" in group) != ("param_names" in other):
                raise errors.ArgumentValueError(
                    f"[{name}] params: got groups with and without names, expected one kind. "
                    "Name the parameters of every group, or of none."
                )
            if not members.isdisjoint(map(id, other["params"])):
                raise errors.ArgumentValueError(
                    f"[{name}] params: got one parameter in two groups, expected disjoint groups."
                    " Name each parameter once."
                )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients, or fills them with zeros.

        >>> import tenora
        >>> weight = tenora.ones(1, requires_grad=True)
        >>> (weight * 2).backward()
        >>> tenora.optim.SGD([weight]).zero_grad()
        >>> weight.grad is None
        True
        """
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.detach_()
                    parameter.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update from the gradients at hand; `closure` recomputes the loss and is returned.

        Raises RuntimeError for a gradient that does not fit its parameter, with the parameter's number and name.

        >>> import tenora
        >>> weight = tenora.ones(1, requires_grad=True)
        >>> optimizer = tenora.optim.SGD([weight], lr=0.25)
        >>> (weight * 2).backward()
        >>> optimizer.step()
        >>> weight.item()
        0.5
        """
        hooked = self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks or BEFORE or AFTER
        # A subclass's step that calls this one has run the hooks.
        if hooked and type(self).step is Optimizer.step:
            return run_with_hooks(
                self, Optimizer._step_without_hooks, () if closure is None else (closure,), {}
            )
        return self._step_without_hooks(closure)

    def _step_without_hooks(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        # What no_grad() does, at a tenth of its cost: a step of a small model takes ten microseconds.
        recording = _engine.set_grad_enabled(False)
        try:
            for group in self.param_groups:
                parameters, gradients = [], []
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        parameters.append(parameter)
                        gradients.append(gradient)
                if parameters:
                    self._update(group, parameters, gradients)
        except RuntimeError as error:
            self._name_culprit(error)
            raise
        finally:
            _engine.set_grad_enabled(recording)
        return loss

    def _name_culprit(self, error: Exception) -> None:
        """Raises an error that names the first parameter whose gradient does not fit it, if there is one."""
        place = -1
        for group in self.param_groups:
            names = group.get("param_names")
            for i, parameter in enumerate(group["params"]):
                place += 1
                gradient = parameter.grad
                if gradient is None:
                    continue
                got, expected = ((t.dtype, t.device, tuple(t.shape)) for t in (gradient, parameter))
                if got != expected:
                    called = f" ({names[i]})" if names else ""
                    raise errors.OperationError(
                        f"[{type(self).__name__}] gradient of parameter {place}{called}: got {got[0]}{list(got[2])} "
                        f"on {got[1]}, expected {expected[0]}{list(expected[2])} on {expected[1]}. "
                        "Was the parameter's data replaced after backward?"
                    ) from error

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Any]) -> None:
        raise errors.NotImplementedOperationError(
            f"[Optimizer] {type(self).__name__}._update is not defined: got a call, expected the method's mathematics. "
            "Define it, or step, in the subclass."
        )

    def _run_step(
        self,
        op: str,
        names: tuple[str, ...],
        group: Group,
        parameters: list[Tensor],
        gradients: list[Tensor],
        hyper: list[Any],
        own: Callable[[State, int], tuple[Any, ...]] | None = None,
    ) -> None:
        """Counts a step of every parameter and runs `op` with the tensors `names` of its state.

        The op's attributes are `hyper` and then what `own` says of a state, with the number of its step: that number
        if not given. Parameters of which it says the same share a call.
        """
        kept = self.state
        states: list[State] = []
        for parameter in parameters:
            state = kept[parameter]
            if not state:
                state.update(self._begin(group, parameter, names))
            states.append(state)
        ends: list[Any] = _engine.count_steps(states)
        if None in ends:
            ends = [counted(self, s) if end is None else end for s, end in zip(states, ends, strict=True)]
        if own is not None:
            ends = [own(state, step) for state, step in zip(states, ends, strict=True)]
        end = ends[0]
        if ends.count(end) == len(ends):
            attributes = [*hyper, end] if own is None else [*hyper, *end]
            tenora_ops.optimizer_step_(op, parameters, states, names, gradients, attributes)
            return
        for end in dict.fromkeys(ends):
            at = [i for i, each in enumerate(ends) if each == end]
            members, grads = pick(parameters, at), pick(gradients, at)
            attributes = [*hyper, end] if own is None else [*hyper, *end]
            tenora_ops.optimizer_step_(op, members, pick(states, at), names, grads, attributes)

    def _begin(self, group: Group, parameter: Tensor, names: tuple[str, ...]) -> State:
        """The state of a parameter before its first step."""
        return {"step": held(0), **{name: tenora_ops.zeros_like(parameter) for name in names}}

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number and groups with numbers for parameters, as PyTorch writes it.

        The state is the optimizer's own, not a copy: a dictionary that is kept follows every later step, its moments
        and its `step` alike. The groups' options are those of now. `copy.deepcopy` of it keeps the state of now.

        >>> import tenora
        >>> optimizer = tenora.optim.SGD([tenora.ones(1, requires_grad=True)], lr=0.1)
        >>> optimizer.state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        state, groups = pack(self.param_groups, self.state)
        packed: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, packed)
            packed = packed if changed is None else changed
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a `state_dict` of the same groups; tensors are copied, floating ones to the parameter's dtype.

        Raises ValueError when the number or the sizes of the groups differ, or a state has no parameter; nothing is
        changed then.

        >>> import tenora
        >>> weight = tenora.ones(1, requires_grad=True)
        >>> old, new = tenora.optim.SGD([weight], lr=0.25), tenora.optim.SGD([weight], lr=0.5)
        >>> new.load_state_dict(old.state_dict())
        >>> new.param_groups[0]["lr"]
        0.25
        """
        if not isinstance(state_dict, Mapping):
            raise errors.ArgumentTypeError(
                f"[load_state_dict] state_dict: got {type(state_dict).__name__}, expected a dict. Pass what "
                "optimizer.state_dict() gave; of a file, what tenora.load() gives."
            )
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        state, groups = unpack(self.param_groups, state_dict, self._numbers)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear_hooks()
        for kept in self.state.values() if self._numbers else ():
            for name in kept.keys() & set(self._numbers):  # numbers of Python's: of older pickles
                kept[name] = kept[name] if isinstance(kept[name], Tensor) else held(kept[name])
        for group in self.param_groups:
            for option in self.defaults.keys() & ADDED.keys():
                group.setdefault(option, ADDED[option])

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for place, group in enumerate(self.param_groups):
            text += f"\nParameter Group {place}\n"
            text += "".join(
                f"    {name}: {value}\n" for name, value in sorted(group.items()) if name != "params"
            )
        return text + ")"
