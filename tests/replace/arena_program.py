"""Trains the digits network on the memory of `own_allocator` and, the same way, on the reference's; prints JSON.

The kernels are the same, so the losses must be.
"""

import json
import sys

import own_allocator
from example_programs import example

import tenora

EPOCHS = 2
digits = example("digits")


def train(device):
    """The loss of each epoch and the accuracy on the test part, on a device."""
    tenora.manual_seed(0)
    data = digits.load()
    net = digits.Net(channels=8, hidden=32, dropout=0.0).to(device)
    optimizer = tenora.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(EPOCHS):
        net.train()
        batches = [
            (images.to(device), labels.to(device)) for images, labels in digits.DataLoader(data.train, 64)
        ]
        losses.append(digits.train_epoch(net, batches, optimizer)[0])
    net.eval()
    test = digits.TensorDataset(*(part.to(device) for part in data.test.tensors))
    return losses, digits.evaluate(net, test)[1]


def main():
    """Both trainings, what the allocator saw, and whether it got everything back."""
    with tenora.use_backend("reference"):
        usual = train("cpu")
    arena = own_allocator.ARENA
    assert arena.requests == 0
    own = train("arena")
    handed_out = arena.requests
    tenora.arena.empty_cache()
    json.dump({"usual": usual, "own": own, "requests": handed_out, "kept": len(arena.live)}, sys.stdout)


if __name__ == "__main__":
    main()
