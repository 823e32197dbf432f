"""Philox4x32-10: the counter-based bits from which every random op is made.

Element i of the output is word i % 4 of the block with counter (offset + i // 4, 0) and key `seed`. Source: Salmon,
Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from typing import Any

import numpy as np

from tenora_reference.dtypes import Array

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_ROUNDS = 10


def philox(counter: Array, seed: int) -> Array:
    """The four words of each 64-bit counter, shape (n, 4), as uint32."""
    words = [counter & _LOW, counter >> _WORD, np.zeros_like(counter), np.zeros_like(counter)]
    key = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
    for _ in range(_ROUNDS):
        product_0 = words[0] * _MULTIPLIERS[0]
        product_1 = words[2] * _MULTIPLIERS[1]
        words = [
            (product_1 >> _WORD) ^ words[1] ^ np.uint64(key[0]),
            product_1 & _LOW,
            (product_0 >> _WORD) ^ words[3] ^ np.uint64(key[1]),
            product_0 & _LOW,
        ]
        key = [(value + weyl) & 0xFFFFFFFF for value, weyl in zip(key, _WEYL, strict=True)]
    return np.stack(words, axis=-1).astype(np.uint32)


def random_bits(*, seed: int, offset: int, out: Array, **_: Any) -> None:
    """Independent uniform 32-bit words, in row-major order of `out`."""
    blocks = -(-out.size // 4)
    first = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)
    counter = first + np.arange(blocks, dtype=np.uint64)
    np.copyto(out, philox(counter, seed).reshape(-1)[: out.size].reshape(out.shape))
