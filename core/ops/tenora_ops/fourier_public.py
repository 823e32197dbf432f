"""The public transforms `fft.*`: one kind of transform each, over one, two or any number of dims.

- Every record names its transform (complex, real to half, half to real), its sign and the dims it takes; normalisation
  modes are PyTorch's: "backward" (1/n in inverse transforms), "forward", "ortho".
"""

from __future__ import annotations

from typing import Any

from tenora_dispatch import errors
from tenora_engine import _engine
from tenora_ops.checks import ints, wrap_dim
from tenora_ops.formula import ops
from tenora_ops.fourier import (
    PUBLIC,
    REAL,
    c2c,
    c2r,
    r2c,
)
from tenora_ops.fourier_cases import expect_c2c, expect_c2r, expect_r2c
from tenora_ops.lazy import np
from tenora_ops.linalg_rules import PRECISE
from tenora_ops.record import Family, op
from tenora_ops.samples import ALL, Draw, Sample, sample

WORK = {"c2c": (c2c, expect_c2c, PRECISE), "r2c": (r2c, expect_r2c, REAL), "c2r": (c2r, expect_c2r, PRECISE)}
NORMS = (None, "ortho", "forward", "backward")


def _one_dim(draw: Draw) -> list[Sample]:
    rows = (
        ((6,), None, -1),
        ((5,), 4, 0),
        ((2, 3), 5, -1),
        ((3, 2), None, 0),
        ((2, 1, 4), 4, 2),
        ((2, 2, 2), 3, 1),
    )
    found = [sample(draw.array(*shape), n, d, NORMS[i % 4]) for i, (shape, n, d) in enumerate(rows)]
    return [*found, sample(draw.array(4)), sample(draw.array(2, 3), norm="ortho")]


def _two_dims(draw: Draw) -> list[Sample]:
    rows = (
        ((3, 4), None, (-2, -1)),
        ((2, 3, 4), None, (0, 2)),
        ((3, 4), (2, 5), (-2, -1)),
        ((4, 3), (4, 4), (1, 0)),
        ((2, 2, 2, 2), None, (1, 3)),
        ((2, 3), (3, 2), (0, 1)),
    )
    return [sample(draw.array(*shape), s, d, NORMS[i % 4]) for i, (shape, s, d) in enumerate(rows)]


def _many_dims(draw: Draw) -> list[Sample]:
    rows = (
        ((3, 4), None, None),
        ((2, 3, 2), None, (0, 2)),
        ((3, 4), (2, 3), None),
        ((2, 2, 3), (3, 4), None),
        ((2, 1, 2, 2), None, (1, 3, 0)),
        ((5,), None, None),
    )
    return [sample(draw.array(*shape), s, d, NORMS[i % 4]) for i, (shape, s, d) in enumerate(rows)]


def _declare(name: str, kind: str, inverse: bool, doc: str) -> None:
    """The record of a transform over one dim, and of its forms over two and any dims."""
    work, expect, dtypes = WORK[kind]
    argument = "1.0 + 0j" if kind == "c2r" else "1.0"
    public = f"fft.{name}"
    op(
        f"fft_{name}(input: Tensor, n: int? = None, dim: int = -1, norm: str? = None) -> Tensor",
        family=PUBLIC,
        dtypes=dtypes,
        function=lambda input, n, dim, norm: work(
            public, input, None if n is None else [n], [dim], norm, inverse
        ),
        samples=_one_dim,
        oracle=lambda x, n=None, dim=-1, norm=None: expect(
            x, None if n is None else [n], [dim % x.ndim], norm, inverse
        ),
        doc=f"{doc}, along one dim, cut or padded to n points.",
        example=f"tenora.fft.{name}(tenora.tensor([{argument}, {argument}, {argument}]))",
        public=public,
        complex_within=True,
        out=True,
    )
    _declare_many(name, "2", kind, inverse, doc, "int[] = (-2, -1)", _two_dims)
    _declare_many(name, "n", kind, inverse, doc, "int[]? = None", _many_dims)


def _declare_many(name: str, mark: str, kind: str, inverse: bool, doc: str, dims: str, samples: Any) -> None:
    work, expect, dtypes = WORK[kind]
    public = f"fft.{name}{mark}"
    op(
        f"fft_{name}{mark}(input: Tensor, s: int[]? = None, dim: {dims}, norm: str? = None) -> Tensor",
        family=PUBLIC,
        dtypes=dtypes,
        function=lambda input, s, dim, norm: work(public, input, s, dim, norm, inverse),
        samples=samples,
        oracle=lambda x, s=None, dim=None, norm=None: expect(
            x, s, None if dim is None else [d % x.ndim for d in dim], norm, inverse
        ),
        doc=f"{doc}, along {'two' if mark == '2' else 'several'} dims, cut or padded to s points.",
        example=f"tenora.fft.{name}{mark}(tenora.ones(2, 3{', dtype=tenora.complex64' if kind == 'c2r' else ''}))",
        public=public,
        complex_within=True,
        out=True,
    )


_declare("fft", "c2c", False, "The discrete Fourier transform")
_declare("ifft", "c2c", True, "The inverse discrete Fourier transform")
_declare("rfft", "r2c", False, "The first half of the spectrum of real numbers")
_declare("irfft", "c2r", True, "The real numbers that half a spectrum belongs to")
_declare("hfft", "c2r", False, "The real spectrum of Hermitian numbers, of which half is given")
_declare("ihfft", "r2c", True, "Half of the Hermitian numbers that a real spectrum belongs to")

CREATION = Family("fft", "", "", "", lambda draw: [], ("float32",), tolerance="few_ulp")


def _frequencies(n: int, d: float, dtype: Any, device: Any, half: bool) -> Any:
    name = "fft.rfftfreq" if half else "fft.fftfreq"
    count = int(n / 2) + 1 if half else n  # truncated, so that -1 has one, as in PyTorch
    if count < 0:
        raise errors.OperationError(
            f"[{name}] n: got {n}, expected 0 or more. Pass the number of points that are transformed."
        )
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise errors.OperationError(
            f"[{name}] dtype: got {dtype}, expected a floating or complex one. Choose one of these."
        )
    place = ops.iota(0, 1, count, dtype=_engine.int64, device=device)
    if not half:
        place = ops.where(ops.ge(place, (n + 1) // 2), place - n, place)
    return ops.to(place, dtype or _engine.default_dtype()) / (n * d)


def _spacings(draw: Draw) -> list[Sample]:
    return [sample(n, d) for n, d in ((4, 1.0), (5, 1.0), (1, 2.0), (8, 0.5), (7, 0.25))] + [sample(6)]


fft_fftfreq = op(
    "fft_fftfreq(n: int, d: float = 1.0, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=CREATION,
    function=lambda n, d, dtype, device: _frequencies(n, d, dtype, device, False),
    differentiable=False,
    samples=_spacings,
    oracle=lambda n, d=1.0: np.array([(k if k < (n + 1) // 2 else k - n) / (n * d) for k in range(n)]),
    doc="The frequencies of fft's results, for a sample spacing d.",
    example="tenora.fft.fftfreq(5)",
    public="fft.fftfreq",
    out=True,
)
fft_rfftfreq = op(
    "fft_rfftfreq(n: int, d: float = 1.0, *, dtype: dtype? = None, device: device? = None) -> Tensor",
    family=CREATION,
    function=lambda n, d, dtype, device: _frequencies(n, d, dtype, device, True),
    differentiable=False,
    samples=_spacings,
    oracle=lambda n, d=1.0: np.array([k / (n * d) for k in range(n // 2 + 1)]),
    doc="The frequencies of rfft's results, for a sample spacing d.",
    example="tenora.fft.rfftfreq(5)",
    public="fft.rfftfreq",
    out=True,
)


def _shifted(x: Any, dim: Any, back: bool) -> Any:
    op = "fft.ifftshift" if back else "fft.fftshift"
    for d in range(x.ndim) if dim is None else [wrap_dim(op, d, x.ndim) for d in ints(dim)] if x.ndim else []:
        n = x.shape[d]
        cut = n // 2 if back else (n + 1) // 2
        x = ops.cat([ops.narrow(x, d, cut, n - cut), ops.narrow(x, d, 0, cut)], d)
    return x


def _shift_samples(draw: Draw) -> list[Sample]:
    rows = (((5,), None), ((4,), None), ((3, 4), None), ((3, 4), (1,)), ((2, 3, 2), (0, 2)), ((2, 0), None))
    return [sample(draw.array(*shape)) if d is None else sample(draw.array(*shape), d) for shape, d in rows]


def _shift_oracle(x: Any, dim: Any, back: bool) -> Any:
    out = np.empty_like(x)
    dims = range(x.ndim) if dim is None else [d % x.ndim for d in dim]
    for index in np.ndindex(x.shape):
        place = list(index)
        for d in dims:
            n = x.shape[d]
            place[d] = (place[d] + (n - n // 2 if back else n // 2)) % n
        out[tuple(place)] = x[index]
    return out


SHIFT = Family("fft", "", "", "", _shift_samples, ALL)

fft_fftshift = op(
    "fft_fftshift(input: Tensor, dim: int[]? = None) -> Tensor",
    family=SHIFT,
    function=lambda input, dim: _shifted(input, dim, False),
    oracle=lambda x, dim=None: _shift_oracle(x, dim, False),
    doc="A spectrum with the frequency zero in the middle.",
    example="tenora.fft.fftshift(tenora.fft.fftfreq(4))",
    public="fft.fftshift",
)
fft_ifftshift = op(
    "fft_ifftshift(input: Tensor, dim: int[]? = None) -> Tensor",
    family=SHIFT,
    function=lambda input, dim: _shifted(input, dim, True),
    oracle=lambda x, dim=None: _shift_oracle(x, dim, True),
    doc="Undoes fftshift.",
    example="tenora.fft.ifftshift(tenora.fft.fftfreq(4))",
    public="fft.ifftshift",
)
