"""`make demo`: how well it reads, what it writes, and that an interrupted run ends in the same bits."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from example_programs import EXAMPLES, example, run_program

import tenora

PNG = b"\x89PNG\r\n\x1a\n"


def accuracy_of(printed: str) -> float:
    """The number of the last line."""
    found = re.fullmatch(r"test accuracy: (\d+\.\d\d) %", printed.splitlines()[-1])
    assert found, printed
    return float(found[1])


def test_the_demo_reads_digits(tmp_path: Path) -> None:
    runs = [run_program("digits", "--seed", seed, "--output", tmp_path) for seed in (0, 1, 2)]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr
    accuracies = [accuracy_of(run.stdout) for run in runs]
    assert sum(accuracies) / 3 >= 98.5 and min(accuracies) >= 97.8, accuracies
    for name in ("curves.png", "mistakes.png"):
        assert (tmp_path / name).read_bytes().startswith(PNG)
    assert "train: 100% 30/30" in runs[0].stderr and "accuracy=" in runs[0].stderr


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """The leaves of nested dicts and lists; tensors as lists of numbers."""
    if isinstance(value, dict | list | tuple):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {key: leaf for name, part in pairs for key, leaf in flat(part, f"{path}/{name}").items()}
    return {path: value.tolist() if isinstance(value, tenora.Tensor) else value}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run of four epochs."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    example("digits").main(["--epochs", "4", "--output", str(folder)])
    return folder


def test_a_killed_run_resumes_to_the_bit(tmp_path: Path, uninterrupted: Path) -> None:
    saved = tmp_path / "last.safetensors"
    command = [sys.executable, str(EXAMPLES / "digits.py"), "--epochs", "4", "--output", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not saved.exists() and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 1 <= len(tenora.load(saved)["history"]) < 4
    tenora.manual_seed(123)  # nothing but the file decides
    example("digits").main(["--epochs", "4", "--output", str(tmp_path), "--resume"])
    for name in ("last.safetensors", "best.safetensors"):
        resumed, whole = (flat(tenora.load(folder / name)) for folder in (tmp_path, uninterrupted))
        assert len(whole) > 10 and resumed == whole


@pytest.mark.parametrize("lost", ["nothing", "net", "optimizer", "schedule", "generator"])
def test_each_part_of_the_state_matters(lost: str, tmp_path: Path) -> None:
    """What the saved state is without, the resumed training shows."""
    digits = example("digits")
    training = digits.Training(digits.load(), 2, 0)
    fresh, half, end, resumed = (tmp_path / name for name in ("fresh", "half", "end", "resumed"))
    training.save(fresh)
    for path in (half, end):
        training.epoch()
        training.save(path)
    state = tenora.load(half)
    tenora.save({**state, **({} if lost == "nothing" else {lost: tenora.load(fresh)[lost]})}, half)
    training = digits.Training(training.data, 2, 0)
    training.resume(half)
    training.epoch()
    training.save(resumed)
    assert (flat(tenora.load(resumed)) == flat(tenora.load(end))) == (lost == "nothing")


def test_a_finished_run_resumes_to_its_end(uninterrupted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (uninterrupted / "last.safetensors").read_bytes()
    example("digits").main(["--epochs", "4", "--output", str(uninterrupted), "--resume"])
    assert accuracy_of(capsys.readouterr().out) > 90.0
    assert (uninterrupted / "last.safetensors").read_bytes() == before


def test_another_plan_is_refused(uninterrupted: Path) -> None:
    with pytest.raises(SystemExit, match="'epochs': 4.*start without --resume"):
        example("digits").main(["--epochs", "5", "--output", str(uninterrupted), "--resume"])


def test_a_missing_state_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        example("digits").main(["--epochs", "4", "--output", str(tmp_path), "--resume"])


def test_the_parts_of_the_data_share_no_image_and_keep_proportions() -> None:
    parts = example("digits").load()
    sizes = [len(part) for part in parts]
    assert sizes == [1293, 144, 360]
    rows = [{tuple(image) for image in part.tensors[0].flatten(1).tolist()} for part in parts]
    assert len(rows[0] | rows[1] | rows[2]) == 1797
    for part in parts:
        counts = part.tensors[1].bincount(minlength=10)
        assert counts.max().item() / counts.min().item() < 1.2
