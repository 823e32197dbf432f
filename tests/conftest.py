"""What every test group shares: a clean configuration, the oracle switch, shards drawn by date.

- The user's configuration is never read: TENORA_CONFIG_DIR is an empty folder of the run.
- ORACLE=0 leaves out the cases that compare with PyTorch and says how many; otherwise PyTorch must be there.
- `--shard-limit N` takes a date-drawn shard of about N cases when more are collected.
See ci/case_selection.py for what belongs to the oracle.
"""

import datetime
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from case_selection import StandIn, draw_shard, merge, split_shard, uses_stand_in

TESTS = str(Path(__file__).resolve().parent)
ORACLE = os.environ.get("ORACLE", "1") != "0"
LEFT_OUT = pytest.StashKey[dict[str, int]]()
CONFIGURATION = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shard-limit", type=int, default=0, help="take a date-drawn shard of about this many cases"
    )
    parser.addoption(
        "--shard-day", default="", help="the date that draws the shard, YYYY-MM-DD; default: today, UTC"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = {}
    # Workers of one run share the controller's folder and date through the environment.
    if not hasattr(config, "workerinput"):
        config.stash[CONFIGURATION] = tempfile.TemporaryDirectory(prefix="tenora-config-")
        os.environ["TENORA_CONFIG_DIR"] = config.stash[CONFIGURATION].name
        day = config.getoption("--shard-day") or datetime.datetime.now(datetime.UTC).date().isoformat()
        os.environ["TENORA_SHARD_DAY"] = day
    if ORACLE and importlib.util.find_spec("torch") is None:
        raise pytest.UsageError("PyTorch is not installed: pip install 'tenora[oracle]', or set ORACLE=0")


def pytest_unconfigure(config: pytest.Config) -> None:
    if CONFIGURATION in config.stash:
        config.stash[CONFIGURATION].cleanup()


def pytest_collection(session: pytest.Session) -> None:
    if not ORACLE:
        sys.modules["torch"] = StandIn("torch")


def _belongs_to_oracle(item: pytest.Item) -> bool:
    module = getattr(item, "module", None)
    return (
        item.get_closest_marker("oracle") is not None
        or "torch" in getattr(item, "fixturenames", ())
        or (module is not None and uses_stand_in(module, TESTS))
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = config.stash[LEFT_OUT]
    if not ORACLE:
        # SciPy and others look for torch in sys.modules at run time: the stand-in is for collection only.
        sys.modules.pop("torch", None)
        judged = [item for item in items if _belongs_to_oracle(item)]
        _deselect(config, items, judged, "they compare with PyTorch and ORACLE=0")
    limit = config.getoption("--shard-limit")
    if limit and len(items) > limit:
        day = datetime.date.fromisoformat(os.environ["TENORA_SHARD_DAY"])
        index, shards = draw_shard(len(items), limit, day)
        _, others = split_shard([item.nodeid for item in items], index, shards)
        reason = f"they belong to other days' shards: {day} runs shard {index + 1} of {shards}"
        _deselect(config, items, [items[position] for position in others], reason)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = left_out


def _deselect(config: pytest.Config, items: list[pytest.Item], gone: list[pytest.Item], reason: str) -> None:
    if not gone:
        return
    away = set(gone)
    items[:] = [item for item in items if item not in away]
    config.hook.pytest_deselected(items=gone)
    config.stash[LEFT_OUT][reason] = len(gone)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    stash = node.config.stash[LEFT_OUT]
    stash.update(merge([stash, getattr(node, "workeroutput", {}).get("left_out", {})]))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    # Workers have a terminal of their own that nobody sees; the controller has their counts.
    left_out = {} if hasattr(config, "workerinput") else config.stash[LEFT_OUT]
    for reason, cases in left_out.items():
        terminalreporter.write_line(f"did not run: {cases} cases, {reason}")
    report = os.environ.get("TENORA_NOT_RUN")
    if report and left_out:
        with open(report, "a") as file:
            file.write(json.dumps(left_out) + "\n")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Every test that draws draws the same in every run: a process begins with a seed of the system."""
    if "tenora" in sys.modules:
        sys.modules["tenora"].manual_seed(0)
