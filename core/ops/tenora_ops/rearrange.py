"""Rearranging: dims moved, rows repeated, rolled and turned, transposes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import ints, need_rank, wrap_dim, wrap_dims
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, FLOATING, Draw, Sample, sample, unary

MOVED = Family("movement", "", "", "", unary, ALL)


def _movedim(input: Any, source: Any, destination: Any) -> Any:
    origin = wrap_dims("movedim", source, input.ndim)
    target = wrap_dims("movedim", destination, input.ndim)
    if len(origin) != len(target):
        raise errors.OperationError(
            f"[movedim] numbers of dimensions differ: got {origin} and {target}, expected as many of one as of the "
            "other. Name a destination for every source."
        )
    rest = iter([d for d in range(input.ndim) if d not in origin])
    places = dict(zip(target, origin, strict=True))
    return ops.permute(input, [places[d] if d in places else next(rest) for d in range(input.ndim)])


movedim = op(
    "movedim(input: Tensor, source: int[], destination: int[]) -> Tensor",
    family=MOVED,
    function=_movedim,
    samples=lambda draw: [
        sample(draw.array(3, 4), 0, 1),
        sample(draw.array(2, 1, 3), (0, 1), (2, 0)),
        sample(draw.array(2, 3, 2, 2), -1, 0),
        sample(draw.array(5), 0, 0),
        sample(draw.array(2, 0, 3), (0,), (-1,)),
        sample(draw.array(1, 2, 1, 3, 2), (4, 1, 0), (0, 2, -1)),
    ],
    oracle=lambda x, source, destination: np.moveaxis(x, source, destination),
    doc="The dims with the named ones at other places, a view.",
    example="tenora.movedim(tenora.ones(2, 3, 4), 0, -1)",
    method=True,
    aliases=("moveaxis",),
)
ravel = op(
    "ravel(input: Tensor) -> Tensor",
    family=MOVED,
    composite=lambda x: ops.reshape(x, (-1,)),
    oracle=lambda x: x.flatten(),
    doc="All elements in one dim, a view where the strides allow it.",
    example="tenora.ravel(tenora.ones(2, 3))",
    method=True,
)


def pairs_of_one_size(draw: Draw) -> Iterable[Sample]:
    rows = (
        ((3, 4), (2, 6)),
        ((6,), (2, 3)),
        ((), (1, 1)),
        ((2, 0), (0, 3)),
        ((2, 3, 2), (12,)),
        ((4,), (1, 2, 1, 2, 1)),
    )
    return [sample(draw.array(*a), draw.array(*b)) for a, b in rows]


view_as = op(
    "view_as(input: Tensor, other: Tensor) -> Tensor",
    family=MOVED,
    composite=lambda x, other: ops.view(x, other.shape),
    shape_only=("other",),
    samples=pairs_of_one_size,
    oracle=lambda x, other: x.reshape(other.shape),
    doc="input.view(other.shape).",
    example="tenora.ones(6).view_as(tenora.ones(2, 3))",
    public="",
    method="view_as",
)
reshape_as = op(
    "reshape_as(input: Tensor, other: Tensor) -> Tensor",
    family=MOVED,
    composite=lambda x, other: ops.reshape(x, other.shape),
    shape_only=("other",),
    samples=pairs_of_one_size,
    oracle=lambda x, other: x.reshape(other.shape),
    doc="input.reshape(other.shape).",
    example="tenora.ones(6).reshape_as(tenora.ones(2, 3))",
    public="",
    method="reshape_as",
)
sum_to_size = op(
    "sum_to_size(input: Tensor, size: int[]) -> Tensor",
    family=MOVED,
    dtypes=FLOATING,
    tolerance="reduction",
    composite=lambda x, size: ops.sum_to(x, ops.full(size, 0, dtype=x.dtype, device=x.device)),
    samples=lambda draw: [
        sample(draw.array(3, 4), (4,)),
        sample(draw.array(3, 4), (3, 1)),
        sample(draw.array(2, 3, 2, 2), (3, 1, 2)),
        sample(draw.array(5), (1,)),
        sample(draw.array(2, 0, 3), (3,)),
        sample(draw.array(3, 4), (3, 4)),
    ],
    oracle=lambda x, size: np.sum(
        x.reshape((1,) * (len(size) - x.ndim) + x.shape),
        axis=tuple(range(x.ndim - len(size)))
        + tuple(x.ndim - len(size) + d for d, n in enumerate(size) if n == 1),
        keepdims=True,
    ).reshape(size),
    doc="Summed over the dims that broadcasting from `size` would have made.",
    example="tenora.ones(2, 3).sum_to_size(3)",
    public="",
    method="sum_to_size",
)


def _unflatten(input: Any, dim: int, sizes: Any) -> Any:
    dim = wrap_dim("unflatten", dim, input.ndim)
    need_rank("unflatten", input, 1)
    lengths = list(ints(sizes))
    known = 1
    for size in lengths:
        known *= size if size != -1 else 1
    length = input.shape[dim]
    if (
        lengths.count(-1) > 1
        or (known != length and -1 not in lengths)
        or (-1 in lengths and (not known or length % known))
    ):
        raise errors.OperationError(
            f"[unflatten] sizes do not multiply: got {tuple(lengths)} for dimension {dim} of size {length}, expected a "
            "product of that size. One size may be -1."
        )
    lengths = [length // known if size == -1 else size for size in lengths]
    return ops.view(input, [*input.shape[:dim], *lengths, *input.shape[dim + 1 :]])


unflatten = op(
    "unflatten(input: Tensor, dim: int, sizes: int[]) -> Tensor",
    family=MOVED,
    function=_unflatten,
    samples=lambda draw: [
        sample(draw.array(6), 0, (2, 3)),
        sample(draw.array(3, 4), 1, (2, 2)),
        sample(draw.array(3, 4), -1, (-1, 2)),
        sample(draw.array(2, 3, 2, 6), 3, (3, 1, 2)),
        sample(draw.array(2, 0), 1, (0, 3)),
        sample(draw.array(4, 3), 0, (2, -1)),
    ],
    oracle=lambda x, dim, sizes: x.reshape(*x.shape[: dim % x.ndim], *sizes, *x.shape[dim % x.ndim + 1 :]),
    doc="One dim cut into several, a view.",
    example="tenora.unflatten(tenora.ones(2, 6), 1, (2, 3))",
    method=True,
)


def _repeat(input: Any, repeats: Any) -> Any:
    counts = ints(repeats)
    if len(counts) < input.ndim or any(n < 0 for n in counts):
        raise errors.OperationError(
            f"[repeat] numbers of repetitions are wrong: got {counts}, expected {input.ndim} or more numbers, none "
            f"negative, for shape {tuple(input.shape)}. Give one for every dimension."
        )
    shape = (1,) * (len(counts) - input.ndim) + tuple(input.shape)
    lines = [size for n in shape for size in (1, n)]
    spread = [size for count, n in zip(counts, shape, strict=True) for size in (count, n)]
    whole = ops.clone(ops.expand(ops.reshape(input, lines), spread))
    return ops.reshape(whole, [count * n for count, n in zip(counts, shape, strict=True)])


def _tile(input: Any, dims: Any) -> Any:
    counts = ints(dims)
    return _repeat(input, (1,) * (input.ndim - len(counts)) + counts)


def repetitions(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(3), (2,)),
        sample(draw.array(3, 4), (2, 1)),
        sample(draw.array(3), (2, 2)),
        sample(draw.array(), (3,)),
        sample(draw.array(2, 0), (1, 2)),
        sample(draw.array(2, 3), (0, 2)),
        sample(draw.array(2, 1, 2, 2), (1, 2, 1, 2)),
    ]


repeat = op(
    "repeat(input: Tensor, repeats: int[]) -> Tensor",
    family=MOVED,
    function=_repeat,
    samples=repetitions,
    oracle=lambda x, repeats: np.tile(x, repeats),
    doc="A copy in which every dim is repeated; new dims in front.",
    example="tenora.ones(3).repeat(2, 2)",
    public="",
    method="repeat",
)
tile = op(
    "tile(input: Tensor, dims: int[]) -> Tensor",
    family=MOVED,
    function=_tile,
    samples=lambda draw: [*repetitions(draw), sample(draw.array(2, 3), (2,))],
    oracle=lambda x, dims: np.tile(x, dims),
    doc="repeat with ones in front where numbers are missing.",
    example="tenora.tile(tenora.ones(2, 3), (2,))",
    method=True,
)


def _interleave(input: Any, repeats: int, dim: int | None = None, output_size: int | None = None) -> Any:
    if repeats < 0:
        raise errors.OperationError(
            f"[repeat_interleave] repeats is negative: got {repeats}, expected 0 or more. Count the copies."
        )
    if dim is None or not input.ndim:
        input, dim = ops.reshape(input, (-1,)), 0
    dim = wrap_dim("repeat_interleave", dim, input.ndim)
    shape = list(input.shape)
    spread = ops.clone(
        ops.expand(ops.unsqueeze(input, dim + 1), [*shape[: dim + 1], repeats, *shape[dim + 1 :]])
    )
    return ops.reshape(spread, [*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]])


def _places(repeats: Any, output_size: int | None = None) -> Any:
    """Element k comes from the place whose run of copies holds k: as many places as end at or before k."""
    need_rank("repeat_interleave", repeats, 1, 1)
    if repeats.dtype.is_floating_point:
        raise errors.OperationError(
            f"[repeat_interleave] repeats has the wrong dtype: got {repeats.dtype}, expected integers. Cast it."
        )
    ends = ops.cumsum(repeats, 0)
    if bool(ops.any(ops.lt(repeats, 0))):
        raise errors.OperationError(
            "[repeat_interleave] repeats are wrong: got negative elements, expected 0 or more. Count the copies."
        )
    total = int(ends[-1].item()) if repeats.numel() else 0
    marks = ops.full((total + 1,), 0, dtype=ends.dtype, device=repeats.device)
    marks = ops.scatter_add(marks, 0, ends, ops.ones_like(ends)) if repeats.numel() else marks
    return ops.narrow(ops.to(ops.cumsum(marks, 0), repeats.dtype), 0, 0, total)


def _interleave_by(input: Any, repeats: Any, dim: int | None = None, output_size: int | None = None) -> Any:
    if dim is None or not input.ndim:
        input, dim = ops.reshape(input, (-1,)), 0
    dim = wrap_dim("repeat_interleave", dim, input.ndim)
    repeats = ops.reshape(repeats, (1,)) if not repeats.ndim else repeats
    if repeats.numel() == 1:
        repeats = ops.expand(repeats, (input.shape[dim],))
    if repeats.ndim != 1 or repeats.shape[0] != input.shape[dim]:
        raise errors.OperationError(
            f"[repeat_interleave] repeats does not fit: got shape {tuple(repeats.shape)}, expected one number or "
            f"({input.shape[dim]},) for dimension {dim}. Give one number for every index."
        )
    return ops.index_select(input, dim, ops.to(_places(repeats), _engine.int64))


repeat_interleave_by = op(
    "repeat_interleave_by(input: Tensor, repeats: Tensor, dim: int? = None, *, output_size: int? = None) -> Tensor",
    family=MOVED,
    function=_interleave_by,
    samples=lambda draw: [
        sample(draw.array(3), draw.indices(3, 3)),
        sample(draw.array(3, 2), draw.indices(3, 6)),
        sample(draw.array(3, 4), draw.indices(3, 4), 1),
        sample(draw.array(2, 3, 2, 2), draw.indices(4, 3), -3),
        sample(draw.array(0, 2), draw.indices(3, 0), 0),
        sample(draw.array(3, 2), np.array([2]), 0),
    ],
    oracle=lambda x, repeats, dim=None: np.repeat(x, repeats, dim),
    doc="Every element (of a dim) as often as a tensor says.",
    example="tenora.repeat_interleave(tenora.arange(3), tenora.tensor([1, 0, 2]))",
    public="repeat_interleave",
    method=True,
)
repeat_interleave = op(
    "repeat_interleave(input: Tensor, repeats: int, dim: int? = None, *, output_size: int? = None) -> Tensor",
    family=MOVED,
    function=_interleave,
    samples=lambda draw: [
        sample(draw.array(3), 2),
        sample(draw.array(3, 4), 2),
        sample(draw.array(3, 4), 3, 0),
        sample(draw.array(2, 3, 2, 2), 2, -2),
        sample(draw.array(2, 0), 2, 1),
        sample(draw.array(2, 3), 0, 1),
        sample(draw.array(), 2),
    ],
    oracle=lambda x, repeats, dim=None: np.repeat(x, repeats, dim),
    doc="Every element (of a dim) several times in a row.",
    example="tenora.repeat_interleave(tenora.arange(3), 2)",
    method=True,
)
repeat_interleave_places = op(
    "repeat_interleave_places(repeats: Tensor, *, output_size: int? = None) -> Tensor",
    family=MOVED,
    function=_places,
    differentiable=False,
    dtypes=("int64", "int32"),
    samples=lambda draw: [sample(draw.indices(4, n).astype(draw.dtype)) for n in (3, 1, 0, 5, 8, 20)],
    oracle=lambda repeats: np.repeat(np.arange(len(repeats)), repeats).astype(repeats.dtype),
    doc="The index 0 as often as repeats[0] says, and so on.",
    example="tenora.repeat_interleave(tenora.tensor([1, 0, 2]))",
    public="repeat_interleave",
)


def _roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    steps, axes = ints(shifts), ints(dims)
    if not steps:
        raise errors.OperationError("[roll] shifts: got none, expected at least one. Pass 0 to move nothing.")
    if not axes and len(steps) == 1:
        return ops.reshape(_roll(ops.reshape(input, (-1,)), steps, (0,)), input.shape)
    if len(steps) != len(axes):
        raise errors.OperationError(
            f"[roll] shifts and dims differ in number: got {steps} and {axes}, expected as many of one as of the other."
            " Give a dim for every shift."
        )
    for step, dim in zip(steps, axes, strict=True):
        dim = wrap_dim("roll", dim, input.ndim)
        length = input.shape[dim] if input.ndim else 1
        place = -step % length if length else 0
        if place:
            parts = [ops.narrow(input, dim, place, length - place), ops.narrow(input, dim, 0, place)]
            input = ops.cat(parts, dim)
    return ops.clone(input)


roll = op(
    "roll(input: Tensor, shifts: int[], dims: int[] = ()) -> Tensor",
    family=MOVED,
    function=_roll,
    samples=lambda draw: [
        sample(draw.array(5), 2),
        sample(draw.array(3, 4), 1, 0),
        sample(draw.array(3, 4), (1, -3), (0, 1)),
        sample(draw.array(3, 4), 5),
        sample(draw.array(2, 0, 3), 1, 2),
        sample(draw.array(2, 3, 2, 2), (7, 1), (-3, 1)),
        sample(draw.array(), 1),
    ],
    oracle=lambda x, shifts, dims=None: np.roll(x, shifts, dims),
    doc="The elements moved along dims, those that leave come in at the other end.",
    example="tenora.roll(tenora.arange(5), 2)",
    method=True,
)


def _flipped(name: str, least: int, dim: int) -> Any:
    def flipped(input: Any) -> Any:
        need_rank(name, input, least)
        return ops.flip(input, (dim,))

    return flipped


fliplr = op(
    "fliplr(input: Tensor) -> Tensor",
    family=MOVED,
    function=_flipped("fliplr", 2, 1),
    samples=lambda draw: [
        sample(draw.array(*shape))
        for shape in ((3, 4), (2, 1, 3), (1, 5), (2, 0), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    ],
    oracle=lambda x: np.fliplr(x),
    doc="A copy with dim 1 reversed.",
    example="tenora.fliplr(tenora.ones(2, 3))",
    method=True,
)
flipud = op(
    "flipud(input: Tensor) -> Tensor",
    family=MOVED,
    function=_flipped("flipud", 1, 0),
    samples=lambda draw: [
        sample(draw.array(*shape)) for shape in ((5,), (3, 4), (2, 1, 3), (0,), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    ],
    oracle=lambda x: np.flipud(x),
    doc="A copy with dim 0 reversed.",
    example="tenora.flipud(tenora.ones(2, 3))",
    method=True,
)


def _rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    need_rank("rot90", input, 2)
    if len(ints(dims)) != 2:
        raise errors.OperationError(
            f"[rot90] dims is wrong: got {dims}, expected two dimensions. Name the plane of rotation."
        )
    first, second = wrap_dims("rot90", dims, input.ndim)
    if k % 4 == 1:
        return ops.transpose(ops.flip(input, (second,)), first, second)
    if k % 4 == 2:
        return ops.flip(input, (first, second))
    if k % 4 == 3:
        return ops.transpose(ops.flip(input, (first,)), first, second)
    return ops.clone(input)


rot90 = op(
    "rot90(input: Tensor, k: int = 1, dims: int[] = (0, 1)) -> Tensor",
    family=MOVED,
    function=_rot90,
    samples=lambda draw: [
        *[sample(draw.array(3, 4), k) for k in (0, 1, 2, 3, -1, 6)],
        sample(draw.array(2, 3, 2, 2), 1, (1, -1)),
        sample(draw.array(2, 0, 3), 3, (2, 0)),
    ],
    oracle=lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
    doc="A copy turned by 90 degrees, k times, from the first towards the second of two dims.",
    example="tenora.rot90(tenora.ones(2, 3))",
    method=True,
)

mirrored = op(
    "mirrored(input: Tensor) -> Tensor",
    family=MOVED,
    function=lambda input: ops.permute(input, list(range(input.ndim - 1, -1, -1))),
    oracle=lambda x: x.transpose(),
    doc="The dims in reversed order, a view: x.T.",
    example="tenora.ones(2, 3).T",
    public="",
    attribute="T",
)


def matrices(draw: Draw) -> Iterable[Sample]:
    shapes = ((3, 4), (1, 5), (2, 0), (2, 1, 3), (2, 3, 2, 2), (1, 2, 1, 3, 2))
    return [sample(draw.array(*shape)) for shape in shapes]


def _transposed(input: Any) -> Any:
    need_rank("mT", input, 2)
    return ops.transpose(input, -2, -1)


def _adjoint(input: Any) -> Any:
    need_rank("adjoint", input, 2)
    turned = ops.transpose(input, -2, -1)
    return ops.conj(turned) if input.is_complex() else turned


def _hermitian(input: Any) -> Any:
    need_rank("H", input, 0, 2)
    turned = ops.t(input)
    return ops.conj(turned) if input.is_complex() else turned


matrix_transpose = op(
    "matrix_transpose(input: Tensor) -> Tensor",
    family=MOVED,
    function=_transposed,
    samples=matrices,
    oracle=lambda x: np.swapaxes(x, -1, -2),
    doc="The last two dims swapped, a view: x.mT.",
    example="tenora.ones(5, 2, 3).mT",
    public="",
    attribute="mT",
)
adjoint = op(
    "adjoint(input: Tensor) -> Tensor",
    family=MOVED,
    function=_adjoint,
    samples=matrices,
    oracle=lambda x: np.swapaxes(x, -1, -2).conj(),
    doc="The conjugate transpose of the last two dims: x.mH.",
    example="tenora.adjoint(tenora.ones(5, 2, 3))",
    method=True,
    attribute="mH",
)
hermitian = op(
    "hermitian(input: Tensor) -> Tensor",
    family=MOVED,
    function=_hermitian,
    samples=lambda draw: [
        sample(draw.array(*shape)) for shape in ((3, 4), (1, 5), (2, 0), (), (4, 4), (0, 0))
    ],
    oracle=lambda x: x.conj().T,
    doc="The conjugate transpose of a matrix: x.H.",
    example="tenora.ones(2, 3).H",
    public="",
    attribute="H",
)
