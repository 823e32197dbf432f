"""The CI configurations of the package: their shell steps run as they are, in a fresh environment without a network."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import fake_cases
import pytest
import yaml
from conftest import MANIFEST

from tenora_conformance import cli

PROJECT = """
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "my-backend"
version = "1.0"
dependencies = ["tenora>=0.1,<0.2"]

[project.optional-dependencies]
test = ["pytest>=8"]

[project.entry-points."tenora.backends"]
my_backend = "my_backend"

[tool.setuptools]
packages = ["my_backend"]
package-data = { my_backend = ["*.toml"] }
"""


TEST = """
from pathlib import Path

def test_it_has_run():
    Path("tested.txt").write_text("yes")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A backend's repository."""
    home = tmp_path / "project" / "my_backend"
    home.mkdir(parents=True)
    (home / "__init__.py").write_text(fake_cases.SOUND)
    (home / "tenora-backend.toml").write_text(MANIFEST.format(name="my_backend"))
    (home.parent / "pyproject.toml").write_text(PROJECT)
    (home.parent / "tests").mkdir()
    (home.parent / "tests" / "test_mine.py").write_text(TEST)
    return home.parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A virtual environment that has what this one has; pip finds it installed and takes nothing from the network."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "here.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    for command in ("tenora", "pytest"):
        (venv / "bin" / command).write_text(f'#!/bin/sh\nexec {venv}/bin/python -P -m {command} "$@"\n')
        (venv / "bin" / command).chmod(0o755)
    return {
        "PATH": f"{venv / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "false",  # pip's way to say that there is none
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }


def configuration(service: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert cli.main(["workflow", service]) == 0
    # YAML 1.1 reads the key `on` as true; it is none of the steps.
    loaded: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return loaded


def steps_of(service: str, loaded: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The shell steps in order, and the variables that they see."""
    if service == "github":
        (job,) = loaded["jobs"].values()
        return [step["run"] for step in job["steps"] if "run" in step], loaded["env"]
    job = loaded["conformance"]
    return [*job["before_script"], *job["script"]], job["variables"]


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_every_shell_step_runs_as_it_is(
    service: str,
    project: Path,
    environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    steps, variables = steps_of(service, configuration(service, capsys))
    assert len(steps) >= 4 and variables["LEVEL"] == "L2"
    variables["LEVEL"] = "L0"  # the level is the author's to choose; the steps stay
    for step in steps:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step],
            cwd=project,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
    assert "L0: MET" in done.stdout or "my_backend" in (tmp_path / "summary.md").read_text()
    assert (project / "tested.txt").exists()
    assert os.path.getsize(project / "conformance-report" / "junit.xml") > 100


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_what_is_kept_is_what_a_run_writes(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = configuration(service, capsys)
    steps, _ = steps_of(service, loaded)
    assert any("--out conformance-report" in step for step in steps)
    if service == "github":
        upload = loaded["jobs"]["conformance"]["steps"][-1]
        assert upload["if"] == "always()" and upload["with"]["path"] == "conformance-report"
    else:
        assert loaded["conformance"]["artifacts"]["paths"] == ["conformance-report"]


def test_the_services_do_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    github, gitlab = (steps_of(service, configuration(service, capsys)) for service in ("github", "gitlab"))
    assert github[1] == gitlab[1]
    lines = "\n".join(github[0]).splitlines()
    assert [line for line in gitlab[0] if line not in lines] == []
