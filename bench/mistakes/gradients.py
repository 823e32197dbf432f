"""Detached graphs, tensors that changed after they were saved, and frozen parameters."""

from __future__ import annotations

from typing import Any

from bench.mistakes.models import Framework, block_with_linear, nested
from bench.mistakes.seeded import Mistake, mistake

MISTAKES: list[Mistake] = []


@mistake(MISTAKES, "detached graph", path="encoder.layers.1", op="numpy()", values=("2, 3",))
def numpy_in_the_middle_of_a_model(torch: Framework) -> None:
    """A block computes with NumPy."""

    class Block(block_with_linear(torch)):
        def forward(self, x: Any) -> Any:
            if self.odd:
                return torch.from_numpy(x.numpy().clip(0, 1))  # mistake
            return self.linear(x)

    net = nested(torch, Block)
    net.encoder.layers[1].odd = True
    net(torch.ones(2, 3))


@mistake(MISTAKES, "detached graph", op="backward", values=(r"float32\[\]|FloatTensor \[\]",))
def loss_without_history(torch: Framework) -> None:
    """The loss was detached before backward; no module knows of it."""
    net = torch.nn.Linear(3, 1)
    loss = net(torch.ones(2, 3)).mean().detach()
    loss.backward()  # mistake


@mistake(MISTAKES, "detached graph", path="encoder.layers.3", op=("exp", "backward"), values=("2, 3",))
def backward_through_a_freed_graph(torch: Framework) -> None:
    """Two losses share an encoder, and each goes backward by itself."""

    class Block(block_with_linear(torch)):
        def forward(self, x: Any) -> Any:
            return self.linear(x).exp()

    net = nested(torch, Block)
    features = net.encoder(torch.ones(2, 3))
    features.sum().backward()
    features.mean().backward()  # mistake


@mistake(
    MISTAKES,
    "stale in-place",
    path="encoder.layers.1",
    op=("exp",),
    values=("2, 3", "version 1", "version 0"),
)
def result_of_exp_changed_in_place(torch: Framework) -> None:
    """exp keeps its result for backward."""

    class Block(block_with_linear(torch)):
        def forward(self, x: Any) -> Any:
            x = self.linear(x)
            if self.odd:
                x = x.exp()
                x.add_(1.0)  # mistake
            return x

    net = nested(torch, Block)
    net.encoder.layers[1].odd = True
    net(torch.ones(2, 3)).sum().backward()


@mistake(
    MISTAKES,
    "stale in-place",
    path="head",
    op=("linear", "mm"),
    values=("2, 3|3, 2", "version 2", "version 1"),
)
def step_between_forward_and_backward(torch: Framework) -> None:
    """The first loss's step changes weights that the second loss's backward needs (the GAN's classic)."""
    net = nested(torch, torch.nn.Tanh)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.ones(2, 3, requires_grad=True)
    first, second = net(x).sum(), net(x).mean()
    first.backward()
    optimizer.step()
    second.backward()  # mistake


@mistake(
    MISTAKES,
    "stale in-place",
    path="encoder.layers.2",
    op=("mul",),
    values=("2, 3", "version 1", "version 0"),
)
def operand_zeroed_under_anomaly_mode(torch: Framework) -> None:
    """A mask is written into an operand of a product; anomaly mode shows the product."""

    class Block(torch.nn.Module):
        changes = False

        def forward(self, x: Any) -> Any:
            if self.changes:
                scale = x.sigmoid()
                x = x.mul(scale)  # mistake
                scale[:, 0] = 0.0
            return x

    net = nested(torch, Block)
    net.encoder.layers[2].changes = True
    with torch.autograd.detect_anomaly():
        net(torch.ones(2, 3, requires_grad=True)).sum().backward()


@mistake(
    MISTAKES,
    "frozen parameter",
    path="encoder.layers.0.linear",
    op="backward",
    values=(r"float32\[\]|FloatTensor \[\]",),
)
def every_parameter_frozen(torch: Framework) -> None:
    """Fine-tuning froze the head as well."""

    net = nested(torch, block_with_linear(torch))
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    net(torch.ones(2, 3)).sum().backward()  # mistake


@mistake(
    MISTAKES,
    "frozen parameter",
    path="encoder.layers.1",
    op="requires_grad",
    values=("2, 3",),
)
def activation_frozen_instead_of_its_module(torch: Framework) -> None:
    """A block freezes what its layer computes."""

    class Block(block_with_linear(torch)):
        def forward(self, x: Any) -> Any:
            x = self.linear(x)
            if self.odd:
                x.requires_grad = False  # mistake
            return x

    net = nested(torch, Block)
    net.encoder.layers[1].odd = True
    net(torch.ones(2, 3))


@mistake(
    MISTAKES, "frozen parameter", path="encoder.layers.2", op=("grad()", "differentiated"), values=("3, 3",)
)
def gradient_of_a_frozen_parameter(torch: Framework) -> None:
    """A penalty on the gradient of a weight that is frozen."""

    net = nested(torch, block_with_linear(torch))
    weight = net.encoder.layers[2].linear.weight.requires_grad_(False)
    torch.autograd.grad(net(torch.ones(2, 3)).sum(), [weight])  # mistake
