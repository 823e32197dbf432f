"""Tables of learnt vectors."""

from __future__ import annotations

from typing import Any

from tenora_autograd import no_grad
from tenora_dispatch import errors
from tenora_engine import Tensor

from .. import creation
from . import functional, init
from .module import Module
from .parameter import Parameter
from .sizes import need_sizes


class _Table(Module):
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        need_sizes(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            need_sizes(self, None, padding_idx=padding_idx)
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise errors.ConditionError(
                    f"[{name}] padding_idx: got {padding_idx}, expected a row of {num_embeddings}."
                    " Pass a row that the table has."
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if weight is not None and tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise errors.ConditionError(
                f"[{name}] weight: got {list(weight.shape)}, expected {[num_embeddings, embedding_dim]}."
                " Pass a weight of that shape."
            )
        table = creation.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
        self.weight = Parameter(table if weight is None else weight, requires_grad=not freeze)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the table from the standard normal distribution, zeros in the row `padding_idx`.

        >>> import tenora
        >>> table = tenora.nn.Embedding(3, 2, padding_idx=0)
        >>> table.reset_parameters()
        >>> table.weight[0].tolist()
        [0.0, 0.0]
        """
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _matrix(name: str, embeddings: Tensor) -> tuple[int, int]:
    """The sizes of a given table."""
    if embeddings.ndim != 2:
        raise errors.ConditionError(
            f"[{name}] embeddings: got {embeddings.ndim} dimensions, expected 2."
            " Pass a matrix (rows, features)."
        )
    rows, columns = embeddings.shape
    return rows, columns


class Embedding(_Table):
    """Looks up rows of a learnt table: integers of any shape to shape (*, embedding_dim).

    IndexError for a row that is not there.

    >>> import tenora
    >>> tenora.nn.Embedding(10, 3)(tenora.tensor([[1, 2], [4, 5]])).shape
    tenora.Size([2, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        """The rows that `input` names."""
        return functional.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A layer over a given table (rows, features), without a gradient unless `freeze=False`.

        >>> import tenora
        >>> table = tenora.nn.Embedding.from_pretrained(tenora.eye(3))
        >>> table(tenora.tensor([2])).tolist(), table.weight.requires_grad
        ([[0.0, 0.0, 1.0]], False)
        """
        rows, columns = _matrix("Embedding", embeddings)
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze
        )

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + (", sparse=True" if self.sparse else "")


class EmbeddingBag(_Table):
    """Sums, averages or compares the rows of bags of indices.

    Input (B, N), each row a bag, or (N) with `offsets` (B), where bags begin; the result is (B, embedding_dim).
    IndexError for a row that is not there, ValueError for one row of indices without offsets.

    `mode` is 'sum', 'mean' or 'max'; an empty bag gives 0.

    >>> import tenora
    >>> tenora.nn.EmbeddingBag(10, 3)(tenora.tensor([1, 2, 4]), tenora.tensor([0, 2])).shape
    tenora.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            False,
            device,
            dtype,
        )
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """One row for each bag of `input`."""
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """A layer over a given table (rows, features), without a gradient unless `freeze=False`.

        Raises AssertionError for a table that is no matrix.

        >>> import tenora
        >>> bags = tenora.nn.EmbeddingBag.from_pretrained(tenora.eye(2))
        >>> bags(tenora.tensor([[0, 1]])).tolist(), bags.weight.requires_grad
        ([[0.5, 0.5]], False)
        """
        rows, columns = _matrix("EmbeddingBag", embeddings)
        bag = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad_(not freeze)
        return bag

    def extra_repr(self) -> str:
        """Arguments for the repr."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
