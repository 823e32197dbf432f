"""A network trained on the simulated device follows the reference, in any order that its streams allow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sim_device
from sim_device import simulated

import tenora
import tenora_dispatch
from tenora import nn

KERNELS = Path(__file__).parents[2] / "backends" / "sim" / "src" / "kernels"


def curve(device: str, optimizer: str) -> list[float]:
    """Losses of a small perceptron on fixed data."""
    tenora.manual_seed(7)
    points = tenora.rand(32, 6)
    targets = (points.sum(1, keepdim=True) > 3).float()
    network = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    points, targets = points.to(device), targets.to(device)
    rate = {"SGD": 1.0, "Adam": 0.05}[optimizer]
    steps = getattr(tenora.optim, optimizer)(network.parameters(), lr=rate)
    losses = []
    for _ in range(25):
        steps.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(network(points), targets)
        loss.backward()
        steps.step()
        losses.append(loss)
    return [loss.item() for loss in losses]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize(
    ("policy", "seed"), [*((p, 1) for p in sim_device.POLICIES), ("random", 2), ("pct", 2)]
)
def test_training_follows_the_reference(optimizer: str, policy: str, seed: int) -> None:
    with tenora.use_backend("reference"):
        expected = curve("cpu", optimizer)
    assert expected[-1] < 0.9 * expected[0]
    with simulated(policy, seed), tenora.use_backend("reference"):
        assert curve("sim", optimizer) == pytest.approx(expected, rel=1e-4)
        assert sim_device.reports() == []


def test_ring_0_is_short_enough_to_copy() -> None:
    """Every file below src/kernels counts. They are all of ring 0: what the device registers is in them, not beside."""
    files = [path for path in KERNELS.rglob("*") if path.is_file()]
    lines = sum(len(path.read_text().splitlines()) for path in files)
    assert lines <= 800, f"{lines} lines of kernels: a template must stay readable"
    with tenora.use_backend("sim"):
        registered = tenora_dispatch.kernels("sim")
    inside = "".join(path.read_text() for path in files)
    assert len(registered) > 40 and [op for op in registered if f'"{op}"' not in inside] == []
    beside = [path for path in KERNELS.parent.iterdir() if path.suffix in (".cpp", ".h")]
    kernel = re.compile(r"int32_t \w+\(tnr_call\*|push_back\(kernel|TNR_KERNEL_")
    assert kernel.search(inside)
    assert [path.name for path in beside if kernel.search(path.read_text())] == []
