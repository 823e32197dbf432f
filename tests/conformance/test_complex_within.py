"""A backend without complex numbers is not asked for ops that lead from real numbers to complex ones."""

import pytest

import tenora_ops
from tenora_conformance import must_run
from tenora_conformance.checks import out
from tenora_conformance.judge.calls import samples_of
from tenora_conformance.judge.results import answers
from tenora_conformance.model import Level
from tenora_conformance.subject import Subject
from tenora_ops.samples import ALL

REAL = frozenset(dtype for dtype in ALL if not dtype.startswith("complex"))


def subject(dtypes: frozenset[str]) -> Subject:
    return Subject("any", "cpu", dtypes, frozenset(), True, True)


def answers_complex(name: str) -> bool:
    """Whether the oracle answers a complex result for the first real sample whose result is not empty."""
    record = tenora_ops.record(name)
    for dtype in ("float32", "float64"):
        for sample in samples_of(name, dtype) if dtype in record.dtypes else ():
            given = [*sample.arguments, *sample.options.values()]
            if any(isinstance(value, complex) or "complex" in str(value) for value in given):
                continue  # asked for
            found = answers(record, dtype, sample)
            if all(array.size for array, _ in found):
                return any("complex" in kind for _, kind in found)
    return False


def test_every_record_that_leads_from_real_to_complex_says_so() -> None:
    found = {record.name for record in tenora_ops.records() if answers_complex(record.name)}
    said = {record.name for record in tenora_ops.records() if record.complex_within}
    assert {"complex", "fft_rfft", "linalg_eig"} <= found
    assert sorted(found - said) == []


@pytest.mark.parametrize("op", ["fft_rfft", "fft_hfft", "linalg_eigvals", "polar"])
def test_they_are_left_out_where_no_complex_dtype_is_declared(op: str) -> None:
    listed = list(must_run.all_cases(Level.L3, [op]))
    told = must_run.plan(Level.L3, subject(REAL), listed)
    assert told.cases == []
    assert told.left_out["dtype complex64, to which the op leads, is not declared"] > 0
    whole = must_run.plan(Level.L3, subject(frozenset(ALL)), listed)
    assert len(whole.cases) > 10


def test_nor_are_complex_operands_given_to_ops_that_refuse_them() -> None:
    listed = [c for c in must_run.all_cases(Level.L2, ["lt"]) if c.id == "lt/float32/dtype/0:error"]
    assert len(listed) == 1
    assert must_run.plan(Level.L2, subject(REAL), listed).cases == []
    assert must_run.plan(Level.L2, subject(frozenset(ALL)), listed).cases == listed


def test_single_precision_needs_no_double() -> None:
    plan = must_run.plan(Level.L3, subject(REAL | {"complex64"}), must_run.all_cases(Level.L3, ["fft_rfft"]))
    assert {case.dtype for case in plan.cases} == {"float32"}


@pytest.mark.parametrize(
    ("dtype", "kind", "declared", "target"),
    [
        ("float32", "wider", frozenset(ALL), "complex128"),
        ("float32", "wider", REAL, "float32"),
        ("int64", "wider", REAL, "float64"),
        ("int64", "wider", REAL - {"float64"}, "int64"),
        ("float32", "narrower", REAL, "int64"),
    ],
)
def test_a_target_has_a_declared_dtype(dtype: str, kind: str, declared: frozenset[str], target: str) -> None:
    assert out.target_dtype(dtype, kind, subject(declared)) == target
