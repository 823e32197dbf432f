"""The plugin manager: finds plugins, takes them in, and calls their hooks.

- Without an installed plugin pluggy is not even imported, and a call of a hook is a look at a list.
- A plugin that cannot be imported, fails to register or raises in a hook is named in a warning and left out from
  then on; tenora goes on. `failures()` lists them for `tenora doctor`.
- Shared state is guarded by `_lock`; hooks run outside of it.
"""

import atexit
import importlib
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenora_hooks import entrypoints

if TYPE_CHECKING:
    import pluggy


@dataclass(frozen=True)
class PluginFailure:
    """A plugin that was left out, what it was doing, and its exception."""

    name: str
    during: str
    cause: BaseException


class PluginWarning(RuntimeWarning):
    """A plugin was left out because it failed."""


class Plugins:
    """The plugins of one process. `found` is only given by tests; otherwise the entry points are read."""

    def __init__(self, found: Sequence[entrypoints.Found] | None = None) -> None:
        self._found = found
        self._lock = threading.RLock()
        self._manager: pluggy.PluginManager | None = None
        self._read = False
        self._versions: dict[str, str] = {}
        self._failures: list[PluginFailure] = []

    def use(self, found: Sequence[entrypoints.Found]) -> None:
        """Takes entry points that somebody has read already, so that they are read once per process."""
        with self._lock:
            if self._found is None:
                self._found = [entry for entry in found if entry.group == entrypoints.PLUGINS]

    def failures(self) -> list[PluginFailure]:
        """The plugins that were left out."""
        self._ready()
        return list(self._failures)

    def versions(self) -> dict[str, str]:
        """Names of the working plugins with the distribution and version they come from."""
        self._ready()
        return dict(self._versions)

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """Calls a hook of every plugin; returns what they return, without None. Never raises for a plugin."""
        manager = self._ready()
        if manager is None:
            return []
        results = []
        # One plugin at a time: pluggy's own loop would stop at the first exception and not say whose it was.
        for implementation in list(getattr(manager.hook, hook).get_hookimpls()):
            try:
                names = implementation.argnames
                answer = implementation.function(**{name: arguments[name] for name in names})
            except Exception as error:
                self._leave_out(implementation.plugin_name, f"hook {hook}", error)
                continue
            if answer is not None:
                results.append(answer)
        return results

    def register(self, plugin: object, name: str) -> None:
        """Takes in a plugin object by hand, as tests and applications do. Raises what pluggy raises."""
        with self._lock:
            manager = self._ready() or self._make_manager()
            manager.register(plugin, name)
            manager.check_pending()
            self._versions[name] = "registered by the program"
        self.call("tenora_plugin_registered", plugin=plugin, name=name)

    def unregister(self, name: str) -> None:
        """Lets go of a plugin; an unknown name is a no-op."""
        with self._lock:
            if self._manager is not None and self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            self._versions.pop(name, None)

    def _ready(self) -> "pluggy.PluginManager | None":
        if self._read:
            return self._manager
        with self._lock:
            if self._read:
                return self._manager
            self._read = True
            if self._found is None:
                self._found = [entry for entry in entrypoints.scan()[0] if entry.group == entrypoints.PLUGINS]
            for entry in self._found:
                self._load(entry)
        for name in list(self._versions):
            plugin = self._manager.get_plugin(name) if self._manager else None
            self.call("tenora_plugin_registered", plugin=plugin, name=name)
        return self._manager

    def _load(self, entry: entrypoints.Found) -> None:
        try:
            module, _, attribute = entry.value.partition(":")
            plugin: object = importlib.import_module(module)
            for part in filter(None, attribute.split(".")):
                plugin = getattr(plugin, part)
            manager = self._manager or self._make_manager()
            manager.register(plugin, entry.name)
            manager.check_pending()
            self._versions[entry.name] = f"{entry.distribution_name} {entry.version}"
        except Exception as error:
            self._leave_out(entry.name, "loading", error)

    def _make_manager(self) -> "pluggy.PluginManager":
        # Lazy on purpose: a process without plugins does not pay for pluggy.
        pluggy = importlib.import_module("pluggy")
        specifications = importlib.import_module("tenora_hooks.hookspec")
        manager: Any = pluggy.PluginManager(specifications.PROJECT)
        manager.add_hookspecs(specifications)
        self._manager = manager
        atexit.register(self.call, "tenora_shutdown")
        return self._manager

    def _leave_out(self, name: str, during: str, error: BaseException) -> None:
        with self._lock:
            self._failures.append(PluginFailure(name, during, error))
            if self._manager is not None and self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            self._versions.pop(name, None)
        warnings.warn(
            f"[plugin] {name} failed during {during} and is left out: {type(error).__name__}: {error}. "
            "Fix or uninstall it; `tenora doctor` lists it.",
            PluginWarning,
            stacklevel=3,
        )


plugins = Plugins()
