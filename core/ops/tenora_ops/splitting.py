"""Splitting a tensor into views: as many results as the call asks for."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import Tensor, _engine
from tenora_ops.checks import need_rank, wrap_dim
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, Draw, Sample, sample, unary

PARTS = Family("joining", "", "", "", unary, ALL)


#: More results or rows than any program asks for: a slip, told before memory is filled with them.
MOST = 2**22


def bounded(op: str, what: str, count: int) -> None:
    if count > MOST:
        raise errors.OperationError(
            f"[{op}] too many {what}: got {count}, expected at most {MOST}. Ask for fewer."
        )


def _cut(tensor: Any, sizes: Iterable[int], dim: int) -> tuple[Any, ...]:
    parts, start = [], 0
    for size in sizes:
        parts.append(ops.narrow(tensor, dim, start, size))
        start += size
    return _engine.mark_parts(tuple(parts))


def _chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    need_rank("chunk", input, 1)
    dim = wrap_dim("chunk", dim, input.ndim)
    if chunks <= 0:
        raise errors.OperationError(
            f"[chunk] chunks is wrong: got {chunks}, expected 1 or more. Ask for one chunk or more."
        )
    length = input.shape[dim]
    if length == 0:
        bounded("chunk", "chunks", chunks)
        return _cut(input, [0] * chunks, dim)
    return _split(input, -(-length // chunks), dim)


def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    need_rank("split", tensor, 1)
    dim = wrap_dim("split", dim, tensor.ndim)
    length = tensor.shape[dim]
    if isinstance(split_size_or_sections, Tensor) and split_size_or_sections.numel() == 1:
        split_size_or_sections = operator.index(split_size_or_sections)  # one number, as in PyTorch
    if not isinstance(split_size_or_sections, int):
        return _sized("split", tensor, split_size_or_sections, dim)
    size = split_size_or_sections
    if size < 0 or (size == 0 and length):
        raise errors.OperationError(
            f"[split] split size is wrong: got {size} for dimension {dim} of size {length}, expected a positive number."
            " Choose the length of a part."
        )
    starts = range(0, length, size) if length else (0,)
    return _cut(tensor, [min(size, length - start) for start in starts], dim)


def _split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    need_rank("split_with_sizes", input, 1)
    return _sized("split_with_sizes", input, split_sizes, wrap_dim("split_with_sizes", dim, input.ndim))


def _sized(op: str, input: Any, split_sizes: Any, dim: int) -> tuple[Any, ...]:
    if isinstance(split_sizes, Tensor):
        raise errors.ArgumentTypeError(
            f"[{op}] sizes are wrong: got a tensor, {list(split_sizes.shape)}, expected a list of whole numbers. "
            "Pass split_sizes.tolist()."
        )
    sizes = [operator.index(size) for size in split_sizes]
    if sum(sizes) != input.shape[dim] or any(size < 0 for size in sizes):
        raise errors.OperationError(
            f"[{op}] sizes do not add up: got {sizes}, expected a sum of {input.shape[dim]} (dimension "
            f"{dim} of shape {tuple(input.shape)}). Name the length of every part."
        )
    return _cut(input, sizes, dim)


def _tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    need_rank("tensor_split", input, 1)
    dim = wrap_dim("tensor_split", dim, input.ndim)
    if isinstance(indices_or_sections, _engine.Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise errors.OperationError(
                f"[tensor_split] number of sections is wrong: got {indices_or_sections}, expected 1 or more. Ask for "
                "one section or more."
            )
        bounded("tensor_split", "sections", indices_or_sections)
        least, longer = divmod(input.shape[dim], indices_or_sections)
        sizes = [least + (i < longer) for i in range(indices_or_sections)]
        bounds = list(itertools.accumulate(sizes, initial=0))
        return tuple(ops.slice(input, dim, start, end) for start, end in itertools.pairwise(bounds))
    bounds = [0, *indices_or_sections, None]
    return tuple(ops.slice(input, dim, start, end) for start, end in itertools.pairwise(bounds))


def _axis_split(name: str, dim: int, input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    sections = indices_or_sections
    if isinstance(sections, int) and (sections <= 0 or input.shape[dim] % sections):
        raise errors.OperationError(
            f"[{name}] sections are unequal: got {sections} for dimension {dim} of size {input.shape[dim]}, expected a "
            "divisor. Use tensor_split."
        )
    return _tensor_split(input, sections, dim)


def _unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    if not input.ndim:
        raise errors.IndexRangeError(
            "[unbind] wrong number of dimensions: got 0, expected at least 1. Reshape the tensor."
        )
    dim = wrap_dim("unbind", dim, input.ndim)
    return _engine.mark_parts(tuple(ops.select(input, dim, i) for i in range(input.shape[dim])))


def _taken(x: Any, dim: int, bounds: Iterable[int]) -> tuple[Any, ...]:
    """The parts between bounds by their index maps."""
    return tuple(
        np.take(x, np.arange(a, max(a, b)), axis=dim)
        for a, b in itertools.pairwise([0, *bounds, x.shape[dim]])
    )


def _steps(x: Any, dim: int, size: int) -> list[int]:
    return list(range(size, x.shape[dim], size)) if size else []


def _even(length: int, count: int) -> list[int]:
    """Where numpy.array_split cuts."""
    return [sum((length + count - 1 - i) // count for i in range(k)) for k in range(1, count)]


def numbers_of_parts(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(7), 3),
        sample(draw.array(3, 4), 2),
        sample(draw.array(3, 4), 3, 1),
        sample(draw.array(2, 3, 2, 2), 2, -1),
        sample(draw.array(2, 0, 3), 2, 1),
        sample(draw.array(1, 2, 1, 3, 2), 5, 3),
    ]


def chunk_oracle(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    return _taken(x, dim, _steps(x, dim, -(-x.shape[dim] // chunks))) if x.shape[dim] else (x,) * chunks


def lengths_of_parts(draw: Draw) -> Iterable[Sample]:
    return [
        sample(draw.array(7), (3, 4)),
        sample(draw.array(3, 4), (1, 3), 1),
        sample(draw.array(3, 4), (1, 0, 2)),
        sample(draw.array(2, 3, 2, 2), [1, 1], -1),
        sample(draw.array(2, 0, 3), (0, 0), 1),
        sample(draw.array(1, 2, 1, 3, 2), (2, 1), 3),
    ]


chunk = op(
    "chunk(input: Tensor, chunks: int, dim: int = 0) -> Tensor[]",
    family=PARTS,
    python=_chunk,
    samples=numbers_of_parts,
    oracle=chunk_oracle,
    doc="At most `chunks` views of equal length along a dim, the last one maybe shorter.",
    example="tenora.chunk(tenora.arange(5), 2)",
    method=True,
)
split = op(
    "split(tensor: Tensor, split_size_or_sections: int[], dim: int = 0) -> Tensor[]",
    family=PARTS,
    python=_split,
    samples=lambda draw: [
        sample(draw.array(7), 3),
        sample(draw.array(3, 4), 2, 1),
        sample(draw.array(3, 4), (1, 0, 2)),
        sample(draw.array(2, 3, 2, 2), [1, 1], -1),
        sample(draw.array(2, 0, 3), 2, 1),
        sample(draw.array(1, 2, 1, 3, 2), 2, 3),
    ],
    oracle=lambda x, size, dim=0: _taken(
        x, dim, _steps(x, dim, size) if isinstance(size, int) else np.cumsum(size)[:-1].tolist()
    ),
    doc="Views of a given length, or of the given lengths, along a dim.",
    example="tenora.split(tenora.arange(5), [1, 4])",
    method=True,
)
split_with_sizes = op(
    "split_with_sizes(input: Tensor, split_sizes: int[], dim: int = 0) -> Tensor[]",
    family=PARTS,
    python=_split_with_sizes,
    samples=lengths_of_parts,
    oracle=lambda x, sizes, dim=0: _taken(x, dim, np.cumsum(sizes)[:-1].tolist()),
    doc="Views of the given lengths along a dim.",
    example="tenora.split_with_sizes(tenora.arange(5), [1, 4])",
    method=True,
)


def _copies(parts: Iterable[Any]) -> tuple[Any, ...]:
    """PyTorch's unsafe forms hide that they share memory, so that writes go past the tape; these share none."""
    return tuple(ops.clone(part) for part in parts)


def _declare_copies(
    declared: str,
    parts: Callable[..., Any],
    samples: Callable[[Draw], Iterable[Sample]],
    oracle: Callable[..., Any],
) -> None:
    name = declared.partition("(")[0]
    example = "[1, 4]" if "sizes" in name else "2"

    @functools.wraps(parts)  # its signature: arguments by name, and what is said of wrong ones
    def copied(*arguments: Any, **options: Any) -> tuple[Any, ...]:
        return _copies(parts(*arguments, **options))

    op(
        f"unsafe_{declared} -> Tensor[]",
        family=PARTS,
        python=copied,
        samples=samples,
        oracle=oracle,
        doc=f"As {name}, in memory of their own: each may be written.",
        example=f"tenora.unsafe_{name}(tenora.arange(5), {example})",
        method=True,
    )


_declare_copies("chunk(input: Tensor, chunks: int, dim: int = 0)", _chunk, numbers_of_parts, chunk_oracle)
_declare_copies(
    "split(tensor: Tensor, split_size: int, dim: int = 0)",
    _split,
    lambda draw: [
        sample(draw.array(7), 3),
        sample(draw.array(3, 4), 2, 1),
        sample(draw.array(3, 4), 1),
        sample(draw.array(2, 3, 2, 2), 1, -1),
        sample(draw.array(2, 0, 3), 2, 1),
        sample(draw.array(1, 2, 1, 3, 2), 2, 3),
    ],
    lambda x, size, dim=0: _taken(x, dim, _steps(x, dim, size)),
)
_declare_copies(
    "split_with_sizes(input: Tensor, split_sizes: int[], dim: int = 0)",
    _split_with_sizes,
    lengths_of_parts,
    lambda x, sizes, dim=0: _taken(x, dim, np.cumsum(sizes)[:-1].tolist()),
)
tensor_split = op(
    "tensor_split(input: Tensor, indices_or_sections: int[], dim: int = 0) -> Tensor[]",
    family=PARTS,
    python=_tensor_split,
    samples=lambda draw: [
        *numbers_of_parts(draw),
        sample(draw.array(7), (2, 5)),
        sample(draw.array(3, 4), (3, 9), 1),
    ],
    oracle=lambda x, where, dim=0: tuple(np.array_split(x, where, axis=dim)),
    doc="Views between the named indices of a dim, or as many as named, their lengths differing by at most one.",
    example="tenora.tensor_split(tenora.arange(7), 3)",
    method=True,
)


def _declare_along(
    name: str, dim: int, least: int, doc: str, shapes: tuple[tuple[int, ...], ...], oracle: Callable[..., Any]
) -> None:
    """tensor_split along a fixed dim of tensors of at least `least` dims; a vector has only its own."""

    def parts(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
        need_rank(name, input, least)
        return _axis_split(name, min(dim, input.ndim - 1), input, indices_or_sections)

    op(
        f"{name}(input: Tensor, indices_or_sections: int[]) -> Tensor[]",
        family=PARTS,
        python=parts,
        samples=lambda draw: [
            sample(draw.array(*shape), where)
            for shape, where in zip(shapes, (3, 2, (1, 3), (1,), 2, 2), strict=True)
        ],
        oracle=oracle,
        doc=doc,
        example=f"tenora.{name}(tenora.ones({', '.join(map(str, shapes[1]))}), 2)",
        method=True,
    )


_declare_along(
    "hsplit", 1, 1, "tensor_split along dim 1 (dim 0 of vectors).",
    ((6,), (3, 4), (3, 4), (2, 3, 2), (2, 0), (1, 2, 1, 3, 2)),
    lambda x, where: tuple(np.hsplit(x, where)),
)  # fmt: skip
_declare_along(
    "vsplit", 0, 2, "tensor_split along dim 0.",
    ((6, 1), (4, 3), (4, 3), (2, 3, 2), (0, 2), (2, 2, 1, 3, 2)),
    lambda x, where: tuple(np.vsplit(x, where)),
)  # fmt: skip
_declare_along(
    "dsplit", 2, 3, "tensor_split along dim 2.",
    ((1, 2, 6), (2, 1, 4), (2, 1, 4), (2, 3, 2, 2), (2, 1, 0), (1, 2, 2, 3, 2)),
    lambda x, where: tuple(np.dsplit(x, where)),
)  # fmt: skip
unbind = op(
    "unbind(input: Tensor, dim: int = 0) -> Tensor[]",
    family=PARTS,
    python=_unbind,
    samples=lambda draw: [
        sample(draw.array(5)),
        sample(draw.array(3, 4)),
        sample(draw.array(3, 4), 1),
        sample(draw.array(2, 3, 2, 2), -2),
        sample(draw.array(2, 0, 3)),
        sample(draw.array(1, 2, 1, 3, 2), 3),
    ],
    oracle=lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)[i] for i in range(x.shape[dim])),
    doc="A view for every index of a dim, without the dim.",
    example="tenora.unbind(tenora.ones(2, 3))",
    method=True,
)
