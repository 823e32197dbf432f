"""Calls every face of every op with hostile arguments: only Python exceptions may come out, and nothing may stay.

    python ci/fuzz_ops.py [--calls 200000] [--least 100] [--seed N] [--backend NAME ...] [--only OP]

- A face is a function, a method, an in-place method or an `out=` form of a record. Each gets its share of the calls,
  at least `--least`.
- Arguments come from the schema: mostly plausible ones, mixed with extreme numbers, wrong types, odd layouts and
  shapes. A part of the tensors needs gradients, and results are then differentiated.
- Workers are processes with a limit on memory; each writes down the call it is about to make. One that dies or
  hangs is a failure that names this call, and the rest goes on in a new worker.
- After each face the live tensors, storages and nodes must be those from before.
- The seed is the day's unless given, is printed, and reproduces a run; `--only` narrows it to one op.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import gc
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.schema import Parameter

api: Any = tenora  # most of its names are served at run time

MEMORY = 6 << 30  # bytes of address space beyond which a worker's requests fail
HANG = 120  # seconds that one call may take
SHAPES = [
    (),
    (1,),
    (3,),
    (0,),
    (2, 3),
    (3, 3),
    (4, 1),
    (2, 0, 3),
    (2, 3, 4),
    (1, 2, 3, 4),
    (2, 1, 2, 1, 2),
    (1,) * 7,
]
INTEGERS = [
    0,
    1,
    -1,
    2,
    3,
    -2,
    5,
    7,
    64,
    65,
    -65,
    2**31,
    2**31 - 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**30,
]
FLOATS = [0.0, -0.0, 1.0, 0.5, -1.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")]
WORDS = [
    "mean",
    "sum",
    "none",
    "constant",
    "reflect",
    "trunc",
    "floor",
    "tanh",
    "",
    "no such word",
    "\ud800",
    "é" * 70,
]
#: Errors that say the implementation went wrong rather than the call.
BUGS = (SystemError, AssertionError, UnicodeError, RecursionError, NameError, UnboundLocalError)


class Odd:
    """Looks like a number and fails."""

    def __index__(self) -> int:
        raise ValueError("no number after all")

    def __float__(self) -> float:
        raise ZeroDivisionError("no number after all")

    def __len__(self) -> int:
        return 2**62


WRONG: list[Any] = [
    None,
    "text",
    b"bytes",
    object(),
    Odd(),
    [],
    (),
    {},
    [None],
    [[1], [2, 3]],
    1j,
    True,
    range(3),
    ...,
]


class Arguments:
    """Draws arguments for a record."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random.random() < probability

    def tensor(self) -> Any:
        """A tensor of a random shape, dtype, layout and content."""
        shape = self.random.choice(SHAPES)
        name = self.random.choice(tenora_ops.samples.ALL) if self.chance(0.5) else "float32"
        dtype = getattr(tenora, name)
        numbers = np.random.default_rng(self.random.getrandbits(32))
        values = numbers.integers(-4, 9, shape) if self.chance(0.5) else numbers.standard_normal(shape) * 3
        with np.errstate(all="ignore"):
            tensor = api.tensor(np.asarray(values).tolist()).to(dtype).reshape(shape)
        if self.chance(0.1) and dtype.is_floating_point and tensor.numel():
            tensor.reshape(-1)[0] = self.random.choice(FLOATS)
        layout = self.random.randrange(8)
        if layout == 0 and tensor.ndim:
            tensor = tensor.transpose(0, -1)
        elif layout == 1 and tensor.ndim:
            tensor = tensor[::-1]
        elif layout == 2 and tensor.ndim:
            tensor = tensor[..., ::2]
        elif layout == 3:
            tensor = tensor.unsqueeze(0).expand(3, *tensor.shape)
        if self.chance(0.2) and (dtype.is_floating_point or dtype.is_complex):
            tensor = tensor.detach().requires_grad_()
        return tensor

    def integer(self) -> int:
        """A small number, or one at the edge of what fits."""
        return self.random.randrange(-3, 5) if self.chance(0.7) else self.random.choice(INTEGERS)

    def integers(self) -> list[int]:
        """Up to five of them, rarely very many."""
        count = 1000 if self.chance(0.01) else self.random.randrange(6)
        return [self.integer() for _ in range(count)]

    def scalar(self) -> Any:
        """A Python number of any kind."""
        return self.random.choice([self.integer(), self.random.choice(FLOATS), True, 1 - 2j])

    def value(self, parameter: Parameter) -> Any:
        """An argument for a parameter, of its type or not."""
        if self.chance(0.06):
            return self.random.choice(WRONG)
        kind = parameter.type
        if kind.endswith("?") or "None" in kind:
            if self.chance(0.4):
                return None
            kind = kind.removesuffix("?").removesuffix(" | None")
        if kind == "Tensor | Scalar":
            kind = "Tensor" if self.chance(0.6) else "Scalar"
        makers: dict[str, Callable[[], Any]] = {
            "Tensor": self.tensor,
            "Tensor[]": lambda: [self.tensor() for _ in range(self.random.randrange(4))],
            "Tensor?[]": lambda: [
                self.tensor() if self.chance(0.7) else None for _ in range(self.random.randrange(4))
            ],
            "Scalar": self.scalar,
            "int": self.integer,
            "int[]": self.integers,
            "float": lambda: self.random.choice(FLOATS) if self.chance(0.5) else self.random.random(),
            "bool": lambda: self.chance(0.5),
            "str": lambda: self.random.choice(WORDS),
            "dtype": lambda: getattr(tenora, self.random.choice(tenora_ops.samples.ALL)),
            "device": lambda: self.random.choice(["cpu", api.device("cpu"), "cpu:7", "nowhere", ""]),
            "Generator": lambda: api.Generator().manual_seed(self.random.getrandbits(16)),
        }
        return makers[kind]() if kind in makers else self.scalar()

    def call(self, record: Record) -> tuple[list[Any], dict[str, Any]]:
        """Positional arguments and options; sometimes one too few, one too many or one of no meaning."""
        positional: list[Any] = []
        options: dict[str, Any] = {}
        for parameter in record.schema.parameters:
            required = (
                parameter.name in {p.name for p in record.schema.operands} and "?" not in parameter.type
            )
            if not required and self.chance(0.4):
                continue
            if parameter.keyword_only or (options and not required) or self.chance(0.1):
                options[parameter.name] = self.value(parameter)
            else:
                positional.append(self.value(parameter))
        if self.chance(0.03) and positional:
            positional.pop()
        if self.chance(0.03):
            positional.append(self.random.choice(WRONG))
        if self.chance(0.02):
            options["no_such_option"] = 1
        return positional, options


def call_method(name: str, positional: list[Any], options: dict[str, Any], _: Arguments) -> Any:
    """Calls a method of the first argument."""
    return getattr(positional[0], name)(*positional[1:], **options)


def faces(record: Record) -> Iterator[tuple[str, Callable[[list[Any], dict[str, Any], Arguments], Any]]]:
    """The ways to call an op."""
    function = tenora_ops.REGISTERED[record.name]
    yield record.name, lambda positional, options, _: function(*positional, **options)
    for name in (record.method_name, record.inplace_name if record.inplace else ""):
        if name:
            yield f"Tensor.{name}", functools.partial(call_method, name)
    if record.out:
        yield (
            f"{record.name}(out=)",
            lambda positional, options, draw: function(*positional, **options, out=draw.tensor()),
        )


def differentiate(result: Any) -> None:
    """Runs backward through every result that has a history."""
    for tensor in result if isinstance(result, tuple | list) else [result]:
        if isinstance(tensor, api.Tensor) and tensor.requires_grad and tensor.grad_fn is not None:
            tensor.backward(api.ones_like(tensor))


def describe(positional: list[Any], options: dict[str, Any]) -> str:
    """Arguments in one line, tensors by shape, dtype and strides."""

    def one(value: Any) -> str:
        if isinstance(value, api.Tensor):
            return f"{value.dtype}{list(value.shape)}strides{list(value.stride())}{'g' if value.requires_grad else ''}"
        if isinstance(value, list) and any(isinstance(v, api.Tensor) for v in value):
            return "[" + ", ".join(one(v) for v in value) + "]"
        return ascii(value)[:200]

    return ", ".join([*(one(v) for v in positional), *(f"{k}={one(v)}" for k, v in options.items())])


def counts() -> dict[str, int]:
    """Live engine objects."""
    gc.collect()
    live = api.live()
    return {name: live[name] for name in ("tensors", "storages", "nodes")}


def try_face(
    name: str, record: Record, invoke: Any, repeat: int, seed: str, log: Path
) -> tuple[list[str], int]:
    """Failures of one face, and how many of its calls were answered."""
    failures, answered = [], 0
    draw = Arguments(f"{seed}/{name}")
    before = counts()
    for number in range(repeat):
        positional, options = draw.call(record)
        text = f"{name} call {number}: ({describe(positional, options)})"
        log.write_text(text, encoding="utf-8", errors="replace")
        signal.alarm(HANG)
        result: Any = None
        try:
            result = invoke(positional, options, draw)
            answered += 1
            differentiate(result)
        except BUGS as error:
            failures.append(f"{text}: {type(error).__name__}: {ascii(str(error))[:300]}")
        except Exception:  # any other exception is a fine answer to a hostile call
            pass
        finally:
            signal.alarm(0)
        del positional, options
        result = None
    after = counts()
    if after != before:
        failures.append(f"{name}: left alive { ({k: after[k] - before[k] for k in after}) }")
    return failures, answered


def work(arguments: argparse.Namespace) -> None:
    """A worker: the faces from `--start` on, one JSON line each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.setrecursionlimit(2000)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang ends the worker, and the log names the call
    with api.use_backend(arguments.backend[0]):
        api.ones(2)  # the backend is loaded before anything is counted
        for number, (name, record, invoke) in enumerate(all_faces(arguments.only)):
            if number < arguments.start:
                continue
            failures, answered = try_face(
                name, record, invoke, arguments.least, arguments.seed, Path(arguments.log)
            )
            print(json.dumps([number, name, failures, answered]), flush=True)


def all_faces(only: str | None) -> list[tuple[str, Record, Any]]:
    """Every face of the public records."""
    return [
        (name, record, invoke)
        for record in tenora_ops.records()
        if (record.public or record.method_name or record.inplace) and only in (None, record.name)
        for name, invoke in faces(record)
    ]


def drive(arguments: argparse.Namespace, backend: str, repeat: int, log: Path) -> tuple[list[str], int, int]:
    """Runs workers over all faces of a backend: failures, calls, answers."""
    failures: list[str] = []
    start = calls = answers = 0
    total = len(all_faces(arguments.only))
    while start < total:
        command = [sys.executable, __file__, "--worker", "--backend", backend, "--least", str(repeat)]
        command += ["--seed", arguments.seed, "--start", str(start), "--log", str(log)]
        command += ["--only", arguments.only] if arguments.only else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            number, _, found, answered = json.loads(line)
            start, calls, answers = number + 1, calls + repeat, answers + answered
            failures += [f"[{backend}] {text}" for text in found]
        if done.returncode != 0:
            call = log.read_text(encoding="utf-8") if log.exists() else "before the first call"
            failures.append(
                f"[{backend}] ended with {done.returncode} in {call}: {done.stderr[-300:].strip()}"
            )
            start += 1
    return failures, calls, answers


def main() -> int:
    """Drives the workers and prints what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--seed", default=datetime.date.today().isoformat())
    parser.add_argument("--backend", nargs="+", default=["reference", "cpu_mkl"])
    parser.add_argument("--only")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--log", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments)
        return 0
    total = len(all_faces(arguments.only))
    repeat = max(arguments.least, -(-arguments.calls // (total * len(arguments.backend))))
    print(
        f"fuzz_ops: seed {arguments.seed}, {total} faces, {repeat} calls each on {', '.join(arguments.backend)}"
    )
    seen: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for backend in arguments.backend:
            failures, calls, answers = drive(arguments, backend, repeat, Path(folder) / "call")
            seen["calls"] += calls
            seen["failures"] += len(failures)
            print(f"{backend}: {calls} calls, {answers} answered, {len(failures)} failures")
            for text in failures:
                print(f"  {text}")
    print(f"fuzz_ops: {seen['calls']} calls, {seen['failures']} failures")
    return 1 if seen["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
