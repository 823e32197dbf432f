"""`Generator` and the functions of `tenora.random` have PyTorch's faces; states, copies and pickles continue alike."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import tenora
from tenora import Generator
from tenora_dispatch.errors import TenoraError

pytestmark = pytest.mark.oracle

api: Any = tenora  # mistakes are no mistakes to it

SEEDS = [0, 1, -1, -(2**63), 2**63, 2**64 - 1]


@pytest.fixture(autouse=True)
def _generators_as_before() -> Iterator[None]:
    with tenora.random.fork_rng(), torch.random.fork_rng():
        yield


def drawn(generator: Generator) -> list[float]:
    return [float(x) for x in tenora.rand(5, generator=generator).tolist()]


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_are_read_as_pytorch_does(seed: int) -> None:
    ours, theirs = Generator(), torch.Generator()
    assert ours.manual_seed(seed) is ours and theirs.manual_seed(seed) is theirs
    assert ours.initial_seed() == theirs.initial_seed()
    assert Generator(seed).initial_seed() == ours.initial_seed()
    tenora.manual_seed(seed)
    torch.manual_seed(seed)
    assert tenora.initial_seed() == torch.initial_seed()


def test_seed_draws_one() -> None:
    generator = Generator(3)
    seeds = {generator.seed() for _ in range(4)}
    assert len(seeds) == 4 and all(0 <= seed < 2**64 for seed in seeds)
    assert any(seed >= 2**32 for seed in seeds)
    assert generator.initial_seed() in seeds and generator.get_offset() == 0
    chosen = generator.seed()
    assert drawn(generator) == drawn(Generator(chosen))
    assert tenora.seed() == tenora.initial_seed()


def test_a_state_is_a_tensor_of_bytes_on_the_host() -> None:
    generator = Generator(11)
    drawn(generator)
    state = generator.get_state()
    assert (state.dtype, tuple(state.shape), str(state.device)) == (tenora.uint8, (16,), "cpu")
    expected = drawn(generator)
    assert generator.set_state(state) is generator and drawn(generator) == expected
    spread = tenora.zeros(32, dtype=tenora.uint8)
    spread[::2] = state
    assert drawn(Generator().set_state(spread[::2])) == expected


def test_the_state_of_the_default_generator() -> None:
    tenora.manual_seed(4)
    state = tenora.get_rng_state()
    expected = tenora.rand(3).tolist()
    tenora.set_rng_state(state)
    assert tenora.rand(3).tolist() == expected
    tenora.set_rng_state(state)
    with tenora.random.fork_rng():
        tenora.rand(100)
    assert tenora.rand(3).tolist() == expected


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda g: pickle.loads(pickle.dumps(g)),
        lambda g: g.clone_state(),
    ],
    ids=["copy", "deepcopy", "pickle", "clone_state"],
)
def test_copies_continue_on_their_own(copied: Callable[[Generator], Generator]) -> None:
    generator = Generator(5)
    drawn(generator)
    other = copied(generator)
    assert type(other) is Generator and other.device == generator.device
    assert other.philox_state() == generator.philox_state() == (5, 2)
    assert drawn(other) == drawn(generator)
    other.manual_seed(9)
    assert generator.initial_seed() == 5


def test_offsets() -> None:
    generator = Generator(6)
    first = drawn(generator)
    assert generator.get_offset() == 2
    assert generator.set_offset(0) is generator and drawn(generator) == first
    assert generator.advance(3) == 2 and generator.get_offset() == 5
    assert generator.set_offset(2**64 - 1).philox_state() == (6, 2**64 - 1)


def test_every_method_of_pytorch_is_there() -> None:
    public = {name for name in dir(torch.Generator) if not name.startswith("_")}
    assert {name for name in public if not name.startswith("graphsafe")} <= set(dir(Generator))


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "seed of text": (lambda: api.Generator().manual_seed("5"), TypeError, "got str, expected an int"),
    "seed of float": (lambda: api.Generator().manual_seed(1.5), TypeError, "got float"),
    "seed of bool": (lambda: api.Generator().manual_seed(True), TypeError, "got bool"),
    "seed too large": (lambda: api.Generator().manual_seed(2**64), ValueError, "got an int of 65 bits"),
    "seed too small": (
        lambda: api.Generator().manual_seed(-(2**63) - 1),
        ValueError,
        "got an int of 64 bits",
    ),
    "first seed": (lambda: api.Generator(2**64), ValueError, "[Generator] seed"),
    "everybody's seed": (lambda: api.manual_seed(2**64), ValueError, "[manual_seed] seed"),
    "everybody's text": (lambda: api.manual_seed("x"), ValueError, "[manual_seed] seed"),
    "everybody's list": (lambda: api.manual_seed([]), TypeError, "[manual_seed] seed"),
    "offset": (lambda: api.Generator().set_offset(-1), ValueError, "[set_offset] offset"),
    "advance": (lambda: api.Generator().advance(-1), ValueError, "[advance] counters"),
    "state of tuple": (lambda: api.Generator().set_state((1, 2)), TypeError, "got tuple"),
    "state of floats": (lambda: api.Generator().set_state(tenora.zeros(16)), TypeError, "got float32 on cpu"),
    "short state": (
        lambda: api.set_rng_state(tenora.zeros(3, dtype=tenora.uint8)),
        RuntimeError,
        "got 3 bytes, expected 16",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, kind, words = REFUSED[name]
    before = tenora.get_rng_state().tolist()
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, TenoraError) and words in str(caught.value)
    assert tenora.get_rng_state().tolist() == before


def test_processes_begin_with_other_seeds() -> None:
    program = "import tenora; print(tenora.initial_seed(), tenora.rand(4).tolist())"
    told = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in "ab"
    }
    assert len(told) == 2
