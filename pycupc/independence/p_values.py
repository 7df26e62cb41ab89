"""The p-values of a result, whatever the test: recorded, or computed when somebody asks; and pairs that have none."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.removals import Removals
from pycupc.graph.sparse import Ints, SparseGraph, look_up, pair_keys
from pycupc.system.machine import check_room

if TYPE_CHECKING:
    from pycupc.graph.sepset import SepSets

Number = TypeVar("Number", bound=np.number)
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
#: Stands for numbers that pickles of 0.2.0 do not hold.
NOT_KEPT: Floats = np.zeros(0)
#: More than any number of variables.
_MANY = 1 << 31


class PValues(ABC):
    """Largest p-value of each pair's tests: pcalg's ``pMax``, of the edges, of one pair, or of all pairs."""

    @abstractmethod
    def of_edges(self, graph: SparseGraph) -> Floats:
        """Of each edge of `graph`, float64 (m,); -inf for an edge that was never tested."""

    @abstractmethod
    def dense(self, out: Floats | None = None) -> Floats:
        """Of all pairs, float64 (p, p), into `out` if given: symmetric, 1 on the diagonal, -inf where never tested."""

    @abstractmethod
    def at(self, x: int, y: int) -> float:
        """Of one pair; NaN if it is not known."""

    @property
    def complete(self) -> bool:
        """Whether the p-values of all pairs are known."""
        return True

    @property
    def deferred(self) -> bool:
        """Whether the first call of `of_edges` may take as long as the tests did: bounds have answered some of them."""
        return False

    def settle_for_tests_made(self) -> None:  # noqa: B027 - where all are known, nothing changes
        """From now on, give the largest p-value of the tests made, without searching for the largest of all tests."""

    def correlations(self, x: ArrayLike, y: ArrayLike) -> Floats | None:
        """Correlations of pairs, float64 (k,); None where they are not known."""
        return None


@dataclass(frozen=True, eq=False)
class RecordedPValues(PValues):
    """P-values that were recorded: from a result of R, or from a user's own test."""

    matrix: Floats

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self.matrix[graph.low, graph.high]

    def dense(self, out: Floats | None = None) -> Floats:
        if out is None:
            return self.matrix
        out[:] = self.matrix
        return out

    def at(self, x: int, y: int) -> float:
        return float(self.matrix[x, y])


@dataclass(frozen=True, eq=False)
class ComputedPValues(PValues):
    """P-values computed from the evidence of a run: base of the classes for each kind of test."""

    graph: SparseGraph  # the edges that are left
    removals: Removals  # the edges removed at level 1 and above
    gaps: Ints  # (k, 2): pairs that were never tested (fixedGaps)

    def _of(self, graph: SparseGraph, values: Floats) -> Floats:
        """The values of the edges of `graph`, which has all edges of the run, or some of them."""
        if len(graph) == len(self.graph):
            return values
        return values[self.graph.edge_number(graph.low, graph.high)]

    def dense(self, out: Floats | None = None) -> Floats:
        p = self.graph.p
        if out is None:
            check_room(p, 8, "the p-values of all pairs")
            out = np.empty((p, p))
        self._put_level0(out)
        set_both(out, self.gaps[:, 0], self.gaps[:, 1], -math.inf)
        set_both(out, self.removals.x, self.removals.y, self._of_removals())
        set_both(out, self.graph.low, self.graph.high, self.of_edges(self.graph))
        np.fill_diagonal(out, 1.0)
        return out

    @abstractmethod
    def _put_level0(self, out: Floats) -> None:
        """Write the p-values of all pairs given nothing to both halves of `out`, float64 (p, p)."""

    @abstractmethod
    def _of_removals(self) -> Floats:
        """The p-values of the pairs of the removals, float64 (m,)."""

    @abstractmethod
    def of_removal(self, k: int) -> float:
        """The p-value of the pair of a removal, by its number; NaN if it is not known."""

    @abstractmethod
    def of_level0(self, x: int, y: int) -> float:
        """The p-value of a pair x < y removed at level 0; NaN if it is not known."""

    def at(self, x: int, y: int) -> float:
        if x == y:
            return 1.0
        edge = int(self.graph.edge_number(x, y))
        if edge >= 0:
            return float(self.of_edges(self.graph)[edge])
        found = self.removals.find(x, y)
        if found is not None:
            return self.of_removal(found)
        low, high = min(x, y), max(x, y)
        return -math.inf if (self.gaps == (low, high)).all(axis=1).any() else self.of_level0(low, high)


def set_both(matrix: NDArray[Number], x: Ints, y: Ints, values: Number | NDArray[Number] | float) -> None:
    """Set cells (x, y) and (y, x)."""
    matrix[x, y] = matrix[y, x] = values


class UntestedPairs(NamedTuple):
    """Removed pairs whose separating test would have needed more observations than there are, by pair."""

    # x, y, level, needed, there: (k,): the pair in the order of its test, the size of the set, the number of
    # observations that the test would have needed, and the number that there were (in data with gaps: complete in the
    # variables of the test).
    x: Indices
    y: Indices
    level: Indices
    needed: Indices
    there: Floats = NOT_KEPT

    @classmethod
    def by_pair(cls, table: Indices, there: ArrayLike = NOT_KEPT) -> UntestedPairs:
        """From the first four attributes in one array, int64 (4, k), in any order, and the last or one number."""
        order = np.argsort(pair_keys(table[0], table[1], _MANY), kind="stable")
        x, y, level, needed = table[:, order]
        if there is NOT_KEPT:
            return cls(x, y, level, needed)
        return cls(x, y, level, needed, np.broadcast_to(np.asarray(there, dtype=np.float64), len(order))[order])

    def of(self, n: float | None) -> UntestedPairs:
        """With `n` observations of each test where a pickle of 0.2.0, whose data are complete, says none."""
        if len(self.there) == len(self.x):
            return self
        return self._replace(there=np.full(len(self.x), np.nan if n is None else n))

    def needed_by(self, x: ArrayLike, y: ArrayLike) -> tuple[Indices, Floats]:
        """The number of observations that the test of each pair would have needed, int64 (m,), and the number that
        there were, float64 (m,); 0 and 0 if the test was made."""
        at = look_up(pair_keys(self.x, self.y, _MANY), np.atleast_1d(pair_keys(x, y, _MANY)))
        needed, there = (np.where(at < 0, 0, np.append(values, 0)[at]) for values in (self.needed, self.there))
        return needed.astype(np.int64), there

    def sentences(self, removed: int) -> list[str]:
        """How many of the `removed` pairs were not tested: one sentence, or none if all were."""
        text = f"{len(self.x):,} of {removed:,} removed pairs were not tested: not enough data; see why() and untested"
        return [text] if len(self.x) else []


def no_untested_pairs() -> UntestedPairs:
    """Where every removed pair was tested."""
    return UntestedPairs.by_pair(np.zeros((4, 0), dtype=np.int64), 0.0)


def too_few_for_fisher_z(n: float, sepset: SepSets) -> UntestedPairs:
    """The removed pairs that no test of partial correlations can find dependent, as n - l - 3 is not above 0."""
    parts = [np.zeros((4, 0))]
    for block in sepset.blocks:  # with n <= 3 all others as well: they may be too many to list
        if n <= (level := block.members.shape[1]) + 3:
            parts.append(np.vstack([block.x, block.y, *np.repeat([[level], [level + 4]], len(block.x), axis=1)]))
    return UntestedPairs.by_pair(np.hstack(parts).astype(np.int64), n)


def too_few(
    cells: Iterable[tuple[Indices, ...]],
    counted: Callable[[Indices, Indices, Indices], Floats],
    needed: Callable[[int], int],
) -> UntestedPairs:
    """The pairs x, y, with their sets S by size, that have fewer observations, as `counted`, than are `needed`."""
    parts, there = [np.zeros((4, 0), dtype=np.int64)], [np.zeros(0)]
    for x, y, S in cells:
        level = S.shape[1]
        n = counted(x, y, S)
        few = n <= needed(level) - 1
        both = np.repeat([[level], [needed(level)]], int(few.sum()), axis=1)
        parts.append(np.vstack([x[few], y[few], both]).astype(np.int64))
        there.append(n[few].astype(np.float64))
    return UntestedPairs.by_pair(np.concatenate(parts, axis=1), np.concatenate(there))
