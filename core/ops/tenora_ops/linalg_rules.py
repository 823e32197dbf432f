"""What the records of linear algebra share: families, rules, errors, samples and oracles' helpers.

- The four dtypes that PyTorch's linear algebra takes; half types and integers are refused, as there.
- Rules are Python: they check what the algorithms rely on, so a kernel receives square, matching stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.formula import ops
from tenora_ops.lazy import np
from tenora_ops.linalg_steps import adjoint, real_dtype
from tenora_ops.record import Family
from tenora_ops.samples import Draw, Sample, sample

PRECISE = ("float32", "float64", "complex64", "complex128")
#: A Python function over other ops that a backend may override; one node on the tape.
FACTOR = Family("linalg", "", "", "plain", lambda draw: squares(draw), PRECISE, tolerance="factorised")
#: A Python function whose parts are recorded.
PARTS = Family("linalg", "", "", "", lambda draw: squares(draw), PRECISE, tolerance="factorised")

Operands = tuple[Any, ...]


def refuse(
    op: str, what: str, got: object, expected: str, advice: str, code: str = "shape"
) -> errors.OperationError:
    """The error for an operand that does not fit."""
    return errors.OperationError(f"[{op}] {what}: got {got}, expected {expected}. {advice}", code=code, op=op)


def check_dtype(op: str, dtype: Any) -> None:
    """Refuses what is neither float32, float64, complex64 nor complex128."""
    if not (dtype.is_floating_point or dtype.is_complex) or dtype.itemsize == 2:
        raise refuse(
            op,
            "dtype",
            dtype,
            "float32, float64, complex64 or complex128",
            "Convert it with .to(...).",
            "dtype",
        )


def check_matrix(op: str, shape: Sequence[int], square: bool = False) -> None:
    """Refuses what is not a stack of (square) matrices."""
    if len(shape) < 2:
        raise refuse(op, "not a matrix", tuple(shape), "at least 2 dims", "Add dims with unsqueeze.")
    if square and shape[-1] != shape[-2]:
        raise refuse(op, "matrices must be square", tuple(shape), "(..., n, n)", "Check the operand.")


def same_dtypes(op: str, results: str) -> Callable[[Operands, Operands], Any]:
    """A dtype rule. `results`, one letter each: v as the operand, r its modulus, i int32."""

    def rule(operands: Operands, attributes: Operands) -> Any:
        dtype = operands[0][1]
        check_dtype(op, dtype)
        for _, other in operands[1:]:
            if other != dtype:
                raise refuse(
                    op,
                    "operands of different dtypes",
                    f"{dtype} and {other}",
                    "one dtype",
                    "Cast one.",
                    "dtype",
                )
        given = {"v": dtype, "r": real_dtype(dtype), "i": _engine.int32}
        found = tuple(given[letter] for letter in results)
        return found if len(found) > 1 else found[0]

    return rule


def square_shapes(op: str, results: str) -> Callable[[Operands, Operands], Any]:
    """A shape rule for square matrices. `results`, one letter each: m a matrix, v a vector, s a number."""

    def rule(operands: Operands, attributes: Operands) -> Any:
        shape = tuple(operands[0][0])
        check_matrix(op, shape, square=True)
        given = {"m": shape, "v": shape[:-1], "s": shape[:-2]}
        found = tuple(given[letter] for letter in results)
        return found if len(found) > 1 else found[0]

    return rule


def check_info(op: str, info: Any, what: str, advice: str = "Check it.") -> None:
    """Raises LinAlgError where an `info` is not zero; reads data, so it waits for the device."""
    if info.numel() and bool(ops.any(ops.ne(info, 0))):
        first = [int(v) for v in ops.reshape(info, [-1]).tolist()]
        place = next(i for i, v in enumerate(first) if v)
        at = f"matrix {place} of the stack" if info.ndim else "the matrix"
        raise errors.LinAlgError(
            f"[{op}] {at} {what}: got a zero or bad pivot {first[place]}, expected none. {advice}", op=op
        )


def product(*matrices: Any) -> Any:
    """The product of several matrices, from the right."""
    result = matrices[-1]
    for matrix in reversed(matrices[:-1]):
        result = ops.matmul(matrix, result)
    return result


def mask(like: Any, size: Any) -> Any:
    """True on the diagonal of a size x size matrix."""
    place = ops.iota(0, 1, size, device=like.device)
    return ops.eq(ops.unsqueeze(place, -1), place)


def H(x: Any) -> Any:
    """The conjugate transpose; a plain one where the call has no complex operand."""
    return adjoint(x)


# ---- samples ---------------------------------------------------------------------------------------------------------
STACKS: tuple[tuple[int, ...], ...] = ((3, 3), (1, 1), (2, 2, 2), (2, 1, 3, 3), (0, 0), (0, 2, 2), (5, 5))


def regular(draw: Draw, *shape: int) -> Any:
    """Well-conditioned square matrices."""
    return draw.array(*shape) + 8 * np.eye(shape[-1], dtype=draw.dtype)


def positive(draw: Draw, *shape: int) -> Any:
    """Hermitian positive definite matrices, well apart from singular ones."""
    a = draw.array(*shape)
    return (a @ np.swapaxes(a, -1, -2).conj() / 4 + 4 * np.eye(shape[-1])).astype(draw.dtype)


def hermitian(draw: Draw, *shape: int) -> Any:
    """Hermitian matrices with eigenvalues apart from each other."""
    a = draw.array(*shape)
    ladder = np.diag(6.0 * np.arange(shape[-1]))
    return ((a + np.swapaxes(a, -1, -2).conj()) / 4 + ladder).astype(draw.dtype)


def squares(draw: Draw) -> list[Sample]:
    return [sample(regular(draw, *shape)) for shape in STACKS]


def definite(draw: Draw) -> list[Sample]:
    return [sample(positive(draw, *shape)) for shape in STACKS]


def symmetric(draw: Draw) -> list[Sample]:
    return [sample(hermitian(draw, *shape)) for shape in STACKS]


def oblong(draw: Draw) -> list[Sample]:
    """Matrices of any shape, with singular values apart from each other."""
    shapes = ((3, 3), (4, 3), (3, 4), (2, 3, 2), (2, 1, 2, 3), (5, 5))
    return [sample(spread(draw, *shape)) for shape in shapes]


def without_elements(draw: Draw, *options: Any) -> list[Sample]:
    """Matrices that have rows or columns, but no elements."""
    return [sample(draw.array(*shape), *options) for shape in ((0, 3), (3, 0), (2, 0, 2))]


def spread(draw: Draw, *shape: int) -> Any:
    ladder = np.eye(shape[-2], shape[-1]) * (4.0 + 6.0 * np.arange(shape[-1]))
    return (draw.array(*shape) / 4 + ladder).astype(draw.dtype)


def real_only(samples: Callable[[Draw], list[Sample]]) -> Callable[[Draw], list[Sample]]:
    """For gradients of factors with a free phase: complex ones are tested through what the phase leaves alone."""
    return lambda draw: [] if draw.is_complex else samples(draw)


# ---- oracles ---------------------------------------------------------------------------------------------------------
def stacked(function: Callable[..., Any], *arrays: Any, core: int = 2) -> Any:
    """Applies a function of matrices to every matrix of the stacks; several results become a tuple."""
    batch = np.broadcast_shapes(*[a.shape[: a.ndim - core] for a in arrays])
    spread_ = [np.broadcast_to(a, batch + a.shape[a.ndim - core :]) for a in arrays]
    found = [function(*[a[index] for a in spread_]) for index in np.ndindex(*batch)]
    if not found:
        example = function(*[np.eye(*a.shape[-2:], dtype=a.dtype) for a in arrays])
        many = isinstance(example, tuple)
        empty = [
            np.empty(batch + np.shape(e), np.asarray(e).dtype) for e in (example if many else (example,))
        ]
        return tuple(empty) if many else empty[0]
    if not isinstance(found[0], tuple):
        return np.array(found).reshape(batch + np.shape(found[0]))
    return tuple(
        np.array([f[i] for f in found]).reshape(batch + np.shape(found[0][i])) for i in range(len(found[0]))
    )


def turn(vectors: Any) -> Any:
    """Per column, the number that makes the first component within a tenth of the largest one real and positive."""
    phases = np.ones(vectors.shape[1], vectors.dtype)
    for j in range(vectors.shape[1] if vectors.size else 0):
        column = vectors[:, j]
        first = column[np.argmax(np.abs(column) >= 0.9 * np.abs(column).max())]
        phases[j] = np.conj(first) / np.abs(first)
    return phases
