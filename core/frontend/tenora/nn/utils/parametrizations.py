"""Parametrizations: orthogonal matrices, unit spectral norm, length times direction.

- Orthogonal (Lezcano-Casado 2019, https://arxiv.org/abs/1909.09501): the matrix exponential or the Cayley map of a skew
  matrix, or a product of Householder reflections. With a trivialisation the result is multiplied to a fixed orthogonal
  matrix, `base`, so that any orthogonal matrix can be assigned.
- Spectral norm (Miyato et al. 2018, https://arxiv.org/abs/1802.05957) and weight norm (Salimans and Kingma 2016,
  https://arxiv.org/abs/1602.07868) are the mathematics of `spectral_norm.py` and `weight_norm.py`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import tenora_ops
from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from ... import creation_ranges
from ..module import Module
from . import parametrize
from .spectral_norm import as_matrix, default_dim, need_iterations, normalised, random_unit
from .weight_norm import length, scaled

T = TypeVar("T", bound=Module)

_MAPS = ("matrix_exp", "cayley", "householder")


def _eye(size: int, like: Tensor) -> Any:
    return creation_ranges.eye(size, dtype=like.dtype, device=like.device)


def _householder(reflectors: Any, scales: Any) -> Any:
    return tenora_ops.resolve("linalg.householder_product")(reflectors, scales)


def _is_orthogonal(matrix: Any) -> bool:
    rows, columns = matrix.shape[-2:]
    # Machine epsilon, as the distance from 1 to the number after it in the matrix's dtype.
    epsilon = tenora_ops.nextafter(matrix.real.new_ones(()), matrix.real.new_full((), 2.0)).item() - 1.0
    return bool(tenora_ops.allclose(matrix.mH @ matrix, _eye(columns, matrix), atol=10.0 * rows * epsilon))


def _made_orthogonal(matrix: Any) -> Any:
    """An orthogonal matrix of the decomposition that has a positive diagonal in its triangle."""
    packed, scales = matrix.geqrf()
    diagonal = packed.diagonal(dim1=-2, dim2=-1)
    signs = tenora_ops.where(diagonal == 0, 1, diagonal.sgn())  # 0 without full rank: any sign is right
    return _householder(packed, scales) * signs.unsqueeze(-2)


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise errors.ArgumentValueError(
                "[orthogonal] orthogonal_map: got 'householder' for a complex weight, expected 'matrix_exp' or "
                "'cayley'. Choose one of them."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The orthogonal matrix of the free matrix `X`."""
        wide = X.shape[-2] < X.shape[-1]
        free = X.mT if wide else X
        result = self._reflected(free) if self.orthogonal_map == "householder" else self._mapped(free)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if wide else result

    def _mapped(self, free: Any) -> Any:
        rows, columns = free.shape[-2:]
        lower = free.tril()
        if rows != columns:
            lower = tenora_ops.pad(lower, [0, rows - columns])
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            result = skew.matrix_exp()
        else:
            one = _eye(rows, skew)
            result = tenora_ops.resolve("linalg.solve")(one - skew * 0.5, one + skew * 0.5)
        return result if rows == columns else result[..., :columns]

    def _reflected(self, free: Any) -> Any:
        reflectors = free.tril(-1)
        scales = 2.0 / (1.0 + (reflectors * reflectors).sum(-2))
        signs = free.diagonal(dim1=-2, dim2=-1).int()  # 1 or -1, which no gradient should move
        return _householder(reflectors, scales) * signs.unsqueeze(-2)

    def right_inverse(self, Q: Any) -> Any:
        """The free matrix that gives `Q`; with a trivialisation `Q` goes to `base` and the free matrix is fixed."""
        with no_grad():
            if Q.shape != self.shape:
                raise errors.ArgumentValueError(
                    f"[orthogonal] assigned value: got shape {tuple(Q.shape)}, expected {tuple(self.shape)}. "
                    "Reshape it."
                )
            wide = Q.shape[-2] < Q.shape[-1]
            tall = Q.mT if wide else Q
            if hasattr(self, "base"):
                self.base = self._base_of(tall)
                start = tenora_ops.zeros_like(Q)
                start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return start
            if self.orthogonal_map != "householder":
                raise errors.NotImplementedOperationError(
                    f"[orthogonal] assigned value: got one for {self.orthogonal_map!r} without a trivialisation, "
                    "which has no inverse, expected use_trivialization=True. Register it so."
                )
            packed, scales = tall.geqrf()
            diagonal = packed.diagonal(dim1=-2, dim2=-1)
            signs = diagonal.sign()
            # A scale of 0 is the identity, but `forward` makes scales of the columns, and reflects there.
            diagonal.copy_(tenora_ops.where(scales == 0.0, -signs, signs))
            return packed.mT if wide else packed

    def _base_of(self, tall: Any) -> Any:
        rows, columns = tall.shape[-2:]
        if rows != columns:
            more = tall.new_empty((*tall.shape[:-2], rows, rows - columns)).normal_()
            return _made_orthogonal(tenora_ops.cat([tall, more], -1))
        return tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)


def _tensor_of(who: str, module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise errors.ArgumentValueError(
            f"[{who}] name: got {name!r}, expected a parameter or buffer of {type(module).__name__}. Check the name."
        )
    return weight


def orthogonal(
    module: T, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> T:
    """Keeps the matrix `name` (or each of a batch) orthogonal, or with orthonormal rows or columns; returns the module.

    `orthogonal_map`: "matrix_exp", "cayley" or "householder"; default the first for square and complex matrices, else
    the last. Without a trivialisation only "householder" can be assigned to. The weight starts as an orthogonal
    matrix near the one it was. Raises ValueError for a tensor that is no matrix and another map.

    >>> import tenora
    >>> layer = orthogonal(tenora.nn.Linear(4, 2).double())
    >>> weight = layer.weight
    >>> tenora.allclose(weight @ weight.mT, tenora.eye(2, dtype=tenora.float64))
    True
    """
    weight = _tensor_of("orthogonal", module, name)
    if weight.ndim < 2:
        raise errors.ArgumentValueError(
            f"[orthogonal] {name}: got {weight.ndim} dimensions, expected a matrix or a batch of them. "
            "Choose another tensor."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise errors.ArgumentValueError(
            f"[orthogonal] orthogonal_map: got {orthogonal_map!r}, expected one of {list(_MAPS)}. Choose one of them."
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        """The weight of this length and direction."""
        return scaled(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Any, Any]:
        """Length and direction."""
        return length(weight, self.dim), weight


class _OldKeys:
    """Reads states of the form with hooks: `weight_g` and `weight_v`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: Any, prefix: str, *more: Any) -> None:
        old = [f"{prefix}{self.name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{i}"] = state_dict.pop(key)


def weight_norm(module: T, name: str = "weight", dim: int | None = 0) -> T:
    """Makes the tensor `name` length times direction, `original0` times `original1 / |original1|`; returns the module.

    A length belongs to each index of `dim`, or with None to the whole weight. States of the old form with hooks load.

    Source: Salimans and Kingma 2016, https://arxiv.org/abs/1602.07868.

    >>> import tenora
    >>> list(weight_norm(tenora.nn.Linear(2, 3)).state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldKeys(name))
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise errors.IndexRangeError(
                f"[spectral_norm] dim: got {dim}, expected one of a {rank}-d weight, from {-rank} to {rank - 1}. "
                "Choose another dim."
            )
        self.dim = dim % rank
        self.eps = eps
        need_iterations(n_power_iterations)
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            self.register_buffer("_u", random_unit(weight.detach(), matrix.shape[0], eps))
            self.register_buffer("_v", random_unit(weight.detach(), matrix.shape[1], eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Any, n_power_iterations: int) -> None:
        with no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(normalised(matrix.mv(self._v), self.eps))
                self._v.copy_(normalised(matrix.mH.mv(self._u), self.eps))

    def forward(self, weight: Any) -> Any:
        """The weight divided by its largest singular value, as far as the power iteration has come."""
        if weight.ndim == 1:
            return normalised(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next forward writes the buffers before this one's backward.
        u, v = self._u.clone(), self._v.clone()
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: its largest singular value is taken to be 1."""
        return value


def spectral_norm(
    module: T, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> T:
    """Divides the tensor `name` by its largest singular value, which a power iteration follows; returns the module.

    Each reading in training does `n_power_iterations` steps. `dim`: the dim of the outputs, default 1 for transposed
    convolutions and 0 for others. A vector is divided by its norm.

    Source: Miyato et al. 2018, https://arxiv.org/abs/1802.05957.

    >>> import tenora
    >>> layer = spectral_norm(tenora.nn.Linear(20, 40))
    >>> tenora.linalg.matrix_norm(layer.weight, 2).item() < 1.1
    True
    """
    weight = _tensor_of("spectral_norm", module, name)
    made = _SpectralNorm(weight, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return parametrize.register_parametrization(module, name, made)


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
