"""`tenora new-backend NAME [--native]`: writes a complete package of a backend into ./NAME, to be changed from there.

- A template is a folder of `tenora/templates`, joined with `backend_common`: together a backend called `newbackend`
  that installs, loads and passes level L1; here it only gets its name. In names of files a leading `dot_` is a dot.
- The folder appears whole or not at all.
"""

import argparse
import importlib.util
import keyword
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tenora_dispatch
from tenora_dispatch.errors import ArgumentValueError, OperationError
from tenora_dispatch.manifest import NAME_RULE

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
COMMON = TEMPLATES / "backend_common"
#: What the backend, and with `tenora-` before it the distribution, is called in the templates.
PLACEHOLDER = "newbackend"


def add_commands(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command of this file."""
    parser = subcommands.add_parser(
        "new-backend", help="write a package for a backend of your own into ./NAME"
    )
    parser.add_argument("name", help="its short name, in lower case: what `tenora use` will take")
    parser.add_argument(
        "--native", action="store_true", help="in C++ against the C header, not in Python over NumPy"
    )
    parser.set_defaults(run=run_new_backend)


def run_new_backend(arguments: argparse.Namespace) -> int:
    """Writes the package and says what to do next."""
    folder = write_backend(
        arguments.name, Path.cwd(), "backend_native" if arguments.native else "backend_python"
    )
    print(f"{folder.name}/ holds the backend {arguments.name!r}, which passes level L1. Next:")
    print(f"    pip install ./{folder.name}")
    if arguments.native:
        print("        (without a package index that has tenora: pip install scikit-build-core cmake ninja,")
        print(f"        then pip install --no-build-isolation ./{folder.name})")
    print("    tenora doctor")
    print(f"    tenora-conformance run {arguments.name} --level L1")
    print(f"{folder.name}/README.md leads on from there.")
    return 0


def write_backend(name: str, where: Path, template: str = "backend_python") -> Path:
    """The new folder `where`/`name`, filled from a template.

    Raises: `ArgumentValueError` for a name that no new backend can have, `OperationError` where something of that name
    lies already or the folder cannot be written.
    """
    check_name(name)
    folder = where / name
    if folder.exists():
        raise OperationError(
            f"[new-backend] '{name}' is there already: got {folder}, expected a name that is free in this folder."
            " Choose another name, or remove it."
        )
    try:
        with tempfile.TemporaryDirectory(dir=where, prefix=f".{name}-") as unfinished:
            made = Path(unfinished) / name
            for source, relative in (*template_files(COMMON), *template_files(TEMPLATES / template)):
                target = made / renamed(relative.as_posix(), name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(renamed(source.read_text(encoding="utf-8"), name), encoding="utf-8")
            os.rename(made, folder)
    except OSError as error:
        raise OperationError(
            f"[new-backend] the package cannot be written: got {error.strerror or error}, expected to write {folder}."
            " Run it in a folder of your own."
        ) from error
    return folder


def template_files(template: Path) -> Iterator[tuple[Path, Path]]:
    """Each file of a template, and where it belongs in the new folder."""
    for source in sorted(template.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            parts = source.relative_to(template).parts
            yield (
                source,
                Path(*(part.replace("dot_", ".", 1) if part.startswith("dot_") else part for part in parts)),
            )


def renamed(text: str, name: str) -> str:
    """The text of a template with the backend's own name."""
    return text.replace(f"tenora-{PLACEHOLDER}", f"tenora-{name.replace('_', '-')}").replace(
        PLACEHOLDER, name
    )


def check_name(name: str) -> None:
    """Raises: `ArgumentValueError` for a name that is not one, is taken, or means something else."""
    expected = ""
    if not NAME_RULE.match(name):
        expected = "lower-case letters, digits and underscores, a letter first"
    elif keyword.iskeyword(name) or name in reserved():
        expected = "a name that is neither a word of Python nor means something in tenora"
    elif name in {row.name for row in tenora_dispatch.backends()}:
        expected = "a name that no installed backend has (`tenora backends`)"
    elif importlib.util.find_spec(f"tenora_{name}") is not None:
        expected = f"a name whose package, tenora_{name}, is not installed yet"
    if expected:
        raise ArgumentValueError(
            f"[new-backend] name: got {name!r}, expected {expected}. Choose another.",
            op="new-backend",
            backend=name,
        )


def reserved() -> set[str]:
    """Names that say something else where a backend's name stands: device types, and tenora itself."""
    return {"tenora", "all", "none", "default", "test", PLACEHOLDER, *tenora_dispatch.device_types()}
