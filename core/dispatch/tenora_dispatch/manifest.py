"""`tenora-backend.toml`: what a backend says about itself, read without running its code.

- Every key is checked; an error names the file, the key, what was found and what was expected.
- Unknown keys are errors too: a misspelt key that is silently ignored costs an evening.
- The version is not in the file: it is the distribution's.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenora_dispatch.errors import ManifestError
from tenora_dispatch.masks import DTYPES
from tenora_dispatch.versions import VersionRange

FILE_NAME = "tenora-backend.toml"
NAME_RULE = re.compile(r"^[a-z][a-z0-9_]*$")
#: What `capabilities` may name beside dtypes.
CAPABILITIES = ("ring0", "fused", "streams", "pinned_memory", "events", "own_pool", "faults")
_OPTION_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}
_OPTION_KEYS = ("type", "default", "choices", "doc")


@dataclass(frozen=True)
class Option:
    """An option of a backend: its type (bool, int, float, str), default, allowed values and one line of explanation."""

    name: str
    type: str
    default: Any
    choices: tuple[Any, ...] = ()
    doc: str = ""

    def accepts(self, value: object) -> bool:
        """Whether the value has the option's type and is one of its choices."""
        expected = _OPTION_TYPES[self.type]
        fits = type(value) is expected or (expected is float and type(value) is int)
        return fits and (not self.choices or value in self.choices)

    def expectation(self) -> str:
        """What the option accepts, for error texts."""
        return f"one of {list(self.choices)}" if self.choices else f"a value of type {self.type}"


@dataclass(frozen=True)
class Manifest:
    """The checked content of a manifest. `path` is the file it came from."""

    path: Path
    name: str
    device_types: tuple[str, ...]
    protocol: VersionRange
    abi: VersionRange
    opset: VersionRange
    reference: bool = False
    auto: bool = False
    capabilities: tuple[str, ...] = ()
    native_libraries: Mapping[str, VersionRange] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    docs: str = ""

    @property
    def unknown_capabilities(self) -> tuple[str, ...]:
        """Words among `capabilities` that mean nothing here: misspelt, or of a later tenora. They change nothing."""
        return tuple(word for word in self.capabilities if word not in (*CAPABILITIES, *DTYPES))


_KEYS: dict[str, str] = {
    "name": "a short name in lower case, such as 'my_backend'",
    "device_types": "a list of device types, such as ['cpu']",
    "protocol": "a version range, such as '>=1,<2'",
    "abi": "a version range, such as '>=1,<2'",
    "opset": "a version range, such as '>=1.0,<2'",
    "reference": "true or false",
    "auto": "true or false",
    "capabilities": "a list of words",
    "native_libraries": "a table of library = version range",
    "options": "a table of options, each with type and default",
    "docs": "a text, usually an address",
}
_REQUIRED = ("name", "device_types", "protocol", "abi", "opset")


class _Reader:
    """Takes checked values out of the parsed file."""

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self.path = path
        self.data = data

    def fail(self, key: str, got: str, expected: str) -> ManifestError:
        return ManifestError(
            f"[manifest] {self.path}: key '{key}' is wrong: got {got}, expected {expected}. "
            "Correct the file and reinstall the backend.",
            backend=str(self.data.get("name") or "") or None,
        )

    def keys(self) -> None:
        for key in self.data:
            if key not in _KEYS:
                close = difflib.get_close_matches(key, _KEYS, n=1)
                hint = f"'{close[0]}'" if close else f"one of {', '.join(_KEYS)}"
                raise self.fail(key, "an unknown key", hint)
        for key in _REQUIRED:
            if key not in self.data:
                raise self.fail(key, "nothing", _KEYS[key])

    def text(self, key: str) -> str:
        value = self.data.get(key, "")
        if not isinstance(value, str):
            raise self.fail(key, repr(value), _KEYS[key])
        return value

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(key, repr(value), _KEYS[key])
        return value

    def words(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
            raise self.fail(key, repr(value), _KEYS[key])
        return tuple(value)

    def range(self, key: str, value: object) -> VersionRange:
        if not isinstance(value, str):
            raise self.fail(key, repr(value), "a version range, such as '>=1,<2'")
        try:
            return VersionRange.parse(value)
        except ValueError as error:
            raise self.fail(key, repr(value), "a version range, such as '>=1,<2'") from error

    def ranges(self, key: str) -> dict[str, VersionRange]:
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(key, repr(value), _KEYS[key])
        return {library: self.range(f"{key}.{library}", text) for library, text in value.items()}

    def option(self, name: str, value: object) -> Option:
        key = f"options.{name}"
        if not isinstance(value, dict) or "type" not in value or "default" not in value:
            raise self.fail(key, repr(value), "a table with type and default")
        unknown = [word for word in value if word not in _OPTION_KEYS]
        if unknown:
            raise self.fail(f"{key}.{unknown[0]}", "an unknown key", f"one of {', '.join(_OPTION_KEYS)}")
        if value["type"] not in _OPTION_TYPES:
            raise self.fail(f"{key}.type", repr(value["type"]), f"one of {', '.join(_OPTION_TYPES)}")
        choices = value.get("choices", [])
        if not isinstance(choices, list):
            raise self.fail(f"{key}.choices", repr(choices), "a list of allowed values")
        option = Option(name, value["type"], value["default"], tuple(choices), str(value.get("doc", "")))
        if not option.accepts(option.default):
            raise self.fail(f"{key}.default", repr(option.default), option.expectation())
        return option

    def options(self) -> dict[str, Option]:
        value = self.data.get("options", {})
        if not isinstance(value, dict):
            raise self.fail("options", repr(value), _KEYS["options"])
        return {name: self.option(name, table) for name, table in value.items()}


def parse(path: Path, text: str) -> Manifest:
    """Checks the text of a manifest; `path` is only named in errors. Raises: `ManifestError`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(
            f"[manifest] {path}: the file is not TOML: got {error}, expected keys such as {', '.join(_REQUIRED)}. "
            "Correct the file and reinstall the backend."
        ) from error
    reader = _Reader(path, data)
    reader.keys()
    name = reader.text("name")
    if not NAME_RULE.match(name):
        raise reader.fail("name", repr(name), _KEYS["name"])
    device_types = reader.words("device_types")
    if not device_types or not all(NAME_RULE.match(kind) for kind in device_types):
        raise reader.fail("device_types", repr(list(device_types)), _KEYS["device_types"])
    return Manifest(
        path=path,
        name=name,
        device_types=device_types,
        protocol=reader.range("protocol", data["protocol"]),
        abi=reader.range("abi", data["abi"]),
        opset=reader.range("opset", data["opset"]),
        reference=reader.flag("reference"),
        auto=reader.flag("auto"),
        capabilities=reader.words("capabilities"),
        native_libraries=reader.ranges("native_libraries"),
        options=reader.options(),
        docs=reader.text("docs"),
    )


def read(path: Path) -> Manifest:
    """Reads and checks a manifest file. Raises: `ManifestError` with the file, the key, what it has and should have."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(
            f"[manifest] {path} cannot be read: got {error}, expected a TOML file in UTF-8. Reinstall the backend."
        ) from error
    return parse(path, text)
