"""A layer written by hand inside a convolutional network: Listing 1 of the PyTorch paper, on the digits.

    python examples/listing1.py [--epochs 25] [--seed 0]

A layer is a class that makes its parameters and says what it computes; that is all it takes to be one. The paper is
Paszke et al., PyTorch: An Imperative Style, High-Performance Deep Learning Library, NeurIPS 2019.
"""

from __future__ import annotations

import argparse

from digits import evaluate, load, train_epoch

import tenora
from tenora import nn
from tenora.utils.data import DataLoader


class LinearLayer(nn.Module):
    """A linear layer, out of a matrix product and a sum."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(tenora.randn(inputs, outputs) / inputs**0.5)
        self.bias = nn.Parameter(tenora.zeros(outputs))

    def forward(self, activations: tenora.Tensor) -> tenora.Tensor:
        """(N, outputs) of (N, inputs)."""
        return tenora.mm(activations, self.weight) + self.bias


class BasicModel(nn.Module):
    """One convolution, the greatest answer of each filter in each quarter of the image, and the layer above."""

    def __init__(self, filters: int = 64) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, filters, 3)
        self.linear = LinearLayer(4 * filters, 10)

    def forward(self, images: tenora.Tensor) -> tenora.Tensor:
        """Scores of the ten digits, (N, 10), for images (N, 1, 8, 8)."""
        answers = nn.functional.relu(self.convolution(images))  # (N, filters, 6, 6)
        strongest = nn.functional.max_pool2d(answers, 3)  # (N, filters, 2, 2)
        return self.linear(strongest.flatten(start_dim=1))


def main(arguments: list[str] | None = None) -> None:
    """Trains, then reports the accuracy on the test images."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    tenora.manual_seed(options.seed)
    data = load()
    model = BasicModel()
    optimizer = tenora.optim.Adam(model.parameters(), lr=5e-3)
    loader = DataLoader(data.train, batch_size=64, shuffle=True)
    for epoch in range(1, options.epochs + 1):
        loss, accuracy = train_epoch(model, loader, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.2f} %", flush=True)
    print(f"test accuracy: {evaluate(model, data.test)[1]:.2f} %")


if __name__ == "__main__":
    main()
