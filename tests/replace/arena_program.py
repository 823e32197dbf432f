"""The training of examples/digits.py on the reference's memory, then on that of `own_allocator`; prints JSON.

Network, dropout, shuffling, schedule and evaluation are the program's own. The kernels are the same, so the losses must
be. The loader draws its orders from a generator of its own: dropout draws from the device's, the host's or the arena's.
"""

import json
import sys

import own_allocator
from example_programs import example

import tenora

EPOCHS = 3
digits = example("digits")


def moved(data, device):
    """A part of the data on a device."""
    return digits.TensorDataset(*(tensor.to(device) for tensor in data.tensors))


def train(device):
    """The figures of each epoch, the accuracy on the test part, and where the parameters lay."""
    data = digits.Split(*(moved(part, device) for part in digits.load()))
    tenora.set_default_device(device)
    training = digits.Training(data, EPOCHS, seed=0)
    tenora.set_default_device("cpu")
    order = tenora.Generator().manual_seed(0)
    training.loader = digits.DataLoader(data.train, digits.BATCH, shuffle=True, generator=order)
    for _ in range(EPOCHS):
        training.epoch()
    accuracy = digits.evaluate(training.net, data.test)[1]
    return training.history, accuracy, sorted({p.device.type for p in training.net.parameters()})


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
