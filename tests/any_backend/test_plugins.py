"""Plugins: hooks are called, a failing plugin is named and left out, and without plugins nothing is paid."""

import subprocess
import sys

import pytest

from tenora_hooks import Plugins, PluginWarning, entrypoints, hookimpl


def entry(name: str, value: str) -> entrypoints.Found:
    return entrypoints.Found(entrypoints.PLUGINS, name, value, None, f"dist-of-{name}", "1.0")


class Listener:
    """Counts what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @hookimpl
    def tenora_backend_loaded(self, name: str) -> None:
        self.heard.append(name)


class Sore:
    """Raises in its hook."""

    @hookimpl
    def tenora_backend_loaded(self, name: str) -> None:
        raise ZeroDivisionError("sore")


def test_hooks_reach_plugins_and_a_raising_one_is_left_out():
    plugins = Plugins(found=[])
    listener = Listener()
    plugins.register(Sore(), "sore")
    plugins.register(listener, "listener")
    with pytest.warns(PluginWarning, match="sore failed during hook tenora_backend_loaded and is left out"):
        plugins.call("tenora_backend_loaded", name="one", manifest=None)
    plugins.call("tenora_backend_loaded", name="two", manifest=None)
    assert listener.heard == ["one", "two"]
    assert [failure.name for failure in plugins.failures()] == ["sore"]
    assert list(plugins.versions()) == ["listener"]


def test_a_plugin_hears_of_itself():
    heard: list[str] = []

    class Curious:
        """Wants to know its name."""

        @hookimpl
        def tenora_plugin_registered(self, name: str) -> None:
            heard.append(name)

    Plugins(found=[]).register(Curious(), "curious")
    assert heard == ["curious"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import no_such_thing_here", "No module named 'no_such_thing_here'"),
        (
            "from tenora_hooks import hookimpl\n@hookimpl\ndef tenora_no_such_hook(): ...",
            "tenora_no_such_hook",
        ),
        ("from tenora_hooks import hookimpl\n@hookimpl\ndef tenora_backend_loaded(colour): ...", "colour"),
    ],
)
def test_a_plugin_that_cannot_be_taken_in(tmp_path, monkeypatch, source, text):
    (tmp_path / "bad_plugin.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    plugins = Plugins(found=[entry("bad", "bad_plugin")])
    with pytest.warns(PluginWarning, match="bad failed during loading"):
        assert plugins.call("tenora_shutdown") == []
    assert text in str(plugins.failures()[0].cause)
    sys.modules.pop("bad_plugin", None)


def test_without_plugins_pluggy_is_not_imported():
    program = (
        "import sys, tenora_hooks\n"
        "plugins = tenora_hooks.Plugins(found=[])\n"
        "assert plugins.call('tenora_shutdown') == []\n"
        "assert 'pluggy' not in sys.modules, 'pluggy was imported'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
