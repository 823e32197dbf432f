"""Checks that show a mutant to be equivalent by trying everything it can meet; `equivalents.toml` names them."""

from __future__ import annotations

from collections.abc import Callable

CHECKS: dict[str, Callable[[], bool]] = {}
