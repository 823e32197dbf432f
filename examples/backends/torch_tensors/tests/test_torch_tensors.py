"""torch_tensors's own tests: it is found, it computes, and its tensors lie in memory of PyTorch's.

What every backend has to do is judged by `tenora-conformance run torch_tensors`.
"""

import gc
from collections.abc import Iterator

import pytest
import torch

import tenora
from tenora_torch_tensors.memory import Memory, bytes_at

DEVICE = "torch"


@pytest.fixture(autouse=True)
def computing() -> Iterator[None]:
    """Every test computes with torch_tensors, each kernel under guard."""
    with tenora.use_backend("torch_tensors"), tenora.debug.guard("torch_tensors"):
        yield


def test_it_computes() -> None:
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]], device=DEVICE)
    assert (x @ x.t() + 1).tolist() == [[6.0, 12.0], [12.0, 26.0]]
    assert x.sum(dim=0).tolist() == [4.0, 6.0]


def test_layouts_and_indices() -> None:
    x = tenora.arange(12, device=DEVICE).reshape(3, 4)
    assert x.t()[::2].flip(1).tolist() == [[8, 4, 0], [10, 6, 2]]
    assert x[::-1, ::-2].tolist() == [[11, 9], [7, 5], [3, 1]]  # negative steps, which PyTorch's tensors lack
    x[1:, ::2] += 100
    assert x[tenora.tensor([2, 0], device=DEVICE)].tolist() == [[108, 9, 110, 11], [0, 1, 2, 3]]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[tenora.tensor([0, 3, 4], device=DEVICE)] = 0
    assert x[0].tolist() == [0, 1, 2, 3]  # nothing was written before the wrong index was met


def test_it_trains() -> None:
    tenora.manual_seed(0)
    net = tenora.nn.Sequential(tenora.nn.Linear(2, 8), tenora.nn.Tanh(), tenora.nn.Linear(8, 1)).to(DEVICE)
    optimizer = tenora.optim.SGD(net.parameters(), lr=0.1)
    inputs = tenora.rand(64, 2, device=DEVICE)
    losses = []
    for _ in range(50):
        loss = ((net(inputs) - inputs.sum(dim=1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


def test_a_layer_runs_as_one_kernel() -> None:
    """Convolution and both of its gradients are PyTorch's, not composed."""
    image = tenora.rand(2, 3, 8, 8, device=DEVICE, requires_grad=True)
    layer = tenora.nn.Conv2d(3, 4, 3, padding=1).to(DEVICE)
    recorded = tenora.profiler.profile(1 << 12)
    with recorded:
        layer(image).square().sum().backward()
    ran = [event["op"] for event in recorded.events if event["kind"] == "kernel"]
    assert {"conv2d", "conv2d_input", "conv2d_weight"} <= set(ran)
    assert "matmul" not in ran


def test_operands_share_the_memory() -> None:
    """What a kernel is handed are the bytes at the address, wherever in a block they lie."""
    memory = Memory()
    address = memory.alloc(0, 256)
    try:
        bytes_at(address, 256).zero_()
        memory.wrap(address + 64, (2, 3), (4, 16), tenora.float32, 0).fill_(1.0)
        found = memory.blocks[address].view(torch.float32)[16:28]  # strides of 1 and 4 elements
        assert found.tolist() == [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    finally:
        memory.release(0, address, 256)
    assert not memory.blocks


def test_too_much_memory_is_an_error_of_tenora() -> None:
    with pytest.raises(tenora.OutOfMemoryError):
        tenora.empty(1 << 50, dtype=tenora.uint8, device=DEVICE)
    gc.collect()
    assert tenora.ones(3, device=DEVICE).sum().item() == 3
