"""Random numbers: the words are Philox's, every draw follows its generator, every form of an op draws the same.

- What the numbers of a seed are is judged by the oracles of the records (test_ops_oracle.py), whose words are judged
  here by the vectors that the authors of Philox publish. Whether they are distributed as they should be is judged in
  test_random_statistics.py.
- `ceil(words / 4)` counters are taken by a call, whatever the backend and the layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import op_cases
import pytest

import tenora
import tenora_ops
from tenora import Generator
from tenora.nn import functional as F
from tenora_engine import default_generator
from tenora_ops.activation_pieces import SELU_ALPHA, SELU_SCALE
from tenora_ops.random import philox, uniforms, words
from tenora_ops.record import Record
from tenora_ops.samples import Sample, Seed

pytestmark = pytest.mark.any_device

DRAWING = [
    r.name
    for r in tenora_ops.records()
    if r.name != "random_bits" and any(p.type == "Generator?" for p in r.schema.parameters)
]
INPLACE = [name for name in DRAWING if tenora_ops.record(name).inplace]
ONES, PI = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)


@pytest.fixture(autouse=True)
def _generators_as_before() -> Iterator[None]:
    with tenora.random.fork_rng():
        yield


@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ONES] * 4, [ONES] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (list(PI[:4]), list(PI[4:]), [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ],
)
def test_known_answers(counter: list[int], key: list[int], block: list[int]) -> None:
    """The vectors of the authors' own code (Random123, kat_vectors: philox4x32, 10 rounds)."""
    assert philox(counter, key) == block


def bits(count: int, generator: Generator) -> list[int]:
    drawn = tenora_ops.REGISTERED["random_bits"]((count,), generator=generator, device=op_cases.Judged.device)
    return [int(w) for w in op_cases.as_numpy(drawn)]


@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, 2**63, 2**64 - 1, -1])
@pytest.mark.parametrize("offset", [0, 1, 2**32 - 3, 2**64 - 20])
def test_bits(backend: str, seed: int, offset: int) -> None:
    """Seeds of 64 bits, counters that carry into their second word, counts around whole vectors of blocks."""
    op_cases.judged("random_bits", ["uint32"])
    for count in (0, 1, 4, 5, 63, 64, 66):
        generator = Generator()
        generator.manual_seed(seed).set_offset(offset)
        assert bits(count, generator) == words(seed % 2**64, count, offset)
        assert generator.philox_state() == (seed % 2**64, (offset + -(-count // 4)) % 2**64)


def test_many_bits(backend: str) -> None:
    """As many as several threads share, at once and in pieces."""
    op_cases.judged("random_bits", ["uint32"])
    count = 300_000
    whole, pieces = bits(count, Generator(9)), Generator(9)
    assert whole == [w for _ in range(4) for w in bits(count // 4, pieces)]
    for first in (0, 4 * 4096, 200_000, count - 40):
        assert whole[first : first + 40] == words(9, 40, first // 4)


#: Words that a call for n numbers takes, in float32 and in float64 (or int64).
TAKEN: dict[str, tuple[Callable[..., Any], Callable[[int], int], Callable[[int], int]]] = {
    "rand": (lambda n, d, g: tenora.rand(n, dtype=d, generator=g), lambda n: n, lambda n: 2 * n),
    "randn": (
        lambda n, d, g: tenora.randn(n, dtype=d, generator=g),
        lambda n: n + n % 2,
        lambda n: 2 * (n + n % 2),
    ),
    "randint": (lambda n, d, g: tenora.randint(9, (n,), dtype=d, generator=g), lambda n: n, lambda n: n),
    "randperm": (
        lambda n, d, g: tenora.randperm(n, dtype=d, generator=g),
        lambda n: 2 * n,
        lambda n: 2 * n,
    ),
    "exponential_": (
        lambda n, d, g: tenora.ones(n, dtype=d).exponential_(generator=g),
        lambda n: n,
        lambda n: 2 * n,
    ),
    "bernoulli": (
        lambda n, d, g: tenora.bernoulli(tenora.ones(n, dtype=d), generator=g),
        lambda n: n,
        lambda n: n,
    ),
    "poisson": (
        lambda n, d, g: tenora.poisson(tenora.ones(n, dtype=d), g),
        lambda n: 2 * n,
        lambda n: 2 * n,
    ),
    "multinomial": (
        lambda n, d, g: tenora.multinomial(tenora.ones(max(n, 1), dtype=d), max(n, 1), generator=g),
        lambda n: 2 * max(n, 1),
        lambda n: 2 * max(n, 1),
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_counters_taken(name: str, backend: str) -> None:
    call, single, double = TAKEN[name]
    op_cases.judged("random_bits", ["uint32"])
    before = tenora.get_default_device()
    tenora.set_default_device(op_cases.Judged.device)
    try:
        for n in (0, 1, 2, 5, 8, 33):
            for dtype, taken in ((tenora.float32, single), (tenora.float64, double)):
                generator = Generator(3)
                call(n, dtype, generator)
                assert generator.philox_state() == (3, -(-taken(n) // 4)), f"{name} of {n} {dtype}"
    finally:
        tenora.set_default_device(before)


def test_draws_follow_one_another(backend: str) -> None:
    op_cases.judged("rand", ["float32"])
    generator = Generator(6)
    drawn = [
        op_cases.as_numpy(tenora.rand(n, generator=generator, device=op_cases.Judged.device)) for n in (5, 3)
    ]
    numbers = [(w >> 8) * 2.0**-24 for w in words(6, 12)]
    assert [d.tolist() for d in drawn] == [numbers[:5], numbers[8:11]]


def seeded(record: Record) -> Iterator[tuple[Sample, Sample, int]]:
    """Calls with a generator, the same calls without, and the seed."""
    for dtype in op_cases.dtypes_of(record):
        for sample in op_cases.samples_of(record.name, dtype):
            seed = sample.options["generator"]
            assert isinstance(seed, Seed), record.name
            bare = {k: v for k, v in sample.options.items() if k != "generator"}
            yield sample, Sample(sample.arguments, bare), seed.seed


def identical(a: Any, b: Any, where: str) -> None:
    first, second = op_cases.as_numpy(a), op_cases.as_numpy(b)
    assert first.dtype == second.dtype and first.shape == second.shape, where
    assert first.tobytes() == second.tobytes(), where


@pytest.mark.parametrize("name", DRAWING)
def test_default_generator(name: str, backend: str) -> None:
    """Without `generator=` the device's own one is drawn from, alike; with one, it is left alone.

    `get_rng_state`, `set_rng_state` and `fork_rng` bring a state back.
    """
    record = op_cases.judged(name)
    default = default_generator(tenora.device(op_cases.Judged.device))
    for sample, bare, seed in seeded(record):
        default.manual_seed(seed + 100).set_offset(5)
        expected = op_cases.call(record, sample)
        assert default.philox_state() == (seed + 100, 5), f"{name} took from the default generator"
        tenora.manual_seed(seed)
        start = default.philox_state()
        identical(op_cases.call(record, bare), expected, f"{name}({sample})")
        end = default.philox_state()
        assert (end != start) == bool(expected.numel()), f"{name}({sample})"
        default.manual_seed(start[0]).set_offset(start[1])
        with tenora.random.fork_rng([] if op_cases.Judged.device == "cpu" else [op_cases.Judged.device]):
            identical(op_cases.call(record, bare), expected, f"{name}({sample})")
            assert default.philox_state() == end
        assert default.philox_state() == start


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_windows(name: str, backend: str) -> None:
    """In place the numbers lie in row-major order of the shape, whatever the strides; what is around stays."""
    record = op_cases.judged(name)
    for dtype in op_cases.dtypes_of(record):
        for sample in op_cases.samples_of(name, dtype):
            expected = op_cases.call(record, sample)
            for layout in op_cases.LAYOUTS:
                memory = op_cases.laid_out(sample.arguments[0], layout)
                window = tenora.from_numpy(memory).to(op_cases.Judged.device)
                rest = op_cases.arguments_of(record, sample, layout)[1:]
                getattr(window, record.inplace_name)(*rest, **op_cases.options_of(record, sample))
                identical(window, expected, f"{name}({sample}) {layout}")
                if layout in ("strided", "offset") and memory.size and memory.base is not None:
                    memory[...] = 0  # the rest of its room is zeros
                    assert not memory.base.any(), f"{name}({sample}) wrote beside its window"


# ---- ops that drop, by the masks that the words of a seed give ----
P = 0.3
FLOOR = -SELU_ALPHA * SELU_SCALE


def kept(seed: int, shape: tuple[int, ...], p: float = P) -> np.ndarray:
    return (np.array(uniforms(seed, math.prod(shape), "float32")) >= np.float32(p)).reshape(shape)


def dropped(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.where(mask, x / (1 - P), 0)


def muted(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    scale = 1 / math.sqrt((1 - P) * (1 + P * FLOOR**2))
    return np.where(mask, x, FLOOR) * scale - scale * FLOOR * P


DROPPING: dict[
    str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], Callable[..., np.ndarray]]
] = {
    "dropout": (F.dropout, (3, 5), (3, 5), dropped),
    "dropout of one": (F.dropout, (), (), dropped),
    "dropout1d": (F.dropout1d, (3, 4, 2), (3, 4, 1), dropped),
    "dropout1d of one": (F.dropout1d, (4, 2), (4, 1), dropped),
    "dropout2d": (F.dropout2d, (3, 4, 2, 2), (3, 4, 1, 1), dropped),
    "dropout3d": (F.dropout3d, (3, 4, 2, 1, 2), (3, 4, 1, 1, 1), dropped),
    "alpha_dropout": (F.alpha_dropout, (3, 5), (3, 5), muted),
    "feature_alpha_dropout": (F.feature_alpha_dropout, (3, 4, 2), (3, 4, 1), muted),
}


@pytest.mark.parametrize("name", DROPPING)
def test_dropping(name: str, backend: str) -> None:
    """What a seed drops, by the oracle's uniforms; gradients go where the values come from; in place alike."""
    function, shape, drawn, formula = DROPPING[name]
    op_cases.judged("dropout", ["float64"])
    values = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    for seed in (1, 2, 3):
        mask = np.broadcast_to(kept(seed, drawn), shape)
        x = op_cases.to_tensor(values).requires_grad_(True)
        tenora.manual_seed(seed)
        y = function(x, P, training=True)
        np.testing.assert_allclose(op_cases.as_numpy(y), formula(values, mask), rtol=1e-14)
        (grad,) = tenora.autograd.grad(y.sum(), x)
        slope = formula(np.ones(shape), mask) - formula(np.zeros(shape), mask)
        np.testing.assert_allclose(op_cases.as_numpy(grad), slope, rtol=1e-14)
        tenora.manual_seed(seed)
        target = op_cases.to_tensor(values.copy())
        assert function(target, P, training=True, inplace=True) is target
        identical(target, y, name)


def test_rrelu_draws_its_slopes(backend: str) -> None:
    op_cases.judged("rrelu", ["float64"])
    values = -np.arange(1.0, 8.0)
    x = op_cases.to_tensor(values).requires_grad_(True)
    tenora.manual_seed(4)
    y = F.rrelu(x, 0.1, 0.4, training=True)
    slopes = np.array(uniforms(4, 7, "float32")) * (0.4 - 0.1) + 0.1
    np.testing.assert_allclose(op_cases.as_numpy(y), values * slopes, rtol=1e-14)
    (grad,) = tenora.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(op_cases.as_numpy(grad), slopes, rtol=1e-14)


def test_attention_drops_weights(backend: str) -> None:
    op_cases.judged("scaled_dot_product_attention", ["float64"])
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 3, 4)) for _ in range(3))
    scores = q @ k.transpose(0, 2, 1) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    tenora.manual_seed(8)
    got = F.scaled_dot_product_attention(*map(op_cases.to_tensor, (q, k, v)), dropout_p=P)
    np.testing.assert_allclose(op_cases.as_numpy(got), dropped(weights, kept(8, (2, 3, 3))) @ v, rtol=1e-12)


# ---- what is refused ----
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tenora.randn(2, dtype=tenora.int64), "[randn] dtype not supported: got int64"),
        (lambda: tenora.rand(2, dtype=tenora.bool), "[rand] dtype not supported: got bool"),
        (lambda: tenora.ones(2, dtype=tenora.int8).uniform_(), "[uniform_] dtype not supported: got int8"),
        (lambda: tenora.ones(2, dtype=tenora.int8).normal_(), "[normal_] dtype not supported: got int8"),
        (lambda: tenora.ones(2, dtype=tenora.int8).exponential_(), "[exponential_] dtype not supported"),
        (lambda: tenora.ones(2, dtype=tenora.complex64).cauchy_(), "[cauchy_] dtype not supported"),
        (lambda: tenora.ones(2, dtype=tenora.complex64).log_normal_(), "[log_normal_] dtype not supported"),
        (lambda: tenora.ones(2, dtype=tenora.bool).geometric_(0.5), "[geometric_] dtype not supported"),
        (lambda: tenora.ones(2, dtype=tenora.complex64).bernoulli_(0.5), "[bernoulli_] dtype not supported"),
        (lambda: tenora.ones(2, dtype=tenora.complex64).random_(), "[random_] dtype not supported"),
        (lambda: tenora.randint(3, (2,), dtype=tenora.complex64), "[randint] dtype not supported"),
        (lambda: tenora.randint(300, (2,), dtype=tenora.uint8), "[randint] bounds: got 0 to 299"),
        (lambda: tenora.randint(-1, 3, (2,), dtype=tenora.uint8), "[randint] bounds: got -1 to 2"),
        (lambda: tenora.randint(70000, (2,), dtype=tenora.float16), "[randint] bounds: got 0 to 69999"),
        (lambda: tenora.ones(2, dtype=tenora.int8).random_(129), "[random_] bounds: got 0 to 128"),
        (lambda: tenora.ones(2).random_(4, 4), "[random_] low must be below high"),
        (lambda: tenora.randperm(300, dtype=tenora.uint8), "[randperm] bounds: got 0 to 299"),
        (
            lambda: tenora.bernoulli(tenora.tensor([0.5, 1.5])),
            "[bernoulli] p is no probability: got elements outside 0 to 1",
        ),
        (
            lambda: tenora.bernoulli(tenora.tensor([math.nan])),
            "[bernoulli] p is no probability: got elements outside 0 to 1",
        ),
        (lambda: tenora.binomial(tenora.ones(1, dtype=tenora.int64), tenora.ones(1)), "[binomial] dtype not"),
        (lambda: tenora.randn(2, -1), "[randn] size: got [2, -1]"),
    ],
)
def test_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value).startswith(words), caught.value


def test_refused_draws_take_nothing() -> None:
    tenora.manual_seed(1)
    before = default_generator().philox_state()
    for call in (lambda: tenora.randint(300, (2,), dtype=tenora.uint8), lambda: tenora.randn(-1)):
        with pytest.raises(RuntimeError):
            call()
    assert default_generator().philox_state() == before


def test_spans_beyond_62_bits_reach_both_ends(backend: str) -> None:
    """int64 holds a span of 2^64 - 1; draws from it lie in all of it."""
    op_cases.judged("randint", ["int64"])
    drawn = op_cases.as_numpy(
        tenora.randint(-(2**63), 2**63 - 1, (400,), generator=Generator(2), device=op_cases.Judged.device)
    )
    assert drawn.min() < -(2**63) + 2**57 and drawn.max() > 2**63 - 2**57
    assert abs((drawn < 0).mean() - 0.5) < 0.1
