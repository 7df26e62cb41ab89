"""The tests of a run, many at a time: what depends on a set, or on a set and one end, is computed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.independence.base import Floats, Indices, State
from pycupc.independence.kernel.kci import KCI, KernelData, p_value, tail
from pycupc.independence.kernel.kept import Kept, Once
from pycupc.independence.p_values import PValues
from pycupc.independence.setwise import SetwiseTest, TestedPValues
from pycupc.system.machine import SURELY_FREE, available_cores, free_memory, run_in_threads, single_products

if TYPE_CHECKING:
    from pycupc.graph.removals import Removals
    from pycupc.graph.sepset import SepSets
    from pycupc.graph.sparse import Ints, SparseGraph
    from pycupc.independence.kernel.factors import End, GivenSet

#: Bytes of sets and ends that are kept for later tests, and of those that are computed together: by one thread, and for
#: each of several.
KEPT, TOGETHER, TOGETHER_BY_THREAD = 1 << 29, 1 << 28, 1 << 26
#: P-values of one size of sets that are kept.
MOST_P = 1 << 20
#: Rows of the factor of an end, for each variable in the set; the size from which sets may take a matrix (n, n).
ROWS_OF_END, LARGE = 256, 3
#: Tests of a round, about: more share sets and ends, and keep all threads at work, while the tests behind a separating
#: set are made in vain. On 50 variables (10,433 tests counted) rounds of 8 made 8,350 tests with 3,190 sets and 4,166
#: ends x, rounds of 512 made 8,517 with 2,140 and 3,294.
ROUND = 512
#: Numbers of a table from which "auto" means a GPU: below, most runs take up to about two seconds on a CPU, as starting
#: the GPU does.
NUMBERS_FOR_GPU = 20_000
#: Rows of the factor of one variable; matrices (n, n) that a thread holds at a time.
ROWS_OF_ONE, MATRICES = 40, 7


def bytes_of_thread(n: int) -> int:
    """Bytes that a thread needs for tests given sets, with n observations."""
    return 8 * MATRICES * n * n


def check_memory(n: int) -> None:
    """Raise MemoryError if the kernels of n observations do not fit free memory."""
    if (need := bytes_of_thread(n)) > SURELY_FREE and need > (free := free_memory()):
        raise MemoryError(
            f"KCI of {n:,} observations needs about {need / 1e9:,.1f} GB for tests given sets, and {free / 1e9:,.1f} "
            f"GB are free: up to {math.isqrt(free // bytes_of_thread(1)):,} observations fit; draw some of the rows, "
            "take RCoT(), whose need grows with n alone, or test given nothing only (m_max=0)"
        )


class Bounds:
    """Bounds on the p-values of the tests of a run, from which the largest p-value of each pair is found."""

    def __init__(self) -> None:
        self._pair, self._sets = list[Indices](), list[Indices]()
        self._bounds = list[Floats]()

    def add(self, V: Indices, low: Floats, high: Floats) -> None:
        """Add tests of one size of sets, (m, 2 + l)."""
        self._pair.append(V[:, :2])
        self._sets.append(V[:, 2:])
        self._bounds.append(np.array([low, high]))

    def largest(self, test: KernelTest, x: Ints, y: Ints) -> Floats:
        """The largest p-value of the tests of pairs x < y given sets, float64 (m,); -inf where there was none."""
        out = np.full(len(x), -np.inf)
        place = {pair: k for k, pair in enumerate(zip(x.tolist(), y.tolist(), strict=True))}
        of_pair = [np.array([place.get((a, b), -1) for a, b in V.tolist()], dtype=np.int64) for V in self._pair]
        best = np.full(len(x) + 1, -np.inf)  # the last for pairs that are not asked about
        for pairs, (low, _) in zip(of_pair, self._bounds, strict=True):
            np.maximum.at(best, pairs, low)
        for pairs, ends, S, (_, high) in zip(of_pair, self._pair, self._sets, self._bounds, strict=True):
            at = np.flatnonzero((pairs >= 0) & (high >= best[pairs]))
            p = test.p_of_tests(ends[at, 0], ends[at, 1], S[at]) if len(at) else np.zeros(0)
            np.maximum.at(out, pairs[at], np.nan_to_num(p, nan=test.na_p))
        return out


@dataclass(frozen=True, eq=False)
class ExactPValues(TestedPValues):
    """P-values of tests that another program has decided, made exactly when they are asked for.

    `bounds`: of its tests. `sepset`: the separating sets.
    """

    bounds: Bounds
    sepset: SepSets

    def of_edges(self, graph: SparseGraph) -> Floats:
        return self._of(graph, self._exact)

    @property
    def deferred(self) -> bool:
        return True

    @cached_property
    def _exact(self) -> Floats:
        tested, x, y = np.isfinite(self.edge_p), self.graph.low, self.graph.high
        assert isinstance(self.test, KernelTest)
        out = np.full(len(x), -np.inf)
        given_nothing = self.test.unconditional(x[tested], y[tested])
        out[tested] = np.maximum(given_nothing, self.bounds.largest(self.test, x[tested], y[tested]))
        return out

    @cached_property
    def _removed(self) -> Floats:
        out = [self._of_block(block.x, block.y, block.members) for block in self.sepset.blocks]
        return np.concatenate([np.zeros(0), *out])

    def _of_block(self, x: Ints, y: Ints, S: Ints) -> Floats:
        p = self.test.p_of_tests(*(values.astype(np.int64) for values in (x, y, S)))
        return np.nan_to_num(p, nan=self.test.na_p)

    def _of_removals(self) -> Floats:
        return self._removed

    def of_removal(self, k: int) -> float:
        return float(self._removed[k])


class KernelTest(SetwiseTest):
    """`KCI` of a table.

    `how`: its options. `quirks`: whether constant variables and the smallest p-values are as of causal-learn.
    """

    name = "kernel"
    together = ROUND
    bounds: Bounds | None = None  # of the tests of a run on a device
    given_sets = False  # whether tests given sets are to be made

    def __init__(
        self, data: KernelData, alpha: float, how: KCI, *, NAdelete: bool = True, quirks: bool = False
    ) -> None:
        super().__init__(data, alpha, NAdelete=NAdelete)
        self.how, self.quirks = how, quirks
        self.nbytes = (2 + ROWS_OF_ONE) * data.columns.nbytes
        self.cost = max(10.0, data.n**2 / 20)
        self.at_once = max(64, int(1e8 / self.cost))
        self.gpu_pays_from = math.ceil(NUMBERS_FOR_GPU / data.n)
        self._forget()

    def check_room_for_sets(self) -> None:
        """Count the bytes of tests given sets; MemoryError if they do not fit free memory."""
        check_memory(n := self.data.n)
        self.given_sets = True
        kept = min(KEPT + self._bytes_together, self.p**2 * self._bytes_of_end(1))
        self.nbytes += kept + min(available_cores(), max(1, free_memory() // bytes_of_thread(n))) * bytes_of_thread(n)

    def automatic(self, *, in_parts: bool) -> str:
        """The CPU, where the GPU would take no part or cannot keep its levels, else left to the number of variables."""
        return "auto" if self.given_sets and not in_parts else super().automatic(in_parts=in_parts)

    def _forget(self) -> None:
        self._kept, self._known, self._size = Kept(KEPT), dict[bytes, float](), 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_kept", "_known", "_size")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._forget()

    def p_value(self, x: int, y: int, S: Sequence[int]) -> float:
        return p_value(x, y, S, self.data, self.how, quirks=self.quirks)

    def p_values(self, graph: SparseGraph, state: State, removals: Removals, sepset: SepSets) -> PValues:
        if self.bounds is None or state.p_max is not None:
            return super().p_values(graph, state, removals, sepset)
        return ExactPValues(graph, removals, sepset.gaps(), -state.z, self, self.bounds, sepset)

    def p_of_tests(self, x: Indices, y: Indices, S: Indices) -> Floats:
        V = np.column_stack([np.minimum(x, y), np.maximum(x, y), np.sort(S, axis=1)]).astype(np.int64)
        keys = [test.tobytes() for test in V]
        if S.shape[1] != self._size or len(self._known) + len(keys) > MOST_P:
            self._known, self._size = {}, S.shape[1]
        new = list({key: i for i, key in enumerate(keys) if key not in self._known}.values())
        if new:
            made = self._given(V[new]) if S.shape[1] else self._given_nothing(V[new])
            if not self.quirks:
                made[self.data.constant[V[new, :2]].any(axis=1)] = np.nan
            self._known |= dict(zip([keys[i] for i in new], made.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def _values(self, size: int) -> Floats:
        """The columns in units of the width of tests given `size` variables."""
        return self._kept.get(("values", size), lambda: self.data.columns / self.how.widths(self.data.n, size))

    def _of_one(self, v: int, size: int) -> Floats:
        """The factor of the kernel of one variable in tests given `size` variables."""
        from pycupc.independence.kernel.factors import EXACT, factor

        return self._kept.get((v, size), lambda: factor(self._values(size)[[v]], EXACT))

    def _given_nothing(self, V: Indices) -> Floats:
        """The p-values of pairs of variables, float64 (m,), from factors: n r^2 operations for each pair."""
        n, out = self.data.n, np.empty((3, len(V)))
        used = np.unique(V)
        norms = np.empty((2, self.p))
        factors = dict[int, Floats]()

        def prepare(v: int) -> None:
            factors[v] = G = self._of_one(v, 0)
            norms[:, v] = (G**2).sum(), ((G @ G.T) ** 2).sum()

        def row(tests: Indices) -> None:
            others = [factors[v] for v in V[tests, 1].tolist()]
            first = np.cumsum([0, *map(len, others)])[:-1]
            products = factors[int(V[tests[0], 0])] @ np.concatenate(others).T
            out[0, tests] = np.add.reduceat((products**2).sum(axis=0), first)

        self._in_threads(prepare, used.tolist())
        order = np.argsort(V[:, 0], kind="stable")
        self._in_threads(row, [order[tests] for tests in _together(V[order, 0])])
        x, y = V.T
        out[1], out[2] = norms[0, x] * norms[0, y] / n, 2 * norms[1, x] * norms[1, y] / n**2
        return np.asarray(tail(*out, quirks=self.quirks))

    @property
    def _bytes_together(self) -> int:
        return max(TOGETHER, TOGETHER_BY_THREAD * (self.threads or available_cores()))

    def _bytes_of_end(self, size: int) -> int:
        """Bytes of a set of this size and of its ends, about."""
        n = self.data.n
        return int(8 * n * (min(n, ROWS_OF_END * size) + (n if size >= LARGE else 0)))

    def _in_threads(self, work: Callable[[Any], object], items: Sequence[Any]) -> None:
        wanted = min(self.threads or available_cores(), len(items))
        if (need := bytes_of_thread(self.data.n)) * wanted > SURELY_FREE:
            wanted = min(wanted, max(1, free_memory() // need))
        from pycupc.independence.kernel import lapack  # noqa: F401 - its threads are to be limited as well

        with single_products():
            run_in_threads(work, items, wanted)

    def _given(self, V: Indices) -> Floats:
        """The p-values of tests given sets of one size, float64 (m,)."""
        size, out = V.shape[1] - 2, np.empty((3, len(V)))
        _, owner = np.unique(V[:, 2:], axis=0, return_inverse=True)
        order = np.lexsort((V[:, 1], V[:, 0], owner.ravel()))
        ends = _together(owner.ravel()[order] * self.p + V[order, 0])
        at_once = max(1, self._bytes_together // self._bytes_of_end(size))
        for low in range(0, len(ends), at_once):
            self._some(V, [order[tests] for tests in ends[low : low + at_once]], out)
        return np.asarray(tail(*out, quirks=self.quirks))

    def _some(self, V: Indices, of_ends: Sequence[Indices], out: Floats) -> None:
        """Write the statistic, the mean and the variance of tests; `of_ends`: the numbers of the tests of each x, S.

        Threads make sets, then ends y, then ends x with their tests, and none waits for the others to end a kind: a
        thread makes what it needs unless another thread is about it.
        """
        from pycupc.independence.kernel.factors import moments

        once = Once()

        def given(S: tuple[int, ...]) -> GivenSet:
            return once.get(S, lambda: self._kept.get(("S", *S), lambda: self._set(S)))

        def other(y: int, S: tuple[int, ...]) -> End:
            make = lambda: self._kept.get(("y", y, *S), lambda: self._end_y(y, S, given(S)))  # noqa: E731
            return once.get((y, S), make)

        def tests_of(tests: Indices) -> None:
            x, S = int(V[tests[0], 0]), tuple(V[tests[0], 2:].tolist())
            end = self._kept.get(("x", x, *S), lambda: self._end_x(x, S, given(S)))
            out[:, tests] = moments(end, [other(y, S) for y in V[tests, 1].tolist()])

        some = V[np.concatenate(of_ends)].tolist()
        work = [
            *(partial(given, S) for S in dict.fromkeys(tuple(test[2:]) for test in some)),
            *(partial(other, y, S) for y, S in dict.fromkeys((test[1], tuple(test[2:])) for test in some)),
            *(partial(tests_of, tests) for tests in sorted(of_ends, key=len, reverse=True)),
        ]
        self._in_threads(lambda item: item(), work)

    def _set(self, S: tuple[int, ...]) -> GivenSet:
        from pycupc.independence.kernel.factors import GivenSet

        return GivenSet(self._values(len(S))[list(S)], self._of_one(S[0], 1) if len(S) == 1 else None)

    def _end_y(self, y: int, S: tuple[int, ...], given: GivenSet) -> End:
        from pycupc.independence.kernel.factors import EXACT, end_given

        return end_given(self._values(len(S))[[y]], given, EXACT, self._of_one(y, len(S)))

    def _end_x(self, x: int, S: tuple[int, ...], given: GivenSet) -> End:
        from pycupc.independence.kernel.factors import OF_ENDS, end_given

        values = self._values(len(S))
        return end_given(np.concatenate([values[[x]], values[list(S)] / 2]), given, OF_ENDS)


def _together(keys: Indices) -> list[Indices]:
    """The positions of equal keys that follow each other."""
    return np.split(np.arange(len(keys)), np.flatnonzero(np.diff(keys)) + 1)
