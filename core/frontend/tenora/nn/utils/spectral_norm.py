"""Spectral normalisation (Miyato et al. 2018, https://arxiv.org/abs/1802.05957), the form with hooks.

- A weight is divided by its largest singular value, which a power iteration follows, one or more steps each forward in
  training. The vectors of the iteration are buffers `name_u` and `name_v`.
- The state says version 1 for each weight, as PyTorch's does. States of before (without `v`) are completed.
- `parametrizations.spectral_norm` is the newer form.
"""

from __future__ import annotations

from typing import Any, TypeVar

import tenora_ops
from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from ..conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from ..parameter import Parameter, is_lazy
from .weight_norm import find_hook

T = TypeVar("T", bound=Module)


def default_dim(module: Module) -> int:
    """The dim of a weight that holds the outputs."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) else 0


def as_matrix(weight: Any, dim: int) -> Any:
    """`weight` with `dim` as rows and all others as columns."""
    return (weight.movedim(dim, 0) if dim else weight).reshape(weight.shape[dim], -1)


def normalised(vector: Any, eps: float) -> Any:
    """`vector` with length 1, or shorter if it is less than `eps`."""
    return tenora_ops.normalize(vector, 2.0, 0, eps)


def random_unit(weight: Tensor, size: int, eps: float) -> Any:
    """A random direction of the weight's dtype and device."""
    return normalised(weight.new_empty((size,)).normal_(0, 1), eps)


def need_iterations(count: int) -> int:
    """`count` if it is positive, else ValueError."""
    if count <= 0:
        raise errors.ArgumentValueError(
            f"[spectral_norm] n_power_iterations: got {count}, expected at least 1. Pass a positive number."
        )
    return count


class SpectralNorm:
    """The forward pre-hook of one weight."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        self.name = name
        self.dim = dim
        self.n_power_iterations = need_iterations(n_power_iterations)
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Any:
        """The weight as the matrix whose largest singular value counts."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """The weight of this moment; the iteration has no history, the division has."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalised(matrix.t().mv(u), self.eps))
                    u.copy_(normalised(matrix.mv(v), self.eps))
                u, v = u.clone(), v.clone()  # the next forward writes the buffers before this one's backward
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Makes the weight, as it is now, a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _missing_v(self, matrix: Any, u: Any, sigma: Any) -> Any:
        """The `v` with `u^T W v = sigma` that a power iteration would have left: along `pinv(W^T W) W^T u`."""
        v = (matrix.t() @ matrix).pinverse().mv(matrix.t().mv(u))
        return v * (sigma / u.dot(matrix.mv(v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Registers buffers and hooks, and the weight under the name `name_orig`."""
        if find_hook(module, SpectralNorm, name) is not None:
            raise errors.OperationError(
                f"[spectral_norm] {name}: got a weight that has the hook, expected one without. Apply it once."
            )
        if name not in module._parameters:
            raise errors.MissingKeyError(
                f"[spectral_norm] name: got {name!r}, expected one of {type(module).__name__}'s parameters "
                f"{list(module._parameters)}. Name one of them."
            )
        hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None or is_lazy(weight):
            raise errors.ArgumentValueError(
                f"[spectral_norm] {name}: got {'None' if weight is None else 'a parameter without a shape'}, expected "
                "an initialised parameter. Call a lazy module once before."
            )
        with no_grad():
            rows, columns = hook.reshape_weight_to_matrix(weight).shape
            u, v = random_unit(weight, rows, eps), random_unit(weight, columns, eps)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class _OfHook:
    """A hook on the state of the module that belongs to a `SpectralNorm`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    @property
    def name(self) -> str:
        """The name of the weight."""
        return self.fn.name


class SpectralNormStateDictHook(_OfHook):
    """Writes the version of the format into the state's metadata."""

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self.fn._version


class SpectralNormLoadStateDictPreHook(_OfHook):
    """Turns a state of version 0 (weight, weight_orig, weight_u) into one of version 1, with weight_v."""

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(f"{self.name}.version")
        key = f"{prefix}{self.name}"
        whole = key not in state_dict and all(f"{key}_{part}" in state_dict for part in ("orig", "u", "v"))
        if (version is not None and version >= 1) or (version is None and whole):
            return
        missing = [name for name in (f"{key}_orig", key, f"{key}_u") if name not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original, weight = state_dict[f"{key}_orig"], state_dict.pop(key)
            matrix = self.fn.reshape_weight_to_matrix(original)
            sigma = (original / weight).mean()
            state_dict[f"{key}_v"] = self.fn._missing_v(matrix, state_dict[f"{key}_u"], sigma)


def spectral_norm(
    module: T, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> T:
    """Divides the parameter `name` by its largest singular value before every forward; returns the module.

    `dim`: the dim of the outputs, default 1 for transposed convolutions and 0 for others. `eps` keeps the vectors of
    the power iteration from a division by zero. Raises RuntimeError if the weight has the hook already.

    Source: Miyato et al. 2018, https://arxiv.org/abs/1802.05957.

    >>> import tenora
    >>> layer = spectral_norm(tenora.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: T, name: str = "weight") -> T:
    """Makes the weight, as it is now, an ordinary parameter again; ValueError if `spectral_norm` was not applied.

    >>> import tenora
    >>> list(remove_spectral_norm(spectral_norm(tenora.nn.Linear(2, 3))).state_dict())
    ['bias', 'weight']
    """
    number = find_hook(module, SpectralNorm, name)
    if number is None:
        raise errors.ArgumentValueError(
            f"[remove_spectral_norm] {name}: got {type(module).__name__}, which has no such hook, expected a module "
            "that spectral_norm was applied to. Check the name."
        )
    module._forward_pre_hooks.pop(number).remove(module)
    tables: Any = (module._state_dict_hooks, module._load_state_dict_pre_hooks)
    for table in tables:
        for key, hook in tuple(table.items()):
            found = getattr(hook, "hook", hook)  # loading hooks are wrapped
            if isinstance(found, _OfHook) and found.name == name:
                del table[key]
    return module
