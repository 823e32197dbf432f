"""`backward` and `grad`: PyTorch's signatures over the engine's evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_engine._engine import Tensor
from tenora_ops.formula import ops

Tensors: TypeAlias = Tensor | Sequence[Tensor]
Gradients: TypeAlias = Tensor | Sequence[Tensor | None] | None


def _as_tuple(value: Tensors, op: str, name: str) -> tuple[Tensor, ...]:
    items = (value,) if isinstance(value, Tensor) else tuple(value)
    for item in items:
        if not isinstance(item, Tensor):
            raise errors.ArgumentTypeError(
                f"[{op}] {name} must be tensors: got {type(item).__name__}, expected tensors. Pass one or a "
                "sequence of them."
            )
    return items


def _gradients(outputs: tuple[Tensor, ...], given: Gradients, op: str) -> tuple[Tensor | None, ...] | None:
    if given is None:
        return None
    gradients = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(gradients) != len(outputs):
        raise errors.OperationError(
            f"[{op}] one gradient per output is needed: got {len(gradients)} gradients, expected {len(outputs)}. "
            "Pass as many, None for a scalar output's 1."
        )
    return gradients


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of `tensors` to the `.grad` of the leaves they depend on.

    Args:
        tensors: what is differentiated; scalars, or tensors with a gradient each.
        grad_tensors: the vector of the vector-Jacobian product, one per tensor.
        retain_graph: keep what backward needs, for another call; default: create_graph.
        create_graph: record the gradients' own history, for higher derivatives.
        inputs: the only leaves that receive a gradient; default: all.

    Raises:
        RuntimeError: an output needs no gradient, is not a scalar and has no gradient, was freed, or a saved tensor
            was changed in place.

    Example:
        >>> import tenora
        >>> x = tenora.ones(2, requires_grad=True)
        >>> tenora.autograd.backward((x * x).sum())
        >>> x.grad.tolist()
        [2.0, 2.0]
    """
    outputs = _as_tuple(tensors, "backward", "tensors")
    chosen = None if inputs is None else _as_tuple(inputs, "backward", "inputs")
    if chosen is not None and not chosen:
        raise errors.OperationError(
            "[backward] inputs is empty: got (), expected at least one tensor. Leave it out for all leaves."
        )
    _engine.backward(
        outputs,
        _gradients(outputs, grad_tensors, "backward"),
        chosen,
        create_graph if retain_graph is None else retain_graph,
        create_graph,
    )


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`; `.grad` is left alone.

    Args:
        outputs, inputs: a tensor or a sequence.
        grad_outputs: the vector of the vector-Jacobian product, one per output.
        retain_graph, create_graph: as in `backward`.
        allow_unused: None for an input that the outputs do not depend on, instead of an error.
        materialize_grads: zeros instead of that None.

    Raises:
        RuntimeError: an input needs no gradient or is not used, or one of backward's reasons.
        NotImplementedError: is_grads_batched.

    Example:
        >>> import tenora
        >>> x = tenora.tensor(3.0, requires_grad=True)
        >>> tenora.autograd.grad(x ** 3, x)[0].item()
        27.0
    """
    if is_grads_batched:
        raise errors.NotImplementedOperationError(
            "[grad] is_grads_batched is not there yet: got True, expected False. Loop over the vectors."
        )
    if materialize_grads and allow_unused is False:
        raise errors.ArgumentValueError(
            "[grad] materialize_grads needs allow_unused: got allow_unused=False, expected True or nothing. Leave "
            "it out."
        )
    outs, ins = _as_tuple(outputs, "grad", "outputs"), _as_tuple(inputs, "grad", "inputs")
    found = _engine.grad(
        outs,
        ins,
        _gradients(outs, grad_outputs, "grad"),
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        bool(allow_unused or materialize_grads),
    )
    if not materialize_grads:
        return tuple(found)
    return tuple(ops.zeros_like(i) if g is None else g for g, i in zip(found, ins, strict=True))
