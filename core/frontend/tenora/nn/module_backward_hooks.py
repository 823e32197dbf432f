"""Backward hooks of modules: identities around a call whose gradients are what the hooks see.

- `_Gate` passes tensors on as they are; its backward shows the gradients to a function that may change them.
- One gate stands before the forward and one after it. The gate after runs first in backward: it keeps the gradients
  of the outputs (pre-hooks may replace them); the gate before then has the gradients of the inputs.
- Hooks see one entry per positional argument or output, None where it is no tensor. An output without a gradient is
  None too, an input without one has zeros: as in PyTorch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tenora_autograd import Function, is_grad_enabled
from tenora_dispatch import errors
from tenora_engine import Tensor

from . import module_hooks as hooks

Gradients = tuple[Tensor | None, ...]


class _Gate(Function):
    """The identity; `function(gradients)` gives what backward hands on."""

    @staticmethod
    def forward(
        ctx: Any, function: Callable[[Gradients], Gradients], zeros: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.function = function
        ctx.set_materialize_grads(zeros)
        passed = tuple(tensor.view_as(tensor) for tensor in tensors)
        ctx.mark_non_differentiable(
            *(new for new, tensor in zip(passed, tensors, strict=True) if not tensor.requires_grad)
        )
        return passed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        return None, None, *ctx.function(gradients)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


class _Passage:
    """One side of a call: which of its values are tensors, and how gradients are spread over all of them."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.count = len(values)
        self.places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
        self.open = is_grad_enabled() and any(values[place].requires_grad for place in self.places)

    def through(
        self, values: tuple[Any, ...], function: Callable[[Gradients], Gradients], zeros: bool
    ) -> tuple[Any, ...]:
        passed = list(values)
        results = _Gate.apply(function, zeros, *(values[place] for place in self.places))
        for place, tensor in zip(self.places, results, strict=True):
            passed[place] = tensor
        return type(values)(*passed) if hasattr(values, "_fields") else tuple(passed)

    def spread(self, gradients: Sequence[Tensor | None]) -> Gradients:
        full: list[Tensor | None] = [None] * self.count
        for place, gradient in zip(self.places, gradients, strict=True):
            full[place] = gradient
        return tuple(full)

    def gather(self, full: Gradients) -> Gradients:
        return tuple(full[place] for place in self.places)


class BackwardHooks:
    """The full backward hooks and pre-hooks of one call of a module."""

    def __init__(
        self, module: Any, after: Sequence[Callable[..., Any]], before: Sequence[Callable[..., Any]]
    ) -> None:
        self._module = module
        self._after = after
        self._before = before
        self._gradients: Gradients | None = None
        self._inputs: _Passage | None = None
        self._outputs: _Passage | None = None
        self._input_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with a gate before them if one needs a gradient."""
        self._input_count = len(args)
        passage = _Passage(args)
        if not passage.open:
            return args
        self._inputs = passage
        return passage.through(args, self._on_inputs, zeros=True)

    def leave(self, result: Any) -> Any:
        """The result, with a gate behind it if it needs a gradient."""
        if not isinstance(result, Tensor | tuple):
            warnings.warn(
                f"[{type(self._module).__name__}] backward hooks do not run: got a result of type "
                f"{type(result).__name__}, expected a tensor or a tuple of tensors. Return one of those from forward.",
                stacklevel=4,
            )
        values = _as_tuple(result)
        passage = _Passage(values)
        if not passage.open:
            return result
        self._outputs = passage
        passed = passage.through(values, self._on_outputs, zeros=False)
        return passed if isinstance(result, tuple) else passed[0]

    def _replaced(self, old: Gradients, changed: Any, what: str) -> Gradients:
        if changed is None:
            return old
        new = _as_tuple(changed)
        if len(new) != len(old):
            raise errors.OperationError(
                f"[{type(self._module).__name__}] backward hook: got {len(new)} values for {what}, expected {len(old)}."
                " Return one gradient (or None) for each, or None to change nothing."
            )
        return new

    def _on_outputs(self, gradients: Gradients) -> Gradients:
        assert self._outputs is not None
        full = self._outputs.spread(gradients)
        for hook in self._before:
            full = self._replaced(full, hook(self._module, full), "grad_output")
        self._gradients = full
        if self._inputs is None and self._after:
            self._without_inputs(full)
        return self._outputs.gather(full)

    def _without_inputs(self, gradients: Gradients) -> None:
        """No input needs a gradient: hooks run when those of the outputs are there, and can change nothing."""
        warnings.warn(
            f"[{type(self._module).__name__}] a full backward hook runs without gradients of inputs, for no input "
            "of the call needs one.",
            stacklevel=2,
        )
        for hook in self._after:
            changed = hook(self._module, (None,) * self._input_count, gradients)
            if changed is not None and any(value is not None for value in _as_tuple(changed)):
                raise errors.OperationError(
                    f"[{type(self._module).__name__}] backward hook: got a gradient for inputs that need none, "
                    "expected None. Return None, or give the module an input that needs a gradient."
                )
        self._gradients = None

    def _on_inputs(self, gradients: Gradients) -> Gradients:
        assert self._inputs is not None
        outputs, self._gradients = self._gradients, None
        if outputs is None:  # a gradient came another way than through the module's result
            return gradients
        full = self._inputs.spread(gradients)
        for hook in self._after:
            full = self._replaced(full, hook(self._module, full, outputs), "grad_input")
        return self._inputs.gather(full)


def _ordered(all_modules: hooks.Hooks, own: Any, full: bool) -> list[Callable[..., Any]]:
    found = [hook for number, hook in all_modules.items() if (number in hooks.old_backward_hooks) != full]
    return found + list(own.values())


def backward_hooks(module: Any) -> BackwardHooks | None:
    """The hooks of this call that need gates, or None."""
    own = module.__dict__.get("_backward_hooks", {}) if module._is_full_backward_hook else {}
    after = _ordered(hooks.backward_hooks, own, full=True)
    before = [*hooks.backward_pre_hooks.values(), *module.__dict__.get("_backward_pre_hooks", {}).values()]
    return BackwardHooks(module, after, before) if after or before else None


def hang_old_hooks(module: Any, result: Any) -> None:
    """Hooks of the old kind: on the node of the result, which may be the module's last op only."""
    own = module.__dict__.get("_backward_hooks", {}) if module._is_full_backward_hook is False else {}
    found = _ordered(hooks.backward_hooks, own, full=False)
    while found and not isinstance(result, Tensor):
        if not isinstance(result, dict | list | tuple) or not result:
            return
        tensors = (
            [value for value in result.values() if isinstance(value, Tensor)]
            if isinstance(result, dict)
            else []
        )
        result = tensors[0] if tensors else result[0] if not isinstance(result, dict) else None
    if found and result.grad_fn is not None:
        for hook in found:
            result.grad_fn.register_hook(_old_hook(module, hook))


def _old_hook(module: Any, hook: Callable[..., Any]) -> Callable[..., Any]:
    return lambda grad_inputs, grad_outputs: hook(module, grad_inputs, grad_outputs)
