"""The short-time Fourier transform and its inverse: transforms of overlapping frames, weighted by a window.

- The inverse adds the frames up again and divides by the added squares of the window (Griffin and Lim 1984).
"""

from __future__ import annotations

from typing import Any

from tenora_ops.formula import ops
from tenora_ops.fourier import PUBLIC
from tenora_ops.fourier_cases import frames_oracle, signal_oracle
from tenora_ops.linalg_rules import refuse
from tenora_ops.linalg_steps import integers, real_dtype
from tenora_ops.record import op
from tenora_ops.samples import COMPLEX, Draw, Sample, sample


def _window(name: str, window: Any, like: Any, n_fft: int, length: int) -> Any:
    """The window in the middle of n_fft points; ones without one."""
    if not 0 < length <= n_fft:
        raise refuse(name, "win_length", length, f"1 to n_fft ({n_fft})", "Check win_length.")
    if window is None:
        window = ops.ones([length], dtype=real_dtype(like.dtype), device=like.device)
    if window.ndim != 1 or window.shape[0] != length:
        raise refuse(
            name, "window", tuple(window.shape), f"({length},)", "Give a window of win_length points."
        )
    before = (n_fft - length) // 2
    return ops.pad(window, [before, n_fft - length - before])


def _hop(name: str, hop: int | None, n_fft: int) -> int:
    hop = n_fft // 4 if hop is None else hop
    if hop <= 0:
        raise refuse(name, "hop_length", hop, "a positive number", "Check hop_length.")
    return hop


def _edges(name: str, x: Any, amount: int, mode: str) -> Any:
    """x with `amount` more points at both ends of its last dim."""
    length = x.shape[-1]
    if mode == "constant":
        return ops.pad(x, [amount, amount])
    if mode in ("replicate", "circular"):
        return ops.reshape(
            ops.pad_by(ops.reshape(x, (1, -1, length)), [amount, amount], mode), (*x.shape[:-1], -1)
        )
    if mode != "reflect":
        raise refuse(
            name, "pad_mode", repr(mode), "'reflect', 'constant', 'replicate' or 'circular'", "Choose one."
        )
    if amount >= length:
        raise refuse(
            name, "signal too short to reflect", length, f"more than {amount} points", "Use 'constant'."
        )
    front = ops.flip(ops.narrow(x, -1, 1, amount), [-1])
    back = ops.flip(ops.narrow(x, -1, length - 1 - amount, amount), [-1])
    return ops.cat([front, x, back], -1)


def _stft(
    input: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
) -> Any:
    name = "stft"
    if input.ndim not in (1, 2):
        raise refuse(name, "dims", tuple(input.shape), "(length,) or (batch, length)", "Check the signal.")
    whole = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not whole:
        raise refuse(
            name, "return_complex", None, "True or False for real signals", "Give return_complex=True."
        )
    if onesided and whole:
        raise refuse(name, "onesided", onesided, "False for complex numbers", "Leave it out.")
    hop = _hop(name, hop_length, n_fft)
    window = _window(name, window, input, n_fft, n_fft if win_length is None else win_length)
    x = ops.straight(input)  # as PyTorch: second derivatives of this linear function are zeros, not none
    x = _edges(name, x, n_fft // 2, pad_mode) if center else x
    if not 0 < n_fft <= x.shape[-1]:
        raise refuse(name, "n_fft", n_fft, f"1 to the length of the signal ({x.shape[-1]})", "Check n_fft.")
    frames = ops.unfold_dim(x, -1, n_fft, hop) * window
    half = not whole if onesided is None else onesided
    transform = ops.fft_rfft if half else ops.fft_fft
    spectrum = ops.transpose(transform(frames, norm="ortho" if normalized else "backward"), -2, -1)
    return (
        spectrum if return_complex is None or return_complex else ops.view_as_real(ops.contiguous(spectrum))
    )


def _signals(draw: Draw) -> list[Sample]:
    return [
        sample(draw.array(12), 4, return_complex=True),
        sample(draw.array(2, 15), 4, 2, return_complex=True),
        sample(draw.array(12), 5, 2, 3, draw.array(3), return_complex=True),
        sample(draw.array(2, 10), 4, 1, center=False, return_complex=True),
        sample(draw.array(9), 4, 2, pad_mode="constant", normalized=True, return_complex=True),
        sample(draw.array(9), 4, 2, onesided=False, return_complex=True),
        sample(draw.array(2, 9), 4, 2, pad_mode="replicate", return_complex=True),
        sample(draw.array(9), 4, 3, pad_mode="circular", return_complex=True),
    ]


stft = op(
    "stft(input: Tensor, n_fft: int, hop_length: int? = None, win_length: int? = None, window: Tensor? = None,"
    " center: bool = True, pad_mode: str = 'reflect', normalized: bool = False, onesided: bool? = None,"
    " return_complex: bool? = None) -> Tensor",
    family=PUBLIC,
    dtypes=("float32", "float64"),
    function=_stft,
    samples=_signals,
    oracle=frames_oracle,
    doc="Transforms of overlapping frames of a signal: (batch, frequency, frame).",
    example="tenora.stft(tenora.ones(16), 8, return_complex=True)",
    complex_within=True,
    method=True,
)


def _added(frames: Any, hop: int) -> Any:
    """Overlapping frames (batch, frame, point), added up where they lie."""
    count, points = frames.shape[-2:]
    place = ops.unsqueeze(integers(frames, count) * hop, -1) + integers(frames, points)
    flat = ops.reshape(frames, [frames.shape[0], count * points])
    out = ops.zeros([frames.shape[0], points + hop * (count - 1)], dtype=frames.dtype, device=frames.device)
    return ops.scatter_add(out, 1, ops.expand(ops.reshape(place, [1, -1]), flat.shape), flat)


def _istft(
    input: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    name = "istft"
    if not input.dtype.is_complex or input.ndim not in (2, 3) or not input.numel():
        got = f"{input.dtype}{list(input.shape)}"
        raise refuse(name, "spectrum", got, "complex (batch, frequency, frame)", "Use what stft gives.")
    half = not return_complex and (input.shape[-2] != n_fft if onesided is None else onesided)
    rows = n_fft // 2 + 1 if half else n_fft
    if input.shape[-2] != rows:
        raise refuse(name, "number of frequencies", input.shape[-2], str(rows), "Check n_fft and onesided.")
    hop = _hop(name, hop_length, n_fft)
    window = _window(name, window, input, n_fft, n_fft if win_length is None else win_length)
    spectrum = ops.transpose(input if input.ndim == 3 else ops.unsqueeze(input, 0), -2, -1)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = ops.fft_ifft(spectrum, norm=norm)
    else:  # a real signal: what a whole spectrum says beyond its half is not looked at, as in PyTorch
        frames = ops.fft_irfft(spectrum[..., : n_fft // 2 + 1], n_fft, norm=norm)
    signal = _added(frames * window, hop)
    weight = ops.expand(ops.square(window), [1, input.shape[-1], n_fft])
    envelope = _added(weight, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else signal.shape[-1] - start
    stop = min(end, signal.shape[-1])
    signal, envelope = signal[:, start:stop], envelope[:, start:stop]
    if not bool(ops.all(ops.gt(ops.abs(envelope), 1e-11))):
        raise refuse(
            name, "window", "frames whose windows leave points out", "overlapping ones", "Check the hop."
        )
    result = signal / envelope
    if end > stop:
        result = ops.pad(result, [0, end - stop])
    return result if input.ndim == 3 else ops.squeeze(result, [0])


def _spectra(draw: Draw) -> list[Sample]:
    return [
        sample(draw.array(3, 5), 4),
        sample(draw.array(2, 3, 5), 4, 2),
        sample(draw.array(3, 6), 5, 1),
        sample(draw.array(2, 3, 4), 4, 2, center=False),
        sample(draw.array(3, 5), 4, 2, normalized=True, length=9),
        sample(draw.array(4, 5), 4, 2, onesided=False),
    ]


istft = op(
    "istft(input: Tensor, n_fft: int, hop_length: int? = None, win_length: int? = None, window: Tensor? = None,"
    " center: bool = True, normalized: bool = False, onesided: bool? = None, length: int? = None,"
    " return_complex: bool = False) -> Tensor",
    family=PUBLIC,
    dtypes=COMPLEX,
    function=_istft,
    samples=_spectra,
    oracle=signal_oracle,
    doc="The signal that a short-time Fourier transform belongs to.",
    example="tenora.istft(tenora.stft(tenora.ones(16), 8, return_complex=True), 8)",
    method=True,
)
