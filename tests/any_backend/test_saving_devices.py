"""Tensors of a device that is not the host, saved and loaded there, elsewhere, and where it is missing."""

import pytest
from attic_package import MANIFEST, PACKAGE
from conftest import HERE, run_python

import tenora


def test_tensors_of_a_device_are_saved_and_loaded(install, tmp_path):
    home = install("attic", package=PACKAGE, manifest=MANIFEST)
    program = str(HERE / "programs" / "attic_saving.py")
    done = run_python([program, str(tmp_path / "x")], path=home.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "every check passed"
    with pytest.raises(RuntimeError, match=r"the device 'attic(:0)?'.*map_location='cpu'"):
        tenora.load(tmp_path / "x")  # here is no such device
    assert tenora.load(tmp_path / "x", map_location="cpu")["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
