"""The fuzz notices what it is there for: each seeded fault is a failure that names its face, the good one is not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT

FAULTS = """
import os, signal
import numpy as np
from fuzz_arguments import WATCHED, Call, api
from fuzz_faces import Face
from tenora_dispatch import OperationError

KEPT = []

def crash(call, draw):
    if draw.chance(0.7):
        os.kill(os.getpid(), signal.SIGSEGV)

def hang(call, draw):
    while True:
        pass

def refuse(text, kind=RuntimeError):
    def invoke(call, draw):
        raise kind(text)
    return invoke

def write_and_refuse(call, draw):
    call.positional[0].add_(1)
    raise RuntimeError("[seeded] refused: got this, expected that.")

def write_beside(call, draw):
    call.positional[1].add_(1)

def write_in_backward(call, draw):
    x = call.positional[0]
    y = x * 2
    y.register_hook(lambda g: x.detach().add_(1) and None)
    return y

def once(call, draw):
    if not CACHE:
        CACHE.append(np.ones(1 << 20))

def on_one_backend(call, draw):
    if api.current_backend() != "reference":
        raise RuntimeError("[seeded] refused: got this, expected that.")

def rarely(call, draw):
    if not draw.chance(0.02):
        raise OperationError("[seeded] refused: got this, expected that. Try again.")

CACHE = []

def face(name, invoke, **told):
    drawn = lambda draw: Call([api.zeros(3, requires_grad=name == "backward"), api.zeros(3)], {})
    return Face(f"seeded {name}", drawn, invoke, **told)

FACES = [
    face("crash", crash),
    face("hang", hang),
    face("leak", lambda call, draw: KEPT.append(api.ones(3))),
    face("reference", lambda call, draw: KEPT.append(WATCHED[0])),
    face("growth", lambda call, draw: KEPT.append(np.ones(2 << 20))),
    face("memory", lambda call, draw: KEPT.append(np.ones(1 << 17))),
    face("once", once),
    face("beside", write_beside, inplace=True),
    face("backward", write_in_backward),
    face("lonely", on_one_backend),
    face("bug", refuse("[seeded] bug", SystemError)),
    face("unclear", refuse("no idea", ValueError)),
    face("long", refuse("[seeded] " + "x" * 9999)),
    face("form", refuse("[seeded] this is wrong.", OperationError)),
    face("rare", rarely),
    face("write", lambda call, draw: call.positional[0].add_(1)),
    face("half write", write_and_refuse, inplace=True),
    face("refusal", refuse("[seeded] refused: got this, expected that.")),
    face("print", lambda call, draw: os.write(1, b"noise")),
    face("good", lambda call, draw: call.positional[0] + 1),
]
"""
EXPECTED = {
    "crash": "died with -11 in seeded crash call",
    "hang": "hung in seeded hang call 0",
    "leak": "left alive {'tensors': 6, 'storages': 6} by call 0, 1, 2",
    "reference": "left alive {'references to <object",
    "growth": "memory grew by",
    "memory": "memory grows by",
    "beside": "an operand changed",
    "backward": "an operand changed in backward",
    "bug": "SystemError: '[seeded] bug'",
    "unclear": "unclear ValueError: 'no idea'",
    "long": "message of 10008 letters",
    "form": "out of form OperationError: '[seeded] this is wrong.'",
    "write": "an operand changed",
    "half write": "refused, but an operand changed",
    "print": "something printed 'noisenoisenoisenoisenoisenoise'",
    "refusal": "never answered",
}


def fuzz(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs the fuzz over the seeded faces, six calls each."""
    faults = place / "seeded_faults.py"
    faults.write_text(FAULTS)
    settings = [
        "--also",
        str(faults),
        "--backend",
        "reference",
        "--jobs",
        "1",
        "--calls",
        "1",
        "--least",
        "6",
    ]
    command = [sys.executable, "ci/fuzz_ops.py", *settings, "--seed", "one", "--growth", "64", *options]
    environment = os.environ | {"TENORA_COUNTED": str(place / "counted.txt")}
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=environment
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a run over all seeded faces prints."""
    done = fuzz(tmp_path_factory.mktemp("faults"), "--only", "seeded", "--hang", "5")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_seeded_fault_is_found(found: list[str], fault: str) -> None:
    mine = [line for line in found if line.startswith("FAILED") and f"seeded {fault}" in line]
    assert any(EXPECTED[fault] in line for line in mine), "\n".join(found)


def test_the_rest_goes_on_and_is_counted(found: list[str]) -> None:
    assert not [line for line in found if line.startswith("FAILED") and "seeded good" in line]
    assert any(line.strip().startswith("seeded good: 6 answered, 0 refused") for line in found), found
    for name in ("once", "lonely"):
        assert not [line for line in found if line.startswith("FAILED") and f"seeded {name}" in line]
    assert "20 faces" in found[0] and "seed one" in found[-1], found


def test_one_call_is_repeated_by_its_number(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "--only", "seeded unclear", "--call", "4")
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1 and "seeded unclear call 4" in failed[0], done.stdout
    assert fuzz(tmp_path, "--only", "seeded good").returncode == 0
    one, all_of_a_face = (tmp_path / "counted.txt").read_text().splitlines()
    assert one == "1 faces, 1 calls, 0 answered, 1 refused, at least 1 per face"
    assert all_of_a_face == "1 faces, 6 calls, 6 answered, 0 refused, at least 6 per face"


def test_a_face_answers_often(tmp_path: Path) -> None:
    """One that answers seldom is called more often first."""
    done = fuzz(tmp_path, "--only", "seeded rare", "--least", "100")
    assert done.returncode == 1 and "of 1100 calls" in done.stdout, done.stdout


def test_a_face_answers_on_every_backend(tmp_path: Path) -> None:
    backends = ("--backend", "reference", "cpu_mkl", "--least", "100")
    done = fuzz(tmp_path, "--only", "seeded lonely", *backends)
    assert done.returncode == 1 and "FAILED seeded lonely: never answered on cpu_mkl" in done.stdout, (
        done.stdout
    )
    assert fuzz(tmp_path, "--only", "seeded good", *backends).returncode == 0
