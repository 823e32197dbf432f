"""Which backend computes: the order of the sources, ties, and scopes per thread and device."""

import threading
import warnings

import pytest

from tenora_dispatch import config, fallback_policy, options
from tenora_dispatch.choice import BackendChoiceWarning, Chooser, UseBackend, serving
from tenora_dispatch.errors import (
    AmbiguousBackendError,
    ArgumentTypeError,
    ArgumentValueError,
    BackendFailedError,
    BackendNotFoundError,
    BackendOptionError,
    ConfigurationError,
)
from tenora_dispatch.lifecycle import BackendTable
from tenora_dispatch.manifest import parse

RANGES = 'protocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'


def manifest(*lines: str, devices: str = '["cpu"]') -> str:
    return "\n".join(['name = "{name}"', f"device_types = {devices}", *lines, RANGES])


AUTO, REFERENCE, PLAIN = manifest("auto = true"), manifest("reference = true"), manifest()


@pytest.fixture
def only(install, engine, monkeypatch, tmp_path):
    """A chooser over nothing but the distributions that the test installs."""
    monkeypatch.delenv("TENORA_BACKEND", raising=False)
    monkeypatch.setenv("TENORA_CONFIG_DIR", str(tmp_path / "configuration"))

    def make() -> Chooser:
        def mine():
            return [
                row for row in BackendTable(engine)._discover() if row.distribution.startswith("dist-of-")
            ]

        return Chooser(BackendTable(engine, mine))

    return make


def test_the_order_of_the_sources(install, only, monkeypatch, engine):
    install("ref", manifest=REFERENCE)
    chooser = only()
    assert chooser.explain("cpu").name == "ref"
    install("fast", manifest=AUTO)
    for name in ("configured", "environment", "default", "override"):
        install(name, manifest=PLAIN)
    chooser = only()
    assert chooser.explain("cpu").name == "fast"
    config.write_backends({"cpu": "configured"})
    assert chooser.explain("cpu").name == "configured"
    monkeypatch.setenv("TENORA_BACKEND", "environment")
    assert chooser.explain("cpu").name == "environment"
    chooser.set_default("default")
    assert chooser.explain("cpu").name == "default" and engine.defaults == {"cpu": "default"}
    with UseBackend(chooser, "override"):
        choice = chooser.explain("cpu")
        assert choice.name == "override"
        assert engine.overrides[-1] == ("cpu", "override")
    assert [source for source, _ in choice.steps] == ["use_backend() in this thread"]
    assert chooser.explain("cpu").name == "default" and engine.overrides[-1] == ("cpu", None)
    chooser.set_default(None)
    assert chooser.explain("cpu").name == "environment" and engine.defaults == {}


def test_choosing_loads_and_tells_the_engine_once(install, only, engine):
    install("ref", manifest=REFERENCE)
    chooser = only()
    assert chooser.choose("cpu") == "ref"
    assert engine.defaults == {"cpu": "ref"} and len(engine.kernels) == 1


def test_two_automatic_candidates_where_the_reference_serves_warn(install, only):
    for name, text in {"ref": REFERENCE, "fast": AUTO, "quick": AUTO}.items():
        install(name, manifest=text)
    chooser = only()
    with pytest.warns(BackendChoiceWarning, match=r"got fast, quick, expected one. Choose: tenora use fast"):
        assert chooser.choose("cpu") == "ref"


def test_two_automatic_candidates_without_a_reference_are_an_error(install, only):
    install("fast", manifest=AUTO)
    install("quick", manifest=AUTO)
    with pytest.raises(AmbiguousBackendError, match="got fast, quick, expected one. Choose: tenora use fast"):
        only().choose("cpu")


def test_a_candidate_that_cannot_work_here_does_not_compete(install, only):
    install("fast", manifest=AUTO)
    package = "from tenora_dispatch import Probe\nprobe = lambda: Probe(False, 'no')\nload = print\n"
    install("gone", manifest=AUTO, package=package)
    assert only().choose("cpu") == "fast"


def test_a_failing_automatic_candidate_warns_and_the_reference_serves(install, only):
    install("ref", manifest=REFERENCE)
    install("fast", manifest=AUTO, package="def load(registry): raise OSError('no such library')")
    with pytest.warns(
        BackendChoiceWarning, match="no such library.* The reference backend 'ref' serves 'cpu' instead"
    ):
        assert only().choose("cpu") == "ref"


def test_a_failing_wish_is_an_error_even_beside_a_reference(install, only, monkeypatch):
    install("ref", manifest=REFERENCE)
    install("wish", manifest=PLAIN, package="def load(registry): raise OSError('no such library')")
    monkeypatch.setenv("TENORA_BACKEND", "wish")
    with pytest.raises(BackendFailedError, match="no such library"):
        only().choose("cpu")


def test_nobody_serves(install, only):
    install("rocky", manifest=manifest(devices='["rock"]'))
    chooser = only()
    with pytest.raises(
        BackendNotFoundError, match=r"no backend computes on 'rock': got rocky \(DISCOVERED, auto = false\)"
    ):
        chooser.choose("rock")
    with pytest.raises(
        BackendNotFoundError, match=r"on 'npu': got none installed.*Devices with a backend: rock"
    ):
        chooser.choose("npu")


def test_two_references(install, only):
    install("one", manifest=REFERENCE)
    install("two", manifest=REFERENCE)
    with pytest.raises(AmbiguousBackendError, match="call themselves the reference: got one, two"):
        only().choose("cpu")


def test_the_environment_takes_one_backend_per_device_type(install, only, monkeypatch):
    install("host", manifest=PLAIN)
    install("other", manifest=PLAIN)
    install("rocky", manifest=manifest(devices='["rock"]'))
    monkeypatch.setenv("TENORA_BACKEND", "rocky, host")
    chooser = only()
    assert chooser.explain("cpu").name == "host" and chooser.explain("rock").name == "rocky"
    monkeypatch.setenv("TENORA_BACKEND", "host,other")
    with pytest.raises(
        AmbiguousBackendError, match="TENORA_BACKEND names several backends for 'cpu': got host, other"
    ):
        chooser.choose("cpu")
    monkeypatch.setenv("TENORA_BACKEND", "hots")
    with pytest.raises(BackendNotFoundError, match="got 'hots'.*Did you mean 'host'"):
        chooser.choose("cpu")


def test_the_configuration_survives_and_is_checked(install, only):
    install("host", manifest=PLAIN)
    chooser = only()
    path = config.config_path()
    path.parent.mkdir()
    path.write_text('# mine\n[other]\nkey = 1\n\n[backend]\nrock = "rocky"\n\n[last]\nx = 2\n')
    config.write_backends(config.configured_backends() | {"cpu": "host"})
    assert config.configured_backends() == {"cpu": "host", "rock": "rocky"}
    assert (
        "# mine" in path.read_text()
        and "[other]\nkey = 1" in path.read_text()
        and "[last]" in path.read_text()
    )
    config.write_backends({})
    assert config.configured_backends() == {} and "key = 1" in path.read_text()
    path.write_text("[backend\n")
    with pytest.raises(ConfigurationError, match=r"config.toml cannot be read"):
        config.configured_backends()
    assert "cannot be read" in str(chooser.explain("cpu").problem)
    path.write_text("[backend]\ncpu = 3\n")
    with pytest.raises(ConfigurationError, match="expected device type = 'backend name'"):
        config.configured_backends()
    path.write_text('[backend]\ncpu = "rocky"\n')
    assert "unknown backend: got 'rocky'" in str(chooser.explain("cpu").problem)
    install("rocky", manifest=manifest(devices='["rock"]'))
    assert "got a backend for rock, expected one for 'cpu'" in str(only().explain("cpu").problem)


def test_use_backend_nests_and_is_restored_after_an_error(install, only):
    install("one", manifest=PLAIN)
    install("two", manifest=PLAIN)
    chooser = only()
    with pytest.raises(RuntimeError, match="inside"), UseBackend(chooser, "one"):
        with UseBackend(chooser, "two"):
            assert chooser.override("cpu") == "two"
        assert chooser.override("cpu") == "one"
        raise RuntimeError("inside")
    assert chooser.override("cpu") is None


def test_use_backend_belongs_to_its_thread(install, only):
    install("one", manifest=PLAIN)
    chooser = only()
    seen: list[str | None] = []
    with UseBackend(chooser, "one"):
        thread = threading.Thread(target=lambda: seen.append(chooser.override("cpu")))
        thread.start()
        thread.join()
        assert chooser.override("cpu") == "one"
    assert seen == [None]


def test_use_backend_as_a_decorator_in_many_threads(install, only):
    install("one", manifest=PLAIN)
    chooser = only()
    barrier = threading.Barrier(4)
    seen: list[str | None] = []

    @UseBackend(chooser, "one")
    def inside(depth: int) -> None:
        if depth:
            inside(depth - 1)
        barrier.wait(10)
        seen.append(chooser.override("cpu"))

    threads = [threading.Thread(target=inside, args=(1,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["one"] * 8 and chooser.override("cpu") is None
    assert inside.__name__ == "inside"


def test_use_backend_only_for_one_device(install, only, engine):
    engine.spaces.append("rock")
    install("both", manifest=manifest(devices='["cpu", "rock"]'))
    chooser = only()
    with UseBackend(chooser, "both", "rock:1"):
        assert chooser.override("rock") == "both" and chooser.override("cpu") is None
    with UseBackend(chooser, "both"):
        assert chooser.override("rock") == chooser.override("cpu") == "both"
    with pytest.raises(ArgumentValueError, match="got 'npu', expected one of cpu, rock"):
        serving(chooser.table.find("both"), "npu")


def test_use_backend_with_bad_names_fails_at_once(install, only):
    install("one", manifest=PLAIN)
    chooser = only()
    with pytest.raises(BackendNotFoundError, match="Did you mean 'one'"):
        UseBackend(chooser, "ones")
    with pytest.raises(ArgumentTypeError, match="got int, expected a backend's name"):
        UseBackend(chooser, 3)


OPTIONS = (
    manifest()
    + '[options.threads]\ntype = "int"\ndefault = 2\n[options.scale]\ntype = "float"\ndefault = 1.0\n'
)
OPTION_PACKAGE = """
seen = []
options = {}

def load(registry):
    options.update(registry.options)
    registry.kernel("add", lambda a, b, *, out: None)

def set_option(option, value):
    seen.append((option, value))
"""


def test_options_reach_a_backend_before_and_after_it_loads(install, only):
    install("mine", manifest=OPTIONS, package=OPTION_PACKAGE)
    table = only().table
    options.set_option(table, "mine", {"threads": 4})
    assert options.options(table, "mine") == {"threads": 4, "scale": 1.0}
    module = table.ready("mine").module
    assert module.options == {"threads": 4, "scale": 1.0} and module.seen == [("threads", 4)]
    options.set_option(table, "mine", {"scale": 3})
    assert module.seen[-1] == ("scale", 3.0)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"thread": 4}, "no option 'thread'.*Did you mean 'threads'"),
        (
            {"threads": "4"},
            "option 'threads' of backend 'mine' is wrong: got '4', expected a value of type int",
        ),
        ({"threads": True}, "got True"),
        ({"scale": 2.0, "threads": 1.5}, "got 1.5"),
    ],
)
def test_bad_options_set_nothing(install, only, values, text):
    install("mine", manifest=OPTIONS, package=OPTION_PACKAGE)
    table = only().table
    with pytest.raises(BackendOptionError, match=text):
        options.set_option(table, "mine", values)
    assert options.options(table, "mine") == {"threads": 2, "scale": 1.0}


def test_fallback_modes(install, only):
    chooser = only()
    with pytest.raises(ArgumentValueError, match="got 'maybe', expected one of error, warn, allow"):
        fallback_policy.set_mode(chooser, "maybe")
    with pytest.raises(BackendNotFoundError, match="no reference backend"):
        fallback_policy.set_mode(chooser, "allow")
    install("ref", manifest=REFERENCE)
    chooser = only()
    with warnings.catch_warnings(), fallback_policy.FallbackMode(chooser, "warn"):
        warnings.simplefilter("error")
        assert chooser.table.find("ref").state == "READY"
    assert fallback_policy.counts(chooser)[0] == ("topk", "mine", 5)


def test_manifests_of_this_file_are_sound(tmp_path):
    for text in (AUTO, REFERENCE, PLAIN, OPTIONS):
        assert parse(tmp_path, text.format(name="x")).name == "x"
