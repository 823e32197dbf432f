"""Calls of which one side takes what the other refuses (test_refusals.py): by op and what is wrong in the call."""

from __future__ import annotations

#: What tenora refuses and PyTorch takes.
STRICTER: dict[tuple[str, str], str] = {
    ("addcmul", "factor"): "PyTorch cuts the fraction of a factor off",
    **{
        (
            name,
            "too_many_dims",
        ): "PyTorch gives an array more than 64 dims, of which no arithmetic can be done"
        for name in (
            *("as_strided", "broadcast_to", "empty", "expand", "full", "ones", "unfold_dim"),
            *("unsqueeze", "view"),
            *("view_as_real", "zeros"),
        )
    },
    ("linalg_vander", "too_many_columns"): "NumPy has no array with such a size, even of no elements",
    **{
        ("lu_unpack", pivots): "PyTorch reads as many pivots as it needs from where the first one lies"
        for pivots in ("pivots_as_many_as_columns", "pivots_of_no_stack")
    },
    **{(op, "infinite"): "PyTorch's LAPACK gives NaN" for op in ("linalg_eigh", "linalg_svd")},
    ("interpolate", "the_largest_factor"): "float32 tells no more positions apart",
    ("interpolate", "too_large"): "float32 tells no more positions apart",
    **{
        ("fractional_max_pool2d", wrong): "PyTorch takes windows of nothing, and the size before the ratio"
        for wrong in ("an_empty_kernel", "an_empty_result", "a_ratio_of_zero", "size_and_ratio")
    },
    ("scaled_dot_product_attention", "a_negative_probability"): "PyTorch looks at it where it draws alone",
    **{
        ("binomial", wrong): "PyTorch draws -1 or NaN from what is no distribution"
        for wrong in ("a_negative_count", "a_negative_probability", "a_probability_above_1")
    },
    **{(op, "too_many"): "no table of its law is that long" for op in ("binomial", "poisson")},
    **{
        ("multinomial", f"more_samples_than_positive_weights{of}"): "PyTorch draws what has no weight"
        for of in ("", "_of_a_row")
    },
    ("ctc_loss", "input_lengths_of_rank_2"): "PyTorch reads lengths of any shape in their order",
    ("ctc_loss", "complex_labels"): "PyTorch drops the imaginary parts",
    ("ctc_loss", "a_label_beyond_the_classes"): "PyTorch reads beside the frames",
    ("ctc_loss", "a_negative_label"): "PyTorch reads beside the frames",
    ("hermite_polynomial_he", "a_degree_beyond_all_patience"): "PyTorch's loop goes on for as long as asked",
    (
        "hermite_polynomial_he",
        "a_degree_of_minus_infinity",
    ): "PyTorch calls every degree below 0 a polynomial of 0",
    **{
        ("segment_reduce", wrong): "PyTorch reads beside the data"
        for wrong in (
            *("lengths_beyond_the_data", "lengths_of_a_row_beyond_the_data"),
            *("offsets_beyond_the_data", "a_negative_offset"),
        )
    },
    ("fill_tensor", "a_complex_tensor"): "PyTorch drops the imaginary part",
    ("linear", "weight_rank_below"): "PyTorch takes a vector for one output, and leaves out its dim",
    ("linear", "bias_rank"): "PyTorch adds what broadcasts to the result",
}
#: What tenora takes and PyTorch refuses.
LAXER: dict[tuple[str, str], str] = {
    ("fft_fftfreq", "bool"): "PyTorch has no ramp of complex numbers",
    ("fft_rfftfreq", "whole_numbers"): "PyTorch has no ramp of complex numbers",
    **{
        ("fractional_max_pool2d", wrong): "PyTorch takes a ratio for each dim alone"
        for wrong in ("size_and_ratio", "a_ratio_of_one")
    },
    **{
        ("lp_pool1d", wrong): "PyTorch's takes a kernel of one number, not in a tuple"
        for wrong in (
            *("kernel_above_first", "kernel_above_last", "kernel_size_unnamed", "kernel_size_too_many"),
            *("kernel_size_first", "kernel_size_last"),
        )
    },
    **{
        (name, wrong): "PyTorch takes two tensors"
        for name in ("maximum", "minimum")
        for wrong in (
            *("complex_number", "number_above", "number_below", "number_first"),
            "number_above_unsigned",
        )
    },
    ("as_strided_scatter", "backwards_before_the_memory"): "PyTorch has no negative strides",
    ("avg_pool3d", "kernel_above_ceiled"): "PyTorch's takes no window beyond the input in three dims alone",
    ("avg_pool3d", "kernel_above_padded"): "PyTorch's takes no window beyond the input in three dims alone",
}
