"""Unshielded colliders: searching and reading a row, and the sets that are kept."""

from itertools import product

import numpy as np
import orientation_oracle as oracle
import pytest
from orientation_cases import Cells, check_against_contract, one_triple

from pycupc.orientation import colliders
from pycupc.system import jit


def random_skeleton(rng, p, share):
    """A symmetric matrix of edges, and the pairs x < y that have none."""
    upper = np.triu(rng.random((p, p)) < share, 1)
    skeleton = upper | upper.T
    return skeleton, np.argwhere(np.triu(~skeleton, 1)).tolist()


def test_searching_and_reading_a_row_give_the_same_colliders(monkeypatch):
    """Sparse graphs with a set of one member, often a common neighbour, for most pairs: all, some or no rows searched.

    With 0 every row with a cell is searched, with 10^6 only the rows without paths are.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(40, 70))
        (skeleton, apart), cells = random_skeleton(rng, p, 1 / p), {}
        for x, y in apart:
            between = np.flatnonzero(skeleton[x] & skeleton[y])
            b = int(rng.choice(between if len(between) and rng.random() < 0.5 else np.setdiff1d(np.arange(p), [x, y])))
            cells[(x, y) if rng.random() < 0.6 else (y, x)] = (b,)
        want = oracle.orient(skeleton, Cells(cells))
        for steps, cells_per_search in product((1e9, -1), (0, 25, 10**6)):  # plain, compiled
            monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", steps)
            monkeypatch.setattr(colliders, "CELLS_PER_SEARCH", cells_per_search)
            check_against_contract(skeleton, cells, f"{seed} {steps} {cells_per_search}", want)


@pytest.mark.parametrize("cells_of_thread", [1, 20, 700])
def test_threads_give_the_same_colliders(monkeypatch, cells_of_thread):
    """Rows part several threads, of which some get none; sets of one member and of several."""
    monkeypatch.setattr(colliders, "CELLS_OF_THREAD", cells_of_thread)
    monkeypatch.setattr(colliders, "available_cores", lambda: 5)
    monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", -1)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(5, 60))
        (skeleton, apart), cells = random_skeleton(rng, p, 2 / p), {}
        for x, y in apart:
            others = np.setdiff1d(np.arange(p), [x, y])
            S = rng.choice(others, min(len(others), int(rng.choice([0, 1, 1, 1, 2, 3]))), replace=False)
            cells[(x, y) if rng.random() < 0.6 else (y, x)] = tuple(sorted(S.tolist()))
        check_against_contract(skeleton, cells, f"{seed}", oracle.orient(skeleton, Cells(cells)))


@pytest.mark.parametrize("maj_rule", [False, True])
@pytest.mark.parametrize(
    ("cells", "p_empty", "p_b", "decision", "changes"),
    [
        ({(0, 2): (1,)}, 1.0, 0.0, "collider", {(0, 2): (), (2, 0): ()}),
        ({(0, 2): ()}, 0.0, 1.0, "non-collider", {(0, 2): (1,), (2, 0): (1,)}),
        ({(0, 2): (1,)}, 1.0, 1.0, "ambiguous", {(2, 0): ()}),
        ({(0, 2): (1,)}, 0.0, 0.0, "unseparated", {(0, 2): (), (2, 0): ()}),
    ],
)
def test_what_becomes_of_the_separating_sets(cells, p_empty, p_b, decision, changes, maj_rule):
    """As observed in pcalg 2.7-12: empty cells appear, and b is cleared from an unseparated pair, ambiguous or not."""
    check = one_triple(cells, p_empty, p_b, maj_rule)
    assert check.decisions == {(0, 1, 2): decision}
    assert check.sepset_changes == changes
    assert check.ambiguous == ({(0, 1, 2)} if decision in ("ambiguous", "unseparated") else set())
