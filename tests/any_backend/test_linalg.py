"""Linear algebra and Fourier transforms beyond the records' samples: larger sizes, free phases, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenora
from tenora.linalg import LinAlgError
from tenora_autograd import gradcheck, gradgradcheck
from tenora_engine import _engine

RNG = np.random.default_rng(7)
DTYPES = ("float32", "float64", "complex64", "complex128")


def drawn(*shape: int, dtype: str = "float64") -> Any:
    values = RNG.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * RNG.normal(size=shape)
    return values.astype(dtype)


def adjoint(x: Any) -> Any:
    return np.swapaxes(x, -1, -2).conj()


def close(a: Any, b: Any, dtype: str) -> None:
    bound = 2e-3 if dtype in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(a, b, rtol=bound, atol=bound * max(float(np.abs(b).max(initial=1.0)), 1.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_of_larger_matrices(dtype: str, backend: str) -> None:
    a = drawn(2, 30, 30, dtype=dtype)
    x = tenora.from_numpy(a)
    q, r = (t.numpy() for t in tenora.linalg.qr(x))
    close(q @ r, a, dtype)
    close(adjoint(q) @ q, np.broadcast_to(np.eye(30), a.shape), dtype)
    p, low, up = (t.numpy() for t in tenora.linalg.lu(x))
    close(p @ low @ up, a, dtype)
    assert np.abs(low).max() <= 1.5
    close(a @ tenora.linalg.inv(x).numpy(), np.broadcast_to(np.eye(30), a.shape), dtype)
    sign, size = (t.numpy() for t in tenora.linalg.slogdet(x))
    expected = np.linalg.slogdet(a.astype("complex128" if "complex" in dtype else "float64"))
    close(sign, expected[0], dtype)
    close(size, expected[1], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(25, 25), (25, 10), (7, 20)])
def test_singular_values_of_larger_matrices(shape: tuple[int, int], dtype: str, backend: str) -> None:
    a = drawn(*shape, dtype=dtype)
    u, s, vh = (t.numpy() for t in tenora.linalg.svd(tenora.from_numpy(a)))
    count = min(shape)
    close((u[:, :count] * s) @ vh[:count], a, dtype)
    close(adjoint(u) @ u, np.eye(shape[0]), dtype)
    close(vh @ adjoint(vh), np.eye(shape[1]), dtype)
    assert (np.diff(s) <= 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_larger_matrices(dtype: str, backend: str) -> None:
    a = drawn(2, 24, 24, dtype=dtype)
    a = a + adjoint(a)
    w, v = (t.numpy() for t in tenora.linalg.eigh(tenora.from_numpy(a)))
    close((v * w[..., None, :]) @ adjoint(v), a, dtype)
    close(adjoint(v) @ v, np.broadcast_to(np.eye(24), a.shape), dtype)
    assert (np.diff(w) >= 0).all()


def test_least_squares_and_pivots(backend: str) -> None:
    """What PyTorch's default driver leaves out, and elimination without exchanges."""
    a, b = drawn(5, 3), drawn(5, 2)
    found = tenora.linalg.lstsq(tenora.from_numpy(a), tenora.from_numpy(b), driver="gelsd")
    expected = np.linalg.lstsq(a, b, rcond=None)
    for ours, theirs in zip(found, expected, strict=True):
        close(ours.numpy(), np.asarray(theirs), "float64")
    square = drawn(4, 4) + 8 * np.eye(4)
    p, low, up = (t.numpy() for t in tenora.linalg.lu(tenora.from_numpy(square), pivot=False))
    close(low @ up, square, "float64")
    close(p, np.eye(4), "float64")


def test_degenerate_matrices(backend: str) -> None:
    """Equal and vanishing values: factors stay orthonormal, gradients of values stay finite."""
    for a in (np.zeros((3, 3)), np.eye(3), np.ones((3, 3)), np.diag([2.0, 2.0, 0.0])):
        u, _, vh = (t.numpy() for t in tenora.linalg.svd(tenora.from_numpy(a)))
        close(u.T @ u, np.eye(3), "float64")
        close(vh @ vh.T, np.eye(3), "float64")
        x = tenora.from_numpy(a).requires_grad_(True)
        (tenora.linalg.eigh(x).eigenvalues.sum() + tenora.linalg.svd(x).S.sum()).backward()
        assert np.isfinite(x.grad.numpy()).all()
        close(tenora.linalg.eigvalsh(x.detach()).numpy(), np.linalg.eigvalsh(a), "float64")


def test_gradients_that_phases_leave_alone(backend: str) -> None:
    """Complex eigenvectors and singular vectors have a free phase; products without it have a gradient."""
    x = tenora.from_numpy(drawn(3, 3, dtype="complex128")).requires_grad_(True)

    def from_eigh(a: Any) -> Any:
        w, v = tenora.linalg.eigh(a + a.mH)
        return (v * (w * w)) @ v.mH, v.abs()

    def from_svd(a: Any) -> Any:
        u, s, vh = tenora.linalg.svd(a, full_matrices=False)
        return u @ vh, u.abs(), (u * (s * s)) @ u.mH

    assert gradcheck(from_eigh, (x,)) and gradgradcheck(from_eigh, (x,))
    assert gradcheck(from_svd, (x,)) and gradgradcheck(from_svd, (x,))


def test_gradient_of_a_determinant_that_is_zero(backend: str) -> None:
    """The adjugate, where the inverse does not exist."""
    a = np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.0, 1.0, 3.0]])
    x = tenora.from_numpy(a).requires_grad_(True)
    tenora.linalg.det(x).backward()
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
        for i in range(3)
    ]
    close(x.grad.numpy(), np.array(cofactors), "float64")


def test_what_has_no_answer(backend: str) -> None:
    singular = tenora.zeros(2, 3, 3)
    with pytest.raises(LinAlgError, match=r"\[linalg.inv\].*singular"):
        tenora.linalg.inv(singular)
    with pytest.raises(RuntimeError, match=r"\[linalg.solve\]"):
        tenora.linalg.solve(singular, tenora.ones(3, 1))
    with pytest.raises(LinAlgError, match="positive definite"):
        tenora.linalg.cholesky(-tenora.eye(3))
    stack = tenora.stack([tenora.eye(3), tenora.diag(tenora.tensor([1.0, -1.0, 1.0]))])
    factor, info = tenora.linalg.cholesky_ex(stack)
    assert info.tolist() == [0, 2] and str(info.dtype) == "tenora.int32"
    assert factor[0].tolist() == tenora.eye(3).tolist()
    assert tenora.linalg.inv_ex(singular).info.tolist() == [1, 1]
    assert tenora.linalg.det(singular).tolist() == [0.0, 0.0]
    assert tenora.linalg.slogdet(singular).logabsdet.tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("name", ["svd", "svdvals", "eigh", "eigvalsh", "eig"])
def test_what_is_not_finite(name: str, backend: str) -> None:
    with pytest.raises(LinAlgError, match=rf"\[linalg.{name}\] does not converge"):
        getattr(tenora.linalg, name)(tenora.full((3, 3), float("nan")))
    assert tenora.linalg.cholesky_ex(tenora.full((2, 2), float("nan"))).info.tolist() == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_general_matrices(dtype: str, backend: str) -> None:
    a = drawn(2, 14, 14, dtype=dtype)
    w, v = (t.numpy() for t in tenora.linalg.eig(tenora.from_numpy(a)))
    close(a @ v, v * w[..., None, :], dtype)
    close(np.linalg.norm(v, axis=-2), np.ones((2, 14)), dtype)
    for special in (
        np.eye(3),
        np.zeros((2, 2)),
        [[0.0, 1.0], [-1.0, 0.0]],
        [[0.0, 0, 1], [1, 0, 0], [0, 1, 0]],
    ):
        b = np.asarray(special)
        w, v = (t.numpy() for t in tenora.linalg.eig(tenora.from_numpy(b)))
        close(b @ v, v * w, "float64")


def test_gradient_of_general_eigenvectors(backend: str) -> None:
    def products(a: Any) -> Any:
        w, v = tenora.linalg.eig(a)
        return w, v.abs(), (v * w) @ tenora.linalg.inv(v)

    for dtype in ("float64", "complex128"):
        x = tenora.from_numpy(drawn(3, 3, dtype=dtype)).requires_grad_(True)
        assert gradcheck(products, (x,)) and gradgradcheck(products, (x,))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tenora.linalg.det(tenora.ones(2, 3)), "must be square"),
        (lambda: tenora.linalg.qr(tenora.ones(3)), "not a matrix"),
        (lambda: tenora.linalg.qr(tenora.ones(3, 3), "half"), "mode"),
        (lambda: tenora.linalg.svd(tenora.ones(3, 3, dtype=tenora.float16)), "dtype"),
        (lambda: tenora.linalg.inv(tenora.tensor([[1, 2], [3, 4]])), "dtype"),
        (lambda: tenora.linalg.solve(tenora.eye(2), tenora.ones(3, 1)), "do not fit"),
        (lambda: tenora.fft.rfft(tenora.tensor([1j])), "real numbers"),
        (lambda: tenora.fft.fft(tenora.ones(0)), "number of points"),
        (lambda: tenora.fft.fft(tenora.ones(2), norm="none"), "norm"),
        (lambda: tenora.fft.fft(tenora.ones(2), dim=3), "dim"),
    ],
)
def test_operands_that_do_not_fit(call: Any, words: str, backend: str) -> None:
    with pytest.raises((RuntimeError, IndexError), match=words):
        call()


def test_a_kernel_overrides_the_python_of_an_op(backend: str) -> None:
    """The reference computes through NumPy; a backend without a kernel runs the op's Python, which is not recorded."""
    how = _engine.explain("linalg_det", "cpu", tenora.float64)["implementation"]
    assert how == ("python kernel" if backend == "reference" else "function")
    x = tenora.eye(3).requires_grad_(True)
    assert tenora.linalg.det(x).grad_fn.name() == "LinalgDetBackward0"


@pytest.mark.parametrize("n", [1, 2, 31, 64, 65, 67, 96, 101, 134, 360, 997, 1024])
def test_transforms_of_every_length(n: int, backend: str) -> None:
    a = drawn(2, n, dtype="complex128")
    x = tenora.from_numpy(a)
    close(tenora.fft.fft(x).numpy(), np.fft.fft(a), "float64")
    close(tenora.fft.ifft(tenora.fft.fft(x)).numpy(), a, "float64")
    close(tenora.fft.irfft(tenora.fft.rfft(x.real.clone()), n).numpy(), a.real, "float64")
    assert np.abs(tenora.fft.fft(x.to(tenora.complex64)).numpy() - np.fft.fft(a)).max() < 1e-5 * n


def test_quarter_turns_are_exact(backend: str) -> None:
    """A sum of whole numbers over quarter turns is whole."""
    assert tenora.fft.fft(tenora.arange(4)).tolist() == [6, -2 + 2j, -2, -2 - 2j]
    assert tenora.fft.fft(tenora.ones(8)).tolist() == [8, 0, 0, 0, 0, 0, 0, 0]
