"""The user's configuration: `config.toml` in `TENORA_CONFIG_DIR`, by default `~/.config/tenora`.

    [backend]
    cpu = "NAME"      # the backend that computes on each device type

Written by `tenora use NAME`; comments and other tables of the file survive that.
"""

import os
import re
import tomllib
from pathlib import Path

from tenora_dispatch.errors import ConfigurationError

DIRECTORY_VARIABLE = "TENORA_CONFIG_DIR"
BACKEND_VARIABLE = "TENORA_BACKEND"
_SECTION = "backend"


def config_path() -> Path:
    """Where the configuration is, whether or not the file exists."""
    folder = os.environ.get(DIRECTORY_VARIABLE)
    return (Path(folder) if folder else Path.home() / ".config" / "tenora") / "config.toml"


def configured_backends() -> dict[str, str]:
    """Device type -> backend from the file; empty without one. Raises: `ConfigurationError` naming file and key."""
    path = config_path()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(
            f"[config] {path} cannot be read: got {error}, expected TOML. Correct or delete the file."
        ) from error
    section = data.get(_SECTION, {})
    if not isinstance(section, dict) or not all(isinstance(name, str) for name in section.values()):
        raise ConfigurationError(
            f"[config] {path}: table '{_SECTION}' is wrong: got {section!r}, expected device type = 'backend name'. "
            "Correct the file or run `tenora use --clear`."
        )
    return dict(section)


def environment_backends() -> list[str]:
    """The names in `TENORA_BACKEND`, a comma list with one backend per device type."""
    return [name.strip() for name in os.environ.get(BACKEND_VARIABLE, "").split(",") if name.strip()]


def write_backends(choices: dict[str, str]) -> Path:
    """Replaces the table of backends in the file, and nothing else of it. Returns the path."""
    path = config_path()
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = (
        [f"[{_SECTION}]", *(f'{kind} = "{name}"' for kind, name in sorted(choices.items()))]
        if choices
        else []
    )
    rest = re.sub(rf"(?ms)^\[{_SECTION}\]\s*?\n.*?(?=^\[|\Z)", "", old).strip()
    text = "\n\n".join(part for part in ("\n".join(lines), rest) if part)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place, so that a program starting at this moment reads the old file or the new one.
    draft = path.with_suffix(".toml.new")
    draft.write_text(text + "\n" if text else "", encoding="utf-8")
    draft.replace(path)
    return path
