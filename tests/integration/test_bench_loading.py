"""The comparison of loading with the library safetensors runs on both sides; times are not judged, memory is."""

from __future__ import annotations

from bench import loading


def test_a_small_file_is_loaded_by_every_side() -> None:
    head, rule, *rows = loading.table(32, rounds=1)
    assert head.startswith("| a file of 32 MiB |") and rule.startswith("| ---") and len(rows) == 3
    memory = {row.split("`")[1]: int(row.split("|")[2]) for row in rows}
    assert 32 <= memory["tenora.load"] < 48 and memory["tenora.load, mmap"] < 16
