"""Two strangers, each installed by pip from its own pyproject, train beside our backends in one process."""

import json

import pytest
from conftest import HERE, run_python

import tenora_dispatch

OURS = [row.name for row in tenora_dispatch.backends() if row.name in ("reference", "cpu_mkl")]


@pytest.fixture(scope="session")
def report(strangers):
    """Losses and final parameters of a small network, by backend; trained in one process."""
    names = [f"{name}:cpu" for name in [*OURS, "stranger_py"]]
    done = run_python([str(HERE / "programs" / "train.py"), *names, "stranger_c:rock"], path=strangers)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_reference_learns(report):
    losses, _ = report["reference"]
    assert losses[-1] < 0.75 * losses[0]


@pytest.mark.parametrize("name", ["cpu_mkl", "stranger_py", "stranger_c", "switching", "halfway"])
def test_all_learn_the_same(report, name):
    if name == "cpu_mkl" and name not in OURS:
        pytest.skip("the distribution tenora-cpu-mkl is not installed")
    losses, parameters = report[name]
    expected_losses, expected_parameters = report["reference"]
    assert losses == pytest.approx(expected_losses, rel=1e-5, abs=1e-6)
    assert parameters == pytest.approx(expected_parameters, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("pair", ["stranger_py:cpu", "stranger_c:rock"])
def test_each_backend_computed_its_own_part(strangers, pair):
    done = run_python([str(HERE / "programs" / "provenance.py"), pair], path=strangers)
    assert done.returncode == 0, done.stderr
    name = pair.split(":")[0]
    # A whole step, and a backward outside of use_backend: the tape remembers who computed the forward.
    assert json.loads(done.stdout.splitlines()[-1]) == {name: [[name], [name]]}


def test_the_records_judge_a_stranger_that_is_installed(strangers):
    """The suite of the records finds backends by itself, each on its own device and in the dtypes that it claims."""
    arguments = ["-m", "pytest", "-v", "-p", "no:cacheprovider", str(HERE / "test_ops_oracle.py")]
    chosen = "test_oracle and stranger and (add] or bitwise_not])"
    done = run_python([*arguments, "-k", chosen], path=strangers, env={"ORACLE": "0"})
    for case in ("stranger_py-add] PASSED", "stranger_c-add] PASSED", "stranger_py-bitwise_not] SKIPPED"):
        assert f"test_oracle[{case}" in done.stdout, done.stdout + done.stderr
    # What a stranger lacks is a failure that names it, not a hole in the suite.
    assert "test_oracle[stranger_c-bitwise_not] FAILED" in done.stdout, done.stdout
    assert "backend stranger_c has no kernel" in done.stdout, done.stdout


def test_doctor_sees_both(strangers):
    done = run_python(["-m", "tenora", "doctor"], path=strangers)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.startswith("stranger")}
    assert rows["stranger_py"][:3] == ["stranger_py", "READY", "cpu"]
    assert rows["stranger_c"][:3] == ["stranger_c", "READY", "rock"]
    assert "x2" in rows["stranger_c"][3]


def test_memory_errors_options_and_devices_of_a_stranger(strangers):
    done = run_python([str(HERE / "programs" / "rock.py")], path=strangers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "every check passed"


WHO = (
    "import tenora; tenora.ones(2) + 1; import tenora_dispatch; print(tenora_dispatch.current_backend('cpu'))"
)


def test_environment_and_configuration_choose(strangers, tmp_path):
    config = {"TENORA_CONFIG_DIR": str(tmp_path)}
    before = run_python(["-c", WHO], path=strangers, env=config).stdout.strip()
    assert before in ("reference", "cpu_mkl")
    assert run_python(["-m", "tenora", "use", "stranger_py"], path=strangers, env=config).returncode == 0
    assert run_python(["-c", WHO], path=strangers, env=config).stdout.strip() == "stranger_py"
    env = config | {"TENORA_BACKEND": "stranger_c,reference"}
    assert run_python(["-c", WHO], path=strangers, env=env).stdout.strip() == "reference"
    wrong = run_python(["-c", WHO], path=strangers, env=config | {"TENORA_BACKEND": "strangerpy"})
    assert wrong.returncode != 0 and "Did you mean 'stranger_py'?" in wrong.stderr


def test_many_threads_make_the_first_call(strangers):
    program = (
        "import threading, tenora\n"
        "barrier, results = threading.Barrier(8), []\n"
        "def work():\n"
        "    barrier.wait()\n"
        "    results.append((tenora.ones(3).to('rock') + 1).cpu().tolist())\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "assert results == [[2.0, 2.0, 2.0]] * 8, results\n"
    )
    for _ in range(3):
        done = run_python(["-c", program], path=strangers)
        assert done.returncode == 0, done.stderr
