"""Layers: norms over channels and groups, attention, bags of embeddings, gates, dropout and norms of vectors."""

from __future__ import annotations

import math

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_X, _IMAGE, _PER, _MORE = reals(4, 3), reals(2, 3, 4), reals(3), reals(4)
_COMPLEX = reals(2, 3, 4, dtype="complex64")

_BATCHES = {
    "a_vector": refusal(
        "runtime", Call(_PER, None, None, training=True), Call(_X, None, None, training=True)
    ),
    "a_mean_too_long": refusal("runtime", Call(_X, _MORE, _PER), Call(_X, _PER, _PER)),
    "a_mean_of_rank_2": refusal("runtime", Call(_X, reals(1, 3), _PER), Call(_X, _PER, _PER)),
    "a_variance_too_long": refusal("runtime", Call(_X, _PER, _MORE), Call(_X, _PER, _PER)),
    "a_weight_too_long": refusal("runtime", Call(_X, _PER, _PER, _MORE), Call(_X, _PER, _PER, _PER)),
    "a_bias_too_long": refusal(
        "runtime", Call(_X, _PER, _PER, None, _MORE), Call(_X, _PER, _PER, None, _PER)
    ),
    "no_mean": refusal("runtime", Call(_X, None, _PER), Call(_X, _PER, _PER)),
    "no_variance": refusal("runtime", Call(_X, _PER, None), Call(_X, _PER, _PER)),
    "one_value_a_channel": refusal(
        "value", Call(_X[:1], None, None, training=True), Call(_X[:2], None, None, training=True)
    ),
    "one_value_a_channel_of_an_image": refusal(
        "value",
        Call(_IMAGE[:1, :, :1], None, None, training=True),
        Call(_IMAGE[:1, :, :2], None, None, training=True),
    ),
    "one_value_a_channel_of_several": refusal(
        "value", Call(reals(1, 4), None, None, training=True), Call(reals(2, 0), None, None, training=True)
    ),
}
_INSTANCES = {
    "a_vector": refusal("runtime", Call(_PER), Call(_IMAGE)),
    "a_mean_too_long": refusal(
        "runtime", Call(_IMAGE, _MORE, _PER, None, None, False), Call(_IMAGE, _PER, _PER, None, None, False)
    ),
    "a_variance_too_long": refusal(
        "runtime", Call(_IMAGE, _PER, _MORE, None, None, False), Call(_IMAGE, _PER, _PER, None, None, False)
    ),
    "a_weight_too_long": refusal("runtime", Call(_IMAGE, None, None, _MORE), Call(_IMAGE, None, None, _PER)),
    "a_bias_too_long": refusal(
        "runtime", Call(_IMAGE, None, None, None, _MORE), Call(_IMAGE, None, None, None, _PER)
    ),
    "no_mean": refusal(
        "runtime", Call(_IMAGE, None, _PER, None, None, False), Call(_IMAGE, None, None, None, None, True)
    ),
    "one_value_an_instance": refusal("value", Call(_IMAGE[:, :, :1]), Call(_IMAGE[:, :, :2])),
    "one_value_of_an_instance": refusal("value", Call(_IMAGE[:1, :, :1]), Call(_IMAGE[:0])),
}
_GROUPS = {
    "a_vector": refusal("runtime", Call(_PER, 1), Call(_X, 1)),
    "no_groups": refusal("runtime", Call(_IMAGE, 0), Call(_IMAGE, 1)),
    "a_negative_number_of_groups": refusal("runtime", Call(_IMAGE, -1), Call(_IMAGE, 1)),
    "no_divisor": refusal("runtime", Call(reals(4, 3, 4), 2), Call(reals(3, 4, 3), 2)),
    "one_value_a_group": refusal("value", Call(_IMAGE[:1, :, :1], 3), Call(_IMAGE[:1, :, :2], 3)),
    "a_weight_too_long": refusal("runtime", Call(_IMAGE, 3, _MORE), Call(_IMAGE, 3, _PER)),
    "a_weight_of_rank_2": refusal("runtime", Call(_IMAGE, 3, reals(3, 1)), Call(_IMAGE, 3, _PER)),
    "a_bias_too_long": refusal("runtime", Call(_IMAGE, 3, None, _MORE), Call(_IMAGE, 3, None, _PER)),
}
_RESPONSES = {
    "a_matrix": refusal("value", Call(_X, 2), Call(_IMAGE, 2)),
    "no_size": refusal("value", Call(_IMAGE, 0), Call(_IMAGE, 1)),
    "complex_numbers": refusal("runtime", Call(_COMPLEX, 2), Call(_IMAGE, 2)),
}
_QUERY, _KEY, _VALUE = reals(2, 3, 4), reals(2, 5, 4), reals(2, 5, 6)
_HEADS, _SHARED = reals(2, 4, 3, 4), reals(2, 2, 5, 4)


def _grouped(query: object, key: object, value: object) -> Call:
    return Call(query, key, value, enable_gqa=True)


_ATTENTION = {
    "a_query_vector": refusal("runtime", Call(reals(4), _KEY, _VALUE), Call(reals(3, 4), _KEY, _VALUE)),
    "a_key_vector": refusal("runtime", Call(_QUERY, reals(4), _VALUE), Call(_QUERY, _KEY, _VALUE)),
    "a_value_vector": refusal("runtime", Call(_QUERY, _KEY, reals(5)), Call(_QUERY, _KEY, _VALUE)),
    "features_apart": refusal("runtime", Call(_QUERY, reals(2, 5, 3), _VALUE), Call(_QUERY, _KEY, _VALUE)),
    "keys_without_values": refusal("runtime", Call(_QUERY, _KEY, reals(2, 4, 6)), Call(_QUERY, _KEY, _VALUE)),
    "batches_apart": refusal(
        "runtime", Call(_QUERY, reals(3, 5, 4), _VALUE), Call(_QUERY, reals(1, 5, 4), _VALUE)
    ),
    "a_mask_of_another_length": refusal(
        "runtime", Call(_QUERY, _KEY, _VALUE, reals(3, 4)), Call(_QUERY, _KEY, _VALUE, reals(3, 5))
    ),
    "a_mask_of_a_larger_batch": refusal(
        "runtime",
        Call(_QUERY[:1], _KEY[:1], _VALUE[:1], reals(2, 3, 5)),
        Call(_QUERY, _KEY, _VALUE, reals(2, 3, 5)),
    ),
    "a_mask_of_whole_numbers": refusal(
        "runtime",
        Call(_QUERY, _KEY, _VALUE, wholes(3, 5)),
        Call(_QUERY, _KEY, _VALUE, np.ones((3, 5), "bool")),
    ),
    "a_mask_of_double_precision": refusal(
        "runtime",
        Call(_QUERY, _KEY, _VALUE, reals(3, 5, dtype="float64")),
        Call(_QUERY, _KEY, _VALUE, reals(3, 5)),
    ),
    "two_masks": refusal(
        "runtime",
        Call(_QUERY, _KEY, _VALUE, reals(3, 5), 0.0, True),
        Call(_QUERY, _KEY, _VALUE, None, 0.0, True),
    ),
    "a_negative_probability": refusal(
        "value", Call(_QUERY, _KEY, _VALUE, None, -0.1), Call(_QUERY, _KEY, _VALUE, None, 0.0)
    ),
    "a_probability_above_1": refusal(
        "value", Call(_QUERY, _KEY, _VALUE, None, 1.1), Call(_QUERY, _KEY, _VALUE, None, 1.0)
    ),
    "groups_without_heads": refusal(
        "runtime", _grouped(reals(3, 4), reals(5, 4), reals(5, 4)), _grouped(_QUERY, _KEY, _VALUE)
    ),
    "key_heads_that_do_not_divide": refusal(
        "runtime", _grouped(_HEADS, reals(2, 3, 5, 4), _SHARED), _grouped(_HEADS, _SHARED, _SHARED)
    ),
    "value_heads_that_do_not_divide": refusal(
        "runtime", _grouped(_HEADS, _SHARED, reals(2, 3, 5, 4)), _grouped(_HEADS, _SHARED, reals(2, 4, 5, 4))
    ),
    "no_key_heads": refusal(
        "runtime", _grouped(_HEADS, _SHARED[:, :0], _SHARED), _grouped(_HEADS, _SHARED[:, :1], _SHARED)
    ),
}
_TABLE, _INDEX, _STARTS = reals(3, 2), np.array([0, 2, 1]), np.array([0, 2])
_FACTORS = reals(3)


def _bags(
    index: object = _INDEX,
    table: object = _TABLE,
    offsets: object = _STARTS,
    mode: str = "sum",
    **options: object,
) -> Call:
    return Call(index, table, offsets, mode=mode, **options)


_BAGS = {
    "an_unknown_mode": refusal("value", _bags(mode="min"), _bags(mode="max")),
    "weights_of_means": refusal(
        "not_implemented", _bags(mode="mean", per_sample_weights=_FACTORS), _bags(per_sample_weights=_FACTORS)
    ),
    "weights_of_maxima": refusal(
        "not_implemented", _bags(mode="max", per_sample_weights=_FACTORS), _bags(per_sample_weights=_FACTORS)
    ),
    "a_weight_too_few": refusal(
        "value", _bags(per_sample_weights=_FACTORS[:2]), _bags(per_sample_weights=_FACTORS)
    ),
    "weights_of_another_dtype": refusal(
        "runtime", _bags(per_sample_weights=_FACTORS.astype("float64")), _bags(per_sample_weights=_FACTORS)
    ),
    "a_table_of_numbers": refusal("value", _bags(table=reals(3)), _bags()),
    "a_table_of_rank_3": refusal("value", _bags(table=reals(3, 2, 1)), _bags()),
    "padding_beyond_the_rows": refusal("runtime", _bags(padding_idx=3), _bags(padding_idx=2)),
    "padding_before_the_rows": refusal("runtime", _bags(padding_idx=-4), _bags(padding_idx=-3)),
    "offsets_of_rows": refusal("value", _bags(index=_INDEX[None]), _bags(index=_INDEX[None], offsets=None)),
    "no_offsets": refusal("value", _bags(offsets=None), _bags()),
    "offsets_of_rank_2": refusal("value", _bags(offsets=_STARTS[None]), _bags()),
    "a_number_as_index": refusal(
        "value", _bags(index=np.array(1), offsets=None), _bags(index=np.array([[1]]), offsets=None)
    ),
    "an_index_of_rank_3": refusal(
        "value", _bags(index=_INDEX[None, None], offsets=None), _bags(index=_INDEX[None], offsets=None)
    ),
    "a_first_offset_above_0": refusal(
        "runtime", _bags(offsets=np.array([1, 2])), _bags(offsets=np.array([0, 2]))
    ),
    "an_offset_into_nothing": refusal(
        "runtime", _bags(index=wholes(0), offsets=np.array([1])), _bags(index=wholes(0), offsets=wholes(0))
    ),
    "a_last_offset_beyond": refusal(
        "runtime", _bags(offsets=np.array([0, 4])), _bags(offsets=np.array([0, 3]))
    ),
    "frequencies_of_maxima": refusal(
        "value", _bags(mode="max", scale_grad_by_freq=True), _bags(mode="mean", scale_grad_by_freq=True)
    ),
}
_GATES = {
    "a_number": refusal("runtime", Call(reals()), Call(reals(2))),
    "dim_above": refusal("index", Call(reals(2, 4), 2), Call(reals(2, 4), 1)),
    "dim_below": refusal("index", Call(reals(2, 4), -3), Call(reals(2, 4), -2)),
    "an_odd_size": refusal("runtime", Call(reals(2, 3), 1), Call(reals(2, 3), 0)),
}
_DROPPED = {
    "a_negative_probability": refusal("value", Call(_IMAGE, -0.1, True), Call(_IMAGE, 0.0, True)),
    "a_probability_above_1": refusal("value", Call(_IMAGE, 1.1, True), Call(_IMAGE, 1.0, True)),
}
_WHOLE_CHANNELS = {
    **_DROPPED,
    "a_vector": refusal("runtime", Call(_PER, 0.5, True), Call(_X, 0.5, True)),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "batch_norm": _BATCHES,
    "instance_norm": _INSTANCES,
    "group_norm": _GROUPS,
    "local_response_norm": _RESPONSES,
    "scaled_dot_product_attention": _ATTENTION,
    "attend": {
        "a_query_vector": refusal(
            "runtime", Call(reals(4), _KEY, _VALUE, None, 1.0), Call(reals(3, 4), _KEY, _VALUE, None, 1.0)
        ),
        "a_key_vector": refusal(
            "runtime", Call(_QUERY, reals(4), _VALUE, None, 1.0), Call(_QUERY, _KEY, _VALUE, None, 1.0)
        ),
        "a_value_vector": refusal(
            "runtime", Call(_QUERY, _KEY, reals(5), None, 1.0), Call(_QUERY, _KEY, _VALUE, None, 1.0)
        ),
    },
    "embedding_bag": _BAGS,
    "glu": _GATES,
    "alpha_dropout": {
        "a_negative_probability": refusal("value", Call(_PER, -0.1, True), Call(_PER, 0.0, True)),
        "a_probability_above_1": refusal("value", Call(_PER, 1.1, True), Call(_PER, 1.0, True)),
    },
    "feature_alpha_dropout": _WHOLE_CHANNELS,
    "feature_dropout": _WHOLE_CHANNELS,
    "gumbel_softmax": {
        "complex_numbers": refusal("runtime", Call(_COMPLEX), Call(_IMAGE)),
    },
    "norm": {
        "whole_numbers": refusal("runtime", Call(wholes(3)), Call(reals(3))),
        "to_whole_numbers": refusal("runtime", Call(_PER, dtype="int64"), Call(_PER, dtype="float64")),
    },
    "norm_name": {
        "an_unknown_name": refusal("runtime", Call(_X, "frobenius"), Call(_X, "fro")),
        "nuclear_of_a_vector": refusal("runtime", Call(_PER, "nuc"), Call(_X, "nuc")),
        "nuclear_of_a_stack": refusal("runtime", Call(_IMAGE, "nuc"), Call(_IMAGE, "nuc", [0, 1])),
        "nuclear_of_a_vector_with_dims": refusal(
            "runtime", Call(_PER, "nuc", [0, 0]), Call(_X, "nuc", [0, 1])
        ),
    },
    "renorm": {
        "an_order_of_zero": refusal("runtime", Call(_X, 0.0, 0, 1.0), Call(_X, 0.1, 0, 1.0)),
        "an_order_that_is_nan": refusal("runtime", Call(_X, math.nan, 0, 1.0), Call(_X, 2.0, 0, 1.0)),
        "a_vector": refusal("runtime", Call(_PER, 2.0, 0, 1.0), Call(_X, 2.0, 0, 1.0)),
        "dim_above": refusal("index", Call(_X, 2.0, 2, 1.0), Call(_X, 2.0, 1, 1.0)),
        "dim_below": refusal("index", Call(_X, 2.0, -3, 1.0), Call(_X, 2.0, -2, 1.0)),
    },
}
