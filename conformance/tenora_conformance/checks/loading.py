"""L0: a backend loads, reports what it is, and does what its manifest says.

- Everything here is a case of its own (`@loading/-/-/NAME`), so that a person reads what is wrong.
- `@loading/-/-/kernels` is what a backend that does nothing fails at.
"""

from __future__ import annotations

import tenora
import tenora_dispatch
import tenora_ops
from tenora_conformance.checks.scripts import Script, run_python, script_check
from tenora_conformance.model import Failed, Level, Outcome
from tenora_conformance.subject import Subject
from tenora_dispatch import BackendRow
from tenora_dispatch.manifest import CAPABILITIES

#: Run in a process of its own: after discovery and a report, no module of the backend's package may be loaded.
DISCOVERY = """
import sys, tenora, tenora_dispatch
row = next(row for row in tenora_dispatch.backends() if row.name == NAME)
print(row.package in sys.modules, row.state)
"""
#: Run in a process of its own: what functions and classes of tenora and of this suite loading a backend replaces.
REPLACED = """
import sys, types
import tenora, tenora_dispatch, tenora_ops
from tenora_conformance.run import one, worker

def seen():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("tenora", "tenora_autograd", "tenora_conformance", "tenora_dispatch",
                                      "tenora_engine", "tenora_hooks", "tenora_ops"):
            for key, value in list(vars(module).items()):
                if callable(value):
                    found[f"{name}.{key}"] = value
                if isinstance(value, type) and value.__module__ == name:
                    found.update((f"{name}.{key}.{k}", v) for k, v in vars(value).items() if callable(v))
    return found

before = seen()
with tenora.use_backend(NAME):
    after = seen()
print(" ".join(sorted(name for name in before if after.get(name) is not before[name])))
"""
#: A wrong value of each type of option.
WRONG = {"bool": "neither", "int": "neither", "float": "neither", "str": 3}


def _row(subject: Subject) -> BackendRow:
    return next(row for row in tenora_dispatch.backends() if row.name == subject.name)


def _discovery(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Reading about a backend runs none of its code."""
    loaded, state = run_python(DISCOVERY, subject).split()
    if loaded == "True" or state != "DISCOVERED":
        raise Failed(
            f"discovery runs code of the backend: its package is loaded and its state is {state}, expected"
            " DISCOVERED with nothing loaded. Keep work out of entry points and of other packages' start-up"
        )


def _untouched(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Loading it leaves tenora and its judge as they are."""
    replaced = run_python(REPLACED, subject).split()
    if replaced:
        raise Failed(
            f"loading it replaces {', '.join(replaced[:3])}, expected tenora and this suite as they were. Register"
            " kernels instead"
        )


def _state(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """It is READY, and `probe` found a device."""
    row = _row(subject)
    if row.state != "READY":
        raise Failed(f"state after loading: got {row.state} ({row.reason()}), expected READY")
    count = tenora_dispatch.device_count(subject.device_type)
    if count < 1:
        raise Failed(f"number of devices of type {subject.device_type!r}: got {count}, expected at least 1")


def _chosen(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Asked for by name, it is the one that computes."""
    current = tenora.current_backend(subject.device)
    if current != subject.name:
        raise Failed(
            f"`use_backend({subject.name!r})`: got {current!r} as the current backend, expected its own name"
        )


def _kernels(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """It registers kernels at all."""
    if not subject.kernels:
        ring = sum(record.kind == "kernel" for record in tenora_ops.records())
        raise Failed(
            f"{subject.name} registers no kernel, so it computes nothing: got 0, expected those of ring 0 ({ring} ops;"
            " `tenora ops` lists them). Register them in the package's `load`, as docs/write-a-backend.md shows"
        )


def _manifest(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Name, version and op set of the manifest are those of what was loaded."""
    row = _row(subject)
    if row.manifest is None or row.manifest.name != subject.name:
        raise Failed(
            f"name in the manifest: got {row.manifest and row.manifest.name!r}, expected {subject.name!r}"
        )
    if not row.version:
        raise Failed("version of the distribution: got none, expected one in its metadata")
    if subject.device_type not in row.manifest.device_types:
        raise Failed(
            f"device types: got {list(row.manifest.device_types)}, expected {subject.device_type!r} in it"
        )


def _capabilities(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """What the manifest calls a capability is a word that means something."""
    unknown = sorted(subject.capabilities - set(CAPABILITIES))
    if unknown:
        raise Failed(
            f"capabilities of the manifest: got {', '.join(unknown)}, expected names of dtypes or of"
            f" {', '.join(sorted(CAPABILITIES))}. Remove them, or correct the spelling"
        )


def _options(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """Each option takes its value in force again, and refuses one of another type."""
    row = _row(subject)
    assert row.manifest is not None
    for name, option in row.manifest.options.items():
        try:
            tenora.set_backend_option(subject.name, **{name: row.options.get(name, option.default)})
        except Exception as error:
            raise Failed(f"option {name!r} refuses its own value: {error}") from error
        try:
            tenora.set_backend_option(subject.name, **{name: WRONG[option.type]})
        except tenora.TenoraError:
            continue
        raise Failed(f"option {name!r} of type {option.type} takes {WRONG[option.type]!r}, expected an error")


def _tensor(subject: Subject, dtype: str, outcome: Outcome) -> None:
    """A tensor goes to the device and comes back."""
    there = tenora.tensor([1.0, 2.0, 3.0]).to(subject.device)
    if there.device.type != subject.device_type:
        raise Failed(f"device of a tensor: got {there.device}, expected {subject.device}")
    back = there.to("cpu").tolist()
    if back != [1.0, 2.0, 3.0]:
        raise Failed(f"[1.0, 2.0, 3.0] sent to {subject.device} and fetched: got {back}")


SCRIPTS: dict[str, Script] = {
    "discovery": _discovery,
    "untouched": _untouched,
    "state": _state,
    "manifest": _manifest,
    "capabilities": _capabilities,
    "kernels": _kernels,
    "chosen": _chosen,
    "options": _options,
    "tensor": _tensor,
}
CHECK = script_check("loading", Level.L0, SCRIPTS, dtypes=("-",), seconds=180.0, watches=True)
