"""Builds every distribution of the repository: its sdist, and from that its wheel, into dist/ or the given folder.

The build tools are those of the running environment (no isolation), so nothing is downloaded.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def distributions(root: Path = ROOT) -> list[Path]:
    """The folders with a pyproject.toml: the root first, since the others build against its header."""
    others = [*root.glob("backends/*/pyproject.toml"), *root.glob("conformance/pyproject.toml")]
    return [root, *sorted(path.parent for path in others)]


def main() -> int:
    """Builds all of them; the first failure ends it."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    target.mkdir(parents=True, exist_ok=True)
    for old in [*target.glob("tenora*.whl"), *target.glob("tenora*.tar.gz")]:
        old.unlink()
    # The sdist is unpacked in the temporary folder; named as ccache's base, it shares the other builds' results.
    env = {**os.environ, "CCACHE_BASEDIR": tempfile.gettempdir(), "CCACHE_NOHASHDIR": "1"}
    # Backends are built against this tree's header, whether or not the running environment has tenora installed.
    env["tenora_backend_DIR"] = str(ROOT / "core/dispatch/tenora_dispatch/cmake")
    for folder in distributions():
        # `build` without --sdist or --wheel makes the sdist, unpacks it, and builds the wheel there.
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(folder)]
        if subprocess.run(command, env=env, check=False).returncode != 0:
            print(f"wheels: {folder.name} failed", file=sys.stderr)
            return 1
    for made in sorted(target.iterdir()):
        print(f"{target.name}/{made.name}  {made.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
