"""Several results come as PyTorch's named tuples, whatever way the op is called."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tenora
import tenora_ops

pytestmark = pytest.mark.oracle

#: PyTorch's named tuples of ops that tenora does not have.
WITHOUT = {"linalg_ldl_factor", "linalg_ldl_factor_ex"}
#: Named here, plain tuples in PyTorch: pools that also tell where.
NAMED_HERE_ALONE = {name for name in dir(tenora.return_types) if "pool" in name}


def named_tuples(module: Any) -> dict[str, tuple[str, ...]]:
    """The named tuples of a module, with their fields in order."""
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    types = {n: t for n, t in found.items() if isinstance(t, type) and issubclass(t, tuple)}
    return {
        name: tuple(field for field in type_.__match_args__)
        for name, type_ in types.items()
        if hasattr(type_, "n_fields")
    }


def test_the_types_and_their_fields_are_pytorchs() -> None:
    ours = named_tuples(tenora.return_types)
    theirs = {n: f for n, f in named_tuples(torch.return_types).items() if not n.endswith("_out")}
    assert len(theirs) > 30
    assert {n: f for n, f in theirs.items() if n not in WITHOUT} == {
        n: f for n, f in ours.items() if n not in NAMED_HERE_ALONE
    }


def test_every_name_is_its_type() -> None:
    for name in dir(tenora.return_types):
        found = getattr(tenora.return_types, name)
        assert (found.__module__, found.__name__) == ("tenora.return_types", name)
    with pytest.raises(AttributeError, match=r"^\[return_types\]"):
        _ = tenora.return_types.absent


M = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda lib, x: lib.max(x, 1),
    "min": lambda lib, x: x.min(dim=0),
    "median": lambda lib, x: lib.median(x, 1),
    "nanmedian": lambda lib, x: x.nanmedian(1),
    "mode": lambda lib, x: lib.mode(x),
    "kthvalue": lambda lib, x: x.kthvalue(2),
    "sort": lambda lib, x: lib.sort(x, descending=True),
    "topk": lambda lib, x: x.topk(2),
    "cummax": lambda lib, x: lib.cummax(x, 0),
    "cummin": lambda lib, x: lib.cummin(x, 0),
    "aminmax": lambda lib, x: lib.aminmax(x, dim=1),
    "frexp": lambda lib, x: lib.frexp(x),
    "slogdet": lambda lib, x: x.slogdet(),
    "linalg_slogdet": lambda lib, x: lib.linalg.slogdet(x),
    "linalg_qr": lambda lib, x: lib.linalg.qr(x),
    "linalg_eigh": lambda lib, x: lib.linalg.eigh(x),
    "linalg_eig": lambda lib, x: lib.linalg.eig(x),
    "linalg_svd": lambda lib, x: lib.linalg.svd(x),
    "svd": lambda lib, x: lib.svd(x),
    "linalg_lu": lambda lib, x: lib.linalg.lu(x),
    "linalg_lu_factor": lambda lib, x: lib.linalg.lu_factor(x),
    "linalg_lu_factor_ex": lambda lib, x: lib.linalg.lu_factor_ex(x),
    "linalg_cholesky_ex": lambda lib, x: lib.linalg.cholesky_ex(x),
    "linalg_inv_ex": lambda lib, x: lib.linalg.inv_ex(x),
    "linalg_solve_ex": lambda lib, x: lib.linalg.solve_ex(x, x),
    "linalg_lstsq": lambda lib, x: lib.linalg.lstsq(x, x),
    "geqrf": lambda lib, x: lib.geqrf(x),
    "triangular_solve": lambda lib, x: lib.triangular_solve(x, x),
    "lu_unpack": lambda lib, x: lib.lu_unpack(*lib.linalg.lu_factor(x)),
    "histogram": lambda lib, x: lib.histogram(x, 3),
    "histogramdd": lambda lib, x: lib.histogramdd(x, [2, 2, 2]),
}


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", CALLS)
def test_results_are_named(name: str, backend: str) -> None:
    ours, theirs = (CALLS[name](lib, lib.tensor(M)) for lib in (tenora, torch))
    assert type(ours) is getattr(tenora.return_types, name)
    assert type(theirs) is getattr(torch.return_types, name)
    for field in type(ours).__match_args__:
        mine, other = getattr(ours, field), getattr(theirs, field)
        if isinstance(other, tuple):
            assert [tuple(t.shape) for t in mine] == [tuple(t.shape) for t in other]
        else:
            assert (tuple(mine.shape), str(mine.dtype)[7:]) == (tuple(other.shape), str(other.dtype)[6:])


def test_out_returns_the_same_type_of_the_tensors_given(backend: str) -> None:
    targets = [tenora.empty(0), tenora.empty(0, dtype=tenora.int64)]
    found = tenora.max(tenora.tensor(M), 1, out=targets)
    assert type(found) is tenora.return_types.max
    assert found.values is targets[0] and found.indices is targets[1]
    again = tenora.max(tenora.tensor(M), 0, out=found)  # a named tuple is a tuple
    assert again.values is targets[0]
    plain = tenora.var_mean(tenora.tensor(M), 0, out=(tenora.empty(0), tenora.empty(0)))
    assert type(plain) is tuple and len(plain) == 2


@pytest.mark.parametrize("name", ["max", "linalg_qr", "slogdet", "histogramdd"])
def test_they_print_as_pytorchs_do(name: str) -> None:
    ours, theirs = (CALLS[name](lib, lib.tensor(M)) for lib in (tenora, torch))
    fields = ",\n".join(f"{field}={getattr(ours, field)!r}" for field in type(ours).__match_args__)
    assert repr(ours) == str(ours) == ours.__repr__() == f"tenora.return_types.{name}(\n{fields})"
    assert re.sub(r"[-0-9.]+", "0", repr(ours)).replace(" ", "") == re.sub(
        r"[-0-9.]+", "0", repr(theirs).replace("torch.", "tenora.", 1)
    ).replace(" ", "")


def test_they_are_copied_and_pickled(backend: str) -> None:
    found = tenora.sort(tenora.tensor(M))
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert type(other) is type(found)
        np.testing.assert_array_equal(other.indices.numpy(), found.indices.numpy())


def test_names_come_from_the_records() -> None:
    named = {e.result_name: e.result for e in tenora_ops.records() if e.result and e.public}
    assert named_tuples(tenora.return_types) == named
