"""A memory space written in Python: allocation, copies, native arrays, out of memory, and everything given back."""

from attic_package import MANIFEST, PACKAGE
from conftest import HERE, run_python


def test_tensors_live_in_memory_written_in_python(install):
    home = install("attic", package=PACKAGE, manifest=MANIFEST)
    done = run_python([str(HERE / "programs" / "attic.py")], path=home.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "every check passed"
