"""Judges the backends of this repository and lays what comes of it beside their manifests: `make conformance`.

    python ci/renew_reports.py                 those whose report is stale, or lacks cases that the suite has now
    python ci/renew_reports.py --all           all of them
    python ci/renew_reports.py cpu_mkl         these

- A run's folder is build/conformance/NAME. Its report is attached as `tenora-conformance.json`, which is committed: the
  automatic choice of a backend reads it, and tests/conformance/test_attached.py fails where one is stale.
- docs/coverage.md is written from the reports of all of them, as soon as each has one there.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import tenora_dispatch
from tenora_conformance.report.build import Report, load
from tenora_conformance.report.matrix import matrix_text
from tenora_conformance.report.verify import verify
from tenora_dispatch.attestation import FILE_NAME, UnusableReport, package_digest, read

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "conformance"
COVERAGE = ROOT / "docs" / "coverage.md"
LEVEL = "L4"


def names(root: Path = ROOT) -> list[str]:
    """The backends of the repository, by their manifests."""
    manifests = sorted(root.glob("backends/*/*/tenora-backend.toml"))
    return sorted(tomllib.loads(path.read_text())["name"] for path in manifests)


def is_current(name: str) -> bool:
    """Whether the attached report is of the present sources, and its run is there and has all of today's cases."""
    row = next((row for row in tenora_dispatch.backends() if row.name == name), None)
    if row is None or row.manifest is None:
        return False
    try:
        entries = read(row.manifest.path.with_name(FILE_NAME))
        digest = package_digest(row.package)
        run = verify(FOLDER / name)
    except (FileNotFoundError, UnusableReport, ValueError):
        return False
    attached = run.report.get("digest") in {entry.report for entry in entries.values()}
    return attached and not run.problems and all(entry.digest == digest for entry in entries.values())


def renew(name: str) -> bool:
    """Runs the suite on a backend and attaches its report; whether both went well."""
    folder = str(FOLDER / name)
    suite = [sys.executable, "-m", "tenora_conformance"]
    for command in (["run", name, "--level", LEVEL, "--out", folder], ["attach", folder]):
        print(f"\n=== tenora-conformance {' '.join(command)}", flush=True)
        if subprocess.run([*suite, *command], cwd=ROOT, check=False).returncode != 0:
            return False
    return True


def write_coverage(every: Sequence[str]) -> bool:
    """Writes docs/coverage.md where each backend has a report of its present run; whether it did."""
    reports: list[Report] = []
    for name in every:
        try:
            reports.append(load(FOLDER / name))
        except (FileNotFoundError, ValueError):
            print(f"docs/coverage.md is left as it is: {name} has no report in {FOLDER}")
            return False
    COVERAGE.write_text(matrix_text(reports), encoding="utf-8")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code is 0 when every report was renewed and attached."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="backends; by default those whose report is stale, or lacks cases of today"
    )
    parser.add_argument("--all", action="store_true", help="those whose report is current as well")
    options = parser.parse_args(arguments)
    every = names()
    wanted = options.names or [name for name in every if options.all or not is_current(name)]
    failed = [name for name in wanted if not renew(name)]
    print(f"renewed: {', '.join(name for name in wanted if name not in failed) or 'nothing'}")
    write_coverage(every)
    if failed:
        print(
            f"conformance: {', '.join(failed)} failed; see build/conformance/NAME/report.html",
            file=sys.stderr,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
