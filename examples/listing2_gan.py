"""Two networks that train each other, with an optimizer each: Listing 2 of the PyTorch paper, on the digits.

    python examples/listing2_gan.py [--epochs 60] [--seed 0] [--output FOLDER]

The generator makes images out of noise; the discriminator learns to tell them from handwritten ones, the generator to
make that hard. FOLDER receives `samples.png`, images of the generator. The number after the losses says how far the
mean of such images lies from the mean of the handwritten ones, root mean square over the pixels in [0, 1].
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from digits import load

import tenora
from tenora import nn
from tenora.utils.data import DataLoader

NOISE = 32


def make_generator() -> nn.Module:
    """Images (N, 1, 8, 8) in [0, 1] out of noise (N, NOISE)."""
    return nn.Sequential(
        nn.Linear(NOISE, 64 * 2 * 2),
        nn.Unflatten(1, (64, 2, 2)),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1),  # (N, 32, 4, 4)
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1),  # (N, 1, 8, 8)
        nn.Sigmoid(),
    )


def make_discriminator() -> nn.Module:
    """One score (N, 1) of an image (N, 1, 8, 8): high where it takes it for handwritten."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 4, stride=2, padding=1),  # (N, 32, 4, 4)
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Conv2d(32, 64, 4, stride=2, padding=1),  # (N, 64, 2, 2)
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(64 * 2 * 2, 1),
    )


class Game:
    """The two networks and their optimizers."""

    def __init__(self) -> None:
        self.generator, self.discriminator = make_generator(), make_discriminator()
        self.generator_optimizer = tenora.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.discriminator_optimizer = tenora.optim.Adam(
            self.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999)
        )
        self.loss = nn.BCEWithLogitsLoss()

    def step(self, real: tenora.Tensor) -> tuple[float, float]:
        """One step of each network; returns the losses of the discriminator and of the generator."""
        handwritten, made = tenora.ones(len(real), 1), tenora.zeros(len(real), 1)
        fake = self.generator(tenora.randn(len(real), NOISE))

        # The discriminator's step. What it says of the images made must not reach the generator: detach.
        self.discriminator_optimizer.zero_grad()
        real_loss = self.loss(self.discriminator(real), handwritten)
        real_loss.backward()
        fake_loss = self.loss(self.discriminator(fake.detach()), made)
        fake_loss.backward()  # adds to the gradients of the line before
        self.discriminator_optimizer.step()

        # The generator's step: its images shall be taken for handwritten ones.
        self.generator_optimizer.zero_grad()
        generator_loss = self.loss(self.discriminator(fake), handwritten)
        generator_loss.backward()
        self.generator_optimizer.step()
        return (real_loss + fake_loss).item(), generator_loss.item()

    @tenora.no_grad()
    def sample(self, noise: tenora.Tensor) -> tenora.Tensor:
        """Images of the generator as it is now."""
        self.generator.eval()
        images = self.generator(noise)
        self.generator.train()
        return images


def distance(images: tenora.Tensor, others: tenora.Tensor) -> float:
    """Root mean square difference of the mean images."""
    return (images.mean(dim=0) - others.mean(dim=0)).square().mean().sqrt().item()


def draw(images: tenora.Tensor, path: Path, columns: int = 10) -> None:
    """Writes a sheet of images (N, 1, 8, 8) as a PNG."""
    framed = nn.functional.pad(images.squeeze(1), (1, 1, 1, 1))  # (N, 10, 10)
    sheet = tenora.cat([tenora.cat(list(row), dim=1) for row in framed.split(columns)])
    plt.imsave(
        path,
        nn.functional.interpolate(sheet[None, None], scale_factor=4)[0, 0],
        cmap="gray_r",
        vmin=0,
        vmax=1,
    )


def main(arguments: list[str] | None = None) -> None:
    """Trains both networks and draws samples."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output" / "listing2_gan")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)

    tenora.manual_seed(options.seed)
    data = load().train
    loader = DataLoader(data, batch_size=64, shuffle=True, drop_last=True)
    game = Game()
    noise = tenora.randn(100, NOISE)
    for epoch in range(options.epochs + 1):
        if epoch:
            losses = [game.step(images) for images, _ in loader]
            means = [sum(column) / len(losses) for column in zip(*losses, strict=True)]
            print(f"epoch {epoch}: discriminator {means[0]:.4f}, generator {means[1]:.4f}, ", end="")
        else:
            print("untrained: ", end="")
        print(f"distance {distance(game.sample(noise), data.tensors[0]):.4f}", flush=True)
    draw(game.sample(noise), options.output / "samples.png")
    print(f"samples: {options.output / 'samples.png'}")


if __name__ == "__main__":
    main()
