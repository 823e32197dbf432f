"""The layers under the paths that they have in PyTorch: `tenora.nn.modules.conv.Conv2d` and the like.

Here are no classes of its own: a submodule shows classes of the files of `tenora.nn`, private bases included
(`batchnorm._BatchNorm`, `conv._ConvNd`), under PyTorch's names.

>>> import tenora
>>> from tenora.nn.modules.conv import _ConvNd
>>> isinstance(tenora.nn.Conv1d(1, 1, 1), _ConvNd)
True
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ... import nn
from .. import attention, lazy, module, module_state, sizes
from ..conv import _Conv, _Transposed
from ..dropout import _Dropout
from ..loss import Loss, WeightedLoss
from ..normalisation import _BatchNorm, _InstanceNorm, _Statistics
from ..pooling import _AdaptiveAvgPool, _AdaptiveMaxPool, _LPPool, _MaxPool, _MaxUnpool

#: The public names of each submodule, in words; `*` stands for the dims 1d, 2d and 3d.
_PUBLIC = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
    "MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink "
    "Softsign Tanh Tanhshrink Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm* LazyBatchNorm* SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv* ConvTranspose* LazyConv* LazyConvTranspose*",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout* FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm* LazyInstanceNorm*",
    "lazy": "",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "linear": "Bilinear Identity LazyLinear Linear",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
    "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss "
    "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss "
    "SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad* ConstantPad* ReflectionPad* ReplicationPad* ZeroPad*",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": "AdaptiveAvgPool* AdaptiveMaxPool* AvgPool* FractionalMaxPool2d FractionalMaxPool3d LPPool* MaxPool* "
    "MaxUnpool*",
    "sparse": "Embedding EmbeddingBag",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "utils": "",
}


def _sized(count: int) -> Any:
    """A function that makes `count` numbers of one."""
    return lambda value: sizes.per_dim(value, count)


#: What programs take from the submodules beside the layers.
_FURTHER: dict[str, dict[str, Any]] = {
    "batchnorm": {"_BatchNorm": _BatchNorm, "_NormBase": _Statistics},
    "conv": {"_ConvNd": _Conv, "_ConvTransposeNd": _Transposed},
    "dropout": {"_DropoutNd": _Dropout},
    "instancenorm": {"_InstanceNorm": _InstanceNorm},
    "lazy": {"LazyModuleMixin": lazy.LazyModuleMixin},
    "linear": {"NonDynamicallyQuantizableLinear": attention.NonDynamicallyQuantizableLinear},
    "loss": {"_Loss": Loss, "_WeightedLoss": WeightedLoss},
    "module": {
        "_IncompatibleKeys": module_state.IncompatibleKeys,
        **{name: getattr(module, name) for name in module.__all__},
    },
    "pooling": {
        "_AdaptiveAvgPoolNd": _AdaptiveAvgPool,
        "_AdaptiveMaxPoolNd": _AdaptiveMaxPool,
        "_LPPoolNd": _LPPool,
        "_MaxPoolNd": _MaxPool,
        "_MaxUnpoolNd": _MaxUnpool,
    },
    "utils": {
        "_ntuple": _sized,
        "_single": _sized(1),
        "_pair": _sized(2),
        "_triple": _sized(3),
        "_quadruple": _sized(4),
    },
}


def _names(words: str) -> list[str]:
    return [
        word.replace("*", dims)
        for word in words.split()
        for dims in (("1d", "2d", "3d") if "*" in word else "*")
    ]


def _make() -> None:
    for short, words in _PUBLIC.items():
        shown = ModuleType(f"{__name__}.{short}", f"Names of PyTorch's torch.nn.modules.{short}.")
        public = {name: getattr(nn, name) for name in _names(words)}
        vars(shown).update(public | _FURTHER.get(short, {}), __all__=sorted(public))
        sys.modules[shown.__name__] = shown
        globals()[short] = shown
        globals().update(public)


_make()
__all__ = sorted(name for words in _PUBLIC.values() for name in _names(words))
