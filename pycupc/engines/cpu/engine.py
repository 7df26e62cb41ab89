"""The cpu engine: the schur algorithm in Numba, on all cores, with the same answer for any number of threads.

Work is cut into tasks that a few threads take one after the other. What a task finds does not depend on any other task,
and findings are merged by smallest rank, so the schedule cannot show in the answer. The main thread waits, reports
progress and notices Ctrl-C.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import comb

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.base import Engine, EngineError, LevelResult, ProgressHook
from pycupc.engines.cpu import graph, level1, walk
from pycupc.gaussian import fisher_z
from pycupc.gaussian.suffstat import MatrixFacts
from pycupc.machine import available_cores, free_memory

#: Tests a task aims at: about a millisecond, so that threads end together.
TASK_TESTS = 250_000
#: A task has at least this many tests for each number it first gathers from C (d x d for a row of degree d).
BASE_SHARE = 20
#: Work below this runs in the calling thread: starting threads would take longer.
INLINE_TESTS = 100_000
#: Seconds between progress reports; also the longest wait before Ctrl-C is noticed.
TICK = 0.1

#: A task takes a thread's state (canonical decisions so far, stop flag) and returns the tests it has covered.
Task = Callable[[np.ndarray], int]


class CpuEngine(Engine):
    """Schur-complement tests on the CPU.

    Parameters
    ----------
    threads : int, optional
        Threads to use; None, the default, takes all cores this process may use.
    """

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_cores()
        self._progress: ProgressHook | None = None
        self._covered = 0  # tests dealt with in this level, for progress

    # -- the problem ------------------------------------------------------------------------------------------------

    def inspect(self, C: np.ndarray) -> MatrixFacts:
        p = C.shape[0]
        nan_count = np.zeros(p, dtype=np.int64)
        blocks = _row_blocks(np.full(p, p))
        facts = np.full((len(blocks), 5), -1, dtype=np.int64)

        def scan(q: int) -> Task:
            return lambda state: graph.scan_rows(C, *blocks[q], nan_count, facts[q]) or 0

        self._run((scan(q) for q in range(len(blocks))), p * p)

        def first(column: int) -> np.ndarray | None:
            found = facts[facts[:, column] >= 0]
            return found[0].tolist() if len(found) else None

        pair, outside, diagonal = first(0), first(2), first(4)
        return MatrixFacts(
            nan_count=nan_count,
            asymmetric=(pair[0], pair[1]) if pair else None,
            out_of_range=(outside[2], outside[3]) if outside else None,
            bad_diagonal=diagonal[4] if diagonal else None,
        )

    def memory(self, p: int) -> tuple[int, int]:
        # neighbour lists: 30 bytes an entry, twice while a level is taken over; half of all pairs left is a lot
        return 30 * p * p, free_memory()

    def start(
        self,
        C: np.ndarray,
        n: int,
        *,
        gaps: np.ndarray | None = None,
        fixed: np.ndarray | None = None,
        progress: ProgressHook | None = None,
    ) -> None:
        self._C, self._n, self._progress = C, n, progress
        none = np.zeros((0, 0), dtype=np.bool_)
        self._gaps = none if gaps is None else gaps
        self._fixed = none if fixed is None else fixed
        p = C.shape[0]
        degree = np.full(p, p - 1) if gaps is None else p - gaps.sum(axis=1) - ~np.diagonal(gaps)
        self._offsets = np.concatenate(([0], np.cumsum(degree)))  # entries exist once level 0 has run
        self._nbr: np.ndarray | None = None

    def degrees(self) -> np.ndarray:
        return np.diff(self._offsets)

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        row = self._rows()
        upper = row < self._nbr
        return row[upper], self._nbr[upper], self._z[upper]

    def _rows(self) -> np.ndarray:
        """x of every entry (x, nbr)."""
        return np.repeat(np.arange(len(self._C), dtype=np.int32), self.degrees())

    # -- levels -----------------------------------------------------------------------------------------------------

    def run_level(self, level: int, cutoff: float) -> LevelResult:
        return self._level0(cutoff) if level == 0 else self._level(level, cutoff)

    def _level0(self, cutoff: float) -> LevelResult:
        p, before = len(self._C), self.degrees()
        degree = np.zeros(p, dtype=np.int64)
        blocks = _row_blocks(np.full(p, p))
        tally = np.zeros((len(blocks), 2), dtype=np.int64)
        args = (self._C, cutoff, self._gaps, self._fixed)

        def count(q: int) -> Task:
            return lambda state: graph.level0_count(*args, *blocks[q], degree, tally[q]) or 0

        def fill(q: int) -> Task:
            return lambda state: graph.level0_fill(*args, *blocks[q], offsets, nbr, r, fixed) or 0

        self._run((count(q) for q in range(len(blocks))), p * p)
        offsets = np.concatenate(([0], np.cumsum(degree)))
        nbr = np.empty(offsets[-1], dtype=np.int32)
        r = np.empty(offsets[-1])
        fixed = np.zeros(offsets[-1], dtype=np.bool_)
        self._run((fill(q) for q in range(len(blocks))), p * p)
        self._offsets, self._nbr, self._is_fixed = offsets, nbr, fixed
        self._z = fisher_z.z_score(r, self._n, 0)
        self._z[fixed] = np.inf

        n_tests, n_removed = (int(v) for v in tally.sum(axis=0))
        more = bool((before > 1).any()) and n_tests > 0
        if more and (len(self._gaps) or len(self._fixed)):
            row = self._rows()
            above = np.triu(np.ones((p, p), dtype=np.bool_), 1)
            for untested in (self._gaps, self._fixed):
                above &= ~untested if len(untested) else True
            more = bool((above.any(axis=1) & (before > 1)).any() or ((row > nbr) & ~fixed & (before[row] > 1)).any())
        none = np.zeros(0, dtype=np.int32)
        return LevelResult(
            level=0,
            x=none,
            y=none,
            S=none.reshape(0, 0),
            r=np.zeros(0),
            n_tests=n_tests,
            n_removed=n_removed,
            n_careful=0,
            more=more,
        )

    def _level(self, level: int, cutoff: float) -> LevelResult:
        offsets, nbr, degree = self._offsets, self._nbr, self.degrees()
        self._check_size(level, degree)
        mirror = graph.mirror_entries(offsets, nbr)
        rank = np.full(len(nbr), -1, dtype=np.int64)
        r, best = np.zeros(len(nbr)), np.full(len(nbr), np.inf)
        live, lanes = np.zeros(len(nbr), dtype=np.uint8), np.zeros(len(degree), dtype=np.int64)
        binomials = subsets.binomial_table(int(degree.max(initial=0)), level)
        self._at_most, self._covered = subsets.level_tests(degree, degree, level), 0
        report = self._reporter(level, rank)
        n_careful, more = 0, False
        for side_b in (False, True):
            more |= graph.choose_lanes(offsets, nbr, self._is_fixed, mirror, rank, level, side_b, live, lanes)
            if level == 1:
                tasks = self._level1_tasks(live, side_b, cutoff, lanes, rank, r, best)
            else:
                tasks = self._tasks(level, live, side_b, cutoff, lanes, binomials, rank, r, best)
            n_careful += self._run(tasks, subsets.level_tests(degree, lanes, level), report)

        stays, unseparated = np.empty(len(nbr), dtype=np.int64), np.empty_like(lanes)
        n_found, n_tests, n_stay = graph.settle(offsets, self._is_fixed, mirror, rank, level, unseparated, stays)
        n_tests += subsets.level_tests(degree, unseparated, level)
        entries = np.flatnonzero(rank >= 0) if n_found else np.zeros(0, dtype=np.int64)  # in order of (x, y)
        x = np.searchsorted(offsets, entries, side="right").astype(np.int32) - np.int32(1)
        S = np.empty((n_found, level), dtype=np.int32)
        graph.unrank_sets(entries, x, offsets, nbr, rank, level, binomials, S)
        result = LevelResult(
            level=level,
            x=x,
            y=nbr[entries],
            S=S,
            r=r[entries],
            n_tests=n_tests,
            n_removed=n_found,
            n_careful=n_careful,
            more=more,
        )
        self._take_over(stays[:n_stay], best, mirror, level)
        return result

    def _take_over(self, stays: np.ndarray, best: np.ndarray, mirror: np.ndarray, level: int) -> None:
        """Go on with the entries that stay, and note the smallest |z| of either side's tests."""
        smallest = np.minimum(best[stays], best[mirror[stays]])
        z = np.where(np.isinf(smallest), np.inf, fisher_z.z_score(np.sqrt(smallest), self._n, level))
        row = np.searchsorted(self._offsets, stays, side="right") - 1
        self._nbr, self._is_fixed, self._z = self._nbr[stays], self._is_fixed[stays], np.minimum(self._z[stays], z)
        self._offsets = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(self._C)))))

    def _check_size(self, level: int, degree: np.ndarray) -> None:
        """Refuse a level that cannot be enumerated or whose work space does not fit, before it starts."""
        worst, d = int(degree.argmax()), int(degree.max(initial=0))
        advice = f"take a smaller alpha, or set m_max to {level - 1} or less"
        if comb(max(d - 1, 0), level) > subsets.MAX_RANK:
            raise EngineError(
                f"level {level} cannot be run: variable {worst} has {d} neighbours, more than 2^63 conditioning sets "
                f"of size {level}; {advice}"
            )
        need, free = max(level - 1, 0) * d * (d + 8) * 8 * self.threads, free_memory()
        if need > free:
            raise EngineError(
                f"level {level} needs {need / 1e9:.1f} GB of work space for {self.threads} threads (variable {worst} "
                f"has {d} neighbours) and {free / 1e9:.1f} GB are free; use fewer threads (numCores), {advice}"
            )

    def _level1_tasks(self, live, side_b, cutoff, lanes, rank, r, best) -> Iterator[Task]:
        degree = self.degrees()
        for lo, hi in _row_blocks(lanes * degree):
            covered = int((lanes[lo:hi] * (degree[lo:hi] - 1)).sum())
            args = (self._C, self._offsets, self._nbr, live, side_b, cutoff, lo, hi)
            yield lambda state, a=args, c=covered: level1.level1_rows(*a, state, rank, r, best) or c

    def _tasks(self, level, live, side_b, cutoff, lanes, binomials, rank, r, best) -> Iterator[Task]:
        """Tasks of a level >= 2: (row, first prefix, prefixes), rows with most tests first, small rows together."""
        degree = self.degrees()
        hint = np.full(len(rank), -1, dtype=np.int64)
        lock = threading.Lock()

        def task(rows: list[int], firsts: list[int], counts: list[int], covered: int) -> Task:
            items = [np.array(v, dtype=np.int64) for v in (rows, firsts, counts)]

            def run(state: np.ndarray) -> int:
                room = int(degree[items[0]].sum())
                entry, found = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
                found_r, smallest = np.empty(room), np.empty(room)
                m = walk.run_items(
                    self._C,
                    self._offsets,
                    self._nbr,
                    live,
                    side_b,
                    cutoff,
                    level,
                    *items,
                    binomials,
                    state,
                    hint,
                    entry,
                    found,
                    found_r,
                    smallest,
                )
                entry, found, found_r, smallest = entry[:m], found[:m], found_r[:m], smallest[:m]
                with lock:  # an entry comes once a task
                    better = (found >= 0) & ((rank[entry] < 0) | (found < rank[entry]))
                    rank[entry[better]], r[entry[better]] = found[better], found_r[better]
                    best[entry] = np.minimum(best[entry], smallest)
                return covered

            return run

        rows, firsts, counts, gathered = [], [], [], 0
        open_rows = np.flatnonzero((lanes > 0) & (degree > level))
        tests = {d: comb(d - 1, level) for d in np.unique(degree[open_rows]).tolist()}
        for x in sorted(open_rows.tolist(), key=lambda x: -int(lanes[x]) * tests[int(degree[x])]):
            d, m = int(degree[x]), int(lanes[x])
            prefixes = comb(d - 1, level - 1)
            row_tests = tests[d] * m
            parts = max(1, min(row_tests // max(TASK_TESTS, BASE_SHARE * d * d), prefixes))
            if parts == 1:
                rows.append(x)
                firsts.append(0)
                counts.append(prefixes)
                gathered += row_tests
                if gathered >= TASK_TESTS:
                    yield task(rows, firsts, counts, gathered)
                    rows, firsts, counts, gathered = [], [], [], 0
                continue
            entries = slice(self._offsets[x], self._offsets[x + 1])
            mine = (live[entries] > 0) & ((self._nbr[entries] < x) == side_b)
            for part in range(parts):
                if part and not (mine & (hint[entries] < 0)).any():
                    self._covered += row_tests // parts * (parts - part)
                    break  # every edge of the row has been separated by an earlier part
                first = prefixes * part // parts
                yield task([x], [first], [prefixes * (part + 1) // parts - first], row_tests // parts)
        if rows:
            yield task(rows, firsts, counts, gathered)

    # -- threads ----------------------------------------------------------------------------------------------------

    def _reporter(self, level: int, rank: np.ndarray) -> Callable[[], None] | None:
        if self._progress is None:
            return None
        edges = len(self._nbr) // 2
        return lambda: self._progress(level, self._covered, self._at_most, edges - int((rank >= 0).sum()))

    def _run(self, tasks: Iterable[Task], tests: int, report: Callable[[], None] | None = None) -> int:
        """Run all tasks; returns how many decisions were canonical."""
        n_threads = 1 if tests < INLINE_TESTS else self.threads
        states = np.zeros((n_threads, 2), dtype=np.int64)
        tasks, lock = iter(tasks), threading.Lock()
        errors: list[BaseException] = []

        def work(state: np.ndarray) -> None:
            try:
                while not state[1]:
                    with lock:
                        task = next(tasks, None)
                    if task is None:
                        return
                    covered = task(state)
                    with lock:
                        self._covered += covered
            except BaseException as error:  # handed to the calling thread
                errors.append(error)
                states[:, 1] = 1

        if tests < INLINE_TESTS:
            work(states[0])
        else:
            threads = [threading.Thread(target=work, args=(state,), daemon=True) for state in states]
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():
                        thread.join(TICK)
                        if report is not None:
                            report()
            except BaseException:
                states[:, 1] = 1
                for thread in threads:
                    if thread.ident is not None:
                        thread.join()
                raise
        if errors:
            raise errors[0]
        return int(states[:, 0].sum())


def _row_blocks(cost: np.ndarray) -> list[tuple[int, int]]:
    """Consecutive row ranges (lo, hi) of about `TASK_TESTS` cost each, which must be the cost per row."""
    if not len(cost):
        return []
    number = np.cumsum(cost) // TASK_TESTS
    cuts = np.flatnonzero(np.diff(number)) + 1
    edges = [0, *cuts.tolist(), len(cost)]
    return list(pairwise(edges))
