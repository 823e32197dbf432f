"""A user's allocator under the digits: a memory space with a pool of its own, kernels unchanged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from example_programs import run_program

HERE = Path(__file__).resolve().parent


def test_own_allocator(tmp_path: Path) -> None:
    info = tmp_path / "own_allocator-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own_allocator\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tenora.backends]\nown_allocator = own_allocator\n")
    path = os.pathsep.join(map(str, (tmp_path, HERE, HERE.parent / "helpers")))
    done = run_program(HERE / "arena_program.py", env={"PYTHONPATH": path, "TENORA_BACKEND": "own_allocator"})
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    (figures, accuracy, where), (usual_figures, usual_accuracy, usual_where) = seen["own"], seen["usual"]
    assert (where, usual_where) == (["arena"], ["cpu"])
    assert figures == usual_figures and len(figures) == 3
    assert accuracy == usual_accuracy > 95.0
    assert seen["requests"] > 0 and seen["kept"] == 0
