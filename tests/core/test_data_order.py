"""The order of a loader comes from its seed alone: on every backend, epoch by epoch, whatever loads."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch.utils.data as theirs
from data_outcomes import stream
from draws import generator

import tenora
import tenora.utils.data as ours
from tenora.utils.data import dataloader
from tenora.utils.data.sampler import draw_seed

COUNT = 20


def orders(seed: int | None, epochs: int = 2, **arguments: Any) -> list[list[int]]:
    """The order of some epochs, from a generator of its own or from the default one."""
    own = None if seed is None else generator(seed)
    arguments = {"batch_size": 3, "shuffle": True, **arguments}
    loader = ours.DataLoader(range(COUNT), generator=own, **arguments)
    return [tenora.cat(list(loader)).tolist() for _ in range(epochs)]


# What a seed gives may not change from one version to the next: runs are continued, and repeated elsewhere.
FIXED = {
    "generator": lambda: orders(5, epochs=1)[0],
    "manual_seed": lambda: tenora.manual_seed(5) and orders(None, epochs=1)[0],
    "replacement": lambda: list(ours.RandomSampler(range(9), True, 12, generator(5))),
    "subset": lambda: list(ours.SubsetRandomSampler(range(9), generator(5))),
    "weighted": lambda: list(ours.WeightedRandomSampler([1.0, 2.0, 3.0], 12, generator=generator(5))),
    "distributed": lambda: list(ours.DistributedSampler(range(12), 2, 1, seed=5)),
    "split": lambda: list(ours.random_split(range(12), [6, 6], generator(5))[0]),
}
EXPECTED = {
    "generator": [5, 9, 18, 17, 14, 3, 11, 7, 0, 16, 8, 1, 12, 4, 6, 19, 13, 15, 2, 10],
    "manual_seed": [9, 16, 4, 0, 2, 1, 8, 12, 5, 3, 14, 6, 17, 15, 7, 10, 18, 13, 11, 19],
    "replacement": [6, 0, 8, 8, 3, 1, 5, 1, 8, 6, 2, 1],
    "subset": [7, 5, 2, 3, 6, 8, 0, 4, 1],
    "weighted": [2, 2, 1, 2, 2, 1, 2, 0, 2, 1, 2, 0],
    "distributed": [11, 9, 10, 6, 0, 1],
    "split": [7, 11, 5, 9, 2, 10],
}


@pytest.mark.parametrize("name", FIXED)
def test_a_seed_gives_one_order_everywhere(name: str, backend: str) -> None:
    assert FIXED[name]() == EXPECTED[name]


def test_epochs_differ_and_repeat(backend: str) -> None:
    first = orders(1)
    assert first[0] != first[1]
    assert first == orders(1) != orders(2)
    tenora.manual_seed(1)
    second = orders(None)
    tenora.manual_seed(1)
    assert second == orders(None)


def test_the_way_of_loading_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataloader, "_told_of_workers", True)
    expected = orders(1)
    assert orders(1, num_workers=2) == expected
    assert orders(1, batch_size=7) == expected
    tensors = ours.TensorDataset(tenora.arange(COUNT))
    loader = ours.DataLoader(tensors, 3, shuffle=True, generator=generator(1))
    assert [tenora.cat([x for (x,) in loader]).tolist() for _ in range(2)] == expected
    names = ours.DataLoader(range(COUNT), 3, shuffle=True, generator=generator(1), collate_fn=list)
    assert [sum(names, []) for _ in range(2)] == expected


def test_an_epoch_can_be_continued_from_its_states() -> None:
    """Generators are where they were after as many epochs, so a run that stopped goes on as if it had not."""
    own = generator(3)
    loader = ours.DataLoader(range(COUNT), 4, shuffle=True, generator=own)
    list(loader)
    state = own.get_state()
    second = tenora.cat(list(loader)).tolist()
    again = tenora.Generator()
    again.set_state(state)
    continued = ours.DataLoader(range(COUNT), 4, shuffle=True, generator=again)
    assert tenora.cat(list(continued)).tolist() == second


@pytest.mark.parametrize("seeded", ["own", "default"])
def test_what_an_epoch_draws(seeded: str) -> None:
    """One base seed when the iterator is made; the order when the first batch is asked for."""
    own = generator(3) if seeded == "own" else None
    loader = ours.DataLoader(range(COUNT), COUNT, shuffle=True, generator=own)
    replay = generator(3)
    tenora.manual_seed(3)
    iterator = iter(loader)
    assert iterator._base_seed == draw_seed(replay)
    drawn = own or tenora.random.default_generator()
    assert tenora.equal(drawn.get_state(), replay.get_state())
    order = next(iterator).tolist()
    source = replay if seeded == "own" else generator(draw_seed(replay))
    assert order == tenora.randperm(COUNT, generator=source).tolist()
    assert tenora.equal(drawn.get_state(), replay.get_state())


def test_an_epoch_in_order_draws_the_base_seed_only() -> None:
    tenora.manual_seed(3)
    list(ours.DataLoader(range(COUNT), generator=generator(1)))
    assert tenora.equal(tenora.get_rng_state(), generator(3).get_state())
    list(ours.DataLoader(range(COUNT)))
    replay = generator(3)
    draw_seed(replay)
    assert tenora.equal(tenora.get_rng_state(), replay.get_state())


def test_an_unfinished_epoch_leaves_the_next_its_own_order() -> None:
    expected = orders(4)
    loader = ours.DataLoader(range(COUNT), 3, shuffle=True, generator=generator(4))
    next(iter(loader))
    assert tenora.cat(list(loader)).tolist() == expected[1]


def test_workers_are_accepted_and_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataloader, "_told_of_workers", False)
    arguments = {
        "num_workers": 2,
        "timeout": 5,
        "persistent_workers": True,
        "multiprocessing_context": "spawn",
    }
    with pytest.warns(UserWarning, match="loaded in this process") as caught:
        loader = ours.DataLoader([1, 2, 3], batch_size=2, worker_init_fn=print, **arguments)
    assert caught[0].filename == __file__
    assert (loader.prefetch_factor, loader.multiprocessing_context.get_start_method()) == (2, "spawn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = ours.DataLoader([1], num_workers=1, prefetch_factor=0)
    assert [batch.tolist() for batch in loader] == [[1, 2], [3]]
    assert [batch.tolist() for batch in again] == [[1]]
    assert ours.get_worker_info() is None


@pytest.mark.parametrize("kind", ["map", "stream"])
def test_persistent_workers_keep_their_iterator(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataloader, "_told_of_workers", True)
    data = [1, 2, 3] if kind == "map" else stream(ours, 1, 2, 3)
    loader = ours.DataLoader(data, 2, num_workers=1, persistent_workers=True)
    first = iter(loader)
    assert [batch.tolist() for batch in first] == [[1, 2], [3]]
    assert iter(loader) is first
    assert [batch.tolist() for batch in first] == [[1, 2], [3]]


def test_pinning_without_accelerator_is_told() -> None:
    told = ["pin_memory_device", "no accelerator"]
    for d in (ours, theirs):
        with pytest.warns(UserWarning) as caught:
            assert list(d.DataLoader(["a"], pin_memory=True, pin_memory_device="x")) == [["a"]]
        assert [
            word for word, warning in zip(told, caught, strict=True) if word in str(warning.message)
        ] == told
        assert d is theirs or {warning.filename for warning in caught} == {__file__}


def test_pinning_reaches_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sentence:
        def pin_memory(self) -> str:
            return "pinned"

    pin = ours._utils.pin_memory.pin_memory
    batch = [{"a": (Sentence(), 1)}, range(2), "text"]
    assert pin(batch) == [{"a": ("pinned", 1)}, [0, 1], "text"]
    monkeypatch.setattr(ours.iteration, "served_type", lambda: "cuda")
    loader = ours.DataLoader([1], collate_fn=lambda batch: [Sentence()], pin_memory=True)
    assert list(loader) == [["pinned"]]


def test_import_loads_nothing_of_it() -> None:
    code = "import sys, tenora; print([m for m in sys.modules if m.startswith('tenora.utils.data')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
