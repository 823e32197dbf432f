"""A covering design: every pair of an op's dtypes, samples and layouts meets in some case.

- Of all dtype x sample x layout triples those are taken that together hold every (dtype, sample), (dtype, layout) and
  (sample, layout) pair: a strength-2 covering array. What one factor or two together break is found; what only one
  triple of the three breaks may not be.
- The rows depend on nothing but the counts, so that they are the same in every process and on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Row = tuple[int, int, int]


def covering_rows(samples: Sequence[int], layouts: int) -> Iterator[Row]:
    """Rows (dtype, sample, layout), where dtype `i` has `samples[i]` samples.

    >>> rows = list(covering_rows([3, 2], 2))
    >>> {(d, s) for d, s, _ in rows} == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)}
    True
    >>> {(s, l) for _, s, l in rows} == {(s, l) for s in range(3) for l in range(2)}
    True
    """
    met: set[tuple[int, int]] = set()
    for dtype, count in enumerate(samples):
        for k in range(max(count, layouts) if count else 0):
            sample, layout = k % count, (k + dtype) % layouts
            met.add((sample, layout))
            yield dtype, sample, layout
    yield from _missing(samples, layouts, met)


def _missing(samples: Sequence[int], layouts: int, met: set[tuple[int, int]]) -> Iterator[Row]:
    """The (sample, layout) pairs that no row has yet, each with a dtype that has the sample, in turn."""
    turn = 0
    for sample in range(max(samples, default=0)):
        having = [dtype for dtype, count in enumerate(samples) if count > sample]
        for layout in range(layouts):
            if (sample, layout) not in met:
                yield having[turn % len(having)], sample, layout
                turn += 1
