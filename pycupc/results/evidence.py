"""The evidence for a result: the tests of each level, the test that removed each edge, and the p-values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.gaussian import fisher_z
from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.results import p_matrix
from pycupc.results.p_matrix import set_both

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LevelSummary:
    """One level of the skeleton phase.

    Attributes
    ----------
    level : int
        Size of the conditioning sets.
    n_tests : int
        Number of tests, as pcalg counts them.
    n_removed, edges_left : int
    n_careful : int
        Doubtful tests, decided by the canonical formula, among all that the engine made. The number may vary between
        runs: an engine with several threads makes some tests that pcalg would not have made.
    seconds : float
    n_made : int
        Tests made, if bounds answered the others; -1 if all were made.
    n_bounds : int
        Bounds evaluated.
    """

    level: int
    n_tests: int
    n_removed: int
    edges_left: int
    n_careful: int
    seconds: float
    n_made: int = -1
    n_bounds: int = 0


#: The remedy if a result was loaded from a file that lacks the requested evidence.
WITH_DATA = "load it together with its data, PcAlgo.load(path, suffStat=data), or save it with evidence=True"


class Removals:
    """Edges removed at level 1 and above, in the order of ``SepSets.flat(by_row=False)``: by level, then by row.

    Attributes
    ----------
    x, y : int32 (m,)
        The pair in the order of the separating test: x < y on side A, x > y on side B.
    level : int32 (m,)
    r : float64 (m,)
        Partial correlation of the separating test; NaN if the test gives only p-values. Accessing it raises ValueError
        if the result was loaded, without the data, from a file that does not hold it.

    Parameters
    ----------
    parts : sequence of (x, y, level, r)
        One part per level; r is None where it is not known.
    r_of : callable, optional
        Computes an unknown r, given the number of the removal.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Ints, Ints, int | Ints, Floats | None]] = (),
        r_of: Callable[[int], float] | None = None,
    ) -> None:
        self._parts = parts  # as the engine reported them; joined on first access
        self._r_of = r_of

    def _joined(self, i: int, dtype: type) -> NDArray[Any]:
        parts: list[NDArray[Any]] = [np.zeros(0, dtype=dtype)]
        parts += [np.broadcast_to(np.asarray(part[i], dtype=dtype), part[0].shape) for part in self._parts]
        return np.concatenate(parts)

    @cached_property
    def x(self) -> Ints:
        return self._joined(0, np.int32)

    @cached_property
    def y(self) -> Ints:
        return self._joined(1, np.int32)

    @cached_property
    def level(self) -> Ints:
        return self._joined(2, np.int32)

    @property
    def r_recorded(self) -> bool:
        """Whether all values of `r` are stored."""
        return all(part[3] is not None for part in self._parts)

    @property
    def r_known(self) -> bool:
        """Whether `r` is stored or can be computed."""
        return self._r_of is not None or self.r_recorded

    @cached_property
    def r(self) -> Floats:
        if self.r_recorded:
            return self._joined(3, np.float64)
        if self._r_of is None:
            raise ValueError(f"this result was saved without the partial correlations of its tests; {WITH_DATA}")
        return np.array([self._r_of(k) for k in range(len(self.x))])

    def parts(self) -> Iterator[tuple[Ints, Ints, int | Ints, Floats]]:
        """x, y, level and r of all removals in parts, which are not joined if `r` is stored."""
        if not self.r_recorded:
            yield self.x, self.y, self.level, self.r
            return
        for x, y, level, r in self._parts:
            assert r is not None
            yield x, y, level, r

    def r_at(self, k: int) -> float | None:
        """`r` of one removal; None if it is not known."""
        if self._r_of is not None:
            return self._r_of(k)
        return float(self.r[k]) if self.r_known else None

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        key = np.minimum(self.x, self.y).astype(np.int64) << 32 | np.maximum(self.x, self.y)
        order = np.argsort(key)
        return key[order], order

    def find(self, x: int, y: int) -> int | None:
        """Number of the removal of the unordered pair."""
        key = min(x, y) << 32 | max(x, y)
        keys, order = self._index
        i = int(keys.searchsorted(key))
        return int(order[i]) if i < len(keys) and keys[i] == key else None


class PValues(ABC):
    """Largest p-value of each pair's tests: pcalg's ``pMax``, of the edges, of one pair, or of all pairs."""

    @abstractmethod
    def of_edges(self, graph: SparseGraph) -> Floats:
        """Of each edge of `graph`, float64 (m,); -inf for an edge that was never tested."""

    @abstractmethod
    def dense(self, out: Floats | None = None) -> Floats:
        """Of all pairs, float64 (p, p): symmetric, 1 on the diagonal, -inf where no test was made.

        Written into `out` if that is given.
        """

    def fill(self, out: Floats) -> p_matrix.Filling:
        """Begin to write the matrix of `dense` into `out`, float64 (p, p); `finish` of the returned object ends it."""
        self.dense(out)
        return p_matrix.Filling()

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
    """P-values computed from the evidence of a run: base of the classes for each kind of test.

    Attributes
    ----------
    graph : SparseGraph
        The edges that are left.
    removals : Removals
        The edges removed at level 1 and above.
    gaps : int32 (k, 2)
        Pairs that were never tested (fixedGaps).
    """

    graph: SparseGraph
    removals: Removals
    gaps: Ints

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


class DeferredP(Protocol):
    """Computes the largest p-value of each edge, float64 (m,)."""

    def __call__(self) -> Floats: ...

    @property
    def searches(self) -> bool:
        """Whether the computation may take as long as the tests did, see `PValues.deferred`."""

    def met(self) -> Floats:
        """The largest p-value of the tests made, at most the largest of all tests; float64 (m,)."""


@dataclass(frozen=True, eq=False)
class GaussianPValues(ComputedPValues):
    """P-values of Gaussian tests, computed from the correlations on demand.

    Attributes
    ----------
    graph, removals, gaps
        As in `ComputedPValues`.
    edge_p : float64 (m,), or DeferredP
        The largest p-value of each edge; -inf if never tested. A `DeferredP` is called on first access.
    n : float
        Number of observations.
    matrix : float64 (p, p), or function that returns it, optional
        The correlations, which decided the pairs removed at level 0. Without them, only the p-values of the edges and
        of pairs removed at later levels are known. A function is called on first access.
    pairs : function of two int64 (k,), optional
        Computes the correlations of given pairs without the matrix.
    """

    edge_p: Floats | DeferredP
    n: float
    matrix: Floats | Callable[[], Floats] | None = None
    pairs: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats] | None = None

    @cached_property
    def C(self) -> Floats | None:
        """The correlations, float64 (p, p), where they are known."""
        return self.matrix() if callable(self.matrix) else self.matrix

    @cached_property
    def edges(self) -> Floats:
        """The largest p-value of each edge, float64 (m,)."""
        return self.edge_p() if callable(self.edge_p) else self.edge_p

    @property
    def complete(self) -> bool:
        return self.matrix is not None and self.removals.r_known

    @property
    def deferred(self) -> bool:
        return callable(self.edge_p) and self.edge_p.searches

    def settle_for_tests_made(self) -> None:
        if callable(self.edge_p):
            self.__dict__["edges"] = self.edge_p.met()

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self.edges

    def dense(self, out: Floats | None = None) -> Floats:
        result = np.empty((self.graph.p, self.graph.p)) if out is None else out
        self.fill(result).finish()
        return result

    def fill(self, out: Floats) -> p_matrix.Filling:
        if self.C is None:
            raise ValueError(f"this result was made without its correlations; {WITH_DATA}")

        def put_others() -> None:
            set_both(out, self.gaps[:, 0], self.gaps[:, 1], -math.inf)
            set_both(out, self.graph.low, self.graph.high, self.edges)
            np.fill_diagonal(out, 1.0)

        return p_matrix.begin(out, self.C, self.n, self.removals.parts(), put_others)

    def of_removal(self, k: int) -> float:
        r = self.removals.r_at(k)
        return math.nan if r is None else float(fisher_z.p_value(r, self.n, int(self.removals.level[k])))

    def of_level0(self, x: int, y: int) -> float:
        return math.nan if self.C is None else float(fisher_z.p_value(self.C[x, y], self.n, 0))

    def correlations(self, x: ArrayLike, y: ArrayLike) -> Floats | None:
        x, y = np.asarray(x, dtype=np.int64), np.asarray(y, dtype=np.int64)
        if self.pairs is not None:
            return self.pairs(x, y)
        return None if self.C is None else np.asarray(self.C[x, y], dtype=np.float64)
