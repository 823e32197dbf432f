"""Methods of pruning, and how they are applied and combined; `prune.py` has the functions.

- A pruned `weight` is the parameter `weight_orig` times the buffer `weight_mask`; the product is an ordinary attribute
  that a forward pre-hook computes before every forward.
- Pruning again combines: a `PruningContainer` holds the methods in order, and each of them judges only what those
  before it left, by its PRUNING_TYPE: single elements ("unstructured"), whole slices of a dim ("structured") or
  everything ("global").
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import tenora_ops
from tenora_dispatch import errors
from tenora_engine import Tensor

from ... import creation_random
from ..module import Module


class BasePruningMethod(ABC):
    """What decides about the mask; a subclass defines `compute_mask` and `PRUNING_TYPE`.

    >>> import tenora
    >>> class Odd(BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[1::2] = 0
    ...         return mask
    >>> layer = tenora.nn.Linear(2, 2)
    >>> method = Odd.apply(layer, "weight")
    >>> layer.weight_mask.tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask for the scores `t`, on top of the mask that is there.

        `t`, `default_mask` and the result have one shape; a mask is 0 where an element is pruned, else 1.

        >>> import tenora
        >>> Identity().compute_mask(tenora.zeros(2), tenora.ones(2)).tolist()
        [1.0, 1.0]
        """

    def apply_mask(self, module: Module) -> Any:
        """The pruned tensor: the original one times the mask, with history.

        >>> import tenora
        >>> layer = tenora.nn.Linear(2, 1)
        >>> method = CustomFromMask.apply(layer, "weight", tenora.tensor([[1.0, 0.0]]))
        >>> bool((method.apply_mask(layer) == layer.weight_orig * layer.weight_mask).all())
        True
        """
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, **kwargs: Any) -> BasePruningMethod:
        """Prunes the parameter `name`; what is left over stays as it was if the method fails.

        The keyword `importance_scores` (a tensor, or None) is judged in place of the parameter itself; the other
        arguments are the method's own. Returns the method, or the container of all methods on this parameter.

        >>> import tenora
        >>> layer = tenora.nn.Linear(2, 2)
        >>> _ = L1Unstructured.apply(layer, "weight", 1, importance_scores=tenora.tensor([[4.0, 3.0], [1.0, 2.0]]))
        >>> layer.weight_mask.tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        importance_scores = kwargs.pop("importance_scores", None)
        before = hook_of(module, name)
        own = cls(*args, **kwargs)
        own._tensor_name = name
        tensor = getattr(module, name)
        if importance_scores is not None:
            _same_shape("importance_scores", importance_scores, tensor)
        scores = tensor if importance_scores is None else importance_scores
        method: Any = own
        if before is None:
            mask = tenora_ops.ones_like(tensor)
        else:
            old = before[1]
            method = old if isinstance(old, PruningContainer) else PruningContainer(old)
            mask = getattr(module, f"{name}_mask").detach().clone()
            method.add_pruning_method(own)
        try:
            mask = method.compute_mask(scores, default_mask=mask)
        except Exception:
            if isinstance(method, PruningContainer):
                method._pruning_methods = method._pruning_methods[:-1]
            raise
        if before is None:
            module.register_parameter(f"{name}_orig", tensor)
            del module._parameters[name]
        else:
            del module._forward_pre_hooks[before[0]]
        module.register_buffer(f"{name}_mask", mask.detach())
        method(module, ())
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Any:
        """`t` with what this method's mask says set to 0; no module is changed.

        >>> import tenora
        >>> L1Unstructured(1).prune(tenora.tensor([3.0, -1.0, 2.0])).tolist()
        [3.0, -0.0, 2.0]
        """
        if importance_scores is not None:
            _same_shape("importance_scores", importance_scores, t)
        start = tenora_ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(
            t if importance_scores is None else importance_scores, default_mask=start
        )

    def remove(self, module: Module) -> None:
        """Makes the pruned tensor the parameter itself: the pruning becomes permanent.

        >>> import tenora
        >>> layer = tenora.nn.Linear(2, 1)
        >>> method = CustomFromMask.apply(layer, "weight", tenora.tensor([[1.0, 0.0]]))
        >>> method.remove(layer)
        >>> sorted(name for name, _ in layer.named_parameters()), bool(layer.weight[0, 1] == 0)
        (['bias', 'weight'], True)
        """
        name = self._tensor_name
        pruned = self.apply_mask(module)
        delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        del module._buffers[f"{name}_mask"]
        original.data = pruned.detach()
        setattr(module, name, original)


def hook_of(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return number, hook
    return None


def _same_shape(what: str, given: Tensor, tensor: Tensor) -> None:
    if given.shape != tensor.shape:
        raise errors.ConditionError(
            f"[prune] {what}: got shape {tuple(given.shape)}, expected {tuple(tensor.shape)}. Pass one per element."
        )


class PruningContainer(BasePruningMethod):
    """The methods of one parameter, in order; the last one computes its mask within that of the others.

    >>> import tenora
    >>> layer = tenora.nn.Linear(4, 4)
    >>> _ = RandomUnstructured.apply(layer, "weight", 2), L1Unstructured.apply(layer, "weight", 3)
    >>> int(layer.weight_mask.sum())
    11
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Adds a method for the same tensor; TypeError for something else, ValueError for another tensor.

        >>> import tenora
        >>> layer = tenora.nn.Linear(4, 4)
        >>> container = PruningContainer(RandomUnstructured.apply(layer, "weight", 2))
        >>> added = L1Unstructured(3)
        >>> added._tensor_name = "weight"
        >>> container.add_pruning_method(added)
        >>> len(container)
        2
        """
        if not isinstance(method, BasePruningMethod):
            raise errors.ArgumentTypeError(
                f"[prune] method: got {type(method).__name__}, expected a BasePruningMethod. Derive from it."
            )
        if method._tensor_name != self._tensor_name:
            raise errors.ArgumentValueError(
                f"[prune] method: got one for {method._tensor_name!r}, expected one for {self._tensor_name!r}. "
                "Use a container for each tensor."
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method, which sees only what `default_mask` leaves.

        >>> import tenora
        >>> method = Identity()
        >>> method._tensor_name = "weight"
        >>> PruningContainer(method).compute_mask(tenora.ones(2), tenora.tensor([1.0, 0.0])).tolist()
        [1.0, 0.0]
        """
        method = self._pruning_methods[-1]
        place = _open_to(method, t, default_mask)
        mask: Any = default_mask.to(t.dtype).clone()
        mask[place] = method.compute_mask(t[place], default_mask=default_mask[place]).to(mask.dtype)
        return mask


def _open_to(method: BasePruningMethod, t: Tensor, mask: Any) -> Any:
    """The index of what a method may still judge."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return ...
    if kind != "structured":
        raise errors.ArgumentValueError(
            f"[prune] PRUNING_TYPE of {type(method).__name__}: got {kind!r}, expected 'unstructured', 'structured' or "
            "'global'. Set one of them."
        )
    if not hasattr(method, "dim"):
        raise errors.MissingAttributeError(
            f"[prune] {type(method).__name__}: got a structured method without `dim`, expected the dim of its slices. "
            "Set the attribute."
        )
    dim = method.dim + t.ndim if method.dim < 0 else method.dim
    if dim < 0:
        raise _no_dim(method.dim, t)
    kept = mask.sum([d for d in range(t.ndim) if d != dim]) != 0
    return (*[slice(None)] * dim, kept)


def _no_dim(dim: int, t: Tensor) -> errors.IndexRangeError:
    return errors.IndexRangeError(
        f"[prune] dim: got {dim}, expected a dim of a tensor of shape {tuple(t.shape)}. Choose another dim."
    )


class Identity(BasePruningMethod):
    """Prunes nothing, and makes mask and original all the same.

    >>> import tenora
    >>> layer = tenora.nn.Linear(2, 2)
    >>> _ = Identity.apply(layer, "weight")
    >>> layer.weight_mask.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask that is there."""
        return default_mask


class _Amount(BasePruningMethod):
    """A method that prunes a number of parts, or a share of them."""

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, numbers.Real):
            raise errors.ArgumentTypeError(
                f"[prune] amount: got {type(amount).__name__}, expected an int or a float. Pass a count or a share."
            )
        whole = isinstance(amount, numbers.Integral)
        if amount < 0 or (not whole and not amount <= 1):
            raise errors.ArgumentValueError(
                f"[prune] amount: got {amount}, expected a count that is not negative, or a share from 0.0 to 1.0. "
                "Pass one of them."
            )
        self.amount: Any = amount

    def count(self, size: int) -> int:
        """How many of `size` parts to prune; ValueError for more than there are.

        >>> RandomUnstructured(0.5).count(8), RandomUnstructured(3).count(8)
        (4, 3)
        """
        if not isinstance(self.amount, numbers.Integral):
            return round(float(self.amount) * size)
        if int(self.amount) > size:
            raise errors.ArgumentValueError(
                f"[prune] amount: got {self.amount}, expected at most the {size} that are left. Prune fewer."
            )
        return int(self.amount)


class _Elements(_Amount):
    """Prunes the elements with the lowest scores."""

    PRUNING_TYPE = "unstructured"

    def scores(self, t: Any) -> Any:
        """What is compared, one number for each element.

        >>> import tenora
        >>> L1Unstructured(1).scores(tenora.tensor([-2.0, 1.0])).tolist()
        [2.0, 1.0]
        """
        raise errors.NotImplementedOperationError(
            f"[prune] {type(self).__name__}.scores: got a call, expected a method of the subclass. Define it."
        )

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros where the scores are lowest."""
        count = self.count(t.numel())
        mask: Any = default_mask.clone()
        if count:
            mask.view(-1)[self.scores(t).reshape(-1).topk(count, largest=False).indices] = 0
        return mask


class RandomUnstructured(_Elements):
    """Prunes elements drawn at random: `amount` of them, or a share of all (from 0.0 to 1.0).

    TypeError for an amount that is no number, ValueError for a negative one or one of more than there are.

    >>> import tenora
    >>> layer = tenora.nn.Linear(4, 4)
    >>> _ = RandomUnstructured.apply(layer, "weight", 0.25)
    >>> layer.weight_mask.sum().item()
    12.0
    """

    def scores(self, t: Any) -> Any:
        """Uniform numbers."""
        return creation_random.rand_like(t)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> BasePruningMethod:
        """Prunes the parameter `name`."""
        return super().apply(module, name, amount)


class L1Unstructured(_Elements):
    """Prunes the elements of least absolute value: `amount` of them, or a share of all (Han et al. 2015).

    TypeError for an amount that is no number, ValueError for a negative one or one of more than there are.

    >>> import tenora
    >>> L1Unstructured(2).prune(tenora.tensor([[3.0, -1.0], [0.5, 2.0]])).tolist()
    [[3.0, -0.0], [0.0, 2.0]]
    """

    def scores(self, t: Any) -> Any:
        """Absolute values."""
        return t.abs()

    @classmethod
    def apply(
        cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        """Prunes the parameter `name`."""
        return super().apply(module, name, amount, importance_scores=importance_scores)


class _Slices(_Amount):
    """Prunes the slices along a dim that have the lowest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def scores(self, t: Any, dim: int) -> Any:
        """What is compared, one number for each slice.

        >>> import tenora
        >>> LnStructured(1, n=2).scores(tenora.tensor([[3.0, 4.0], [0.0, 0.0]]), 0).tolist()
        [5.0, 0.0]
        """
        raise errors.NotImplementedOperationError(
            f"[prune] {type(self).__name__}.scores: got a call, expected a method of the subclass. Define it."
        )

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros in the slices of the lowest scores."""
        if t.ndim < 2:
            raise errors.ArgumentValueError(
                f"[prune] tensor: got shape {tuple(t.shape)}, expected at least 2 dims for whole slices. "
                "Prune single elements."
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise _no_dim(self.dim, t)
        dim = self.dim % t.ndim
        count = self.count(t.shape[dim])
        if not count:
            return default_mask
        lowest = self.scores(t, dim).topk(count, largest=False).indices
        mask: Any = default_mask.clone()
        return mask.index_fill_(dim, lowest, 0)


class RandomStructured(_Slices):
    """Prunes slices along `dim` drawn at random: `amount` of them, or a share of all.

    Errors as in `LnStructured`.

    >>> import tenora
    >>> layer = tenora.nn.Linear(4, 4)
    >>> _ = RandomStructured.apply(layer, "weight", 1, dim=0)
    >>> layer.weight_mask.sum(1).sort().values.tolist()
    [0.0, 4.0, 4.0, 4.0]
    """

    def scores(self, t: Any, dim: int) -> Any:
        """Uniform numbers."""
        return creation_random.rand(t.shape[dim], device=t.device)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, dim: int = -1) -> BasePruningMethod:
        """Prunes the parameter `name`."""
        return super().apply(module, name, amount, dim=dim)


class LnStructured(_Slices):
    """Prunes the slices along `dim` of least norm of order `n`: `amount` of them, or a share of all.

    TypeError for an amount that is no number; ValueError for a negative one, one of more than there are, and a
    tensor of fewer than two dims; IndexError for a `dim` that is not there.

    >>> import tenora
    >>> LnStructured(1, n=2, dim=0).prune(tenora.tensor([[3.0, 4.0], [1.0, 1.0]])).tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Any, dim: int) -> Any:
        """Norms of order `n`."""
        return t.norm(p=self.n, dim=[d for d in range(t.ndim) if d != dim])

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> BasePruningMethod:
        """Prunes the parameter `name`."""
        return super().apply(module, name, amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask has zeros for; AssertionError unless it has the parameter's shape.

    >>> import tenora
    >>> CustomFromMask(tenora.tensor([1.0, 0.0])).prune(tenora.tensor([5.0, 6.0])).tolist()
    [5.0, 0.0]
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks at once."""
        _same_shape("mask", self.mask, default_mask)
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:
        """Prunes the parameter `name`."""
        return super().apply(module, name, mask=mask)
