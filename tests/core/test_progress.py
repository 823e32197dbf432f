"""Progress bars: what they show where, that they never break a loop, nesting, and that they keep no tensor alive."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tenora
from tenora.utils import progress, progress_bar


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self) -> bool:
        return True


class Gone(Terminal):
    """A terminal that breaks at the second write."""

    left = 1

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise BrokenPipeError
        return super().write(text)


SHOWN_CURSOR = "\x1b[?25h"
DISPLAYS = {"tqdm": "_Tqdm", "rich": "_Rich", "plain": "_Plain"}


@pytest.fixture(params=DISPLAYS)
def display(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each way to draw on a terminal; those before it are as if not installed."""
    for name in list(DISPLAYS)[: list(DISPLAYS).index(request.param)]:
        for module in (name, f"{name}.progress", f"{name}.console"):
            monkeypatch.setitem(sys.modules, module, None)
    yield request.param
    assert progress_bar._Plain.open == []
    assert (progress_bar._Rich.shared, progress_bar._Rich.users) == (None, 0)


def test_lines_in_a_file() -> None:
    file = io.StringIO()
    bar = progress(range(4), desc="train", mininterval=0, file=file)
    for step in bar:
        bar.set_postfix(loss=tenora.tensor(0.123456), step=step, rate=1e-5, note="x")
    lines = file.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("train:  25% 1/4 [00:00<00:00, ")
    assert lines[3].startswith("train: 100% 4/4 [")
    assert lines[3].endswith("it/s, loss=0.1235, step=3, rate=1e-05, note=x]")


def test_a_file_gets_few_lines() -> None:
    file = io.StringIO()
    assert list(progress(range(2000), file=file)) == list(range(2000))
    assert len(file.getvalue().splitlines()) == 1
    assert list(progress(range(2000), file=file, leave=False)) == list(range(2000))
    assert len(file.getvalue().splitlines()) == 1


def test_without_a_length() -> None:
    file = io.StringIO()
    bar = progress(iter("abc"), unit="letter", file=file)
    assert list(bar) == ["a", "b", "c"]
    assert file.getvalue().startswith("3letter [00:00, ")
    with pytest.raises(TypeError, match="Pass total="):
        len(bar)


def test_by_hand() -> None:
    file = io.StringIO()
    with progress(total=10, initial=2, file=file, mininterval=0) as bar:
        bar.update(3)
        bar.set_description("half")
        bar.refresh()
    assert [line.split(" [")[0] for line in file.getvalue().splitlines()] == [
        " 50% 5/10",
        "half:  50% 5/10",
    ]
    assert len(bar) == 10
    with pytest.raises(TypeError, match=r"call update\(\)"):
        list(progress(total=3, disable=True))


def test_disabled_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    bar = progress([1, 2], disable=True)
    for _ in bar:
        bar.set_postfix(loss=1.0)
        bar.refresh()
    assert bar.n == 2
    assert capfd.readouterr() == ("", "")


def test_the_default_is_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    list(progress([1, 2]))
    out, err = capfd.readouterr()
    assert out == ""
    assert "2/2" in err


def test_on_a_terminal(display: str) -> None:
    file = Terminal()
    bar = progress(range(3), desc="train", mininterval=0, file=file)
    assert type(bar._display).__name__ == DISPLAYS[display]
    for step in bar:
        bar.set_postfix({"acc": 0.5}, step=step)
    text = file.getvalue()
    assert "train" in text
    assert "acc=0.5, step=2" in text
    assert text.count("\n") == 1 and text.removesuffix(SHOWN_CURSOR).endswith("\n")


def test_nested(display: str) -> None:
    file = Terminal()
    seen = [
        (epoch, step)
        for epoch in progress(range(2), desc="epochs", file=file, mininterval=0)
        for step in progress(range(3), desc="steps", file=file, mininterval=0, leave=False)
    ]
    assert seen == [(epoch, step) for epoch in range(2) for step in range(3)]
    assert "epochs" in file.getvalue()
    assert "steps" in file.getvalue()


def test_breaks_and_errors_close_the_bar(display: str) -> None:
    bar = progress(range(5), file=Terminal(), mininterval=0)
    for step in bar:
        if step == 2:
            break
    assert bar._display is None
    bar = progress(range(5), file=Terminal(), mininterval=0)
    with pytest.raises(KeyError):
        for _ in bar:
            raise KeyError
    assert bar._display is None

    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("from the loader")

    with pytest.raises(KeyError, match="from the loader"):
        list(progress(failing(), file=Terminal(), mininterval=0))


@pytest.mark.parametrize("file", [Gone, Terminal, io.StringIO])
def test_a_broken_display_lets_the_loop_go_on(display: str, file: Any) -> None:
    target = file()
    bar = progress(range(5), file=target, mininterval=0)
    done = []
    for step in bar:
        done.append(step)
        if file is not Gone and step == 1:
            target.close()
        bar.set_postfix(step=step)
    assert done == [0, 1, 2, 3, 4]


def test_a_value_that_cannot_be_shown() -> None:
    class Strange:
        def __str__(self) -> str:
            raise ValueError("no text")

    file = io.StringIO()
    bar = progress(range(3), file=file, mininterval=0)
    for _ in bar:
        bar.set_postfix(value=Strange(), loss=0.5)
    assert file.getvalue().count("value=?, loss=0.5]") == 3


def test_a_display_that_fails_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> None:
        raise RuntimeError("no such terminal")

    monkeypatch.setattr(progress_bar._Plain, "show", failing)
    for name in ("tqdm", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    bar = progress(range(3), file=Terminal(), mininterval=0)
    assert list(bar) == [0, 1, 2]
    assert bar._display is None
    assert progress_bar._Plain.open == []


def test_losses_are_read_when_drawn_and_let_go() -> None:
    weight = tenora.ones(3, requires_grad=True)
    file = io.StringIO()
    bar = progress(range(3), file=file, mininterval=1000)
    for _ in bar:
        loss = (weight * 2).sum()
        bar.set_postfix(loss=loss)
        assert not bar._values["loss"].requires_grad
    assert bar._values == {}
    assert "loss=6]" in file.getvalue()


def test_only_known_arguments() -> None:
    with pytest.raises(TypeError):
        progress([1], colour="red")
