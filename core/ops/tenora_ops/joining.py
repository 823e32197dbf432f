"""Joining tensors, and grids: ops that take several tensors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import broadcast_shape, need_rank
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import op
from tenora_ops.samples import Draw, Sample, sample
from tenora_ops.splitting import PARTS, bounded


def _raised(name: str, raised: Any, tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1:
        if not isinstance(tensors[0], list | tuple):
            return raised(tensors[0])
        tensors = tuple(tensors[0])
    return tuple(raised(tensor) for tensor in tensors)


def _one(x: Any) -> Any:
    return x if x.ndim else ops.reshape(x, (1,))


def _two(x: Any) -> Any:
    return x if x.ndim > 1 else ops.unsqueeze(_one(x), 0)


def _three(x: Any) -> Any:
    return x if x.ndim > 2 else ops.unsqueeze(_two(x), 2)


def ranks(draw: Draw) -> Iterable[Sample]:
    single = [sample(draw.array(*shape)) for shape in ((), (5,), (3, 4), (2, 3, 2), (0,), (1, 2, 1, 3, 2))]
    return [*single, sample([draw.array(), draw.array(3)]), sample(draw.array(2, 2), draw.array())]


def _raised_arrays(raised: Any, *arrays: Any) -> Any:
    if len(arrays) == 1 and not isinstance(arrays[0], list):
        return raised(arrays[0])
    return tuple(raised(a) for a in (arrays[0] if isinstance(arrays[0], list) else arrays))


atleast_1d = op(
    "atleast_1d(tensors: Tensor[]) -> Tensor[]",
    family=PARTS,
    python=lambda *tensors: _raised("atleast_1d", _one, tensors),
    samples=ranks,
    oracle=lambda *arrays: _raised_arrays(np.atleast_1d, *arrays),
    doc="Each tensor with at least one dim, a view; one tensor gives one, not a tuple.",
    example="tenora.atleast_1d(tenora.tensor(1.0))",
)
atleast_2d = op(
    "atleast_2d(tensors: Tensor[]) -> Tensor[]",
    family=PARTS,
    python=lambda *tensors: _raised("atleast_2d", _two, tensors),
    samples=ranks,
    oracle=lambda *arrays: _raised_arrays(np.atleast_2d, *arrays),
    doc="Each tensor with at least two dims, new ones in front, a view.",
    example="tenora.atleast_2d(tenora.ones(3))",
)
atleast_3d = op(
    "atleast_3d(tensors: Tensor[]) -> Tensor[]",
    family=PARTS,
    python=lambda *tensors: _raised("atleast_3d", _three, tensors),
    samples=ranks,
    oracle=lambda *arrays: _raised_arrays(np.atleast_3d, *arrays),
    doc="Each tensor with at least three dims: (n) becomes (1, n, 1), (m, n) becomes (m, n, 1).",
    example="tenora.atleast_3d(tenora.ones(3))",
)


def _horizontal(tensors: Any) -> Any:
    if not tensors:
        raise errors.OperationError("[hstack] tensors: got none, expected at least one. Pass a tensor.")
    raised = [_one(t) for t in tensors]
    return ops.cat(raised, 0 if raised[0].ndim == 1 else 1)


def _columns(tensors: Any) -> Any:
    if not tensors:
        raise errors.OperationError("[column_stack] tensors: got none, expected at least one. Pass a tensor.")
    return ops.cat([t if t.ndim > 1 else ops.reshape(t, (-1, 1)) for t in tensors], 1)


def stacks(draw: Draw) -> Iterable[Sample]:
    shapes = ((3,), (3, 4), (2, 3, 2), (), (0,), (1, 2, 1, 3, 2))
    return [sample([draw.array(*shape), draw.array(*shape)]) for shape in shapes]


hstack = op(
    "hstack(tensors: Tensor[]) -> Tensor",
    family=PARTS,
    function=_horizontal,
    samples=lambda draw: [*stacks(draw), sample([draw.array(2, 3), draw.array(2, 1)])],
    oracle=lambda tensors: np.hstack(tensors),
    apart=("tensors",),
    doc="Joins along dim 1 (vectors along dim 0).",
    example="tenora.hstack([tenora.ones(2), tenora.zeros(3)])",
    out=True,
)
vstack = op(
    "vstack(tensors: Tensor[]) -> Tensor",
    family=PARTS,
    function=lambda tensors: ops.cat([_two(t) for t in tensors], 0),
    samples=lambda draw: [*stacks(draw), sample([draw.array(3), draw.array(2, 3)])],
    oracle=lambda tensors: np.vstack(tensors),
    apart=("tensors",),
    doc="Joins along dim 0; vectors are rows.",
    example="tenora.vstack([tenora.ones(2), tenora.zeros(2)])",
    aliases=("row_stack",),
    out=True,
)
dstack = op(
    "dstack(tensors: Tensor[]) -> Tensor",
    family=PARTS,
    function=lambda tensors: ops.cat([_three(t) for t in tensors], 2),
    samples=lambda draw: [*stacks(draw), sample([draw.array(2, 3), draw.array(2, 3, 2)])],
    oracle=lambda tensors: np.dstack(tensors),
    apart=("tensors",),
    doc="Joins along dim 2.",
    example="tenora.dstack([tenora.ones(2), tenora.zeros(2)])",
    out=True,
)
column_stack = op(
    "column_stack(tensors: Tensor[]) -> Tensor",
    family=PARTS,
    function=_columns,
    samples=lambda draw: [*stacks(draw), sample([draw.array(2), draw.array(2, 3)])],
    oracle=lambda tensors: np.concatenate([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1),
    apart=("tensors",),
    doc="Joins along dim 1; vectors are columns.",
    example="tenora.column_stack([tenora.ones(2), tenora.zeros(2)])",
    out=True,
)


def _listed(tensors: tuple[Any, ...]) -> list[Any]:
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)


def _broadcast(*tensors: Any) -> tuple[Any, ...]:
    given = _listed(tensors)
    shape = broadcast_shape("broadcast_tensors", [t.shape for t in given])
    return tuple(ops.expand(t, shape) for t in given)


broadcast_tensors = op(
    "broadcast_tensors(tensors: Tensor[]) -> Tensor[]",
    family=PARTS,
    python=_broadcast,
    samples=lambda draw: [
        sample(*[draw.array(*shape) for shape in shapes])
        for shapes in (
            ((3, 1), (4,)),
            ((), (2, 3)),
            ((5,),),
            ((2, 1, 3), (4, 1), (1,)),
            ((0,), (1,)),
            ((2, 4, 1, 1), (1, 2, 1, 3, 2)),
        )
    ],
    oracle=lambda *arrays: tuple(np.broadcast_arrays(*arrays)),
    doc="Views of one common, broadcast shape.",
    example="tenora.broadcast_tensors(tenora.ones(3, 1), tenora.ones(4))",
)


def _mesh(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    given = _listed(tensors)
    if indexing not in (None, "ij", "xy"):
        raise errors.OperationError(
            f"[meshgrid] indexing is wrong: got {indexing!r}, expected 'ij' or 'xy'. Choose one."
        )
    for tensor in given:
        need_rank("meshgrid", tensor, 0, 1)
        if tensor.dtype != given[0].dtype:
            raise errors.OperationError(
                f"[meshgrid] dtypes differ: got {given[0].dtype} and {tensor.dtype}, expected one dtype. "
                "Cast one of them."
            )
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[0], order[1] = 1, 0
    shape = [0] * len(given)
    for tensor, place in zip(given, order, strict=True):
        shape[place] = tensor.numel()
    lines = [
        ops.reshape(tensor, [-1 if d == place else 1 for d in range(len(given))])
        for tensor, place in zip(given, order, strict=True)
    ]
    return tuple(ops.expand(line, shape) for line in lines)


meshgrid = op(
    "meshgrid(tensors: Tensor[], *, indexing: str? = None) -> Tensor[]",
    family=PARTS,
    python=_mesh,
    samples=lambda draw: [
        sample(draw.array(3), draw.array(4), indexing="ij"),
        sample(draw.array(3), draw.array(4), indexing="xy"),
        sample([draw.array(2), draw.array(3), draw.array(2)], indexing="xy"),
        sample(draw.array(3), draw.array(), indexing="ij"),
        sample(draw.array(5), indexing="ij"),
        sample(draw.array(0), draw.array(2), indexing="ij"),
    ],
    oracle=lambda *arrays, indexing: tuple(
        np.meshgrid(*(arrays[0] if isinstance(arrays[0], list) else arrays), indexing=indexing)
    ),
    doc="Coordinates of a grid: tensor i varies along dim i ('ij'), the first two dims swapped for 'xy'.",
    example="tenora.meshgrid(tenora.arange(3), tenora.arange(2), indexing='ij')",
)


def _cartesian(*tensors: Any) -> Any:
    given = _listed(tensors)
    for tensor in given:
        need_rank("cartesian_prod", tensor, 1, 1)
    if len(given) == 1:
        return given[0]
    return ops.stack([ops.reshape(grid, (-1,)) for grid in _mesh(*given)], 1)


cartesian_prod = op(
    "cartesian_prod(tensors: Tensor[]) -> Tensor",
    family=PARTS,
    python=_cartesian,
    samples=lambda draw: [
        sample(*[draw.array(n) for n in lengths])
        for lengths in ((3, 2), (4,), (2, 3, 2), (0, 2), (1, 1), (5, 1))
    ],
    oracle=lambda *arrays: (
        np.array(list(itertools.product(*arrays)), dtype=arrays[0].dtype).reshape(-1, len(arrays))
        if len(arrays) > 1
        else arrays[0]
    ),
    doc="All tuples of one element of each vector, one a row.",
    example="tenora.cartesian_prod(tenora.arange(2), tenora.arange(3))",
)


def _combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    need_rank("combinations", input, 1, 1)
    if r < 0:
        raise errors.OperationError(
            f"[combinations] r is wrong: got {r}, expected 0 or more. Choose how many to take."
        )
    if r == 0:
        return ops.narrow(input, 0, 0, 0).clone()
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    count = input.numel()
    pool = count + r - 1 if with_replacement else count
    bounded("combinations", "elements", r * math.comb(pool, r) if pool > 0 else 0)
    rows = list(choose(range(count), r)) if count and r <= pool else []
    if not rows:
        return ops.reshape(ops.narrow(input, 0, 0, 0).clone(), (0, r))
    flat = [place for row in rows for place in row]
    places = _engine.as_tensor_data(flat, dtype=_engine.int64, device=input.device)
    return ops.reshape(ops.index_select(input, 0, places), (len(rows), r))


combinations = op(
    "combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor",
    family=PARTS,
    function=_combinations,
    samples=lambda draw: [
        sample(draw.array(4)),
        sample(draw.array(5), 3),
        sample(draw.array(3), 2, True),
        sample(draw.array(3), r=1),
        sample(draw.array(0)),
        sample(draw.array(2), 3),
        sample(draw.array(2), 3, True),
    ],
    oracle=lambda x, r=2, with_replacement=False: np.array(
        list((itertools.combinations_with_replacement if with_replacement else itertools.combinations)(x, r)),
        dtype=x.dtype,
    ).reshape(-1, r),
    doc="All choices of r elements of a vector, in order, one a row.",
    example="tenora.combinations(tenora.arange(4))",
)


def _block_diagonal(*tensors: Any) -> Any:
    blocks = []
    for tensor in _listed(tensors):
        need_rank("block_diag", tensor, 0, 2)
        blocks.append(_two(tensor))
    if not blocks:
        return ops.full((1, 0), 0.0)
    width, left, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        rows.append(ops.pad(block, (left, width - left - block.shape[1])))
        left += block.shape[1]
    return ops.cat(rows, 0)


def _blocks(*arrays: Any) -> Any:
    raised = [np.atleast_2d(a) for a in arrays]
    out = np.zeros([sum(a.shape[d] for a in raised) for d in (0, 1)], dtype=raised[0].dtype)
    row = column = 0
    for a in raised:
        out[row : row + a.shape[0], column : column + a.shape[1]] = a
        row, column = row + a.shape[0], column + a.shape[1]
    return out


block_diag = op(
    "block_diag(tensors: Tensor[]) -> Tensor",
    family=PARTS,
    python=_block_diagonal,
    samples=lambda draw: [
        sample(*[draw.array(*shape) for shape in shapes])
        for shapes in (
            ((2, 3), (1, 2)),
            ((), (3,)),
            ((2, 2),),
            ((0, 2), (2, 1)),
            ((1, 1), (2, 1), (1, 2)),
            ((4,), (2, 3)),
        )
    ],
    oracle=_blocks,
    doc="A matrix with the given ones along its diagonal and zeros elsewhere; vectors are rows.",
    example="tenora.block_diag(tenora.ones(2, 2), tenora.ones(1, 3))",
)
