"""Prints, for each BACKEND:DEVICE given, whose kernels ran in a training step, and whose in a backward outside of
`use_backend`; the engine's event ring tells."""

import json
import sys

import train

import tenora


def computed(recorded):
    """Names of the backends whose kernels ran."""
    assert recorded.dropped == 0
    return sorted({event["backend"] for event in recorded.events if event["kind"] == "kernel"})


def kernels_of(name, device):
    """Backends of a whole step, and of a backward alone."""
    x, y = train.data(device)
    weights = train.parameters(device)
    with tenora.use_backend(name), tenora.profiler.profile() as step:
        train.step(x, y, weights)
    with tenora.use_backend(name):
        product = x @ weights[0]
        loss = (product * product).exp().sum()
        one = tenora.ones_like(loss)
    with tenora.profiler.profile() as backward:
        loss.backward(one)
    return computed(step), computed(backward)


print(
    json.dumps(
        {name: kernels_of(name, device) for name, device in (pair.split(":") for pair in sys.argv[1:])}
    )
)
