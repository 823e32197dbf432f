"""An old processor gets a named error instead of an illegal instruction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenora_engine import _processor

OLD = "processor : 0\nflags\t\t: fpu sse2 ssse3 sse4_1 sse4_2 popcnt avx\n\nprocessor : 1\n"


def test_missing_features_are_named() -> None:
    assert _processor.missing_features(OLD) == ["avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"]
    assert _processor.missing_features(OLD.replace("avx\n", "avx avx2 bmi1 bmi2 f16c fma movbe\n")) == []
    assert _processor.missing_features("model name : unknown\n") == []


def test_an_old_processor_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(OLD)
    monkeypatch.setattr(_processor, "Path", lambda _: file)
    monkeypatch.setattr(_processor.platform, "machine", lambda: "x86_64")
    with pytest.raises(ImportError, match=r"without avx2, bmi1.*expected x86-64-v3"):
        _processor.check_processor()


def test_a_build_for_another_processor_is_not_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "cpuinfo"
    old.write_text(OLD)
    (tmp_path / "_march.txt").write_text("native\n")
    folders = [str(tmp_path / "nowhere"), str(tmp_path)]
    assert _processor.compiled_for(folders) == "native"
    assert _processor.compiled_for([]) == "x86-64-v3"
    monkeypatch.setattr(_processor, "Path", lambda name: old if "cpuinfo" in str(name) else Path(name))
    monkeypatch.setattr(_processor.platform, "machine", lambda: "x86_64")
    _processor.check_processor(folders)
    with pytest.raises(ImportError, match="expected x86-64-v3"):
        _processor.check_processor([])
