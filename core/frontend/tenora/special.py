"""Special functions under PyTorch's names: the op records that are public as `special.*`, and older names of others.

>>> import tenora
>>> tenora.special.gammaln(tenora.tensor([4.0]))
tensor([1.7918])
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
    "log_softmax": "log_softmax",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "modified_bessel_i0": "i0",
    "multigammaln": "mvlgamma",
    "polygamma": "polygamma",
    "psi": "digamma",
    "round": "round",
    "sinc": "sinc",
    "softmax": "softmax",
    "xlogy": "xlogy",
}

_functions = _ops.public_functions("special")
_functions.update({name: _ops.resolve(other) for name, other in _SAME.items()})
_functions["modified_bessel_i1"] = _functions["i1"]
globals().update(_functions)

__all__ = [*_functions]
