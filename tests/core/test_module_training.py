"""Every layer of `nn` against PyTorch over three training steps, and the start of every parameter.

- A layer is made twice from one line; PyTorch's parameters are loaded into ours. Each step compares the result, the
  gradients of inputs and parameters, then both take a step of gradient descent. At the end parameters and buffers are
  compared, and ours are loaded back into a fresh layer of PyTorch's.
- No layer of PyTorch's that tenora has may be missing here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from draws import numbers
from layer_cases import CHANCES, LABELS, LAYERS, LOSSES, ROUGH, SPATIAL, WITHOUT_TARGETS, Maker

import tenora

pytestmark = pytest.mark.oracle

RATE = 0.05
INDICES = np.array([[0, 2, 2], [5, 2, 1]])


def unpooled(dims: int) -> tuple[Any, Any]:
    values = torch.tensor(numbers(2, 3, *(4,) * dims))
    pool = getattr(torch.nn.functional, f"max_pool{dims}d")
    found, where = pool(values, 2, return_indices=True)
    return found.numpy(), where.numpy()


def fixed_fractions(f: Any, dims: int) -> Any:
    samples = f.tensor(np.linspace(0.1, 0.9, 2 * 3 * dims).reshape(2, 3, dims))
    return getattr(f.nn, f"FractionalMaxPool{dims}d")(2, output_size=3, _random_samples=samples)


def recogniser(f: Any) -> Any:
    """Chances of labels at each of six times and their CTCLoss: PyTorch's gradient is defined through log_softmax."""

    class Recogniser(f.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scores = f.nn.Linear(3, 4)
            self.loss = f.nn.CTCLoss(blank=1)

        def forward(self, x: Any, labels: Any) -> Any:
            return self.loss(f.log_softmax(self.scores(x), 2), labels, (6, 4, 5), (3, 2, 0))

    return Recogniser()


CASES: dict[str, tuple[Maker, list[Any]]] = {
    **{name: (make, [numbers(*shape) * 2]) for name, (make, shape) in (LAYERS | SPATIAL).items()},
    **LOSSES,
    "Identity": (lambda f: f.nn.Identity(3, unused=4), [numbers(2, 3)]),
    "Linear": (lambda f: f.nn.Linear(4, 3), [numbers(2, 4)]),
    "Linear without bias": (lambda f: f.nn.Linear(4, 3, bias=False), [numbers(2, 5, 4)]),
    "Flatten": (lambda f: f.nn.Flatten(0, 1), [numbers(2, 3, 4)]),
    "Unflatten": (lambda f: f.nn.Unflatten(1, (2, -1)), [numbers(2, 6)]),
    "ReLU": (lambda f: f.nn.ReLU(), [numbers(3, 4)]),
    "ReLU in place": (lambda f: f.nn.Sequential(f.nn.Linear(4, 4), f.nn.ReLU(True)), [numbers(3, 4)]),
    "Sigmoid": (lambda f: f.nn.Sigmoid(), [numbers(3, 4)]),
    "Tanh": (lambda f: f.nn.Tanh(), [numbers(3, 4)]),
    "GELU": (lambda f: f.nn.GELU("tanh"), [numbers(3, 4)]),
    "Softmax": (lambda f: f.nn.Softmax(dim=0), [numbers(3, 4)]),
    "LogSoftmax": (lambda f: f.nn.LogSoftmax(dim=-1), [numbers(3, 4)]),
    "Dropout": (lambda f: f.nn.Dropout(0.0), [numbers(3, 4)]),
    "Embedding": (lambda f: f.nn.Embedding(6, 3, padding_idx=1, max_norm=1.5), [INDICES]),
    "EmbeddingBag": (lambda f: f.nn.EmbeddingBag(6, 3, mode="sum"), [INDICES]),
    "SyncBatchNorm": (lambda f: f.nn.SyncBatchNorm(3), [numbers(2, 3, 4)]),
    "converted": (
        lambda f: f.nn.SyncBatchNorm.convert_sync_batchnorm(f.nn.Sequential(f.nn.BatchNorm2d(3, momentum=0.3))),
        [numbers(2, 3, 4, 2)],
    ),
    "CrossMapLRN2d": (lambda f: f.nn.CrossMapLRN2d(6, 0.5, 0.6, 2), [numbers(2, 3, 4, 2)]),
    "CTCLoss": (recogniser, [numbers(6, 3, 3), np.array([[2, 0, 0], [3, 2, 1], [1, 1, 1]])]),
    "MSELoss": (lambda f: f.nn.MSELoss(), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "NLLLoss": (lambda f: f.nn.NLLLoss(f.tensor(CHANCES[0])), [numbers(5, 4), LABELS]),
    "CrossEntropyLoss": (
        lambda f: f.nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2),
        [numbers(5, 4), LABELS],
    ),
    "LinearCrossEntropyLoss": (
        lambda f: f.nn.LinearCrossEntropyLoss(4, 5, bias=True, label_smoothing=0.1, reduction="sum"),
        [numbers(5, 4), LABELS],
    ),
    "LinearCrossEntropyLoss of several": (
        lambda f: f.nn.LinearCrossEntropyLoss(4, 6, out_features=(3,), ignore_index=2),
        [numbers(2, 4), INDICES],
    ),
    "MultiheadAttention": (
        lambda f: f.nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True),
        [numbers(2, 3, 8), numbers(2, 4, 8, seed=1), numbers(2, 4, 8, seed=2)],
    ),
    "MultiheadAttention of other sizes": (
        lambda f: f.nn.MultiheadAttention(8, 4, kdim=3, vdim=5, bias=False),
        [numbers(3, 2, 8), numbers(4, 2, 3, seed=1), numbers(4, 2, 5, seed=2)],
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda f: f.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10, 15], div_value=2.0, head_bias=True),
        [numbers(6, 8), np.array([0, 4, 6, 12, 13, 19])],
    ),
    "AdaptiveLogSoftmaxWithLoss of one": (
        lambda f: f.nn.AdaptiveLogSoftmaxWithLoss(8, 6, [2]),
        [numbers(8), np.array(3)],
    ),
    "DataParallel": (lambda f: f.nn.DataParallel(f.nn.Linear(4, 3)), [numbers(2, 4)]),
    **{f"MaxUnpool{n}d": (lambda f, n=n: getattr(f.nn, f"MaxUnpool{n}d")(2), list(unpooled(n))) for n in (1, 2, 3)},
    **{
        f"FractionalMaxPool{n}d": (lambda f, n=n: fixed_fractions(f, n), [numbers(2, 3, *(7,) * n)]) for n in (2, 3)
    },
}  # fmt: skip

LAZY: dict[str, tuple[Maker, list[Any]]] = {
    "LazyLinear": (lambda f: f.nn.LazyLinear(3), [numbers(2, 4)]),
    **{
        f"Lazy{kind}{n}d": (
            lambda f, n=n, kind=kind: getattr(f.nn, f"Lazy{kind}{n}d")(4, 2, stride=2, groups=2),
            [numbers(1, 4, *(5,) * n)],
        )
        for kind in ("Conv", "ConvTranspose")
        for n in (1, 2, 3)
    },
    **{
        f"Lazy{kind}{n}d": (
            lambda f, n=n, kind=kind: getattr(f.nn, f"Lazy{kind}{n}d")(momentum=0.2),
            [numbers(2, 3, *(4,) * n)],
        )
        for kind in ("BatchNorm", "InstanceNorm")
        for n in (1, 2, 3)
    },
}
#: Holders of other modules.
ELSEWHERE = {
    "Container", "Module", "ModuleDict", "ModuleList", "NLLLoss2d", "ParameterDict", "ParameterList", "Sequential",
}  # fmt: skip


def arrays_of(name: str, arrays: list[Any]) -> list[Any]:
    return [*arrays[:-1], arrays[-1].astype(np.int64)] if name in WITHOUT_TARGETS else arrays


def numpy_state(layer: Any) -> dict[str, Any]:
    return {name: value.detach().numpy().copy() for name, value in layer.state_dict().items()}


def as_tensors(f: Any, state: dict[str, Any]) -> dict[str, Any]:
    return {name: f.tensor(value) for name, value in state.items()}


def step(f: Any, layer: Any, arrays: list[Any]) -> list[Any]:
    """One step of descent: result, gradients of the inputs and of the parameters."""
    inputs = [f.tensor(a, requires_grad=a.dtype == np.float64) for a in arrays]
    result = layer(*inputs)
    results = [r for r in (result if isinstance(result, tuple) else (result,)) if r is not None]
    parameters = [p for p in layer.parameters() if p.requires_grad]
    for parameter in parameters:
        parameter.grad = None
    loss = sum((r * f.tensor(numbers(*r.shape, seed=3))).sum() for r in results)
    if loss.requires_grad:
        loss.backward()
    with f.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.sub_(parameter.grad, alpha=RATE)
    gradients = [t.grad for t in (*inputs, *parameters) if t.grad is not None]
    return [t.detach().numpy().copy() for t in (*results, *gradients)]


def close(ours: list[Any], theirs: list[Any], tolerance: float) -> None:
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def train_both(ours: Any, theirs: Any, make: Maker, arrays: list[Any], tolerance: float) -> None:
    assert repr(ours) == repr(theirs)
    state = numpy_state(theirs)
    assert [(k, v.shape) for k, v in numpy_state(ours).items()] == [(k, v.shape) for k, v in state.items()]
    ours.load_state_dict(as_tensors(tenora, state))
    for _ in range(3):
        close(step(tenora, ours, arrays), step(torch, theirs, arrays), tolerance)
    left = numpy_state(ours)
    close(list(left.values()), list(numpy_state(theirs).values()), tolerance)
    fresh = make(torch).double()
    if any(map(torch.nn.parameter.is_lazy, fresh.parameters())):
        fresh(*(torch.tensor(a) for a in arrays))
    fresh.load_state_dict(as_tensors(torch, left))
    close(list(numpy_state(fresh).values()), list(left.values()), 0.0)


@pytest.mark.parametrize("name", CASES)
def test_three_steps(name: str, backend: str) -> None:
    make, arrays = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = make(tenora).double(), make(torch).double()
        train_both(ours, theirs, make, arrays_of(name, arrays), ROUGH.get(name, 1e-9))


@pytest.mark.parametrize("name", LAZY)
def test_three_steps_of_a_lazy_layer(name: str, backend: str) -> None:
    make, arrays = LAZY[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = make(tenora), make(torch)
        assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
        again = make(tenora)
        for f, layer in ((tenora, ours), (torch, theirs)):
            layer.double()(*(f.tensor(a) for a in arrays))
        assert type(ours).__name__ == type(theirs).__name__ == name.removeprefix("Lazy")
        train_both(ours, theirs, make, arrays, 1e-9)
        again.double().load_state_dict(ours.state_dict())
        assert tuple(again.weight.shape) == tuple(ours.weight.shape)


#: Recurrent layers and transformers are not there yet.
LATER = ("RNN", "LSTM", "GRU", "Transformer")


def layers_of(f: Any) -> set[str]:
    return {
        name for name, kind in vars(f.nn).items() if isinstance(kind, type) and issubclass(kind, f.nn.Module)
    }


def test_no_layer_is_missing_here() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {type(m).__name__ for make, _ in CASES.values() for m in make(torch).modules()}
    made |= set(LAZY) | ELSEWHERE
    missing = {name for name in layers_of(torch) if not name.startswith(LATER)} - made
    assert missing == set()
    assert {name for name in layers_of(torch) if not hasattr(tenora.nn, name)} == {
        name for name in layers_of(torch) if name.startswith(LATER)
    }


def test_classes_derive_from_each_other_as_pytorchs() -> None:
    """What `isinstance` says of a layer decides how programs start, skip or replace it."""
    names = [name for name in layers_of(torch) if not name.startswith(LATER)]
    differing = [
        (a, b)
        for a in names
        for b in names
        if issubclass(getattr(torch.nn, a), getattr(torch.nn, b))
        != issubclass(getattr(tenora.nn, a), getattr(tenora.nn, b))
    ]
    assert differing == []


def test_cross_map_normalisation_is_the_local_one(backend: str) -> None:
    """PyTorch's never takes the first channel out of its running sum; up to there it agrees, later it can't.

    Its gradients of odd sizes are those of another window.
    """
    values = numbers(2, 6, 3, 3)
    results = []
    for f, layer in ((tenora, tenora.nn.CrossMapLRN2d), (torch, torch.nn.LocalResponseNorm)):
        x = f.tensor(values, requires_grad=True)
        y: Any = layer(3, 0.5, 0.6, 2)(x)
        (y * f.tensor(numbers(2, 6, 3, 3, seed=1))).sum().backward()
        results.append([y.detach().numpy(), x.grad.numpy()])
    for found, local in zip(*results, strict=True):
        np.testing.assert_allclose(found, local, rtol=1e-12, atol=1e-14)
    assert repr(tenora.nn.CrossMapLRN2d(3, 0.5, 0.6, 2)) == repr(torch.nn.CrossMapLRN2d(3, 0.5, 0.6, 2))
    even = tenora.nn.CrossMapLRN2d(4, 0.5, 0.6, 2)
    theirs = torch.nn.CrossMapLRN2d(4, 0.5, 0.6, 2)(torch.tensor(values)).numpy()
    np.testing.assert_allclose(even(tenora.tensor(values)).numpy()[:, :2], theirs[:, :2], rtol=1e-12)
    assert tenora.autograd.gradcheck(even, (tenora.tensor(values[:1], requires_grad=True),))


#: Layers large enough that their starts can be told apart.
STARTS: dict[str, Maker] = {
    "Linear": lambda f: f.nn.Linear(64, 500),
    "Bilinear": lambda f: f.nn.Bilinear(16, 9, 300),
    "Conv1d": lambda f: f.nn.Conv1d(32, 400, 3, groups=4),
    "Conv2d": lambda f: f.nn.Conv2d(8, 400, (3, 2)),
    "Conv3d": lambda f: f.nn.Conv3d(4, 400, 2),
    "ConvTranspose1d": lambda f: f.nn.ConvTranspose1d(16, 400, 3),
    "ConvTranspose2d": lambda f: f.nn.ConvTranspose2d(16, 400, 3, groups=2),
    "ConvTranspose3d": lambda f: f.nn.ConvTranspose3d(8, 400, 2),
    "Embedding": lambda f: f.nn.Embedding(500, 30, padding_idx=3),
    "EmbeddingBag": lambda f: f.nn.EmbeddingBag(500, 30),
    "MultiheadAttention": lambda f: f.nn.MultiheadAttention(64, 4, add_bias_kv=True),
    "MultiheadAttention of other sizes": lambda f: f.nn.MultiheadAttention(64, 4, kdim=30, vdim=50),
    "AdaptiveLogSoftmaxWithLoss": lambda f: f.nn.AdaptiveLogSoftmaxWithLoss(64, 900, [300, 600]),
    "PReLU": lambda f: f.nn.PReLU(100),
    "BatchNorm2d": lambda f: f.nn.BatchNorm2d(100),
    "InstanceNorm1d": lambda f: f.nn.InstanceNorm1d(100, affine=True, track_running_stats=True),
    "GroupNorm": lambda f: f.nn.GroupNorm(4, 100),
    "LayerNorm": lambda f: f.nn.LayerNorm(100),
    "RMSNorm": lambda f: f.nn.RMSNorm(100),
}


def moments(layers_made: list[Any], name: str) -> np.ndarray[Any, Any]:
    values = np.concatenate([layer.state_dict()[name].detach().numpy().ravel() for layer in layers_made])
    return np.array([values.std(), np.abs(values).mean(), np.abs(values).max(), (values == 0).mean()])


@pytest.mark.parametrize("name", STARTS)
def test_start(name: str) -> None:
    tenora.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = ([STARTS[name](f) for _ in range(8)] for f in (tenora, torch))
    for key in theirs[0].state_dict():
        a, b = moments(ours, key), moments(theirs, key)
        np.testing.assert_allclose(a[:2], b[:2], rtol=0.05, atol=1e-12, err_msg=key)
        bounded = b[2] < 1.8 * b[0] or b[0] < 1e-9  # uniform: sqrt(3) deviations; or constant
        np.testing.assert_allclose(a[2], b[2], rtol=0.02 if bounded else 0.25, err_msg=f"{key}: bounds")
        np.testing.assert_allclose(a[3], b[3], atol=1e-3, err_msg=f"{key}: zeros")


@pytest.mark.parametrize("name", STARTS)
def test_dtype_and_device_are_taken(name: str) -> None:
    first = STARTS[name](tenora)
    kind = type(first)
    arguments: dict[str, tuple[Any, ...]] = {
        "Linear": (2, 3), "Bilinear": (2, 3, 4), "Embedding": (4, 3), "EmbeddingBag": (4, 3), "PReLU": (3,),
        "MultiheadAttention": (4, 2), "AdaptiveLogSoftmaxWithLoss": (8, 6, [2]), "GroupNorm": (1, 2),
        "InstanceNorm1d": (3, 1e-5, 0.1, True),
    }  # fmt: skip
    fallback = (2, 4, 2) if "Conv" in kind.__name__ else (3,)
    made: Any = kind(*arguments.get(kind.__name__, fallback), device="cpu", dtype=tenora.float64)
    assert {p.dtype for p in made.parameters()} == {tenora.float64}
    floating = [b for b in made.buffers() if b.is_floating_point()]
    assert {b.dtype for b in floating} <= {tenora.float64}
    with pytest.raises(RuntimeError, match="no backend computes on"):
        kind(*arguments.get(kind.__name__, fallback), device="cuda")
