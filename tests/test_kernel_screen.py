"""The walk with bounds before long levels (kernels/pruning/screen.cu), run on the host: it finds each pair's first set.

A plain enumeration with numpy.linalg says which conditioning set separates each pair first.
"""

from __future__ import annotations

import ctypes
import dataclasses
from itertools import combinations
from math import comb

import numpy as np
import pytest
from gpu_on_host import HostDevice, build

from pycupc.engines.gpu import pruning, screening
from pycupc.engines.gpu.graph import Outlook
from pycupc.engines.gpu.structures import Counters, Graph, Level

NOT_SEPARATED = 2**64 - 1
LIVE, GONE_A, FIXED = 1, 0, 3
FILES = {
    "common/binomials": ("binomial_table",),
    "schur/plan": ("plan_phases",),
    "pruning/screen": (
        *("sound_rows", "settle_screened"),
        *(f"{kernel}<{q}>" for kernel in ("try_screen", "screen_rows") for q in range(4)),
    ),
    "pruning/decided": ("count_open",),
}


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    library = build(tmp_path_factory.mktemp("kernels"), 256, FILES)
    if library is None:
        pytest.skip("no C++ compiler")
    device = HostDevice(library)
    device.shared_block = 1 << 15  # a few warps per block, as threads are slow here
    return device


class Problem:
    """A graph at the start of a level, on the host device."""

    def __init__(self, C: np.ndarray, near: np.ndarray, level: int, cutoff: float, fixed: tuple = ()) -> None:
        self.C, self.near, self.level, self.cutoff = np.ascontiguousarray(C), near, level, cutoff
        self.start = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int64)
        source, column = np.nonzero(near)
        self.source, self.column = source.astype(np.int32), column.astype(np.int32)
        self.state = near.astype(np.uint8)
        for x, y in fixed:
            self.state[x, y] = self.state[y, x] = FIXED
        self.best = np.full(len(source), NOT_SEPARATED, dtype=np.uint64)
        self.counters = Counters()

    def screen(self, device, **tuning):
        """Run the kernels; returns decided, rank and spares of each pair."""
        device.scratch.reset()
        graph = Graph(*(a.ctypes.data for a in (self.C, self.state, self.start, self.column, self.source, self.best)))
        graph.p = len(self.C)
        square = self.cutoff**2
        level = Level(
            device.binomials(len(self.C), self.level + 3), ctypes.addressof(self.counters), None, device.stop.data.ptr
        )
        level.cutoff, level.level = self.cutoff, self.level
        level.sure_in, level.sure_out = square * (1 - 1e-5), square * (1 + 1e-5)
        degrees = np.diff(self.start)
        pairs = len(self.column)
        outlook = Outlook(pairs, int(degrees.max()), 0, (0,) * 6, 0.0, 0.0, False)
        tuned = screening.TUNING
        screening.TUNING = dataclasses.replace(tuned, **{"most_left": 2.0, **tuning})
        try:
            found = screening.certify(device, graph, level, outlook)
        finally:
            screening.TUNING = tuned
        out = [
            np.frombuffer((ctypes.c_char * (size * pairs)).from_address(address), dtype=dtype).copy()
            for address, size, dtype in (
                (found.decided, 1, np.uint8),
                (found.rank, 8, np.uint64),
                (found.spares, 8, np.uint64),
            )
        ]
        self.open = np.frombuffer((ctypes.c_char * (4 * len(self.C))).from_address(found.open), dtype=np.int32).copy()
        return out

    def first_set(self, x: int, y: int) -> tuple[int, int]:
        """Rank of the first separating set among the subsets of adj(x), and the tests up to it."""
        neighbours = np.flatnonzero(self.near[x])
        tests = 0
        for rank, S in enumerate(combinations(neighbours, self.level)):
            if y in S:
                continue
            tests += 1
            at = [x, y, *S]
            K = np.linalg.inv(self.C[np.ix_(at, at)])
            if abs(K[0, 1]) / np.sqrt(K[0, 0] * K[1, 1]) <= self.cutoff:
                return rank, tests
        return NOT_SEPARATED, comb(len(neighbours) - 1, self.level)


def random_problem(seed: int, level: int, p: int = 11, noise: float = 1.0) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, p)) @ (np.eye(p) + noise * rng.normal(size=(p, p)) * (rng.random((p, p)) < 0.4))
    C = np.corrcoef(X, rowvar=False)
    C = (C + C.T) / 2
    np.fill_diagonal(C, 1.0)
    near = np.triu(rng.random((p, p)) < 0.9, 1)
    return Problem(C, near | near.T, level, float(rng.choice([0.002, 0.02, 0.1])))


@pytest.mark.parametrize("level", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_gets_its_first_separating_set(device, level, seed):
    problem = random_problem(100 * level + seed, level)
    decided, rank, spares = problem.screen(device)
    separated = 0
    for e, (x, y) in enumerate(zip(problem.source, problem.column, strict=True)):
        expected = problem.first_set(x, y)
        if x > y and problem.state[x, y] == GONE_A:
            assert decided[e] == 0  # side A has removed the edge, and side B does not matter
            continue
        assert decided[e] == 1
        assert (rank[e], spares[e]) == expected, (x, y)
        assert problem.best[e] == 0
        if x < y:
            assert (problem.state[x, y] == GONE_A) == (expected[0] != NOT_SEPARATED)
        separated += expected[0] != NOT_SEPARATED
    assert not problem.open.any()
    assert separated > 5
    assert problem.counters.bounds > 0


def test_bounds_spare_tests(device):
    """Correlations far above the cutoff: nearly nothing is left to be tested."""
    C = np.full((12, 12), 0.5) + 0.5 * np.eye(12)
    problem = Problem(C, ~np.eye(12, dtype=bool), 3, 0.01)
    decided, rank, spares = problem.screen(device)
    assert (decided == 1).all()
    assert (rank == NOT_SEPARATED).all()
    assert -problem.counters.spared < 0.1 * spares.sum()  # what was made; `lift` adds what was spared


def test_doubtful_tests_are_left_with_the_rest_of_the_row_decided(device):
    """A cutoff that equals the partial correlation of one pair given one set."""
    problem = random_problem(7, 3)
    x, y = 0, int(np.flatnonzero(problem.near[0])[-1])
    neighbours = [v for v in np.flatnonzero(problem.near[x]) if v != y]
    smallest = min(
        abs(K[0, 1]) / np.sqrt(K[0, 0] * K[1, 1])
        for S in combinations(neighbours, 3)
        for K in [np.linalg.inv(problem.C[np.ix_([x, y, *S], [x, y, *S])])]
    )
    problem.cutoff = float(smallest)
    decided, _, _ = problem.screen(device)
    left = [(int(a), int(b)) for a, b in zip(problem.source[decided == 2], problem.column[decided == 2], strict=True)]
    assert (x, y) in left or (y, x) in left
    assert len(left) < 10
    assert problem.open.sum() == len(left)


def test_fixed_edges_and_near_singular_rows_are_left_alone(device):
    problem = random_problem(8, 2)
    x, y = int(problem.source[0]), int(problem.column[0])
    problem.state[x, y] = problem.state[y, x] = FIXED
    a, b = 4, 5  # copies but for 1e-5: rows with both are too ill-conditioned
    problem.C[a] = problem.C[b]
    problem.C[:, a] = problem.C[:, b]
    problem.C[a, b] = problem.C[b, a] = 1 - 1e-5
    problem.C[a, a] = problem.C[b, b] = 1.0
    decided, _, _ = problem.screen(device)
    for e, (i, j) in enumerate(zip(problem.source, problem.column, strict=True)):
        row = np.flatnonzero(problem.near[i])
        singular = {a, b} <= {i, *row}
        if singular or {i, j} == {x, y}:
            assert decided[e] == 0


def test_gives_up_where_too_much_is_left(device):
    problem = random_problem(300, 3)
    best = problem.best.copy()
    decided, _, _ = problem.screen(device, most_left=1e-9)
    assert not decided.any()
    assert (problem.best == best).all()
    assert problem.open.sum() == (problem.state == LIVE).sum()


def test_rows_that_do_not_fit_shared_memory_are_left_alone(device, monkeypatch):
    problem = random_problem(301, 3)
    degrees = np.diff(problem.start)
    widest = int(np.sort(degrees)[len(degrees) // 2])
    need = screening.shared_of_block(widest) + screening.shared_of_warp(widest, 1)
    monkeypatch.setattr(device, "shared_block", pruning.STATIC_SHARED + need)
    decided, _, _ = problem.screen(device)
    narrow = degrees[problem.source] <= widest
    assert not decided[~narrow].any()
    gone = (problem.state[problem.source, problem.column] == GONE_A) & (problem.source > problem.column)
    assert (decided[narrow & ~gone] == 1).all()
    assert screening._fitting(227 << 10, 1024, 2)[0] == 1024
    assert screening._fitting(48 << 10, 1024, 3)[1] == 1
