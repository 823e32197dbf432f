"""Matplotlib, pandas, Pillow, SciPy and scikit-learn take tensors as they take arrays."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.special
import scipy.stats
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.preprocessing
from matplotlib import pyplot as plt
from PIL import Image

import tenora

LINE = np.linspace(0, 1, 8, dtype=np.float32)
SQUARE = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
DRAWINGS: dict[str, Callable[[Any], object]] = {
    "plot": lambda make: plt.plot(make(LINE), make(LINE) * 2),
    "plot columns": lambda make: plt.plot(make(SQUARE)),
    "plot numbers": lambda make: plt.plot([make(LINE)[1], make(LINE)[2]]),
    "imshow": lambda make: plt.imshow(make(SQUARE)),
    "hist": lambda make: plt.hist(make(LINE)),
    "scatter": lambda make: plt.scatter(make(LINE), make(LINE), c=make(LINE), s=make(LINE) * 90),
    "bar": lambda make: plt.bar(make(np.arange(8)), make(LINE)),
    "errorbar": lambda make: plt.errorbar(make(LINE), make(LINE), yerr=make(LINE)),
    "fill_between": lambda make: plt.fill_between(make(LINE), make(LINE), make(LINE) + 1),
    "contour": lambda make: plt.contour(make(SQUARE)),
    "boxplot": lambda make: plt.boxplot(make(LINE)),
    "limits": lambda make: plt.xlim(make(LINE)[1], make(LINE)[5]),
}


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def pixels(draw: Callable[[Any], object], make: Any) -> bytes:
    plt.close("all")
    plt.figure(figsize=(2, 2))
    draw(make)
    file = io.BytesIO()
    plt.savefig(file, format="raw")
    return file.getvalue()


@pytest.mark.parametrize("name", DRAWINGS)
def test_matplotlib_draws_the_same_pixels(name: str) -> None:
    assert pixels(DRAWINGS[name], tenora.tensor) == pixels(DRAWINGS[name], np.array)


def test_pandas() -> None:
    table = pandas.DataFrame(tenora.tensor(SQUARE), columns=["a", "b"])
    pandas.testing.assert_frame_equal(table, pandas.DataFrame(SQUARE, columns=["a", "b"]))
    pandas.testing.assert_series_equal(pandas.Series(tenora.tensor(LINE)), pandas.Series(LINE))
    table["c"] = tenora.tensor([7, 8])
    assert table["c"].tolist() == [7, 8]
    columns = pandas.DataFrame({"x": tenora.tensor(LINE), "y": tenora.tensor([1] * 8)})
    assert columns["y"].dtype == np.int64 and columns["x"].dtype == np.float32
    assert tenora.tensor(table.to_numpy()).shape == (2, 3)
    assert tenora.tensor(pandas.Series(LINE)).dtype is tenora.float32


@pytest.mark.parametrize(("shape", "mode"), [((4, 6), "L"), ((4, 6, 3), "RGB"), ((4, 6, 4), "RGBA")])
def test_pillow(shape: tuple[int, ...], mode: str) -> None:
    values = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    image = Image.fromarray(tenora.tensor(values))
    assert image.mode == mode
    np.testing.assert_array_equal(np.asarray(image), values)
    np.testing.assert_array_equal(tenora.asarray(image).numpy(), values)
    if len(shape) == 3:  # channels first, as networks have them
        turned = tenora.tensor(values).permute(2, 0, 1).contiguous()
        np.testing.assert_array_equal(np.asarray(Image.fromarray(turned.permute(1, 2, 0))), values)


SCIENCE: dict[str, Callable[[Any], Any]] = {
    "linalg.inv": lambda make: scipy.linalg.inv(make(SQUARE)),
    "linalg.svd": lambda make: scipy.linalg.svd(make(SQUARE))[1],
    "linalg.solve": lambda make: scipy.linalg.solve(make(SQUARE), make(SQUARE)[0]),
    "csr_matrix": lambda make: scipy.sparse.csr_matrix(make(SQUARE)).toarray(),
    "csr_array": lambda make: scipy.sparse.csr_array(make(SQUARE)).toarray(),
    "sparse @": lambda make: scipy.sparse.csr_array(np.eye(2)) @ make(SQUARE),
    "ttest": lambda make: scipy.stats.ttest_ind(make(LINE), make(LINE) + 1).statistic,
    "pearsonr": lambda make: scipy.stats.pearsonr(make(LINE), make(LINE) ** 2).statistic,
    "norm.pdf": lambda make: scipy.stats.norm.pdf(make(LINE)),
    "gaussian_filter": lambda make: scipy.ndimage.gaussian_filter(make(SQUARE), 1.0),
    "convolve": lambda make: scipy.signal.convolve(make(LINE), make(LINE)),
    "expit": lambda make: scipy.special.expit(make(LINE)),
    "minimize": lambda make: scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), make(LINE)).x,
}


@pytest.mark.parametrize("name", SCIENCE)
def test_scipy(name: str) -> None:
    ours, theirs = SCIENCE[name](tenora.tensor), SCIENCE[name](np.array)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6, atol=1e-7)


def test_scikit_learn() -> None:
    features, target = tenora.arange(16.0).reshape(8, 2) / 8, tenora.tensor([0, 0, 1, 0, 1, 0, 1, 1])
    arrays = features.numpy(), target.numpy()
    for build in (sklearn.linear_model.LogisticRegression, sklearn.linear_model.LinearRegression):
        ours = build().fit(features, target).predict(features)
        np.testing.assert_allclose(ours, build().fit(*arrays).predict(arrays[0]))
    assert sklearn.metrics.accuracy_score(target, tenora.ones(8, dtype=tenora.int64)) == 0.5
    scaled = sklearn.preprocessing.StandardScaler().fit_transform(features)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    train, test = sklearn.model_selection.train_test_split(features, random_state=0)
    assert train.shape == (6, 2) and test.shape == (2, 2)


def test_gradients_are_refused_by_name() -> None:
    x = tenora.tensor(SQUARE, requires_grad=True)
    model = sklearn.linear_model.LinearRegression()
    for take in (
        plt.plot,
        plt.imshow,
        pandas.DataFrame,
        lambda t: pandas.Series(t[0]),
        scipy.linalg.inv,
        scipy.special.expit,
        lambda t: model.fit(t, LINE[:2]),
    ):
        with pytest.raises(RuntimeError, match=r"\.detach\(\)"):
            take(x)
    with pytest.raises(AttributeError, match=r"\.detach\(\)"):
        Image.fromarray(x)
    with pytest.raises(ValueError, match="csr_array") as caught:
        scipy.sparse.csr_array(x)
    assert ".detach()" in str(caught.value.__cause__)


def test_bfloat16_is_taken_as_float32() -> None:
    """Nobody's `numeric` includes NumPy's outside dtypes; Pillow takes memory as it is and is told what to do."""
    x = tenora.tensor(SQUARE, dtype=tenora.bfloat16)
    model = sklearn.linear_model.LinearRegression().fit(x, x[:, 0])
    np.testing.assert_allclose(model.predict(x), [1.0, 3.0], rtol=1e-5)
    assert sklearn.metrics.accuracy_score(x[0] > 1, x[0] > 1) == 1.0
    assert sklearn.metrics.mean_squared_error(x, x) == 0.0
    assert scipy.stats.describe(x).mean.tolist() == [2.0, 3.5]
    assert scipy.linalg.inv(x).shape == pandas.DataFrame(x).describe().loc[["min", "max"]].shape == (2, 2)
    assert pixels(lambda make: plt.plot(make(SQUARE)), lambda a: x) == pixels(
        lambda make: plt.plot(make(SQUARE)), lambda a: a
    )
    with pytest.raises(AttributeError, match=r"\.float\(\)"):
        Image.fromarray(x)
