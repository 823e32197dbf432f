"""Every record on its samples against PyTorch: values, dtypes, shapes, gradients and second gradients.

- What has no counterpart is not compared, but counted by reason (`not_compared`) and printed at the end of the run:
  ops that PyTorch does not name, dtypes that its CPU kernels lack, spellings that only tenora takes.
- A random op is compared in shape and dtype alone; its values are judged by its Philox oracle.
- How two answers are compared, and how near they must be: parity_cases.py.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable

import op_cases
import parity_cases as parity
import pytest
import torch
from differences import VALUES
from engine_fixtures import installed

import tenora
import tenora_dispatch
import tenora_ops
from tenora_ops.record import Record

pytestmark = pytest.mark.oracle

#: Records of which no case is compared here; what judges them.
NOTHING_COMPARED = {
    "linalg_eigh": "test_linalg_torch.py",
    "linalg_svd": "test_linalg_torch.py",
    "svd": "test_linalg_torch.py",
    "linalg_eig": "test_linalg_torch.py",
    "linalg_eigvals": "test_linalg_torch.py",
    "gumbel_softmax": "its oracle: with a generator, which it alone takes",
    **{
        f"special_{name}": "its oracle, SciPy's"
        for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai")
    },
}


@pytest.mark.parametrize("name", parity.NAMES)
def test_parity(name: str, backend: str, record_property: Callable[[str, object], None]) -> None:
    record = op_cases.judged(name)
    left_out: collections.Counter[str] = collections.Counter()
    compared = 0
    for dtype in op_cases.dtypes_of(record):
        for number, sample in enumerate(op_cases.samples_of(name, dtype)):
            try:
                if (name, dtype) in VALUES:
                    raise parity.Uncompared(f"{name}: {VALUES[name, dtype]}")
                parity.one_case(record, dtype, sample, f"{name}({sample}) {dtype} sample {number}")
                compared += 1
            except parity.Uncompared as reason:
                left_out[str(reason)] += 1
    record_property("compared", compared)
    record_property("not_compared", json.dumps(left_out))
    try:
        parity.counterpart(record)
    except parity.Uncompared:
        return  # PyTorch does not name it
    assert bool(compared) != (name in NOTHING_COMPARED), (
        f"{name}: {compared} cases compared, not: {dict(left_out)}"
    )


def fits(record: Record) -> bool:
    """Whether all gradients of the samples are within the bounds."""
    for dtype in {"float64", "complex128"} & set(op_cases.dtypes_of(record)):
        for number, sample in enumerate(op_cases.samples_of(record.name, dtype)):
            try:
                parity.one_case(record, dtype, sample, f"{record.name} {dtype} sample {number}")
            except parity.Uncompared:
                continue
            except AssertionError:
                return False
    return True


#: Those of the machine, found before any test installs one of its own into the process.
HOST_BACKENDS = installed("cpu")


@pytest.mark.parametrize("name", parity.CANCELLING)
def test_what_cancels_needs_its_bounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one of the backends the gradients fit neither half the bounds of other records nor an eighth of their own."""
    factor, reason = parity.CANCELLING[name]
    monkeypatch.setitem(parity.CANCELLING, name, (factor / 8, reason))
    monkeypatch.setattr(parity, "SECOND_ORDER", parity.SECOND_ORDER / 2)
    assert not fits_everywhere(name), f"{name}: take it out of CANCELLING, or lower its bounds"


@pytest.mark.parametrize("name", [n for n in parity.VANISHING if n not in parity.EXACT_ON_SOME_PROCESSORS])
def test_what_vanishes_needs_its_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(parity.VANISHING, name)
    assert not fits_everywhere(name), f"{name}: take it out of VANISHING"


def fits_everywhere(name: str) -> bool:
    """Whether the gradients are within the bounds on every backend that is available."""
    record = op_cases.judged(name)
    fitting = []
    for backend in HOST_BACKENDS:
        try:
            with tenora.use_backend(backend):
                fitting.append(fits(record))
        except tenora_dispatch.BackendUnavailableError:
            continue  # its tests are skipped with the reason
    return all(fitting)


def test_a_difference_is_noticed() -> None:
    """The comparison fails when the values, the dtype or the gradient differ."""
    record = tenora_ops.record("exp")
    right = torch.tensor([1.0, 2.0])
    parity.compare(record, tenora.tensor([1.0, 2.0]), right, "equal")
    for wrong in (tenora.tensor([1.0, 2.1]), tenora.tensor([1.0, 2.0], dtype=tenora.float64), tenora.ones(3)):
        with pytest.raises(AssertionError):
            parity.compare(record, wrong, right, "different")
    for ours, theirs in (([tenora.ones(2)], [None]), ([], [torch.ones(2)]), ([tenora.ones(2)], [])):
        with pytest.raises(AssertionError):
            parity.compare_derivatives(record, ours, theirs, "gradient")
    vanishing = tenora_ops.record("scatter_reduce")
    for ours, other in ((tenora.ones(2), torch.zeros(2)), (tenora.zeros(2), torch.ones(2))):
        with pytest.raises(AssertionError):
            parity.compare_derivatives(
                vanishing, [ours], parity.without_rounding(vanishing, [other]), "second gradient"
            )
