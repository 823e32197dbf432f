"""Mutants are drawn by a seed, judged in a sandbox, and remembered; the working tree is only read."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from mutants import draw, entered, known, operators, order, state, summary
from mutants.rewrite import Splice
from mutants.sandbox import ROOT, Sandbox
from mutants.sites import SOURCES, Mutant, Source
from mutants.state import Row, Verdict
from tenora_conformance.model import Case, Level, Result, Status

SOURCE = SOURCES[0]


def mutant(
    number: int, operator: str = "identity", source: Source = SOURCE, ops: tuple[str, ...] = ()
) -> Mutant:
    name = f"{source.name}/m.py:f:{operator}:{number}"
    return Mutant(name, source, "m.py", operator, "kernel", 1, ops, Splice(0, 1, "b"), "a", "b")


def row(number: int, verdict: Verdict, file: str = "now", suite: str = "now") -> Row:
    return Row(mutant(number).id, verdict, file=file, suite=suite)


def test_a_draw_is_the_same_for_a_seed_and_spread_over_sources_and_operators() -> None:
    common = [mutant(i, "identity") for i in range(500)]
    rare = [mutant(i, "freed-early") for i in range(2)]
    other = [mutant(i, "identity", SOURCES[1]) for i in range(500)]
    every = [*common, *rare, *other]
    first = draw.drawn(every, {"reference": 1, "ops": 3}, 40, 7)
    assert first == draw.drawn(every, {"reference": 1, "ops": 3}, 40, 7)
    assert first != draw.drawn(every, {"reference": 1, "ops": 3}, 40, 8)
    assert [sum(m.source.name == name for m in first) for name in ("reference", "ops")] == [10, 30]
    assert {m.source.name for m in first[:3]} == {"reference", "ops"}
    assert set(rare) <= set(first)
    assert len(draw.drawn(rare, {"reference": 1}, 40, 7)) == 2


def test_a_place_more_leaves_the_other_mutants_drawn() -> None:
    every = [mutant(i, name) for i in range(100) for name in ("identity", "cast-dropped")]
    first = draw.drawn(every, {"reference": 1}, 40, 7)
    second = draw.drawn([mutant(1000), *every], {"reference": 1}, 40, 7)
    assert len({m.id for m in first} - {m.id for m in second}) <= 1


def test_a_day_takes_others_of_the_drawn() -> None:
    every = [mutant(i) for i in range(300)]
    assert draw.of_a_day(every, "2026-11-30", 20) == draw.of_a_day(every, "2026-11-30", 20)
    assert draw.of_a_day(every, "2026-11-30", 20) != draw.of_a_day(every, "2026-12-01", 20)


def ordered(found: Iterable[list[Case]]) -> list[list[str]]:
    return [[case.id.replace("/float32/contiguous", "") for case in stage] for stage in found]


def test_cases_of_the_ops_come_first_then_those_that_reach_the_mutant_and_a_thin_rest() -> None:
    cases = [
        Case(op, "float32", "contiguous", str(n), Level.L2)
        for op in ("neg", "abs", "norm", "no", "@script")
        for n in range(5)
    ]
    baseline = {case.id: Result(case.id, 2, "values", Status.PASS) for case in cases[:-1]}
    for case in cases[:-1]:
        baseline[case.id].kernels = {"norm": {"b:abs": 1, "b:sum": 1}, "neg": {"b:neg": 1}}.get(case.op, {})
    baseline["norm/float32/contiguous/1"].status = Status.FAIL
    asked = mutant(0, ops=("abs",))
    by_kernels = ordered(order.stages(asked, cases, order.Leads(baseline, "no/float32/contiguous/4")))
    assert by_kernels == [
        ["no/4"],
        [f"abs/{n}" for n in range(5)],
        ["norm/0", "norm/2", "norm/3", "norm/4"],
        [*(f"@script/{n}" for n in range(5)), "neg/0", "no/0", "neg/1", "no/1", "neg/2", "no/2"],
    ]
    entering = order.Leads(baseline, reached=lambda: {"neg/float32/contiguous/3"})
    by_record = ordered(order.stages(asked, cases, entering))
    assert by_record[2:] == [["neg/3"], ["neg/0", "norm/0", "no/0", "@script/0"]]
    assert sum(map(len, order.stages(asked, cases, entering, whole=True))) == len(cases) - 1


ENTERED = '''
def outer(x, key=lambda v: v):
    """Says: outer."""
    def inner(y):
        return [y + 1 for _ in x]
    return inner(2) + sum(map(lambda z: z * 3, x))
'''
CALLS = """
from mutants import entered
import entered_package
assert entered_package.outer.__doc__ == "Says: outer." and not entered.ENTERED
try:
    entered_package.outer([])
except TypeError:
    print(sorted(entered.ENTERED))
"""


def test_a_place_is_in_the_innermost_function_which_notes_that_it_is_entered(tmp_path: Path) -> None:
    def name(piece: str) -> str:
        return entered.innermost("p/m.py", ENTERED, ENTERED.index(piece))

    pieces = ("def outer", "y + 1", "inner(2)", "z * 3")
    assert [name(piece) for piece in pieces] == ["", "p/m.py:4:4", "p/m.py:2:0", "p/m.py:6:30"]
    (tmp_path / "entered_package").mkdir()
    (tmp_path / "entered_package" / "__init__.py").write_text(ENTERED, encoding="utf-8")
    environment = Sandbox(tmp_path).environment() | {entered.VARIABLE: "entered_package"}
    (tmp_path / "hook").mkdir()
    shutil.copy2(ROOT / "conformance" / "mutants" / "hook.py", tmp_path / "hook" / "sitecustomize.py")
    environment["PYTHONPATH"] += os.pathsep + str(tmp_path)
    called = ["entered_package/__init__.py:2:0", "entered_package/__init__.py:4:4"]
    assert python(CALLS, environment) == str(called)


def test_verdicts_are_read_back_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    state.append(path, row(0, Verdict.KILLED))
    state.append(path, row(1, Verdict.SURVIVED))
    path.write_bytes(path.read_bytes()[:-20])
    assert state.read(path) == {mutant(0).id: row(0, Verdict.KILLED)}


def test_a_verdict_is_of_a_file_and_that_of_a_survivor_of_a_suite() -> None:
    killed, survived = row(0, Verdict.KILLED), row(1, Verdict.SURVIVED)
    assert not killed.due("now", "another") and killed.due("another", "now")
    assert not survived.due("now", "now") and survived.due("now", "another") and survived.holds("now")
    killed.op_set = "0.9"
    assert killed.due("now", "now")


def test_of_two_verdicts_the_one_that_holds_stays(tmp_path: Path) -> None:
    name, files = mutant(0).id, {mutant(0).id: "now"}
    old, new = row(0, Verdict.KILLED, file="before"), row(0, Verdict.SURVIVED)
    assert state.joined([{name: new}, {name: old}], files, "now") == {name: new}
    assert state.joined([{name: old}, {name: new}], files, "now") == {name: new}
    later = row(0, Verdict.KILLED)
    assert state.joined([{name: new}, {name: later}], files, "now") == {name: later}
    assert not state.joined([{"another": new}], files, "now")
    state.commit(tmp_path / "verdicts.jsonl", [row(1, Verdict.KILLED), new])
    assert list(state.read(tmp_path / "verdicts.jsonl")) == [mutant(0).id, mutant(1).id]


def test_the_rate_leaves_out_equivalents_and_what_does_not_compile() -> None:
    rows = [*(row(i, Verdict.KILLED) for i in range(97)), *(row(i, Verdict.SURVIVED) for i in range(97, 100))]
    rows += [row(100, Verdict.NOT_BUILT)]
    nothing = known.Known({}, {})
    assert summary.rate(rows, nothing).met and str(summary.rate(rows, nothing)) == "97 of 100 killed (97.0%)"
    assert not summary.rate(rows[1:], nothing).met
    proven = known.Known({mutant(97).id: "a proof"}, {mutant(98).id: ("gap", "why")})
    assert summary.rate(rows[1:], proven).of == 98
    assert [r.mutant for r in summary.unknown(rows, proven)] == [mutant(99).id]
    many = known.Known({mutant(i).id: "a proof" for i in (97, 98, 99)}, {})
    assert not summary.rate(rows, many).met


def test_an_equivalent_needs_a_proof_and_a_survivor_a_reading(tmp_path: Path) -> None:
    path = tmp_path / "equivalents.toml"
    path.write_text('[[equivalent]]\nmutant = "m"\nproof = "short"\n')
    with pytest.raises(ValueError, match="expected one, or a check"):
        known.load(path)
    path.write_text('[[survivor]]\nmutant = "m"\nreading = "whatever"\nwhy = "because"\n')
    with pytest.raises(ValueError, match="got no reading"):
        known.load(path)


def test_the_committed_list_is_sound() -> None:
    known.load()
    assert set(operators.load().shares) == {source.name for source in SOURCES}


def digest() -> str:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "backends/reference", "core/ops"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in sorted(listed))).hexdigest()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    made = Sandbox(tmp_path_factory.mktemp("mutants") / "sandbox")
    made.make()
    return made


def python(code: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ABS = (
    "import tenora; tenora.set_default_backend('reference'); print(tenora.abs(tenora.tensor([-2.0])).item())"
)


def test_an_overlay_changes_a_process_and_no_tree(sandbox: Sandbox) -> None:
    before = digest()
    path = "backends/reference/tenora_reference/pointwise.py"
    text = (sandbox.tree / path).read_text(encoding="utf-8")
    assert "np.absolute" in text
    with sandbox.overlay(path, text.replace("np.absolute", "np.positive")) as overlay:
        assert python(ABS, sandbox.environment(overlay)) == "-2.0"
        assert python(ABS, sandbox.environment()) == "2.0"
    assert not overlay.exists()
    assert digest() == before


#: In the sandbox: a run of `abs` alone stands for the baseline, and one mutant is judged twice.
TRIAL = """
import sys
from collections.abc import Iterable
from pathlib import Path
from mutants import operators, state, trial
from mutants.sandbox import Sandbox
from mutants.sites import SOURCES, all_mutants
from tenora_conformance.header import End, Header
from tenora_conformance.model import Level, Result, Status
from tenora_conformance.must_run import plan
from tenora_conformance.run.process import Worker

sandbox = Sandbox(Path(sys.argv[1]))
every = all_mutants(sandbox.tree, operators.load(), ["reference"])
planted = next(m for m in every if m.old == "np.absolute" and m.operator == "identity")
trial.read_run = lambda folder: type("Run", (), {"results": [
    Result(c.id, 2, c.check, Status.PASS, kernels={"reference:abs": 1})
    for c in plan(Level.L1, Worker("reference", "").subject).cases if c.op in ("abs", "neg")
]})
trials = trial.Trials(sandbox, "reference", Level.L1)
row = trials.judge(planted)
print(row.verdict, row.case.partition("/")[0], planted.ops)
trials.close()
"""


def test_a_planted_mutant_is_killed_by_a_case_of_its_op(sandbox: Sandbox) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRIAL, str(sandbox.folder)],
        env=sandbox.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[0] == "KILLED abs ('abs',)", done.stdout + done.stderr


def test_a_run_goes_on_where_it_was_ended(sandbox: Sandbox) -> None:
    """With a verdict on each there is nothing to judge, so nothing but the baseline would be run."""
    names = ["--folder", str(sandbox.folder), "--verdicts", str(sandbox.folder / "none")]
    names += ["--source", "reference", "--count", "3", "--level", "L0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "conformance")}

    def mutants(*words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "mutants", *words, *names]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    ids = mutants("list").stdout.splitlines()[-3:]
    assert all(name.startswith("reference/") for name in ids), ids
    for name in ids[:2]:
        path = f"{SOURCE.folder}/{name.partition('/')[2].partition(':')[0]}"
        known_of = Row(name, Verdict.KILLED, file=sandbox.digest_of(path))
        state.append(sandbox.folder / "verdicts.jsonl", known_of)
    # A baseline in which nothing passed: the third is met by no case, and survives.
    folder = sandbox.folder / "baseline-reference-L0"
    written = subprocess.run(
        [sys.executable, "-c", BASELINE, str(folder)],
        env=sandbox.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert written.returncode == 0, written.stderr
    done = mutants("run")
    assert "1 of 3 mutants to judge" in done.stdout, done.stdout + done.stderr
    assert f"SURVIVED {ids[2]}" in done.stdout
    assert "0 of 3 mutants to judge" in mutants("run").stdout


BASELINE = """
import sys
from collections.abc import Iterable
from pathlib import Path
from tenora_conformance.header import End, Header
from tenora_conformance.model import Level
from tenora_conformance.must_run import Plan
from tenora_conformance.report.read import Run, write_run
from tenora_conformance.run.process import Worker

subject = Worker("reference", "").subject
write_run(Path(sys.argv[1]), Run(Header.of(Plan(Level.L0, []), subject), [], End.now(0.0)))
"""
