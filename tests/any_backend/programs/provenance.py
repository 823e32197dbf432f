"""Prints, for each BACKEND:DEVICE given, whose kernels ran in a training step; the engine's event ring tells."""

import json
import sys

import train

import tenora
from tenora_engine import _engine


def kernels_of(name, device):
    """Names of the backends whose kernels ran."""
    x, y = train.data(device)
    weights = train.parameters(device)
    with tenora.use_backend(name):
        train.step(x, y, weights)
        _engine.ring_start(100_000)
        train.step(x, y, weights)
        _engine.ring_stop()
    return sorted({event["backend"] for event in _engine.ring_take() if event["kind"] == "kernel"})


print(
    json.dumps(
        {name: kernels_of(name, device) for name, device in (pair.split(":") for pair in sys.argv[1:])}
    )
)
