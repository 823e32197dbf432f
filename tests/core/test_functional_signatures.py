"""The parameters of every function of nn.functional: names, order and defaults are PyTorch's, the older ones too."""

from __future__ import annotations

import inspect
from typing import Any

import both
import pytest
import torch

import tenora
from tenora_ops.schema import REQUIRED, parse

#: Names that lie in torch.nn.functional and are no functions of it, or that nobody but one device serves.
ELSEWHERE = {
    "Optional": "typing's",
    "assert_int_or_pair": "a helper of its own",
    "boolean_dispatch": "a helper of its own",
    "handle_torch_function": "the protocol of subclasses, which is torch.overrides",
    "has_torch_function": "the protocol of subclasses, which is torch.overrides",
    "has_torch_function_unary": "the protocol of subclasses, which is torch.overrides",
    "has_torch_function_variadic": "the protocol of subclasses, which is torch.overrides",
    "grouped_mm": "products in low precision, for CUDA's tensor cores alone",
    "scaled_grouped_mm": "products in low precision, for CUDA's tensor cores alone",
    "scaled_mm": "products in low precision, for CUDA's tensor cores alone",
}

#: Functions with other parameters.
DIFFERENT = {
    "adaptive_max_pool1d_with_indices": "return_indices changes nothing there",
    "adaptive_max_pool2d_with_indices": "return_indices changes nothing there",
    "adaptive_max_pool3d_with_indices": "return_indices changes nothing there",
    "gumbel_softmax": "takes a generator too",
    "normalize": "out= by its keyword alone, as everywhere",
    "sigmoid": "takes out= too, as tenora.sigmoid is the same function",
    "tanh": "takes out= too, as tenora.tanh is the same function",
}

#: What a docstring of PyTorch's does not begin with.
HEADS = {"conv_tbc": "conv_tbc(input, weight, bias, pad=0)"}

NAMES = sorted(
    name
    for name in dir(torch.nn.functional)
    if not name.startswith("_")
    and callable(getattr(torch.nn.functional, name))
    and not inspect.isclass(getattr(torch.nn.functional, name))
    and name not in ELSEWHERE
)


def plain(default: Any) -> Any:
    """One number for all dims is the number."""
    if isinstance(default, list | tuple) and len(default) == 1:
        return default[0]
    return default


def parameters(signature: inspect.Signature) -> list[tuple[str, Any, bool]]:
    """Name, default (`empty` for none) and whether only the keyword is taken."""
    found = signature.parameters.values()
    return [(p.name, plain(p.default), p.kind is p.KEYWORD_ONLY) for p in found]


def told(doc: str) -> inspect.Signature:
    """The signature that a docstring begins with."""
    head = doc.strip().partition(")")[0].partition("(")[2]
    return inspect.signature(eval(f"lambda {' '.join(head.split())}: None"))


def theirs(name: str) -> tuple[list[tuple[str, Any, bool]], bool]:
    """PyTorch's parameters, and whether they come from the code, which tells keywords, or from the docstring."""
    function = getattr(torch.nn.functional, name)
    try:
        found = inspect.signature(function)
    except ValueError:
        return parameters(told(HEADS.get(name, function.__doc__))), False
    if "kwargs" in found.parameters:  # its choice between two functions by one argument
        return parameters(told(function.__doc__)), False
    return parameters(found), True


def ours(name: str) -> list[tuple[str, Any, bool]]:
    function = getattr(tenora.nn.functional, name)
    found = inspect.signature(function)
    if "kwargs" not in found.parameters:
        return parameters(found)
    empty = inspect.Parameter.empty  # several forms: the first one of the docstring
    schema = parse(function.__doc__.partition("\n")[0].removeprefix("nn.functional."))
    return [
        (p.name, empty if p.default is REQUIRED else plain(p.default), p.keyword_only)
        for p in schema.parameters
    ]


def agree(name: str) -> bool:
    expected, from_code = theirs(name)
    found = ours(name)
    return found == expected if from_code else [p[:2] for p in found] == [p[:2] for p in expected]


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name: str) -> None:
    assert agree(name) != (name in DIFFERENT), f"{ours(name)} != {theirs(name)[0]}"


def test_lists_name_what_is_there() -> None:
    assert set(DIFFERENT) <= set(NAMES)
    assert {name for name in ELSEWHERE if hasattr(tenora.nn.functional, name)} == set()


@pytest.mark.parametrize("other", ["f(a, b=1)", "f(a, c=2)", "f(b, a=2)", "f(a)", "f(a, *, b=2)"])
def test_differences_are_seen(other: str) -> None:
    assert parameters(told(other)) != parameters(told("f(a, b=2) -> Tensor"))


PAIR: tuple[Any, Any] = ([0.25, 0.75], [1.0, -1.0])
SHARES: tuple[Any, Any] = ([0.25, 0.75], [1.0, 0.5])
ROWS = [[0.25, 0.75, 0.5], [1.0, 0.0, 2.0]]
#: What each loss with `size_average` is called with.
LOSSES: dict[str, tuple[Any, ...]] = {
    "binary_cross_entropy": SHARES,
    "binary_cross_entropy_with_logits": SHARES,
    "cosine_embedding_loss": (ROWS, ROWS[::-1], [1.0, -1.0]),
    "cross_entropy": (ROWS, [2, 0]),
    "hinge_embedding_loss": PAIR,
    "kl_div": SHARES,
    "l1_loss": PAIR,
    "margin_ranking_loss": (*PAIR, [-1.0, 1.0]),
    "mse_loss": PAIR,
    "multi_margin_loss": (ROWS, [2, 0]),
    "multilabel_margin_loss": (ROWS, [[2, -1, 0], [0, 1, -1]]),
    "multilabel_soft_margin_loss": (ROWS, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
    "nll_loss": (ROWS, [2, 0]),
    "poisson_nll_loss": SHARES,
    "smooth_l1_loss": PAIR,
    "soft_margin_loss": PAIR,
    "triplet_margin_loss": (ROWS, ROWS[::-1], ROWS),
}
OLDER: list[dict[str, Any]] = [
    {"size_average": False},
    {"reduce": False},
    {"size_average": True, "reduce": True},
]


@pytest.mark.parametrize("options", OLDER)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:size_average and reduce args", "ignore:reduction. 'mean' divides")
def test_older_arguments_of_losses(name: str, options: dict[str, Any]) -> None:
    def call(f: Any) -> Any:
        given = [f.tensor(values) for values in LOSSES[name]]
        given = [t.double() if t.is_floating_point() else t for t in given]
        return getattr(f.nn.functional, name)(*given, reduction="x", **options)

    both.agree(call)


def test_every_loss_with_older_arguments_is_tried() -> None:
    assert {name for name in NAMES if "size_average" in [p[0] for p in theirs(name)[0]]} == set(LOSSES)


RANKS: dict[str, Any] = {
    "margins": lambda f: f.nn.functional.margin_ranking_loss(f.ones(2), f.ones(2, 1), f.ones(2)),
    "cosines": lambda f: f.nn.functional.cosine_embedding_loss(f.ones(2, 3), f.ones(2, 3), f.ones(2, 1)),
    "cosine": lambda f: f.nn.functional.cosine_embedding_loss(f.ones(3), f.ones(3), f.tensor(-1)),
}


@pytest.mark.parametrize("name", RANKS)
def test_ranks_that_do_not_fit(name: str) -> None:
    both.agree(RANKS[name])


def test_no_tensor_is_named() -> None:
    wrong: Any = [1.0]
    with pytest.raises(TypeError, match=r"\[margin_ranking_loss\] input2 is wrong: got list"):
        tenora.nn.functional.margin_ranking_loss(tenora.ones(2), wrong, tenora.ones(2))
