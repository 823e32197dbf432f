"""`draw_graph`: the tape below a result as an SVG picture, inputs at the top and the result at the bottom.

- Nothing here recurses: a tape of ten thousand nodes is walked, layered and written with loops.
- The tape does not keep the shapes of what its nodes made. One backward pass over it, which touches no `.grad` and
  keeps the tape, shows them; hooks of the user's run in it.
- Layers are the longest ways from the result; inside a layer nodes stand near the nodes that read them.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tenora_autograd.backward import grad
from tenora_dispatch import errors
from tenora_engine import Tensor, float32

from .. import creation
from ..nn.module import Module

_CHARACTER, _LINE, _PAD, _GAP, _LAYER = 7.3, 15, 10, 24, 84  # pixels
_FILLS = {"op": "#e8eef7", "leaf": "#dff2e1", "parameter": "#fdf0d5", "result": "#f3e3f1"}


@dataclass(frozen=True)
class GraphNode:
    """One box: `kind` is "op", "leaf", "parameter" or "result"; `shape` is None where it is not known."""

    name: str
    kind: str
    shape: tuple[int, ...] | None
    dtype: str
    layer: int


@dataclass(frozen=True)
class GraphDrawing:
    """A drawn tape: nodes, edges (from what was read to what read it, as positions in `nodes`), and the SVG text."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG text to a file. A name without a suffix gets `.svg`; another suffix is a ValueError."""
        _svg_path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"GraphDrawing({len(self.nodes)} nodes, {len(self.edges)} edges)"


def _svg_path(path: str | os.PathLike[str]) -> Path:
    """The file to write; refused if its name promises another format."""
    found = Path(path)
    if not found.suffix:
        return found.with_name(f"{found.name}.svg")
    if found.suffix.lower() != ".svg":
        raise errors.ArgumentValueError(
            f"[draw_graph] path is wrong: got {str(path)!r}, expected a name that ends in .svg, the only format. "
            f"Pass {str(found.with_suffix('.svg'))!r}; browsers open it and convert it."
        )
    return found


def _names(params: Any) -> dict[int, str]:
    """Names of tensors by identity, from a module, a mapping or pairs."""
    if params is None:
        return {}
    if isinstance(params, Module):
        pairs: Iterable[tuple[str, Tensor]] = params.named_parameters(remove_duplicate=False)
    elif isinstance(params, Mapping):
        pairs = params.items()
    else:
        pairs = params
    names: dict[int, str] = {}
    for name, tensor in pairs:
        names.setdefault(id(tensor), str(name))
    return names


def _walk(root: Any) -> tuple[list[Any], list[tuple[int, int]]]:
    """All nodes below `root`, itself first, and the edges (read by, reads) between their positions."""
    positions, nodes, edges = {root: 0}, [root], []
    for node in nodes:  # grows on the way
        for below, _ in node.next_functions:
            if below is None:
                continue
            if below not in positions:
                positions[below] = len(nodes)
                nodes.append(below)
            edges.append((positions[node], positions[below]))
    return nodes, edges


def _layers(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """The length of the longest way from the result to each node."""
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        below[source].append(target)
    waiting = Counter(target for _, target in edges)
    layers, ready = [0] * count, deque([0])
    while ready:
        source = ready.popleft()
        for target in below[source]:
            layers[target] = max(layers[target], layers[source] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return layers


def _shapes(loss: Tensor, nodes: list[Any]) -> tuple[dict[int, tuple[tuple[int, ...], str]], str]:
    """Shape and dtype of what each node made, by its position, and why they are missing where the tape is used up."""
    found: dict[int, tuple[tuple[int, ...], str]] = {}

    def watch(position: int) -> Any:
        def note(gradients: tuple[Tensor | None, ...]) -> None:
            for gradient in gradients:
                if gradient is not None:
                    found.setdefault(position, (tuple(gradient.shape), _dtype_text(gradient)))

        return note

    leaves = [node.variable for node in nodes if node.variable is not None]
    handles = [
        node.register_prehook(watch(position)) for position, node in enumerate(nodes) if node.variable is None
    ]
    try:
        grad(loss, leaves, creation.ones_like(loss), retain_graph=True, allow_unused=True)
    except errors.OperationError as error:
        return found, f"Shapes are not known: {str(error).splitlines()[0]}"
    finally:
        for handle in handles:
            handle.remove()
    return found, ""


def _dtype_text(tensor: Tensor) -> str:
    return "" if tensor.dtype == float32 else str(tensor.dtype).removeprefix("tenora.")


def _describe(
    loss: Tensor, nodes: list[Any], layers: list[int], names: dict[int, str], shapes: Any
) -> list[GraphNode]:
    described = []
    for position, (node, layer) in enumerate(zip(nodes, layers, strict=True)):
        leaf = node.variable
        if leaf is None:
            shape, dtype = shapes.get(position, (None, ""))
            described.append(GraphNode(node.name(), "op", shape, dtype, layer))
        else:
            known = id(leaf) in names
            name = names.get(id(leaf), "leaf")
            kind = "parameter" if known else "leaf"
            described.append(GraphNode(name, kind, tuple(leaf.shape), _dtype_text(leaf), layer))
    if described[0].kind == "op":
        described[0] = GraphNode(described[0].name, "result", tuple(loss.shape), _dtype_text(loss), 0)
    return described


def _lines(node: GraphNode) -> list[str]:
    if node.shape is None:
        return [node.name]
    return [node.name, f"{list(node.shape)} {node.dtype}".rstrip()]


def _width(node: GraphNode) -> float:
    return max(map(len, _lines(node))) * _CHARACTER + 2 * _PAD


def _places(nodes: list[GraphNode], edges: list[tuple[int, int]]) -> tuple[list[float], float]:
    """The middle of each node across, and the width of the picture."""
    readers: list[list[int]] = [[] for _ in nodes]
    for source, target in edges:
        readers[target].append(source)
    rows: list[list[int]] = [[] for _ in range(max(node.layer for node in nodes) + 1)]
    for position, node in enumerate(nodes):
        rows[node.layer].append(position)
    widths = [sum(_width(nodes[i]) + _GAP for i in row) for row in rows]
    full = max(widths)
    middles = [0.0] * len(nodes)
    for row, width in zip(rows, widths, strict=True):
        row.sort(key=lambda i: sum(middles[r] for r in readers[i]) / max(1, len(readers[i])))
        at = (full - width) / 2
        for i in row:
            middles[i] = at + (_width(nodes[i]) + _GAP) / 2
            at += _width(nodes[i]) + _GAP
    return middles, full


def _text(value: str) -> str:
    """Safe inside XML, which has no place for control characters."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in value))


def _box(node: GraphNode, x: float, y: float) -> str:
    lines, width = _lines(node), _width(node)
    height = len(lines) * _LINE + _PAD
    spans = "".join(
        f'<text x="{x:.1f}" y="{y - height / 2 + _PAD / 2 + (i + 0.75) * _LINE:.1f}">{_text(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g class="{node.kind}"><rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height}" rx="4" fill="{_FILLS[node.kind]}" stroke="#55606e"/>{spans}</g>'
    )


def _svg(nodes: list[GraphNode], edges: list[tuple[int, int]], note: str) -> str:
    middles, width = _places(nodes, edges)
    width = max(width, len(note) * _CHARACTER + 2 * _PAD)
    depth = max(node.layer for node in nodes)
    height = (depth + 1) * _LAYER + (2 * _LINE if note else 0)
    heights = [(depth - node.layer + 0.5) * _LAYER for node in nodes]
    arrows = []
    for reader, read in edges:
        x, y = middles[read], heights[read] + _LINE + _PAD / 2
        to_x, to_y = middles[reader], heights[reader] - _LINE - _PAD / 2 - 3
        arrows.append(
            f'<path d="M{x:.1f} {y:.1f}C{x:.1f} {y + 20:.1f} {to_x:.1f} {to_y - 20:.1f} {to_x:.1f} {to_y:.1f}" '
            'fill="none" stroke="#8894a3" marker-end="url(#arrow)"/>'
        )
    boxes = [_box(node, x, y) for node, x, y in zip(nodes, middles, heights, strict=True)]
    caption = f'<text x="{width / 2:.1f}" y="{height - _LINE}">{_text(note)}</text>' if note else ""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12" text-anchor="middle">',
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#8894a3"/></marker></defs>',
            *arrows,
            *boxes,
            *([caption] if caption else []),
            "</svg>",
        ]
    )


def draw_graph(
    loss: Tensor, path: str | os.PathLike[str] | None = None, *, params: Any = None, shapes: bool = True
) -> GraphDrawing:
    """Draws the tape that `loss` was recorded on, with the shape of every result; a notebook shows what it returns.

    Args:
        loss: a tensor with a history, of any shape.
        path: a file for the SVG text, ".svg" is added where it has no suffix; None writes none.
        params: names of leaves: a module, a dict of tensors or pairs (name, tensor).
        shapes: whether to find the ops' shapes, which takes one backward pass over the tape. It touches no `.grad` and
            keeps the tape. Where the tape is used up already, the picture says so.

    Raises:
        TypeError: `loss` is no tensor.
        ValueError: it takes no part in gradients, so that nothing was recorded; or `path` has another suffix.

    Example:
        >>> import tenora
        >>> model = tenora.nn.Linear(3, 2)
        >>> drawing = tenora.utils.draw_graph(model(tenora.ones(4, 3)).sum(), params=model)
        >>> [(node.name, node.shape) for node in drawing.nodes]
        [('SumBackward0', ()), ('LinearBackward0', (4, 2)), ('weight', (2, 3)), ('bias', (2,))]
    """
    if not isinstance(loss, Tensor):
        raise errors.ArgumentTypeError(
            f"[draw_graph] loss is wrong: got {type(loss).__name__}, expected a Tensor. Pass a result of the forward."
        )
    if not loss.requires_grad:
        raise errors.ArgumentValueError(
            "[draw_graph] nothing was recorded: got a tensor without requires_grad, expected one with a history. "
            "Run the forward outside no_grad, on parameters that require gradients."
        )
    file = None if path is None else _svg_path(path)
    names, note = _names(params), ""
    edges: list[tuple[int, int]] = []
    if loss.grad_fn is None:
        name = names.get(id(loss), "leaf")
        kind = "parameter" if id(loss) in names else "leaf"
        nodes = [GraphNode(name, kind, tuple(loss.shape), _dtype_text(loss), 0)]
    else:
        tape, edges = _walk(loss.grad_fn)
        found, note = _shapes(loss, tape) if shapes else ({}, note)
        nodes = _describe(loss, tape, _layers(len(tape), edges), names, found)
    flipped = tuple((read, reader) for reader, read in edges)
    drawing = GraphDrawing(tuple(nodes), flipped, _svg(nodes, edges, note))
    if file is not None:
        drawing.save(file)
    return drawing


__all__ = ["GraphDrawing", "GraphNode", "draw_graph"]
