"""The README's commands answer as it says, up to numbers; its waivers are such."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tenora_conformance import waivers

README = Path(__file__).resolve().parents[2] / "conformance" / "README.md"
#: Needs a network where the suite is not installed yet; `make setup` has done it.
INSTALLING = "pip install"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Each command of the console blocks and the output that is shown below it."""
    parts = [
        part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part
    ]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def pattern(shown: str) -> str:
    """What an output must look like: `...` stands for any lines, a number for any number."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else re.sub(r"\d[\d,.]*", r"[\\d,.]+", re.escape(line)) + "\n"
        for line in shown.splitlines()
    ]
    return "".join(lines)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the commands follow each other."""
    return tmp_path_factory.mktemp("readme")


@pytest.mark.parametrize(("command", "shown"), [row for row in commands() if INSTALLING not in row[0]])
def test_the_commands_answer_as_the_readme_says(command: str, shown: str, here: Path) -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env.pop("TENORA_BACKEND", None)
    done = subprocess.run(
        ["bash", "-c", command], cwd=here, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert re.fullmatch(pattern(shown), done.stdout), done.stdout


def test_the_pattern_sees_another_word() -> None:
    assert re.fullmatch(pattern("a 1\n...\nb\n"), "a 1,200\nx\ny\nb\n")
    assert not re.fullmatch(pattern("a 1\n...\nb\n"), "a 1\nx\nc\n")


def test_the_waivers_are_such(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    path = tmp_path / "waivers.toml"
    path.write_text(text)
    (waiver,) = waivers.read(path)
    assert waiver.case == ("erfinv/float16/*/*",)
