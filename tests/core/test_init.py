"""nn.init: what PyTorch fills in is the same here; what is drawn has its distribution, its bounds and its seed."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from both import agree, refused
from draws import generator
from engine_fixtures import installed
from scipy import stats

import tenora

init = tenora.nn.init
DRAWN = {
    "uniform_": {"a": -1.0, "b": 2.0},
    "normal_": {"mean": 1.0, "std": 0.5},
    "trunc_normal_": {"std": 0.5, "a": -0.6, "b": 0.4},
    "xavier_uniform_": {"gain": 2.0},
    "xavier_normal_": {},
    "kaiming_uniform_": {"a": 0.3, "mode": "fan_out"},
    "kaiming_normal_": {"nonlinearity": "relu"},
    "orthogonal_": {"gain": 1.5},
    "sparse_": {"sparsity": 0.3},
}
OLD = "uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse"


def ks(values: tenora.Tensor, distribution: Any) -> float:
    """The p-value of a Kolmogorov-Smirnov test."""
    return float(stats.kstest(values.detach().numpy().reshape(-1), distribution.cdf).pvalue)


@pytest.mark.oracle
def test_every_function_of_torch_is_here_with_its_arguments() -> None:
    theirs = {n: f for n, f in vars(torch.nn.init).items() if inspect.isfunction(f) and not n.startswith("_")}
    for name, function in theirs.items():
        ours = getattr(init, name)
        if name in OLD.split():
            function, ours = getattr(torch.nn.init, name + "_"), getattr(init, name + "_")
        expected = [(p.name, p.default) for p in inspect.signature(function).parameters.values()]
        assert [(p.name, p.default) for p in inspect.signature(ours).parameters.values()] == expected, name


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name", ["linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "gelu"]
)
@pytest.mark.parametrize("param", [None, 0.2, 1, True, "a"])
def test_gains_are_those_of_torch(name: str, param: Any) -> None:
    agree(lambda f: float(f.nn.init.calculate_gain(name, param)))


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "shape", "args"),
    [
        ("constant_", (2, 3), (0.25,)),
        ("ones_", (2, 3), ()),
        ("zeros_", (3,), ()),
        ("eye_", (3, 5), ()),
        ("eye_", (4, 2), ()),
        ("eye_", (4,), ()),
        ("dirac_", (3, 3, 4), ()),
        ("dirac_", (4, 2, 3, 5), (2,)),
        ("dirac_", (6, 3, 1, 2, 3), (3,)),
        ("dirac_", (5, 3, 3), (2,)),
        ("dirac_", (5, 3), ()),
        ("kaiming_uniform_", (0, 3), ()),
        ("xavier_normal_", (0, 3), ()),
        ("orthogonal_", (0, 3), ()),
        ("orthogonal_", (3,), ()),
        ("sparse_", (3,), (0.5,)),
        ("xavier_uniform_", (3,), ()),
        ("kaiming_normal_", (3,), ()),
        ("kaiming_normal_", (3, 2), (0.0, "fan_sum")),
        ("kaiming_uniform_", (3, 2), (0.0, "fan_in", "gelu")),
        ("uniform_", (3,), (2.0, 1.0)),
        ("normal_", (3,), (0.0, -1.0)),
        ("trunc_normal_", (3,), (0.0, 1.0, 2.0, 1.0)),
        ("constant_", (3,), ("a",)),
    ],
)
def test_certain_results_and_refusals_are_those_of_torch(
    name: str, shape: tuple[int, ...], args: tuple[Any, ...], backend: str
) -> None:
    agree(lambda f: getattr(f.nn.init, name)(f.full(shape, 7.0), *args))


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_decides_on_every_backend(name: str) -> None:
    function, found = getattr(init, name), []
    for backend in installed("cpu"):
        with tenora.use_backend(backend):
            mine = function(tenora.empty(6, 5), **DRAWN[name], generator=generator(3))
            tenora.manual_seed(3)
            common = function(tenora.empty(6, 5), **DRAWN[name])
            other = function(tenora.empty(6, 5), **DRAWN[name], generator=generator(4))
        assert mine.tolist() == common.tolist() != other.tolist()
        found.append(mine.numpy())
    for values in found[1:]:
        np.testing.assert_allclose(values, found[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", DRAWN)
def test_parameters_are_written_without_history_and_returned(name: str, backend: str) -> None:
    weight = tenora.nn.Parameter(tenora.full((4, 3), math.nan))
    assert getattr(init, name)(tensor=weight, **DRAWN[name]) is weight
    assert weight.is_leaf and weight.requires_grad and not weight.isnan().any()


@pytest.mark.parametrize(
    ("name", "options", "distribution"),
    [
        ("uniform_", {"a": -1.0, "b": 2.0}, stats.uniform(-1, 3)),
        ("normal_", {"mean": 1.0, "std": 0.5}, stats.norm(1, 0.5)),
        ("xavier_uniform_", {"gain": 2.0}, stats.uniform(-2 * 0.2, 4 * 0.2)),
        ("xavier_normal_", {}, stats.norm(0, math.sqrt(2 / 150))),
        ("kaiming_uniform_", {"nonlinearity": "relu"}, stats.uniform(-math.sqrt(0.06), 2 * math.sqrt(0.06))),
        ("kaiming_normal_", {"a": 1.0, "mode": "fan_out"}, stats.norm(0, math.sqrt(1 / 50))),
    ],
)
def test_distributions(name: str, options: dict[str, Any], distribution: Any, backend: str) -> None:
    weight = getattr(init, name)(tenora.empty(50, 25, 2, 2), **options, generator=generator(1))
    if "kaiming" in name or "xavier" in name:  # fan_in is 100, fan_out 200
        weight = getattr(init, name)(tenora.empty(50, 100), **options, generator=generator(1))
    assert ks(weight, distribution) > 1e-3


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"),
    [
        (0.0, 1.0, -2.0, 2.0),
        (1.0, 2.0, -math.inf, math.inf),
        (0.0, 1.0, 1.0, 3.0),
        (0.0, 1.0, -3.0, -2.5),
        (-1.0, 0.5, 3.0, 3.5),  # 8 deviations away
        (0.0, 1.0, -40.5, -39.0),  # where the distribution function underflows
        (0.0, 1.0, 45.0, math.inf),
    ],
)
def test_truncated_normals_keep_their_distribution_and_bounds(
    mean: float, std: float, a: float, b: float, backend: str
) -> None:
    weight = init.trunc_normal_(
        tenora.empty(4000, dtype=tenora.float64), mean, std, a, b, generator=generator(5)
    )
    assert a <= weight.min().item() and weight.max().item() <= b and weight.isfinite().all()
    assert ks(weight, stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std)) > 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_truncated_normals_are_rounded_once(dtype: str, backend: str) -> None:
    exact = init.trunc_normal_(tenora.empty(50, dtype=tenora.float64), generator=generator(2))
    found = init.trunc_normal_(tenora.empty(50, dtype=getattr(tenora, dtype)), generator=generator(2))
    assert found.tolist() == exact.to(found.dtype).tolist()


def test_truncated_normals_refuse_what_has_no_distribution() -> None:
    weight = tenora.zeros(3)
    assert refused(lambda: init.trunc_normal_(weight, std=0.0)) == "ValueError"
    assert refused(lambda: init.trunc_normal_(weight, a=1.0, b=math.nan)) == "RuntimeError"
    assert refused(lambda: init.trunc_normal_(tenora.zeros(3, dtype=tenora.int64))) == "NotImplementedError"
    assert weight.tolist() == [0.0] * 3


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (2, 3, 4), (6, 1, 2)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_orthogonal(shape: tuple[int, ...], dtype: str, backend: str) -> None:
    weight = init.orthogonal_(tenora.empty(shape, dtype=getattr(tenora, dtype)), gain=3.0)
    matrix = weight.numpy().reshape(shape[0], -1) / 3.0
    small = matrix @ matrix.conj().T if matrix.shape[0] < matrix.shape[1] else matrix.conj().T @ matrix
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-12)


def test_orthogonal_favours_no_sign() -> None:
    drawn = generator(0)
    signs = [init.orthogonal_(tenora.empty(2, 2), generator=drawn)[0, 0].item() > 0 for _ in range(200)]
    assert 70 < sum(signs) < 130


@pytest.mark.parametrize("sparsity", [0.0, 0.25, 0.5, 0.51, 1.0])
def test_sparse_has_the_share_of_zeros_in_each_column(sparsity: float, backend: str) -> None:
    weight = init.sparse_(tenora.empty(40, 9), sparsity, std=2.0)
    assert (weight == 0).sum(0).tolist() == [math.ceil(sparsity * 40)] * 9
    if 0 < sparsity < 1:
        assert len({tuple(column) for column in (weight == 0).T.tolist()}) == 9
    assert refused(lambda: init.sparse_(weight, -0.1)) == "ValueError"


@pytest.mark.parametrize("name", OLD.split())
def test_old_names_warn_and_do_the_same(name: str) -> None:
    given = {"constant": {"val": 2.0}, **{key.rstrip("_"): value for key, value in DRAWN.items()}}.get(
        name, {}
    )
    shape = (4, 2, 3) if name == "dirac" else (4, 3)
    tenora.manual_seed(1)
    new = getattr(init, name + "_")(tenora.empty(shape), **given)
    tenora.manual_seed(1)
    with pytest.warns(FutureWarning, match=rf"\[init\.{name}\].*init\.{name}_"):
        old = getattr(init, name)(tenora.empty(shape), **given)
    assert old.tolist() == new.tolist() and getattr(init, name).__name__ == name


@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_"])
def test_empty_tensors_are_told(name: str) -> None:
    with pytest.warns(UserWarning, match="no elements") as found:
        getattr(init, name)(tenora.empty(0, 3))
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        init.xavier_uniform_(tenora.empty(0, 0))
