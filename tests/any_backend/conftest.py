"""Backends for tests: ones written to a temporary folder, a recording engine, and two pip-installed strangers.

- `install` writes a distribution (metadata, manifest, package) onto `sys.path`, as broken as a test wants it.
- `table` and `chooser` work on a recording double of the engine, so that no test registers anything for good.
- `backend` is every installed backend in turn, for the tests that judge op records (`test_ops_*`); which device and
  dtypes it computes with is known to `op_cases`.
- `strangers` is a folder into which pip has installed both strangers, once per test run.
"""

import collections
import fcntl
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis_profiles  # noqa: F401 - the profiles are there before the command line names one
import op_cases
import pytest
from attested import attest
from engine_fixtures import installed, live_baseline

import tenora
import tenora_dispatch
from tenora_dispatch import opset
from tenora_dispatch.choice import Chooser
from tenora_dispatch.lifecycle import BackendTable

__all__ = ["live_baseline"]

HERE = Path(__file__).resolve().parent

SCHEMAS = {
    "add": "add(input: Tensor, other: Tensor | Scalar) -> Tensor",
    "sum": "sum(input: Tensor, dim: int[]? = None, keepdim: bool = False, *, dtype: dtype? = None) -> Tensor",
    "cat": "cat(tensors: Tensor[], dim: int = 0) -> Tensor",
    "sort": "sort(input: Tensor, dim: int = -1, *, stable: bool = False) -> (Tensor, Tensor)",
    "pad": "pad(input: Tensor, pad: int[] = (1, 2), mode: str = 'constant, or not') -> Tensor",
}
MANIFEST = """
name = "{name}"
device_types = ["cpu"]
protocol = ">=1,<2"
abi = ">=1,<2"
opset = ">=0,<9"
"""
PACKAGE = """
def load(registry):
    registry.kernel("add", lambda a, b, *, out: a + b)
"""


class RecordingEngine:
    """Does what `engine_port.Engine` says by remembering it."""

    def __init__(self) -> None:
        self.spaces = ["cpu"]
        self.backends: dict[str, tuple[str, list[str]]] = {}
        self.kernels: list[tuple[str, str, int, int]] = []
        self.options: list[tuple[str, str, str]] = []
        self.defaults: dict[str, str] = {}
        self.overrides: list[tuple[str, str | None]] = []
        self.report: dict[str, Any] = {}

    def register_backend(
        self, name: str, version: str, spaces: Sequence[str], *, wrap: Any = None, reference: bool = False
    ) -> int:
        self.backends[name] = (version, list(spaces))
        return len(self.backends)

    def register_space(self, device_type: str, provider: str, **functions: Any) -> int:
        self.spaces.append(device_type)
        return len(self.spaces)

    def register_kernel(
        self, backend: str, op: str, fn: Any, *, dtypes: int = 0x7FFF, flags: int = 0, supports: Any = None
    ) -> None:
        self.kernels.append((backend, op, dtypes, flags))

    def load_native_backend(
        self, path: str, expected_name: str = "", options: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        told = {
            "name": expected_name,
            "abi_version": 1,
            "opset_version": opset.version(),
            "spaces": [],
            "kernels": [],
        }
        return told | self.report

    def set_backend_option(self, backend: str, option: str, value: str) -> None:
        self.options.append((backend, option, value))

    def space_names(self) -> list[str]:
        return self.spaces

    def backend_names(self) -> list[str]:
        return list(self.backends)

    def set_default_backend(self, space: str, name: str | None) -> None:
        self.defaults.pop(space, None)
        if name is not None:
            self.defaults[space] = name

    def default_backend(self, space: str) -> str | None:
        return self.defaults.get(space)

    def set_override_backend(self, space: str, name: str | None) -> str | None:
        self.overrides.append((space, name))
        return None

    def set_fallback(self, mode: str) -> str:
        return "error"

    def fallbacks(self) -> list[tuple[str, str, int]]:
        return [("sort", "mine", 2), ("topk", "mine", 5)]

    def explain(self, op: str, device: str, dtype: Any) -> Mapping[str, Any]:
        return {"implementation": "kernel", "backend": "mine", "reason": ""}

    def set_chooser(self, chooser: Callable[[str], str]) -> None: ...

    def set_error_classes(self, classes: Mapping[str, type[BaseException]]) -> None: ...

    def set_host_info(self, tenora_version: str, opset_version: str) -> None: ...

    def op_names(self) -> list[str]:
        return list(SCHEMAS)

    def op_info(self, name: str) -> Mapping[str, Any]:
        return {"signature": SCHEMAS[name]}


Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """`install(name, package=..., manifest=..., ...)`: a distribution in a folder of its own on `sys.path`.

    One that would serve by itself (`auto = true`) gets the conformance report that this needs; `attested=False`: none.
    """
    packages: list[str] = []

    def write(
        name: str,
        *,
        package: str | None = PACKAGE,
        manifest: str | None = MANIFEST,
        extra: str = "",
        entry_points: str | None = None,
        distribution: str = "",
        attested: bool = True,
    ) -> Path:
        label = distribution or f"dist-of-{name}"
        folder = tmp_path / label
        home = folder / f"package_of_{name}"
        home.mkdir(parents=True)
        info = folder / f"{label.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {label}\nVersion: 1.5\n")
        points = f"[tenora.backends]\n{name} = package_of_{name}\n" if entry_points is None else entry_points
        (info / "entry_points.txt").write_text(points)
        if package is not None:
            (home / "__init__.py").write_text(textwrap.dedent(package))
        if manifest is not None:
            (home / "tenora-backend.toml").write_text(extra + manifest.format(name=name))
        kinds = re.search(r"^device_types = (\[.*\])$", manifest or "", re.MULTILINE)
        if attested and kinds and "auto = true" in (manifest or ""):
            attest(home, name, json.loads(kinds[1]))
        packages.append(f"package_of_{name}")
        monkeypatch.syspath_prepend(folder)
        return home

    yield write
    for name in packages:
        sys.modules.pop(name, None)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> RecordingEngine:
    """A double of the engine, and its ops as the schemas that kernels are checked against."""
    double = RecordingEngine()
    schemas = {name: opset.parse_signature(double.op_info(name), name) for name in double.op_names()}
    monkeypatch.setattr(opset, "_find", schemas.get)
    monkeypatch.setattr(opset, "_names", lambda: list(schemas))
    return double


@pytest.fixture
def table(engine: RecordingEngine) -> BackendTable:
    """A table of what is installed now, over the double."""
    return BackendTable(engine)


@pytest.fixture
def chooser(table: BackendTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Chooser:
    """A chooser without wishes: no environment variable, an empty configuration."""
    monkeypatch.delenv("TENORA_BACKEND", raising=False)
    monkeypatch.setenv("TENORA_CONFIG_DIR", str(tmp_path / "configuration"))
    return Chooser(table)


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with both strangers, installed by pip from their own pyproject files; shared by parallel workers."""
    base = tmp_path_factory.getbasetemp()
    base = base if worker_id == "master" else base.parent
    target, done = base / "strangers", base / "strangers.done"
    with open(base / "strangers.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            for name in ("stranger_py", "stranger_c"):
                pip_install(HERE / name, target)
            attest(target / "stranger_c", "stranger_c", ["rock"])
            done.touch()
    return target


def pip_install(source: Path, target: Path) -> None:
    """Installs a distribution into a folder with the build tools that are here; takes nothing from the network."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(target),
        "--upgrade",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"pip could not install {source.name}:\n{done.stdout}\n{done.stderr}"


def run_python(
    arguments: Sequence[str],
    *,
    path: Path | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Runs Python in a process of its own, with a folder of distributions on its path and no wishes from outside.

    `cwd`: the folder it stands in, this process's unless another is given.
    """
    environment = {key: value for key, value in os.environ.items() if key != "TENORA_BACKEND"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    environment.update(env or {})
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment, cwd=cwd
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A backend that does not serve the CPU runs what is marked `any_device`; the rest computes on the CPU."""
    rows = tenora_dispatch.backends()
    elsewhere = {row.name for row in rows if row.device_types and "cpu" not in row.device_types}

    def fits(item: pytest.Item) -> bool:
        callspec = getattr(item, "callspec", None)
        judged = callspec.params.get("backend") if callspec else None
        return judged not in elsewhere or item.get_closest_marker("any_device") is not None

    left_out = [item for item in items if not fits(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if fits(item)]


@pytest.fixture(params=installed())
def backend(request: pytest.FixtureRequest, live_baseline: None) -> Iterator[str]:
    """Runs the test on each installed backend, on its own device; one whose device is not here is skipped."""
    name = request.param
    try:
        entered = tenora.use_backend(name)
        entered.__enter__()
    except tenora_dispatch.BackendUnavailableError as error:
        pytest.skip(f"backend {name} cannot work here: {error}")
    try:
        (row,) = [row for row in tenora_dispatch.backends() if row.name == name]
        with op_cases.judging(row):
            yield name
    finally:
        entered.__exit__(None, None, None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the comparison with PyTorch left out, and why (test_ops_parity.py)."""
    compared = 0
    left_out: collections.Counter[str] = collections.Counter()
    for report in terminalreporter.stats.get("passed", []):
        found = dict(report.user_properties)
        compared += found.get("compared", 0)
        left_out.update(json.loads(found.get("not_compared", "{}")))
    if compared:
        terminalreporter.section("compared with PyTorch")
        terminalreporter.line(f"{compared} cases; not compared: {sum(left_out.values())}")
        for reason, count in left_out.most_common():
            terminalreporter.line(f"  {count:6} {reason}")
        counted = os.environ.get("TENORA_COUNTED")
        if counted and not hasattr(terminalreporter.config, "workerinput"):
            with open(counted, "a", encoding="utf-8") as file:
                file.write(f"{compared} cases compared with PyTorch\n")
