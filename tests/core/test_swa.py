"""Averages of weights and their schedule against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.optim.swa_utils as theirs
from schedules import optimizer_of, run, seen

import tenora
import tenora.optim.lr_scheduler
import tenora.optim.swa_utils as ours

BOTH = ((tenora, ours), (torch, theirs))


def values(step: int, shape: tuple[int, ...], number: int) -> Any:
    return np.random.default_rng([step, number]).standard_normal(shape)


def fill(f: Any, model: Any, step: int) -> Any:
    """Parameters and statistics of a step, the same for both."""
    with f.no_grad():
        for number, tensor in enumerate((*model.parameters(), *model.buffers())):
            if tensor.is_floating_point():
                tensor.copy_(f.tensor(np.abs(values(step, tuple(tensor.shape), number))))
            else:
                tensor.fill_(7 * step)
    return model


def network(f: Any, dtype: str = "float64") -> Any:
    layers = [
        f.nn.Conv2d(2, 3, 3),
        f.nn.BatchNorm2d(3),
        f.nn.Flatten(),
        f.nn.Linear(27, 4),
        f.nn.BatchNorm1d(4),
    ]
    return fill(f, f.nn.Sequential(*layers).to(getattr(f, dtype)), 0)


def halfway(average: Any, value: Any, number: Any) -> Any:
    return average + (value - average) / (number + 1) ** 0.5


def halfway_lists(averages: Any, new: Any, number: Any) -> None:
    assert len({(t.device, t.dtype) for t in (*averages, *new)}) == 1
    for average, value in zip(averages, new, strict=True):
        average.copy_(halfway(average, value, number))


AVERAGES: dict[str, Any] = {
    "mean": lambda a: {},
    "ema": lambda a: {"avg_fn": a.get_ema_avg_fn(0.8)},
    "ema lists": lambda a: {"multi_avg_fn": a.get_ema_multi_avg_fn(0.8)},
    "mean function": lambda a: {"avg_fn": a.get_swa_avg_fn()},
    "own": lambda a: {"avg_fn": halfway},
    "own lists": lambda a: {"multi_avg_fn": halfway_lists},
}


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
def test_averages(average: str, use_buffers: bool) -> None:
    states = []
    for f, a in BOTH:
        model = network(f)
        averaged = a.AveragedModel(model, use_buffers=use_buffers, **AVERAGES[average](a))
        assert not any(p is q for p, q in zip(averaged.parameters(), model.parameters(), strict=True))
        for step in range(1, 9):
            averaged.update_parameters(fill(f, model, step))
        states.append(averaged.state_dict())
    assert list(states[0]) == list(states[1])
    for name, tensor in states[0].items():
        expected = states[1][name]
        assert str(tensor.dtype) == str(expected.dtype).replace("torch", "tenora"), name
        np.testing.assert_allclose(np.asarray(tensor), np.asarray(expected), rtol=1e-12, err_msg=name)
    assert int(states[0]["n_averaged"]) == 8


def test_means_of_lists() -> None:
    """The weight 1 / (n + 1) is a double here; PyTorch rounds it to float32, so its float64 means are off by 1e-8."""
    means = []
    for f, a in BOTH:
        model = network(f, "float32")
        averaged = a.AveragedModel(model, multi_avg_fn=a.get_swa_multi_avg_fn())
        for step in range(1, 9):
            averaged.update_parameters(fill(f, model, step))
        means.append([np.asarray(p.detach()) for p in averaged.parameters()])
    for a, b in zip(*means, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    model = network(tenora)
    averaged = ours.AveragedModel(model, multi_avg_fn=ours.get_swa_multi_avg_fn(), use_buffers=True)
    history = []
    for step in range(1, 9):
        averaged.update_parameters(fill(tenora, model, step))
        history.append(model[0].weight.detach().numpy().copy())
    np.testing.assert_allclose(
        averaged.module[0].weight.detach().numpy(), np.mean(history, axis=0), rtol=1e-14
    )
    # Whole numbers, which PyTorch's function refuses, take the form of get_swa_avg_fn.
    counts = ours.AveragedModel(model, use_buffers=True)
    lists = ours.AveragedModel(model, use_buffers=True, multi_avg_fn=ours.get_swa_multi_avg_fn())
    for step in (1, 4, 3):
        fill(tenora, model, step)
        counts.update_parameters(model)
        lists.update_parameters(model)
    assert int(counts.module[1].num_batches_tracked) == int(lists.module[1].num_batches_tracked) == 18


def test_functions_of_averages() -> None:
    """Alone, with numbers and with whole tensors, recording nothing."""
    for name in ("get_ema_avg_fn", "get_swa_avg_fn"):
        results = []
        for f, a in BOTH:
            average = f.nn.Parameter(f.tensor([1.0, -2.0], dtype=f.float64))
            result = getattr(a, name)()(average, f.tensor([0.5, 4.0], dtype=f.float64), 3)
            assert not result.requires_grad
            results.append(result.tolist())
        assert results[0] == results[1]
    for name in ("get_ema_multi_avg_fn", "get_swa_multi_avg_fn"):
        results = []
        for f, a in BOTH:
            lists = [[f.tensor([1.0, -2.0], dtype=f.float64)], [f.tensor([0.5, 4.0], dtype=f.float64)]]
            getattr(a, name)()(*lists, 3)
            results.append(lists[0][0].tolist())
        assert results[0] == results[1]
    whole = []
    for _, (f, a) in enumerate(BOTH):
        averages = [f.tensor([8, -9])]
        a.get_ema_multi_avg_fn(0.75)(averages, [f.tensor([3, 1])], f.tensor(2))
        whole.append(averages[0].tolist())
    assert whole[0] == whole[1]


def test_calls_moves_and_states() -> None:
    """It is a module: it calls the copy, has its state and takes PyTorch's."""
    results = []
    states: list[Any] = []
    for f, a in BOTH:
        model = network(f).eval()
        averaged = a.AveragedModel(model, device="cpu").eval()
        averaged.update_parameters(fill(f, model, 1))
        averaged.update_parameters(fill(f, model, 2))
        x = f.tensor(np.linspace(-1, 1, 100).reshape(2, 2, 5, 5))
        results.append(np.asarray(averaged(x).detach()))
        states.append({name: np.asarray(t).copy() for name, t in averaged.state_dict().items()})
    np.testing.assert_allclose(results[0], results[1], rtol=1e-10)
    other = ours.AveragedModel(network(tenora))
    other.load_state_dict({name: tenora.from_numpy(np.array(value)) for name, value in states[1].items()})
    assert int(other.n_averaged) == 2
    other.update_parameters(fill(tenora, network(tenora), 3))
    for name, tensor in zip(("weight", "bias"), other.module[3].parameters(), strict=True):
        assert not np.array_equal(tensor.detach().numpy(), states[1][f"module.3.{name}"])
    for _, a in BOTH:
        with pytest.raises(AssertionError, match="avg_fn"):
            a.AveragedModel(model, avg_fn=halfway, multi_avg_fn=halfway_lists)


@pytest.mark.parametrize("form", ["tensors", "lists", "device"])
def test_update_bn(form: str) -> None:
    """The statistics of all batches with equal weight; training mode and momenta stay, gradients are not recorded."""
    results = []
    for f, a in BOTH:
        model = network(f).eval()
        model[1].momentum, model[4].momentum = 0.3, None
        batches = [f.tensor(values(step, (4 + step, 2, 5, 5), 0)) for step in range(5)]
        loader: Any = [[batch, "label"] for batch in batches] if form == "lists" else iter(batches)
        a.update_bn(loader, model, **({"device": f.device("cpu")} if form == "device" else {}))
        assert not model.training and model[1].momentum == 0.3 and model[4].momentum is None
        results.append({name: np.asarray(buffer) for name, buffer in model.named_buffers()})
    for name, value in results[0].items():
        np.testing.assert_allclose(value, results[1][name], rtol=1e-12, atol=1e-14, err_msg=name)
    assert results[0]["1.num_batches_tracked"] == 5


def test_update_bn_without_or_with_errors() -> None:
    """Nothing is run where there is nothing to compute; an error of the loader leaves the model as it was."""
    for _, a in BOTH:
        a.update_bn(None, (tenora if a is ours else torch).nn.Linear(1, 1))
    model = network(tenora).eval()

    def broken() -> Any:
        yield tenora.tensor(values(0, (4, 2, 5, 5), 0))
        raise KeyError("no more data")

    with pytest.raises(KeyError):
        ours.update_bn(broken(), model)
    assert model[1].momentum == model[4].momentum == 0.1 and not model.training


@pytest.mark.parametrize("epochs", [0, 1, 10, 150])
@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_swalr(strategy: str, epochs: int) -> None:
    """Alone over 200 steps, and after another schedule that goes on beside it."""
    told: list[list[Any]] = []
    for f, a in BOTH:
        scheduler = a.SWALR(optimizer_of(f), [0.05, 0.9], anneal_epochs=epochs, anneal_strategy=strategy)
        log: list[Any] = [seen(scheduler), *run(scheduler)]
        optimizer = optimizer_of(f)
        fall = f.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)
        swa = a.SWALR(optimizer, 0.05, anneal_epochs=epochs, anneal_strategy=strategy)
        for step in range(200):
            optimizer.step()
            fall.step()
            if step >= 50:
                swa.step()
            log.append((seen(fall), seen(swa)))
        told.append(log)
    assert told[0] == told[1]
