"""Separating sets: cells, pairs, rows, and how they are stored."""

import numpy as np
import pytest
from common import small_fit
from hypothesis import given, settings
from hypothesis import strategies as st
from orientation_cases import flat_cells, sets_of

import pycupc
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.system import machine


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


seeds = st.integers(0, 2**32 - 1)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_changed_sets_equal_a_dict_of_cells(seed):
    """Against a plain dict: pcalg's list of lists with some cells written."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 8))
    empty = SparseGraph.from_dense(np.zeros((p, p), np.int8))
    pairs = [(x, y) for x in range(p) for y in range(p) if x < y]
    stored = [(pair if rng.random() < 0.5 else pair[::-1]) for pair in pairs if rng.random() < 0.4]
    sets = {cell: tuple(rng.permutation(p)[: rng.integers(1, p)].tolist()) for cell in stored}
    gaps = [x * p + y for x, y in pairs if not {(x, y), (y, x)} & sets.keys() and rng.random() < 0.3]
    sepset = SepSets.from_flat(empty, flat_cells(sets), np.array(gaps, dtype=np.int64))
    cells = dict(sets)
    for x, y in pairs:
        if not {(x, y), (y, x)} & sets.keys() and x * p + y not in gaps:
            cells[x, y] = ()
    assert sepset.cells() == cells
    changes = {
        (x, y): tuple(rng.permutation(p)[: rng.integers(0, p)].tolist())
        for x in range(p)
        for y in range(p)
        if x != y and rng.random() < 0.2
    }
    changed = sepset.changed(flat_cells(changes))
    assert (changed.cells(), sepset.cells()) == (cells | changes, cells)
    for x, y in {*cells, *changes}:
        assert changed.get(x, y) == (cells | changes)[x, y]
    left = [x * p + y for x, y in np.array(changed.gaps(), dtype=int).reshape(-1, 2).tolist()]
    assert left == [g for g in gaps if not {divmod(g, p), divmod(g, p)[::-1]} & changes.keys()]
    everywhere = [(x, y) for x in range(p) for y in range(p)]
    there, found = changed.of_cells(*np.array(everywhere).reshape(-1, 2).T)
    held = [S if t else None for t, S in zip(there, sets_of(found), strict=True)]
    assert held == [(cells | changes).get(cell) for cell in everywhere]
    assert not len(changed.of_cells(np.zeros(0, dtype=int), np.zeros(0, dtype=int))[0])


def test_sets_of_too_many_pairs_are_refused(monkeypatch):
    fit = pycupc.skeleton(np.random.default_rng(0).standard_normal((50, 20)), engine="cpu")
    monkeypatch.setattr(machine, "SURELY_FREE", 0)
    monkeypatch.setattr(machine, "free_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"the separating sets of all pairs of 20 variables would take .* ask for"):
        fit.sepset.cells()
    assert fit.sepset[0, 1] == ()
