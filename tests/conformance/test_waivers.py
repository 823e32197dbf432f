"""Waivers: what they cover, and every way in which one fails a run."""

import datetime
from pathlib import Path

import fake_cases
import pytest
from conftest import Install, Run

from tenora_conformance import waivers
from tenora_conformance.model import Case, Level, Result, Status
from tenora_conformance.report.read import read_run
from tenora_conformance.waivers import Waiver, WaiverError

TODAY = datetime.date(2027, 1, 15)
CASES = [Case("add", "float32", "strided", str(i), Level.L2) for i in range(100)]
LOW = Case("add", "float32", "strided", "0", Level.L1)


def waiver(*globs: str, expires: datetime.date = TODAY) -> Waiver:
    return Waiver(globs, "no such unit", "issue 7", expires)


def judged(
    given: list[Waiver], failing: list[str], cases: list[Case] = CASES, *, whole: bool = True
) -> tuple[dict[str, Result], list[str]]:
    results = {
        case.id: Result(
            case.id, int(case.level), "values", Status.FAIL if case.id in failing else Status.PASS
        )
        for case in cases
    }
    return results, waivers.apply(given, cases, results, whole=whole, today=TODAY)


def test_a_waived_failure_is_waived_and_told() -> None:
    results, complaints = judged([waiver("add/float32/*/7")], [CASES[7].id])
    assert complaints == []
    assert results[CASES[7].id].status is Status.WAIVED
    assert results[CASES[7].id].waiver == "no such unit (issue 7)"
    again = waivers.apply([waiver("add/float32/*/7")], CASES, results, whole=True, today=TODAY)
    assert again == [] and results[CASES[7].id].status is Status.WAIVED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (waiver("add/float32/*/7", expires=TODAY - datetime.timedelta(1)), "expired on 2027-01-14"),
        (waiver("sub/*"), "matches no case"),
        (waiver("add/float32/*/[78]"), "1 of its cases pass, add/float32/strided/8 first"),
    ],
)
def test_a_waiver_that_does_not_fit_fails_the_run(given: Waiver, said: str) -> None:
    results, complaints = judged([given], [CASES[7].id])
    assert len(complaints) == 1 and said in complaints[0]
    assert "expired" not in said or results[CASES[7].id].status is Status.FAIL


def test_a_part_of_the_plan_cannot_say_that_a_waiver_matches_nothing() -> None:
    assert judged([waiver("sub/*")], [], whole=False)[1] == []


def test_nothing_is_waived_below_the_second_level() -> None:
    results, complaints = judged([waiver("add/*")], [LOW.id], [LOW])
    assert results[LOW.id].status is Status.FAIL
    assert complaints == [f"waiver add/*: covers {LOW.id} of L1, where nothing can be waived"]


def test_a_result_that_is_waived_by_hand_is_told() -> None:
    results, _ = judged([], [])
    results[CASES[3].id].status = Status.WAIVED
    said = [f"1 results are WAIVED without a waiver, {CASES[3].id} first"]
    assert waivers.apply([], CASES, results, whole=True, today=TODAY) == said
    expired = waiver(CASES[3].id, expires=TODAY - datetime.timedelta(1))
    assert waivers.apply([expired], CASES, results, whole=True, today=TODAY)[1:] == said


def test_a_level_takes_two_in_a_hundred() -> None:
    ids = [case.id for case in CASES]
    assert judged([waiver(*ids[:2])], ids[:2])[1] == []
    results, complaints = judged([waiver(*ids[:3])], ids[:3])
    assert complaints == ["waivers cover 3 of 100 cases of L2, more than 2%"]


ROW = """
[[waiver]]
case = "mul/float32/*"
reason = "one too large"
issue = "https://example.org/7"
expires = {expires}
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(
        ROW.format(expires="2027-03-31")
        + ROW.format(expires="2027-04-30").replace('"mul/float32/*"', '["a", "b"]')
    )
    first, second = waivers.read(path)
    assert first == Waiver(
        ("mul/float32/*",), "one too large", "https://example.org/7", datetime.date(2027, 3, 31)
    )
    assert second.case == ("a", "b")
    assert Waiver.from_json(second.as_json()) == second


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("waiver = 3", r"expected tables \[\[waiver\]\]"),
        ("[[waivers]]", "got the keys waivers"),
        ("[[waiver", "expected TOML"),
        (ROW.format(expires='"2027-03-31"'), "key 'expires' is wrong: got '2027-03-31'"),
        (
            ROW.format(expires="2027-03-31").replace('reason = "one too large"', ""),
            "key 'reason' is wrong: got nothing",
        ),
        (ROW.format(expires="2027-03-31") + "note = 1", "got the key 'note', expected case, reason"),
        (ROW.format(expires="2027-03-31").replace("reason", "reson"), r"Did you mean 'reason'\?"),
        (ROW.format(expires="2027-03-31").replace("one too large", ""), "key 'reason' is wrong: got ''"),
        (ROW.format(expires="2027-03-31").replace('"mul/float32/*"', "[1]"), "key 'case' is wrong"),
    ],
)
def test_a_file_that_cannot_be_understood_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(text)
    with pytest.raises(WaiverError, match=said) as refusal:
        waivers.read(path)
    assert str(path) in str(refusal.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WaiverError, match=r"nowhere\.toml cannot be read"):
        waivers.read(tmp_path / "nowhere.toml")


def test_the_command_takes_a_file(install: Install, conformance: Run, tmp_path: Path) -> None:
    install("wrong", fake_cases.WRONG_ABOVE)
    path = tmp_path / "waivers.toml"
    path.write_text(ROW.format(expires="2000-01-01").replace("mul/", "sinh/"))
    done = conformance("run", "wrong", "--op", "sinh", "--waivers", str(path))
    assert done.returncode == 1 and "expired on 2000-01-01" in done.stdout, done.stdout + done.stderr
    path.write_text("[[waiver]]")
    done = conformance("run", "wrong", "--op", "sinh", "--waivers", str(path))
    assert done.returncode == 2 and "key 'case' is wrong" in done.stderr
    path.write_text(ROW.format(expires="2999-12-31").replace("mul/float32", "sinh/float32"))
    done = conformance("run", "wrong", "--op", "sinh", "--waivers", str(path))
    run = read_run(tmp_path / "here" / "conformance-wrong")
    waived = [r for r in run.results if r.status is Status.WAIVED]
    assert waived and all(r.case.startswith("sinh/float32/") for r in waived)
    assert run.header.waivers[0]["reason"] == "one too large"
    assert done.returncode == 1 and "cases pass" in done.stdout  # an empty array is right by luck
