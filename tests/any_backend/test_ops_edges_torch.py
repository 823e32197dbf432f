"""Every public op at the edges of its samples against PyTorch: 0-d, empty, and with one more dimension.

- The edges are made from the record's own samples (`edges_of`), so each op is tried there whatever its author drew.
- Where PyTorch answers, tenora answers with the same values, dtypes, shapes and first gradients. Where PyTorch refuses,
  tenora answers or refuses with an error that names this op, or one of its `PARTS`: neither crashes.
- `REFUSED_EDGES` names what PyTorch takes and tenora refuses on purpose, with the reason; it is counted with
  what was not compared (`test_ops_parity.py`).
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import op_cases
import parity_cases as parity
import pytest
import torch
from differences import EDGES, REFUSED_EDGES, VALUES
from edge_cases import arrays_of, edges_of, mapped

import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Sample

pytestmark = pytest.mark.oracle

#: Ops of which PyTorch ends the process on empty input.
CRASHES = {"lu_unpack", "pdist"}
MOST = 3  # edges of a kind that are tried of one op
#: Ops that leave it to a part of theirs to refuse, and the names that its errors have; to be shortened.
PARTS: dict[str, set[str]] = {
    **dict.fromkeys(["unsafe_split_with_sizes"], {"split_with_sizes"}),
    **dict.fromkeys(["unsafe_chunk"], {"chunk"}),
    **dict.fromkeys(["unsafe_split"], {"split"}),
}
#: Ops of whose edges PyTorch takes none, or nothing is compared (test_ops_parity.py): they are only refused.
REFUSED_ALONE = frozenset(
    [
        "addmv",
        "addmv_complex",
        "affine_grid",
        "allclose",
        "as_strided_scatter",
        "bilinear",
        "bincount",
        "conv1d",
        "conv1d_padding",
        "conv2d",
        "conv2d_padding",
        "conv3d",
        "conv3d_padding",
        "conv_transpose2d",
        "conv_transpose3d",
        "cross_entropy",
        "ctc_loss",
        "diagonal_scatter",
        "digamma",
        "equal",
        "fractional_max_pool2d",
        "fractional_max_pool2d_with_indices",
        "fractional_max_pool3d",
        "fractional_max_pool3d_with_indices",
        "gumbel_softmax",
        "linalg_eig",
        "linalg_eigh",
        "linalg_eigvals",
        "linalg_svd",
        "linalg_tensorinv",
        "nll_loss",
        "pixel_unshuffle",
        "polygamma",
        "segment_reduce",
        "special_airy_ai",
        "special_bessel_j0",
        "special_bessel_j1",
        "special_bessel_y0",
        "special_bessel_y1",
        "svd",
        "upsample_bilinear",
    ]
)


def answers(record: Record, sample: Sample) -> bool:
    """Whether PyTorch answers with tensors."""
    function, arguments, options = parity.torch_call(record, sample)
    try:
        found = function(*arguments, **options)
    except Exception:  # whatever PyTorch refuses with
        return False
    return found is not None and all(isinstance(t, torch.Tensor) for t in parity.results_of(found))


class Refused(Exception):
    """Tenora's refusal of an edge, with the name that its error has."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def own_names(record: Record) -> set[str]:
    """What an error may call the op: by its name, a public one, or that of the op it is a form of."""
    names = {record.name, record.public, record.short, record.display, record.renames}
    names.add(record.renames.rsplit(".", 1)[-1])
    return (names | {name.removesuffix("_with_indices") for name in names}) - {""}


def refusal(record: Record, sample: Sample) -> Refused | None:
    """How tenora refuses the call; None where it answers. An error that names no op is no refusal."""
    try:
        op_cases.call(record, sample)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        named = re.match(r"\[([^\]\n]+)\] .", str(error))
        assert named, f"{record.name}({sample}): {error}"
        assert named[1] in own_names(record) | PARTS.get(record.name, set()), (
            f"{record.name}({sample}): {error}"
        )
        return Refused(named[1])
    return None


def at_the_edge(record: Record, what: str, sample: Sample, dtype: str) -> Refused | None:
    """Compares both answers; returns how tenora refuses, where PyTorch does too or is listed to be lenient."""
    where = f"{record.name}({sample}), {what}"
    if not answers(record, sample):
        return refusal(record, sample) or Refused("")
    if (record.name, what) in EDGES:
        raise parity.Uncompared(f"{record.name}: {EDGES[record.name, what]}")
    if (record.name, what) in REFUSED_EDGES and (refused := refusal(record, sample)):
        raise parity.Uncompared(f"{record.name}: {REFUSED_EDGES[record.name, what]}") from refused
    parity.one_case(record, dtype, sample, where, second=False)
    return None


def edges_to_try(record: Record, dtype: str) -> Iterator[tuple[str, Sample]]:
    """At most `MOST` different edges of a kind."""
    seen = set()
    tried: collections.Counter[str] = collections.Counter()
    for sample in op_cases.samples_of(record.name, dtype):
        for what, edge in edges_of(sample):
            if str(edge) not in seen and tried[what] < MOST:
                seen.add(str(edge))
                tried[what] += 1
                yield what, edge


@pytest.mark.parametrize("name", [name for name in parity.NAMES if name not in CRASHES])
def test_edges(name: str, backend: str, record_property: Callable[[str, object], None]) -> None:
    record = op_cases.judged(name)
    dtypes = op_cases.dtypes_of(record)
    dtype = "float64" if "float64" in dtypes else dtypes[0]
    left_out: collections.Counter[str] = collections.Counter()
    kinds, used, parts = set(), set(), set()
    compared = 0
    for what, edge in edges_to_try(record, dtype):
        kinds.add(what)
        try:
            if (name, dtype) in VALUES:
                raise parity.Uncompared(f"{name}: {VALUES[name, dtype]}")
            refused = at_the_edge(record, what, edge, dtype)
            compared += refused is None
            if refused:
                left_out["PyTorch refuses the edge"] += 1
                parts.add(refused.name)
        except parity.Uncompared as reason:
            left_out[str(reason)] += 1
            compared += isinstance(reason, parity.Ungraded)
            if isinstance(reason.__cause__, Refused):
                used.add(what)
                parts.add(reason.__cause__.name)
    record_property("compared", compared)
    record_property("not_compared", json.dumps(left_out))
    assert used == {what for op, what in REFUSED_EDGES if op == name}, (
        f"{name}: no longer refused: shorten the list"
    )
    assert name not in PARTS or parts & PARTS[name], f"{name}: names itself now: shorten PARTS"
    if kinds and has_counterpart(record):
        assert bool(compared) != (name in REFUSED_ALONE), (
            f"{name}: {compared} compared, not: {dict(left_out)}"
        )


def has_counterpart(record: Record) -> bool:
    try:
        parity.counterpart(record)
    except parity.Uncompared:
        return False
    return True


def test_a_difference_at_an_edge_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong answer where PyTorch answers; another op's name, or none, where it refuses."""
    record = tenora_ops.record("mm")
    matrices = op_cases.samples_of("mm", "float64")[0]
    vectors = mapped(matrices, lambda a: a[0])
    assert at_the_edge(record, "0-d", vectors, "float64") is not None

    def put(function: Any) -> None:
        monkeypatch.setitem(tenora_ops.REGISTERED, "mm", function)

    def refusing(text: str) -> Callable[..., Any]:
        def refuse(*arguments: Any) -> Any:
            raise RuntimeError(text)

        return refuse

    put(lambda a, b: (a @ b) * 2)
    with pytest.raises(AssertionError):
        at_the_edge(record, "0-d", matrices, "float64")
    for text in ("[add] shapes do not fit", "formula and rules disagree", "[mm]"):
        put(refusing(text))
        with pytest.raises(AssertionError):
            at_the_edge(record, "0-d", vectors, "float64")


def test_listed_edges_exist() -> None:
    assert {name for name, _ in (*REFUSED_EDGES, *EDGES)} | set(PARTS) | REFUSED_ALONE <= set(parity.NAMES)


def test_edges_are_edges() -> None:
    kinds = collections.Counter(
        what for s in op_cases.samples_of("add", "float64") for what, _ in edges_of(s)
    )
    assert kinds["0-d"] >= 6 and kinds["empty"] >= 6 and kinds["taller"] >= 6
    assert tenora_ops.record("add").schema.name == "add"
    shapes = [
        a.shape for s in op_cases.samples_of("add", "float64") for _, e in edges_of(s) for a in arrays_of(e)
    ]
    assert () in shapes and any(0 in shape for shape in shapes) and max(map(len, shapes)) == 5
