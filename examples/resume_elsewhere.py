"""Starts a training on one backend, saves it, goes on with another, and compares with one that was not interrupted.

    python examples/resume_elsewhere.py [--first cpu_mkl] [--second reference] [--epochs 4] [--seed 0]

Both backends draw the same random bits, so the other half differs by rounding alone; on the same backend it would be
the same to the bit. The training is that of digits.py, whose file holds all that it goes on from.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from digits import Split, Training, evaluate, load

import tenora


def go_on(training: Training, epochs: int, backend: str) -> None:
    """Trains some epochs on a backend and prints the loss of each."""
    with tenora.use_backend(backend):
        for _ in range(epochs):
            figures = training.epoch()
            print(f"epoch {len(training.history)} on {backend}: loss {figures['loss']:.6f}", flush=True)


@tenora.no_grad()
def spoil(training: Training) -> None:
    """Zeros for all that the network holds, and other random numbers."""
    for tensor in (*training.net.parameters(), *training.net.buffers()):
        tensor.zero_()
    tenora.manual_seed(training.plan["seed"] + 1)


def interrupted(data: Split, first: str, second: str, epochs: int, seed: int) -> Training:
    """Half of the epochs on the first backend, the others on the second; only a file passes between them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.safetensors"
        training = Training(data, epochs, seed)
        go_on(training, epochs // 2, first)
        training.save(path)
        training = Training(data, epochs, seed)
        spoil(training)  # all must come from the file
        training.resume(path)
    go_on(training, epochs - epochs // 2, second)
    return training


def farthest(a: Training, b: Training) -> float:
    """The largest difference between two elements of the networks' states."""
    pairs = zip(a.net.state_dict().values(), b.net.state_dict().values(), strict=True)
    return max((mine.double() - other.double()).abs().max().item() for mine, other in pairs)


def main(arguments: list[str] | None = None) -> None:
    """Trains with and without an interruption and compares."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--first", default=tenora.current_backend("cpu"), help="backend of the first half")
    parser.add_argument("--second", default="reference", help="backend of the second half")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    data = load()
    moved = interrupted(data, options.first, options.second, options.epochs, options.seed)
    whole = Training(data, options.epochs, options.seed)
    go_on(whole, options.epochs, options.first)

    for name, training in (("interrupted", moved), ("uninterrupted", whole)):
        training.net.eval()
        print(f"{name}: test accuracy {evaluate(training.net, data.test)[1]:.2f} %")
    print(f"largest difference of a weight: {farthest(moved, whole):.3g}")


if __name__ == "__main__":
    main()
