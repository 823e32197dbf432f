"""The backend under judgement: what it declares, where its tensors live, and which kernels ran.

- What a backend declares is its manifest's: device types, dtypes, capabilities. Dtypes among the capabilities are
  those it claims; a manifest without any claims all. The minimum of every level (`MINIMUM`) cannot be undeclared.
- The suite's own work (making inputs, fetching results) runs outside of `watch`, whose block holds the calls that are
  judged: every kernel of its event log must be the backend's own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any

import tenora
import tenora_dispatch
from tenora_conformance.model import Failed, Outcome
from tenora_ops.samples import ALL

#: What every level is judged with, whatever a manifest says.
MINIMUM = frozenset({"float32", "int64", "bool"})
HOST = "cpu"
#: Events of a case; enough for the longest composite and its gradients.
RING = 1 << 15
#: Where a case's runner hears of the kernels of its `watch` blocks, whether they return or raise.
HEARD: ContextVar[Outcome | None] = ContextVar("HEARD", default=None)


@dataclass(frozen=True)
class Subject:
    """A backend that has been loaded, on one device."""

    name: str
    device: str
    dtypes: frozenset[str]
    capabilities: frozenset[str]
    host_memory: bool
    """Its tensors lie in memory that NumPy can share."""
    host_order: bool
    """Its work is finished when a call returns."""
    kernels: dict[str, str] = field(default_factory=dict)
    """Ops it has a kernel of its own for, each "native" or "python"."""

    @property
    def device_type(self) -> str:
        return self.device.partition(":")[0]

    def dtype(self, name: str) -> Any:
        """tenora's dtype of a name."""
        return getattr(tenora, name)

    def as_json(self) -> dict[str, Any]:
        """Plain data, for a process that must not load the backend."""
        return asdict(self) | {"dtypes": sorted(self.dtypes), "capabilities": sorted(self.capabilities)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Subject:
        """The subject that `as_json` wrote."""
        sets = {name: frozenset(data[name]) for name in ("dtypes", "capabilities")}
        return cls(**{**data, **sets})


class UnservedDevice(ValueError):
    """A device that the backend does not serve; the text names those that it does."""


def load(name: str, device: str = "") -> Subject:
    """Loads a backend and reads what it declares.

    Raises: what `tenora.use_backend` raises where it cannot be loaded; UnservedDevice.
    """
    with tenora.use_backend(name):
        row = next(row for row in tenora_dispatch.backends() if row.name == name)
        assert row.manifest is not None, f"backend {name} has been loaded without a manifest"
        kind = _device_type(row.name, row.device_types, device)
        place = device if ":" in device or kind == HOST else f"{kind}:0"
        dtypes, capabilities = declared_by(row.manifest.capabilities)
        there = (
            kind != HOST and tenora_dispatch.device_count(kind) > 0
        )  # a case of L0 says so where there is none
        stream = getattr(tenora, kind).current_stream() if there else None
        return Subject(
            name=name,
            device=place or kind,
            dtypes=dtypes,
            capabilities=capabilities,
            host_memory=kind == HOST,
            host_order=stream is None,
            kernels=dict(tenora_dispatch.kernels(name)),
        )


def declared_by(words: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The dtypes and the other capabilities that a manifest's words declare.

    >>> dtypes, capabilities = declared_by(["ring0", "float16"])
    >>> sorted(dtypes), sorted(capabilities)
    (['bool', 'float16', 'float32', 'int64'], ['ring0'])
    """
    given, every = frozenset(words), frozenset(ALL)
    return (given & every or every) | MINIMUM, given - every


def _device_type(name: str, kinds: tuple[str, ...], device: str) -> str:
    wanted = device.partition(":")[0]
    if not wanted:
        return HOST if HOST in kinds else kinds[0]
    if wanted not in kinds:
        raise UnservedDevice(
            f"[conformance] --device: got {device!r}, expected one of {', '.join(kinds)}, which {name!r} serves."
            " Name one of them, or leave it out."
        )
    return wanted


@contextlib.contextmanager
def judged_by(subject: Subject) -> Iterator[None]:
    """Ops of this thread are computed by the backend, and none may come from a stand-in."""
    with tenora.use_backend(subject.name), tenora.fallback("error"):
        yield


@contextlib.contextmanager
def watch(subject: Subject, outcome: Outcome, *, on_host: frozenset[str] = frozenset()) -> Iterator[None]:
    """Notes every kernel of the block in `outcome`. Raises: Failed where one is not the backend's own.

    `on_host`: ops that the block has computed on the host, which a backend for another device does not serve.
    """
    recorded, block = tenora.profiler.profile(RING), Outcome()
    try:
        with recorded:
            yield
    finally:
        strangers = _note(recorded.events, subject, block, frozenset() if subject.host_memory else on_host)
        outcome.merge(block)
        if (heard := HEARD.get()) is not None:
            heard.merge(block)
    if strangers:
        raise Failed(
            f"another backend's kernel ran: got {', '.join(sorted(strangers))}, expected kernels of {subject.name} only"
        )
    if recorded.dropped:
        raise Failed(
            f"the event log overflowed: {recorded.dropped} events are lost, so nothing proves who computed"
        )


def _note(
    events: Sequence[Mapping[str, Any]], subject: Subject, block: Outcome, on_host: frozenset[str]
) -> set[str]:
    """Counts the kernels of a block; returns those that are not the backend's own."""
    strangers = set()
    for event in events:
        if event["kind"] == "kernel":
            if event["backend"] != subject.name and event["op"] in on_host:
                continue
            name = f"{event['backend']}:{event['op']}"
            block.kernels[name] = block.kernels.get(name, 0) + 1
            if event["backend"] != subject.name:
                strangers.add(name)
    return strangers
