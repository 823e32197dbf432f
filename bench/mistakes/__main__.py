"""Prints what one framework says of each mistake: `python -m bench.mistakes FRAMEWORK [--json | WORD ...]`.

Words choose the mistakes whose names have one of them; `--json` prints only what each text names.
"""

from __future__ import annotations

import importlib
import json
import sys

from bench.mistakes.all_mistakes import MISTAKES
from bench.mistakes.seeded import named, printed_by


def main() -> None:
    """Runs the mistakes."""
    framework = importlib.import_module(sys.argv[1])
    if sys.argv[2:] == ["--json"]:
        print(json.dumps({m.name: named(m, printed_by(m.program, framework)) for m in MISTAKES}))
        return
    for mistake in MISTAKES:
        if sys.argv[2:] and not any(word in mistake.name for word in sys.argv[2:]):
            continue
        printed = printed_by(mistake.program, framework)
        missing = [name for name, good in named(mistake, printed).items() if not good]
        print(
            f"--- {mistake.kind}: {mistake.name}: {', '.join(missing) or 'nothing'} missing\n{printed.whole}"
        )


if __name__ == "__main__":
    main()
