"""`tenora.debug.guard` names the zoo's backend that writes behind its results, at the call that does."""

from pathlib import Path

from conftest import Install, run_python
from zoo_cases import ZOO

PROGRAM = """
import tenora
numbers = tenora.tensor([1.0, 2.0, 3.0])
with tenora.use_backend("overruns"), tenora.debug.guard("overruns"):
    try:
        tenora.neg(numbers)
    except tenora.TenoraError as error:
        print(error.backend, error.op, error)
"""


def test_a_write_behind_a_result_is_named(install: Install, distributions: Path, tmp_path: Path) -> None:
    broken = next(each for each in ZOO if each.name == "overruns")
    install(broken.name, broken.package, broken.manifest)
    done = run_python("-c", PROGRAM, path=distributions, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "overruns neg [neg] guard: the kernel of backend 'overruns' writes outside of output 0"
    )
