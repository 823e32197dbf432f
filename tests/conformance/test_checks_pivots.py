"""A factorisation that hides which matrix it could not do, or makes an error of a NaN, is found."""

from typing import Any

import numpy as np
import planted_cases as planted
import pytest

import tenora_ops
from tenora_conformance.checks import pivots
from tenora_reference import factor


def hides_it(input: Any, *, upper: bool, check_errors: bool, out: Any) -> None:
    out[0][...], out[1][...] = 0, 0


def always_the_first(input: Any, *, upper: bool, check_errors: bool, out: Any) -> None:
    out[0][...], out[1][...] = 0, 1


def refuses_nan(A: Any, *, pivot: bool, check_errors: bool, out: Any) -> None:
    if (A != A).any():
        raise ValueError("NaN")


def drops_nan(A: Any, *, pivot: bool, check_errors: bool, out: Any) -> None:
    for array in out:
        array[...] = 0


@pytest.mark.parametrize("kind", ["zero", "nan"])
@pytest.mark.parametrize("defect", [hides_it, always_the_first])
def test_a_cholesky_factorisation_that_names_a_wrong_pivot(
    kind: str, defect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = f"linalg_cholesky_ex/float32/{kind}/0:pivots"
    planted.passes("pivots", case)
    planted.plant(monkeypatch, factor.cholesky, defect)
    planted.fails("pivots", case, "info of a stack")


@pytest.mark.parametrize(("defect", "words"), [(refuses_nan, "NaN"), (drops_nan, "info of a stack")])
def test_an_elimination_that_refuses_nan_or_loses_it(
    defect: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = "linalg_lu_factor_ex/float64/nan/1:pivots"
    planted.passes("pivots", case)
    planted.plant(monkeypatch, factor.lu_factor, defect)
    planted.fails("pivots", case, words)


def test_every_op_that_tells_a_pivot_is_asked() -> None:
    asked = {case.op for case in pivots.CHECK.cases()}
    assert asked == {"linalg_cholesky_ex", "linalg_lu_factor_ex", "linalg_solve_ex", "linalg_inv_ex"}


def test_a_sound_matrix_stays_last() -> None:
    made = pivots.stack_of(pivots.alone(tenora_ops.record("linalg_inv_ex"), "float64"), "zero")
    (stack,) = made.arguments
    ranks = [np.linalg.matrix_rank(m) for m in stack]
    assert ranks == [2, 2, 2, 3]
