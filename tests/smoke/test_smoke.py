"""Seconds: does it import, compute, differentiate and train at all."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tenora
from tenora import nn


def test_add_and_print() -> None:
    assert repr(tenora.tensor([1.0, 2.0]) + 1) == "tensor([2., 3.])"


def test_backward() -> None:
    x = tenora.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_network_learns_xor() -> None:
    tenora.manual_seed(0)
    x = tenora.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = tenora.tensor([0, 1, 1, 0])
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = tenora.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(200):
        loss = nn.CrossEntropyLoss()(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert net(x).argmax(dim=1).tolist() == y.tolist()
    assert loss.item() < 0.05


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: tenora.ones(2, 3) + tenora.ones(4), RuntimeError, ("[add]", "[2, 3]", "[4]")),
        (lambda: tenora.ones(2, 3) @ tenora.ones(2, 3), RuntimeError, ("[matmul]", "[2, 3]")),
        (lambda: tenora.ones(2)[5], IndexError, ("5", "2")),
        (lambda: tenora.ones(2, 3).sum(dim=4), IndexError, ("[sum]", "4")),
        (lambda: tenora.ones(2).view(3), RuntimeError, ("[view]", "[3]")),
        (lambda: tenora.zeros(2**62), tenora.OutOfMemoryError, ("memory",)),
    ],
)
def test_mistakes_are_named(call: object, error: type[Exception], parts: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        call()  # type: ignore[operator]
    for part in parts:
        assert part in str(caught.value)


def test_import_loads_no_backend_and_no_plugin_machinery() -> None:
    program = (
        "import sys, tenora; "
        "heavy = [m for m in ('torch', 'scipy', 'pluggy', 'tenora_reference', 'tenora_cpu_mkl') if m in sys.modules]; "
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
