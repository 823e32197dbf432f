"""What `python -m bench.suite` writes of the conformance suite's own time and of a new backend's size."""

from __future__ import annotations

import pytest
from bench import suite


def test_the_block_holds_each_figure_beside_its_budget() -> None:
    text = suite.block({"--level L3": 431.6, "--quick": 38.2}, (6, 425))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]
    assert [row[1:] for row in rows[2:]] == [["432", "600"], ["38", "60"], ["6", "6"], ["425", "800"]]
    assert "worker processes" in text and "tenora-cpu-mkl" in text


def test_a_new_backend_is_within_its_budget() -> None:
    files, lines = suite.package_size()
    assert 0 < files <= suite.FILES and 100 < lines <= suite.LINES


def test_a_run_that_fails_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "BACKEND", "nobody_has_this")
    with pytest.raises(RuntimeError, match="expected 4"):
        suite.seconds_of("--quick", 4)
