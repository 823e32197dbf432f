"""What is asked of a backend: one module per kind of question, each with a `CHECK`.

The order is that of a run: what others stand on comes first.
"""

from __future__ import annotations

from tenora_conformance.checks import (
    faults,
    hostile,
    interop,
    loading,
    memory,
    processes,
    threads,
    training,
    values,
)
from tenora_conformance.model import Check

CHECKS: dict[str, Check] = {
    module.CHECK.name: module.CHECK
    for module in (loading, memory, values, hostile, training, interop, threads, processes, faults)
}
