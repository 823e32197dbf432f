"""Trains a convolutional network on the 1,797 handwritten digits that ship inside scikit-learn.

    python examples/digits.py [--epochs 30] [--seed 0] [--output FOLDER] [--resume]

A fifth of the images is kept for the test at the end; a tenth of the others judges each epoch, and the weights that did
best there are the ones tested. FOLDER receives the weights, the curves and a sheet of the digits read wrongly. The
state of the training is saved after each epoch: `--resume` goes on from there, to the same bits.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")  # draws into files, needs no screen
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tenora
from tenora import nn
from tenora.optim.lr_scheduler import CosineAnnealingLR
from tenora.utils.data import DataLoader, TensorDataset

BATCH = 64
Batches = Iterable[tuple[tenora.Tensor, tenora.Tensor]]
Model = Callable[[tenora.Tensor], tenora.Tensor]


class Net(nn.Module):
    """Two convolutions with a pooling after each, then two linear layers."""

    def __init__(self, channels: int = 32, hidden: int = 128, dropout: float = 0.3) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1, bias=False),  # the norm has a shift of its own
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(2 * channels * 2 * 2, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, 10),
        )

    def forward(self, images: tenora.Tensor) -> tenora.Tensor:
        """Scores of the ten digits, (N, 10), for images (N, 1, 8, 8)."""
        return self.classifier(self.features(images))


class Split(NamedTuple):
    """The three parts of the data; each holds images (N, 1, 8, 8) in [0, 1] and labels (N,)."""

    train: TensorDataset
    validation: TensorDataset
    test: TensorDataset


def load() -> Split:
    """Reads the digits and cuts them; every part has all digits in the same proportions."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 1, 8, 8) / 16.0
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.2, random_state=0, stratify=labels
    )
    train_x, validation_x, train_y, validation_y = train_test_split(
        train_x, train_y, test_size=0.1, random_state=0, stratify=train_y
    )
    parts = [(train_x, train_y), (validation_x, validation_y), (test_x, test_y)]
    return Split(*(TensorDataset(tenora.tensor(x).float(), tenora.tensor(y).long()) for x, y in parts))


def train_epoch(model: Model, batches: Batches, optimizer: Any) -> tuple[float, float]:
    """One pass over the batches; returns the mean loss and the accuracy on the way."""
    loss_function = nn.CrossEntropyLoss()
    total = correct = seen = 0.0
    for images, labels in batches:
        scores = model(images)
        loss = loss_function(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        correct += (scores.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
    return total / seen, 100.0 * correct / seen


@tenora.no_grad()
def evaluate(model: Model, data: TensorDataset) -> tuple[float, float, tenora.Tensor]:
    """Mean loss and accuracy on all of `data`, and the digit read in each image."""
    images, labels = data.tensors
    scores = model(images)
    read = scores.argmax(dim=1)
    loss = nn.functional.cross_entropy(scores, labels)
    return loss.item(), 100.0 * (read == labels).float().mean().item(), read


class Training:
    """A network with everything its training goes on from, so that all of it is saved and loaded together."""

    def __init__(self, data: Split, epochs: int, seed: int) -> None:
        tenora.manual_seed(seed)
        self.data = data
        self.plan = {"epochs": epochs, "seed": seed}
        self.net = Net()
        self.optimizer = tenora.optim.AdamW(self.net.parameters(), lr=3e-3, weight_decay=1e-2)
        self.schedule = CosineAnnealingLR(self.optimizer, T_max=epochs)
        self.loader = DataLoader(data.train, BATCH, shuffle=True)
        self.history: list[dict[str, float]] = []

    def save(self, path: Path) -> None:
        """Writes the state; the file is replaced at once, so an interruption leaves the old or the new one."""
        state = {
            "plan": self.plan,
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "generator": tenora.get_rng_state(),  # orders of the images and dropout are drawn from it
            "history": self.history,
        }
        tenora.save(state, path)

    def resume(self, path: Path) -> None:
        """Takes the state from a file; it must come from a training with the same plan."""
        if not path.exists():
            raise SystemExit(f"there is no {path} to go on from: start without --resume")
        state = tenora.load(path)
        if state["plan"] != self.plan:
            raise SystemExit(f"{path} belongs to {state['plan']}, not to {self.plan}: start without --resume")
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        tenora.set_rng_state(state["generator"])
        self.history = state["history"]

    def epoch(self) -> dict[str, float]:
        """Trains one epoch, judges it on the validation part, and returns its figures."""
        self.net.train()
        loss, accuracy = train_epoch(self.net, self.loader, self.optimizer)
        self.schedule.step()
        self.net.eval()
        validation_loss, validation_accuracy, _ = evaluate(self.net, self.data.validation)
        self.history.append(
            {
                "loss": loss,
                "accuracy": accuracy,
                "validation loss": validation_loss,
                "validation accuracy": validation_accuracy,
            }
        )
        return self.history[-1]

    def is_best(self) -> bool:
        """Whether no epoch before the last was better; of equal accuracies the lower loss wins."""
        ranks = [(figures["validation accuracy"], -figures["validation loss"]) for figures in self.history]
        return ranks[-1] >= max(ranks)


def fit(training: Training, output: Path) -> None:
    """Trains to the planned epoch. The best weights go to `best.safetensors`, the state to `last.safetensors`."""
    done, epochs = len(training.history), training.plan["epochs"]
    with tenora.utils.progress(total=epochs, initial=done, desc="train", unit="epoch") as bar:
        for _ in range(done, epochs):
            figures = training.epoch()
            if training.is_best():
                tenora.save(training.net.state_dict(), output / "best.safetensors")
            training.save(output / "last.safetensors")
            bar.set_postfix(figures)
            bar.update()


def plot_curves(history: list[dict[str, float]], path: Path) -> None:
    """Draws loss and accuracy of every epoch."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5))
    for axes, name in zip(panels, ("loss", "accuracy"), strict=True):
        for key, label in ((name, "training"), (f"validation {name}", "validation")):
            axes.plot(range(1, len(history) + 1), [figures[key] for figures in history], label=label)
        axes.set(xlabel="epoch", ylabel=name)
        axes.grid(True, alpha=0.3)
        axes.legend()
    panels[0].set_yscale("log")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def plot_mistakes(data: TensorDataset, read: tenora.Tensor, path: Path, columns: int = 6) -> None:
    """Draws the images whose digit was read wrongly, with the right digit and the one read."""
    images, labels = data.tensors
    wrong = (read != labels).nonzero().flatten().tolist()
    rows = max(1, -(-len(wrong) // columns))
    figure, panels = plt.subplots(rows, columns, figsize=(1.4 * columns, 1.7 * rows), squeeze=False)
    for axes in panels.flat:
        axes.axis("off")
    for axes, number in zip(panels.flat, wrong, strict=False):
        axes.imshow(images[number, 0], cmap="gray_r")
        axes.set_title(f"{labels[number].item()} read as {read[number].item()}", fontsize=9)
    figure.suptitle(f"{len(wrong)} of {len(labels)} read wrongly")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def positive(text: str) -> int:
    """A number of epochs as it is typed."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is no number of epochs: give 1 or more")
    return number


def main(arguments: list[str] | None = None) -> None:
    """Parses the arguments, trains, tests and draws."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epochs", type=positive, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output" / "digits")
    parser.add_argument("--resume", action="store_true", help="go on after the last epoch that was saved")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)

    data = load()
    training = Training(data, options.epochs, options.seed)
    if options.resume:
        training.resume(options.output / "last.safetensors")
    fit(training, options.output)

    training.net.load_state_dict(tenora.load(options.output / "best.safetensors"))
    training.net.eval()
    _, accuracy, read = evaluate(training.net, data.test)
    plot_curves(training.history, options.output / "curves.png")
    plot_mistakes(data.test, read, options.output / "mistakes.png")
    print(f"backend: {tenora.current_backend('cpu')}; curves and mistakes: {options.output}")
    print(f"test accuracy: {accuracy:.2f} %")


if __name__ == "__main__":
    main()
