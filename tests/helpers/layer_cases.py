"""Layers and losses that are made in either framework from one line, with what they are tried on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from draws import numbers

Maker = Callable[[Any], Any]
LAYERS: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda f: f.nn.BatchNorm1d(3), (5, 3)),
    "BatchNorm1d of sequences": (lambda f: f.nn.BatchNorm1d(3, momentum=None), (5, 3, 2)),
    "BatchNorm2d": (lambda f: f.nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), (2, 3, 2, 4)),
    "BatchNorm2d bare": (
        lambda f: f.nn.BatchNorm2d(3, affine=False, track_running_stats=False),
        (2, 3, 2, 4),
    ),
    "BatchNorm3d": (lambda f: f.nn.BatchNorm3d(2), (2, 2, 2, 2, 3)),
    "GroupNorm": (lambda f: f.nn.GroupNorm(2, 4), (2, 4, 3)),
    "GroupNorm bare": (lambda f: f.nn.GroupNorm(2, 4, affine=False), (2, 4, 3)),
    "LayerNorm": (lambda f: f.nn.LayerNorm((3, 4)), (2, 3, 4)),
    "LayerNorm without bias": (lambda f: f.nn.LayerNorm(4, bias=False), (2, 3, 4)),
    "RMSNorm": (lambda f: f.nn.RMSNorm(4), (2, 3, 4)),
    "InstanceNorm1d": (lambda f: f.nn.InstanceNorm1d(3), (2, 3, 4)),
    "InstanceNorm2d": (lambda f: f.nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 2, 4)),
    "InstanceNorm2d alone": (lambda f: f.nn.InstanceNorm2d(3), (3, 2, 4)),
    "InstanceNorm3d": (lambda f: f.nn.InstanceNorm3d(2), (1, 2, 2, 2, 3)),
    "LocalResponseNorm": (lambda f: f.nn.LocalResponseNorm(2, alpha=0.5), (2, 4, 3)),
    "LeakyReLU": (lambda f: f.nn.LeakyReLU(0.2), (3, 4)),
    "ReLU6": (lambda f: f.nn.ReLU6(), (3, 4)),
    "ELU": (lambda f: f.nn.ELU(0.5), (3, 4)),
    "CELU": (lambda f: f.nn.CELU(0.5), (3, 4)),
    "SELU": (lambda f: f.nn.SELU(), (3, 4)),
    "SiLU": (lambda f: f.nn.SiLU(), (3, 4)),
    "GLU": (lambda f: f.nn.GLU(0), (4, 3)),
    "Hardtanh": (lambda f: f.nn.Hardtanh(-0.5, 0.25), (3, 4)),
    "Hardsigmoid": (lambda f: f.nn.Hardsigmoid(), (3, 4)),
    "Hardswish": (lambda f: f.nn.Hardswish(), (3, 4)),
    "Hardshrink": (lambda f: f.nn.Hardshrink(0.3), (3, 4)),
    "Softshrink": (lambda f: f.nn.Softshrink(0.3), (3, 4)),
    "Softsign": (lambda f: f.nn.Softsign(), (3, 4)),
    "Tanhshrink": (lambda f: f.nn.Tanhshrink(), (3, 4)),
    "Threshold": (lambda f: f.nn.Threshold(0.1, 20), (3, 4)),
    "LogSigmoid": (lambda f: f.nn.LogSigmoid(), (3, 4)),
    "Mish": (lambda f: f.nn.Mish(), (3, 4)),
    "PReLU": (lambda f: f.nn.PReLU(), (3, 4)),
    "PReLU of channels": (lambda f: f.nn.PReLU(3, init=0.1), (2, 3, 4)),
    "RReLU at rest": (lambda f: f.nn.RReLU().eval(), (3, 4)),
    "Softmin": (lambda f: f.nn.Softmin(1), (3, 4)),
    "Softmax2d": (lambda f: f.nn.Softmax2d(), (2, 3, 2, 2)),
    "Softplus": (lambda f: f.nn.Softplus(2.0), (3, 4)),
    "Dropout1d at rest": (lambda f: f.nn.Dropout1d(0.3).eval(), (2, 3, 4)),
    "Dropout2d at rest": (lambda f: f.nn.Dropout2d(0.3).eval(), (2, 3, 2, 2)),
    "Dropout3d of nothing": (lambda f: f.nn.Dropout3d(0.0), (2, 3, 1, 2, 2)),
    "AlphaDropout of nothing": (lambda f: f.nn.AlphaDropout(0.0), (3, 4)),
    "FeatureAlphaDropout at rest": (lambda f: f.nn.FeatureAlphaDropout().eval(), (3, 4)),
}
#: Convolution, pooling, padding and resizing.
SPATIAL: dict[str, tuple[Maker, tuple[int, ...]]] = {
    "Conv1d": (lambda f: f.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9)),
    "Conv1d unbatched": (lambda f: f.nn.Conv1d(4, 2, 2, dilation=2), (4, 9)),
    "Conv2d": (lambda f: f.nn.Conv2d(3, 4, (3, 2), padding=(1, 2), bias=False), (2, 3, 5, 6)),
    "Conv2d same": (lambda f: f.nn.Conv2d(2, 4, 3, padding="same", dilation=2), (2, 2, 7, 6)),
    "Conv2d reflect": (lambda f: f.nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (1, 2, 4, 5)),
    "Conv2d circular same": (
        lambda f: f.nn.Conv2d(2, 3, (2, 3), padding="same", padding_mode="circular"),
        (1, 2, 4, 5),
    ),
    "Conv3d": (lambda f: f.nn.Conv3d(2, 3, 2, stride=(1, 2, 1)), (1, 2, 4, 5, 3)),
    "ConvTranspose1d": (
        lambda f: f.nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2),
        (2, 4, 5),
    ),
    "ConvTranspose2d": (
        lambda f: f.nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, dilation=2),
        (2, 3, 4, 5),
    ),
    "ConvTranspose3d": (lambda f: f.nn.ConvTranspose3d(2, 1, 2), (1, 2, 3, 2, 3)),
    "MaxPool1d": (lambda f: f.nn.MaxPool1d(3, stride=2, padding=1), (2, 3, 8)),
    "MaxPool2d": (lambda f: f.nn.MaxPool2d((3, 2), stride=2, ceil_mode=True), (2, 3, 8, 7)),
    "MaxPool3d": (lambda f: f.nn.MaxPool3d(2, dilation=(1, 2, 1)), (1, 2, 4, 5, 4)),
    "AvgPool1d": (lambda f: f.nn.AvgPool1d(3, 2, 1, count_include_pad=False), (2, 3, 8)),
    "AvgPool2d": (lambda f: f.nn.AvgPool2d(3, 2, 1, ceil_mode=True), (2, 3, 8, 7)),
    "AvgPool3d": (lambda f: f.nn.AvgPool3d(2, divisor_override=5), (1, 2, 4, 5, 4)),
    "LPPool1d": (lambda f: f.nn.LPPool1d(2, 3), (2, 3, 8)),
    "LPPool2d": (lambda f: f.nn.LPPool2d(2, (3, 2), 2), (2, 3, 8, 7)),
    "LPPool3d": (lambda f: f.nn.LPPool3d(2, 2), (1, 2, 4, 5, 4)),
    "LPPool2d of the largest": (lambda f: f.nn.LPPool2d(float("inf"), (3, 2), 2), (2, 3, 8, 7)),
    "LPPool1d of the smallest": (lambda f: f.nn.LPPool1d(-float("inf"), 3, ceil_mode=True), (2, 3, 8)),
    "AdaptiveAvgPool1d": (lambda f: f.nn.AdaptiveAvgPool1d(3), (2, 3, 8)),
    "AdaptiveAvgPool2d": (lambda f: f.nn.AdaptiveAvgPool2d((5, None)), (2, 3, 8, 7)),
    "AdaptiveAvgPool3d": (lambda f: f.nn.AdaptiveAvgPool3d(2), (2, 4, 5, 3)),
    "AdaptiveMaxPool1d": (lambda f: f.nn.AdaptiveMaxPool1d(3), (2, 3, 8)),
    "AdaptiveMaxPool2d": (lambda f: f.nn.AdaptiveMaxPool2d((None, 3)), (2, 3, 8, 7)),
    "AdaptiveMaxPool3d": (lambda f: f.nn.AdaptiveMaxPool3d(2), (2, 4, 5, 3)),
    "ConstantPad1d": (lambda f: f.nn.ConstantPad1d((1, 2), 3.5), (2, 3)),
    "ConstantPad2d": (lambda f: f.nn.ConstantPad2d(1, 3.5), (2, 3, 4)),
    "ConstantPad3d": (lambda f: f.nn.ConstantPad3d((1, 0, 2, 1, -1, 0), 3.5), (2, 3, 4, 2)),
    "ZeroPad1d": (lambda f: f.nn.ZeroPad1d(2), (2, 3)),
    "ZeroPad2d": (lambda f: f.nn.ZeroPad2d((1, 0, 2, 1)), (2, 3, 4)),
    "ZeroPad3d": (lambda f: f.nn.ZeroPad3d(1), (1, 2, 3, 4, 2)),
    "ReflectionPad1d": (lambda f: f.nn.ReflectionPad1d((2, 1)), (2, 3)),
    "ReflectionPad2d": (lambda f: f.nn.ReflectionPad2d((2, 1, 0, 1)), (2, 3, 4)),
    "ReflectionPad3d": (lambda f: f.nn.ReflectionPad3d(1), (1, 2, 3, 4, 2)),
    "ReplicationPad1d": (lambda f: f.nn.ReplicationPad1d((5, 1)), (2, 3)),
    "ReplicationPad2d": (lambda f: f.nn.ReplicationPad2d(3), (2, 3, 4)),
    "ReplicationPad3d": (lambda f: f.nn.ReplicationPad3d(1), (1, 2, 3, 4, 2)),
    "CircularPad1d": (lambda f: f.nn.CircularPad1d((3, 1)), (2, 3)),
    "CircularPad2d": (lambda f: f.nn.CircularPad2d(2), (2, 3, 4)),
    "CircularPad3d": (lambda f: f.nn.CircularPad3d(1), (1, 2, 3, 4, 2)),
    "Upsample": (lambda f: f.nn.Upsample(scale_factor=2), (1, 2, 3, 4)),
    "Upsample to a size": (lambda f: f.nn.Upsample((5, 7), mode="bicubic", align_corners=True), (1, 2, 3, 4)),
    "Upsample by two factors": (
        lambda f: f.nn.Upsample(scale_factor=(1.5, 2.3), mode="bilinear"),
        (1, 2, 3, 4),
    ),
    "UpsamplingNearest2d": (lambda f: f.nn.UpsamplingNearest2d(scale_factor=2), (1, 2, 3, 4)),
    "UpsamplingBilinear2d": (lambda f: f.nn.UpsamplingBilinear2d((5, 6)), (1, 2, 3, 4)),
    "PixelShuffle": (lambda f: f.nn.PixelShuffle(2), (2, 8, 3, 2)),
    "PixelUnshuffle": (lambda f: f.nn.PixelUnshuffle(2), (2, 3, 4, 2)),
    "ChannelShuffle": (lambda f: f.nn.ChannelShuffle(2), (2, 6, 4)),
    "Unfold": (lambda f: f.nn.Unfold((2, 3), dilation=2, padding=1, stride=2), (2, 3, 6, 7)),
    "Fold": (lambda f: f.nn.Fold((4, 5), (2, 3), padding=1), (2, 12, 25)),
}

#: PyTorch's kernel for double takes 1 / 6 in float.
ROUGH = {"Hardsigmoid": 1e-7}

LABELS = np.array([0, 2, 1, 0, 3])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
CHANCES = 1 / (1 + np.exp(-numbers(5, 4, seed=5)))
LOSSES: dict[str, tuple[Maker, list[Any]]] = {
    "L1Loss": (lambda f: f.nn.L1Loss(), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "SmoothL1Loss": (lambda f: f.nn.SmoothL1Loss(beta=0.5), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "HuberLoss": (lambda f: f.nn.HuberLoss("sum", 0.5), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "BCELoss": (lambda f: f.nn.BCELoss(f.tensor(CHANCES[0])), [CHANCES, CHANCES[::-1].copy()]),
    "BCEWithLogitsLoss": (
        lambda f: f.nn.BCEWithLogitsLoss(reduction="none", pos_weight=f.tensor(CHANCES[1])),
        [numbers(5, 4), CHANCES],
    ),
    "KLDivLoss": (lambda f: f.nn.KLDivLoss(reduction="batchmean"), [np.log(CHANCES), CHANCES[::-1].copy()]),
    "PoissonNLLLoss": (lambda f: f.nn.PoissonNLLLoss(full=True), [numbers(5, 4), CHANCES * 5]),
    "GaussianNLLLoss": (
        lambda f: f.nn.GaussianNLLLoss(full=True),
        [numbers(5, 4), numbers(5, 4, seed=1), CHANCES],
    ),
    "GaussianNLLLoss of rows": (
        lambda f: f.nn.GaussianNLLLoss(),
        [numbers(5, 4), numbers(5, 4, seed=1), CHANCES[:, 0].copy()],
    ),
    "SoftMarginLoss": (lambda f: f.nn.SoftMarginLoss(reduction="sum"), [numbers(5), SIGNS]),
    "HingeEmbeddingLoss": (lambda f: f.nn.HingeEmbeddingLoss(0.5), [numbers(5), SIGNS]),
    "MarginRankingLoss": (lambda f: f.nn.MarginRankingLoss(0.5), [numbers(5), numbers(5, seed=1), SIGNS]),
    "CosineEmbeddingLoss": (
        lambda f: f.nn.CosineEmbeddingLoss(0.1),
        [numbers(5, 4), numbers(5, 4, seed=1), SIGNS],
    ),
    "MultiMarginLoss": (
        lambda f: f.nn.MultiMarginLoss(2, 0.7, f.tensor(CHANCES[2])),
        [numbers(5, 4), LABELS],
    ),
    "MultiLabelMarginLoss": (
        lambda f: f.nn.MultiLabelMarginLoss(),
        [numbers(2, 4), np.array([[3, 0, -1, 1], [2, -1, 0, 0]])],
    ),
    "MultiLabelSoftMarginLoss": (
        lambda f: f.nn.MultiLabelSoftMarginLoss(reduction="none"),
        [numbers(5, 4), np.round(CHANCES).astype(np.int64)],
    ),
    "TripletMarginLoss": (
        lambda f: f.nn.TripletMarginLoss(swap=True),
        [numbers(5, 4), numbers(5, 4, seed=1), numbers(5, 4, seed=2)],
    ),
    "TripletMarginWithDistanceLoss": (
        lambda f: f.nn.TripletMarginWithDistanceLoss(swap=True),
        [numbers(5, 4), numbers(5, 4, seed=1), numbers(5, 4, seed=2)],
    ),
    "CosineSimilarity": (lambda f: f.nn.CosineSimilarity(), [numbers(5, 4), numbers(5, 4, seed=1)]),
    "PairwiseDistance": (
        lambda f: f.nn.PairwiseDistance(1.0, keepdim=True),
        [numbers(5, 4), numbers(5, 4, seed=1)],
    ),
    "Bilinear": (lambda f: f.nn.Bilinear(4, 3, 2), [numbers(5, 4), numbers(5, 3, seed=1)]),
}
#: PyTorch has no gradient for these targets, or gives none.
WITHOUT_TARGETS = {"SoftMarginLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "CosineEmbeddingLoss"}
