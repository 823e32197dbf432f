"""Each part of a training gives way to one of the user's, alone, and the digits are learnt as well as before.

Where the other part computes the same, the losses are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from conftest import ALLOWED, Parts, digits

import tenora
from tenora import nn
from tenora.nn import functional as F


class Lion:
    """A user's optimizer: steps of one length in the sign of a moving average.

    No base class, no registration; `param_groups` is there for the schedule.
    """

    def __init__(self, parameters: Any, rate: float) -> None:
        self.parameters = list(parameters)
        self.averages = [tenora.zeros_like(parameter) for parameter in self.parameters]
        self.param_groups = [{"params": self.parameters, "lr": rate}]

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @tenora.no_grad()
    def step(self) -> None:
        for parameter, average in zip(self.parameters, self.averages, strict=True):
            direction = (0.9 * average + 0.1 * parameter.grad).sign()
            parameter.sub_(direction, alpha=self.param_groups[0]["lr"])
            average.lerp_(parameter.grad, 0.01)


def test_own_optimizer(parts: Parts) -> None:
    parts.optimizer = Lion(parts.model.parameters(), rate=1e-3)
    parts.stays()


def test_a_plain_generator_as_loader(parts: Parts) -> None:
    images, labels = parts.data.train.tensors

    def batches() -> Iterator[tuple[Any, Any]]:
        for chosen in tenora.randperm(len(labels)).split(digits.BATCH):
            yield images[chosen], labels[chosen]

    parts.batches = batches
    parts.stays()


def kaiming(*shape: int) -> Any:
    """A parameter with He's distribution of weights before a ReLU."""
    return nn.init.kaiming_uniform_(tenora.empty(*shape), nonlinearity="relu").requires_grad_()


def test_a_function_as_model(parts: Parts) -> None:
    first, second, last = kaiming(32, 1, 3, 3), kaiming(32, 32, 3, 3), kaiming(10, 128)

    def model(images: Any) -> Any:
        """Scores, (N, 10), of images (N, 1, 8, 8)."""
        x = F.max_pool2d(F.conv2d(images, first, padding=1).relu(), 2)  # (N, 32, 4, 4)
        x = F.max_pool2d(F.conv2d(x, second, padding=1).relu(), 2)  # (N, 32, 2, 2)
        return F.linear(x.flatten(1), last)

    parts.model, parts.mode = model, lambda training: None
    parts.optimizer = tenora.optim.AdamW([first, second, last], lr=8e-3)
    parts.stays()


Tree = dict[str, Any]


def leaves(tree: Tree) -> Iterator[Any]:
    """The tensors of a tree in its order."""
    for value in tree.values():
        yield from leaves(value) if isinstance(value, dict) else (value,)


def convolve(layer: Tree, images: Any) -> Any:
    """Convolution, normalisation over the batch, ReLU, pooling; statistics are always those of the batch."""
    x = F.conv2d(images, layer["filter"]["weight"], layer["filter"]["bias"], padding=1)
    x = F.batch_norm(x, None, None, layer["norm"]["scale"], layer["norm"]["shift"], training=True)
    return F.max_pool2d(x.relu(), 2)


def test_parameters_in_a_recursive_dict(parts: Parts) -> None:
    def layer(channels_in: int, channels: int) -> Tree:
        filters = {"weight": kaiming(channels, channels_in, 3, 3), "bias": tenora.zeros(channels)}
        return {"filter": filters, "norm": {"scale": tenora.ones(channels), "shift": tenora.zeros(channels)}}

    tree = {
        "features": {"first": layer(1, 16), "second": layer(16, 32)},
        "head": {"weight": kaiming(10, 128), "bias": tenora.zeros(10)},
    }

    def model(images: Any) -> Any:
        x = convolve(tree["features"]["second"], convolve(tree["features"]["first"], images))
        return F.linear(x.flatten(1), tree["head"]["weight"], tree["head"]["bias"])

    parts.model, parts.mode = model, lambda training: None
    parts.optimizer = tenora.optim.AdamW([leaf.requires_grad_() for leaf in leaves(tree)], lr=3e-3)
    parts.stays()
    assert all(leaf.grad is not None for leaf in leaves(tree))


class OneOfEachDigit:
    """A user's sampler, without base class: the next image of digit 0, of digit 1, ..., shuffled within each digit."""

    def __init__(self, labels: Any) -> None:
        self.labels = labels

    def __iter__(self) -> Iterator[int]:
        of_digit = [(self.labels == digit).nonzero().flatten() for digit in range(10)]
        shuffled = [places[tenora.randperm(len(places))].tolist() for places in of_digit]
        shortest = min(map(len, shuffled))
        for row in zip(*(places[:shortest] for places in shuffled), strict=True):
            yield from row

    def __len__(self) -> int:
        return 10 * int(self.labels.bincount().min())


def test_own_sampler(parts: Parts) -> None:
    sampler = OneOfEachDigit(parts.data.train.tensors[1])
    parts.batches = digits.DataLoader(parts.data.train, digits.BATCH, sampler=sampler)
    _, labels = next(iter(parts.batches))
    assert labels[:20].tolist() == [*range(10)] * 2
    parts.stays()


def shifted(samples: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """A user's collate function: a batch in which every image is moved to a side by up to a pixel."""
    padded = F.pad(tenora.stack([image for image, _ in samples]), (1, 1, 0, 0))  # (N, 1, 8, 10)
    columns = tenora.randint(0, 3, (len(samples),)).tolist()
    moved = [image[:, :, x : x + 8] for image, x in zip(padded.unbind(), columns, strict=True)]
    return tenora.stack(moved), tenora.stack([label for _, label in samples])


def test_own_collate(parts: Parts) -> None:
    parts.batches = digits.DataLoader(parts.data.train, digits.BATCH, shuffle=True, collate_fn=shifted)
    parts.stays()


def test_own_collate_that_does_what_the_usual_does(
    parts: Parts, unchanged: tuple[list[float], float]
) -> None:
    def stacked(samples: list[tuple[Any, Any]]) -> list[Any]:
        return [tenora.stack(column) for column in zip(*samples, strict=True)]

    parts.batches = digits.DataLoader(parts.data.train, digits.BATCH, shuffle=True, collate_fn=stacked)
    assert parts.train() == unchanged


class Rectified(tenora.autograd.Function):
    """A user's ReLU with its gradient."""

    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        context.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        (x,) = context.saved_tensors
        return gradient * (x > 0)


class Apply(nn.Module):
    """A layer of a function."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def test_own_autograd_function(parts: Parts, unchanged: tuple[list[float], float]) -> None:
    replaced = 0
    for stack in (parts.model.features, parts.model.classifier):
        for number, layer in enumerate(stack):
            if isinstance(layer, nn.ReLU):
                stack[number] = Apply(Rectified.apply)
                replaced += 1
    assert replaced == 3
    assert parts.train() == unchanged


def test_a_part_that_does_not_learn_is_noticed(parts: Parts) -> None:
    class Idle(Lion):
        def step(self) -> None:
            pass

    parts.optimizer = Idle(parts.model.parameters(), rate=0.0)
    assert parts.train()[1] < parts.usual - ALLOWED
