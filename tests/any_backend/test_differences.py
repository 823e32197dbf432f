"""docs/differences.md holds every list by which a comparison with PyTorch excuses a difference, and nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import differences
import differences_page
import edge_differences
import pytest
import refusal_differences

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def test_the_page_is_current() -> None:
    written = differences_page.PAGE.read_text(encoding="utf-8")
    assert written == differences_page.page(), "run python tests/any_backend/differences_page.py"


def reasons() -> Iterator[tuple[str, str]]:
    """The list and the reason of every entry of an op that users call."""
    for module in (differences, edge_differences, refusal_differences):
        for name, entries in vars(module).items():
            if isinstance(entries, dict) and not name.startswith("_"):
                for key, value in entries.items():
                    op = key[0] if isinstance(key, tuple) else key
                    if differences_page.called(op):
                        yield f"{module.__name__}.{name}", value[-1] if isinstance(value, tuple) else value


def test_every_list_is_in_the_page() -> None:
    page = differences_page.page().replace(differences_page.BAR, "|")
    found = list(reasons())
    assert len({name for name, _ in found}) == 19
    assert [(name, reason) for name, reason in found if reason not in page] == []


@pytest.mark.parametrize("row", differences_page.KNOWN, ids=lambda row: row[0][:40])
def test_a_row_has_its_test(row: differences_page.Row) -> None:
    path, _, name = row[-1].partition("::")
    tree = ast.parse((ROOT / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert all(row) and len(row) == 5


@pytest.mark.parametrize("section", differences_page.SECTIONS, ids=lambda section: section.title)
def test_a_section_has_its_test(section: differences_page.Section) -> None:
    """Which reads lists of these modules, its own or those of the comparison."""
    source = (HERE / section.test).read_text()
    modules = ("differences", "edge_differences", "refusal_differences")
    assert any(f"from {module} import" in source for module in modules)
    assert section.entries


def own_lists(source: str) -> list[str]:
    """The module-level names whose value says something of PyTorch."""
    found = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            said = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
            if any(isinstance(text, str) and "PyTorch" in text for text in said):
                found.append(ast.unparse(target))
    return found


def test_tests_keep_no_lists_of_their_own() -> None:
    found = {path.name: own_lists(path.read_text()) for path in HERE.glob("test_*.py")}
    assert len(found) > 60
    assert {name: lists for name, lists in found.items() if lists} == {}


@pytest.mark.parametrize(
    "source", ['LISTED = {"exp": "PyTorch rounds"}', 'A: str = "PyTorch\'s"', 'B |= {("a", "b"): "PyTorch"}']
)
def test_a_list_is_noticed(source: str) -> None:
    assert len(own_lists(source)) == 1 and own_lists('LISTED = {"exp": "rounds"}\n# PyTorch') == []
