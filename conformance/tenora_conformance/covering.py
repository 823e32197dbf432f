"""A covering design: every pair of an op's dtypes, samples and layouts meets in some case.

- Of all dtype x sample x layout triples those are taken that together hold every (dtype, sample), (dtype, layout) and
  (sample, layout) pair: a strength-2 covering array. What one factor or two together break is found; what only one
  triple of the three breaks may not be.
- The rows depend on nothing but the counts, so that they are the same in every process and on every machine. Those of
  a sample depend on the dtypes that have it, not on how many samples follow: a record may get another sample, and every
  case keeps its id (but where a dtype comes to have as many samples as there are layouts).
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
    for dtype, count in enumerate(samples):
        for sample in range(count):
            yield dtype, sample, (sample + dtype) % layouts
        if 0 < count < layouts:  # the layouts that no sample has met: all with the first one
            yield from ((dtype, 0, layout) for layout in range(layouts) if layout != dtype % layouts)
    for sample in range(max(samples, default=0)):
        having = [dtype for dtype, count in enumerate(samples) if count > sample]
        met = {(sample + dtype) % layouts for dtype in having}
        if sample == 0 and any(0 < count < layouts for count in samples):
            continue
        for layout in range(layouts):
            if layout not in met:
                yield having[(sample + layout) % len(having)], sample, layout
