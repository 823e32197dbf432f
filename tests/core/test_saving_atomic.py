"""A file that is saved to is replaced at once and whole, whatever happens to the writer."""

from __future__ import annotations

import io
import os
import random
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tenora
from tenora.serialization import atomic, own

KILLS = 200
# Forks a child for each line, which saves; kills it after a delay or where the line says. The child is not reaped
# before the kill, so its number is its own.
WRITER = """
import os, signal, sys, time
import tenora
from tenora.serialization import atomic

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)

def after(function):
    def call(*args):
        function(*args)
        die()
    return call

path = sys.argv[1]
for line in sys.stdin:
    number, what = line.split()
    value = {"number": int(number), "data": tenora.arange(int(number), int(number) + 20_000)}
    ready, begun = os.pipe()
    child = os.fork()
    if not child:
        if what == "written": atomic.os.fsync = die
        if what == "synced": atomic.os.fsync = after(os.fsync)
        if what == "replacing": atomic.os.replace = die
        if what == "replaced": atomic.os.replace = after(os.replace)
        os.write(begun, b".")
        tenora.save(value, path)
        os._exit(0)
    os.close(begun)
    os.read(ready, 1)
    os.close(ready)
    start = time.perf_counter()
    if what[0].isdigit():
        time.sleep(float(what))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(os.WIFSIGNALED(status), time.perf_counter() - start, flush=True)
"""


class Writer:
    """The process that forks the writers."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def save(self, number: int, what: str) -> tuple[bool, float]:
        """Whether the writer was killed, and how long it took."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{number} {what}\n")
        self.process.stdin.flush()
        killed, seconds = self.process.stdout.readline().split()
        return killed == "True", float(seconds)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / "model.tnr")
    yield made
    assert made.process.stdin is not None and made.process.stdout is not None
    made.process.stdin.close()
    made.process.wait(30)
    made.process.stdout.close()


def number_in(path: Path) -> Any:
    """The number of the file's content, which must be whole."""
    found = tenora.load(path)
    assert found["data"].equal(tenora.arange(found["number"], found["number"] + 20_000))
    return found["number"]


@pytest.mark.serial
def test_a_killed_writer_leaves_the_old_or_the_new_file(writer: Writer, tmp_path: Path) -> None:
    path = tmp_path / "model.tnr"
    typical = sorted(writer.save(0, "no")[1] for _ in range(5))[2]
    delays = [1.6 * typical * (k + 0.5) / KILLS for k in range(KILLS)]
    random.Random(4).shuffle(delays)
    before, seen = 0, {"old": 0, "new": 0, "left": 0, "killed": 0}
    for number, delay in enumerate(delays, 1):
        killed, _ = writer.save(number, f"{delay:.6f}")
        now = number_in(path)
        assert now in ((before, number) if killed else (number,))
        left = os.listdir(tmp_path)
        assert len(left) <= 2, "what a dead writer left goes with the next save"
        seen["new" if now == number else "old"] += 1
        seen["killed"] += killed
        seen["left"] += len(left) - 1
        before = now
    # The kills fell before, within and after the write.
    assert min(seen.values()) >= 3, seen
    tenora.save({"number": 0, "data": tenora.arange(20_000)}, path)
    assert os.listdir(tmp_path) == ["model.tnr"]


@pytest.mark.parametrize(
    ("point", "new"), [("written", False), ("synced", False), ("replacing", False), ("replaced", True)]
)
def test_a_writer_killed_at_each_step(writer: Writer, tmp_path: Path, point: str, new: bool) -> None:
    path = tmp_path / "model.tnr"
    writer.save(0, "no")
    assert writer.save(1, point)[0]
    assert number_in(path) == (1 if new else 0)
    assert len(os.listdir(tmp_path)) == (1 if new else 2)
    writer.save(2, "no")
    assert number_in(path) == 2
    assert os.listdir(tmp_path) == ["model.tnr"]


class Fails:
    """Stands for `os.replace`, or what else ends badly."""

    def __call__(self, *args: object) -> None:
        raise OSError(28, "No space left on device")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    tenora.save(1, path)
    monkeypatch.setattr(os, "fsync", Fails())
    with pytest.raises(OSError, match="No space"):
        tenora.save(2, path)
    assert tenora.load(path) == 1 and os.listdir(tmp_path) == ["x"]


def test_a_refused_value_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    tenora.save(1, path)
    with pytest.raises(TypeError, match=r"obj\[0\]"):
        tenora.save([lambda: 1], path)
    assert tenora.load(path) == 1 and os.listdir(tmp_path) == ["x"]


def test_a_tensor_that_changes_meanwhile_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, x = tmp_path / "x", tenora.zeros(5)
    tenora.save(x, path)
    take = own.checksum

    def then_change(pieces: Any) -> int:
        crc = take(pieces)
        x.add_(1)
        return crc

    monkeypatch.setattr(own, "checksum", then_change)
    with pytest.raises(RuntimeError, match="changed while it was written"):
        tenora.save(x, path)
    assert tenora.load(path).tolist() == [0.0] * 5 and os.listdir(tmp_path) == ["x"]


def test_a_living_writers_file_is_not_swept(tmp_path: Path) -> None:
    descriptor, path = atomic._create(str(tmp_path), ".x.")
    try:
        tenora.save(1, tmp_path / "x")
        assert sorted(os.listdir(tmp_path)) == sorted([Path(path).name, "x"])
    finally:
        os.close(descriptor)
    tenora.save(2, tmp_path / "other")  # not of its name
    assert len(os.listdir(tmp_path)) == 3
    tenora.save(2, tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == ["other", "x"]


def test_writers_of_one_name_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x"
    values = [tenora.full((1000,), float(k)) for k in range(4)]

    def work(x: Any) -> None:
        for _ in range(10):
            tenora.save(x, path)
            assert tenora.load(path).unique().numel() == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, values))
    assert os.listdir(tmp_path) == ["x"]


def test_modes_are_the_umasks_or_the_old_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    before = os.umask(0o027)
    try:
        tenora.save(1, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        tenora.save(2, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_a_link_goes_on_pointing(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    link.symlink_to(target)
    for value in (1, 2):  # a target that is not there yet, and one that is
        tenora.save(value, link)
        assert link.is_symlink() and tenora.load(target) == value
    assert os.listdir(tmp_path / "far") == ["target"]


def test_names_as_long_as_the_file_system_takes(tmp_path: Path) -> None:
    for name in ("x" * 255, "ä" * 127):
        tenora.save(1, tmp_path / name)
        assert tenora.load(tmp_path / name) == 1


def test_what_is_no_file_is_written_to_or_refused(tmp_path: Path) -> None:
    tenora.save(1, "/dev/null")
    assert not stat.S_ISREG(os.stat("/dev/null").st_mode)
    with pytest.raises(IsADirectoryError):
        tenora.save(1, tmp_path)
    with pytest.raises(tenora.serialization.FileError, match="folder that does not exist"):
        tenora.save(1, tmp_path / "none" / "x")
    with pytest.raises(RuntimeError):  # PyTorch's type
        tenora.save(1, tmp_path / "none" / "x")


class Piecewise(io.FileIO):
    """A raw file as the system may give it: it takes and gives parts of what is asked."""

    def write(self, data: Any) -> int:
        return super().write(bytes(memoryview(data)[:100]))

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(7 if size is None or size < 0 else min(size, 7))
        assert found is not None
        return found


def test_a_raw_file_that_takes_and_gives_parts(tmp_path: Path) -> None:
    value = {"x": tenora.arange(1000), "epoch": 3}
    with Piecewise(tmp_path / "x", "w") as file:
        tenora.save(value, file)
    tenora.save(value, tmp_path / "whole")
    assert (tmp_path / "x").read_bytes() == (tmp_path / "whole").read_bytes()
    with Piecewise(tmp_path / "x", "r") as file:
        found = tenora.load(file)
    assert found["epoch"] == 3 and found["x"].tolist() == list(range(1000))


def test_a_pipe_that_is_full_is_told() -> None:
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with (
            io.FileIO(writer, "w", closefd=False) as file,
            pytest.raises(BlockingIOError, match="takes nothing now"),
        ):
            tenora.save(tenora.zeros(1 << 20), file)
    finally:
        os.close(reader)
        os.close(writer)
