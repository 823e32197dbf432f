"""The C header: compiles as C11 and C++ without a warning, and its layout is the committed one.

A struct of the ABI may only grow at its end; `header_offsets.txt` holds where every field lies. A change there that is
not an added line breaks every backend built before it.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tenora_dispatch

GOLDEN = Path(__file__).resolve().parent / "header_offsets.txt"
COMPILERS = {"c": ("cc", "-std=c11", "layout.c"), "c++": ("c++", "-std=c++20", "layout.cpp")}
STRUCT = re.compile(r"typedef struct \{(.*?)\n\} (\w+);", re.DOTALL)
# What declares a field: `name;`, `name[3];`, `(*name)(...)`; a union is taken as a whole.
FIELD = re.compile(r"\(\*(\w+)\)\(|(\w+)(?:\[\d+\])?;")


def structs() -> dict[str, list[str]]:
    """Struct name -> field names, read from the header's text."""
    text = (Path(tenora_dispatch.get_include()) / "tenora_backend.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found: dict[str, list[str]] = {}
    for body, name in STRUCT.findall(text):
        flat = re.sub(r"union \{.*?\} (\w+);", r"int \1;", body, flags=re.DOTALL)
        found[name] = [function or plain for function, plain in FIELD.findall(flat)]
    return found


def program() -> str:
    """Prints `struct.field offset` lines and `struct size alignment` lines."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "tenora_backend.h"', "int main(void) {"]
    for name, fields in structs().items():
        lines.append(f'    printf("{name} size %zu\\n", sizeof({name}));')
        lines += [f'    printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field in fields]
    return "\n".join([*lines, "    return 0;", "}", ""])


def compiled(language: str, folder: Path) -> str:
    """Compiles the program with all warnings as errors and returns what it prints."""
    compiler, standard, file = COMPILERS[language]
    assert shutil.which(compiler), f"no {compiler}: the tests need a C and a C++ compiler"
    (folder / file).write_text(program())
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    include = f"-I{tenora_dispatch.get_include()}"
    command = [compiler, standard, *warnings, include, str(folder / file), "-o", str(folder / "layout")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run(
        [str(folder / "layout")], capture_output=True, text=True, timeout=10, check=True
    ).stdout


def test_all_structs_are_seen():
    assert set(structs()) == {
        "DLDevice",
        "DLDataType",
        "DLTensor",
        "tnr_attr",
        "tnr_call",
        "tnr_kernel",
        "tnr_space",
        "tnr_host",
        "tnr_backend",
    }
    assert structs()["tnr_attr"] == ["kind", "weak", "dtype", "reserved", "count", "value"]
    assert structs()["tnr_kernel"][-2:] == ["supports", "workspace"]


@pytest.mark.parametrize("language", COMPILERS)
def test_the_layout_is_the_committed_one(language, tmp_path):
    assert compiled(language, tmp_path) == GOLDEN.read_text()


def test_structs_that_cross_the_border_begin_with_their_size():
    for name, fields in structs().items():
        if name.startswith("tnr_") and name != "tnr_attr":
            assert fields[0] == "struct_size", name


def test_an_attribute_is_sixteen_bytes():
    assert "tnr_attr size 16\n" in GOLDEN.read_text()
