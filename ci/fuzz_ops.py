"""Calls every face of every public op with hostile arguments: only clear Python exceptions may come out.

    python ci/fuzz_ops.py [--calls 200000] [--least 100] [--seed N] [--backend NAME ...] [--only FACE [--call N]]

- A face is a function, a method, an in-place method, an `out=` form or a property (`fuzz_faces.py`). Each gets its
  share of the calls, at least `--least` over all backends. Arguments are the records' samples with something changed,
  and wild ones (`fuzz_arguments.py`). Results are differentiated, often twice.
- A failure is: a worker that dies or hangs (the call is named, the rest goes on in a new worker), an exception that
  says the implementation went wrong, a message that does not begin with `[op]`, one of an op that does not say
  what it got and expected, an operand that changed, a target that changed though the call was refused, an operand
  beside the target or one that backward changed, objects or memory left alive (again when the calls of the face are
  repeated), a face that never answers on a backend, or seldom: less than a twentieth of ten times the calls.
- Workers are processes with a limit on memory; each writes down the call it is about to make.
- The seed is the day's unless given, and is printed. With it, `--only FACE --call N` repeats one call.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import ctypes
import datetime
import gc
import json
import os
import re
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fuzz_arguments import WATCHED, Arguments, Call, OddError, api, tensors_in
from fuzz_faces import Face, faces
from tenora_dispatch import TenoraError
from tenora_engine import _engine

MEMORY = 1 << 30  # bytes of address space that a worker may take beyond what it has at its start
SMALL = 4096  # elements up to which contents are compared
#: Errors that say the implementation went wrong rather than the call.
BUGS = (SystemError, AssertionError, UnicodeError, RecursionError, NameError, UnboundLocalError)
LIBC = ctypes.CDLL(None)
CLEAR = re.compile(r"\[[^\]\n]+\] .")
#: What says what was got and expected: the house's words, a signature, or PyTorch's words, which programs look for.
FORM = re.compile(
    r"\[[^\]\n]+\] .*(\bgot\b.*\bexpected\b|\. Signature: "
    r"|index -?\d+ is out of bounds for dimension \d+ with size \d+|integer division by zero"
    r"|Mismatch in shape: grad_output\[\d+\] has a shape of .* and output\[\d+\] has a shape of "
    r"|does not require grad and does not have a grad_fn: got "
    r"|both grad_output and output are required to have the same dtype: got )",
    re.DOTALL,
)
SHOWN = 3  # failures of a face that are printed
ENOUGH = 50  # calls of which a backend answers some
SHARE = 0.05  # of the calls of a face that are answered, or it is hardly tried
AGAIN = 10  # times as many calls, before a face is said to answer seldom
LONG = 5000  # letters that nobody reads in a message
#: Faces that no call reaches here, and why.
UNANSWERED = {
    "Tensor.__delitem__": "tensors do not shrink",
    "Tensor.__reduce__": "pickles are made by __reduce_ex__",
    "Tensor.cuda": "no such device where this runs",
    "Tensor.pin_memory": "needs an accelerator",
    "nn.functional.linear_cross_entropy": "three operands whose shapes and classes fit each other: seldom drawn",
}

#: Faces that answer in fewer than one of ten calls, once at least, and why.
SELDOM = {
    **dict.fromkeys(
        ("Tensor.item", "Tensor.__complex__", "Tensor.__int__"),
        "one element, of a dtype that fits Python's type",
    ),
    **dict.fromkeys(
        ("Tensor.backward", "Tensor.retain_grad", "Tensor.register_post_accumulate_grad_hook"),
        "a leaf, or one element with a history",
    ),
    **dict.fromkeys(("Tensor.addbmm_", "Tensor.baddbmm_"), "three shapes and a target that fit each other"),
    "logspace": "numbers whose powers the dtype holds",
    "Tensor.resize_as_": "a tensor that owns its storage and shares it with none",
}


@dataclass
class Tally:
    """What one face answered."""

    answered: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_call: int = 0
    failures: list[str] = field(default_factory=list)

    def seldom(self) -> bool:
        """Whether it answers some of enough calls, but too few."""
        calls = self.answered + self.refused
        return calls >= ENOUGH and 0 < self.answered < SHARE * calls

    def add(self, other: dict[str, Any]) -> None:
        """Takes over what a worker wrote."""
        self.answered += other["answered"]
        self.refused += other["refused"]
        self.seconds += other["seconds"]
        self.failures += other["failures"]
        if other["slowest"] > self.slowest:
            self.slowest, self.slowest_call = other["slowest"], other["slowest_call"]


def differentiate(call: Call, result: Any, draw: Arguments) -> None:
    """Runs backward through every result that has a history: plainly, twice, or with a hostile gradient."""
    results = [t for t in tensors_in(result) if t.requires_grad]
    leaves = [t for v in (*call.positional, *call.options.values()) for t in tensors_in(v) if t.requires_grad]
    if not results:
        return
    kind = draw.random.random()
    try:
        if kind < 0.15:
            results[0].backward(draw.anything())
        elif kind < 0.6 and leaves:
            ones = [api.ones_like(t) for t in results]
            first = api.autograd.grad(results, leaves, ones, create_graph=True, allow_unused=True)
            again = [g for g in first if g is not None and g.requires_grad]
            if again:
                ones = [api.ones_like(g) for g in again]
                api.autograd.grad(again, leaves, ones, allow_unused=True)
        else:
            for tensor in results:
                tensor.backward(api.ones_like(tensor), retain_graph=True)
    finally:
        for leaf in leaves:
            if leaf.is_leaf:
                leaf.grad = None


def print_of(tensor: Any) -> tuple[Any, ...]:
    """What a call must leave as it is: metadata and the contents of a small tensor."""
    contents = tensor.detach().numpy().tobytes() if tensor.numel() <= SMALL else b""
    return (tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.requires_grad, contents)


def beside(tensors: list[Any]) -> list[Any]:
    """The operands of an in-place call that share no memory with its target, the first: it must leave them alone."""
    if not tensors:
        return []
    target = tensors[0].detach().numpy()
    return [t for t in tensors[1:] if not np.may_share_memory(target, t.detach().numpy())]


def judge(error: Exception, face: Face, call: Call) -> str:
    """What is wrong with an exception, "" if nothing is."""
    text = str(error)
    told = f"{type(error).__name__}: {ascii(text)[:300]}"
    if isinstance(error, BUGS) and not (isinstance(error, AssertionError) and CLEAR.match(text)):
        return told
    if len(text) > LONG:
        return f"message of {len(text)} letters: {told}"
    if not face.plain and isinstance(error, TenoraError) and not FORM.match(text):
        return f"out of form {told}"
    if isinstance(error, OddError) or CLEAR.match(text):
        return ""
    if face.plain and (isinstance(error, TypeError | AttributeError) or "truth value of an array" in text):
        return ""
    if face.name.startswith("Tensor.__") and isinstance(error, ValueError):
        return ""  # Python's and NumPy's protocols, in their words
    if type(error) is MemoryError and "fuzz_arguments.Odd" in str(call):
        return ""  # its length fits no memory
    return f"unclear {told}"


def counts() -> dict[str, int]:
    """Live engine objects, and references to arguments that all calls share."""
    gc.collect()
    live = api.live()
    shared = {f"references to {ascii(v)[:20]}": sys.getrefcount(v) for v in WATCHED}
    return {name: live[name] for name in ("tensors", "storages", "nodes", "extras")} | shared


def one_call(face: Face, number: int, seed: str, log: Log, tally: Tally) -> None:
    """Makes one call and judges what comes out."""
    draw = Arguments(f"{seed}/{face.name}/{number}")
    api.manual_seed(number)
    log.write(number, f"{face.name} call {number}: (drawing its arguments)", tally)
    call = face.draw(draw)
    log.write(number, f"{face.name} call {number}: ({call})", tally)
    tensors = [t for v in (*call.positional, *call.options.values()) for t in tensors_in(v)]
    keeps = face.keeps and not face.inplace and "out" not in call.options
    watched = tensors if keeps else tensors[:1] if face.inplace else []
    apart = beside(tensors) if face.inplace else watched
    before, others = [print_of(t) for t in watched], [print_of(t) for t in apart]
    answered, problem = False, ""
    try:
        result = face.invoke(call, draw)
        answered = True
        if [print_of(t) for t in apart] != others:
            problem = "an operand changed"
        differentiate(call, result, draw)
    except Exception as error:
        problem = problem or judge(error, face, call)
        if not answered and [print_of(t) for t in watched] != before:
            problem = problem or f"refused, but an operand changed: {ascii(str(error))[:200]}"
    if not problem and [print_of(t) for t in apart] != others:
        problem = "an operand changed in backward" if answered else "refused, but an operand changed"
    tally.answered += answered
    tally.refused += not answered
    if problem:
        tally.failures.append(f"{face.name} call {number}: ({call}): {problem}")


class Log:
    """The call that is being made, in a file that outlives the process."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.face = 0

    def write(self, number: int, text: str, tally: Tally) -> None:
        data = json.dumps({"face": self.face, "call": number, "text": text} | vars(tally)).encode()
        os.pwrite(self.descriptor, data, 0)
        os.ftruncate(self.descriptor, len(data))


def try_face(face: Face, numbers: range, seed: str, hang: int, log: Log) -> Tally:
    """Makes the calls of one face; where something stayed alive, looks for the call that left it."""
    tally = Tally()
    before = counts()
    for number in numbers:
        signal.alarm(hang)
        start = time.perf_counter()
        one_call(face, number, seed, log, tally)
        spent = time.perf_counter() - start
        signal.alarm(0)
        tally.seconds += spent
        if spent > tally.slowest:
            tally.slowest, tally.slowest_call = spent, number
    after = counts()
    if after != before:
        left = {k: after[k] - before[k] for k in after if after[k] != before[k]}
        tally.failures.append(f"{face.name}: left alive {left}" + culprits(face, numbers, seed, hang, log))
    return tally


def culprits(face: Face, numbers: range, seed: str, hang: int, log: Log) -> str:
    """The calls that leave something alive each time, at most three."""
    found: list[int] = []
    for number in numbers:
        before = counts()
        signal.alarm(hang)
        one_call(face, number, seed, log, Tally())
        signal.alarm(0)
        if counts() != before:
            found.append(number)
        if len(found) == 3:
            break
    return f" by call {', '.join(map(str, found))}" if found else ", but not when repeated"


def pages(column: int) -> int:
    """Bytes of this process: all of its address space (0), or what is in memory (1)."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * resource.getpagesize()


def held() -> int:
    """Bytes of memory of this process, when the engine and the C library have given back what they keep."""
    gc.collect()
    _engine.empty_cache()
    LIBC.malloc_trim(0)
    return pages(1)


def leaked(face: Face, numbers: range, seed: str, hang: int, log: Log) -> int:
    """Bytes by which the process grows when the calls of a face are made again: caches were filled the first time."""
    before = held()
    for number in numbers:
        signal.alarm(hang)
        one_call(face, number, seed, log, Tally())
        signal.alarm(0)
    return held() - before


def printed(path: str, seen: int) -> tuple[int, str]:
    """What this process has written to its standard output, a file, since it had `seen` bytes."""
    sys.stdout.flush()
    LIBC.fflush(None)  # a native library's own buffer
    data = Path(path).read_bytes()
    return len(data), data[seen:].decode(errors="replace")


def work(arguments: argparse.Namespace) -> None:
    """A worker: some faces, one JSON line each in a file; what it prints is a failure."""
    sys.setrecursionlimit(2000)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a hang ends the worker, and the log names the call
    log = Log(arguments.log)
    everything = chosen(arguments)
    with api.use_backend(arguments.backend[0]):
        api.ones(2)  # the backend is loaded before anything is counted
        gc.collect()
        gc.freeze()
        room = pages(0) + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        first, seen = held(), 0
        for number in range(arguments.start, arguments.stop):
            face, log.face = everything[number], number
            begin = arguments.first if number == arguments.start else 0
            numbers, start = arguments.numbers[begin:], held()
            tally = try_face(face, numbers, arguments.seed, arguments.hang, log)
            grown, limit = held() - first, arguments.face_growth << 20
            if held() - start > limit:
                again = leaked(face, numbers, arguments.seed, arguments.hang, log)
                if again > limit:
                    tally.failures.append(f"{face.name}: memory grows by {again >> 20} MiB each time")
                    grown = held() - first
            if grown > arguments.growth << 20:
                tally.failures.append(f"{face.name}: memory grew by {grown >> 20} MiB")
                first += grown
            seen, text = printed(f"{arguments.log}.printed", seen)
            if text:
                tally.failures.append(f"{face.name}: something printed {ascii(text[:300])}")
            with open(f"{arguments.log}.found", "a", encoding="utf-8") as found:
                found.write(json.dumps([number, vars(tally)]) + "\n")


def chosen(arguments: argparse.Namespace) -> list[Face]:
    """The faces that are called: all, or the one named, or those whose name has the text."""
    everything, only = faces(), arguments.only
    for path in arguments.also:
        everything += runpy.run_path(path)["FACES"]
    if only is None:
        return everything
    exact = [face for face in everything if face.name == only]
    return exact or [face for face in everything if only in face.name]


def drive(arguments: argparse.Namespace, backend: str, start: int, stop: int, log: Path) -> dict[int, Tally]:
    """Runs workers over a range of faces until all have had their calls."""
    tallies: dict[int, Tally] = collections.defaultdict(Tally)
    first = deaths = 0
    while start < stop:
        command = [sys.executable, __file__, "--worker", "--backend", backend, "--log", str(log)]
        command += ["--start", str(start), "--stop", str(stop), "--first", str(first)]
        for name in ("repeat", "seed", "hang", "growth", "face_growth"):
            command += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
        command += ["--only", arguments.only] if arguments.only else []
        command += ["--call", str(arguments.call)] if arguments.call is not None else []
        command += ["--also", *arguments.also] if arguments.also else []
        environment = {"OMP_NUM_THREADS": "1"} | os.environ
        with open(f"{log}.printed", "wb") as printed:
            done = subprocess.run(
                command, stdout=printed, stderr=subprocess.PIPE, text=True, check=False, env=environment
            )
        results = Path(f"{log}.found")
        for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else []:
            number, tally = json.loads(line)
            tallies[number].add(tally)
            start, first, deaths = number + 1, 0, 0
        results.unlink(missing_ok=True)
        if done.returncode == 0:
            break
        deaths += 1
        told = f"{done.stderr[-600:].strip()}"
        if not log.exists() or not log.stat().st_size:
            tallies[start].failures.append(f"worker ended with {done.returncode} before a call: {told}")
            break
        last = json.loads(log.read_text())
        start, first = last["face"], last["call"] + 1
        why = "hung" if done.returncode == -signal.SIGALRM else f"died with {done.returncode}"
        last["failures"].append(f"worker {why} in {last['text']}: {told}")
        last["refused"] += 1
        tallies[start].add(last)
        if deaths == 5 or first >= arguments.repeat:
            start, first, deaths = start + 1, 0, 0
        log.unlink()
    return tallies


def again(arguments: argparse.Namespace, names: list[str], found: dict[tuple[str, int], Tally]) -> None:
    """Gives faces that answered seldom AGAIN as many calls; what is found counts as what was found before."""
    few = argparse.Namespace(**vars(arguments))
    few.seed, few.repeat = f"{arguments.seed}, again", AGAIN * arguments.repeat
    for (backend, number), tally in sorted(found.items()):
        if names[number] in SELDOM or names[number] in UNANSWERED or not tally.seldom():
            continue
        with tempfile.TemporaryDirectory() as folder:
            more = drive(few, backend, number, number + 1, Path(folder) / "again")[number]
        for text in more.failures[:SHOWN]:
            print(f"FAILED [{backend}] (seed {few.seed!r}) {text}", flush=True)
        tally.add(vars(more))
        if tally.seldom():
            text = f"{names[number]}: answered {tally.answered} of {tally.answered + tally.refused} calls"
            tally.failures.append(text)
            print(f"FAILED [{backend}] {text}", flush=True)


def run(arguments: argparse.Namespace, names: list[str]) -> dict[tuple[str, int], Tally]:
    """All backends over all faces, in pieces that run side by side."""
    piece = max(1, min(60, len(names) // arguments.jobs))
    pieces = [
        (b, n, min(n + piece, len(names))) for b in arguments.backend for n in range(0, len(names), piece)
    ]
    found: dict[tuple[str, int], Tally] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool,
    ):
        todo = {pool.submit(drive, arguments, b, n, m, Path(folder) / f"{b}-{n}"): b for b, n, m in pieces}
        for done in concurrent.futures.as_completed(todo):
            backend = todo[done]
            for number, tally in done.result().items():
                found[backend, number] = tally
                for text in tally.failures[:SHOWN]:
                    print(f"FAILED [{backend}] {text}", flush=True)
                if len(tally.failures) > SHOWN:
                    print(
                        f"FAILED [{backend}] {names[number]}: {len(tally.failures) - SHOWN} more", flush=True
                    )
    return found


def report(arguments: argparse.Namespace, names: list[str], found: dict[tuple[str, int], Tally]) -> int:
    """Prints the figures of each face and of the whole; the number of failures."""
    failures = sum(len(tally.failures) for tally in found.values())
    calls: list[int] = []
    for number, name in enumerate(names):
        tallies = [found.get((backend, number), Tally()) for backend in arguments.backend]
        answered, refused = sum(t.answered for t in tallies), sum(t.refused for t in tallies)
        calls.append(answered + refused)
        print(f"  {name}: {answered} answered, {refused} refused, {sum(t.seconds for t in tallies):.2f} s")
        if not answered and name not in UNANSWERED and arguments.call is None:
            failures += 1
            print(f"FAILED {name}: never answered")
        silent = [
            b
            for b, t in zip(arguments.backend, tallies, strict=True)
            if t.refused >= ENOUGH > t.answered == 0
        ]
        if answered and silent and arguments.call is None:
            failures += 1
            print(f"FAILED {name}: never answered on {', '.join(silent)}")
    slow = sorted(((t.slowest, key, t) for key, t in found.items()), key=lambda item: -item[0])[:5]
    for seconds, (backend, number), tally in slow:
        print(f"slow: {seconds:.1f} s, [{backend}] {names[number]} call {tally.slowest_call}")
    answered = sum(t.answered for t in found.values())
    told = (
        f"{len(names)} faces, {sum(calls)} calls, {answered} answered, {sum(calls) - answered} refused, "
        f"at least {min(calls, default=0)} per face"
    )
    print(f"fuzz_ops: seed {arguments.seed}, {told}, {failures} failures")
    if counted := os.environ.get("TENORA_COUNTED"):
        with open(counted, "a", encoding="utf-8") as file:
            file.write(f"{told}\n")
    return failures


def main() -> int:
    """Drives the workers and prints what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--least", type=int, default=100, help="calls per face, over all backends")
    parser.add_argument("--seed", default=datetime.date.today().isoformat())
    parser.add_argument("--backend", nargs="+", default=["reference", "cpu_mkl"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="workers at a time")
    parser.add_argument("--hang", type=int, default=60, help="seconds that one call may take")
    parser.add_argument("--growth", type=int, default=500, help="MiB that a worker may hold beyond its start")
    parser.add_argument(
        "--face-growth", type=int, default=4, help="MiB by which the calls of a face may grow it twice"
    )
    parser.add_argument("--also", nargs="*", default=[], help="Python files whose FACES are called too")
    parser.add_argument("--only", help="a face's name, or a part of names")
    parser.add_argument("--call", type=int, help="only the call of this number")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    for name in ("start", "stop", "first", "repeat"):
        parser.add_argument(f"--{name}", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--log", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    numbers = range(arguments.repeat) if arguments.call is None else range(arguments.call, arguments.call + 1)
    arguments.numbers = numbers
    if arguments.worker:
        work(arguments)
        return 0
    names = [face.name for face in chosen(arguments)]
    share = max(arguments.least, -(-arguments.calls // max(len(names), 1)))
    arguments.repeat = -(-share // len(arguments.backend)) if arguments.call is None else 1
    print(
        f"fuzz_ops: seed {arguments.seed}, {len(names)} faces, {arguments.repeat} calls each on "
        f"{', '.join(arguments.backend)}",
        flush=True,
    )
    found = run(arguments, names)
    if arguments.call is None:
        again(arguments, names, found)
    return 1 if report(arguments, names, found) or not names else 0


if __name__ == "__main__":
    sys.exit(main())
