"""A line search that ends where the strong Wolfe conditions hold (Nocedal and Wright 2006, algorithms 3.5 and 3.6).

- Steps grow until an interval is known to hold a good one, then the interval shrinks; both by cubic interpolation.
- Numbers are Python's; where a formula divides by zero they are infinite or NaN, as a tensor's would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tenora_engine import Tensor

# How much of the promised decrease is asked for, and how flat the end must be.
DECREASE, CURVATURE = 1e-4, 0.9


class Point(NamedTuple):
    """What is known of a step of length `t`: loss, gradient, and slope along the direction."""

    t: float
    loss: float
    gradient: Tensor
    slope: float


def quotient(a: float, b: float) -> float:
    """a / b of floating-point numbers."""
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points has its minimum, within bounds; the middle where it has none."""
    if a.t > b.t:
        a, b = b, a
    bend = a.slope + b.slope - 3 * quotient(a.loss - b.loss, a.t - b.t)
    square = bend**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    root = math.sqrt(square)
    t = b.t - (b.t - a.t) * quotient(b.slope + root - bend, b.slope - a.slope + 2 * root)
    return min(max(t, low), high)


class Search(NamedTuple):
    """What a search works with; `longest` is the direction's largest element, `most` bounds the evaluations."""

    evaluate: Callable[[float], Point]
    start: Point
    longest: float
    most: int
    tolerance: float = 1e-9

    def too_high(self, point: Point) -> bool:
        """Whether the loss has not decreased as promised."""
        return point.loss > self.start.loss + DECREASE * point.t * self.start.slope

    def flat(self, point: Point) -> bool:
        """Whether the slope is small enough to stay."""
        return abs(point.slope) <= -CURVATURE * self.start.slope


def strong_wolfe(search: Search, t: float) -> tuple[Point, int]:
    """The accepted point, first trying `t`, and how many points were evaluated."""
    previous, point, steps = search.start, search.evaluate(t), 0
    while steps < search.most:
        if search.too_high(point) or (steps > 1 and point.loss >= previous.loss):
            return _shrink(search, [previous, point], steps)
        if search.flat(point):
            return point, steps + 1
        if point.slope >= 0:
            return _shrink(search, [previous, point], steps)
        low, high = point.t + 0.01 * (point.t - previous.t), point.t * 10
        previous, point = point, search.evaluate(cubic_minimum(previous, point, low, high))
        steps += 1
    return search.start if search.start.loss <= point.loss else point, steps + 1


def _shrink(search: Search, ends: list[Point], steps: int) -> tuple[Point, int]:
    """Narrows an interval that holds a good point; of equal ends the first is the lower."""
    low = 0 if ends[0].loss <= ends[1].loss else 1
    stuck = False
    while steps < search.most and abs(ends[1].t - ends[0].t) * search.longest >= search.tolerance:
        left, right = sorted((ends[0].t, ends[1].t))
        t = cubic_minimum(ends[0], ends[1], left, right)
        margin = 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (stuck or t >= right or t <= left):
            # Twice in a row, or at the very end: a tenth of the interval away from it.
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            stuck = False
        else:
            stuck = near
        point = search.evaluate(t)
        steps += 1
        if search.too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        if not search.flat(point) and point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
        if search.flat(point):
            break
    return ends[low], steps + 1
