"""Optimizer steps on lists of parameters, in place: one call of a fused kernel, or the op's composite one by one.

- A kernel takes dense tensors of one dtype and device. A list that mixes them is split into such lists.
- Complex numbers are pairs of real ones that do not know of each other (`view_as_real`), as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.formula import REGISTERED, ops
from tenora_ops.record import record

States = Sequence[dict[str, Any]]


def optimizer_step_(
    name: str,
    params: Sequence[Tensor],
    states: States,
    names: Sequence[str],
    grads: Sequence[Tensor],
    hyper: Sequence[Any],
) -> None:
    """One step of the op `name` in place, on lists of equal length; nothing is recorded.

    `names` are the tensors of every state that the op reads and writes, `hyper` its attributes, both in the order of
    its schema. Raises RuntimeError for a gradient that is not of its parameter's shape, dtype and device.
    """
    if _engine.run_step(name, params, states, names, grads, hyper):
        return
    old = _engine.set_grad_enabled(False)
    try:
        for at in _alike(name, params, grads):
            members, kept = [params[i] for i in at], [states[i] for i in at]
            dense = [grads[i].contiguous() for i in at]
            if members[0].is_complex():
                members, dense = [ops.view_as_real(p) for p in members], [ops.view_as_real(g) for g in dense]
                kept = [{each: ops.view_as_real(state[each]) for each in names} for state in kept]
            if not _engine.run_step(name, members, kept, names, dense, hyper):
                _one_by_one(name, members, kept, names, dense, hyper)
    finally:
        _engine.set_grad_enabled(old)


def _alike(name: str, params: Sequence[Tensor], grads: Sequence[Tensor]) -> list[list[int]]:
    """The numbers of the parameters that one kernel call could take."""
    groups: dict[Any, list[int]] = {}
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if grad.dtype != param.dtype or grad.device != param.device:
            raise errors.OperationError(
                f"[{name}] a gradient does not fit its parameter: got {grad.dtype} on {grad.device}, expected "
                f"{param.dtype} on {param.device}. Was the parameter's data replaced after backward?"
            )
        groups.setdefault((param.dtype, param.device, param.is_contiguous()), []).append(i)
    return list(groups.values())


def _one_by_one(
    name: str,
    params: Sequence[Tensor],
    states: States,
    names: Sequence[str],
    grads: Sequence[Tensor],
    hyper: Sequence[Any],
) -> None:
    update = REGISTERED[name]
    # A state that the op could take and the caller does not keep, as the buffer of SGD without momentum.
    absent = [None] * (len(record(name).schema.operands) - 2 - len(names))
    for param, state, grad in zip(params, states, grads, strict=True):
        written = [param, *(state[each] for each in names)]
        values = update(*written, *absent, grad, *hyper)
        # The parameter last: it stays as it was when a state cannot be written.
        for target, value in reversed(list(zip(written, values[: len(written)], strict=True))):
            _engine.assign(target, value)
