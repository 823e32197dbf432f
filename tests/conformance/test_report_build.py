"""The report of a run: what it holds, what a level needs, and the forms that are made of it."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import run_python
from report_cases import SHA, built, fail, header, result_of, sound_run

from tenora_conformance.header import Header, joined
from tenora_conformance.model import Level, Result, Status
from tenora_conformance.report import build, failures, schema, summary
from tenora_conformance.report.read import RESULTS, Run, read_run, write_run
from tenora_dispatch import ArgumentValueError


def test_a_sound_run_meets_its_level(tmp_path: Path) -> None:
    report = built(tmp_path, sound_run())
    assert report["met"] == "L3"
    assert {name: state["planned"] for name, state in report["levels"].items()} == {
        "L0": 1,
        "L1": 6,
        "L2": 3,
        "L3": 2,
    }
    assert report["provenance"] == {"reference": {"add": 24}}
    assert report["results"][2] == ["add/float32/strided/0", "values", "PASS", 1, 0.25, 1.0]
    assert report["left_out"] == {"capability x": 2} and report["run"]["seeds"] == {"properties": 7}
    assert build.load(tmp_path) == report


def test_the_committed_schema_describes_the_report(tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0")
    report = json.loads(json.dumps(built(tmp_path, run)))
    assert list(schema.problems(report)) == []
    for name, wrong in {
        "met": "L9",
        "digest": "md5",
        "extra": 1,
        "levels": [],
        "results": [["a", "b"]],
    }.items():
        assert list(schema.problems(report | {name: wrong})), name
    assert list(schema.problems({name: value for name, value in report.items() if name != "run"}))


def test_the_schema_uses_only_what_is_checked() -> None:
    def keywords(rule: object) -> set[str]:
        if not isinstance(rule, dict):
            return set()
        found = set(rule)
        for name, inner in rule.items():
            if name == "properties":
                found |= set().union(*(keywords(each) for each in inner.values()))
            elif name == "prefixItems":
                found |= set().union(*(keywords(each) for each in inner))
            else:
                found |= keywords(inner)
        return found

    assert keywords(schema.schema()) <= schema.KEYWORDS
    assert {"prefixItems", "pattern"} <= keywords(schema.schema())


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASS])
def test_only_a_pass_is_a_pass(tmp_path: Path, status: Status) -> None:
    run = sound_run()
    fail(run, "relu/bool/contiguous/0", status, waiver="w1")
    report = built(tmp_path, run)
    waived = status is Status.WAIVED
    assert report["met"] == ("L3" if waived else "L1")
    assert report["levels"]["L2"]["counts"] == {"PASS": 2, status.value: 1}
    assert report["levels"]["L2"]["why"] == ("" if waived else f"1 {status.value}")
    assert report["levels"]["L3"]["why"] == ("" if waived else "L2 is not met")


def test_a_waiver_below_l2_is_no_pass() -> None:
    run = sound_run()
    fail(run, "add/int64/strided/0", Status.WAIVED, waiver="w1")
    assert summary.met_level(summary.levels_of(run)) == "L0"


def test_a_missing_and_a_double_result_are_no_pass() -> None:
    run = sound_run()
    gone = run.results.pop(3)
    assert summary.levels_of(run)[Level(gone.level).name].why == "5 of 6 planned cases have a result"
    run.results += [gone, gone]
    assert summary.levels_of(run)[Level(gone.level).name].why == "1 cases have more than one result"


def test_a_level_of_which_nothing_is_planned_is_not_met() -> None:
    run = sound_run()
    run.header.planned.pop("L2")
    run.results = [result for result in run.results if result.level != Level.L2]
    states = summary.levels_of(run)
    assert states["L2"].why == "no case is planned for it" and summary.met_level(states) == "L1"


def test_a_part_of_a_run_meets_nothing() -> None:
    for fields, said in (({"selection": "--quick"}, "--quick"), ({"shard": "1/2"}, "shard 1/2")):
        states = summary.levels_of(sound_run(**fields))
        assert summary.met_level(states) == "" and said in states["L0"].why
    run = sound_run()
    assert run.end is not None
    run.end.complaints = ["waiver w1 has expired"]
    assert summary.levels_of(run)["L0"].why == "waiver w1 has expired"
    run.end = None
    assert summary.levels_of(run)["L0"].why == "the run was ended before its last case"


def test_a_run_that_was_killed_is_read_up_to_there(tmp_path: Path) -> None:
    write_run(tmp_path, sound_run())
    lines = (tmp_path / RESULTS).read_text().splitlines()
    (tmp_path / RESULTS).write_text("\n".join([*lines[:5], lines[5][:20]]))
    run = read_run(tmp_path)
    assert len(run.results) == 4 and run.end is None
    (tmp_path / RESULTS).write_text("\n".join([*lines[:3], lines[5][:20], *lines[3:]]))
    with pytest.raises(ArgumentValueError, match="line 4 cannot be read: got"):
        read_run(tmp_path)
    (tmp_path / RESULTS).write_text('{"header": {"schema": 99}}\n')
    with pytest.raises(ValueError, match="expected a header of schema 1"):
        read_run(tmp_path)


def fail_many(run: Run, op: str, count: int) -> None:
    """Adds failing cases of an op, each with a result of 5,000 characters and a message of 1,000."""
    for number in range(count):
        run.results.append(Result(f"{op}/int64/strided/{number}", 1, "values", Status.PASS))
        detail = fail(run, f"{op}/int64/strided/{number}", message="m" * 1000).detail
        assert detail is not None
        detail.got = "x" * 5000


def test_failures_are_told_in_full_for_a_few_and_named_for_all(tmp_path: Path) -> None:
    run = sound_run()
    fail_many(run, "sub", 20)
    report = built(tmp_path, run)
    assert len(report["failures"]) == 20 and report["details_left_out"] == 20 - failures.IN_FULL
    told = report["failures"]["sub/int64/strided/0"]
    assert told["inputs"] == ["[1.0, 3.0]"] and told["got"].endswith("(3000 more characters)")
    assert told["message"] == "m" * 1000
    last = report["failures"]["sub/int64/strided/9"]
    assert last == {"message": "m" * failures.LONGEST_MESSAGE + " ... (600 more characters)"}


def test_each_op_has_its_turn_where_all_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MOST", 7)
    run = sound_run()
    for op in ("abs", "exp", "log"):
        fail_many(run, op, 4)
    found = built(tmp_path, run)["failures"]
    in_full = [case for case, told in found.items() if "got" in told]
    assert [case.split("/")[0] for case in in_full] == ["abs"] * 3 + ["exp"] * 2 + ["log"] * 2


def test_a_failure_comes_with_a_program_that_repeats_it(tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0")
    fail(run, "@train/float32/-/mlp:training")
    found = built(tmp_path, run)["failures"]
    done = run_python("-c", found["relu/float32/contiguous/0"]["program"], path=tmp_path, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("tensor("), done.stderr
    script = found["@train/float32/-/mlp:training"]["program"]
    assert script.endswith("run_alone('reference', '@train/float32/-/mlp:training')\n")


def test_numbers_that_json_lacks(tmp_path: Path) -> None:
    run = sound_run()
    result_of(run, "add/int64/strided/0").worst = float("inf")
    result_of(run, "add/int64/strided/1").worst = float("nan")
    report = built(tmp_path, run)
    assert {row[4] for row in report["results"] if row[0].startswith("add/int64")} == {"inf", 0.25}
    json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail)


def test_junit(tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0", message="bad \x00 & <text>")
    fail(run, "relu/int64/contiguous/0", Status.BLOCKED, root="relu/float32/contiguous/0")
    fail(run, "relu/bool/contiguous/0", Status.WAIVED, waiver="w1")
    built(tmp_path, run)
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    values = next(suite for suite in root if suite.get("name") == "values")
    assert (values.get("tests"), values.get("failures"), values.get("skipped")) == ("9", "1", "1")
    (failure,) = root.iter("failure")
    assert failure.get("message") == "bad ? & <text>" and failure.text == "Traceback: here"
    assert sum(int(suite.get("tests", "")) for suite in root) == 12


def test_the_badge_says_the_level(tmp_path: Path) -> None:
    run = sound_run()
    built(tmp_path, run)
    badge = json.loads((tmp_path / "badge.json").read_text())
    assert badge == {"schemaVersion": 1, "label": "tenora 1.0", "message": "L3", "color": "green"}
    fail(run, "@loading/-/-/0:loading")
    built(tmp_path, run)
    badge = json.loads((tmp_path / "badge.json").read_text())
    assert (badge["message"], badge["color"]) == ("not met", "red")


def test_the_markdown_names_what_failed(tmp_path: Path) -> None:
    run = sound_run()
    fail(run, "relu/float32/contiguous/0", message="a | b\nc")
    built(tmp_path, run)
    text = (tmp_path / "report.md").read_text()
    assert text.startswith("# reference meets L1\n")
    assert "| relu | 1 | `relu/float32/contiguous/0` | a \\| b c |" in text
    assert "| capability x | 2 |" in text and "Seeds: properties 7." in text


def test_shards_join_into_the_run(tmp_path: Path) -> None:
    parts = [header(shard=f"{i}/3") for i in (3, 1, 2)]
    parts[0].environment["machine"] = "another"
    whole = joined(parts)
    assert whole.shard == "" and whole.seeds == {"properties": 7} and whole.whole
    with pytest.raises(ValueError, match="do not make up a run: got 3/3, 1/3, expected 1/3 to 3/3"):
        joined(parts[:2])
    other = Header.from_json(header(shard="2/3", device="rock:0").as_json())
    with pytest.raises(ValueError, match="got device 'cpu' beside 'rock:0'|got device 'rock:0' beside 'cpu'"):
        joined([parts[0], parts[1], other])
    changed = header(shard="2/3")
    changed.distributions[0]["digest"] = SHA.replace("0", "1")
    with pytest.raises(ValueError, match="got distributions"):
        joined([parts[0], parts[1], changed])
    with pytest.raises(ValueError, match="got seeds {'properties': 8} beside {'properties': 7}"):
        joined([parts[0], parts[1], header(shard="2/3", seeds={"properties": 8})])
    with pytest.raises(ValueError, match="got level 'L2' beside 'L3'"):
        joined([parts[0], parts[1], header(Level.L2, shard="2/3")])
    older = header(shard="2/3")
    older.environment["opset"] = "0.9"
    with pytest.raises(ValueError, match="got versions {'opset': '0.9'"):
        joined([parts[0], parts[1], older])
