# Types of what the native module says of gradients, written by hand: `_engine.pyi` names all of it again.

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from tenora_engine._engine import Node, Tensor

_Function = TypeVar("_Function", bound=Callable[..., Any])

def backward(
    roots: Tensor | Sequence[Tensor],
    grads: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
) -> None: ...
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grads: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: builtins.bool | None = None,
    create_graph: builtins.bool = False,
    allow_unused: builtins.bool = False,
) -> tuple[Tensor | None, ...]: ...
def python_node(
    context: Any,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    *,
    dirty: Sequence[Tensor] = (),
    non_differentiable: Sequence[Tensor] = (),
    name: str = "Function",
    materialize_grads: builtins.bool = True,
    save: Sequence[Tensor | None] = (),
) -> tuple[Tensor, ...]: ...
def push_saved_hooks(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor], /) -> None: ...
def pop_saved_hooks() -> None: ...
def set_grad_enabled(enabled: builtins.bool, /) -> builtins.bool: ...
def is_grad_enabled() -> builtins.bool: ...
def mark_parts(parts: tuple[Tensor, ...], /) -> tuple[Tensor, ...]: ...
def set_inference_mode(enabled: builtins.bool, /) -> builtins.bool: ...
def is_inference_mode() -> builtins.bool: ...
def set_anomaly(enabled: builtins.bool, /) -> builtins.bool: ...
def set_check_nan(enabled: builtins.bool, /) -> builtins.bool: ...
def is_anomaly() -> builtins.bool: ...
def set_trace_lines(function: Callable[[], list[str]] | None, /) -> None: ...
def set_failure_lines(
    function: Callable[[Node | None, str, str, tuple[Tensor, ...]], str] | None, /
) -> None: ...
def set_gc_walk(enabled: builtins.bool, /) -> None: ...

class SavedTensor:
    def unpack(self) -> Tensor: ...

class _Context:
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> None: ...
    def __call__(self, function: _Function, /) -> _Function: ...
    def clone(self) -> Self: ...

class no_grad(_Context):
    def __new__(cls, function: Callable[..., Any] = ..., /) -> Any: ...  # a function comes back decorated

class enable_grad(_Context):
    def __new__(cls, function: Callable[..., Any] = ..., /) -> Any: ...  # a function comes back decorated

class grad_mode(_Context):
    def __init__(self, enabled: builtins.bool) -> None: ...

class inference_mode(_Context):
    def __new__(
        cls, mode: builtins.bool | Callable[..., Any] = True
    ) -> Any: ...  # a function comes back decorated

class anomaly_mode(_Context):
    def __init__(self, enabled: builtins.bool = True) -> None: ...
