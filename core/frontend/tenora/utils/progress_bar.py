"""`progress`: how far a loop is, with loss and metrics.

- On a terminal the bar is tqdm's, else rich's, else a plain one; where output goes to a file, one line now and then.
- A bar never breaks the loop: a file that cannot be written and a value without text are passed over, a display that
  fails is given up.
- Values are read when they are shown, a few times per second: a loss on a device is not waited for at each step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, TextIO, TypeVar

from tenora_dispatch import errors
from tenora_engine import Tensor

T = TypeVar("T")

_ON_TERMINAL, _IN_FILE = 0.1, 10.0  # seconds between two drawings
_WIDTH = 20


class _Display(Protocol):
    """What draws a bar."""

    def show(self, bar: Progress[Any]) -> None:
        """Draws the bar as it is now."""

    def close(self, bar: Progress[Any]) -> None:
        """Draws the bar a last time, or takes it away."""


class _Quiet:
    """A file whose writes never fail. Where they do, rich would end the program."""

    def __init__(self, file: TextIO) -> None:
        self.file = file

    def write(self, text: str) -> int:
        with suppress(Exception):
            self.file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(Exception):
            self.file.flush()

    def isatty(self) -> bool:
        try:
            return self.file.isatty()
        except Exception:
            return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class Progress(Generic[T]):
    """A bar over an iterable, or one that `update` moves. `progress` makes it."""

    def __init__(
        self, iterable: Iterable[T] | None, total: int | None, desc: str, unit: str, initial: int, leave: bool
    ) -> None:
        self.iterable = iterable
        self.total = _length(iterable) if total is None else total
        self.desc = desc
        self.unit = unit
        self.n = initial
        self.leave = leave
        self.initial = initial
        self.start = self._drawn = time.monotonic()
        self._values: dict[str, Any] = {}
        self._display: _Display | None = None
        self._interval = 0.0

    def __iter__(self) -> Iterator[T]:
        if self.iterable is None:
            raise errors.ArgumentTypeError(
                "[progress] iterable: got none, expected one to iterate over. Pass one, or call update()."
            )
        with self:
            for item in self.iterable:
                yield item
                self.update()

    def __len__(self) -> int:
        if self.total is None:
            raise errors.ArgumentTypeError(
                "[progress] total: got none, expected a number for len(). Pass total=."
            )
        return self.total

    def __enter__(self) -> Progress[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def update(self, n: int = 1) -> None:
        """Moves the bar by `n`."""
        self.n += n
        if self._display is not None and time.monotonic() - self._drawn >= self._interval:
            self.refresh()

    def set_postfix(self, values: dict[str, Any] | None = None, **more: Any) -> None:
        """Shows these values behind the bar, numbers to four digits; tensors of one element are numbers."""
        if self._display is None:
            return
        self._values = {
            name: value.detach() if isinstance(value, Tensor) else value
            for name, value in {**(values or {}), **more}.items()
        }

    def set_description(self, desc: str = "") -> None:
        """Shows this text before the bar."""
        self.desc = desc

    def refresh(self) -> None:
        """Draws the bar now."""
        self._drawn = time.monotonic()
        if self._display is not None:
            try:
                self._display.show(self)
            except Exception:  # a terminal that the display cannot draw on: the loop is what matters
                self.close()

    def close(self) -> None:
        """Draws the bar a last time. A loop over the bar, and `with`, do it by themselves."""
        display, self._display = self._display, None
        if display is not None:
            with suppress(Exception):
                display.close(self)
        self._values = {}

    def postfix(self) -> str:
        """The values as text."""
        return ", ".join(f"{name}={_text(value)}" for name, value in self._values.items())

    def line(self) -> str:
        """The whole bar as text: `train: 30% 3/10 [00:01<00:02, 2.5it/s, loss=0.5]`."""
        spent = time.monotonic() - self.start
        rate = (self.n - self.initial) / spent if spent > 0 else 0.0
        count, left = f"{self.n}{self.unit}", ""
        if self.total:
            count = f"{100 * self.n // self.total:3d}% {self.n}/{self.total}"
            left = f"<{_clock((self.total - self.n) / rate)}" if rate else "<?"
        speed = f"{rate:.4g}{self.unit}/s"
        inside = ", ".join(part for part in (f"{_clock(spent)}{left}", speed, self.postfix()) if part)
        return f"{self.desc + ': ' if self.desc else ''}{count} [{inside}]"


def _length(iterable: Any) -> int | None:
    try:
        return len(iterable)
    except Exception:
        return None


def _text(value: Any) -> str:
    try:
        if isinstance(value, Tensor) and value.numel() == 1:
            value = value.item()
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    except Exception:
        return "?"


def _clock(seconds: float) -> str:
    minutes, second = divmod(max(int(seconds), 0), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute:02d}:{second:02d}"


class _Lines:
    """One line per drawing, for output that is read later."""

    def __init__(self, bar: Progress[Any], file: _Quiet) -> None:
        self.file = file
        self.told: int | None = None

    def show(self, bar: Progress[Any]) -> None:
        self.told = bar.n
        print(bar.line(), file=self.file, flush=True)

    def close(self, bar: Progress[Any]) -> None:
        if bar.leave and self.told != bar.n:
            self.show(bar)


class _Plain:
    """One line of a terminal, drawn over and over. Of nested bars the innermost is seen."""

    open: ClassVar[list[_Plain]] = []

    def __init__(self, bar: Progress[Any], file: _Quiet) -> None:
        self.file = file
        self.open.append(self)

    def show(self, bar: Progress[Any]) -> None:
        if self.open[-1] is self:
            done = min(_WIDTH * bar.n // bar.total, _WIDTH) if bar.total else 0
            drawing = f"|{'#' * done}{' ' * (_WIDTH - done)}| " if bar.total else ""
            print(f"\r{drawing}{bar.line()}\x1b[K", end="", file=self.file, flush=True)

    def close(self, bar: Progress[Any]) -> None:
        try:
            if bar.leave:
                self.show(bar)
        finally:
            self.open.remove(self)
            print(end="\n" if bar.leave else "\r\x1b[K", file=self.file, flush=True)


class _Tqdm:
    """tqdm's bar."""

    def __init__(self, bar: Progress[Any], file: _Quiet) -> None:
        self.bar: Any = import_module("tqdm").tqdm(
            total=bar.total, desc=bar.desc, unit=bar.unit, initial=bar.n, leave=bar.leave, file=file
        )

    def show(self, bar: Progress[Any]) -> None:
        self.bar.n = bar.n
        self.bar.set_description(bar.desc, refresh=False)
        self.bar.set_postfix_str(bar.postfix(), refresh=False)
        self.bar.refresh()

    def close(self, bar: Progress[Any]) -> None:
        try:
            self.show(bar)
        finally:
            self.bar.close()


class _Rich:
    """rich's bar; nested ones are lines of one display."""

    shared: ClassVar[Any] = None
    users: ClassVar[int] = 0

    def __init__(self, bar: Progress[Any], file: _Quiet) -> None:
        rich, console = import_module("rich.progress"), import_module("rich.console")
        if _Rich.shared is None:
            columns = [*rich.Progress.get_default_columns(), rich.TextColumn("{task.fields[text]}")]
            shared = rich.Progress(*columns, console=console.Console(file=file))
            shared.start()
            _Rich.shared = shared
        _Rich.users += 1
        self.task = _Rich.shared.add_task(bar.desc, total=bar.total, completed=bar.n, text="")

    def show(self, bar: Progress[Any]) -> None:
        _Rich.shared.update(
            self.task, completed=bar.n, description=bar.desc, text=bar.postfix(), refresh=True
        )

    def close(self, bar: Progress[Any]) -> None:
        try:
            self.show(bar)
            if not bar.leave:
                _Rich.shared.remove_task(self.task)
        finally:
            _Rich.users -= 1
            if _Rich.users == 0:
                shared, _Rich.shared = _Rich.shared, None
                shared.stop()


def _display(bar: Progress[Any], file: _Quiet) -> _Display | None:
    kinds: tuple[Callable[[Progress[Any], _Quiet], _Display], ...] = (_Tqdm, _Rich, _Plain)
    if not file.isatty():
        kinds = (_Lines,)
    for kind in kinds:
        try:
            return kind(bar, file)
        except Exception:  # not installed, or it does not like this terminal
            continue
    return None


def progress(
    iterable: Iterable[T] | None = None,
    total: int | None = None,
    desc: str = "",
    unit: str = "it",
    *,
    leave: bool = True,
    disable: bool = False,
    initial: int = 0,
    mininterval: float | None = None,
    file: TextIO | None = None,
) -> Progress[T]:
    """A progress bar: iterate over it, or use it with `with` and call `update(n)`.

    `set_postfix(loss=loss)` shows values behind it; tensors of one element are read when they are drawn. `total`:
    default the length of `iterable` if it has one. `leave=False` takes the bar away at the end, `disable=True` draws
    nothing at all. `mininterval`: seconds between two drawings, default 0.1 on a terminal and 10 elsewhere, where a
    bar is a line now and then. `file`: default the standard error. Bars may be nested.

    >>> import sys, tenora
    >>> bar = tenora.utils.progress([0.5, 0.25], desc="train", disable=True)
    >>> for loss in bar:
    ...     bar.set_postfix(loss=loss)
    >>> bar.n, bar.total
    (2, 2)
    """
    bar = Progress(iterable, total, desc, unit, initial, leave)
    if not disable:
        target = _Quiet(sys.stderr if file is None else file)
        usual = _ON_TERMINAL if target.isatty() else _IN_FILE
        bar._interval = usual if mininterval is None else mininterval
        bar._display = _display(bar, target)
    return bar
