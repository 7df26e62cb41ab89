"""The curve of each edge between boxes, around the boxes of other variables, so that no name is crossed."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SINGLE = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7, 1.0, -1.0)
#: Curvatures at both ends that are tried for an edge, in order of preference, and how many of them at a time.
_BENDS = np.array(
    sorted(
        ((a, b) for a in _SINGLE for b in _SINGLE),
        key=lambda bend: abs(bend[0]) + abs(bend[1]) + 0.3 * (bend[0] != bend[1]),
    )
)
_CHUNKS = (0, 1, 13, 50, len(_BENDS))
#: Radius of the corners of boxes, distance of edges from them, and of the corners of a way around them, in inches.
CORNER, CLEAR, AROUND = 0.08, 0.03, 0.1
#: Points of a drawn curve.
POINTS = 40


class Way(NamedTuple):
    """A "straight" line; a cubic "curve" with two control points; or a "detour" by some points; float64 (k, 2)."""

    kind: str
    points: Floats


class Routes:
    """The curves of the edges between boxes with the centres `xy` and the `sizes`, float64 (p, 2) both, in inches.

    Boxes that do not overlap, with more than twice `AROUND` between them, are crossed by no edge of other variables.
    """

    def __init__(self, xy: Floats, sizes: Floats) -> None:
        self.xy, self.sizes = xy, sizes
        low, high = corners(xy, sizes)
        self._low, self._high = low - 0.1, high + 0.1

    def curve(self, u: int, v: int) -> Floats:
        """Points on the way from the outline of one box to the outline of the other, float64 (`POINTS`, 2)."""
        bend = self._bend(u, v)
        way = (
            _rounded(self._corners_on_detour(u, v))
            if bend is None
            else _points(self.xy[u], self.xy[v], bend, np.linspace(0, 1, 400))[0]
        )
        outside = []
        for w in (u, v):
            beyond = np.maximum(np.abs(way - self.xy[w]) - self.sizes[w] / 2 + CORNER, 0)
            outside.append(np.hypot(*beyond.T) > CORNER + 0.012)
        first, last = int(outside[0].argmax()), len(way) - 1 - int(outside[1][::-1].argmax())
        drawn: Floats = way[np.linspace(first, max(first, last), POINTS).astype(int)]
        return drawn

    def way(self, u: int, v: int) -> Way:
        """The way from the centre of one box to the centre of the other, in the terms of programs that draw."""
        if (bend := self._bend(u, v)) is None:
            return Way("detour", self._corners_on_detour(u, v)[1:-1])
        if not bend.any():
            return Way("straight", np.zeros((0, 2)))
        return Way("curve", np.concatenate(_controls(self.xy[u], self.xy[v], bend[None]))[:, 0])

    def _bend(self, u: int, v: int) -> Floats | None:
        """The smallest curvatures at both ends with which the edge u, v crosses no box of other variables.

        None if there are none, among those with which it stays within the rectangle around all boxes.
        """
        others = np.ones(len(self.xy), dtype=bool)
        others[[u, v]] = False
        centres, half = self.xy[others], self.sizes[others] / 2 + CLEAR
        a, b = self.xy[u], self.xy[v]
        t = np.linspace(0.02, 0.98, max(30, int(12 * np.hypot(*(b - a)))))
        for first, last in pairwise(_CHUNKS):
            points = _points(a, b, _BENDS[first:last], t)
            bad = ((points < self._low) | (points > self._high)).any(axis=(1, 2))
            x, y = points[..., 0, None], points[..., 1, None]
            inside = (np.abs(x - centres[:, 0]) < half[:, 0]) & (np.abs(y - centres[:, 1]) < half[:, 1])
            if len(free := np.flatnonzero(~(bad | inside.any(axis=(1, 2))))):
                found: Floats = _BENDS[first + free[0]]
                return found
        return None

    def _corners_on_detour(self, u: int, v: int) -> Floats:
        """The shortest way from u to v around the boxes of others, by their corners, float64 (k, 2)."""
        from scipy.sparse import csgraph

        ends = self.xy[[u, v]]
        nodes = np.concatenate([self._corners, ends])
        length = np.zeros((len(nodes), len(nodes)))
        length[:-2, :-2] = self._between_corners
        for k, own in ((-2, u), (-1, v)):  # an end may be left through its own box, and reached through the other's
            seen = ~self._blocked(np.broadcast_to(nodes[k], nodes.shape), nodes, without=(u, v))
            seen[k] = False
            length[k] = length[:, k] = np.where(seen, np.linalg.norm(nodes - self.xy[own], axis=1), 0)
        shortest: Any = csgraph.dijkstra
        _, before = shortest(length, indices=len(nodes) - 2, return_predecessors=True)
        way = [len(nodes) - 1]
        while before[way[-1]] >= 0:
            way.append(int(before[way[-1]]))
        found: Floats = nodes[way[::-1]]
        return found

    @cached_property
    def _corners(self) -> Floats:
        """The corners of all boxes, `AROUND` away from them."""
        signs = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
        corners: Floats = (self.xy[:, None] + signs * (self.sizes[:, None] / 2 + AROUND)).reshape(-1, 2)
        return corners

    @cached_property
    def _between_corners(self) -> Floats:
        """The distance of each pair of corners between which no box lies, else 0."""
        one, two = np.triu_indices(len(self._corners), 1)
        starts, ends = self._corners[one], self._corners[two]
        length = np.where(self._blocked(starts, ends), 0, np.linalg.norm(ends - starts, axis=1))
        square = np.zeros((len(self._corners),) * 2)
        square[one, two] = square[two, one] = length
        return square

    def _blocked(self, starts: Floats, ends: Floats, without: tuple[int, ...] = ()) -> NDArray[np.bool_]:
        """Whether a box, except for the boxes `without`, lies on the way from each start to its end."""
        blocked = np.zeros(len(starts), dtype=bool)
        step = ends - starts
        step = np.where(np.abs(step) < 1e-9, 1e-9, step)
        for w in set(range(len(self.xy))) - set(without):
            half = self.sizes[w] / 2 + CLEAR
            one, two = (self.xy[w] - half - starts) / step, (self.xy[w] + half - starts) / step
            enter, leave = np.minimum(one, two).max(axis=1), np.maximum(one, two).min(axis=1)
            blocked |= (enter < leave) & (leave > 0) & (enter < 1)
        return blocked


def corners(xy: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """The lower left and upper right corners of the rectangle around all boxes; both 0 without boxes."""
    if not len(xy):
        return np.zeros(2), np.zeros(2)
    return (xy - sizes / 2).min(axis=0), (xy + sizes / 2).max(axis=0)


def _rounded(way: Floats, radius: float = 0.2, steps: int = 12) -> Floats:
    """A way with its corners rounded towards the inside, by at most a quarter of `radius`, in 400 points."""
    parts: list[Any] = [way[:1]]
    t = np.linspace(0, 1, steps)[:, None]
    for before, at, after in zip(way, way[1:], way[2:], strict=False):
        ends = []
        for end in (before, after):
            length = float(np.hypot(*(end - at)))
            ends.append(at + (end - at) * min(0.5, radius / max(length, 1e-9)))
        parts.append((1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * at + t**2 * ends[1])
    points = np.concatenate([*parts, way[-1:]])
    reached = np.append(0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    even = np.linspace(0, reached[-1], 400)
    return np.column_stack([np.interp(even, reached, points[:, c]) for c in (0, 1)])


def _points(a: Floats, b: Floats, bends: Floats, t: Floats) -> Floats:
    """Points at `t` on cubic curves from a, at 0, to b, at 1, float64 (k, len(t), 2), one for each of the `bends`.

    With equal curvatures at both ends a curve is a parabola.
    """
    one, two = _controls(a, b, np.atleast_2d(bends))
    t = t[:, None]
    points: Floats = (1 - t) ** 3 * a + 3 * t * (1 - t) * ((1 - t) * one + t * two) + t**3 * b
    return points


def _controls(a: Floats, b: Floats, bends: Floats) -> tuple[Floats, Floats]:
    """The two control points of each of the curves, float64 (k, 1, 2) both."""
    across = np.array([b[1] - a[1], a[0] - b[0]]) * (2 / 3)
    return (a + (b - a) / 3 + bends[:, :1] * across)[:, None], (b + (a - b) / 3 + bends[:, 1:] * across)[:, None]
