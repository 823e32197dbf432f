"""Trains a small network on several backends in one process and switches in the middle; prints JSON.

Usage: python train.py BACKEND:DEVICE ...
"""

import json
import sys
from contextlib import nullcontext

import tenora
import tenora.nn.functional as F

SAMPLES, FEATURES, HIDDEN, CLASSES = 12, 4, 8, 3


def data(device):
    """The same numbers everywhere, made without random numbers."""
    x = [[((7 * i + 3 * j) % 11) / 11 - 0.5 for j in range(FEATURES)] for i in range(SAMPLES)]
    y = [(i * i) % CLASSES for i in range(SAMPLES)]
    return tenora.tensor(x).to(device), tenora.tensor(y).to(device)


def parameters(device):
    """Weights and biases of two layers."""

    def weights(rows, columns):
        return [[((5 * i + 2 * j) % 13) / 13 - 0.5 for j in range(columns)] for i in range(rows)]

    values = [weights(FEATURES, HIDDEN), [0.0] * HIDDEN, weights(HIDDEN, CLASSES), [0.0] * CLASSES]
    return [tenora.tensor(value).to(device).requires_grad_() for value in values]


def step(x, y, weights):
    """Forward, backward, gradient descent; returns the loss."""
    w1, b1, w2, b2 = weights
    hidden = tenora.relu(x @ w1 + b1)
    loss = F.cross_entropy(hidden @ w2 + b2, y)
    loss.backward()
    with tenora.no_grad():
        for weight in weights:
            weight -= 0.5 * weight.grad
            weight.grad = None
    return loss.item()


def train(schedule, device, steps=12):
    """`schedule(i)` gives the context of step i. Returns losses and final parameters."""
    x, y = data(device)
    weights = parameters(device)
    losses = []
    for number in range(steps):
        with schedule(number):
            losses.append(step(x, y, weights))
    return losses, [value for weight in weights for value in weight.detach().cpu().reshape(-1).tolist()]


def main():
    report = {}
    pairs = [argument.split(":") for argument in sys.argv[1:]]
    for name, device in pairs:
        chosen = (
            (lambda _, name=name: tenora.use_backend(name)) if name != "auto" else (lambda _: nullcontext())
        )
        report[name] = train(chosen, device)
    hosts = [name for name, device in pairs if device == "cpu" and name != "auto"]
    report["switching"] = train(lambda number: tenora.use_backend(hosts[number % len(hosts)]), "cpu")
    report["halfway"] = train(lambda number: tenora.use_backend(hosts[0] if number < 6 else hosts[-1]), "cpu")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
