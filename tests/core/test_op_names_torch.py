"""The names of PyTorch's tensor operations: all of them are there, or it is said why not.

The lists come from PyTorch itself, so that a name that is lost here, or new there, is noticed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch.overrides import get_overridable_functions

import tenora

pytestmark = pytest.mark.oracle


def each(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


SPARSE = "tensors are dense"
QUANTISED = "numbers are not quantised"
ELSEWHERE = "devices that no backend serves"
INSIDE = "a part of PyTorch's, without documentation"
LATER = "not there yet"
GONE = "removed in PyTorch too: it only says what to use instead"

#: Methods and properties of tensors that are not there, and why.
METHODS = {
    **each(
        SPARSE,
        "ccol_indices coalesce col_indices crow_indices dense_dim indices is_coalesced is_mkldnn is_nested is_sparse "
        "is_sparse_csr layout resize_as_sparse_ row_indices smm sparse_dim sparse_mask sparse_resize_ "
        "sparse_resize_and_clear_ sspaddmm to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr "
        "to_sparse_coo to_sparse_csc to_sparse_csr values",
    ),
    **each(
        QUANTISED,
        "dequantize int_repr is_quantized q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale "
        "q_zero_point qscheme",
    ),
    **each(
        ELSEWHERE, "ipu is_ipu is_maia is_meta is_mps is_mtia is_vulkan is_xla is_xpu mtia record_stream xpu"
    ),
    **each(
        INSIDE,
        "const_data_ptr grad_dtype hash_tensor index is_distributed module_load narrow_copy new resize resize_as "
        "slice_inverse storage_type volatile",
    ),
    **each(LATER, "chalf dim_order is_shared map2_ map_ share_memory_"),
    **each(GONE, "eig lstsq reinforce solve symeig"),
}

#: Functions of torch itself.
FUNCTIONS = {
    **each(SPARSE, "dsmm hsmm hspmm saddmm smm spmm sspaddmm"),
    **each(QUANTISED, "choose_qparams_optimized dequantize int_repr"),
    **each(
        INSIDE,
        "affine_grid_generator convolution feature_dropout grid_sampler grid_sampler_2d grid_sampler_3d hash_tensor "
        "is_distributed native_batch_norm native_dropout native_group_norm native_layer_norm native_norm "
        "norm_except_dim slice_inverse",
    ),
    **each(
        LATER, "autocast gru gru_cell lobpcg lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell"
    ),
    **each(
        "in nn.functional, where programs call it",
        "adaptive_max_pool1d alpha_dropout batch_norm bilinear binary_cross_entropy_with_logits celu "
        "cosine_embedding_loss cosine_similarity ctc_loss dropout embedding embedding_bag "
        "feature_alpha_dropout group_norm hardshrink hinge_embedding_loss instance_norm kl_div layer_norm "
        "margin_ranking_loss max_pool1d_with_indices pairwise_distance pdist poisson_nll_loss prelu rrelu "
        "selu threshold triplet_margin_loss",
    ),
}
#: How names begin, and end, of functions that no program calls by themselves.
BEGINNINGS = ("batch_norm_", "fake_quantize", "fbgemm", "fused_", "miopen", "q_", "quantize", "sym_")
ENDS = ("_copy", "_")

#: Functions of modules.
MODULES: dict[str, dict[str, str]] = {
    "linalg": each(LATER, "ldl_factor ldl_factor_ex ldl_solve"),
    "fft": {},
    "special": {},
}


def lacking(place: Any, names: Iterable[str]) -> set[str]:
    """The public names that a place does not have."""
    return {name for name in names if not name.startswith("_") and not hasattr(place, name)}


def functions_of(module: Any) -> set[str]:
    """The public functions of a module; its types and submodules left out."""
    return {
        name
        for name in dir(module)
        if callable(getattr(module, name)) and not inspect.isclass(getattr(module, name))
    }


def test_every_method_is_there() -> None:
    assert lacking(tenora.Tensor, dir(torch.Tensor)) == set(METHODS)


def test_every_operation_of_torch_itself_is_there() -> None:
    operations = {
        function.__name__ for function in get_overridable_functions()[torch] if hasattr(function, "__name__")
    }
    assert len(operations) > 400
    plain = {name for name in operations if not (name.startswith(BEGINNINGS) or name.endswith(ENDS))}
    assert lacking(tenora, plain) == set(FUNCTIONS)


@pytest.mark.parametrize("name", MODULES)
def test_every_function_of_a_module_is_there(name: str) -> None:
    assert lacking(getattr(tenora, name), functions_of(getattr(torch, name))) == set(MODULES[name])


def test_what_is_said_to_be_elsewhere_is_there() -> None:
    functional = [name for name, reason in FUNCTIONS.items() if reason.startswith("in nn.functional")]
    assert functional and lacking(tenora.nn.functional, functional) == set()


def test_a_name_that_is_lost_is_noticed() -> None:
    class Place:
        mul = tenora.mul

    assert lacking(Place, ["matmul", "mul", "_private"]) == {"matmul"}
