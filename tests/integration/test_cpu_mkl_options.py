"""What cpu_mkl asks of the processor: refused by name when it is too old, and less on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tenora_cpu_mkl

OLD = "processor : 0\nflags\t\t: fpu cx16 lahf_lm ssse3\n\nprocessor : 1\n"
PROGRAM = """
import logging
logging.basicConfig(level=logging.DEBUG, format="%(message)s")
import tenora
tenora.set_backend_option("cpu_mkl", isa={isa!r})
with tenora.use_backend("cpu_mkl"):
    x = tenora.arange(1000.0)
    print("sum", (x + 1).sum().item())
    tenora.set_backend_option("cpu_mkl", isa={isa!r})
    try:
        tenora.set_backend_option("cpu_mkl", isa={other!r})
    except ValueError as error:
        print(error)
try:
    tenora.set_backend_option("cpu_mkl", isa="sse9")
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize(("isa", "other"), [("baseline", "avx2"), ("avx2", "baseline")])
def test_the_instruction_set_is_an_option_that_is_read_at_loading(isa: str, other: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(isa=isa, other=other)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"instruction set {isa}" in done.stderr
    assert "sum 500500.0" in done.stdout
    assert f"{isa} was chosen when the backend was loaded" in done.stdout
    assert "option 'isa' of backend 'cpu_mkl' is wrong: got 'sse9'" in done.stdout


def test_an_old_processor_makes_the_backend_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert tenora_cpu_mkl.missing_features(OLD) == ["popcnt", "sse4_1", "sse4_2"]
    assert tenora_cpu_mkl.probe().available
    file = tmp_path / "cpuinfo"
    file.write_text(OLD)
    monkeypatch.setattr(tenora_cpu_mkl, "Path", lambda _: file)
    monkeypatch.setattr(tenora_cpu_mkl.platform, "machine", lambda: "x86_64")
    probe = tenora_cpu_mkl.probe()
    assert not probe.available
    assert "lacks popcnt, sse4_1, sse4_2" in probe.reason and "tenora use reference" in probe.reason
