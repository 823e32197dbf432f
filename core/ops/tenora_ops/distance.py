"""Similarity and distance of vectors, bilinear forms, one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.families import ALONG
from tenora_ops.formula import max_number, ops
from tenora_ops.lazy import np
from tenora_ops.losses_margin import spread
from tenora_ops.record import Family, op
from tenora_ops.samples import COMPLEX, REALS, Domain, Draw, Sample, sample

VECTORS = Family(
    "vectors", "promote_float", "", "plain", lambda draw: vectors(draw), REALS, tolerance="statistics"
)


def vectors(draw: Draw) -> Iterable[Sample]:
    """Two tensors of vectors, some of which broadcast."""
    pairs = (
        ((3, 4), (3, 4)),
        ((5,), (5,)),
        ((2, 3, 4), (4,)),
        ((2, 1, 3), (5, 3)),
        ((1, 2, 1, 3, 2), (2, 4, 1, 2)),
    )
    return [
        *[sample(draw.array(*a), draw.array(*b)) for a, b in pairs],
        sample(draw.array(0, 3), draw.array(0, 3)),
    ]


def _cosine_shape(operands: Any, attributes: Any) -> tuple[int, ...]:
    whole = spread("cosine_similarity", [tuple(o[0]) for o in operands])
    dim = attributes[0]
    if not -max(len(whole), 1) <= dim < max(len(whole), 1):
        raise errors.IndexRangeError(
            f"[cosine_similarity] dim out of range: got {dim} for {len(whole)} dimensions, expected "
            f"{-len(whole)} to {len(whole) - 1}. Name an existing dim."
        )
    dim %= max(len(whole), 1)
    return (*whole[:dim], *whole[dim + 1 :])


def _cosine(a: Any, b: Any, dim: Any, eps: Any) -> Any:
    first, second = ops.expand_as(a, a * b), ops.expand_as(b, a * b)
    one = first / ops.maximum(ops.norm(first, 2.0, dim, True), eps)
    other = second / ops.maximum(ops.norm(second, 2.0, dim, True), eps)
    return ops.sum(one * other, dim)


def _cosine_oracle(a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    a, b = np.broadcast_arrays(a, b)
    lengths = [np.maximum(np.sqrt((v * v).sum(axis=dim)), eps) for v in (a, b)]
    return (a * b).sum(axis=dim) / lengths[0] / lengths[1]


def _with_dims(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, s in enumerate(vectors(draw)):
        ndim = max(a.ndim for a in s.arguments)
        found.append(sample(*s.arguments, ndim - 1 if i % 2 else -1, *((3.0,) if i % 3 == 2 else ())))
    return [*found, sample(draw.array(2, 3), draw.array(2, 3)), sample(draw.array(3, 2), draw.array(3, 2), 0)]


cosine_similarity = op(
    "cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor",
    family=VECTORS,
    dtype="promote_float_real",
    shape=_cosine_shape,
    samples=_with_dims,
    composite=_cosine,
    oracle=_cosine_oracle,
    doc="x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along a dim.",
    example="tenora.nn.functional.cosine_similarity(tenora.ones(2, 3), tenora.ones(2, 3))",
    public="nn.functional.cosine_similarity",
)


def _distance_shape(operands: Any, attributes: Any) -> tuple[int, ...]:
    whole = spread("pairwise_distance", [tuple(o[0]) for o in operands])
    return (*whole[:-1], 1) if attributes[2] and whole else whole[:-1]


def _distance_oracle(a: Any, b: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return (np.abs(a - b + eps) ** p).sum(axis=-1, keepdims=keepdim) ** (1 / p)


pairwise_distance = op(
    "pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor",
    family=VECTORS,
    dtype="promote_modulus",
    dtypes=REALS + COMPLEX,
    shape=_distance_shape,
    samples=lambda draw: [
        sample(*s.arguments, *((3.0, 1e-3, True) if i % 2 else ())) for i, s in enumerate(vectors(draw))
    ],
    composite=lambda a, b, p, eps, keepdim: ops.norm(a - b + eps, p, -1, keepdim),
    oracle=_distance_oracle,
    doc="The p-norm of x1 - x2 + eps along the last dim.",
    example="tenora.nn.functional.pairwise_distance(tenora.ones(2, 3), tenora.zeros(2, 3))",
    public="nn.functional.pairwise_distance",
)


def _pdist(input: Any, p: float) -> Any:
    if input.ndim != 2:
        raise errors.OperationError(
            f"[pdist] wrong dimensions: got {input.ndim}-d, expected 2, (N, D). Reshape it."
        )
    if not p >= 0:  # NaN is refused too
        raise errors.OperationError(f"[pdist] p: got {p}, expected 0 or more. Choose another norm.")
    n = input.shape[0]
    places = ops.arange(0, n, 1, dtype=_engine.int64, device=input.device)
    rows, columns = ops.reshape(places, (n, 1)), ops.reshape(places, (1, n))
    above = ops.lt(rows, columns)
    return ops.masked_select(ops.row_distances(input, input, float(p)), above)


pdist = op(
    "pdist(input: Tensor, p: float = 2.0) -> Tensor",
    family=Family("vectors", "", "", "", vectors, ("float32", "float64"), tolerance="statistics"),
    function=_pdist,
    samples=lambda draw: [
        sample(draw.array(4, 3)),
        sample(draw.array(3, 2), 1.0),
        sample(draw.array(5, 4), 3.0),
        sample(draw.array(1, 3)),
        sample(draw.array(2, 5), 2.5),
        sample(draw.array(6, 1)),
    ],
    oracle=lambda x, p=2.0: np.array(
        [(np.abs(x[i] - x[j]) ** p).sum() ** (1 / p) for i in range(len(x)) for j in range(i + 1, len(x))]
    ),
    doc="The p-norms of all differences of two rows, in the order of pairs (0, 1), (0, 2), ...",
    example="tenora.nn.functional.pdist(tenora.rand(3, 2))",
    public="nn.functional.pdist",
)


def _bilinear_shape(operands: Any, attributes: Any) -> tuple[int, ...]:
    first, second, weight = (tuple(o[0]) for o in operands[:3])
    fits = len(weight) == 3 and first[:-1] == second[:-1] and first and second
    if not fits or (first[-1], second[-1]) != weight[1:]:
        raise errors.OperationError(
            f"[bilinear] shapes do not fit: got {list(first)}, {list(second)} and weight {list(weight)}, expected "
            "(..., A), (..., B) and (C, A, B). Check the layer's sizes."
        )
    bias = operands[3]
    if bias is not None and tuple(bias[0]) != weight[:1]:
        raise errors.OperationError(
            f"[bilinear] bias does not fit: got {list(bias[0])}, expected [{weight[0]}]. Check the layer's sizes."
        )
    return (*first[:-1], weight[0])


def _bilinear(a: Any, b: Any, weight: Any, bias: Any) -> Any:
    rows = a.numel // max_number(weight.shape[1], 1)
    left = ops.reshape(a, (1, rows, weight.shape[1]))
    right = ops.reshape(b, (rows, weight.shape[2]))
    out = ops.t(ops.sum(ops.matmul(left, weight) * right, -1))  # (rows, C)
    out = out if bias is None else out + bias
    leading = a.trace.attribute("slice", [], [a.shape, 0, a.ndim - 1], "span")
    return ops.reshape(out, leading + (weight.shape[0],))


def _bilinear_samples(draw: Draw) -> Iterable[Sample]:
    found = []
    for i, leading in enumerate(((3,), (), (2, 3), (1,), (2, 1, 2), (0,))):
        bias = (draw.array(2),) if i % 2 == 0 else ()
        found.append(sample(draw.array(*leading, 3), draw.array(*leading, 2), draw.array(2, 3, 2), *bias))
    return found


bilinear = op(
    "bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor? = None) -> Tensor",
    family=ALONG,
    shape=_bilinear_shape,
    tolerance="contraction",
    domain=Domain(-2.0, 2.0),
    samples=_bilinear_samples,
    composite=_bilinear,
    oracle=lambda a, b, weight, bias=None: (
        np.einsum("...i,oij,...j->...o", a, weight, b) + (0 if bias is None else bias)
    ),
    doc="x1^T A x2 + b, one matrix A for each output.",
    example="tenora.nn.functional.bilinear(tenora.ones(2, 3), tenora.ones(2, 4), tenora.ones(5, 3, 4))",
    public="nn.functional.bilinear",
)


def _one_hot(tensor: Any, num_classes: int) -> Any:
    if tensor.dtype != _engine.int64:
        raise errors.OperationError(
            f"[one_hot] wrong dtype: got {tensor.dtype}, expected int64. Cast it with .to(tenora.int64)."
        )
    if not tensor.numel():
        if num_classes <= 0:
            raise errors.OperationError(
                f"[one_hot] no class to count: got an empty tensor and num_classes {num_classes}, expected 1 or more. "
                "Pass num_classes."
            )
    else:
        low, high = int(ops.min(tensor).item()), int(ops.max(tensor).item())
        if low < 0:
            raise errors.OperationError(
                f"[one_hot] negative class: got {low}, expected 0 or more. Check the labels."
            )
        if num_classes == -1:
            num_classes = high + 1
        elif num_classes < 1:
            raise errors.OperationError(
                f"[one_hot] num_classes: got {num_classes}, expected 1 or more, or -1."
                " Name the number of classes, or -1 to count them."
            )
        elif high >= num_classes:
            raise errors.OperationError(
                f"[one_hot] class beyond num_classes: got {high}, expected less than {num_classes}. Check the labels."
            )
    classes = ops.arange(0, num_classes, 1, dtype=_engine.int64, device=tensor.device)
    return ops.to(ops.eq(ops.unsqueeze(tensor, -1), classes), _engine.int64)


# Shapes of labels, and num_classes where it is given.
HOT: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5,), ()),
    ((2, 3), (4,)),
    ((), (6,)),
    ((0,), (3,)),
    ((2, 1, 2), (-1,)),
    ((1, 2, 2, 3), ()),
)

one_hot = op(
    "one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor",
    family=Family("one_hot", "", "", "", vectors, ("int64",), tolerance="exact"),
    function=_one_hot,
    differentiable=False,
    samples=lambda draw: [sample(draw.indices(4, *shape), *classes) for shape, classes in HOT],
    oracle=lambda x, n=-1: np.eye(int(x.max()) + 1 if n == -1 else n, dtype=np.int64)[x],
    doc="A new last dim with 1 at the class that tensor names, 0 elsewhere.",
    example="tenora.nn.functional.one_hot(tenora.tensor([0, 2]))",
    public="nn.functional.one_hot",
)
