"""The must-run list: what a backend has to pass, and that nothing leaves it silently."""

import functools

import pytest

from tenora_conformance import manifest, must_run, subject
from tenora_conformance.checks import CHECKS
from tenora_conformance.model import Case, Level


@functools.cache
def all_cases() -> list[Case]:
    return list(must_run.all_cases())


def test_case_ids_are_unique() -> None:
    ids = [case.id for case in all_cases()]
    assert len(ids) > 40_000
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_states_the_lowest_level_of_its_cases(name: str) -> None:
    assert CHECKS[name].lowest == min(case.level for case in all_cases() if case.check == name)


def test_what_is_not_declared_is_left_out_and_counted() -> None:
    few = subject.Subject("any", "cpu", subject.MINIMUM, frozenset(), True, True)
    plan = must_run.plan(Level.L4, few, all_cases())
    assert {case.dtype for case in plan.cases} - {"-"} == subject.MINIMUM
    assert len(plan.cases) + sum(plan.left_out.values()) == len(all_cases())
    assert plan.left_out["dtype float16 is not declared"] > 1000


def test_two_cases_of_one_name_are_refused() -> None:
    few = subject.Subject("any", "cpu", subject.MINIMUM, frozenset(), True, True)
    listed = all_cases()[:50]
    with pytest.raises(ValueError, match=f"two of the name {listed[7].id}, expected one"):
        must_run.plan(Level.L4, few, [*listed, listed[7]])


def test_the_committed_list_is_that_of_the_checks() -> None:
    here, listed = {case.id for case in all_cases()}, set(manifest.committed())
    assert sorted(here - listed)[:5] == [], "write it: tenora-conformance manifest --write"
    assert sorted(listed - here)[:5] == [], "write it: tenora-conformance manifest --write"
    assert manifest.path_of().read_text() == manifest.text_of(all_cases())


def test_the_list_counts_cases_and_what_the_covering_design_left_out() -> None:
    head = [line for line in manifest.path_of().read_text().splitlines() if line.startswith("#")]
    assert f"# in all: {len(all_cases())} cases" in head
    (line,) = [line for line in head if line.startswith("# L2 values: ")]
    cases, triples = [int(word) for word in line.split() if word.isdecimal()]
    assert cases == sum(case.check == "values" and case.level == Level.L2 for case in all_cases())
    assert cases < triples / 4


CASES = [
    *(Case("add", "float32", "strided", str(i), Level.L1) for i in (0, 1, 2, 7)),
    Case("add", "float32", "contiguous", "3:gradient", Level.L3, "gradient"),
    Case("add", "int64", "contiguous", "0", Level.L1),
    Case("@threads", "-", "-", "two_at_once", Level.L4, "threads"),
]


def test_a_list_is_read_as_it_was_written() -> None:
    text = manifest.text_of(reversed(CASES))
    assert text == manifest.text_of(CASES)
    assert "add float32: strided 0-2,7" in text.splitlines()
    assert manifest.parse(text) == {case.id: f"{case.level.name} {case.check}" for case in CASES}


@pytest.mark.parametrize(
    "line", ["add float32: strided 0", "[L1 values]\nadd: strided 0", "[L1 values]\nnonsense"]
)
def test_a_damaged_list_is_refused_by_line(line: str) -> None:
    with pytest.raises(ValueError, match="line "):
        manifest.parse(line)


def test_a_name_that_the_list_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="without blanks"):
        manifest.text_of([Case("add", "float32", "-", "two words", Level.L1)])


@pytest.fixture
def another(tmp_path, monkeypatch):  # a list and a changelog of its own
    monkeypatch.setattr(manifest, "FOLDER", tmp_path / "must_run")
    monkeypatch.setattr(manifest, "CHANGELOG", tmp_path / "CHANGELOG.md")
    return tmp_path


def test_a_case_leaves_with_a_row_only(another) -> None:
    manifest.write(CASES)
    with pytest.raises(ValueError, match=r"2 cases would leave .* got add/float32/strided/0 first"):
        manifest.write(CASES[2:])
    assert set(manifest.committed()) == {case.id for case in CASES}
    row = "- removed: add/float32/strided/[01]: the shapes were twice the same\n"
    (another / "CHANGELOG.md").write_text(row.replace(": the shapes were twice the same", ":"))
    with pytest.raises(ValueError, match="a row for each"):
        manifest.write(CASES[2:])
    (another / "CHANGELOG.md").write_text(row)
    manifest.write(CASES[2:])
    assert set(manifest.committed()) == {case.id for case in CASES[2:]}


def test_a_row_that_matches_what_stays_lets_nothing_leave(another) -> None:
    manifest.write(CASES)
    (another / "CHANGELOG.md").write_text("- removed: add/*: once, for something else\n")
    with pytest.raises(ValueError, match="must match no case that stays"):
        manifest.write(CASES[1:])
    manifest.write([case for case in CASES if case.op != "add"])
    assert set(manifest.committed()) == {"@threads/-/-/two_at_once"}


def test_a_run_lacks_what_the_checks_no_longer_list(another) -> None:
    assert "no must-run list" in manifest.lacking(Level.L4, CASES)[0]
    manifest.write(CASES)
    assert manifest.lacking(Level.L4, CASES) == []
    assert manifest.lacking(Level.L1, CASES[1:])[0].startswith("1 cases of ")
    assert manifest.lacking(Level.L2, [case for case in CASES if case.level < Level.L3]) == []
    assert manifest.lacking(Level.L3, [case for case in CASES if case.level < Level.L3]) != []


@pytest.mark.parametrize("names", [("gather", "add"), ("adadelta_update",), ("@memory", "@tape", "argmax")])
def test_the_cases_of_some_ops_are_those_of_the_list(names: tuple[str, ...]) -> None:
    listed = {case for case in manifest.committed() if case.partition("/")[0] in names}
    here = {case.id for case in must_run.all_cases(ops=names)}
    assert listed and here == listed
