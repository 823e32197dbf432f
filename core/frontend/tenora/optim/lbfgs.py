"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenora_ops
from tenora_autograd import enable_grad, no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from .checks import check_numbers, check_options, refuse
from .line_search import Point, Search, strong_wolfe
from .optimizer import Optimizer, Params, number, scalar
from .states import State

# Below this the gradient's change says nothing about the curvature.
LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of the gradient (Liu and Nocedal 1989; Nocedal and Wright
    2006, algorithm 7.5), at a fixed rate or with `line_search_fn="strong_wolfe"`. One group of parameters; `step` takes
    a closure that clears the gradients, computes the loss, calls `backward` and returns the loss, and calls it up to
    `max_eval` times (5/4 of `max_iter` if not given).

    Raises ValueError for an option out of its range and for no parameters, TypeError for what is no number or tensor.

    >>> import tenora
    >>> weight = tenora.nn.Parameter(tenora.ones(1))
    >>> optimizer = tenora.optim.LBFGS([weight], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((weight - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item(), round(weight.item(), 4)
    (4.0, 3.0)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_options(self, lr=lr, max_iter=max_iter, max_eval=0 if max_eval is None else max_eval)
        check_numbers(self, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        check_options(self, history_size=history_size)
        if not history_size >= 1:
            refuse(self, "history_size", history_size, "a number from 1 on")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            refuse(self, "params", f"{len(self.param_groups)} groups", "one group")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to `max_iter` iterations; answers with the loss before the first of them.

        Raises RuntimeError for an unknown line search, TypeError without a closure.
        """
        if closure is None:
            raise errors.ArgumentTypeError(
                "[LBFGS.step] closure: got None, expected a function that computes the loss. Define one."
            )
        line_search = self.param_groups[0]["line_search_fn"]
        if line_search not in (None, "strong_wolfe"):
            raise errors.OperationError(
                f"[LBFGS] line_search_fn: got {line_search!r}, expected 'strong_wolfe' or None. Choose one."
            )
        state = self.state[self.param_groups[0]["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> Any:
            with enable_grad():
                loss = closure()
            state["func_evals"] += 1
            return loss

        with no_grad():
            first = evaluate()
            self._minimise(state, evaluate, float(first))
        return first

    def _minimise(self, state: State, evaluate: Callable[[], Any], loss: float) -> None:
        group = self.param_groups[0]
        lr, most, tolerance = number(group["lr"]), group["max_iter"], group["tolerance_change"]
        until = state["func_evals"] - 1 + group["max_eval"]
        gradient = self._gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return
        for iteration in range(1, most + 1):
            state["n_iter"] += 1
            _turn(state, gradient, group["history_size"])
            direction = state["d"]
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            state["t"] = t = min(1.0, 1.0 / scalar(gradient.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = scalar(gradient.dot(direction))
            if slope > -tolerance:
                return
            before = loss
            if group["line_search_fn"]:
                end = self._search(state, evaluate, Point(0.0, loss, gradient, slope), until)
                t, loss, gradient, _ = end
                state["t"] = t
                self._move(t, direction)
            else:
                self._move(t, direction)
                # The last point's loss is of no use here, and costs an evaluation.
                if iteration != most:
                    loss, gradient = float(evaluate()), self._gradient()
            done = _largest(gradient) <= group["tolerance_grad"] or state["func_evals"] >= until
            still = _largest(direction) * t <= tolerance or abs(loss - before) < tolerance
            if done or still:
                return

    def _search(self, state: State, evaluate: Callable[[], Any], start: Point, until: int) -> Point:
        parameters = self.param_groups[0]["params"]
        kept = [parameter.clone() for parameter in parameters]
        direction = state["d"]

        def at(t: float) -> Point:
            self._move(t, direction)
            loss = float(evaluate())
            gradient = self._gradient()
            for parameter, value in zip(parameters, kept, strict=True):
                parameter.copy_(value)
            return Point(t, loss, gradient, scalar(gradient.dot(direction)))

        search = Search(at, start, _largest(direction), until - state["func_evals"])
        return strong_wolfe(search, state["t"])[0]

    def _gradient(self) -> Tensor:
        """All gradients in one vector, zeros where there is none; complex ones as pairs."""
        parts = []
        for parameter in self.param_groups[0]["params"]:
            gradient = parameter.grad
            part = tenora_ops.zeros_like(parameter) if gradient is None else gradient
            parts.append(_real(part).reshape(-1))
        return tenora_ops.cat(parts)

    def _move(self, t: float, direction: Tensor) -> None:
        start = 0
        for parameter in self.param_groups[0]["params"]:
            part = _real(parameter)
            part.add_(direction[start : start + part.numel()].view(part.shape), alpha=t)
            start += part.numel()


def _real(x: Tensor) -> Tensor:
    return tenora_ops.view_as_real(x) if x.is_complex() else x


def _largest(x: Tensor) -> float:
    return scalar(x.abs().max())


def _turn(state: State, gradient: Tensor, history_size: int) -> None:
    """Learns from the last step, and puts the next direction into `d`."""
    if state["n_iter"] == 1:
        state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return
    change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
    changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    curvature = scalar(change.dot(step))
    if curvature > LEAST_CURVATURE:
        for memory, value in ((changes, change), (steps, step), (inverses, 1.0 / curvature)):
            if len(memory) == history_size:
                memory.pop(0)
            memory.append(value)
        state["H_diag"] = curvature / scalar(change.dot(change))
    direction = -gradient
    weights = []
    for change, step, inverse in zip(reversed(changes), reversed(steps), reversed(inverses), strict=True):
        weights.append(scalar(step.dot(direction)) * number(inverse))
        direction.add_(change, alpha=-weights[-1])
    direction = direction * number(state["H_diag"])
    for change, step, inverse in zip(changes, steps, inverses, strict=True):
        direction.add_(step, alpha=weights.pop() - scalar(change.dot(direction)) * number(inverse))
    state["d"] = direction
