"""Rules for the tests themselves: what measures time runs without neighbours, what is shared lies in tests/helpers."""

import ast

import pytest
from tree import ROOT

CLOCKS = {"perf_counter", "monotonic", "process_time", "thread_time"}
#: The groups that run in several processes at once.
CROWDED = ("core", "any_backend", "integration")


def clocks_without_serial(source: str) -> list[str]:
    """The tests that read a clock and carry no `serial`."""
    tests = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return [
        test.name
        for test in tests
        if CLOCKS & {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
        and not any("mark.serial" in ast.unparse(each) for each in test.decorator_list)
    ]


def test_what_measures_time_runs_without_neighbours() -> None:
    paths = [path for group in CROWDED for path in (ROOT / "tests" / group).rglob("*.py")]
    assert len(paths) > 100
    found = {path.name: clocks_without_serial(path.read_text()) for path in paths}
    assert {name: tests for name, tests in found.items() if tests} == {}


@pytest.mark.parametrize(
    ("marker", "found"),
    [("", ["test_a"]), ("@pytest.mark.serial\n", []), ("@pytest.mark.oracle\n", ["test_a"])],
)
def test_rule_finds_a_clock(marker: str, found: list[str]) -> None:
    assert clocks_without_serial(f"{marker}def test_a():\n    start = time.perf_counter()\n") == found


def imported_tests(source: str) -> list[str]:
    """The test modules that a module imports: it would run with them, and break with them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return [name for name in found if name.startswith("test_")]


def test_tests_share_by_helpers() -> None:
    """What two test modules need lies in tests/helpers, or in a module beside them that holds no test."""
    found = {str(path): imported_tests(path.read_text()) for path in (ROOT / "tests").rglob("*.py")}
    assert len(found) > 200
    assert {name: modules for name, modules in found.items() if modules} == {}


@pytest.mark.parametrize("line", ["import test_a", "import os, test_a as a", "from test_a import LAYERS"])
def test_rule_finds_an_imported_test(line: str) -> None:
    assert imported_tests(line) == ["test_a"] and imported_tests("import draws\nfrom a import test_b") == []
