"""Leaving cases out is counted and repeatable: the oracle's under ORACLE=0, and the shards of other days."""

import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tree import ROOT

from case_selection import StandIn, draw_shard, merge, split_shard

MODULES = {
    "test_plain.py": "def test_plain():\n    pass\n",
    "test_many.py": "import pytest\n\n@pytest.mark.parametrize('n', range(60))\ndef test_many(n):\n    pass\n",
    "test_parity.py": "import torch\n\nclass T(torch.Tensor):\n    pass\n\ndef test_parity():\n    pass\n",
    "parity_helper.py": "import torch\n\ndef compare():\n    torch.add(1, 2)\n",
    "test_fixture.py": "import pytest\n\n@pytest.fixture\ndef torch():\n    pass\n\ndef test_c(torch):\n    pass\n",
    "test_helped.py": "from parity_helper import compare\n\ndef test_helped():\n    compare()\n",
    "test_marked.py": "import pytest\n\n@pytest.mark.oracle\ndef test_a():\n    pass\n\ndef test_b():\n    pass\n",
    "test_clean.py": "import sys\n\ndef test_no_stand_in_left():\n    assert 'torch' not in sys.modules\n",
}


def run(place: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest over the modules with the repository's conftest."""
    for name, source in MODULES.items():
        (place / name).write_text(source)
    shutil.copy(ROOT / "tests" / "conftest.py", place)
    options = ["-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(place)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *options,
        "-o",
        f"pythonpath={ROOT / 'ci'}",
        *arguments,
        str(place),
    ]
    return subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_oracle_cases_are_left_out_and_counted(tmp_path: Path, workers: list[str]) -> None:
    report = tmp_path / "not-run.jsonl"
    done = run(tmp_path, *workers, ORACLE="0", TENORA_NOT_RUN=str(report))
    assert done.returncode == 0, done.stdout
    assert "63 passed" in done.stdout
    assert json.loads(report.read_text()) == {"they compare with PyTorch and ORACLE=0": 4}


def test_shards_of_all_days_are_the_whole_set(tmp_path: Path) -> None:
    left_out = []
    for day in ("2026-01-01", "2026-01-02"):
        report = tmp_path / f"{day}.jsonl"
        options = ["--shard-limit", "40", "--shard-day", day, "-k", "test_many"]
        done = run(tmp_path, *options, TENORA_NOT_RUN=str(report), ORACLE="0")
        ((reason, count),) = [row for row in json.loads(report.read_text()).items() if "shard" in row[0]]
        assert f"{60 - count} passed" in done.stdout and day in reason and "of 2" in reason
        left_out.append(count)
    assert sum(left_out) == 60


def test_a_small_set_is_not_sharded(tmp_path: Path) -> None:
    done = run(tmp_path, "--shard-limit", "63", ORACLE="0")
    assert "shard" not in done.stdout and "63 passed" in done.stdout


def test_shards_split_every_case_once() -> None:
    ids = [f"case[{number}]" for number in range(1000)]
    taken = [position for index in range(7) for position in split_shard(ids, index, 7)[0]]
    assert sorted(taken) == list(range(1000))
    chosen, others = split_shard(ids, 3, 7)
    assert sorted(chosen + others) == list(range(1000)) and 80 < len(chosen) < 220


def test_shards_are_drawn_by_date() -> None:
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=day) for day in range(4)]
    assert {draw_shard(100, 25, day) for day in days} == {(index, 4) for index in range(4)}
    assert draw_shard(25, 25, days[0]) == (0, 1)


def test_the_stand_in_passes_for_a_module() -> None:
    torch: Any = StandIn("torch")
    assert isinstance(torch.Tensor, type) and isinstance(torch.nn.functional, StandIn)
    assert isinstance(torch.manual_seed(0), StandIn)
    assert not hasattr(torch, "__path__")


def test_reports_of_workers_are_one_report() -> None:
    assert merge([{"a": 3}, {"a": 3, "b": 1}]) == {"a": 3, "b": 1}
