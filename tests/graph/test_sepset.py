"""Separating sets: cells, pairs, rows, and how they are stored."""

import numpy as np
import pytest
from common import small_fit

from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph


def test_sepset_rows_cells_and_pairs():
    case, fit = small_fit()
    cells = case.cells()
    assert {(x, y): fit.sepset[x][y] for x in range(60) for y in range(60) if fit.sepset[x][y] is not None} == cells
    assert [fit.sepset.get(x, y) for x, y in cells] == list(cells.values())
    (x, y), S = next((key, S) for key, S in cells.items() if len(S) == 2)
    assert fit.sepset.of_pair(y, x) == S
    with pytest.raises(IndexError):
        fit.sepset[60]
    with pytest.raises(IndexError):
        fit.sepset[0][60]


def test_stored_sets_by_row():
    rng, skeleton = np.random.default_rng(0), SparseGraph.undirected(9, *np.zeros((2, 0), dtype=np.int32))
    for k in range(300):
        cells = rng.permutation([(x, y) for x in range(9) for y in range(9) if x != y])[: k % 73]
        sets = [rng.integers(0, 9, size).tolist() for size in rng.choice([0, 1, 1, 1, 2, 3], len(cells))]
        x, y = cells.astype(np.int32).T
        members = np.array([b for members in sets for b in members], dtype=np.int32)
        given = FlatCells(x, y, np.array([len(members) for members in sets], dtype=np.int32), members)
        found = SepSets.from_flat(skeleton, given).flat()
        assert all(values.dtype == np.int32 for values in found)
        ends = np.cumsum(found.length)
        listed = zip(found.x, found.y, np.split(found.members, ends[:-1]) if len(ends) else [], strict=True)
        expected = sorted((a, b, s) for (a, b), s in zip(cells.tolist(), sets, strict=True))
        assert [(a, b, s.tolist()) for a, b, s in listed] == expected
