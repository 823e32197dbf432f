"""find_package(tenora_backend) leads a C or C++ project to the header, and refuses an ABI it does not have."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tree import ROOT

CMAKE_DIR = ROOT / "core" / "dispatch" / "tenora_dispatch" / "cmake"
# cmake and ninja are those of the environment that runs the tests.
TOOLS = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
PROJECT = """cmake_minimum_required(VERSION 3.26)
project(stranger LANGUAGES C CXX)
find_package(tenora_backend {version} CONFIG REQUIRED)
add_library(stranger SHARED c.c cpp.cpp)
set_target_properties(stranger PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF CXX_STANDARD 17)
target_compile_options(stranger PRIVATE -Wall -Wextra -pedantic -Werror)
target_link_libraries(stranger PRIVATE tenora::backend)
"""


def configure(place: Path, version: str, project: str = PROJECT) -> subprocess.CompletedProcess[str]:
    """Writes the project and configures it."""
    (place / "CMakeLists.txt").write_text(project.format(version=version))
    (place / "c.c").write_text("#include <tenora_backend.h>\nint c_abi(void) { return TNR_ABI_VERSION; }\n")
    (place / "cpp.cpp").write_text("#include <tenora_backend.h>\nint cpp_abi() { return TNR_ABI_VERSION; }\n")
    command = [
        "cmake",
        "-S",
        str(place),
        "-B",
        str(place / "build"),
        "-G",
        "Ninja",
        f"-Dtenora_backend_DIR={CMAKE_DIR}",
    ]
    return subprocess.run(command, env=TOOLS, capture_output=True, text=True, check=False)


def test_a_c_and_cpp_project_finds_the_header_and_compiles(tmp_path: Path) -> None:
    done = configure(tmp_path, "1")
    assert done.returncode == 0, done.stderr
    built = subprocess.run(
        ["cmake", "--build", str(tmp_path / "build")], env=TOOLS, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr


def test_an_unknown_abi_is_refused(tmp_path: Path) -> None:
    done = configure(tmp_path, "99")
    assert done.returncode != 0 and "version" in done.stderr


def listed(place: Path) -> dict[str, str]:
    """The sums of the list that the build of `place` has written, by file."""
    lines = (place / "build" / "tenora-sources.txt").read_text().splitlines()
    return {name: total for total, _, name in (line.partition("  ") for line in lines)}


def test_a_list_of_sources_is_written_and_follows_them(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.h").write_text("// b\n")
    project = PROJECT + "tenora_backend_sources(DESTINATION here FILES c.c CMakeLists.txt inner/b.h)\n"
    assert configure(tmp_path, "1", project).returncode == 0
    files = ["CMakeLists.txt", "c.c", "inner/b.h"]
    before = listed(tmp_path)
    assert before == {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in files}
    (tmp_path / "c.c").write_text("int changed;\n")
    command = ["cmake", "--build", str(tmp_path / "build")]
    done = subprocess.run(command, env=TOOLS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert listed(tmp_path) != before
    prefix = tmp_path / "installed"
    command = ["cmake", "--install", str(tmp_path / "build"), "--prefix", str(prefix)]
    subprocess.run(command, env=TOOLS, capture_output=True, check=True)
    assert (prefix / "here" / "tenora-sources.txt").read_text() == (
        tmp_path / "build" / "tenora-sources.txt"
    ).read_text()
