"""Matrix products."""

import numpy as np

from tenora_reference.dtypes import Array, is_half
from tenora_reference.quiet import quiet


def matmul(input: Array, other: Array, *, out: Array) -> None:
    """(B..., M, K) x (B..., K, N) -> (B..., M, N); bool is "or" of "and"."""
    if is_half(out.dtype):
        wide = quiet.run(np.matmul, input.astype(np.float32), other.astype(np.float32))
        np.copyto(out, wide, casting="unsafe")
    else:
        quiet.run(np.matmul, input, other, out)
