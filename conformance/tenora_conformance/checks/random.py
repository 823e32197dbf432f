"""Random numbers: the ones that the protocol states, and distributed as their op says.

- `drawn`: what a seed gives is bit-identical to the oracle's where the record says exact (bits, uniform numbers,
  whole numbers, permutations), and within its class where stated formulas follow (normal, exponential, ...).
- `again`: the same seed gives the same numbers a second time, and others from a later offset on.
- `@random`: thousands of words, at offsets that carry into the counter's second word; laws, with fixed seeds; numbers
  drawn by a tensor of parameters have derivative 0 by each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

import tenora
import tenora_ops
from tenora_conformance.checks.asking import asking, level_of
from tenora_conformance.judge.calls import answer, prepare, samples_of
from tenora_conformance.judge.compare import fetched, judge, result_dtype, shown
from tenora_conformance.judge.laws import judge_law
from tenora_conformance.judge.layouts import LAYOUTS
from tenora_conformance.model import Case, Check, Failed, Level, Outcome
from tenora_conformance.subject import Subject, judged_by, watch
from tenora_ops.random import words
from tenora_ops.record import Record
from tenora_ops.samples import Seed

SCRIPTS = "@random"
COUNT = 20_000
#: Another offset to draw from, and how many different numbers a draw must hold for it to show.
LATER, TELLING = 11, 4
Draws = Callable[[Subject, Any], Any]


def draws(record: Record) -> bool:
    """Whether a record takes a generator."""
    return any(p.type == "Generator?" for p in record.schema.parameters)


def scripts() -> Iterator[Case]:
    """Words in plenty; every law."""
    for number in range(len(PLENTY)):
        yield Case(SCRIPTS, "uint32", "-", f"{number}:words", Level.L2, "random")
    for name, (dtype, *_) in LAWS.items():
        yield Case(SCRIPTS, dtype, "-", f"{name}:law", Level.L2, "random")
    for name in LEVEL:
        yield Case(SCRIPTS, "float32", "-", f"{name}:level", Level.L3, "random")


def cases_of(name: str) -> tuple[Case, ...]:
    """The samples of one record, where it draws."""
    record, found = tenora_ops.record(name), []
    if not draws(record):
        return ()
    for dtype in record.dtypes:
        for number, sample in enumerate(samples_of(name, dtype)):
            if isinstance(sample.options.get("generator"), Seed):
                kinds = ("drawn", "again") if number < 2 else ("drawn",)
                found += [
                    Case(name, dtype, "contiguous", f"{number}:{kind}", level_of(record), "random")
                    for kind in kinds
                ]
    return tuple(found)


def run(case: Case, subject: Subject) -> Outcome:
    """One draw, one repetition, many words, one law, or the derivatives of one."""
    outcome = Outcome()
    kind = case.sample.partition(":")[2]
    with judged_by(subject):
        if kind == "words":
            _words(*PLENTY[int(case.number)], subject, outcome)
        elif kind == "law":
            _law(case.number, subject, outcome)
        elif kind == "level":
            _level(case.number, subject, outcome)
        else:
            record, sample = tenora_ops.record(case.op), samples_of(case.op, case.dtype)[int(case.number)]
            with asking(record, sample):
                (_drawn if kind == "drawn" else _again)(record, case, subject, outcome)
    return outcome


def _drawn(record: Record, case: Case, subject: Subject, outcome: Outcome) -> None:
    sample = samples_of(case.op, case.dtype)[int(case.number)]
    call = prepare(record, sample, LAYOUTS[case.layout], subject)
    with watch(subject, outcome):
        got = call()
    wanted = np.asarray(answer(record, sample))
    name = result_dtype(record, case.dtype, wanted, sample)
    found = fetched(got)
    if found.shape != wanted.shape or str(got.dtype) != f"tenora.{name}":
        raise Failed(f"got {got.dtype}{found.shape}, expected {name}{wanted.shape}")
    if record.tolerance == "exact" and found.tobytes() != wanted.astype(found.dtype).tobytes():
        raise Failed(f"numbers that are exact: got {shown(found)}, expected {shown(wanted)}, bit by bit")
    outcome.worst = judge(found, wanted, name, record.tolerance)


def _again(record: Record, case: Case, subject: Subject, outcome: Outcome) -> None:
    sample = samples_of(case.op, case.dtype)[int(case.number)]
    found = []
    for offset in (0, 0, LATER):
        call = prepare(record, sample, LAYOUTS[case.layout], subject)
        call.options["generator"].set_offset(offset)
        with watch(subject, outcome):
            found.append(fetched(call()))
        if found[0].size and call.options["generator"].philox_state()[1] <= offset:
            raise Failed("a draw takes nothing from its generator")
    if found[0].tobytes() != found[1].tobytes():
        raise Failed("the same seed gave other numbers a second time")
    if len(set(found[0].ravel().tolist())) >= TELLING and found[0].tobytes() == found[2].tobytes():
        raise Failed(
            f"numbers from offset {LATER} on: got those of offset 0, {shown(found[0])}, expected others"
        )


#: Seed, offset in blocks of four words, number of words.
PLENTY = ((9, 0, 30_000), (2**64 - 1, 2**32 - 3, 1_000), (2**32 + 5, 2**64 - 300, 1_003), (0, 1, 63))


def _words(seed: int, offset: int, count: int, subject: Subject, outcome: Outcome) -> None:
    generator = tenora.Generator().manual_seed(seed)
    generator.set_offset(offset)
    draw = tenora_ops.REGISTERED["random_bits"]
    with watch(subject, outcome):
        got = draw((count,), generator=generator, device=subject.device)
    found = fetched(got)
    first, last = 200, count - count % 4
    for begin, end in ((0, min(first, count)), (last - min(40, last), count)):
        wanted = np.array(words(seed, end - begin, offset + begin // 4), np.uint32)
        if not np.array_equal(found[begin:end], wanted):
            at = begin + int(np.flatnonzero(found[begin:end] != wanted)[0])
            raise Failed(
                f"word {at} of seed {seed} at offset {offset}: got {found[at]}, expected {wanted[at - begin]}"
            )
    state = generator.philox_state()
    expected = (offset + -(-count // 4)) % 2**64
    if state != (seed, expected):
        raise Failed(f"state after {count} words: got {state}, expected {(seed, expected)}")


def blank(subject: Subject, dtype: str = "float32", value: float = 0.0) -> Any:
    """Many equal numbers on the device."""
    return tenora.full((COUNT,), value, dtype=subject.dtype(dtype), device=subject.device)


#: dtype, whether the law is discrete, the law, and what draws from it.
LAWS: dict[str, tuple[str, bool, Any, Draws]] = {
    "rand": (
        "float32",
        False,
        stats.uniform(),
        lambda s, g: tenora.rand(COUNT, generator=g, device=s.device),
    ),
    "rand64": (
        "float64",
        False,
        stats.uniform(),
        lambda s, g: tenora.rand(COUNT, generator=g, dtype=tenora.float64, device=s.device),
    ),
    "uniform_": (
        "float32",
        False,
        stats.uniform(-1.0, 4.0),
        lambda s, g: blank(s).uniform_(-1.0, 3.0, generator=g),
    ),
    "randn": ("float32", False, stats.norm(), lambda s, g: tenora.randn(COUNT, generator=g, device=s.device)),
    "normal_": ("float32", False, stats.norm(1.0, 2.0), lambda s, g: blank(s).normal_(1.0, 2.0, generator=g)),
    "exponential_": (
        "float32",
        False,
        stats.expon(scale=1 / 1.5),
        lambda s, g: blank(s).exponential_(1.5, generator=g),
    ),
    "cauchy_": (
        "float32",
        False,
        stats.cauchy(1.0, 2.0),
        lambda s, g: blank(s).cauchy_(1.0, 2.0, generator=g),
    ),
    "log_normal_": (
        "float32",
        False,
        stats.lognorm(0.25, scale=float(np.exp(0.5))),
        lambda s, g: blank(s).log_normal_(0.5, 0.25, generator=g),
    ),
    "randint": (
        "int64",
        True,
        stats.randint(-3, 9),
        lambda s, g: tenora.randint(-3, 9, (COUNT,), generator=g, device=s.device),
    ),
    "random_": ("float32", True, stats.randint(-5, 100), lambda s, g: blank(s).random_(-5, 100, generator=g)),
    "geometric_": ("float32", True, stats.geom(0.3), lambda s, g: blank(s).geometric_(0.3, generator=g)),
    "bernoulli_": ("float32", True, stats.bernoulli(0.3), lambda s, g: blank(s).bernoulli_(0.3, generator=g)),
    "bernoulli": (
        "float32",
        True,
        stats.bernoulli(0.8),
        lambda s, g: tenora.bernoulli(blank(s, value=0.8), generator=g),
    ),
    "poisson": ("float32", True, stats.poisson(4.3), lambda s, g: tenora.poisson(blank(s, value=4.3), g)),
    "poisson_of_many": (
        "float32",
        True,
        stats.poisson(250.0),
        lambda s, g: tenora.poisson(blank(s, value=250.0), g),
    ),
    "binomial": (
        "float32",
        True,
        stats.binom(10, float(np.float32(0.3))),
        lambda s, g: tenora.binomial(blank(s, value=10.0), blank(s, value=0.3), g),
    ),
    "multinomial": (
        "float32",
        True,
        stats.rv_discrete(values=((0, 1, 2, 3), (0.25, 0.125, 0.5, 0.125))),
        lambda s, g: tenora.multinomial(
            tenora.tensor([2.0, 1.0, 4.0, 1.0], device=s.device), COUNT, replacement=True, generator=g
        ),
    ),
}


def _law(name: str, subject: Subject, outcome: Outcome) -> None:
    _, discrete, law, draw = LAWS[name]
    with watch(subject, outcome):
        got = draw(subject, tenora.Generator().manual_seed(12))
    outcome.worst = judge_law(fetched(got).astype(np.float64).ravel(), law, discrete)


#: What draws by tensors of parameters, and a value of each.
LEVEL: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "bernoulli": (tenora.bernoulli, (0.25,)),
    "normal": (tenora.normal, (1.0, 2.0)),
    "poisson": (tenora.poisson, (4.0,)),
    "binomial": (tenora.binomial, (10.0, 0.25)),
}


def _level(name: str, subject: Subject, outcome: Outcome) -> None:
    """One parameter after the other is asked for its gradient, alone: it has one, of zeros."""
    draw, values = LEVEL[name]
    for asked in range(len(values)):
        given = [tenora.full((5,), value, device=subject.device) for value in values]
        given[asked].requires_grad_(True)
        with watch(subject, outcome):
            drawn = draw(*given, generator=tenora.Generator().manual_seed(3))
            if drawn.requires_grad:
                drawn.sum().backward()
        if given[asked].grad is None or fetched(given[asked].grad).any():
            raise Failed(f"gradient of {name} by parameter {asked}: got {given[asked].grad}, expected zeros")


CHECK = Check("random", run, cases_of, scripts, lowest=Level.L1)
