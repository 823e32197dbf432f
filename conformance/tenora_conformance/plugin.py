"""The pytest plugin: `pytest --pyargs tenora_conformance --backend NAME [--conformance-level L2]`.

- It adds the options; the cases are those of `tenora-conformance run`, each a test named by its case
  (`test_conformance.py`), with pytest's own selection: `-k add`, `-n 2`, `--junitxml`, `--lf`.
- It is installed for every pytest run, so it imports nothing of the suite.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tenora-conformance")
    group.addoption(
        "--backend", default="", metavar="NAME", help="the backend that tenora_conformance judges"
    )
    group.addoption("--conformance-level", default="L3", metavar="L0..L4", help="up to which level (L3)")
    group.addoption("--conformance-device", default="", metavar="DEVICE", help="a device that it serves")
