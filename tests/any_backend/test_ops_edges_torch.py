"""Every public op at the edges of its samples against PyTorch: 0-d, empty, and with one more dimension.

- The edges are made from the record's own samples (`edges_of`), so each op is tried there whatever its author drew.
- Where PyTorch answers, tenora answers with the same values, dtypes, shapes and first gradients. Where PyTorch refuses,
  tenora answers or refuses with an error that names an op: neither crashes.
- `LENIENT` names what PyTorch takes and tenora refuses on purpose, with the reason; it is counted with what was not
  compared (`test_ops_parity.py`).
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import op_cases
import pytest
import test_ops_parity as parity
import torch

import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import Sample

pytestmark = pytest.mark.oracle

#: Ops of which PyTorch ends the process on empty input.
CRASHES = {"lu_unpack", "pdist"}
MOST = 3  # edges of a kind that are tried of one op
_IMAGES = (
    *[f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)],
    *[f"adaptive_max_pool{n}d_with_indices" for n in (1, 2, 3)],
    *[f"max_unpool{n}d" for n in (1, 2, 3)],
    *[f"conv{n}d{how}" for n in (1, 2, 3) for how in ("", "_padding")],
    *["conv_tbc", "batch_norm", "instance_norm", "grid_sample", "interpolate", "upsample"],
)
_ROWS = ("multi_margin_loss", "multilabel_margin_loss", "triplet_margin_loss", "pairwise_distance")
_FRACTIONAL = [f"fractional_max_pool{n}d{how}" for n in (2, 3) for how in ("", "_with_indices")]
#: What PyTorch takes and tenora refuses.
LENIENT: dict[str, str] = {
    **dict.fromkeys(_IMAGES, "tenora takes empty batches, not empty images or no channels"),
    **dict.fromkeys((*_ROWS, "linalg_vander", "cov"), "a number is no row"),
    **dict.fromkeys(_FRACTIONAL, "PyTorch reads no samples for an empty batch"),
    **dict.fromkeys(("trapezoid", "cumulative_trapezoid"), "PyTorch reads no points without values"),
    "scaled_dot_product_attention": "PyTorch reads no mask without queries",
    "linalg_cond": "the condition of a matrix without elements is not 0",
    "linalg_lstsq": "there is no rank without singular values",
    "multinomial": "there is nothing to choose for without rows",
    "index_add": "PyTorch reads no index of a tensor without elements",
    "cholesky": "PyTorch takes matrices that are not square where they have no rows",
    "adjoint": "PyTorch's adjoint of a number is deprecated",
    "feature_alpha_dropout": "a number has no channels",
    "segment_reduce": "PyTorch reads no lengths of data without elements",
}
#: Edges at which PyTorch's results or gradients are left to chance, or wrong.
DIFFERS = {
    ("multilabel_margin_loss", "empty"): "PyTorch returns memory that nobody wrote",
    ("histogramdd", "empty"): "points without coordinates lie in the only cell; PyTorch counts none",
    ("bincount", "empty"): "PyTorch answers with integers, whatever the weights",
    ("pixel_unshuffle", "empty"): parity.EMPTY_DIFFERS["pixel_unshuffle"],
    ("pixel_unshuffle", "taller"): parity.EMPTY_DIFFERS["pixel_unshuffle"],
    ("group_norm", "empty"): "PyTorch's gradient of the weight is 0 where it is 0 / 0",
    ("batch_norm", "empty"): "PyTorch's gradient of the weight is 0 where it is 0 / 0",
    ("block_diag", "empty"): "PyTorch's gradient is a row off behind an empty vector",
    ("cosine_similarity", "0-d"): "a gradient of 0 is the difference of two equal numbers",
}


def mapped(sample: Sample, change: Callable[[np.ndarray], np.ndarray]) -> Sample:
    """The sample with each of its arrays changed."""

    def run(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.ascontiguousarray(change(value)).reshape(change(value).shape)
        return [run(v) for v in value] if isinstance(value, list) else value

    return Sample(tuple(map(run, sample.arguments)), {k: run(v) for k, v in sample.options.items()})


def arrays_of(sample: Sample) -> list[np.ndarray]:
    flat = [
        v for a in (*sample.arguments, *sample.options.values()) for v in (a if isinstance(a, list) else [a])
    ]
    return [v for v in flat if isinstance(v, np.ndarray)]


def edges_of(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """0-d: the first element of each array (index 0 among several). Empty: without elements along one dim of the first
    array, and along the dims of the others that are as long. Taller: two layers in front, the second one reversed."""
    arrays = arrays_of(sample)
    if not arrays:
        return
    if all(a.size for a in arrays):
        whole = len(arrays) > 1
        yield (
            "0-d",
            mapped(
                sample, lambda a: np.asarray(a.reshape(-1)[0] * (a.dtype.kind != "i" or not whole), a.dtype)
            ),
        )
    first = arrays[0]
    for back in range(1, first.ndim + 1):
        size = first.shape[-back]

        def without(a: np.ndarray, back: int = back, size: int = size) -> np.ndarray:
            fits = a.ndim >= back and a.shape[-back] == size
            return np.take(a, [], -back) if fits else a

        if size:
            yield "empty", mapped(sample, without)
    if first.ndim < 5:
        yield "taller", mapped(sample, lambda a: np.stack([a, np.flip(a)]) if a.ndim else a)


def answers(record: Record, sample: Sample) -> bool:
    """Whether PyTorch answers with tensors."""
    function, arguments, options = parity.torch_call(record, sample)
    try:
        found = function(*arguments, **options)
    except Exception:  # whatever PyTorch refuses with
        return False
    return found is not None and all(isinstance(t, torch.Tensor) for t in parity.results_of(found))


def at_the_edge(record: Record, what: str, sample: Sample, dtype: str) -> None:
    where = f"{record.name}({sample}), {what}"
    if not answers(record, sample):
        try:
            op_cases.call(record, sample)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            assert str(error).startswith("["), f"{where}: {error}"
        raise parity.Uncompared("PyTorch refuses the edge")
    if (record.name, what) in DIFFERS:
        raise parity.Uncompared(f"{record.name}: {DIFFERS[record.name, what]}")
    if record.name in LENIENT:
        try:
            op_cases.call(record, sample)
        except (RuntimeError, IndexError) as error:
            assert str(error).startswith("["), f"{where}: {error}"
            raise parity.Uncompared(f"{record.name}: {LENIENT[record.name]}") from error
    parity.one_case(record, dtype, sample, where, second=False)


@pytest.mark.parametrize("name", [name for name in parity.NAMES if name not in CRASHES])
def test_edges(name: str, backend: str, record_property: Callable[[str, object], None]) -> None:
    record = op_cases.judged(name)
    dtypes = op_cases.dtypes_of(record)
    dtype = "float64" if "float64" in dtypes else dtypes[0]
    left_out: collections.Counter[str] = collections.Counter()
    compared = 0
    seen = set()
    tried: collections.Counter[str] = collections.Counter()
    for sample in op_cases.samples_of(name, dtype):
        for what, edge in edges_of(sample):
            if str(edge) in seen or tried[what] >= MOST:
                continue
            seen.add(str(edge))
            tried[what] += 1
            try:
                if (name, dtype) in parity.DIFFERS:
                    raise parity.Uncompared(f"{name}: {parity.DIFFERS[name, dtype]}")
                at_the_edge(record, what, edge, dtype)
                compared += 1
            except parity.Uncompared as reason:
                left_out[str(reason)] += 1
    record_property("compared", compared)
    record_property("not_compared", json.dumps(left_out))


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
