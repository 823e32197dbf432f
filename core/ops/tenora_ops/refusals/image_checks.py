"""Images: sizes, modes, grids, paddings, factors of shuffles and windows of pools."""

from __future__ import annotations

import math

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal, wholes

_LINE, _IMAGE, _VOLUME = reals(1, 2, 4), reals(1, 2, 3, 4), reals(1, 2, 2, 3, 4)
_LARGEST = 2**24

_INTERPOLATED = {
    "a_matrix": refusal("not_implemented", Call(reals(2, 4), 3), Call(_LINE, 3)),
    "four_spatial_dims": refusal("not_implemented", Call(reals(1, 1, 2, 2, 2, 2), 3), Call(_VOLUME, 3)),
    "an_unknown_mode": refusal(
        "not_implemented", Call(_IMAGE, 2, mode="cubic"), Call(_IMAGE, 2, mode="bicubic")
    ),
    "linear_of_an_image": refusal(
        "not_implemented", Call(_IMAGE, 2, mode="linear"), Call(_LINE, 2, mode="linear")
    ),
    "bilinear_of_a_line": refusal(
        "not_implemented", Call(_LINE, 2, mode="bilinear"), Call(_IMAGE, 2, mode="bilinear")
    ),
    "bicubic_of_a_volume": refusal(
        "not_implemented", Call(_VOLUME, 2, mode="bicubic"), Call(_IMAGE, 2, mode="bicubic")
    ),
    "trilinear_of_an_image": refusal(
        "not_implemented", Call(_IMAGE, 2, mode="trilinear"), Call(_VOLUME, 2, mode="trilinear")
    ),
    "antialiased_nearest": refusal(
        "value",
        Call(_IMAGE, 2, mode="nearest", antialias=True),
        Call(_IMAGE, 2, mode="bicubic", antialias=True),
    ),
    "antialiased_line": refusal(
        "value",
        Call(_LINE, 2, mode="linear", antialias=True),
        Call(_IMAGE, 2, mode="bilinear", antialias=True),
    ),
    "corners_of_nearest": refusal(
        "value", Call(_IMAGE, 2, align_corners=False), Call(_IMAGE, 2, mode="bilinear", align_corners=False)
    ),
    "corners_of_nearest_exact": refusal(
        "value",
        Call(_IMAGE, 2, mode="nearest-exact", align_corners=True),
        Call(_IMAGE, 2, mode="nearest-exact"),
    ),
    "corners_of_areas": refusal(
        "value", Call(_IMAGE, 2, mode="area", align_corners=True), Call(_IMAGE, 2, mode="area")
    ),
    "no_size": refusal("value", Call(_IMAGE), Call(_IMAGE, 2)),
    "size_and_factor": refusal("value", Call(_IMAGE, 2, 2.0), Call(_IMAGE, scale_factor=2.0)),
    "size_to_compute_again": refusal(
        "value", Call(_IMAGE, 2, recompute_scale_factor=True), Call(_IMAGE, 2, recompute_scale_factor=False)
    ),
    "a_size_too_few": refusal("value", Call(_IMAGE, [2]), Call(_IMAGE, [2, 3])),
    "a_size_too_many": refusal("value", Call(_IMAGE, [2, 3, 4]), Call(_IMAGE, [2, 3])),
    "a_factor_too_few": refusal(
        "value", Call(_IMAGE, scale_factor=[2.0]), Call(_IMAGE, scale_factor=[2.0, 1.0])
    ),
    "a_size_that_is_a_fraction": refusal("type", Call(_IMAGE, [2, 2.5]), Call(_IMAGE, [2, 2])),
    "a_tensor_as_size": refusal("type", Call(_IMAGE, wholes(2)), Call(_IMAGE, [1, 1])),
    "a_tensor_as_factor": refusal(
        "type", Call(_IMAGE, scale_factor=reals(2)), Call(_IMAGE, scale_factor=0.5)
    ),
    "a_factor_of_zero": refusal(
        "value", Call(_IMAGE, scale_factor=[0.0, 1.0]), Call(_IMAGE, scale_factor=[0.5, 1.0])
    ),
    "an_infinite_factor": refusal(
        "value", Call(_IMAGE, scale_factor=math.inf), Call(_IMAGE, scale_factor=2.0)
    ),
    "a_factor_that_is_nan": refusal(
        "value", Call(_IMAGE, scale_factor=math.nan), Call(_IMAGE, scale_factor=2.0)
    ),
    "the_largest_factor": refusal(
        "value", Call(reals(0, 1, 1), scale_factor=float(_LARGEST)), Call(_LINE, scale_factor=2.0)
    ),
    "a_size_of_zero": refusal("runtime", Call(_IMAGE, [2, 0]), Call(_IMAGE, [2, 1])),
    "a_factor_that_leaves_nothing": refusal(
        "runtime", Call(_IMAGE, scale_factor=[0.3, 1.0]), Call(_IMAGE, scale_factor=[0.5, 1.0])
    ),
    "no_channels": refusal("runtime", Call(reals(1, 0, 4), 2), Call(reals(0, 1, 4), 2)),
    "an_empty_line": refusal("runtime", Call(reals(1, 2, 0), 2), Call(reals(1, 2, 1), 2)),
    "too_large": refusal("runtime", Call(reals(0, 1, 1), _LARGEST + 1), Call(_LINE, 5)),
    "whole_numbers_between": refusal(
        "not_implemented",
        Call(wholes(1, 2, 3, 4), 2, mode="bilinear"),
        Call(wholes(1, 2, 3, 4, dtype="uint8"), 2, mode="bilinear"),
    ),
    "areas_of_bytes": refusal(
        "not_implemented",
        Call(wholes(1, 2, 3, 4, dtype="uint8"), 2, mode="area"),
        Call(wholes(1, 2, 3, 4, dtype="uint8"), 2, mode="bicubic"),
    ),
}
_UPSAMPLED = {
    name: _INTERPOLATED[name]
    for name in ("a_matrix", "four_spatial_dims", "no_size", "size_and_factor", "a_size_too_few")
}
_THETA, _SPACE = reals(2, 2, 3), reals(2, 3, 4)
_AFFINE = {
    "a_number_as_size": refusal("type", Call(_THETA, 4), Call(_THETA, [2, 1, 3, 4])),
    "a_line": refusal("runtime", Call(reals(2, 1, 2), [2, 1, 4]), Call(_THETA, [2, 1, 3, 4])),
    "four_spatial_dims": refusal(
        "runtime", Call(reals(2, 4, 5), [2, 1, 2, 2, 2, 2]), Call(_SPACE, [2, 1, 2, 2, 2])
    ),
    "theta_of_another_batch": refusal("runtime", Call(_THETA, [1, 1, 3, 4]), Call(_THETA, [2, 1, 3, 4])),
    "theta_of_a_volume": refusal("runtime", Call(_SPACE, [2, 1, 3, 4]), Call(_SPACE, [2, 1, 2, 3, 4])),
    "theta_of_an_image": refusal("runtime", Call(_THETA, [2, 1, 2, 3, 4]), Call(_THETA, [2, 1, 3, 4])),
    "square_theta": refusal("runtime", Call(reals(2, 2, 2), [2, 1, 3, 4]), Call(_THETA, [2, 1, 3, 4])),
    "whole_numbers": refusal("value", Call(wholes(2, 2, 3), [2, 1, 3, 4]), Call(_THETA, [2, 1, 3, 4])),
    "a_size_of_zero": refusal("value", Call(_THETA, [2, 1, 0, 4]), Call(_THETA, [2, 1, 1, 4])),
    "no_channels": refusal("value", Call(_THETA, [2, 0, 3, 4]), Call(_THETA, [2, 1, 3, 4])),
}
_GRID = reals(1, 5, 5, 2)
_SAMPLED = {
    "an_unknown_mode": refusal("value", Call(_IMAGE, _GRID, "linear"), Call(_IMAGE, _GRID, "bicubic")),
    "an_unknown_padding": refusal(
        "value", Call(_IMAGE, _GRID, "nearest", "wrap"), Call(_IMAGE, _GRID, "nearest", "border")
    ),
    "a_line": refusal("runtime", Call(_LINE, reals(1, 5, 1)), Call(_IMAGE, _GRID)),
    "four_spatial_dims": refusal(
        "runtime", Call(reals(1, 1, 2, 2, 2, 2), reals(1, 2, 2, 2, 2, 4)), Call(_VOLUME, reals(1, 2, 2, 2, 3))
    ),
    "a_grid_of_a_lower_rank": refusal("runtime", Call(_IMAGE, reals(1, 5, 2)), Call(_IMAGE, _GRID)),
    "a_grid_of_a_higher_rank": refusal("runtime", Call(_IMAGE, reals(1, 5, 5, 5, 2)), Call(_IMAGE, _GRID)),
    "a_grid_of_another_batch": refusal("runtime", Call(_IMAGE, reals(2, 5, 5, 2)), Call(_IMAGE, _GRID)),
    "a_grid_of_volumes": refusal("runtime", Call(_IMAGE, reals(1, 5, 5, 3)), Call(_IMAGE, _GRID)),
    "bicubic_volumes": refusal(
        "runtime",
        Call(_VOLUME, reals(1, 2, 2, 2, 3), "bicubic"),
        Call(_VOLUME, reals(1, 2, 2, 2, 3), "bilinear"),
    ),
    "an_empty_image": refusal("runtime", Call(reals(1, 2, 0, 4), _GRID), Call(reals(1, 0, 3, 4), _GRID)),
    "dtypes_apart": refusal("runtime", Call(_IMAGE, _GRID.astype("float64")), Call(_IMAGE, _GRID)),
    "whole_numbers": refusal("runtime", Call(wholes(1, 2, 3, 4), wholes(1, 5, 5, 2)), Call(_IMAGE, _GRID)),
}
_PADDED = {
    "an_unknown_mode": refusal(
        "not_implemented", Call(_LINE, [1, 1], "wrap"), Call(_LINE, [1, 1], "circular")
    ),
    "three_amounts": refusal(
        "not_implemented", Call(_LINE, [1, 1, 1], "reflect"), Call(_LINE, [1, 1, 1, 1], "reflect")
    ),
    "no_amounts": refusal("not_implemented", Call(_LINE, [], "reflect"), Call(_LINE, [0, 0], "reflect")),
    "a_vector": refusal(
        "not_implemented", Call(reals(4), [1, 1], "reflect"), Call(reals(2, 4), [1, 1], "reflect")
    ),
    "a_line_of_an_image": refusal(
        "not_implemented", Call(_IMAGE, [1, 1], "reflect"), Call(_LINE, [1, 1], "reflect")
    ),
    "an_image_of_a_matrix": refusal(
        "not_implemented",
        Call(reals(3, 4), [1, 1, 1, 1], "reflect"),
        Call(reals(2, 3, 4), [1, 1, 1, 1], "reflect"),
    ),
    "four_spatial_dims": refusal(
        "not_implemented",
        Call(reals(1, 2, 2, 2, 2, 2), [1] * 8, "replicate"),
        Call(_VOLUME, [1] * 6, "replicate"),
    ),
    "reflected_beyond_the_line": refusal(
        "runtime", Call(_LINE, [4, 0], "reflect"), Call(_LINE, [3, 0], "reflect")
    ),
    "reflected_beyond_its_end": refusal(
        "runtime", Call(_LINE, [0, 4], "reflect"), Call(_LINE, [0, 3], "reflect")
    ),
    "around_more_than_once": refusal(
        "runtime", Call(_LINE, [5, 0], "circular"), Call(_LINE, [4, 4], "circular")
    ),
    "around_more_than_once_at_the_end": refusal(
        "runtime", Call(_LINE, [0, 5], "circular"), Call(_LINE, [0, 4], "circular")
    ),
    "around_more_than_once_in_the_second_dim": refusal(
        "runtime", Call(_IMAGE, [4, 4, 4, 0], "circular"), Call(_IMAGE, [4, 4, 3, 3], "circular")
    ),
    "nothing_left": refusal(
        "runtime", Call(_LINE, [-2, -2], "replicate"), Call(_LINE, [-2, -1], "replicate")
    ),
    "an_empty_line": refusal(
        "runtime", Call(reals(1, 2, 0), [1, 1], "replicate"), Call(reals(1, 2, 1), [1, 1], "replicate")
    ),
}
_UP, _DOWN = reals(1, 4, 2, 3), reals(1, 1, 4, 6)
_SHUFFLED = {
    "a_matrix": refusal("runtime", Call(reals(4, 4), 2), Call(reals(4, 2, 2), 2)),
    "no_factor": refusal("runtime", Call(_UP, 0), Call(_UP, 1)),
    "a_negative_factor": refusal("runtime", Call(_UP, -2), Call(_UP, 2)),
    "channels_of_the_factor_alone": refusal("runtime", Call(reals(1, 2, 2, 3), 2), Call(_UP, 2)),
    "channels_of_another_number": refusal("runtime", Call(reals(4, 6, 4, 4), 2), Call(reals(4, 8, 4, 4), 2)),
}
_UNSHUFFLED = {
    "a_matrix": refusal("runtime", Call(reals(4, 4), 2), Call(reals(1, 4, 4), 2)),
    "no_factor": refusal("runtime", Call(_DOWN, 0), Call(_DOWN, 1)),
    "a_negative_factor": refusal("runtime", Call(_DOWN, -2), Call(_DOWN, 2)),
    "an_odd_height": refusal("runtime", Call(reals(1, 2, 3, 4), 2), Call(reals(1, 3, 2, 4), 2)),
    "an_odd_width": refusal("runtime", Call(reals(1, 2, 4, 3), 2), Call(reals(1, 3, 4, 2), 2)),
}
_CHANNELS = {
    "a_matrix": refusal("runtime", Call(reals(2, 4), 2), Call(reals(1, 4, 2), 2)),
    "no_groups": refusal("runtime", Call(_UP, 0), Call(_UP, 1)),
    "channels_of_another_number": refusal("runtime", Call(reals(2, 3, 2), 2), Call(reals(3, 2, 3), 2)),
}
_POOLED, _PLACES = reals(1, 1, 2, 2), np.array([[[[0, 3], [8, 11]]]])
_UNPOOLED = {
    "places_of_32_bits": refusal(
        "runtime", Call(_POOLED, _PLACES.astype("int32"), 2), Call(_POOLED, _PLACES, 2)
    ),
    "places_of_another_shape": refusal(
        "runtime", Call(_POOLED, _PLACES[..., :1], 2), Call(_POOLED, _PLACES, 2)
    ),
    "a_matrix": refusal("runtime", Call(_POOLED[0, 0], _PLACES[0, 0], 2), Call(_POOLED[0], _PLACES[0], 2)),
    "rank_5": refusal("runtime", Call(_POOLED[None], _PLACES[None], 2), Call(_POOLED, _PLACES, 2)),
    "no_channels": refusal(
        "runtime", Call(_POOLED[:, :0], _PLACES[:, :0], 2), Call(_POOLED[:0], _PLACES[:0], 2)
    ),
    "a_kernel_too_many": refusal(
        "runtime", Call(_POOLED, _PLACES, [2, 2, 2]), Call(_POOLED, _PLACES, [2, 2])
    ),
    "an_empty_kernel": refusal("runtime", Call(_POOLED, _PLACES, 0, 2), Call(_POOLED, _PLACES, 2, 2)),
    "no_stride": refusal("runtime", Call(_POOLED, _PLACES, 2, 0), Call(_POOLED, _PLACES, 2, 2)),
    "a_size_too_few": refusal(
        "value", Call(_POOLED, _PLACES, 2, 2, 0, [4]), Call(_POOLED, _PLACES, 2, 2, 0, [4, 4])
    ),
    "three_sizes": refusal(
        "value", Call(_POOLED, _PLACES, 2, 2, 0, [1, 4, 4]), Call(_POOLED, _PLACES, 2, 2, 0, [1, 1, 4, 4])
    ),
    "five_sizes": refusal(
        "value",
        Call(_POOLED[0], _PLACES[0], 2, 2, 0, [1, 1, 1, 4, 4]),
        Call(_POOLED[0], _PLACES[0], 2, 2, 0, [1, 1, 4, 4]),
    ),
    "a_stride_too_long_beside_padding": refusal(
        "value",
        Call(_POOLED, np.array([[[[0, 1], [2, 3]]]]), 2, 2, 1, [4, 2]),
        Call(_POOLED, np.array([[[[0, 1], [2, 3]]]]), 2, 2, 1, [3, 2]),
    ),
    "a_stride_too_long": refusal(
        "value", Call(_POOLED, _PLACES, 2, 2, 0, [4, 6]), Call(_POOLED, _PLACES, 2, 2, 0, [4, 5])
    ),
    "a_stride_too_short": refusal(
        "value",
        Call(_POOLED, np.array([[[[0, 1], [2, 3]]]]), 2, 2, 0, [2, 4]),
        Call(_POOLED, np.array([[[[0, 1], [2, 3]]]]), 2, 2, 0, [3, 4]),
    ),
}
_FIELD, _DRAWN = reals(1, 2, 5, 5), reals(1, 2, 2)


def _fractional(x: object, *arguments: object, drawn: object = _DRAWN, **options: object) -> Call:
    return Call(x, *arguments, _random_samples=drawn, **options)


_FRACTIONAL = {
    "a_matrix": refusal("runtime", _fractional(_FIELD[0, 0], 2, 2), _fractional(_FIELD[0], 2, 2)),
    "rank_5": refusal("runtime", _fractional(_FIELD[None], 2, 2), _fractional(_FIELD, 2, 2)),
    "no_channels": refusal("runtime", _fractional(_FIELD[:, :0], 2, 2), _fractional(_FIELD, 2, 2)),
    "whole_numbers": refusal(
        "not_implemented", _fractional(wholes(1, 2, 5, 5), 2, 2), _fractional(_FIELD, 2, 2)
    ),
    "no_size": refusal("value", _fractional(_FIELD, 2), _fractional(_FIELD, 2, 2)),
    "size_and_ratio": refusal(
        "value", _fractional(_FIELD, 2, 2, output_ratio=0.5), _fractional(_FIELD, 2, output_ratio=0.5)
    ),
    "a_ratio_of_zero": refusal(
        "value",
        _fractional(_FIELD, 2, output_ratio=[0.5, 0.0]),
        _fractional(_FIELD, 2, output_ratio=[0.5, 0.2]),
    ),
    "a_ratio_of_one": refusal(
        "value", _fractional(_FIELD, 1, output_ratio=1.0), _fractional(_FIELD, 1, output_ratio=0.9)
    ),
    "a_kernel_too_many": refusal(
        "runtime", _fractional(_FIELD, [2, 2, 2], 2), _fractional(_FIELD, [2, 2], 2)
    ),
    "a_size_too_few": refusal("runtime", _fractional(_FIELD, 2, [2]), _fractional(_FIELD, 2, [2, 2])),
    "an_empty_kernel": refusal("runtime", _fractional(_FIELD, [2, 0], 2), _fractional(_FIELD, [2, 1], 2)),
    "an_empty_result": refusal("runtime", _fractional(_FIELD, 2, [2, 0]), _fractional(_FIELD, 2, [2, 1])),
    "windows_beyond_the_image": refusal("runtime", _fractional(_FIELD, 3, 4), _fractional(_FIELD, 3, 3)),
    "draws_of_another_number": refusal(
        "runtime", _fractional(_FIELD, 2, 2, drawn=reals(1, 1, 2)), _fractional(_FIELD, 2, 2)
    ),
    "draws_of_three_dims": refusal(
        "runtime", _fractional(_FIELD, 2, 2, drawn=reals(1, 2, 3)), _fractional(_FIELD, 2, 2)
    ),
}
_CUBE, _CUBE_DRAWN = reals(1, 2, 5, 5, 5), reals(1, 2, 3)
_FRACTIONAL_CUBES = {
    "an_image": refusal(
        "runtime",
        _fractional(_CUBE[0, 0], 2, 2, drawn=reals(1, 5, 3)),
        _fractional(_CUBE[0], 2, 2, drawn=_CUBE_DRAWN),
    ),
    "windows_that_leave_no_row": refusal(
        "runtime", _fractional(_CUBE, 3, 3, drawn=_CUBE_DRAWN), _fractional(_CUBE, 3, 2, drawn=_CUBE_DRAWN)
    ),
    "draws_of_two_dims": refusal(
        "runtime", _fractional(_CUBE, 2, 2, drawn=_DRAWN), _fractional(_CUBE, 2, 2, drawn=_CUBE_DRAWN)
    ),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    "interpolate": _INTERPOLATED,
    "upsample": _UPSAMPLED,
    "upsample_nearest": _UPSAMPLED,
    "upsample_bilinear": {name: _UPSAMPLED[name] for name in ("no_size", "size_and_factor")},
    "affine_grid": _AFFINE,
    "grid_sample": _SAMPLED,
    "pad_by": _PADDED,
    "constant_pad_nd_complex": {
        "a_complex_number_around_reals": refusal(
            "runtime", Call(_LINE, [1, 1], 1j), Call(_LINE.astype("complex64"), [1, 1], 1j)
        ),
        "three_amounts": refusal(
            "shape",
            Call(_LINE.astype("complex64"), [1, 1, 1], 1j),
            Call(_LINE.astype("complex64"), [1, 1, 1, 1], 1j),
        ),
    },
    "pixel_shuffle": _SHUFFLED,
    "pixel_unshuffle": _UNSHUFFLED,
    "channel_shuffle": _CHANNELS,
    "native_channel_shuffle": _CHANNELS,
    "max_unpool2d": _UNPOOLED,
    "fractional_max_pool2d": _FRACTIONAL,
    "fractional_max_pool3d": _FRACTIONAL_CUBES,
}
