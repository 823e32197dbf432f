"""The support window: plugins built from old commits and kept as wheels install offline and compute today."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HERE, run_python

import tenora_dispatch

FROZEN = HERE / "frozen"
WHEELS = sorted(FROZEN.glob("*.whl"))
NAMES = {"stranger_py": "cpu", "stranger_c": "rock"}
#: Plugins of that age carry no conformance report, so they serve those who name them.
NAMED = {"TENORA_BACKEND": "stranger_c"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the wheels, without network and without building anything."""
    target = tmp_path_factory.mktemp("frozen") / "site"
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), *map(str, WHEELS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_wheels_are_there_and_small():
    assert len(WHEELS) == len(NAMES)
    assert all(wheel.stat().st_size < 200_000 for wheel in WHEELS)
    text = (FROZEN / "README.md").read_text()
    assert [wheel.name for wheel in WHEELS if wheel.name not in text] == []
    assert len(set(re.findall(r"git archive ([0-9a-f]{7})", text))) == 2


def test_they_load(site):
    done = run_python(["-m", "tenora", "doctor"], path=site)
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert [rows[name][:3] for name in NAMES] == [[name, "READY", kind] for name, kind in NAMES.items()], (
        done.stdout
    )


def test_they_train_as_the_reference_does(site):
    (reference,) = [row.name for row in tenora_dispatch.backends() if row.manifest and row.manifest.reference]
    pairs = [f"{name}:{kind}" for name, kind in ((reference, "cpu"), *NAMES.items())]
    done = run_python([str(HERE / "programs" / "train.py"), *pairs], path=site, env=NAMED)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    losses, parameters = report[reference]
    assert losses[-1] < 0.75 * losses[0]
    for name in NAMES:
        assert report[name][0] == pytest.approx(losses, rel=1e-5, abs=1e-6)
        assert report[name][1] == pytest.approx(parameters, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_each_computes_by_its_own_kernels(site, name):
    program = [str(HERE / "programs" / "provenance.py"), f"{name}:{NAMES[name]}"]
    done = run_python(program, path=site, env=NAMED)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {name: [[name], [name]]}


def test_they_say_which_versions_they_were_built_for(site):
    """What the promise is about: protocol, C ABI and op set lie in the ranges that the old manifests name."""
    for name in NAMES:
        text = (site / name / "tenora-backend.toml").read_text()
        assert 'protocol = ">=1,<2"' in text and 'abi = ">=1,<2"' in text and 'opset = ">=1.0,<2"' in text
