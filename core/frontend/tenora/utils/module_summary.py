"""`summary`: a table of a model's layers with the shapes that one input takes on its way.

- The model stays as it was: its modes, buffers, random numbers, hooks and gradients. Hooks of the user's run, as in any
  forward.
- A layer that stands in several places has one row with its numbers, at the first; the other places say where that is.
- A parameter of several layers is counted once in the totals.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor
from tenora_engine import dtype as DType

from .. import creation
from ..nn.module import Module
from ..nn.parameter import is_lazy
from ..random import fork_rng

_HEADER = ("Layer", "Class", "Output shape", "Parameters", "Trainable", "Memory")


@dataclass(frozen=True)
class LayerRow:
    """One place in the model; numbers are the layer's own, without the layers below it.

    `output_shape` is a tuple, a structure of them for structured outputs, None for a layer that was not called.
    """

    path: str
    kind: str
    output_shape: Any
    parameters: int
    trainable: int
    memory: int
    calls: int
    shared_with: str | None


@dataclass(frozen=True)
class Summary:
    """What `summary` found. `str()` of it is the table; `memory` counts bytes of parameters and buffers."""

    layers: tuple[LayerRow, ...]
    parameters: int
    trainable: int
    memory: int

    def __str__(self) -> str:
        cells = [_HEADER, *map(_cells, self.layers)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADER))]
        lines = [
            "  ".join(
                cell.ljust(width) if column < 3 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        rule = "-" * max(map(len, lines))
        totals = (
            f"Parameters: {self.parameters:,} (trainable {self.trainable:,}, frozen "
            f"{self.parameters - self.trainable:,}). Memory of parameters and buffers: {_bytes(self.memory)}"
        )
        return "\n".join([lines[0], rule, *lines[1:], rule, totals])

    __repr__ = __str__


def _cells(row: LayerRow) -> tuple[str, ...]:
    name = row.path or "(model)"
    if row.shared_with is not None:
        return name, row.kind, f"same as {row.shared_with or '(model)'}", "", "", ""
    shape = "not called" if row.calls == 0 else _shape_text(row.output_shape)
    if row.calls > 1:
        shape += f" (called {row.calls} times)"
    if row.parameters == 0 and row.memory == 0:
        return name, row.kind, shape, "", "", ""
    return name, row.kind, shape, f"{row.parameters:,}", f"{row.trainable:,}", _bytes(row.memory)


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    size, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.1f} {units[0]}"


def _shape_text(shape: Any) -> str:
    if isinstance(shape, Mapping):
        return "{" + ", ".join(f"{key}: {_shape_text(value)}" for key, value in shape.items()) + "}"
    if isinstance(shape, list):
        return "(" + ", ".join(map(_shape_text, shape)) + ")"
    return str(list(shape)) if isinstance(shape, tuple) else str(shape)


def _shape_of(output: Any) -> Any:
    """A tuple for a tensor, lists and dicts of them for containers, the type's name for anything else."""
    if isinstance(output, Tensor):
        return tuple(output.shape)
    if isinstance(output, Mapping):
        return {key: _shape_of(value) for key, value in output.items()}
    if isinstance(output, (list, tuple)):
        return [_shape_of(value) for value in output]
    return type(output).__name__


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(type(size) is int for size in value)


def _tensor(value: Any, model: Module, dtype: DType | None) -> Any:
    """Zeros for a shape, on the device of the model; other values as they are."""
    if not _is_shape(value):
        return value
    member = next((p for p in [*model.parameters(), *model.buffers()] if not is_lazy(p)), None)
    return creation.zeros(tuple(value), dtype=dtype, device=None if member is None else member.device)


def _arguments(input: Any, model: Module, dtype: DType | None) -> tuple[list[Any], dict[str, Any]]:
    if isinstance(input, Tensor) or _is_shape(input):
        return [_tensor(input, model, dtype)], {}
    if isinstance(input, Mapping):
        return [], {name: _tensor(value, model, dtype) for name, value in input.items()}
    if isinstance(input, Sequence) and not isinstance(input, str):
        return [_tensor(value, model, dtype) for value in input], {}
    raise errors.ArgumentTypeError(
        f"[summary] input is wrong: got {type(input).__name__}, expected a tensor, a shape, a tuple of these for "
        "several arguments, or a dict for named ones. Pass one of them."
    )


@contextmanager
def _as_it_was(model: Module) -> Iterator[None]:
    """Evaluation mode inside; modes, buffers and random generators come back afterwards."""
    modules = list(model.modules())
    modes = [module.training for module in modules]
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in modules
        for name, buffer in module._buffers.items()
        if buffer is not None and not is_lazy(buffer)
    ]
    versions = [buffer._version for _, _, buffer, _ in buffers]
    try:
        for module in modules:
            module.training = False
        with no_grad(), fork_rng():
            yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        with no_grad():
            for (module, name, buffer, kept), version in zip(buffers, versions, strict=True):
                module._buffers[name] = buffer
                if buffer._version != version:
                    buffer.copy_(kept)


def _run(model: Module, args: list[Any], kwargs: dict[str, Any]) -> dict[Module, list[Any]]:
    """The output shapes of every call of every module in one forward."""
    calls: dict[Module, list[Any]] = {module: [] for module in model.modules()}

    def note(module: Module, _args: Any, output: Any) -> None:
        calls[module].append(_shape_of(output))

    with ExitStack() as stack:
        stack.enter_context(_as_it_was(model))
        for module in calls:
            stack.callback(module.register_forward_hook(note).remove)
        model(*args, **kwargs)
    return calls


def _known(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Without those of lazy layers that the forward did not call: they have no size."""
    return [tensor for tensor in tensors if not is_lazy(tensor)]


def _size(tensors: Sequence[Tensor]) -> int:
    return sum(tensor.numel() * tensor.itemsize for tensor in tensors)


def _row(path: str, module: Module, shapes: list[Any], first: str | None) -> LayerRow:
    if first is not None:
        return LayerRow(
            path, type(module).__name__, shapes[0] if shapes else None, 0, 0, 0, len(shapes), first
        )
    own = _known(module.parameters(recurse=False))
    trainable = sum(p.numel() for p in own if p.requires_grad)
    memory = _size([*own, *_known(module.buffers(recurse=False))])
    return LayerRow(
        path,
        type(module).__name__,
        shapes[0] if shapes else None,
        sum(p.numel() for p in own),
        trainable,
        memory,
        len(shapes),
        None,
    )


def summary(model: Module, input: Any, *, dtype: DType | None = None) -> Summary:
    """Runs `model` once on `input` and tells each layer's path, class, output shape, parameters and memory.

    Args:
        model: any Module. Lazy layers are initialised in a copy.
        input: a tensor, or a shape, for which zeros are made; a tuple or list of these for several arguments; a dict
            for named ones.
        dtype: of the tensors made for shapes; None = the default dtype.

    Raises:
        TypeError: the model is no Module, or the input of another kind. Errors of the forward come through.

    Example:
        >>> import tenora
        >>> print(tenora.summary(tenora.nn.Sequential(tenora.nn.Linear(4, 2), tenora.nn.ReLU()), (8, 4)))
        Layer    Class       Output shape  Parameters  Trainable  Memory
        ----------------------------------------------------------------
        (model)  Sequential  [8, 2]
        0        Linear      [8, 2]                10         10    40 B
        1        ReLU        [8, 2]
        ----------------------------------------------------------------
        Parameters: 10 (trainable 10, frozen 0). Memory of parameters and buffers: 40 B
    """
    if not isinstance(model, Module):
        raise errors.ArgumentTypeError(
            f"[summary] model is wrong: got {type(model).__name__}, expected a tenora.nn.Module. Pass the model itself."
        )
    if any(map(is_lazy, [*model.parameters(), *model.buffers()])):
        model = copy.deepcopy(model)
    args, kwargs = _arguments(input, model, dtype)
    calls = _run(model, args, kwargs)
    firsts: dict[Module, str] = {}
    rows = []
    for path, module in model.named_modules(remove_duplicate=False):
        rows.append(_row(path, module, calls[module], firsts.get(module)))
        firsts.setdefault(module, path)
    parameters = _known(model.parameters())
    return Summary(
        tuple(rows),
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
        _size([*parameters, *_known(model.buffers())]),
    )


__all__ = ["LayerRow", "Summary", "summary"]
