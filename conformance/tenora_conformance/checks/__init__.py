"""What is asked of a backend: one module per kind of question, each with a `CHECK`.

The order is that of a run: what others stand on comes first.
"""

from __future__ import annotations

from tenora_conformance.checks import (
    allocator,
    capabilities,
    claims,
    device_gradients,
    devices,
    errors,
    faults,
    gradients,
    hostile,
    injected,
    inplace,
    interop,
    loading,
    memory,
    out,
    pinned,
    pivots,
    processes,
    property,
    random,
    refusals,
    relations,
    streams,
    threads,
    training,
    values,
    views,
)
from tenora_conformance.model import Check

_MODULES = (
    *(loading, memory, values, hostile, errors, refusals, devices, inplace, out, views, random),
    *(relations, pivots, property, claims, gradients, device_gradients, training),
    *(capabilities, streams, pinned, allocator, interop, threads, processes, faults, injected),
)
CHECKS: dict[str, Check] = {module.CHECK.name: module.CHECK for module in _MODULES}
