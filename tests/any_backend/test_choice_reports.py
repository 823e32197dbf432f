"""The automatic choice of a backend asks for a conformance report, read as static data, and says what is wrong."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attested import attest
from conftest import run_python

from tenora.cli.backends import describe_steps
from tenora_dispatch import opset
from tenora_dispatch.attestation import UnusableReport, folders_digest, folders_files, package_digest
from tenora_dispatch.choice import BackendChoiceWarning, Chooser, UseBackend
from tenora_dispatch.errors import BackendNotFoundError
from tenora_dispatch.lifecycle import BackendTable

RANGES = 'protocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'
AUTO = 'name = "{name}"\ndevice_types = ["cpu"]\nauto = true\n' + RANGES
REFERENCE = 'name = "{name}"\ndevice_types = ["cpu"]\nreference = true\n' + RANGES


@pytest.fixture
def choose(engine: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Chooser]:
    """A chooser over nothing but what the test installs, without wishes."""
    monkeypatch.delenv("TENORA_BACKEND", raising=False)
    monkeypatch.setenv("TENORA_CONFIG_DIR", str(tmp_path / "configuration"))

    def make() -> Chooser:
        def mine() -> list[Any]:
            return [
                each for each in BackendTable(engine)._discover() if each.distribution.startswith("dist-of-")
            ]

        return Chooser(BackendTable(engine, mine))

    return make


@pytest.fixture
def fast(install: Callable[..., Path]) -> Path:
    """The folder of a backend that would serve by itself, beside a reference."""
    install("ref", manifest=REFERENCE)
    return install("fast", manifest=AUTO, attested=False)


def test_a_backend_with_a_report_is_chosen(fast: Path, choose: Callable[[], Chooser]) -> None:
    attest(fast, "fast")
    choice = choose().explain("cpu")
    assert choice.name == "fast" and choice.warning == ""


def older(version: str) -> str:
    return f"{int(version.partition('.')[0]) - 1}.9"


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda home: None, "it carries no conformance report (tenora-conformance.json)"),
        (lambda home: attest(home, "fast", level="L2"), "its conformance report is of level L2, below L3"),
        (
            lambda home: attest(home, "fast", version=older(opset.version())),
            "is of op set 0.9, this tenora has 1.0",
        ),
        (lambda home: attest(home, "fast", ["rock"]), "its conformance report says nothing of 'cpu'"),
        (lambda home: attest(home, "fast", digest="sha256:0"), "is of other sources (stale digest)"),
        (lambda home: attest(home, "fast").write_text("{"), "its conformance report is unusable: "),
        (
            lambda home: attest(home, "fast").write_text("[]"),
            "got [], expected schema 1 with a table of devices",
        ),
        (lambda home: attest(home, "fast").write_bytes(b"\xff"), "cannot be read"),
    ],
)
def test_a_backend_is_passed_over_with_the_reason(
    fast: Path, choose: Callable[[], Chooser], prepare: Callable[[Path], object], said: str
) -> None:
    prepare(fast)
    chooser = choose()
    choice = chooser.explain("cpu")
    assert choice.name == "ref"
    assert said in describe_steps(choice).replace("\n        ", " ").replace("\n    ", " ")
    (answer,) = [answer for _, answer in choice.steps if answer.startswith("fast is passed over: ")]
    assert said in answer
    with pytest.warns(
        BackendChoiceWarning, match="may be chosen automatically for 'cpu': got fast .*tenora use fast"
    ):
        assert chooser.choose("cpu") == "ref"


@pytest.mark.parametrize("field", ["level", "opset", "protocol", "digest", "date", "report"])
@pytest.mark.parametrize("wrong", [None, 3, [], "L7"])
def test_a_damaged_entry_is_a_reason(
    fast: Path, choose: Callable[[], Chooser], field: str, wrong: object
) -> None:
    path = attest(fast, "fast")
    data = json.loads(path.read_text())
    data["devices"]["cpu"][field] = wrong
    path.write_text(json.dumps(data))
    if wrong == "L7" and field in ("protocol", "date", "report"):
        assert choose().explain("cpu").name == "fast"  # free text
    else:
        assert choose().explain("cpu").name == "ref"


def test_a_later_minor_of_the_op_set_counts(fast: Path, choose: Callable[[], Chooser]) -> None:
    attest(fast, "fast", version=f"{opset.version().partition('.')[0]}.99")
    assert choose().explain("cpu").name == "fast"


def test_a_changed_file_makes_the_report_stale(fast: Path, choose: Callable[[], Chooser]) -> None:
    attest(fast, "fast")
    (fast / "tables.bin").write_bytes(b"new")
    assert choose().explain("cpu").name == "ref"
    (fast / "tables.bin").unlink()
    assert choose().explain("cpu").name == "fast"
    (fast / "__init__.py").write_text("def load(registry): ...")
    assert choose().explain("cpu").name == "ref"


def test_what_python_leaves_behind_does_not(fast: Path, choose: Callable[[], Chooser]) -> None:
    attest(fast, "fast")
    (fast / "__pycache__").mkdir()
    (fast / "__pycache__" / "x.cpython-311.pyc").write_bytes(b"code")
    (fast / "old.pyc").write_bytes(b"code")
    (fast / ".hidden").write_text("an editor's")
    assert choose().explain("cpu").name == "fast"


def test_only_the_attested_of_two_is_a_candidate(
    fast: Path, install: Callable[..., Path], choose: Callable[[], Chooser]
) -> None:
    attest(install("quick", manifest=AUTO, attested=False), "quick")
    choice = choose().explain("cpu")
    assert choice.name == "quick" and choice.warning == ""
    assert any("fast is passed over" in answer for _, answer in choice.steps)


def test_without_a_reference_it_is_an_error_that_says_how(
    install: Callable[..., Path], choose: Callable[[], Chooser]
) -> None:
    install("fast", manifest=AUTO, attested=False)
    with pytest.raises(
        BackendNotFoundError, match="got fast .it carries no conformance report.*tenora use fast"
    ):
        choose().choose("cpu")


def test_a_wish_needs_no_report(
    fast: Path, choose: Callable[[], Chooser], monkeypatch: pytest.MonkeyPatch
) -> None:
    chooser = choose()
    with UseBackend(chooser, "fast"):
        assert chooser.explain("cpu").name == "fast"
    monkeypatch.setenv("TENORA_BACKEND", "fast")
    assert chooser.choose("cpu") == "fast"


def test_no_code_of_the_backend_runs(install: Callable[..., Path], choose: Callable[[], Chooser]) -> None:
    install("ref", manifest=REFERENCE)
    home = install("fast", manifest=AUTO, attested=False, package="raise SystemExit('was imported')")
    assert choose().explain("cpu").name == "ref"
    attest(home, "fast")
    assert choose().explain("cpu").name == "fast"


def test_the_command_says_why_a_backend_was_passed_over(
    fast: Path, install: Callable[..., Path], tmp_path: Path
) -> None:
    """On a device of its own, so that no other backend is a candidate."""
    manifest = AUTO.replace("cpu", "npu")
    home = install("lonely", manifest=manifest, attested=False)
    env = {"TENORA_CONFIG_DIR": str(tmp_path / "configuration")}
    shown = run_python(["-m", "tenora", "use", "--show"], path=home.parent, env=env)
    told = " ".join(shown.stdout.split())
    assert shown.returncode == 1 and "npu: no backend" in told
    assert "lonely is passed over: it carries no conformance report (tenora-conformance.json)" in told
    assert "Choose by name: tenora use lonely" in told
    attest(home, "lonely", ["npu"])
    shown = run_python(["-m", "tenora", "use", "--show"], path=home.parent, env=env)
    assert "npu: lonely, by installed backends" in shown.stdout


def test_the_doctor_tells_of_a_backend_that_was_passed_over(
    install: Callable[..., Path], tmp_path: Path
) -> None:
    home = install("lonely", manifest=AUTO.replace("cpu", "npu"), attested=False)
    env = {"TENORA_CONFIG_DIR": str(tmp_path / "configuration")}
    done = run_python(["-m", "tenora", "doctor", "--no-load"], path=home.parent, env=env)
    assert done.returncode == 1 and "npu: no backend" in done.stdout
    assert "lonely (it carries no conformance report" in " ".join(done.stdout.split())


# ---- the digest


def test_a_package_in_two_folders_has_one_digest(tmp_path: Path) -> None:
    """As an editable install has it: sources in one folder, what was built in another."""
    whole, source, built = (tmp_path / name for name in ("whole", "source", "built"))
    for folder in (whole, source, built):
        (folder / "inner").mkdir(parents=True)
    for name, text in {"__init__.py": "a", "inner/b.py": "b"}.items():
        (source / name).write_text(text)
        (whole / name).write_text(text)
    (built / "tenora-sources.txt").write_text("sum  src/x.c\n")
    (whole / "tenora-sources.txt").write_text("sum  src/x.c\n")
    assert folders_digest([source, built]) == folders_digest([built, source]) == folders_digest([whole])
    assert list(folders_files([whole])) == ["__init__.py", "inner/b.py", "tenora-sources.txt"]


@pytest.mark.parametrize(
    "library", ["libx.so", "libx.so.1.2", "x.cpython-311-x86_64-linux-gnu.so", "x.dll", "x.pyd"]
)
def test_a_list_of_sources_stands_for_the_libraries(tmp_path: Path, library: str) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / library).write_bytes(b"compiled here")
    here = folders_digest([tmp_path])
    (tmp_path / library).write_bytes(b"compiled there")
    assert folders_digest([tmp_path]) != here
    (tmp_path / "tenora-sources.txt").write_text("sum  src/x.c\n")
    listed = folders_digest([tmp_path])
    (tmp_path / library).write_bytes(b"compiled elsewhere")
    assert folders_digest([tmp_path]) == listed
    (tmp_path / "tenora-sources.txt").write_text("other  src/x.c\n")
    assert folders_digest([tmp_path]) != listed


def test_a_renamed_file_is_another_package(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    before = folders_digest([tmp_path])
    shutil.move(tmp_path / "a.py", tmp_path / "b.py")
    assert folders_digest([tmp_path]) != before


def test_a_package_that_is_not_there() -> None:
    with pytest.raises(UnusableReport, match="package 'no_such_package' cannot be found"):
        package_digest("no_such_package")
