"""PyTorch's files, cut off or with a flipped bit: an error that names the file, or the content; never a crash."""

from __future__ import annotations

import io
import random

import pytest
import torch
from hostile_files import outcome


def written(archive: bool) -> bytes:
    x = torch.arange(6.0)
    value = {
        "a": x,
        "t": x.reshape(2, 3).t(),
        "k": [1, 2.5, "x", (None, True)],
        1: torch.tensor([True, False]),
    }
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=archive)
    return file.getvalue()


@pytest.mark.parametrize("archive", [True, False], ids=["archive", "older"])
def test_a_file_cut_off_anywhere_is_refused(archive: bool) -> None:
    data = written(archive)
    assert outcome(data) is not None
    assert [n for n in range(len(data)) if outcome(data[:n]) is not None] == []


def test_a_flipped_bit_of_an_archive_is_refused_or_without_effect() -> None:
    data, draw, refused = written(archive=True), random.Random(1), 0
    whole = outcome(data)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << draw.randrange(8)
        found = outcome(bytes(damaged))
        assert found in (None, whole), at
        refused += found is None
    assert refused > 500  # the rest are dates, padding and records that nobody asks for


def test_a_flipped_bit_of_the_older_form_is_no_crash() -> None:
    """That form has no checksums: a changed number is loaded as it stands."""
    data, draw, refused = written(archive=False), random.Random(2), 0
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << draw.randrange(8)
        refused += outcome(bytes(damaged)) is None
    assert refused > 300
