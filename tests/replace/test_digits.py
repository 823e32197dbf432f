"""`make demo`: how well it reads, what it writes and draws, and that an interrupted run ends in the same bits."""

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
MOST = 120  # seconds that the demo may take
FIGURES = ("loss", "accuracy", "validation loss", "validation accuracy")


def accuracy_of(printed: str) -> float:
    """The number of the last line."""
    found = re.fullmatch(r"test accuracy: (\d+\.\d\d) %", printed.splitlines()[-1])
    assert found, printed
    return float(found[1])


def best_epoch(history: list[dict[str, float]]) -> int:
    """The place of the highest accuracy on the validation part; of equal ones that of the lowest loss."""
    return max(
        range(len(history)),
        key=lambda i: (history[i]["validation accuracy"], -history[i]["validation loss"]),
    )


def check_best_weights(folder: Path, tested: float) -> int:
    """`best.safetensors` must judge the validation part as the best epoch did, and be what was tested.

    Returns how many epochs followed the best.
    """
    digits = example("digits")
    history = tenora.load(folder / "last.safetensors")["history"]
    net = digits.Net()
    net.load_state_dict(tenora.load(folder / "best.safetensors"))
    net.eval()
    data = digits.load()
    loss, accuracy, _ = digits.evaluate(net, data.validation)
    assert f"{digits.evaluate(net, data.test)[1]:.2f}" == f"{tested:.2f}"
    best = best_epoch(history)
    assert (loss, accuracy) == (history[best]["validation loss"], history[best]["validation accuracy"])
    return len(history) - 1 - best


def shown_by(bar: str) -> dict[str, float]:
    """The figures behind a progress bar."""
    return {name: float(number) for name, number in re.findall(r"[,\s]\s*([a-z ]+)=([-+.\de]+)", bar)}


def test_the_demo_reads_digits(tmp_path: Path) -> None:
    folders = [tmp_path / str(seed) for seed in range(3)]
    runs = [
        run_program("digits", "--seed", seed, "--output", folder, timeout=MOST)
        for seed, folder in enumerate(map(str, folders))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0], runs[-1].stderr
    accuracies = [accuracy_of(run.stdout) for run in runs]
    assert sum(accuracies) / 3 >= 98.5 and min(accuracies) >= 97.8, accuracies
    after_best = [check_best_weights(*run) for run in zip(folders, accuracies, strict=True)]
    assert max(after_best) > 0, "the last epoch was always the best"
    for folder, run in zip(folders, runs, strict=True):
        for name in ("curves.png", "mistakes.png"):
            assert (folder / name).read_bytes().startswith(PNG)
        last = run.stderr.split("\r")[-1]
        history = tenora.load(folder / "last.safetensors")["history"]
        assert "train: 100% 30/30" in last
        assert shown_by(last) == pytest.approx({name: history[-1][name] for name in FIGURES}, rel=1e-3)


def test_the_best_epoch_is_the_most_accurate_and_of_equals_the_one_of_least_loss() -> None:
    digits = example("digits")
    training = digits.Training(digits.load(), 7, 0)
    made_up = [(90.0, 0.5), (90.0, 0.6), (89.0, 0.1), (95.0, 0.9), (94.9, 0.2), (95.0, 0.8), (95.0, 0.8)]
    judged = []
    for accuracy, loss in made_up:
        training.history.append({"validation accuracy": accuracy, "validation loss": loss, "loss": -loss})
        judged.append(training.is_best())
    assert judged == [True, False, False, True, False, True, True]


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


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that the program has drawn and closed."""
    figures: list[Any] = []
    monkeypatch.setattr(example("digits").plt, "close", figures.append)
    return figures


def test_a_finished_run_resumes_to_its_end(
    uninterrupted: Path, capsys: pytest.CaptureFixture[str], drawn: list[Any]
) -> None:
    before = (uninterrupted / "last.safetensors").read_bytes()
    example("digits").main(["--epochs", "4", "--output", str(uninterrupted), "--resume"])
    accuracy = accuracy_of(capsys.readouterr().out)
    assert accuracy > 90.0
    assert (uninterrupted / "last.safetensors").read_bytes() == before
    check_best_weights(uninterrupted, accuracy)
    curves, mistakes = drawn
    history = tenora.load(uninterrupted / "last.safetensors")["history"]
    lines = [line for axes in curves.axes for line in axes.lines]
    expected = [[figures[name] for figures in history] for name in FIGURES]
    assert sorted(list(line.get_ydata()) for line in lines) == sorted(expected)
    panels = [axes for axes in mistakes.axes if axes.images]
    assert len(panels) == round(360 * (100.0 - accuracy) / 100.0) > 0


def test_the_sheet_shows_the_digits_read_wrongly(tmp_path: Path, drawn: list[Any]) -> None:
    digits = example("digits")
    data = digits.load().test
    images, labels = data.tensors
    read = labels.clone()
    wrong = [3, 40, 41, 200, 300, 358, 359]
    read[wrong] = (labels[wrong] + 1) % 10
    for count, answer in ((7, read), (0, labels)):
        digits.plot_mistakes(data, answer, tmp_path / "sheet.png")
        panels = [axes for axes in drawn[-1].axes if axes.images]
        assert drawn[-1].get_suptitle() == f"{count} of 360 read wrongly"
        assert len(panels) == count
    for number, axes in zip(wrong, [axes for axes in drawn[0].axes if axes.images], strict=True):
        assert axes.images[0].get_array().tolist() == images[number, 0].tolist()
        assert axes.get_title() == f"{labels[number].item()} read as {read[number].item()}"


def test_another_plan_is_refused(uninterrupted: Path) -> None:
    with pytest.raises(SystemExit, match="'epochs': 4.*start without --resume"):
        example("digits").main(["--epochs", "5", "--output", str(uninterrupted), "--resume"])


def test_a_missing_state_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match="there is no .*last.safetensors to go on from: start without --resume"
    ):
        example("digits").main(["--epochs", "4", "--output", str(tmp_path), "--resume"])


@pytest.mark.parametrize("epochs", ["0", "-3"])
def test_no_epochs_are_an_error_of_the_arguments(
    epochs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        example("digits").main(["--epochs", epochs, "--output", str(tmp_path)])
    assert f"{epochs} is no number of epochs" in capsys.readouterr().err


def test_the_parts_of_the_data_share_no_image_and_keep_proportions() -> None:
    parts = example("digits").load()
    sizes = [len(part) for part in parts]
    assert sizes == [1293, 144, 360]
    rows = [{tuple(image) for image in part.tensors[0].flatten(1).tolist()} for part in parts]
    assert len(rows[0] | rows[1] | rows[2]) == 1797
    for part in parts:
        counts = part.tensors[1].bincount(minlength=10)
        assert counts.max().item() / counts.min().item() < 1.2
