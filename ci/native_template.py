"""Copies into the templates of `tenora new-backend` what they have from other distributions.

    python ci/native_template.py            writes the copies
    python ci/native_template.py --check    exits with 1 where they differ, and names them

- The kernels of the simulated device, for `--native`: ring 0 in plain C++, of which only the namespace changes.
- The workflow for GitHub of the conformance suite, of which only the backend's name and the level change.

The copies are committed because the distribution `tenora`, which writes new backends, is built without the others and
must not need them.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "backends" / "sim" / "src" / "kernels"
TEMPLATES = ROOT / "core" / "frontend" / "tenora" / "templates"
TEMPLATE = TEMPLATES / "backend_native" / "src" / "kernels"
WORKFLOW_SOURCE = ROOT / "conformance" / "tenora_conformance" / "workflows" / "github.yml"
WORKFLOW = TEMPLATES / "backend_common" / "dot_github" / "workflows" / "conformance.yml"


def kernels() -> dict[str, str]:
    """What the template holds, by name of file."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(SOURCES.iterdir())}
    return {name: text.replace("tenora::sim", "newbackend") for name, text in texts.items()}


def differing(template: Path = TEMPLATE) -> list[str]:
    """Names of the files that are not as `kernels` says, missing and further ones among them."""
    found = {file.name: file.read_text(encoding="utf-8") for file in template.glob("*")}
    wanted = kernels()
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))


def workflow() -> str:
    """The workflow of a new backend, which passes L1 as it is written."""
    text = WORKFLOW_SOURCE.read_text(encoding="utf-8")
    return text.replace("my_backend", "newbackend").replace("LEVEL: L2", "LEVEL: L1")


def main(arguments: list[str]) -> int:
    """Writes or checks; returns the exit code."""
    wrong = differing()
    if "--check" in arguments:
        other = [*wrong, WORKFLOW.name] if WORKFLOW.read_text(encoding="utf-8") != workflow() else wrong
        if other:
            print(f"differ from their sources: {', '.join(other)}. Run python ci/native_template.py.")
        return 1 if other else 0
    WORKFLOW.write_text(workflow(), encoding="utf-8")
    TEMPLATE.mkdir(parents=True, exist_ok=True)
    wanted = kernels()
    for name in wrong:
        if name in wanted:
            (TEMPLATE / name).write_text(wanted[name], encoding="utf-8")
        else:
            (TEMPLATE / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
