"""Copies the kernels of the simulated device into the template of `tenora new-backend --native`.

    python ci/native_template.py            writes the template's kernels
    python ci/native_template.py --check    exits with 1 where they differ, and names them

They are ring 0 in plain C++ and know nothing of the device; only their namespace changes. The copy is committed because
the distribution `tenora`, which writes new backends, is built without the simulated device and must not need it.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "backends" / "sim" / "src" / "kernels"
TEMPLATE = ROOT / "core" / "frontend" / "tenora" / "templates" / "backend_native" / "src" / "kernels"


def kernels() -> dict[str, str]:
    """What the template holds, by name of file."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(SOURCES.iterdir())}
    return {name: text.replace("tenora::sim", "newbackend") for name, text in texts.items()}


def differing(template: Path = TEMPLATE) -> list[str]:
    """Names of the files that are not as `kernels` says, missing and further ones among them."""
    found = {file.name: file.read_text(encoding="utf-8") for file in template.glob("*")}
    wanted = kernels()
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))


def main(arguments: list[str]) -> int:
    """Writes or checks; returns the exit code."""
    wrong = differing()
    if "--check" in arguments:
        if wrong:
            print(f"differ from backends/sim: {', '.join(wrong)}. Run python ci/native_template.py.")
        return 1 if wrong else 0
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
