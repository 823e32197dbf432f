"""Whatever a file says, `load` answers with its content or with an error that names the file."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import hostile_files
import pytest
from hostile_files import outcome

import tenora
from tenora.serialization import UnsafeFileError

MEGABYTES = 1 << 20
# Loads each file of a folder with little memory to spare, in a process that may crash.
LOADER = """
import os, resource, sys
import numpy  # whose libraries take memory of their own when they are first needed
import tenora
from tenora.serialization import FileError
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), -1))
for name in sorted(os.listdir("files")):
    for options in ({}, {"mmap": True}):
        print(name, end=" ", flush=True)
        try:
            tenora.load("files/" + name, **options)
            print("loaded")
        except FileError as error:
            print("refused" if f"files/{name}: got " in str(error) else f"unnamed {error}")
        except BaseException as error:
            print(type(error).__name__, error)
"""


VALUE = {"a": [1, 2.5, "x", (None, True)], 1: {"b": OrderedDict(c=3)}}


def files() -> dict[str, bytes]:
    """A file of each kind of ours."""
    x = tenora.arange(6).float()
    values = {
        "ours": {"x": x, "t": x.reshape(2, 3).t(), "m": x > 2, **VALUE},
        "module": tenora.nn.Linear(1, 2),
    }
    found = {}
    for name, value in values.items():
        file = io.BytesIO()
        tenora.save(value, file)
        found[name] = file.getvalue()
    return found


@pytest.mark.parametrize("name", ["ours", "module"])
def test_a_file_cut_off_anywhere_is_refused(name: str) -> None:
    data, trusted = files()[name], name == "module"
    assert outcome(data, trusted) is not None
    assert [n for n in range(len(data)) if outcome(data[:n], trusted) is not None] == []


@pytest.mark.parametrize("name", ["ours", "module"])
def test_a_flipped_bit_is_refused(name: str) -> None:
    data, draw = files()[name], random.Random(1)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << draw.randrange(8)
        assert outcome(bytes(damaged), trusted=name == "module") is None, at


def test_hostile_files_are_refused_with_little_memory(tmp_path: Path) -> None:
    made = hostile_files.all_files()
    (tmp_path / "files").mkdir()
    names = {}
    for number, (name, data) in enumerate(made.items()):
        names[f"{number:03}"] = name
        (tmp_path / "files" / f"{number:03}").write_bytes(data)
    run = subprocess.run(
        [sys.executable, "-c", LOADER, str(64 * MEGABYTES)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = [line.partition(" ")[::2] for line in run.stdout.splitlines()]
    assert [(names[key], what) for key, what in found if what != "refused"] == []
    assert len(found) == 2 * len(made) and run.returncode == 0, run.stderr[-2000:]
    assert not (tmp_path / hostile_files.MARK).exists(), "code of a file has run"


def test_what_the_hostile_files_are_made_of_is_sound() -> None:
    """The same builders with nothing wrong give files that load."""
    for data in (
        hostile_files.archive(hostile_files.tensor()),
        hostile_files.ours({"$": "tensor", "entry": "x"}),
        hostile_files.safetensors(
            {"x": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}, hostile_files.FLOATS
        ),
    ):
        found = tenora.load(io.BytesIO(data))
        assert (found["x"] if isinstance(found, dict) else found).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_code_of_a_file_runs_only_when_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = hostile_files.archive(dict(hostile_files.pickles())["eval"])
    with pytest.raises(UnsafeFileError, match=r"the name 'builtins\.eval'"):
        tenora.load(io.BytesIO(data))
    assert not (tmp_path / hostile_files.MARK).exists()
    tenora.load(io.BytesIO(data), weights_only=False).close()
    assert (tmp_path / hostile_files.MARK).exists(), "the check above can fail"


def test_memory_is_about_the_files(tmp_path: Path) -> None:
    """Loading 64 MB needs no second copy of them."""
    tenora.save({"a": tenora.zeros(8 * MEGABYTES), "b": tenora.ones(8 * MEGABYTES)}, tmp_path / "x")
    script = (
        "import re, tenora, tenora.serialization\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]) >> 10\n"
        "before = peak(); found = tenora.load('x'); print(peak() - before)\n"
        "middle = peak(); tenora.save(found, 'y'); print(peak() - middle)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    loading, saving = map(int, run.stdout.split())
    assert 60 <= loading <= 72 and saving <= 8, (loading, saving)
