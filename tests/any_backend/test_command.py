"""The command `tenora`, and what `import tenora` does beside broken distributions."""

import json
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from conftest import run_python

import tenora
import tenora_dispatch
from tenora.cli import main
from tenora_dispatch import opset

RANGES = 'protocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'
HOST = 'name = "{name}"\ndevice_types = ["cpu"]\n' + RANGES


@pytest.fixture(autouse=True)
def fresh_configuration(tmp_path, monkeypatch):
    """A configuration of the test's own, and no wish from outside."""
    monkeypatch.setenv("TENORA_CONFIG_DIR", str(tmp_path / "configuration"))
    monkeypatch.delenv("TENORA_BACKEND", raising=False)


def command(*arguments: str, path: Path | None = None, **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs `python -m tenora ...`."""
    return run_python(["-m", "tenora", *arguments], path=path, env=env)


def test_version_include_cmakedir(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"tenora {tenora.__version__}"
    assert main(["--include"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "tenora_backend.h").is_file()
    assert main(["--cmakedir"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "tenora_backendConfig.cmake").is_file()


def test_no_command_and_a_wrong_one(capsys):
    assert main([]) == 2
    assert "doctor" in capsys.readouterr().out
    assert main(["no-such-verb"]) == 2
    assert main(["use"]) == 2


def test_ops(capsys):
    assert main(["ops", "--count"]) == 0
    assert int(capsys.readouterr().out) >= 260
    assert main(["ops"]) == 0
    assert capsys.readouterr().out.split() == opset.names()
    assert main(["ops", "add"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("tenora.add(input: Tensor | Scalar, other: Tensor") and "Tensor.add_" in told
    assert re.search(r"^kernel +add\(input, other, out\)$", told, re.MULTILINE)
    assert main(["ops", "sofmax"]) == 1
    assert "Did you mean 'softmax'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("linalg.svd", "linalg_svd"),
        ("linalg_svd", "linalg_svd"),
        ("tenora.linalg.svd", "linalg_svd"),
        ("svdvals", "linalg_svdvals"),
        ("nn.functional.conv2d", "conv2d"),
        ("conv2d", "conv2d"),
        ("Tensor.add_", "add"),
        ("add_", "add"),
        ("multiply", "mul"),
        ("max", "max_dim"),
    ],
)
def test_ops_go_by_each_of_their_names(name, op, capsys):
    for command, line in (("ops", f"op +{op}"), ("explain", f"op +{op}")):
        assert main([command, name]) == 0
        assert re.search(f"^{line}$", capsys.readouterr().out, re.MULTILINE), (command, name)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("linalg.svdd", "linalg.svd"), ("nn.functional.conv2", "nn.functional.conv2d"), ("smu", "sum")],
)
def test_a_misspelt_op_is_suggested(typo, meant, capsys):
    for command in ("ops", "explain"):
        assert main([command, typo]) == 1
        assert f"Did you mean '{meant}'?" in capsys.readouterr().err
    assert main(["ops", "save"]) == 1
    assert "Did you mean" not in capsys.readouterr().err


def test_explain(capsys):
    assert main(["explain", "add", "--device", "cpu"]) == 0
    told = capsys.readouterr().out
    assert tenora_dispatch.current_backend("cpu") in told and "float32" in told
    assert main(["explain", "add", "--device", "cdua"]) == 1
    assert "unknown device: got 'cdua'" in capsys.readouterr().err


def test_the_console_script_is_installed():
    script = Path(sysconfig.get_path("scripts")) / "tenora"
    done = subprocess.run(
        [str(script), "ops", "--count"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and int(done.stdout) >= 490, done.stderr


def test_backends_lists_without_running_code(install):
    home = install("quiet", manifest=HOST, package="raise SystemExit('was imported')")
    done = command("backends", path=home.parent)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("quiet"))
    assert row.split() == ["quiet", "DISCOVERED", "cpu", "by-name", "dist-of-quiet", "1.5"]


@pytest.mark.parametrize(("auto", "code"), [("false", 0), ("true", 1)])
def test_a_device_that_waits_to_be_asked_for_is_no_fault(install, auto, code):
    """One whose backend wants to serve by itself, but may not without a report, is."""
    manifest = HOST.replace('"cpu"', '"waiting"') + f"auto = {auto}\n"
    home = install("patient", manifest=manifest, attested=False)
    shown = command("use", "--show", path=home.parent)
    assert "waiting: no backend" in shown.stdout
    assert shown.returncode == code, shown.stdout


def test_use_show_clear(install):
    home = install("mine", manifest=HOST)
    configuration = str(home.parent / "settings")

    def run(*arguments, **env):
        return command(*arguments, path=home.parent, TENORA_CONFIG_DIR=configuration, **env)

    assert "cpu: mine" not in run("use", "--show").stdout
    chosen = run("use", "mine")
    assert chosen.returncode == 0 and "config.toml says: mine" in chosen.stdout
    shown = run("use", "--show").stdout
    assert "cpu: mine, by configuration" in shown and "config.toml" in shown
    program = "import tenora_dispatch; print(tenora_dispatch.explain_choice('cpu').name)"
    env = {"TENORA_CONFIG_DIR": configuration}
    assert run_python(["-c", program], path=home.parent, env=env).stdout.strip() == "mine"
    assert "cpu: reference, by TENORA_BACKEND" in run("use", "--show", TENORA_BACKEND="reference").stdout
    assert run("use", "mein").returncode == 1 and "Did you mean 'mine'" in run("use", "mein").stderr
    assert run("use", "mine", "--device", "npu").returncode == 1
    assert run("use", "--clear").returncode == 0
    assert "cpu: mine" not in run("use", "--show").stdout


def test_doctor_on_a_sound_installation():
    done = command("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("reference"))
    assert row.split()[1] == "READY" and int(row.split()[3]) >= 40
    assert "protocol" in done.stdout and "op set" in done.stdout


SICK = {
    "raising": ("import json\ndef load(registry):\n    json.loads('{')\n", HOST, "JSONDecodeError"),
    "probing": (
        "def probe():\n    raise OSError('the driver is asleep')\nload = print",
        HOST,
        "the driver is asleep",
    ),
    "importing": ("import no_such_module_here", HOST, "No module named 'no_such_module_here'"),
    "crashing": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", HOST, "signal SIGSEGV"),
    "leaving": ("import os\nos._exit(7)", HOST, "exit code 7"),
    "textless": (None, "name =", "not TOML"),
    "lost": ("", None, "tenora-backend.toml of backend 'lost' is missing"),
    "ancient": ("", HOST.replace(">=1", "<1", 1), "protocol: this tenora has"),
}


def test_doctor_names_every_root_cause(install):
    homes = [install(name, package=package, manifest=text) for name, (package, text, _) in SICK.items()]
    path = Path(":".join(str(home.parent) for home in homes))
    done = command("doctor", path=path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    told = " ".join(done.stdout.split())
    for name, (_, _, cause) in SICK.items():
        state = "INCOMPATIBLE" if name == "ancient" else "FAILED"
        assert any(line.split()[:2] == [name, state] for line in done.stdout.splitlines()), name
        assert cause in told, cause
    assert "__init__.py:2" in told  # the line that raised
    assert any(line.split()[:2] == ["reference", "READY"] for line in done.stdout.splitlines())


def test_doctor_names_misspelt_capabilities(install):
    words = 'capabilities = ["streems", "float32", "sparkle"]\n'
    home = install("misspelt", package="def load(registry):\n    pass\n", manifest=HOST + words)
    told = " ".join(command("doctor", path=home.parent).stdout.split())
    said = "of its manifest means nothing here, and changes nothing."
    assert f"misspelt: capability 'streems' {said} Its author may have meant 'streams'." in told
    assert f"misspelt: capability 'sparkle' {said}" in told
    assert "capability 'float32'" not in told


def test_import_and_compute_beside_broken_distributions(install):
    homes = [install(name, package=package, manifest=text) for name, (package, text, _) in SICK.items()]
    homes.append(install("no_metadata", entry_points="[tenora.backends]\nbroken line\n"))
    homes.append(install("hooked", entry_points="[tenora.plugins]\nhooked = no_such_plugin_module\n"))
    path = Path(":".join(str(home.parent) for home in homes))
    program = "import tenora; print((tenora.ones(3) + 1).sum().item())"
    done = run_python(["-c", program], path=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "6.0"
    assert "hooked failed during loading and is left out" in done.stderr


def test_import_tenora_discovers_and_loads_nothing():
    program = (
        "import sys, json, tenora\n"
        "from tenora_dispatch import runtime\n"
        "print(json.dumps([runtime.table._rows is None, 'tenora_reference' in sys.modules, 'pluggy' in sys.modules]))\n"
    )
    done = run_python(["-c", program])
    assert json.loads(done.stdout) == [True, False, False], done.stderr


def test_commands_of_plugins(install):
    home = install("verbal", entry_points="[tenora.plugins]\nverbal = verbal_plugin\n")
    (home.parent / "verbal_plugin.py").write_text(
        "from tenora_hooks import hookimpl\n"
        "@hookimpl\n"
        "def tenora_cli_commands(subcommands):\n"
        "    verb = subcommands.add_parser('greet', help='say hello')\n"
        "    verb.set_defaults(run=lambda arguments: print('hello') or 5)\n"
    )
    done = command("greet", path=home.parent)
    assert (done.stdout.strip(), done.returncode) == ("hello", 5), done.stderr
    assert "say hello" in command("--help", path=home.parent).stdout
