"""Gives a backend that a test has written a conformance report, as `tenora-conformance attach` would."""

from collections.abc import Iterable
from pathlib import Path

from tenora_dispatch import attestation, opset


def attest(
    home: Path,
    name: str,
    kinds: Iterable[str] = ("cpu",),
    *,
    level: str = "L3",
    version: str = "",
    digest: str = "",
) -> Path:
    """Writes the file into the package's folder, which Python must find; returns its path."""
    entry = attestation.Attestation(
        level=level,
        opset=version or opset.version(),
        protocol="1.0",
        digest=digest or attestation.folders_digest([home]),
        date="2026-11-30",
    )
    path = home / attestation.FILE_NAME
    path.write_text(attestation.text_of(name, dict.fromkeys(kinds, entry)))
    return path
