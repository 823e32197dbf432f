"""The command: exit codes and their sentences, what it prints, and that it writes into its folder only."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_cases
import pytest
from conftest import MANIFEST, Install, Run, heed_interrupts, run_python

from tenora_conformance import cli, must_run
from tenora_conformance.checks import values
from tenora_conformance.model import Status
from tenora_conformance.report.read import read_run
from tenora_conformance.run import reproduce
from tenora_conformance.run.selection import Shard

#: Forbids to write, make, rename or remove anything outside of what `ALLOWED` names.
GUARD = """
import os
import sys

ALLOWED = tuple(os.environ["ALLOWED"].split(os.pathsep))
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def refuse(event, arguments):
    if event == "open":
        path, _, flags = arguments
        if not flags & WRITING or not isinstance(path, str):
            return
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.symlink", "os.link"):
        path = os.fspath(arguments[0])
    else:
        return
    if not os.path.abspath(path).startswith(ALLOWED):
        raise PermissionError(13, "read-only", path)


sys.addaudithook(refuse)
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "nobody"], 3, "unknown backend: got 'nobody'"),
        (["run", "refuses"], 1, "the licence has expired"),
        (["run", "away"], 3, "plug one in"),
        (["run", "ends"], 1, "exit code 9"),
        (["run", "sound", "--level", "L7"], 2, "unknown level: got 'L7', expected one of L0, L1, L2, L3, L4"),
        (["run", "sound", "--device", "npu:0"], 2, "--device: got 'npu:0', expected one of cpu"),
        (["run", "sound", "--op", "ad"], 2, "--op: got 'ad', expected the name of an op"),
        (["run", "sound", "--shard", "3/2"], 2, "--shard: got '3/2', expected i/n"),
        (["run", "sound", "--jobs", "0"], 2, "--jobs: got 0, expected at least 1"),
        (["run", "sound", "--last-failed"], 2, "--last-failed: got no earlier run of sound"),
        (["run", "sound", "--waivers", "none.toml"], 2, "none.toml cannot be read"),
        (["run", "sound", "--explain", "add/float32/contigous/0"], 2, "near it: add/float32/contiguous/"),
        (["run", "sound", "--explain", "sofmax/float32/contiguous/0"], 2, "Did you mean 'softmax'?"),
        (["run", "sound", "--explain", "@loadin/-/-/probe"], 2, "Did you mean '@loading'?"),
        (["run"], 2, "the following arguments are required: NAME"),
        (["walk"], 2, "invalid choice: 'walk'"),
        (["merge", "nowhere", "--out", "out"], 2, "nowhere"),
        (["watch", "nobody", "--op", "add"], 2, "got 'nobody', expected an installed backend"),
    ],
)
def test_a_wrong_call_has_a_code_and_a_sentence(
    install: Install, conformance: Run, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    for name, package in (
        ("sound", fake_cases.SOUND),
        ("refuses", fake_cases.RAISES),
        ("away", fake_cases.UNAVAILABLE),
        ("ends", fake_cases.ENDS_LOADING),
    ):
        install(name, package)
    done = conformance(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert list((tmp_path / "here").iterdir()) == []


def test_a_backend_that_does_nothing_fails_where_it_begins(install: Install, conformance: Run) -> None:
    install("nothing", fake_cases.NOTHING)
    done = conformance("run", "nothing", "--level", "L0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nothing, L0: NOT MET" in done.stdout
    assert "registered nothing: got no kernel, expected at least one" in done.stderr


def test_a_failure_is_explained_with_a_program_that_shows_it(
    install: Install, conformance: Run, distributions: Path, tmp_path: Path
) -> None:
    install("wrong", fake_cases.WRONG_ABOVE)
    case = next(case for case in values.cases_of("sinh") if case.dtype == "float32" and case.number == "1")
    done = conformance("run", "wrong", "--explain", case.id)
    assert done.returncode == 1, done.stdout + done.stderr
    told, _, program = done.stdout.partition("reproduction:")
    for part in (
        "FAIL",
        "call: ",
        "input 0: ",
        "expected: ",
        "got: ",
        "first wrong index: (0,)",
        "wrong:sinh x 1",
    ):
        assert part in told
    path = tmp_path / "again.py"
    path.write_text(program)
    again = run_python(str(path), path=distributions, cwd=tmp_path)
    assert again.returncode == 0 and again.stdout.startswith("tensor(["), again.stdout + again.stderr


def test_reproductions_answer_as_the_case_does(tmp_path: Path) -> None:
    """Each layout, lists, seeds, attributes, dtypes, and numbers that are none; run as they are, on a sound backend."""
    ops = (
        "add",
        "cat",
        "full",
        "sum",
        "index_select",
        "sort",
        "conv2d",
        "bernoulli",
        "isfinite",
        "mean",
        "bitwise_not",
    )
    cases = [case for op in ops for case in values.cases_of(op)][::23]
    assert {case.layout for case in cases} == set(reproduce._LAYOUTS) and len(cases) > 40
    programs = [reproduce.reproduction(case, "reference") for case in cases]
    assert sum("run_alone" in program for program in programs) < len(programs) / 10
    body = "".join(
        f"print('case', {case.id!r})\n{program}" for case, program in zip(cases, programs, strict=True)
    )
    path = tmp_path / "all.py"
    path.write_text(body)
    done = run_python(str(path), path=tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("tensor(") >= len(cases) * 0.8


def test_a_script_is_reproduced_by_its_id(tmp_path: Path) -> None:
    case = next(case for case in must_run.all_cases() if case.op == "@memory")
    program = reproduce.reproduction(case, "reference")
    assert f"run_alone('reference', {case.id!r})" in program
    path = tmp_path / "again.py"
    path.write_text(program)
    done = run_python(str(path), path=tmp_path, cwd=tmp_path)
    assert done.stdout == f"{case.id}: PASS\n", done.stdout + done.stderr


def test_it_writes_into_its_folder_only(
    install: Install, conformance: Run, distributions: Path, tmp_path: Path
) -> None:
    install("sound", fake_cases.SOUND)
    (distributions / "sitecustomize.py").write_text(GUARD)
    (tmp_path / "scratch").mkdir()
    allowed = ":".join(map(str, (tmp_path / "here", tmp_path / "scratch", "/dev/null")))
    env = {"ALLOWED": allowed, "TMPDIR": str(tmp_path / "scratch")}
    done = conformance("run", "sound", "--level", "L0", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    elsewhere = conformance("run", "sound", "--level", "L0", "--out", "../elsewhere", env=env)
    assert elsewhere.returncode == 2 and "read-only" in elsewhere.stderr  # the guard guards
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["conformance-sound"]


def test_results_are_told_in_plain_lines(install: Install, conformance: Run) -> None:
    install("wrong", fake_cases.WRONG_ABOVE)
    done = conformance("run", "wrong", "--op", "sinh", "--jobs", "1")
    lines = done.stdout.splitlines()
    assert re.fullmatch(
        r"wrong on cpu, L3: \d+ of [\d,]+ planned cases \(--op sinh\), 1 at a time,"
        r" about \d+ s where nothing else runs",
        lines[0],
    )
    assert "only a part of the plan ran: this proves nothing about the level" in lines
    assert sum("no pass" in line for line in lines) == 10
    assert any(re.match(r"  FAIL sinh/\w+/\w+/\d+: .*elements are wrong", line) for line in lines)
    assert lines[-1].startswith("  more: tenora-conformance run wrong --device cpu --explain sinh/")
    assert "\x1b" not in done.stdout and max(map(len, lines)) <= 130


def test_undeclared_dtypes_are_printed(install: Install, conformance: Run) -> None:
    install("few", fake_cases.SOUND, MANIFEST + 'capabilities = ["float32", "int64", "bool", "float64"]\n')
    done = conformance("run", "few", "--op", "add", "--level", "L1")
    assert re.search(r"left out: [\d,]+ cases, dtype bfloat16 is not declared", done.stdout), done.stdout
    assert done.returncode == 4


def test_watch_runs_again_on_save(install: Install, distributions: Path, tmp_path: Path) -> None:
    home = install("wrong", fake_cases.WRONG_ABOVE)
    command = [
        sys.executable,
        "-u",
        "-m",
        "tenora_conformance",
        "watch",
        "wrong",
        "--op",
        "sinh",
        "--jobs",
        "1",
    ]
    environment = {"PYTHONPATH": str(distributions), "PATH": "/usr/bin:/bin"}
    output = tmp_path / "output.txt"
    with open(output, "w") as file:
        watching = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=file, stderr=file, preexec_fn=heed_interrupts
        )

    def await_text(text: str) -> None:
        for _ in range(600):
            if text in output.read_text():
                return
            time.sleep(0.1)
        pytest.fail(f"no {text!r} in:\n{output.read_text()}")

    try:
        await_text("watching 2 files")
        assert "FAIL sinh/" in output.read_text()
        (home / "__init__.py").write_text("this is no Python")
        await_text("SyntaxError")
        (home / "__init__.py").write_text(fake_cases.SOUND)
        await_text(" PASS\n")
        for _ in range(600):
            if output.read_text().count("watching 2 files") == 3:
                break
            time.sleep(0.1)
        last = output.read_text().splitlines()[-2]
        assert re.fullmatch(r"sinh: \d+ PASS", last), output.read_text()
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(60) == 0


def test_the_version_and_the_shape_of_a_shard() -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert str(Shard.parse("2/5")) == "2/5" and str(Shard()) == ""


def test_quick_proves_nothing_and_says_so(install: Install, conformance: Run, tmp_path: Path) -> None:
    install("sound", fake_cases.SOUND)
    done = conformance("run", "sound", "--quick", "--level", "L1")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "proves nothing" in done.stdout and "NOTHING PROVEN, only --quick ran" in done.stdout
    run = read_run(tmp_path / "here" / "conformance-sound")
    assert run.header.selection == "--quick" and all(r.status is Status.PASS for r in run.results)
    report = (tmp_path / "here" / "conformance-sound" / "report.md").read_text()
    assert "--quick" in report
