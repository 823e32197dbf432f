"""Hook specifications and the plugin manager of tenora. Imports nothing of tenora's other rooms.

Example:
    >>> from tenora_hooks import plugins
    >>> plugins.call("tenora_backend_loaded", name="none", manifest=None)
    []
"""

import importlib
from typing import Any

from tenora_hooks.manager import PluginFailure, Plugins, PluginWarning, plugins

__all__ = ["PluginFailure", "PluginWarning", "Plugins", "hookimpl", "hookspec", "plugins"]


def __getattr__(name: str) -> Any:
    # The markers need pluggy, which a process without plugins never imports.
    if name == "hookimpl":
        return importlib.import_module("tenora_hooks.hookspec").hookimpl
    if name == "hookspec":
        return importlib.import_module("tenora_hooks.hookspec")
    raise AttributeError(
        f"[tenora_hooks] module attribute: got {name!r}, expected 'hookspec'. Check the name."
    )
