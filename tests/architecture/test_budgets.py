"""Files stay under 600 lines and functions under 60; the scanners are shown to count right and to find what is long."""

import ast

import pytest
from budgets import FILE_LIMIT, FUNCTION_LIMIT, Function, cpp_functions, python_functions, too_long
from tree import files, relative

SOURCES = {".py": python_functions, ".pyi": python_functions}
SOURCES |= dict.fromkeys((".cpp", ".h", ".hpp", ".cc", ".c", ".cu", ".cuh"), cpp_functions)
JUDGED = [path for path in files() if path.suffix in SOURCES]


def test_files_are_judged() -> None:
    assert {".py", ".cpp", ".h"} <= {path.suffix for path in JUDGED}


def test_files_fit_the_budget() -> None:
    lines = {relative(path): path.read_text().count("\n") for path in JUDGED}
    assert {name: count for name, count in lines.items() if count > FILE_LIMIT} == {}


def test_functions_fit_the_budget() -> None:
    found = {}
    for path in JUDGED:
        for function in too_long(SOURCES[path.suffix](path.read_text())):
            found[f"{relative(path)}:{function.line} {function.name}"] = function.lines
    assert found == {}


def body(lines: int) -> str:
    return "    step();\n" * lines


CPP = {
    "plain": ("int plain(int a) {\n" + body(3) + "}\n", 5),
    "Tensor::add": (
        "namespace tenora {\nvoid Tensor::add(\n    int a) const noexcept {\n" + body(2) + "}\n}\n",
        5,
    ),
    "make": ("struct Maker {\n    Maker make(int a = {}) {\n" + body(2) + "    }\n};\n", 4),
    "Pool": ("Pool::Pool(int a) : first_{a}, second_(a), third_{1} {\n" + body(4) + "}\n", 6),
    "traced": (
        "auto traced(int a) -> std::vector<int> {\n"
        + body(1)
        + "    auto f = [&](int b) { return b; };\n}\n",
        4,
    ),
    "lambda": ("static auto table = [] {\n" + body(2) + "}();\n", 4),
    "quoted": ('void quoted() {\n    // {{{ }\n    f("{", \'{\', R"x({{)x"); /* { */\n}\nint after;\n', 4),
    "exported": ('extern "C" {\nint exported(void) {\n    return 1\'000;\n}\n}\n', 3),
    "limited": ("template <class T>\n    requires(sizeof(T) > 4)\nvoid limited(T t) {\n    f(t);\n}\n", 5),
    "given": (
        "static const Row rows[] = {{1, 2}, {3, 4}};\nvoid given() {\n    if (a) {\n    } else {\n    }\n}\n",
        5,
    ),
}


@pytest.mark.parametrize("name", CPP)
def test_cpp_scanner_measures(name: str) -> None:
    source, lines = CPP[name]
    measured = {function.name.split("::")[0]: function.lines for function in cpp_functions(source)}
    assert measured == {name.split("::")[0]: lines}


def test_cpp_scanner_sees_every_function_of_a_file() -> None:
    whole = "#define OPEN {\n" + "".join(source for source, _ in CPP.values())
    assert [function.lines for function in cpp_functions(whole)] == [lines for _, lines in CPP.values()]


def test_cpp_scanner_finds_a_long_function() -> None:
    source = (
        "class A {\n  public:\n    A() : a_{1} {}\n    void longer() {\n"
        + body(FUNCTION_LIMIT)
        + "    }\n};\n"
    )
    assert [function.lines for function in too_long(cpp_functions(source))] == [FUNCTION_LIMIT + 2]


def test_cpp_scanner_finds_a_long_lambda() -> None:
    source = "static int made = make([](int a) {\n" + body(FUNCTION_LIMIT) + "}, 3);\nvoid next() {}\n"
    assert [function.lines for function in cpp_functions(source)] == [FUNCTION_LIMIT + 2, 1]


def test_python_bodies_count_alone() -> None:
    source = 'def told(\n    x: int,\n) -> int:\n    """Summary.\n\n    Example: told(1)\n    """\n\n    return x\n'
    assert list(python_functions(source)) == [Function("told", 1, 2)]
    assert list(python_functions("def bare(): pass\n")) == [Function("bare", 1, 1)]


def test_python_scanner_finds_a_long_function() -> None:
    source = "class A:\n    async def longer(self):\n" + "        step()\n" * (FUNCTION_LIMIT + 1)
    ast.parse(source)
    assert [function.name for function in too_long(python_functions(source))] == ["longer"]
