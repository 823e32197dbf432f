"""What a plugin may hook into: specifications only. A plugin implements any of these with `tenora_hooks.hookimpl`.

A plugin is a distribution with an entry point in the group `tenora.plugins` whose value is a module or object:

    from tenora_hooks import hookimpl

    @hookimpl
    def tenora_backend_loaded(name, manifest):
        print("loaded", name)

A hook that raises is reported with its plugin's name and never stops tenora.
"""

import argparse
from collections.abc import Callable
from typing import Any, TypeVar

import pluggy

_F = TypeVar("_F", bound=Callable[..., Any])

PROJECT = "tenora"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tenora_plugin_registered(plugin: object, name: str) -> None:
    """A plugin has been taken in; every plugin hears of itself and of those after it."""


@hookspec
def tenora_shutdown() -> None:
    """The interpreter is about to end; backends still work."""


@hookspec
def tenora_backend_discovered(name: str, manifest: object) -> None:
    """A backend's manifest has been read. None of its code has run."""


@hookspec
def tenora_backend_probed(name: str, available: bool, reason: str) -> None:
    """A backend has said whether it can work on this machine."""


@hookspec
def tenora_backend_loaded(name: str, manifest: object) -> None:
    """A backend has registered its kernels and is ready."""


@hookspec
def tenora_backend_failed(name: str, state: str, cause: BaseException) -> None:
    """A backend is out: `state` is UNAVAILABLE, INCOMPATIBLE or FAILED."""


@hookspec
def tenora_cli_commands(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds commands to `tenora`: `subcommands.add_parser("verb").set_defaults(run=function)`.

    `function(arguments: argparse.Namespace) -> int` returns the exit code.
    """
