"""Wrong shapes, dtypes and devices, noticed while a model runs forward."""

from __future__ import annotations

from typing import Any

from bench.mistakes.models import Framework, block_with_linear, nested
from bench.mistakes.seeded import Mistake, mistake

MISTAKES: list[Mistake] = []


@mistake(
    MISTAKES,
    "wrong shape",
    path="encoder.layers.3.linear",
    op=("linear", "mat1"),
    values=("2, 3|2x3", "3, 5|5x3"),
)
def linear_of_the_wrong_width(torch: Framework) -> None:
    """The last block expects five features."""

    class Block(block_with_linear(torch)):
        def forward(self, x: Any) -> Any:
            return self.linear(x).relu()  # mistake

    net = nested(torch, Block)
    net.encoder.layers[3].linear = torch.nn.Linear(5, 3)
    net(torch.ones(2, 3))


@mistake(MISTAKES, "wrong shape", path="encoder.layers.2", op=("cat",), values=(r"\b4\b", r"\b3\b"))
def cat_along_the_wrong_dimension(torch: Framework) -> None:
    """The skip connection joins rows where it means columns."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide = torch.nn.Linear(3, 4)
            self.skip = False

        def forward(self, x: Any) -> Any:
            if self.skip:
                x = torch.cat([x, self.wide(x)], 0)  # mistake
            return x

    net = nested(torch, Block)
    net.encoder.layers[2].skip = True
    net(torch.ones(2, 3))


@mistake(
    MISTAKES,
    "wrong shape",
    path="encoder.layers.1.norm",
    op=("layer_norm", "normalized_shape"),
    values=(r"\b5\b", "2, 3"),
)
def layer_norm_of_another_width(torch: Framework) -> None:
    """A norm's width was not changed with the model's."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(3)

        def forward(self, x: Any) -> Any:
            return x + self.norm(x)  # mistake

    net = nested(torch, Block)
    net.encoder.layers[1].norm = torch.nn.LayerNorm(5)
    net(torch.ones(2, 3))


@mistake(
    MISTAKES,
    "dtype",
    path="encoder.layers.0.linear",
    op=("linear", "mat1"),
    values=("float64|Double", r"float32|\bFloat\b"),
)
def input_in_double_precision(torch: Framework) -> None:
    """NumPy's default dtype goes into a float32 model."""

    class Block(block_with_linear(torch)):
        def forward(self, x: Any) -> Any:
            return self.linear(x)  # mistake

    nested(torch, Block)(torch.ones(2, 3, dtype=torch.float64))


@mistake(
    MISTAKES,
    "dtype",
    path="encoder.layers.1.table",
    op="embedding",
    values=("float32|Float", "int64|Long", "int32|Int"),
)
def embedding_of_numbers_that_are_no_indices(torch: Framework) -> None:
    """Word numbers arrive as floats."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 3)
            self.looks_up = False

        def forward(self, x: Any) -> Any:
            return self.table(x) if self.looks_up else x  # mistake

    net = nested(torch, Block)
    net.encoder.layers[1].looks_up = True
    net(torch.ones(2, 3))


@mistake(
    MISTAKES,
    "dtype",
    path="encoder.layers.2",
    op=("matmul", "mm", "m1 and m2"),
    values=("float16|Half", r"float32|\bfloat\b"),
)
def half_precision_mask_in_a_product(torch: Framework) -> None:
    """One factor of a product was cast and the other forgotten."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3, 3))
            self.halves = False

        def forward(self, x: Any) -> Any:
            if self.halves:
                x = torch.matmul(x.to(torch.float16), self.weight)  # mistake
            return x

    net = nested(torch, Block)
    net.encoder.layers[2].halves = True
    net(torch.ones(2, 3))


@mistake(MISTAKES, "device", path="encoder.layers.1", op="ones()", values=("cuda|CUDA",))
def mask_on_a_device_that_is_not_there(torch: Framework) -> None:
    """A device written into the code, on a machine that has none."""

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.masks = False

        def forward(self, x: Any) -> Any:
            return x * torch.ones(3, device="cuda") if self.masks else x  # mistake

    net = nested(torch, Block)
    net.encoder.layers[1].masks = True
    net(torch.ones(2, 3))


@mistake(MISTAKES, "device", path="encoder.layers.0", op="to()", values=("gpu",))
def device_with_a_made_up_name(torch: Framework) -> None:
    """There is no device type of that name."""

    class Block(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.to("gpu") + 1  # mistake

    nested(torch, Block)(torch.ones(2, 3))


@mistake(MISTAKES, "device", path="encoder.layers.0.linear", op="to()", values=("cuda|CUDA",))
def model_moved_to_a_device_that_is_not_there(torch: Framework) -> None:
    """The whole model goes to a device that this machine lacks; the first parameter on the way is named."""

    net = nested(torch, block_with_linear(torch))
    net.to("cuda")  # mistake
