"""Every mutation operator applies to something small, and changes what it means."""

import ast
import tomllib
from pathlib import Path

import pytest

from mutants import cpp_rewrite, operators
from mutants.graph import Module
from mutants.operators import Operator
from mutants.parts import Part
from mutants.rewrite import HOLE, PatternError, Rewrite, kinds, line_offsets, splices
from mutants.sites import SOURCES, Taken, part_mutants

LIST = operators.load()


def rewritten(before: str, after: str, source: str) -> list[str]:
    """The texts that a rewrite makes of a source, one for each place."""
    found = splices(Rewrite.parse(before, after), kinds(ast.parse(source)), line_offsets(source))
    return [splice.apply(source) for splice in found]


def rewritten_cpp(before: str, after: str, source: str) -> list[str]:
    rewrite = cpp_rewrite.CppRewrite.parse(before, after)
    return [splice.apply(source) for splice in rewrite.splices(cpp_rewrite.blank(source), source)]


def example(pattern: str, after: str) -> str:
    """A source in which a pattern of Python occurs: the pattern itself, with names in its holes."""
    text = HOLE.sub(r"name_\1", pattern)
    if pattern.startswith("if ") and pattern.endswith(":"):
        return f"{text}\n    pass\n"
    if pattern in ("continue", "break"):
        return f"for i in x:\n    {text}\n"
    if Rewrite.parse(pattern, pattern).before.__class__ is ast.keyword:
        return f"f({text})\n"
    shape = "y = {}" if isinstance(Rewrite.parse(pattern, after).before, ast.expr) else "{}"
    return f"def f():\n    {shape.format(text)}\n"


@pytest.mark.parametrize("operator", LIST.rows, ids=lambda row: row.name)
def test_every_rewrite_of_an_operator_changes_a_tiny_source(operator: Operator) -> None:
    data = {row["name"]: row for row in _raw()}[operator.name]
    for before, after in data.get("python", ()):
        source = example(before, after)
        made = rewritten(before, after, source)
        assert made, (before, source)
        assert all(ast.dump(ast.parse(text)) != ast.dump(ast.parse(source)) for text in made), made
    for before, after in data.get("cpp", ()):
        filled = HOLE.sub(r"name_\1", before).rstrip(";")
        source = f"void f() {{\n    {filled};\n}}\n"
        made = rewritten_cpp(before, after, source)
        assert made and source not in made, (before, source, made)


def _raw() -> list[dict[str, list[tuple[str, str]]]]:
    rows: list[dict[str, list[tuple[str, str]]]] = tomllib.loads(operators.FILE.read_text())["operator"]
    return rows


@pytest.mark.parametrize(
    ("before", "after", "source", "expected"),
    [
        ("np.absolute", "np.positive", "abs = unary(np.absolute)", "abs = unary((np.positive))"),
        ("keepdims=True", "keepdims=False", "f(x, keepdims=True)", "f(x, keepdims=False)"),
        ("$a < $b", "$a <= $b", "y = x[1] < len(z)", "y = (x[1] <= len(z))"),
        ("if pivot:", "if not pivot:", "if pivot:\n    f()", "if (not pivot):\n    f()"),
        ("$x.astype($t)", "$x", "y = g(x).astype(np.int8)", "y = (g(x))"),
        ("info[...] = $v", "pass", "info[...] = 0", "pass"),
    ],
)
def test_rewrites_of_python(before: str, after: str, source: str, expected: str) -> None:
    assert rewritten(before, after, source) == [expected]


def test_the_same_hole_twice_is_the_same_text_twice() -> None:
    assert rewritten("f($x, $x)", "g($x)", "f(a, b); f(c, c)") == ["f(a, b); (g(c))"]


def test_texts_annotations_and_errors_are_no_places() -> None:
    source = 'def f(a: X[1]) -> Y[1]:\n    """1"""\n    raise E(1)\n'
    assert rewritten("1", "0", source) == []


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(PatternError, match="expected Python with holes"):
        Rewrite.parse("$x +", "$x")


@pytest.mark.parametrize(
    ("before", "after", "line", "expected"),
    [
        ("$a < $b", "$a <= $b", "if (i < n) f();", "if (i <= n) f();"),
        ("bump($a);", "", "bump(t);", ""),
        ("->strides()[size_t(dim)]", "->strides()[0]", "x->strides()[size_t(dim)];", "x->strides()[0];"),
    ],
)
def test_rewrites_of_cpp(before: str, after: str, line: str, expected: str) -> None:
    frame = "void f() {{\n    {}\n}}\n"
    assert rewritten_cpp(before, after, frame.format(line)) == [frame.format(expected)]


@pytest.mark.parametrize("line", ["std::span<const T> x;", "// a < b", 'g("a < b");', "vector<a> b;"])
def test_templates_comments_and_texts_are_no_comparisons(line: str) -> None:
    assert rewritten_cpp("$a < $b", "$a <= $b", f"void f() {{\n    {line}\n}}\n") == []


def test_ids_stay_when_another_function_changes(tmp_path: Path) -> None:
    body = "def f(x):\n    return x[1] < 2 or x[2] < 3\n"
    ids = []
    for text in (body, f"def g(x):\n    return 1 < x\n\n\n{body}"):
        path = tmp_path / "module.py"
        path.write_text(text)
        module = Module("package.module", path, text)
        part = Part(module, "f", module.definitions["f"], "kernel", {"op"})
        ids.append([m.id for m in part_mutants(tmp_path, SOURCES[0], part, LIST.rows, Taken())])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0]) > 4
