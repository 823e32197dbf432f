"""Fourier transforms: dtypes, dims, numbers of points, norms, frames and their windows."""

from __future__ import annotations

from typing import Any

from tenora_ops.lazy import np
from tenora_ops.refusals import Call, Refusal, reals, refusal

_SIGNAL, _IMAGE = reals(4), reals(3, 4)
_COMPLEX, _HALF = reals(4, dtype="complex64"), reals(4, dtype="float16")
_PLANE = reals(3, 4, dtype="complex64")


def _along(real: bool, half: bool) -> dict[str, Refusal]:
    """What transforms along one dim refuse. `real`: complex operands too; `half`: the operand is half a spectrum."""
    found = {
        "a_half_type": refusal("dtype", Call(_HALF), Call(_SIGNAL)),
        "dim_above": refusal("index", Call(_IMAGE, None, 2), Call(_IMAGE, None, 1)),
        "dim_below": refusal("index", Call(_IMAGE, None, -3), Call(_IMAGE, None, -2)),
        "a_dim_of_a_number": refusal("index", Call(reals()), Call(reals(2))),
        "no_points": refusal("shape", Call(_SIGNAL, 0), Call(_SIGNAL, 1)),
        "fewer_points_than_none": refusal("shape", Call(_SIGNAL, -2), Call(_SIGNAL, 1)),
        "no_elements": refusal("shape", Call(reals(0)), Call(reals(2))),
        "an_unknown_norm": refusal("runtime", Call(_SIGNAL, norm="unit"), Call(_SIGNAL, norm="ortho")),
    }
    if real:
        found["complex_numbers"] = refusal("dtype", Call(_COMPLEX), Call(_SIGNAL))
    if half:
        found["half_a_spectrum_of_one_point"] = refusal("shape", Call(reals(1)), Call(reals(2)))
    return found


def _over(real: bool, half: bool, two: bool) -> dict[str, Refusal]:
    """What transforms over several dims refuse. `two`: dims that are not told are the last two."""
    found = {
        "a_half_type": refusal("dtype", Call(_IMAGE.astype("float16")), Call(_IMAGE)),
        "dim_above": refusal("index", Call(_IMAGE, None, [0, 2]), Call(_IMAGE, None, [0, 1])),
        "dim_below": refusal("index", Call(_IMAGE, None, [-3, 1]), Call(_IMAGE, None, [-2, 1])),
        "a_dim_twice": refusal("shape", Call(_IMAGE, None, [1, -1]), Call(_IMAGE, None, [0, -1])),
        "lengths_fewer_than_dims": refusal("shape", Call(_IMAGE, [3], [0, 1]), Call(_IMAGE, [3, 4], [0, 1])),
        "lengths_more_than_dims": refusal("shape", Call(_IMAGE, [3, 4], [1]), Call(_IMAGE, [4], [1])),
        "no_points": refusal("shape", Call(_IMAGE, [0, 4], [0, 1]), Call(_IMAGE, [1, 4], [0, 1])),
        "an_unknown_norm": refusal("runtime", Call(_IMAGE, norm="unit"), Call(_IMAGE, norm="forward")),
    }
    if not two:
        found["lengths_more_than_dims_of_the_operand"] = refusal(
            "shape", Call(_SIGNAL, [1, 4]), Call(_IMAGE, [1, 4])
        )
    if real:
        found["complex_numbers"] = refusal("dtype", Call(_PLANE), Call(_IMAGE))
    if real or half:
        found["no_dims"] = refusal("shape", Call(_IMAGE, None, []), Call(_IMAGE, None, [1]))
    if half:
        found["half_a_spectrum_of_one_point"] = refusal("shape", Call(reals(3, 1)), Call(reals(3, 2)))
        found["no_points_of_the_result"] = refusal(
            "shape", Call(_IMAGE, [3, 0], [0, 1]), Call(_IMAGE, [3, 1], [0, 1])
        )
    return found


_SOUND, _SPECTRUM = reals(8), reals(3, 5, dtype="complex64")


def _stft(code: str, wrong: Call, taken: Call) -> Refusal:
    for call in (wrong, taken):
        call.sample.options.setdefault("return_complex", True)
    return refusal(code, wrong, taken)


def _frames(x: Any, **options: Any) -> Call:
    return Call(x, 4, **options)


_STFT = {
    "a_number": _stft("shape", _frames(reals()), _frames(_SOUND)),
    "a_stack_of_batches": _stft("shape", _frames(reals(1, 2, 8)), _frames(reals(2, 8))),
    "not_told_whether_complex": refusal(
        "shape", _frames(_SOUND), _frames(_SOUND.astype("complex64"), onesided=False)
    ),
    "one_side_of_complex_numbers": _stft(
        "shape", _frames(_SOUND.astype("complex64"), onesided=True), _frames(_SOUND, onesided=True)
    ),
    "one_side_with_a_complex_window": _stft(
        "shape",
        _frames(_SOUND, window=reals(4, dtype="complex64"), onesided=True),
        _frames(_SOUND, window=reals(4, dtype="complex64"), onesided=False),
    ),
    "no_hop": _stft("shape", _frames(_SOUND, hop_length=0), _frames(_SOUND, hop_length=1)),
    "a_hop_of_a_quarter_of_three": _stft("shape", Call(_SOUND, 3), Call(_SOUND, 4)),
    "an_empty_window": _stft("shape", _frames(_SOUND, win_length=0), _frames(_SOUND, win_length=1)),
    "a_window_beyond_the_points": _stft(
        "shape", _frames(_SOUND, win_length=5), _frames(_SOUND, win_length=4)
    ),
    "a_window_of_another_length": _stft(
        "shape", _frames(_SOUND, window=reals(1)), _frames(_SOUND, window=reals(4))
    ),
    "a_window_of_rank_2": _stft(
        "shape",
        _frames(reals(12), hop_length=4, window=reals(4, 4)),
        _frames(reals(12), hop_length=4, window=reals(4)),
    ),
    "an_unknown_padding": _stft(
        "shape", _frames(_SOUND, pad_mode="zeros"), _frames(_SOUND, pad_mode="circular")
    ),
    "too_short_to_reflect": _stft("shape", _frames(reals(2)), _frames(reals(3))),
    "more_points_than_the_signal": _stft(
        "shape", _frames(reals(3), center=False), _frames(reals(4), center=False)
    ),
    "no_points": _stft("shape", Call(_SOUND, 0, 1, center=False), Call(_SOUND, 1, 1, center=False)),
}


def _overlapping(x: Any, n_fft: int = 4, **options: Any) -> Call:
    return Call(x, n_fft, window=np.ones(n_fft, "float32"), **options)


_ISTFT = {
    "real_numbers": refusal("shape", _overlapping(reals(3, 5)), _overlapping(_SPECTRUM)),
    "a_vector": refusal("shape", _overlapping(reals(3, dtype="complex64")), _overlapping(_SPECTRUM)),
    "a_stack_of_batches": refusal(
        "shape", _overlapping(_SPECTRUM[None, None]), _overlapping(_SPECTRUM[None])
    ),
    "no_frames": refusal("shape", _overlapping(reals(3, 0, dtype="complex64")), _overlapping(_SPECTRUM)),
    "a_row_too_few": refusal("shape", _overlapping(reals(2, 5, dtype="complex64")), _overlapping(_SPECTRUM)),
    "half_of_what_is_whole": refusal(
        "shape",
        _overlapping(_SPECTRUM, onesided=False),
        _overlapping(reals(4, 5, dtype="complex64"), onesided=False),
    ),
    "the_whole_of_what_is_half": refusal(
        "shape",
        _overlapping(reals(4, 5, dtype="complex64"), onesided=True),
        _overlapping(_SPECTRUM, onesided=True),
    ),
    "half_of_a_complex_signal": refusal(
        "shape",
        _overlapping(_SPECTRUM, return_complex=True),
        _overlapping(reals(4, 5, dtype="complex64"), return_complex=True),
    ),
    "no_hop": refusal("shape", _overlapping(_SPECTRUM, hop_length=0), _overlapping(_SPECTRUM, hop_length=1)),
    "windows_that_leave_points_out": refusal(
        "shape",
        _overlapping(_SPECTRUM, hop_length=5, center=False),
        _overlapping(_SPECTRUM, hop_length=4, center=False),
    ),
    "a_window_beyond_the_points": refusal(
        "shape", Call(_SPECTRUM, 4, win_length=5), Call(_SPECTRUM, 4, win_length=4)
    ),
    "a_window_of_another_length": refusal(
        "shape", Call(_SPECTRUM, 4, window=reals(3)), Call(_SPECTRUM, 4, window=reals(4))
    ),
}

REFUSED: dict[str, dict[str, Refusal]] = {
    **{f"fft_{name}": _along(False, False) for name in ("fft", "ifft")},
    **{f"fft_{name}": _along(True, False) for name in ("rfft", "ihfft")},
    **{f"fft_{name}": _along(False, True) for name in ("irfft", "hfft")},
    **{f"fft_{name}": _over(False, False, name[-1] == "2") for name in ("fftn", "ifftn", "fft2", "ifft2")},
    **{f"fft_{name}": _over(True, False, name[-1] == "2") for name in ("rfftn", "ihfftn", "rfft2", "ihfft2")},
    **{f"fft_{name}": _over(False, True, name[-1] == "2") for name in ("irfftn", "hfftn", "irfft2", "hfft2")},
    "fft_fftfreq": {
        "fewer_points_than_none": refusal("runtime", Call(-1), Call(0)),
        "whole_numbers": refusal("runtime", Call(3, dtype="int64"), Call(3, dtype="float64")),
        "bool": refusal("runtime", Call(3, dtype="bool"), Call(3, dtype="complex64")),
    },
    "fft_rfftfreq": {
        "fewer_points_than_none": refusal("runtime", Call(-4), Call(-2)),
        "whole_numbers": refusal("runtime", Call(3, dtype="int64"), Call(3, dtype="complex64")),
    },
    **{
        f"fft_{name}": {
            "dim_above": refusal("index", Call(_IMAGE, 2), Call(_IMAGE, 1)),
            "dim_below": refusal("index", Call(_IMAGE, [0, -3]), Call(_IMAGE, [0, -2])),
        }
        for name in ("fftshift", "ifftshift")
    },
    "stft": _STFT,
    "istft": _ISTFT,
}
