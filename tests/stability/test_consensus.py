"""Counts of graphs, and the graph of the edges that were found in enough resamples."""

import sys

import numpy as np

from pycupc.stability import PagConsensus
from pycupc.stability.consensus import CPDAG, PAG, Counts, least_count, stable_graph


def test_consensus_marks():
    """More than half of the graphs with the edge decide its mark; without that majority it is undirected."""
    low, high = np.array([0, 0, 1, 1, 2], dtype=np.int32), np.array([1, 2, 2, 3, 3], dtype=np.int32)
    kinds = np.array([[6, 2, 1, 0], [1, 6, 2, 0], [4, 4, 0, 0], [1, 0, 2, 7], [3, 0, 0, 0]], dtype=np.int32)
    consensus = stable_graph(tuple("abcd"), Counts(low, high, kinds), alpha=0.1, threshold=0.8, n_resamples=10)
    assert consensus.edges().values.tolist() == [
        ["a", "b", "directed", 0.9, 0.6, 0.2, 0.1, 0.0],
        ["c", "a", "directed", 0.9, 0.6, 0.1, 0.2, 0.0],
        ["b", "c", "undirected", 0.8, 0.4, 0.4, 0.0, 0.0],
        ["b", "d", "bidirected", 1.0, 0.1, 0.0, 0.2, 0.7],
    ]
    assert repr(consensus).endswith("adjacent in at least 80% of 10 resamples, alpha 0.1>")


def test_pairs_are_listed_along_the_more_frequent_arrow():
    """From low to high where both arrows are equally frequent."""
    arrows = [[3, 2], [2, 2], [2, 3], [0, 0]]
    assert CPDAG.is_turned(np.array([[*pair, 0, 0] for pair in arrows])).tolist() == [False, False, True, False]
    assert PAG.is_turned(np.array([[0, b, 0, 0, f, 0] for f, b in arrows])).tolist() == [False, False, True, False]


def test_counts_of_graphs_in_any_order(monkeypatch):
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(30):
        keys = np.unique(rng.integers(0, 400, size=60))
        low, high = np.divmod(keys, 20)
        low, high = low[low < high].astype(np.int32), high[low < high].astype(np.int32)
        graphs.append((low, high, rng.integers(4, size=len(low)).astype(np.uint8)))
    one = Counts.of(graphs, 20)
    monkeypatch.setattr(sys.modules[Counts.__module__], "COUNTED", 200)  # some graphs at a time
    two = Counts.of([graphs[k] for k in rng.permutation(30)], 20)
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("low", "high", "kinds"))
    assert one.adjacent.sum() == sum(len(low) for low, *_ in graphs)


def test_thresholds_are_exact():
    """0.7 of 10 resamples is 7, although 0.7 * 10 is above 7 in floating point."""
    assert least_count(0.7, 10) == 7
    assert [least_count(k / 100, 100) for k in range(1, 101)] == list(range(1, 101))
    assert least_count(0.0, 10) == 1


def test_an_end_of_the_consensus_has_the_mark_of_more_than_half():
    low, high = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    times = np.array(
        [[1, 0, 3, 0, 4, 0], [2, 2, 0, 3, 1, 0], [0, 0, 1, 0, 1, 0]], np.int32
    )  # circle, arrow, tail twice
    facts = {"alpha": 0.1, "threshold": 0.5, "n_resamples": 4}
    found = stable_graph(tuple("abc"), Counts(low, high, times), **facts)
    assert isinstance(found, PagConsensus)
    assert Counts(low, high, times).counting is PAG
    assert found.sparse_graph.amat_pag().tolist() == [[0, 2, 1], [3, 0, 0], [1, 0, 0]]
    edges = found.edges()
    assert edges.loc[0, ["from", "to", "type"]].tolist() == ["a", "b", "directed"]
    assert edges.loc[0, ["adjacent", "from_tail", "to_arrow"]].tolist() == [1, 0.75, 1]
