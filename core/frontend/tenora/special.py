"""Special functions under PyTorch's names: the op records that are public as `special.*`, and older names of others.

>>> import tenora
>>> round(tenora.special.gammaln(tenora.tensor([4.0])).item(), 4)
1.7918
"""

from __future__ import annotations

import tenora_ops as _ops

#: Functions of `tenora` that PyTorch also has here, by their name here.
_SAME = {
    "digamma": "digamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "i0": "i0",
    "log1p": "log1p",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma",
    "polygamma": "polygamma",
    "psi": "digamma",
    "round": "round",
    "sinc": "sinc",
    "xlogy": "xlogy",
}

globals().update({name: _ops.public_functions()[other] for name, other in _SAME.items()})
globals().update(_ops.public_functions("special"))

__all__ = [*_SAME, *_ops.public_functions("special")]  # noqa: PLE0604
