"""The covering design: every pair is met, no row comes twice, and more samples take no row away."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenora_ops
from tenora_conformance.checks import values
from tenora_conformance.covering import covering_rows
from tenora_conformance.judge.calls import samples_of

COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=14)


@given(COUNTS, st.integers(1, 8))
def test_every_pair_is_met_and_no_row_comes_twice(samples: list[int], layouts: int) -> None:
    rows = list(covering_rows(samples, layouts))
    having = [dtype for dtype, count in enumerate(samples) if count]
    assert len(rows) == len(set(rows))
    assert {(d, s) for d, s, _ in rows} == {(d, s) for d in having for s in range(samples[d])}
    assert {(d, k) for d, _, k in rows} == {(d, k) for d in having for k in range(layouts)}
    assert {(s, k) for _, s, k in rows} == {(s, k) for s in range(max(samples)) for k in range(layouts)}


@pytest.mark.parametrize("layouts", [1, 4, 6])
@pytest.mark.parametrize("dtypes", [1, 3, 15])
def test_another_sample_takes_no_row_away(dtypes: int, layouts: int) -> None:
    for count in range(1, 12):
        if (count < layouts) == (count + 1 < layouts):
            before, after = ({*covering_rows([n] * dtypes, layouts)} for n in (count, count + 1))
            assert before < after


def test_it_is_smaller_than_all_triples() -> None:
    assert len(list(covering_rows([10] * 15, 6))) == 10 * 15


@pytest.mark.parametrize("name", ["iota", "full", "eye"])
def test_every_sample_without_arrays_is_asked_in_every_dtype(name: str) -> None:
    record = tenora_ops.record(name)
    asked = {(case.dtype, case.layout, case.number) for case in values.cases_of(name)}
    assert asked == {
        (dtype, "contiguous", str(number))
        for dtype in record.dtypes
        for number in range(len(samples_of(name, dtype)))
    }
