"""SparseAdam: the name, and why it is not there."""

from __future__ import annotations

from typing import Any, NoReturn

from tenora_dispatch import errors


class SparseAdam:
    """PyTorch's Adam for sparse gradients. Tenora has no sparse tensors, so that it can only be refused.

    >>> import tenora
    >>> try:
    ...     tenora.optim.SparseAdam([])
    ... except NotImplementedError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    [SparseAdam] sparse gradients: got a request for them, expected dense ones... Use Adam.
    """

    def __init__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise errors.NotImplementedOperationError(
            "[SparseAdam] sparse gradients: got a request for them, expected dense ones: there are no sparse tensors. "
            "Use Adam."
        )
