"""The models in which mistakes are seeded: small, and nested as users' models are."""

from __future__ import annotations

from typing import Any

Framework = Any


def block_with_linear(torch: Framework) -> Any:
    """A class of blocks: `linear`, of three features; the program sets `odd` in the one that it makes a mistake in."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.odd = False

        def forward(self, x: Any) -> Any:
            return self.linear(x)

    return Block


def nested(torch: Framework, block: Any, depth: int = 4) -> Any:
    """`Net` with `encoder.layers.0` to `encoder.layers.{depth - 1}` (instances of `block`) and a `head`."""

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(block() for _ in range(depth))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = Encoder()
            self.head = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.head(self.encoder(x))

    return Net()
