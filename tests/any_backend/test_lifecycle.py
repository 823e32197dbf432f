"""Every state of a backend's life, and every way to fall out of it, with the cause that is told."""

import sys
import threading
import time

import pytest

from tenora_dispatch.errors import (
    BackendFailedError,
    BackendNotFoundError,
    BackendUnavailableError,
    IncompatibleBackendError,
    ManifestError,
    RegistrationError,
)
from tenora_dispatch.lifecycle import BackendTable, State
from tenora_hooks import hookimpl, plugins


def test_discovered_runs_no_code(install, table):
    install("mine", package="raise SystemExit('never imported')")
    row = table.find("mine")
    assert row.state is State.DISCOVERED
    assert (row.distribution, row.version, row.device_types) == ("dist-of-mine", "1.5", ("cpu",))
    assert "package_of_mine" not in sys.modules


def test_the_whole_way_up(install, table, engine):
    install(
        "mine",
        package="""
        from tenora_dispatch import Probe

        def probe():
            return Probe(devices={"cpu": 1})

        def load(registry):
            registry.kernel("add", lambda a, b, *, out: a + b, dtypes=("float32", "ints"), flags=1)
        """,
    )
    assert table.probed("mine").state is State.PROBED
    assert engine.backends == {}
    row = table.ready("mine")
    assert row.state is State.READY and row.kernels == {"add": "python"} and row.cause is None
    assert engine.backends == {"mine": ("1.5", ["cpu"])}
    assert engine.kernels == [("mine", "add", 0x9FE, 1)]
    assert table.ready("mine") is row and len(engine.kernels) == 1


def test_only_the_requested_backend_is_loaded(install, table):
    install("mine")
    install("other", package="raise RuntimeError('imported without being asked for')")
    table.ready("mine")
    assert table.find("other").state is State.DISCOVERED


def test_unavailable(install, table):
    install(
        "mine",
        package="""
        from tenora_dispatch import Probe
        probe = lambda: Probe(False, "no such device here. Plug one in.")
        load = print
        """,
    )
    for _ in range(2):  # the answer is remembered and given again
        with pytest.raises(BackendUnavailableError, match="no such device here. Plug one in") as caught:
            table.ready("mine")
        assert caught.value.backend == "mine"
    assert table.find("mine").state is State.UNAVAILABLE


@pytest.mark.parametrize(("key", "axis"), [("protocol", "protocol"), ("abi", "C ABI"), ("opset", "op set")])
def test_incompatible_names_both_sides(install, table, key, axis):
    text = "\n".join(
        [
            'name = "{name}"',
            'device_types = ["cpu"]',
            *[f'{name} = ">={7 if name == key else 0},<9"' for name in ("protocol", "abi", "opset")],
        ]
    )
    install("mine", manifest=text, package="raise RuntimeError('must not run')")
    with pytest.raises(IncompatibleBackendError) as caught:
        table.probed("mine")
    assert f"{axis}: this tenora has" in str(caught.value) and "the backend accepts >=7,<9" in str(
        caught.value
    )
    assert table.find("mine").state is State.INCOMPATIBLE
    assert "package_of_mine" not in sys.modules


def test_native_runtime_out_of_range(install, table):
    install(
        "mine",
        manifest='name = "{name}"\ndevice_types = ["cpu"]\nprotocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'
        '[native_libraries]\ncuda = ">=12,<14"\n',
        package="""
        from tenora_dispatch import Probe
        probe = lambda: Probe(runtime={"cuda": "11.8"})
        load = print
        """,
    )
    with pytest.raises(IncompatibleBackendError, match=r"this machine's cuda: got 11.8, expected >=12,<14"):
        table.probed("mine")


@pytest.mark.parametrize(
    ("package", "cause", "text"),
    [
        ("def probe(): raise OSError('the driver is asleep')\nload = print", OSError, "the driver is asleep"),
        ("import no_such_module_anywhere", ModuleNotFoundError, "no_such_module_anywhere"),
        ("def load(registry: print(", SyntaxError, "was never closed"),
        ("import sys; sys.exit(3)", SystemExit, "3"),
        ("def load(registry): raise BaseException('no more')", BaseException, "no more"),
        ("def load(registry): raise KeyError('inside load')", KeyError, "inside load"),
        ("def load(registry): pass", BackendFailedError, "registered nothing"),
        ("x = 1", BackendFailedError, "got no function load"),
        (
            "probe = lambda: True\nload = print",
            BackendFailedError,
            "got bool, expected tenora_dispatch.Probe",
        ),
        (None, ModuleNotFoundError, "package_of_mine"),
    ],
)
def test_failed_keeps_the_cause(install, table, package, cause, text):
    home = install("mine", package=package)
    if package is None:  # the manifest is there, the code is not
        (home / "tenora-backend.toml").rename(home.parent / "kept.toml")
        home.rmdir()
        assert table.find("mine").state is State.FAILED
        with pytest.raises(BackendFailedError, match="tenora-backend.toml of backend 'mine' is missing"):
            table.ready("mine")
        return
    for _ in range(2):
        with pytest.raises(BackendFailedError) as caught:
            table.ready("mine")
        assert isinstance(caught.value.__cause__, cause)
        assert text in str(caught.value) and "tenora doctor" in str(caught.value)
        assert caught.value.backend == "mine" and caught.value.code == "backend_failed"
    row = table.find("mine")
    assert row.state is State.FAILED and isinstance(row.cause, cause)


def test_a_broken_manifest_is_a_row(install, table):
    install("mine", manifest="name = ")
    install("sound")
    row = table.find("mine")
    assert row.state is State.FAILED and isinstance(row.cause, ManifestError)
    assert table.ready("sound").state is State.READY
    with pytest.raises(BackendFailedError, match="not TOML"):
        table.ready("mine")


def test_a_missing_manifest_lists_where_it_was_looked_for(install, table):
    home = install("mine", manifest=None)
    assert table.find("mine").state is State.FAILED
    assert "is missing" in table.find("mine").reason() and str(home) in table.find("mine").reason()


def test_names_of_entry_point_and_manifest_must_agree(install, table):
    install(
        "mine",
        manifest='name = "other"\ndevice_types = ["cpu"]\nprotocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n',
    )
    assert "got 'other', expected 'mine'" in table.find("mine").reason()


def test_a_name_in_two_distributions(install, table):
    install("mine", distribution="first-owner")
    install("twin", distribution="second-owner", entry_points="[tenora.backends]\nmine = package_of_twin\n")
    row = table.find("mine")
    assert row.state is State.FAILED
    assert "first-owner, second-owner" in row.reason() and "pip uninstall" in row.reason()


def test_a_dotted_package_is_refused(install, table):
    install("mine", entry_points="[tenora.backends]\nmine = package_of_mine.inner\n")
    assert "expected the name of a top-level package" in table.find("mine").reason()


@pytest.mark.parametrize("points", ["[tenora.backends]\nmine\n", "tenora.backends = [broken\n"])
def test_unreadable_metadata_hides_only_itself(install, table, points):
    install("mine", entry_points=points)
    install("sound")
    assert table.ready("sound").state is State.READY
    broken = [row for row in table.rows() if row.state is State.FAILED]
    assert all("dist_of_mine" in row.name or row.name == "mine" for row in broken)


def test_metadata_without_a_name_is_a_row(install, table):
    home = install("mine")
    (next(home.parent.glob("*.dist-info")) / "METADATA").write_text("Summary: nothing else\n")
    broken = [row for row in table.rows() if "dist_of_mine" in row.name]
    assert [row.state for row in broken] == [State.FAILED]
    assert "states no Name or no Version" in broken[0].reason()


def test_a_description_does_not_change_the_version(install, table):
    home = install("mine")
    metadata = next(home.parent.glob("*.dist-info")) / "METADATA"
    metadata.write_text(metadata.read_text().replace("\n", "\r\n") + "\r\nVersion: 9\r\nName: other\r\n")
    assert (table.find("mine").distribution, table.find("mine").version) == ("dist-of-mine", "1.5")


def test_unknown_name_tells_all_that_helps(install, table):
    install("mine")
    install("broken", manifest="name = ")
    with pytest.raises(BackendNotFoundError) as caught:
        table.find("mime")
    text = str(caught.value)
    assert "got 'mime'" in text and "Did you mean 'mine'?" in text
    assert "broken (FAILED: " in text and "not TOML" in text
    assert "`tenora backends` lists what is installed" in text and "`pip install DISTRIBUTION`" in text
    assert "tenora-mime" not in text  # which may be anyone's package
    assert isinstance(caught.value, LookupError)


def test_a_backend_installed_later_is_found(install, table):
    table.rows()
    install("late")
    assert table.ready("late").state is State.READY


def test_a_failure_before_any_code_can_be_repaired(install, table):
    home = install("mine", manifest="name = ")
    assert table.find("mine").state is State.FAILED
    good = 'name = "mine"\ndevice_types = ["cpu"]\nprotocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'
    (home / "tenora-backend.toml").write_text(good)
    table.refresh()
    assert table.ready("mine").state is State.READY


def test_many_threads_load_once(install, table, engine):
    install(
        "mine",
        package="""
        import time
        calls = []

        def load(registry):
            calls.append(1)
            time.sleep(0.05)
            registry.kernel("add", lambda a, b, *, out: a + b)
        """,
    )
    states: list[State] = []
    threads = [threading.Thread(target=lambda: states.append(table.ready("mine").state)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states == [State.READY] * 8
    assert sys.modules["package_of_mine"].calls == [1] and len(engine.kernels) == 1


@pytest.mark.serial
def test_a_slow_backend_does_not_hold_up_another(install, table):
    install(
        "slow", package="import time\ndef load(registry):\n    time.sleep(0.5)\n    raise OSError('late')\n"
    )
    install("quick")
    thread = threading.Thread(target=lambda: pytest.raises(BackendFailedError, table.ready, "slow"))
    thread.start()
    time.sleep(0.05)
    table.ready("quick")
    assert table.find("slow").state is State.PROBED and thread.is_alive()
    thread.join()


def test_a_failing_registration_names_backend_op_and_argument(install, table):
    install("mine", package="def load(registry):\n    registry.kernel('add', lambda a, *, out: a)\n")
    with pytest.raises(BackendFailedError) as caught:
        table.ready("mine")
    cause = caught.value.__cause__
    assert isinstance(cause, RegistrationError)
    assert "backend 'mine', op 'add', argument 'other'" in str(cause)
    assert cause.op == "add" and cause.backend == "mine"


def test_life_cycle_hooks_are_called(install, engine):
    heard: list[tuple[str, str]] = []

    class Listener:
        """Implements every hook of a backend's life."""

    install("mine")
    install("broken", manifest="name = ")

    def listen(hook: str):
        def implementation(name: str) -> None:
            heard.append((hook, name))

        implementation.__name__ = hook
        return hookimpl(implementation)

    listener = Listener()
    for hook in ("discovered", "probed", "loaded", "failed"):
        setattr(listener, f"tenora_backend_{hook}", listen(f"tenora_backend_{hook}"))
    plugins.register(listener, "listener")
    try:
        BackendTable(engine).ready("mine")
    finally:
        plugins.unregister("listener")
    mine = [hook.removeprefix("tenora_backend_") for hook, name in heard if name == "mine"]
    assert mine == ["discovered", "probed", "loaded"]
    assert ("tenora_backend_failed", "broken") in heard
