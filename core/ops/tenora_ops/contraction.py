"""Sums of products over named or numbered dims: einsum, tensordot, inner, kron and sums with a product.

- einsum is our own parser over permute, reshape and one matmul a pair; with opt_einsum installed, three and more
  operands are contracted in the order it finds, else from left to right.
- Half types are multiplied in float32 where more than one product is taken, and rounded once.
"""

from __future__ import annotations

import math
import operator
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.blend import blend
from tenora_ops.checks import broadcast_shape, need_rank, number_for, wrap_dims
from tenora_ops.formula import ops
from tenora_ops.halves import rounds_once
from tenora_ops.lazy import np, opt_einsum
from tenora_ops.matmul import pairs
from tenora_ops.oracles import contract
from tenora_ops.record import Family, op
from tenora_ops.samples import COMPLEX, FLOATING, PRODUCTS, Draw, Sample, sample, unary
from tenora_ops.with_complex import affine_complex, affine_samples

CONTRACTION = Family("matmul", "", "", "", unary, PRODUCTS, tolerance="contraction")
AFFINE = Family("matmul", "", "", "", unary, FLOATING, tolerance="contraction")
HALVES = (_engine.float16, _engine.bfloat16)
LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _wrong(what: str, got: object, expected: str, advice: str) -> RuntimeError:
    return errors.OperationError(f"[einsum] {what}: got {got!r}, expected {expected}. {advice}")


def _labels(text: str, rank: int, extra: int) -> list[str]:
    """One label a dim; the dims under '...' are called 0, 1, ... counted so that the last ones align."""
    text = text.replace(" ", "")
    before, dots, after = text.partition("...")
    if any(c not in string.ascii_letters for c in before + after):
        raise _wrong("bad subscript", text, "letters and at most one '...'", "Spell dims as letters.")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise _wrong(
            "subscripts do not fit",
            text,
            f"{rank} labels for an operand of rank {rank}",
            "Name every dimension.",
        )
    return [*before, *(str(extra - hidden + i) for i in range(hidden)), *after]


def _parsed(equation: str, operands: list[Any]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand's dims, and of the result's."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise _wrong(
            "operands do not fit",
            equation,
            f"as many terms as operands ({len(operands)})",
            "Give each a term.",
        )
    extra = max(
        (
            t.ndim - len(term.replace("...", ""))
            for term, t in zip(terms, operands, strict=True)
            if "..." in term
        ),
        default=0,
    )
    labels = [_labels(term, t.ndim, extra) for term, t in zip(terms, operands, strict=True)]
    everywhere = [label for row in labels for label in row]
    hidden = [str(i) for i in range(extra)]
    if not arrow:
        once = sorted(label for label in set(everywhere) if label.isalpha() and everywhere.count(label) == 1)
        return labels, [*hidden, *once]
    before, dots, after = right.partition("...")
    result = [*before, *(hidden if dots else []), *after]
    if len(set(result)) < len(result) or any(label not in everywhere for label in result):
        raise _wrong("bad result", right, "labels of the operands, each once", "Correct what follows '->'.")
    return labels, result


def _own_diagonal(tensor: Any, labels: list[str]) -> tuple[Any, list[str]]:
    """A label that appears twice in one operand stands for a diagonal."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise _wrong("sizes differ", label, "one size for a repeated label", "Use another label.")
            tensor = ops.diagonal(tensor, 0, first, second)
            labels = [x for d, x in enumerate(labels) if d not in (first, second)] + [label]
    return tensor, labels


def _summed(tensor: Any, labels: list[str], kept: set[str]) -> tuple[Any, list[str]]:
    """Sums the dims whose labels nobody needs any more."""
    gone = [d for d, label in enumerate(labels) if label not in kept]
    return (ops.sum(tensor, gone), [x for x in labels if x in kept]) if gone else (tensor, labels)


def _arranged(tensor: Any, labels: list[str], groups: list[list[str]]) -> Any:
    """Permuted and reshaped so that each group of labels is one dim; labels that are missing are dims of size 1."""
    order = [label for group in groups for label in group if label in labels]
    tensor = ops.permute(tensor, [labels.index(label) for label in order])
    have = dict(zip(order, tensor.shape, strict=True))
    return ops.reshape(tensor, [math.prod(have.get(label, 1) for label in group) for group in groups])


def _pair(a: Any, la: list[str], b: Any, lb: list[str], kept: set[str]) -> tuple[Any, list[str]]:
    """The product of two operands summed over the labels that only they have: one matmul."""
    for label in set(la) & set(lb):  # broadcast sizes of 1
        da, db = la.index(label), lb.index(label)
        if a.shape[da] != b.shape[db]:
            a = ops.expand(a, [b.shape[db] if d == da and n == 1 else n for d, n in enumerate(a.shape)])
            b = ops.expand(b, [a.shape[da] if d == db and n == 1 else n for d, n in enumerate(b.shape)])
    a, la = _summed(a, la, kept | set(lb))
    b, lb = _summed(b, lb, kept | set(la))
    sizes = dict(zip(la, a.shape, strict=True)) | dict(zip(lb, b.shape, strict=True))
    both = [label for label in la if label in lb]
    batch = [label for label in both if label in kept]
    inner = [label for label in both if label not in kept]
    rows = [label for label in la if label not in lb]
    columns = [label for label in lb if label not in la]
    left = _arranged(a, la, [batch, rows, inner])
    right = _arranged(b, lb, [batch, inner, columns])
    product = ops.bmm(left, right) if inner else ops.mul(left, right)
    labels = [*batch, *rows, *columns]
    return ops.reshape(product, [sizes[label] for label in labels]), labels


def _path(equation: str, operands: list[Any]) -> Sequence[tuple[int, ...]]:
    """Which operands to contract one after another."""
    if len(operands) > 2:
        try:
            found = opt_einsum.contract_path(equation, *[tuple(t.shape) for t in operands], shapes=True)[0]
            return [tuple(sorted(pair)) for pair in found]
        except ImportError:
            pass
    return [(0, 1)] + [(0, len(operands) - i) for i in range(2, len(operands))]


def _check_sizes(labels: list[list[str]], operands: list[Any]) -> None:
    known: dict[str, int] = {}
    for row, tensor in zip(labels, operands, strict=True):
        for label, size in zip(row, tensor.shape, strict=True):
            if known.setdefault(label, size) == 1:
                known[label] = size
            elif size not in (1, known[label]):
                raise _wrong(
                    "sizes differ", label, f"{known[label]}, not {size}", "Check the operands' shapes."
                )


def _from_sublists(arguments: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The form einsum(op1, [0, 1], op2, [1, 2], [0, 2])."""

    def letter(item: Any) -> str:
        if item is Ellipsis:
            return "..."
        if not 0 <= item < len(LETTERS):
            raise errors.ArgumentValueError(
                f"[einsum] label out of range: got {item}, expected 0 to {len(LETTERS) - 1}, or Ellipsis. Count the "
                "labels from 0."
            )
        return LETTERS[item]

    def spelled(items: Any) -> str:
        return "".join(map(letter, items))

    count = len(arguments) // 2
    terms = ",".join(spelled(arguments[2 * i + 1]) for i in range(count))
    result = f"->{spelled(arguments[-1])}" if len(arguments) % 2 else ""
    return terms + result, [arguments[2 * i] for i in range(count)]


def _einsum(equation: Any, *operands: Any) -> Any:
    if isinstance(equation, _engine.Tensor):
        equation, given = _from_sublists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):
        given = list(operands[0])
    else:
        given = list(operands)
    if not isinstance(equation, str) or not given:
        raise errors.ArgumentValueError(
            "[einsum] wrong arguments: got no equation or no operand, expected both. Write einsum('ij,jk->ik', a, b)."
        )
    labels, result = _parsed(equation, given)
    _check_sizes(labels, given)
    dtype = given[0].dtype
    wide = dtype in HALVES and len(given) > 2
    if wide:
        given = [ops.to(t, _engine.float32) for t in given]
    elif not dtype.is_floating_point and not dtype.is_complex and _sums_alone(labels, result):
        given = [ops.to(t, _engine.int64) for t in given]  # as sum does
    terms = [_own_diagonal(t, row) for t, row in zip(given, labels, strict=True)]
    for places in _path(equation, given) if len(terms) > 1 else ():
        chosen = [terms[i] for i in places]
        terms = [term for i, term in enumerate(terms) if i not in places]
        needed = set(result).union(*[set(row) for _, row in terms])
        while len(chosen) > 1:
            rest = needed.union(*[set(row) for _, row in chosen[2:]])
            chosen = [_pair(*chosen[0], *chosen[1], rest), *chosen[2:]]
        terms.append(chosen[0])
    tensor, row = _summed(*terms[0], set(result))
    tensor = ops.permute(tensor, [row.index(label) for label in result])
    return ops.to(tensor, dtype) if wide else tensor


def _sums_alone(labels: list[list[str]], result: list[str]) -> bool:
    """Whether a label of one operand only is summed."""
    everywhere = [label for row in labels for label in dict.fromkeys(row)]
    return any(everywhere.count(label) == 1 and label not in result for label in everywhere)


def equations(draw: Draw) -> Iterable[Sample]:
    rows: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("ij,jk", ((2, 3), (3, 4))),
        ("bij,bjk->bik", ((5, 2, 3), (5, 3, 4))),
        ("i,j->ij", ((2,), (3,))),
        ("ii->i", ((3, 3),)),
        ("ii", ((3, 3),)),
        ("ij->ji", ((2, 3),)),
        ("ijk->j", ((2, 3, 2),)),
        ("...ij,...jk->...ik", ((2, 1, 2, 3), (3, 3, 2))),
        ("bhqd,bhkd->bhqk", ((2, 1, 3, 2), (2, 1, 2, 2))),
        ("i,i->", ((3,), (3,))),
        ("ij,ij->i", ((2, 3), (2, 3))),
        ("ij,kl->", ((2, 3), (1, 2))),
        ("ij,jk->ik", ((2, 0), (0, 3))),
        (",ij->ij", ((), (2, 3))),
        ("a...,...->...a", ((2, 3), (3,))),
        ("ijj->ji", ((2, 3, 3),)),
    ]
    found = [sample(equation, *[draw.array(*shape) for shape in shapes]) for equation, shapes in rows]
    return [*found, sample("ij,jk,kl->il", draw.array(2, 3), draw.array(3, 2), draw.array(2, 2))]


def _by_definition(equation: str, *arrays: Any) -> Any:
    """NumPy's loop over all labels, without its own use of products of matrices."""
    exact = [a.astype(np.int64) if a.dtype.kind in "iu" else a for a in arrays]
    out = np.asarray(np.einsum(equation, *exact, optimize=False))
    alone = equation in ("ii", "ijk->j", "ij,kl->")  # the samples in which one operand alone is summed
    return out if alone and out.dtype == np.int64 else out.astype(arrays[0].dtype)


einsum = op(
    "einsum(equation: str, operands: Tensor[]) -> Tensor",
    family=CONTRACTION,
    python=_einsum,
    samples=equations,
    oracle=_by_definition,
    doc="Products summed over the labels that the result does not name.",
    example="tenora.einsum('ij,jk->ik', tenora.ones(2, 3), tenora.ones(3, 4))",
)


def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    if isinstance(dims, _engine.Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise errors.OperationError(
                f"[tensordot] dims is wrong: got {dims}, expected 0 to {min(a.ndim, b.ndim)}. Name fewer dimensions."
            )
        first, second = tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    else:
        if len(dims) != 2 or not all(isinstance(d, list | tuple) for d in dims):
            raise errors.ArgumentTypeError(
                f"[tensordot] dims is wrong: got {dims!r}, expected a number or two lists of dimensions. Write "
                "dims=([0], [1])."
            )
        first, second = wrap_dims("tensordot", dims[0], a.ndim), wrap_dims("tensordot", dims[1], b.ndim)
    if len(first) != len(second):
        raise errors.OperationError(
            f"[tensordot] numbers of dims differ: got {first} and {second}, expected as many. Name them in pairs."
        )
    for d, e in zip(first, second, strict=True):
        if a.shape[d] != b.shape[e] and 1 not in (a.shape[d], b.shape[e]):
            raise errors.OperationError(
                f"[tensordot] sizes differ: got {a.shape[d]} and {b.shape[e]} for dims {d} and {e}, expected equal "
                "ones. Check the dims."
            )
    la = [f"a{d}" for d in range(a.ndim)]
    lb = [f"b{d}" for d in range(b.ndim)]
    for d, e in zip(first, second, strict=True):
        lb[e] = la[d]
    kept = {label for d, label in enumerate(la) if d not in first} | {
        label for e, label in enumerate(lb) if e not in second
    }
    return _pair(a, la, b, lb, kept)[0]


tensordot = op(
    "tensordot(a: Tensor, b: Tensor, dims: int[] = 2) -> Tensor",
    family=CONTRACTION,
    python=_tensordot,
    samples=lambda draw: [
        sample(draw.array(2, 3), draw.array(3, 4), 1),
        sample(draw.array(2, 3, 4), draw.array(3, 4, 2)),
        sample(draw.array(2, 3, 4), draw.array(4, 2, 2), ([0, 2], [1, 0])),
        sample(draw.array(2), draw.array(3), 0),
        sample(draw.array(2, 0), draw.array(0, 3), 1),
        sample(draw.array(1, 2, 1, 3), draw.array(3, 2), ([1, 3], [1, 0])),
    ],
    oracle=lambda a, b, dims=2: np.asarray(np.tensordot(a, b, dims)),
    doc="Products summed over dims of both: the last ones of a with the first ones of b, or pairs of named ones.",
    example="tenora.tensordot(tenora.ones(2, 3), tenora.ones(3, 4), 1)",
)


def _inner(input: Any, other: Any) -> Any:
    if not input.ndim or not other.ndim:
        return ops.mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise errors.OperationError(
            f"[inner] last dimensions differ: got {tuple(input.shape)} and {tuple(other.shape)}, expected equal ones. "
            "Check the shapes."
        )
    return _tensordot(input, other, ([-1], [-1]))


inner = op(
    "inner(input: Tensor, other: Tensor) -> Tensor",
    family=CONTRACTION,
    function=_inner,
    samples=pairs(
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (4, 3)),
        ((), (2, 3)),
        ((2, 0), (3, 0)),
        ((2, 1, 2, 2), (3, 2)),
        ((), ()),
    ),
    oracle=lambda a, b: np.asarray(np.inner(a, b)),
    doc="Products summed over the last dims.",
    example="tenora.inner(tenora.ones(3), tenora.ones(2, 3))",
    method=True,
    out=True,
)
vdot = op(
    "vdot(input: Tensor, other: Tensor) -> Tensor",
    family=CONTRACTION,
    composite=lambda a, b: ops.dot(ops.conj(a), b),
    samples=pairs(((3,), (3,)), ((1,), (1,)), ((0,), (0,)), ((33,), (33,)), ((7,), (7,)), ((64,), (64,))),
    oracle=lambda a, b: contract(a.conj(), b),
    doc="Sum of the products of two vectors' elements, those of the first conjugated.",
    example="tenora.vdot(tenora.ones(3), tenora.ones(3))",
    method=True,
    out=True,
)


def _kron(input: Any, other: Any) -> Any:
    rank = max(input.ndim, other.ndim)
    a = [1] * (rank - input.ndim) + list(input.shape)
    b = [1] * (rank - other.ndim) + list(other.shape)
    left = ops.reshape(input, [n for size in a for n in (size, 1)])
    right = ops.reshape(other, [n for size in b for n in (1, size)])
    return ops.reshape(ops.mul(left, right), list(map(operator.mul, a, b)))


kron = op(
    "kron(input: Tensor, other: Tensor) -> Tensor",
    family=CONTRACTION,
    function=_kron,
    tolerance="few_ulp",
    samples=pairs(
        ((2, 3), (2, 2)),
        ((3,), (2,)),
        ((), (2, 3)),
        ((2, 2), (3,)),
        ((0, 2), (2, 1)),
        ((1, 2, 1, 2), (2, 1, 3)),
        ((2, 3), ()),
        ((), ()),
    ),
    oracle=lambda a, b: np.kron(a, b),
    doc="The Kronecker product: every element of input times the whole of other.",
    example="tenora.kron(tenora.eye(2), tenora.ones(2, 2))",
    method=True,
    out=True,
)


def _affine(*shapes: tuple[tuple[int, ...], ...]) -> Callable[[Draw], Iterable[Sample]]:
    def samples(draw: Draw) -> Iterable[Sample]:
        found = [sample(*[draw.array(*shape) for shape in row]) for row in shapes]
        return [*found, sample(*[draw.array(*shape) for shape in shapes[0]], beta=0.5, alpha=2)]

    return samples


addmv = op(
    "addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor",
    family=AFFINE,
    composite=lambda x, a, b, beta, alpha: ops.select(
        ops.addmm(ops.unsqueeze(x, -1), a, ops.unsqueeze(b, 1), beta=beta, alpha=alpha), 1, 0
    ),
    samples=_affine(
        ((2,), (2, 3), (3,)),
        ((), (2, 3), (3,)),
        ((1,), (4, 2), (2,)),
        ((2,), (2, 0), (0,)),
        ((17,), (17, 33), (33,)),
    ),
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * contract(a, b),
    doc="beta * input + alpha * (mat @ vec).",
    example="tenora.addmv(tenora.ones(2), tenora.ones(2, 3), tenora.ones(3))",
    method=True,
    inplace=True,
    out=True,
)


addmv_complex = op(
    "addmv_complex(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Tensor | Scalar = 1, alpha: Tensor | Scalar = 1) "
    "-> Tensor",
    family=AFFINE,
    dtypes=COMPLEX,
    function=lambda input, mat, vec, *, beta, alpha: affine_complex("addmv")(input, mat, vec, beta, alpha),
    samples=affine_samples(((2,), (2, 3), (3,)), ((), (2, 3), (3,))),
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x + alpha * contract(a, b),
    doc="addmv with complex factors.",
    example="(tenora.ones(2) * 1j).addmv(tenora.ones(2, 3) * 1j, tenora.ones(3) * 1j, alpha=2j)",
    public="addmv",
    display="addmv",
    method=True,
    inplace=True,
    out=True,
)


def _check_factors(op: str, dtype: Any, **factors: Any) -> None:
    """A float factor needs a floating result, a bool one a bool result."""
    for name, factor in factors.items():
        if isinstance(factor, bool) and dtype != _engine.bool:
            wrong = "a number"
        elif isinstance(factor, float) and not (dtype.is_floating_point or dtype.is_complex):
            wrong = "an integer"
        else:
            continue
        raise errors.OperationError(
            f"[{op}] {name} does not fit the result: got {factor!r} for {dtype}, expected {wrong}. Convert the factor, "
            "or cast the tensors."
        )


@rounds_once
def _addr(input: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    need_rank("addr", vec1, 1, 1)
    need_rank("addr", vec2, 1, 1)
    dtype = _engine.promote_types(input.dtype, _engine.promote_types(vec1.dtype, vec2.dtype))
    beta, alpha = (
        number_for("addr", *pair, dtype, not dtype.is_floating_point)
        for pair in (("beta", beta), ("alpha", alpha))
    )
    _check_factors("addr", dtype, beta=beta, alpha=alpha)
    shape = (vec1.shape[0], vec2.shape[0])
    if broadcast_shape("addr", [input.shape, shape]) != shape:
        raise errors.OperationError(
            f"[addr] input does not fit: got shape {tuple(input.shape)}, expected one that broadcasts to {shape}. "
            "Reshape it."
        )
    product = ops.mul(ops.unsqueeze(ops.to(vec1, dtype), 1), ops.unsqueeze(vec2, 0))
    return blend(ops.to(input, dtype), product, beta, alpha)


addr = op(
    "addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Tensor | Scalar = 1, alpha: Tensor | Scalar = 1) "
    "-> Tensor",
    family=AFFINE,
    function=_addr,
    samples=lambda draw: [
        *_affine(
            ((2, 3), (2,), (3,)),
            ((3,), (2,), (3,)),
            ((), (4,), (2,)),
            ((2, 1), (2,), (5,)),
            ((0, 3), (0,), (3,)),
        )(draw),
        # Whole numbers that beta carries beyond their dtype: they are the result's before.
        sample(draw.array(2, 3, dtype="int8"), draw.array(2), draw.array(3), beta=100),
    ],
    oracle=lambda x, a, b, beta=1, alpha=1: beta * x.astype(np.result_type(x, a, b)) + alpha * a[:, None] * b,
    doc="beta * input + alpha * (all products of two vectors' elements).",
    example="tenora.addr(tenora.ones(2, 3), tenora.ones(2), tenora.ones(3))",
    method=True,
    inplace=True,
    out=True,
)


def _addbmm(input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    need_rank("addbmm", batch1, 3, 3)
    need_rank("addbmm", batch2, 3, 3)
    if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
        raise errors.OperationError(
            f"[addbmm] batches do not fit: got {tuple(batch1.shape)} and {tuple(batch2.shape)}, expected (B, N, M) and "
            "(B, M, P). Check the shapes."
        )
    b, n, m = batch1.shape
    left = ops.reshape(ops.permute(batch1, (1, 0, 2)), (n, b * m))
    beta, alpha = (number_for("addbmm", *pair, input.dtype) for pair in (("beta", beta), ("alpha", alpha)))
    addmm = ops.addmm_complex if isinstance(beta, complex) or isinstance(alpha, complex) else ops.addmm
    return addmm(input, left, ops.reshape(batch2, (b * m, batch2.shape[2])), beta=beta, alpha=alpha)


addbmm = op(
    "addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Tensor | Scalar = 1, alpha: Tensor | Scalar = 1) "
    "-> Tensor",
    family=AFFINE,
    function=_addbmm,
    samples=_affine(
        ((2, 4), (3, 2, 3), (3, 3, 4)),
        ((4,), (2, 2, 3), (2, 3, 4)),
        ((), (1, 2, 3), (1, 3, 4)),
        ((2, 1), (2, 2, 3), (2, 3, 2)),
        ((1,), (2, 2, 0), (2, 0, 4)),
    ),
    oracle=lambda x, a, b, beta=1, alpha=1: (
        beta * x + alpha * contract(a.transpose(1, 0, 2).reshape(a.shape[1], -1), b.reshape(-1, b.shape[2]))
    ),
    doc="beta * input + alpha * (the sum of the products of two stacks of matrices).",
    example="tenora.addbmm(tenora.ones(2, 4), tenora.ones(5, 2, 3), tenora.ones(5, 3, 4))",
    method=True,
    inplace=True,
    out=True,
)
