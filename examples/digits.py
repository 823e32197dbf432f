"""Trains a small network on the 1,797 handwritten digits that ship inside scikit-learn.

    python examples/digits.py [--epochs 40] [--seed 0] [--plot digits.png]

The last line is the accuracy on the held-out fifth of the images; the plot shows the loss of every epoch.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import tenora
from tenora import nn

matplotlib.use("Agg")
import matplotlib.pyplot as plt


class Net(nn.Module):
    """Two hidden layers; 64 pixels in, 10 digits out."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(64, 128)
        self.second = nn.Linear(128, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x: tenora.Tensor) -> tenora.Tensor:
        """Class scores, (N, 10), of images (N, 64)."""
        x = self.hidden(x).relu()
        x = self.second(x).relu()
        return self.out(x)


def load() -> tuple[tenora.Tensor, tenora.Tensor, tenora.Tensor, tenora.Tensor]:
    """Images (N, 64) in [0, 1] and labels (N,), for training and for testing."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images / 16.0, labels, test_size=0.2, random_state=0, stratify=labels)
    train_x, test_x = (tenora.from_numpy(part).float() for part in parts[:2])
    train_y, test_y = (tenora.from_numpy(part).long() for part in parts[2:])
    return train_x, test_x, train_y, test_y


def train(net: Net, x: tenora.Tensor, y: tenora.Tensor, epochs: int, batch: int = 32) -> list[float]:
    """Trains in place and returns the mean loss of every epoch."""
    optimizer = tenora.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    loss_function = nn.CrossEntropyLoss()
    losses = []
    progress = trange(epochs, unit="epoch")
    for _ in progress:
        total = 0.0
        order = tenora.randperm(len(x))
        for start in range(0, len(x), batch):
            chosen = order[start : start + batch]
            loss = loss_function(net(x[chosen]), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        losses.append(total / len(x))
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses


def accuracy(net: Net, x: tenora.Tensor, y: tenora.Tensor) -> float:
    """Share of images whose highest score is their digit, in per cent."""
    with tenora.no_grad():
        return 100.0 * (net(x).argmax(dim=1) == y).float().mean().item()


def plot(losses: list[float], path: Path) -> None:
    """Writes the loss curve as a PNG."""
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.semilogy(range(1, len(losses) + 1), losses)
    axes.set(xlabel="epoch", ylabel="mean training loss", title="Handwritten digits")
    axes.grid(True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Parses the arguments, trains, tests and plots."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, default=Path("digits.png"), help="where the loss curve goes")
    arguments = parser.parse_args()

    tenora.manual_seed(arguments.seed)
    train_x, test_x, train_y, test_y = load()
    net = Net()
    losses = train(net, train_x, train_y, arguments.epochs)
    plot(losses, arguments.plot)
    print(f"backend: {tenora.current_backend('cpu')}, loss curve: {arguments.plot}")
    print(f"test accuracy: {accuracy(net, test_x, test_y):.2f} %")


if __name__ == "__main__":
    main()
