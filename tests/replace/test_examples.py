"""The other examples, a few steps each: they learn, write what they promise, and a seed decides all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from example_programs import example

import tenora
import tenora_dispatch
from tenora import nn


def run(capsys: pytest.CaptureFixture[str], name: str, *arguments: str | Path) -> str:
    """What an example prints."""
    example(name).main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def numbers(printed: str, before: str) -> list[float]:
    """The numbers that stand behind a word."""
    return [float(number) for number in re.findall(rf"{before} ([-+.\de]+)", printed)]


def test_listing1_learns(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "listing1", "--epochs", 5)
    losses = numbers(printed, "loss")
    assert len(losses) == 5 and losses[-1] < losses[0] / 3
    assert numbers(printed, "test accuracy:")[0] > 90.0
    assert numbers(run(capsys, "listing1", "--epochs", 1), "loss") == losses[:1]
    assert numbers(run(capsys, "listing1", "--epochs", 1, "--seed", 1), "loss") != losses[:1]


def test_listing1_linear_layer_is_nn_linear() -> None:
    layer = example("listing1").LinearLayer(3, 2)
    x = tenora.randn(4, 3)
    same = nn.functional.linear(x, layer.weight.t(), layer.bias)
    assert tenora.allclose(layer(x), same, rtol=1e-5, atol=1e-6)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_listing2_draws_samples_that_come_nearer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    printed = run(capsys, "listing2_gan", "--epochs", 6, "--output", tmp_path)
    distances = numbers(printed, "distance")
    assert len(distances) == 7 and distances[-1] < distances[0] * 0.7
    sheet = example("listing2_gan").plt.imread(tmp_path / "samples.png")
    assert sheet.shape == (400, 400, 4) and sheet.std() > 0.1
    again = run(capsys, "listing2_gan", "--epochs", 1, "--output", tmp_path)
    assert numbers(again, "distance")[:2] == distances[:2]


def test_listing2_networks_learn_apart() -> None:
    game = example("listing2_gan").Game()
    tenora.manual_seed(0)
    before = [p.detach().clone() for p in game.generator.parameters()]
    game.generator_optimizer.step = lambda: None
    game.step(tenora.rand(8, 1, 8, 8))
    pairs = zip(before, game.generator.parameters(), strict=True)
    assert all(bool((old == new).all()) for old, new in pairs)


def test_char_rnn_learns_and_writes(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "char_rnn", "--steps", 150, "--length", 80)
    bits = numbers(printed, r"step \d+:")
    assert len(bits) == 3 and bits[2] < bits[0] - 0.5 and bits[2] < 4.0
    written = printed.split("bits per character\n")[-1]
    assert written.startswith("\ndef ") and len(written) == len("\ndef ") + 80 + 1
    again = run(capsys, "char_rnn", "--steps", 50, "--length", 0)
    assert numbers(again, r"step \d+:") == bits[:1]


def test_char_rnn_cell_follows_the_equations() -> None:
    """The equations, gate by gate."""
    tenora.manual_seed(0)
    cell = example("char_rnn").LSTMCell(3, 2)
    x, output, memory = tenora.randn(1, 3), tenora.randn(1, 2), tenora.randn(1, 2)
    gates = (x @ cell.from_input.weight.t() + cell.from_input.bias + output @ cell.from_hidden.weight.t())[0]
    take, keep, show = (gates[2 * gate : 2 * gate + 2].sigmoid() for gate in range(3))
    remembered = keep * memory + take * gates[6:].tanh()
    expected = show * remembered.tanh(), remembered
    for got, wanted in zip(cell(x, (output, memory)), expected, strict=True):
        assert tenora.allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_resume_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    """On another backend the numbers agree up to rounding, on the same one to the bit."""
    used = tenora.current_backend("cpu")
    installed = [row.name for row in tenora_dispatch.backends() if "cpu" in row.device_types]
    other = next(name for name in installed if name != used)
    printed = run(capsys, "resume_elsewhere", "--second", other, "--epochs", 2)
    losses = [line.split("loss ")[1] for line in printed.splitlines() if "loss" in line]
    assert losses[0] == losses[2] and len(losses) == 4
    assert abs(float(losses[1]) - float(losses[3])) < 2e-5
    assert 0 < numbers(printed, "difference of a weight:")[0] < 1e-4
    same = run(capsys, "resume_elsewhere", "--second", used, "--epochs", 2)
    assert numbers(same, "difference of a weight:") == [0.0]
    assert len(set(re.findall(r"test accuracy (\S+)", same))) == 1
