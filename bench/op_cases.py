"""Sizes at which single ops are timed: what an ordinary program would pass, one row per op.

A row is `Row(public name, arguments, options)`: the same call for every framework. `Array` and its relatives stand for
data and become the framework's tensors. A row with `gradient` times the gradient of an output that is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from bench.cases import Case, Framework

LARGEST_RESULT = 2000  # elements of an output that are compared


@dataclass(frozen=True)
class Array:
    """Numbers of a shape: `normal`, `positive` (0.2 to 3), `unit` (0.05 to 0.95), `bool`, or whole below `below`."""

    shape: tuple[int, ...]
    kind: str = "normal"
    below: int = 0
    dtype: str = "float32"
    constant: bool = False  # no gradient

    def make(self, seed: int) -> np.ndarray[Any, Any]:
        """The data, the same for every framework."""
        draw = np.random.default_rng(seed)
        if self.below:
            return draw.integers(0, self.below, self.shape)
        if self.kind == "bool":
            return draw.random(self.shape) < 0.5
        if self.kind == "definite":
            half = draw.standard_normal(self.shape)
            return (half @ half.swapaxes(-1, -2) + self.shape[-1] * np.eye(self.shape[-1])).astype(self.dtype)
        made = {
            "normal": lambda: draw.standard_normal(self.shape),
            "positive": lambda: draw.uniform(0.2, 3.0, self.shape),
            "unit": lambda: draw.uniform(0.05, 0.95, self.shape),
            "sorted": lambda: np.sort(draw.standard_normal(self.shape), -1),
        }[self.kind]()
        return np.asarray(made.astype(self.dtype))


def normal(*shape: int) -> Array:
    return Array(shape)


def positive(*shape: int) -> Array:
    return Array(shape, "positive")


def unit(*shape: int) -> Array:
    return Array(shape, "unit")


def whole(below: int, *shape: int) -> Array:
    return Array(shape, below=below)


@dataclass(frozen=True)
class Row:
    """One timed call."""

    public: str
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    gradient: bool = False
    compared: bool = True  # False: random, or with results that may differ (signs, order)


def _made(value: Any, f: Framework, seed: int, gradient: bool) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], Array):
        return [_made(v, f, seed + i, gradient) for i, v in enumerate(value)]
    if not isinstance(value, Array):
        return value
    tensor = f.tensor(value.make(seed))
    fixed = value.constant or value.below > 0 or value.kind == "bool"
    return tensor if fixed or not gradient else tensor.requires_grad_()


def _function(f: Framework, public: str) -> Callable[..., Any]:
    found: Any = f
    for part in public.split("."):
        found = getattr(found, part)
    return cast(Callable[..., Any], found)


def _numbers(value: Any) -> list[float]:
    flat = [v for v in (value if isinstance(value, tuple | list) else [value]) if v is not None]
    found: list[float] = []
    for tensor in flat:
        array = np.asarray(tensor.detach()).ravel()
        if array.dtype.kind == "c":
            array = array.view(array.real.dtype)
        step = max(1, array.size // LARGEST_RESULT)
        found += [float(x) for x in array[::step]]
    return found


def case_of(row: Row) -> Callable[[Framework], Case]:
    """The row as a case of `bench.worker`."""

    def prepare(f: Framework) -> Case:
        arguments = [_made(a, f, i, row.gradient) for i, a in enumerate(row.arguments)]
        function = _function(f, row.public)
        work = _gradient(f, function, arguments, row) if row.gradient else None

        def once() -> Any:
            return work() if work else function(*arguments, **row.options)

        def run(n: int) -> None:
            for _ in range(n):
                once()

        return Case(run, lambda: _numbers(once()) if row.compared else [])

    return prepare


def _gradient(
    f: Framework, function: Callable[..., Any], arguments: list[Any], row: Row
) -> Callable[[], Any]:
    leaves = [a for a in arguments if hasattr(a, "requires_grad") and a.requires_grad]
    outputs = function(*arguments, **row.options)
    first = outputs[0] if isinstance(outputs, tuple | list) else outputs
    seed = f.ones_like(first)
    return lambda: f.autograd.grad(first, leaves, seed, retain_graph=True)
