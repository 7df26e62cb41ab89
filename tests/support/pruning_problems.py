"""Graphs at the start of a level, on which pruning on the GPU (kernels/pruning/) is run on the host.

A plain enumeration with numpy.linalg says which conditioning set separates each pair first.
"""

import ctypes
import dataclasses
import os
from collections.abc import Callable
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np

import pycupc
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.structures import Counters, Graph, Level

NOT_SEPARATED = 2**64 - 1
LIVE, GONE_A, FIXED = 1, 0, 3


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
        self.band = 1e-5  # in which tests are doubtful

    def run(self, device, module: ModuleType, **tuning):
        """Run the kernels of `bounded_walk` or `branch_and_bound`; returns decided, rank and spares of each pair."""
        device.scratch.reset()
        graph = Graph(*(a.ctypes.data for a in (self.C, self.state, self.start, self.column, self.source, self.best)))
        graph.p = len(self.C)
        square = self.cutoff**2
        level = Level(
            device.binomials(len(self.C), self.level + 3), ctypes.addressof(self.counters), None, device.stop.data.ptr
        )
        level.cutoff, level.level = self.cutoff, self.level
        level.sure_in, level.sure_out = square * (1 - self.band), square * (1 + self.band)
        degrees = np.diff(self.start)
        pairs = len(self.column)
        outlook = Outlook(pairs, int(degrees.max()), 0, (0,) * 6, 0.0, 0.0, False)
        tuned = module.TUNING
        module.TUNING = dataclasses.replace(tuned, **tuning)
        try:
            found = module.launch(device, graph, level, outlook)
        finally:
            module.TUNING = tuned
        out = [
            np.frombuffer((ctypes.c_char * (size * pairs)).from_address(address), dtype=dtype).copy()
            for address, size, dtype in (
                (found.decided, 1, np.uint8),
                (found.rank, 8, np.uint64),
                (found.spares, 8, np.uint64),
            )
        ]
        self.open = np.frombuffer((ctypes.c_char * (4 * len(self.C))).from_address(found.left), dtype=np.int32).copy()
        return out

    def correlations(self, x: int, y: int) -> np.ndarray:
        """|r| of x and y given each subset of adj(x) in lexicographic order; inf where that has y."""
        sets = np.array(list(combinations(np.flatnonzero(self.near[x]), self.level)))
        r, tested = np.full(len(sets), np.inf), ~(sets == y).any(axis=1)
        at = np.insert(sets[tested], 0, [[x], [y]], axis=1)
        K = np.linalg.inv(self.C[at[:, :, None], at[:, None, :]])
        r[tested] = np.abs(K[:, 0, 1]) / np.sqrt(K[:, 0, 0] * K[:, 1, 1])
        return r

    def first_set(self, x: int, y: int) -> tuple[int, int]:
        """Rank of the first separating set among the subsets of adj(x), and the tests up to it."""
        r = self.correlations(x, y)
        found = np.flatnonzero(r <= self.cutoff)
        if not len(found):
            return NOT_SEPARATED, int(np.isfinite(r).sum())
        return int(found[0]), int(np.isfinite(r[: found[0] + 1]).sum())


def random_problem(seed: int, level: int, p: int = 11, noise: float = 1.0) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, p)) @ (np.eye(p) + noise * rng.normal(size=(p, p)) * (rng.random((p, p)) < 0.4))
    C = np.corrcoef(X, rowvar=False)
    C = (C + C.T) / 2
    np.fill_diagonal(C, 1.0)
    near = np.triu(rng.random((p, p)) < 0.9, 1)
    return Problem(C, near | near.T, level, float(rng.choice([0.002, 0.02, 0.1])))


def check_first_sets(problem: Problem, decided: np.ndarray, rank: np.ndarray, spares: np.ndarray) -> int:
    """Every pair must have got its first separating set; returns how many have one."""
    separated = 0
    for e, (x, y) in enumerate(zip(problem.source, problem.column, strict=True)):
        expected = problem.first_set(x, y)
        if x > y and problem.state[x, y] == GONE_A:
            continue  # side A has removed the edge, and side B does not matter
        assert decided[e] == 1
        assert (rank[e], spares[e]) == expected, (x, y)
        assert problem.best[e] == 0
        if x < y:
            assert (problem.state[x, y] == GONE_A) == (expected[0] != NOT_SEPARATED)
        separated += expected[0] != NOT_SEPARATED
    assert not problem.open.any()
    return separated


def check_left_alone(pruned: Callable[[Problem], Any], r: float = 1 - 1e-5) -> tuple[np.ndarray, Problem]:
    """Pairs that must not be decided: a fixed edge, and ill-conditioned rows. Returns its decisions, and the problem.

    r: correlation of two variables that are else alike, NaN or nearly 1.
    """
    problem = random_problem(8, 3)
    x, y = int(problem.source[0]), int(problem.column[0])
    problem.state[x, y] = problem.state[y, x] = FIXED
    a, b = 4, 5  # rows with both are too ill-conditioned
    problem.C[a] = problem.C[b]
    problem.C[:, a] = problem.C[:, b]
    problem.C[a, b] = problem.C[b, a] = r
    problem.C[a, a] = problem.C[b, b] = 1.0
    decided, _, _ = pruned(problem)
    for e, (i, j) in enumerate(zip(problem.source, problem.column, strict=True)):
        row = np.flatnonzero(problem.near[i])
        if {a, b} <= {i, *row} or {i, j} == {x, y}:
            assert decided[e] == 0
    return decided, problem


CASES = int(os.environ.get("PYCUPC_PRUNING_CASES", "100"))


def random_correlations(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Correlations of one of many kinds, p 5 to 150, and a number of observations, 10 to 20,000."""
    kind = rng.choice(["model", "model", "factor", "toeplitz", "lattice", "near copies", "copies"])
    p, n = int(rng.choice([5, 8, 12, 15, 18, 22, 26, 30])), int(10 ** rng.uniform(1, 4.3))
    if kind in ("model", "factor") and rng.random() < 0.1:
        p = int(rng.integers(40, 151))
    if kind == "toeplitz":
        C = rng.uniform(-0.9, 0.95) ** abs(np.subtract.outer(np.arange(p), np.arange(p)))
    elif kind == "lattice":  # many exact ties: values on a coarse grid
        side = np.arange(p)
        C = np.select([side[:, None] == side, abs(side[:, None] - side) <= 2], [1.0, 0.25], 0.125)
    else:
        X = rng.standard_normal((max(n, 12) if kind == "model" else p + 40, p))
        weights = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < rng.uniform(0.1, 0.9)), -1)
        for j in range(p):
            X[:, j] += X[:, :j] @ weights[j, :j] / max(1.0, np.sqrt(j) * 0.5)
        if kind == "factor":
            X += rng.uniform(0.2, 2) * rng.standard_normal((len(X), 1))
        elif kind in ("near copies", "copies"):
            a, b = rng.choice(p, 2, replace=False)
            X[:, a] = X[:, b] + (10 ** rng.uniform(-9, -1) * X[:, a] if kind == "near copies" else 0)
        C = pycupc.independence.gaussian.correlation.correlation(X)
    np.fill_diagonal(C, 1.0)
    return C, n


def spoilt(rng: np.random.Generator, C: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A copy with pairs that are NaN or were edited, which may make it indefinite, and masks of gaps and fixed edges.

    A row keeps both members of a NaN pair beyond level 1 only if its edges with them are fixed.
    """
    C, p = C.copy(), len(C)
    masks = {name: rng.random((p, p)) < share for name, share in (("fixedGaps", 0.05), ("fixedEdges", 0.1))}
    for _ in range(int(rng.integers(1, 4))):
        a, b, x = rng.choice(p, 3, replace=False)
        C[a, b] = C[b, a] = rng.choice([np.nan, np.nan, rng.uniform(-1, 1)])
        masks["fixedGaps"][[a, x, b, x], [x, a, x, b]] = False
        masks["fixedEdges"][[a, b], [x, x]] = True
    return C, {name: (mask | mask.T) & ~np.eye(p, dtype=bool) for name, mask in masks.items()}


def dense_problem() -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 40))
    weights = np.tril(rng.uniform(-1, 1, (40, 40)) * (rng.random((40, 40)) < 0.5), -1)
    for j in range(40):
        X[:, j] += X[:, :j] @ weights[j, :j] / max(1.0, np.sqrt(j) * 0.5)
    return np.corrcoef(X, rowvar=False), 500
