"""Inputs for the orientation tests: separating sets in a dict, random skeletons that contradict themselves."""

from __future__ import annotations

from itertools import combinations

import numpy as np


class Cells:
    """Separating sets as a plain dict {(x, y): members}."""

    def __init__(self, cells: dict[tuple[int, int], tuple[int, ...]]) -> None:
        self.cells = cells

    def get(self, x: int, y: int) -> tuple[int, ...] | None:
        return self.cells.get((x, y))

    def contains(self, x: int, z: int, b: int) -> bool:
        return b in self.cells.get((x, z), ())


def random_case(rng: np.random.Generator, p_max: int = 12):
    """Skeleton, separating sets and ambiguous triples drawn at random: nothing makes them fit together.

    Some gaps have no set at all, some have it in the mirror cell, some in both cells.
    """
    p = int(rng.integers(3, p_max))
    upper = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.9), 1)
    skeleton = upper | upper.T
    share, empty_cells = rng.uniform(0.1, 0.9), rng.choice([0, 0.1])
    cells = {}
    for x, y in combinations(range(p), 2):
        if skeleton[x, y] or rng.random() < empty_cells:
            continue
        S = tuple(int(v) for v in rng.permutation(p) if v not in (x, y) and rng.random() < share)
        where = rng.integers(0, 6)
        if where != 1:
            cells[x, y] = S
        if where in (1, 2):
            cells[y, x] = S if rng.random() < 0.5 else ()
    triples = set()
    if rng.random() < 0.5:
        for b in range(p):
            for a, c in combinations(np.flatnonzero(skeleton[b]).tolist(), 2):
                if not skeleton[a, c] and rng.random() < 0.3:
                    triples.add((a, b, c))
    return skeleton, cells, triples


def noise_test(x: int, y: int, S, seed: int) -> float:
    """A p-value that is a hash of the question."""
    return ((sum(2**s for s in S) * 7919 + x * 104729 + y * 1299709 + seed * 15485863) % 997) / 997
