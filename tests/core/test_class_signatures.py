"""The parameters of every class of `nn`, `optim`, their schedulers and averages, and of `utils.data`: PyTorch's.

- Compared are the constructor and every public method that PyTorch's class defines: names, order, kinds, defaults.
- What is missing or differs is listed with its reason; an entry that is no longer true fails.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import pytest
import torch

PACKAGES = ("nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data")

RECURRENT = "recurrent layers are still to come"
TRANSFORMER = "transformers are still to come"
PIPES = "data pipes have left PyTorch's own documentation"
MISSING: dict[str, str] = {
    **dict.fromkeys(["nn.GRU", "nn.GRUCell", "nn.LSTM", "nn.LSTMCell"], RECURRENT),
    **dict.fromkeys(["nn.RNN", "nn.RNNBase", "nn.RNNCell", "nn.RNNCellBase"], RECURRENT),
    **{
        f"nn.Transformer{part}": TRANSFORMER
        for part in ("", "Decoder", "DecoderLayer", "Encoder", "EncoderLayer")
    },
    "utils.data.DFIterDataPipe": PIPES,
    "utils.data.DataChunk": PIPES,
    "utils.data.IterDataPipe": PIPES,
    "utils.data.MapDataPipe": PIPES,
    "utils.data.functional_datapipe": PIPES,
    "utils.data.guaranteed_datapipes_determinism": PIPES,
    "utils.data.non_deterministic": PIPES,
    "utils.data.runtime_validation_disabled": PIPES,
}
ONE_DEVICE = "there is one device: it calls the module"
WITHOUT_METHODS = "making one says what to use instead"
#: Of a class, or of one of its methods.
DIFFERENT: dict[str, str] = {
    "nn.Container": "keywords alone are of use, as in PyTorch",
    "nn.DataParallel.gather": ONE_DEVICE,
    "nn.DataParallel.parallel_apply": ONE_DEVICE,
    "nn.DataParallel.replicate": ONE_DEVICE,
    "nn.DataParallel.scatter": ONE_DEVICE,
    "nn.Module.forward": "whatever is missing there, keywords among it, is told that forward is missing",
    "nn.MultiheadAttention.merge_masks": "for PyTorch's fused kernel",
    "nn.NLLLoss2d": "NLLLoss's own, which PyTorch hands on unseen",
    "optim.Adagrad.share_memory": "no memory is shared between processes",
    "optim.LBFGS.step": "without a closure it says what one is for",
    "optim.Optimizer.profile_hook_step": "for PyTorch's profiler",
    "optim.SparseAdam": WITHOUT_METHODS,
    "optim.SparseAdam.step": WITHOUT_METHODS,
    "optim.lr_scheduler.SequentialLR.recursive_undo": "a part of its constructor",
    "utils.data.DataLoader.check_worker_number_rationality": "a part of its constructor",
}
#: Types beside classes that the optimizers' one has as attributes.
ALIASES = {"OptimizerPostHook", "OptimizerPreHook"}


def classes(package: str) -> dict[str, type]:
    """PyTorch's public classes that belong to a package, not those that it imports."""
    found = importlib.import_module(f"torch.{package}")
    return {
        name: kind
        for name, kind in vars(found).items()
        if isinstance(kind, type)
        and not name.startswith("_")
        and kind.__module__.startswith(f"torch.{package}")
    }


def members() -> list[str]:
    """`package.Class` and `package.Class.method`."""
    names = []
    for package in PACKAGES:
        for name, kind in classes(package).items():
            names.append(f"{package}.{name}")
            names += [
                f"{package}.{name}.{method}"
                for method, found in vars(kind).items()
                if not method.startswith("_")
                and isinstance(inspect.unwrap(found), type(members) | classmethod | staticmethod)
                and method not in ALIASES
            ]
    return names


def described(framework: str, name: str) -> list[tuple[str, str, Any]] | None:
    """Name, kind and default of each parameter, or None if there is no such class or method."""
    for package in sorted(PACKAGES, key=len, reverse=True):
        if name.startswith(f"{package}."):
            found: Any = importlib.import_module(f"{framework}.{package}")
            break
    for part in name.removeprefix(f"{package}.").split("."):
        found = getattr(found, part, None)
    if found is None:
        return None
    parameters = inspect.signature(found).parameters.values()
    return [(p.name, p.kind.name, comparable(p.default)) for p in parameters]


def comparable(default: Any) -> Any:
    """Functions and objects by their names."""
    return (
        default if isinstance(default, int | float | str | tuple | None) else getattr(default, "__name__", "")
    )


MEMBERS = members()


@pytest.mark.parametrize("name", MEMBERS)
def test_parameters_are_pytorchs(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = described("tenora", name)
    if name in MISSING or ".".join(name.split(".")[:-1]) in MISSING:
        assert ours is None
    elif name in DIFFERENT:
        assert ours != described("torch", name), "no difference any more"
    else:
        assert ours == described("torch", name)


def test_the_lists_name_what_pytorch_has() -> None:
    assert set(MISSING) | set(DIFFERENT) <= set(MEMBERS)
    assert len([name for name in MEMBERS if name.startswith("nn.") and name.count(".") == 1]) > 150
    assert torch.nn.Linear in classes("nn").values()
