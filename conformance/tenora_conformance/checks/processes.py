"""L4: processes. Forked and spawned children compute or say why not; the interpreter ends cleanly whatever is alive.

Every script is a program of its own: it must end with exit code 0 and write nothing to stderr. Its event log stays with
it, so that it sees itself to whose kernels ran.
"""

from __future__ import annotations

from tenora_conformance.checks.scripts import Script, run_python, script_check
from tenora_conformance.model import Failed, Level, Outcome
from tenora_conformance.subject import Subject

START = """
import tenora
tenora.set_default_backend(NAME)
def compute():
    with tenora.profiler.profile() as recorded:
        x = tenora.arange(12.0, device=DEVICE).reshape(3, 4).requires_grad_(True)
        (x @ x.t()).sum().backward()
    ran = {event["backend"] for event in recorded.events if event["kind"] == "kernel"}
    assert ran == {NAME}, f"kernels of {sorted(ran)} ran, expected those of {NAME} only"
    return x.grad.sum().item()
"""
#: The sum of 2 * column sums over three rows: what `compute` answers.
ANSWER = 396.0
#: After a fork a device may be out of reach; then the error must say so instead of hanging or ending the process.
FORK = """
import os, sys
compute()
parent = os.getpid()
pid = os.fork()
if pid == 0:
    try:
        print(compute(), flush=True)
    except tenora.TenoraError as error:
        print("refused", "fork" in str(error), flush=True)
    os._exit(0)
_, status = os.waitpid(pid, 0)
assert status == 0, f"the child ended with status {status}"
print(compute())
"""
SPAWN = """
import subprocess, sys
code = f"NAME, DEVICE = {NAME!r}, {DEVICE!r}" + chr(10) + START + "print(compute())"
compute()
children = [subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
for child in children:
    print(child.communicate(timeout=100)[0].strip())
    assert child.returncode == 0, f"a child ended with exit code {child.returncode}"
"""
SHUTDOWN = {
    "live_tensors": """
held = [tenora.ones(100, device=DEVICE, requires_grad=True) for _ in range(10)]
graph = sum((h * h).sum() for h in held)
print(compute())
""",
    "running_work": """
x = tenora.ones(300, 300, device=DEVICE)
for _ in range(20):
    x = x @ x * 1e-3
print(compute())
""",
    "daemon_thread": """
import threading
def forever():
    with tenora.use_backend(NAME):
        while True:
            (tenora.ones(64, device=DEVICE) * 2).sum()
threading.Thread(target=forever, daemon=True).start()
print(compute())
""",
    "module_global_cycle": """
class Holder: pass
holder = Holder()
holder.tensor = tenora.ones(3, device=DEVICE, requires_grad=True)
holder.tensor.register_hook(lambda g, h=holder: g)
holder.out = (holder.tensor * 2).sum()
print(compute())
""",
    "sys_exit_in_backward": """
import sys
print(compute())
x = tenora.ones(3, device=DEVICE, requires_grad=True)
x.register_hook(lambda g: sys.exit(0))
(x * 2).sum().backward()
raise AssertionError("backward went on after sys.exit in a hook")
""",
}


def _answers(printed: str, count: int) -> None:
    lines = printed.split("\n")[:count]
    if lines != [str(ANSWER)] * count:
        raise Failed(f"what the processes computed: got {printed.split()}, expected {count} times {ANSWER}")


def _forked(subject: Subject, dtype: str, outcome: Outcome) -> None:
    printed = run_python(START + FORK, subject)
    child, parent = printed.split("\n")[:2]
    if child == "refused False":
        raise Failed(
            "a forked child is refused without the word fork: expected an error that says what to do"
        )
    _answers(printed if not child.startswith("refused") else f"{ANSWER}\n{parent}\n", 2)


def _spawned(subject: Subject, dtype: str, outcome: Outcome) -> None:
    _answers(run_python(f"START = {START!r}\n" + START + SPAWN, subject), 2)


def _shutdown(name: str) -> Script:
    def run(subject: Subject, dtype: str, outcome: Outcome) -> None:
        _answers(run_python(START + SHUTDOWN[name], subject), 1)

    return run


SCRIPTS: dict[str, Script] = {
    "fork": _forked,
    "spawn": _spawned,
    **{f"shutdown_{name}": _shutdown(name) for name in SHUTDOWN},
}
CHECK = script_check("processes", Level.L4, SCRIPTS, seconds=300.0)
