"""`tenora.utils.draw_graph`: nodes, shapes, names and the picture."""

from __future__ import annotations

import doctest
import importlib
import itertools
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import tenora
from tenora import nn
from tenora.utils import draw_graph

SPACE = "{http://www.w3.org/2000/svg}"


def trained() -> tuple[nn.Sequential, Any]:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    return model, (model(tenora.ones(5, 4)) ** 2).mean()


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SPACE}text")]


def test_nodes_edges_and_shapes() -> None:
    model, loss = trained()
    drawing = draw_graph(loss, params=model)
    assert [(n.name, n.kind, n.shape, n.layer) for n in drawing.nodes] == [
        ("MeanBackward0", "result", (), 0),
        ("PowBackward0", "op", (5, 1), 1),
        ("LinearBackward0", "op", (5, 1), 2),
        ("ReluBackward0", "op", (5, 8), 3),
        ("2.weight", "parameter", (1, 8), 3),
        ("2.bias", "parameter", (1,), 3),
        ("LinearBackward0", "op", (5, 8), 4),
        ("0.weight", "parameter", (8, 4), 5),
        ("0.bias", "parameter", (8,), 5),
    ]
    assert drawing.edges == ((1, 0), (2, 1), (3, 2), (4, 2), (5, 2), (6, 3), (7, 6), (8, 6))
    found = texts(drawing.svg)
    assert "0.weight" in found and "[8, 4]" in found and "ReluBackward0" in found
    assert drawing._repr_svg_() == drawing.svg and repr(drawing) == "GraphDrawing(9 nodes, 8 edges)"


def test_the_tape_and_grads_are_left_alone() -> None:
    model, loss = trained()
    draw_graph(loss)
    assert all(p.grad is None for p in model.parameters())
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())


def test_a_used_tape_says_so() -> None:
    _, loss = trained()
    loss.backward()
    drawing = draw_graph(loss)
    assert any(text.startswith("Shapes are not known:") for text in texts(drawing.svg))
    assert [n.shape for n in drawing.nodes if n.kind == "op"] == [(5, 1), None, None, None]
    _, loss = trained()
    assert [n.shape for n in draw_graph(loss, shapes=False).nodes if n.kind == "op"] == [None] * 4


def test_names_are_escaped() -> None:
    x = tenora.ones(2, requires_grad=True)
    name = '<a & "b">\x00\x1b'
    for params in ({name: x}, [(name, x)]):
        drawing = draw_graph((x * 2).sum(), params=params)
        assert drawing.nodes[-1].name == name
        assert any(text.startswith('<a & "b">') for text in texts(drawing.svg))


def test_results_of_any_shape_dtype_and_leaves() -> None:
    x = tenora.ones(2, 3, dtype=tenora.float64, requires_grad=True)
    drawing = draw_graph(x * 2 + x)
    assert {(n.kind, n.shape, n.dtype) for n in drawing.nodes} == {
        (kind, (2, 3), "float64") for kind in ("result", "op", "leaf")
    }
    assert len(drawing.edges) == 3
    alone = draw_graph(x, params={"x": x})
    assert [(n.name, n.kind) for n in alone.nodes] == [("x", "parameter")] and texts(alone.svg)[0] == "x"


def test_functions_of_the_user_and_several_outputs() -> None:
    class Twice(tenora.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = tenora.ones(4, 2, requires_grad=True)
    values, _ = Twice.apply(x).max(dim=1)
    drawing = draw_graph(values.sum())
    assert [(n.name, n.shape) for n in drawing.nodes[1:3]] == [
        ("MaxBackward0", (4,)),
        ("TwiceBackward", (4, 2)),
    ]


def test_boxes_of_a_layer_do_not_overlap() -> None:
    inputs = [tenora.ones(i + 1, requires_grad=True) for i in range(9)]
    drawing = draw_graph(
        sum(x.sum() * 2 for x in inputs), params={"n" * i: x for i, x in enumerate(inputs, 1)}
    )
    layers: dict[float, list[tuple[float, float]]] = {}
    picture = ElementTree.fromstring(drawing.svg)
    for box in picture.iter(f"{SPACE}rect"):
        x, y, width, height = (float(box.attrib[key]) for key in ("x", "y", "width", "height"))
        layers.setdefault(y + height / 2, []).append((x, x + width))
        assert x >= 0 and x + width <= float(picture.attrib["width"])
    assert max(map(len, layers.values())) > 1
    for spans in layers.values():
        for (_, end), (start, _) in itertools.pairwise(sorted(spans)):
            assert end < start


def test_ten_thousand_nodes() -> None:
    x = y = tenora.ones(3, requires_grad=True)
    for i in range(5000):
        y = y.sin() if i % 2 else y * 1.5 + x
    drawing = draw_graph(y.sum())
    assert len(drawing.nodes) > 7000 and max(n.layer for n in drawing.nodes) > 7000
    assert all(n.shape == (3,) for n in drawing.nodes[1:])


def test_save_and_path(tmp_path: Path) -> None:
    _, loss = trained()
    drawing = draw_graph(loss, tmp_path / "a.svg")
    drawing.save(str(tmp_path / "b.svg"))
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text() == drawing.svg


def test_a_picture_is_written_under_an_svg_name_only(tmp_path: Path) -> None:
    _, loss = trained()
    drawing = draw_graph(loss, tmp_path / "plain")
    drawing.save(tmp_path / "B.SVG")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["B.SVG", "plain.svg"]
    for name in ("x.png", "x.pdf", "x.tar.gz"):
        with pytest.raises(ValueError, match=rf"^\[draw_graph\] path is wrong: got '.*{name}'.*\.svg'"):
            draw_graph(loss, str(tmp_path / name))
        with pytest.raises(ValueError, match="path is wrong"):
            drawing.save(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 2


def test_errors() -> None:
    with pytest.raises(TypeError, match="Tensor"):
        draw_graph(3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="recorded"):
        draw_graph(tenora.ones(2))


@pytest.mark.parametrize("name", ["sharing", "utils.dlpack", "utils.graph_drawing", "utils.module_summary"])
def test_examples_of_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tenora.{name}"))
    assert result.failed == 0 and result.attempted > 0
