"""What constructors of layers say of sizes that are none: the layer, the argument, what was got, what is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

import tenora
from tenora import nn

CONV = {
    "in_channels": 4,
    "out_channels": 4,
    "kernel_size": 3,
    "stride": 1,
    "padding": 0,
    "dilation": 1,
    "groups": 1,
}
LAZY = {name: value for name, value in CONV.items() if name != "in_channels"}
POOL = {"kernel_size": 2, "stride": 1, "padding": 0}
UNFOLD = POOL | {"dilation": 1}
TABLE = {"num_embeddings": 4, "embedding_dim": 3, "padding_idx": 1}


@dataclass
class Layer:
    """A layer and its sizes: which may be None, which negative, which 0."""

    name: str
    sizes: dict[str, Any]
    none: set[str] = field(default_factory=set)
    negative: set[str] = field(default_factory=set)
    others: dict[str, Any] = field(default_factory=dict)


LAYERS = [
    Layer("Linear", {"in_features": 3, "out_features": 2}),
    Layer("LazyLinear", {"out_features": 2}),
    Layer("Bilinear", {"in1_features": 3, "in2_features": 3, "out_features": 2}),
    Layer("Embedding", TABLE, {"padding_idx"}, {"padding_idx"}),
    Layer("EmbeddingBag", TABLE, {"padding_idx"}, {"padding_idx"}),
    Layer("LayerNorm", {"normalized_shape": 4}),
    Layer("RMSNorm", {"normalized_shape": 4}),
    Layer("GroupNorm", {"num_groups": 2, "num_channels": 4}),
    Layer("SyncBatchNorm", {"num_features": 4}),
    Layer("LocalResponseNorm", {"size": 2}),
    Layer("CrossMapLRN2d", {"size": 3}),
    Layer("PReLU", {"num_parameters": 2}),
    Layer("MultiheadAttention", {"embed_dim": 4, "num_heads": 2, "kdim": 4, "vdim": 4}, {"kdim", "vdim"}),
    Layer("AdaptiveLogSoftmaxWithLoss", {"in_features": 16, "n_classes": 10}, others={"cutoffs": [2, 5]}),
    Layer("LinearCrossEntropyLoss", {"in_features": 4, "num_classes": 3}),
    Layer("PixelShuffle", {"upscale_factor": 2}),
    Layer("PixelUnshuffle", {"downscale_factor": 2}),
    Layer("ChannelShuffle", {"groups": 2}),
    Layer("Fold", UNFOLD | {"output_size": 4}),
    Layer("Unfold", UNFOLD),
    Layer("Upsample", {"size": 4}, {"size"}),
    Layer("UpsamplingNearest2d", {"size": 4}, {"size"}),
    Layer("UpsamplingBilinear2d", {"size": 4}, {"size"}),
]
for dims in "123":
    LAYERS += [
        Layer(f"Conv{dims}d", CONV),
        Layer(f"LazyConv{dims}d", LAZY),
        Layer(f"ConvTranspose{dims}d", CONV | {"output_padding": 0}),
        Layer(f"LazyConvTranspose{dims}d", LAZY | {"output_padding": 0}),
        Layer(f"MaxPool{dims}d", POOL | {"dilation": 1}, {"stride"}),
        Layer(f"MaxUnpool{dims}d", POOL, {"stride"}),
        Layer(f"AvgPool{dims}d", POOL, {"stride"}),
        Layer(f"LPPool{dims}d", {"kernel_size": 2, "stride": 1}, {"stride"}, others={"norm_type": 2}),
        Layer(f"AdaptiveAvgPool{dims}d", {"output_size": 2}, {"output_size"}),
        Layer(f"AdaptiveMaxPool{dims}d", {"output_size": 2}, {"output_size"}),
        Layer(f"BatchNorm{dims}d", {"num_features": 4}),
        Layer(f"InstanceNorm{dims}d", {"num_features": 4}, others={"affine": True}),
        Layer(f"ConstantPad{dims}d", {"padding": 1}, negative={"padding"}, others={"value": 0.0}),
        *(
            Layer(f"{kind}Pad{dims}d", {"padding": 1}, negative={"padding"})
            for kind in ("Zero", "Reflection", "Replication", "Circular")
        ),
    ]
LAYERS += [Layer(f"FractionalMaxPool{dims}d", {"kernel_size": 2, "output_size": 2}) for dims in "23"]
BY_NAME = {layer.name: layer for layer in LAYERS}
MISTAKES: dict[str, tuple[Any, tuple[type[Exception], ...]]] = {
    "float": (2.5, (TypeError,)),
    "whole float": (2.0, (TypeError,)),
    "str": ("3", (TypeError, ValueError)),  # a padding may be a word
    "None": (None, (TypeError, ValueError)),  # a size or a ratio
    "bool": (True, (TypeError,)),
    "negative": (-1, (RuntimeError, ValueError)),
    "list": ([1, "a"], (TypeError,)),
}


def built(layer: Layer, **changed: Any) -> Any:
    return getattr(nn, layer.name)(**layer.others | layer.sizes | changed)


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("name", BY_NAME)
def test_the_error_names_layer_and_argument(name: str, mistake: str) -> None:
    layer = BY_NAME[name]
    value, kinds = MISTAKES[mistake]
    for argument in layer.sizes:
        if argument in {"None": layer.none, "negative": layer.negative}.get(mistake, ()):
            continue
        with pytest.raises(tenora.TenoraError) as found:
            built(layer, **{argument: value})
        text = str(found.value)
        assert isinstance(found.value, kinds), (argument, found.value)
        assert text.startswith(f"[{name}] ") and argument in text, text
        assert "expected" in text and ("a" if mistake == "list" else str(value)) in text, text


@pytest.mark.parametrize("name", BY_NAME)
def test_whole_numbers_of_other_types_are_taken(name: str) -> None:
    """NumPy's, as PyTorch takes them; a tuple or list of one or of one per dim where windows are told."""
    layer = BY_NAME[name]
    assert built(layer)
    assert built(layer, **{argument: np.int64(size) for argument, size in layer.sizes.items()})
    for argument in layer.none:
        built(layer, **{argument: None})
    for argument in layer.negative:
        built(layer, **{argument: -1})
    dims = next((int(digit) for digit in name if digit in "23"), 1)
    for argument, size in layer.sizes.items():
        if (
            argument in ("kernel_size", "stride", "padding", "dilation", "output_padding")
            and "Pad" not in name
        ):
            built(layer, **{argument: (size,) * dims})
            built(layer, **{argument: [size] * dims})


def test_all_layers_with_sizes_are_listed() -> None:
    """A layer that takes a size and is not in the table would go untested."""
    names = {argument for layer in LAYERS for argument in layer.sizes} - {"padding_idx"}
    for name in nn.__all__:
        kind = getattr(nn, name)
        if (
            isinstance(kind, type)
            and issubclass(kind, nn.Module)
            and name not in BY_NAME
            and name[:4] != "Lazy"
        ):
            code = kind.__init__.__code__
            assert not names.intersection(code.co_varnames[: code.co_argcount]), name


MORE: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "too many per dim": (
        lambda: nn.Conv2d(3, 8, (3, 3, 3)),
        RuntimeError,
        r"\[Conv2d\] kernel_size: got \(3, 3, 3\), expected one or 2 whole numbers of at least 1",
    ),
    "no kernel": (lambda: nn.Conv1d(3, 8, 0), RuntimeError, r"\[Conv1d\] kernel_size: got 0"),
    "a word for a probability": (lambda: nn.Dropout("x"), TypeError, r"\[Dropout\] p is no number: got 'x'"),
    "no probability": (lambda: nn.Dropout2d(None), TypeError, r"\[Dropout2d\] p is no number: got None"),
    "more than always": (lambda: nn.Dropout(1.5), ValueError, r"\[Dropout\] p is no probability: got 1.5"),
    "the message in full": (
        lambda: nn.Linear(8, 2.5),
        TypeError,
        r"^\[Linear\] out_features: got 2.5, expected a whole number of at least 0. Pass whole numbers.$",
    ),
    "a word for a factor": (
        lambda: nn.Upsample(scale_factor=[1, "a"]),
        TypeError,
        r"\[Upsample\] scale_factor: got \[1, 'a'\]",
    ),
    "one number for cutoffs": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, 5),
        ValueError,
        r"\[AdaptiveLogSoftmaxWithLoss\] cutoffs: got 5",
    ),
    "one number for sizes": (
        lambda: nn.Unflatten(1, 5),
        TypeError,
        r"\[Unflatten\] dim and unflattened_size",
    ),
    "an index of nothing": (
        lambda: nn.Sequential()[0],
        IndexError,
        r"\[Sequential\] index: got 0, expected none: it is empty",
    ),
    "an index too far": (
        lambda: nn.ModuleList([nn.ReLU()])[5],
        IndexError,
        r"\[ModuleList\] index: got 5, expected -1 to 0",
    ),
    "pop of nothing": (lambda: nn.Sequential().pop(0), IndexError, r"\[Sequential\] index: got 0"),
    "insert too far": (
        lambda: nn.Sequential(nn.ReLU()).insert(4, nn.ReLU()),
        IndexError,
        r"\[Sequential\] index: got 4, expected -1 to 1",
    ),
    "insert at a word": (
        lambda: nn.ModuleList().insert("0", nn.ReLU()),
        TypeError,
        r"\[ModuleList\] index: got '0', expected a whole number",
    ),
    "deletion too far": (
        lambda: nn.ModuleList([nn.ReLU()]).__delitem__(1),
        IndexError,
        r"\[ModuleList\] index: got 1",
    ),
    "a word for an index": (
        lambda: nn.Sequential(nn.ReLU())["0"],
        TypeError,
        r"\[Sequential\] index: got '0', expected a whole number",
    ),
    "a list of parameters": (
        lambda: nn.ParameterList([tenora.ones(1)])[1],
        IndexError,
        r"\[ParameterList\] index: got 1, expected -1 to 0",
    ),
    "a class for a layer": (
        lambda: nn.Sequential(nn.ReLU),
        TypeError,
        r"got the class ReLU, .*Pass an instance, ReLU\(...\)",
    ),
    "a list of layers": (lambda: nn.Sequential([nn.ReLU()]), TypeError, r"got list, .*one by one: \*modules"),
    "extension by a number": (
        lambda: nn.Sequential().extend(3),
        TypeError,
        r"\[Sequential\] extend: got int",
    ),
}


@pytest.mark.parametrize("case", MORE)
def test_other_mistakes_of_construction(case: str) -> None:
    call, kind, text = MORE[case]
    with pytest.raises(kind, match=text) as found:
        call()
    assert isinstance(found.value, tenora.TenoraError)


def test_numbers_that_sizes_may_have() -> None:
    """0 features, and layers that make nothing of num_features."""
    with pytest.warns(UserWarning, match="no elements"):
        assert nn.Linear(0, 2).weight.shape == (2, 0)
    assert nn.AdaptiveAvgPool2d((None, 2))(tenora.ones(1, 4, 4)).shape == (1, 4, 2)
    assert nn.InstanceNorm1d(None)(tenora.ones(1, 2, 4)).shape == (1, 2, 4)
    assert nn.Conv2d(4, 4, 3, stride=(1,))(tenora.ones(1, 4, 4, 4)).shape == (1, 4, 2, 2)


def test_a_lazy_linear_layer_needs_a_dim() -> None:
    for f in (tenora, torch):
        with pytest.raises(IndexError) as caught:
            f.nn.LazyLinear(3)(f.tensor(1.0))
        if f is tenora:
            assert "[LazyLinear] input: got a tensor without dims" in str(caught)
