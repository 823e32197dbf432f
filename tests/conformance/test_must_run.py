"""The must-run list: what a backend has to pass, and that nothing leaves it silently."""

from tenora_conformance import must_run, subject
from tenora_conformance.model import Level


def test_case_ids_are_unique() -> None:
    ids = [case.id for case in must_run.all_cases()]
    assert len(ids) > 40_000
    assert len(ids) == len(set(ids))


def test_what_is_not_declared_is_left_out_and_counted() -> None:
    whole = subject.load("reference")
    few = subject.Subject("reference", "cpu", subject.MINIMUM, frozenset(), True, True)
    full, plan = must_run.plan(Level.L2, whole), must_run.plan(Level.L2, few)
    assert {case.dtype for case in plan.cases} - {"-"} == subject.MINIMUM
    assert len(plan.cases) + sum(plan.left_out.values()) == len(full.cases) + sum(full.left_out.values())
    assert "dtype float16 is not declared" in plan.left_out
