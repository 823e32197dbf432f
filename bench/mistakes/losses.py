"""Wrong inputs of losses, and NaNs whose source anomaly mode has to find."""

from __future__ import annotations

from typing import Any

from bench.mistakes.models import Framework, nested
from bench.mistakes.seeded import Mistake, mistake

MISTAKES: list[Mistake] = []


@mistake(MISTAKES, "wrong loss input", path="loss", op="cross_entropy", values=(r"\b4\b", r"\b2\b"))
def targets_of_another_batch_size(torch: Framework) -> None:
    """The criterion is a part of the model."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3, 5)
            self.loss = torch.nn.CrossEntropyLoss()

        def forward(self, x: Any, target: Any) -> Any:
            return self.loss(self.head(x), target)  # mistake

    Model()(torch.ones(2, 3), torch.zeros(4, dtype=torch.int64))


@mistake(
    MISTAKES,
    "wrong loss input",
    path="criterion.parts.1",
    op=("cross_entropy", "nll_loss"),
    values=(r"\b7\b",),
)
def target_that_is_no_class(torch: Framework) -> None:
    """A label of 7 for five classes, in the second of two losses."""

    class Criterion(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList([torch.nn.MSELoss(), torch.nn.CrossEntropyLoss()])

        def forward(self, scores: Any, target: Any) -> Any:
            return self.parts[1](scores, target)  # mistake

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Linear(3, 5)
            self.criterion = Criterion()

        def forward(self, x: Any, target: Any) -> Any:
            return self.criterion(self.head(x), target)

    Model()(torch.ones(2, 3), torch.tensor([1, 7]))


@mistake(
    MISTAKES,
    "wrong loss input",
    path="loss",
    op=("binary_cross_entropy", "bce"),
    values=(r"\b3\.0\b",),
)
def scores_where_probabilities_are_expected(torch: Framework) -> None:
    """The sigmoid before the loss is missing."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loss = torch.nn.BCELoss()

        def forward(self, scores: Any, target: Any) -> Any:
            return self.loss(scores, target)  # mistake

    Model()(torch.tensor([0.5, 3.0]), torch.ones(2))


def _nan_in(torch: Framework, block: Any, number: int, x: Any) -> None:
    net = nested(torch, block)
    net.encoder.layers[number].fails = True
    with torch.autograd.detect_anomaly():
        net(x).sum().backward()


@mistake(MISTAKES, "NaN source", path="encoder.layers.2", op="sqrt", values=(r"\bnan\b",))
def square_root_of_zero(torch: Framework) -> None:
    """The gradient of sqrt at zero times zero."""

    class Block(torch.nn.Module):
        fails = False

        def forward(self, x: Any) -> Any:
            if self.fails:
                x = torch.sqrt(x - x.detach()) * 0.0  # mistake
            return x

    _nan_in(torch, Block, 2, torch.ones(2, 3, requires_grad=True))


@mistake(MISTAKES, "NaN source", path="encoder.layers.1", op=("pow", "norm"), values=(r"\bnan\b",))
def norm_of_nothing(torch: Framework) -> None:
    """A length of zero, by hand: the gradient of `** 0.5` is infinite, times zero."""

    class Block(torch.nn.Module):
        fails = False

        def forward(self, x: Any) -> Any:
            if self.fails:
                length = x.pow(2).sum(1, keepdim=True).pow(0.5)  # mistake
                x = x / (length + 1.0)
            return x

    _nan_in(torch, Block, 1, torch.zeros(2, 3, requires_grad=True))


@mistake(MISTAKES, "NaN source", path="encoder.layers.3", op="mul", values=(r"\bnan\b",))
def logarithm_hidden_by_where(torch: Framework) -> None:
    """`where` hides 0 * log(0) forward; the product's gradient is a NaN all the same."""

    class Block(torch.nn.Module):
        fails = False

        def forward(self, x: Any) -> Any:
            if self.fails:
                entropy = x * torch.log(x)  # mistake
                x = torch.where(x > 0, entropy, 0.0)
            return x

    _nan_in(torch, Block, 3, torch.zeros(2, 3, requires_grad=True))
