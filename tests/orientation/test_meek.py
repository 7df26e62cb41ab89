"""Rules 1 to 3: recorded from pcalg, and what a round costs."""

import numpy as np
import orientation_oracle as oracle
import pytest
from orientation_cases import Cells, dense, graph_of, orient_dense, partly_oriented, random_case, sparse

from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import orient
from pycupc.orientation.colliders import mark_triples, orient_colliders
from pycupc.orientation.meek import apply_rules
from pycupc.orientation.mixed_graph import trace, undirected

#: Rule 3 on edges that the same pass has directed; the gap of rule 3 appears last.
MEMORABLE = (2974, 3261, 15545, 18406)


def test_rules_of_rand_and_retry_equal_the_contract_written_out():
    """On any colliders, not only on the extendable ones they are meant for: the two rules 3 differ more often there."""
    for seed in [*range(300), *MEMORABLE]:
        skeleton, cells, ambiguous = random_case(np.random.default_rng(seed))
        graph = undirected(sparse(skeleton))
        triples = np.array(list(ambiguous), dtype=np.int64).reshape(-1, 3)
        mark_triples(graph, Cells(cells).sepsets(sparse(skeleton)), triples)
        orient_colliders(graph, solve_confl=False)
        apply_rules(graph, arrow_is_gap=True)
        want = oracle.Drawing(skeleton)
        oracle.colliders(want, Cells(cells), ambiguous)
        oracle.rules(want, ambiguous, arrow_is_gap=True)
        np.testing.assert_array_equal(dense(graph, skeleton), want.G, err_msg=str(seed))
        assert dict(trace(graph)) == want.trace, seed


@pytest.mark.parametrize("descending", [False, True])
def test_a_round_costs_no_more_than_its_arrows(descending):
    """0 -> 2 <- 1 and a path 2 - 3 - 4 - ..., of which rule 1 directs one edge per round, whatever the numbering.

    If a round looked at all edges, this would not end within minutes.
    """
    p = 300_000
    rank = np.arange(p)[::-1] if descending else np.arange(p)
    tail, head = np.r_[0, 1 : p - 1], np.r_[2, 2:p]
    skeleton = SparseGraph.from_cells(p, rank[np.r_[tail, head]], rank[np.r_[head, tail]], np.ones(2 * len(tail)))
    x, middle, z = np.r_[0, 1 : p - 2], np.r_[2, 2 : p - 1], np.r_[3, 3:p]  # no colliders; only 0 -> 2 <- 1 is one
    sepset = SepSets.from_flat(skeleton, FlatCells(rank[x], rank[z], np.ones_like(x), rank[middle]))
    got = orient(skeleton, sepset)
    assert got.graph.counts()["directed"] == p - 1
    a, b, c = rank[[p - 3, p - 2, p - 1]].tolist()
    assert got.trace[b, c] == ("R1", a, b, c)


def test_rule3_of_rand_and_retry_takes_an_arrow_for_a_gap():
    """Recorded from pcalg 2.7-12: 1 -> 4 comes from 1 - 2 -> 4, 1 - 6 -> 4 although 2 -> 6."""
    cells = {(0, 4): (1, 3, 6), (4, 0): (1, 3, 6), (0, 6): (1, 2, 3, 4, 5), (2, 5): (0, 1, 3), (3, 4): (0, 1, 2, 6)}
    cells |= {(3, 5): (0, 1, 2, 6), (3, 6): (1, 2), (5, 6): (0, 1, 2, 3)}
    relaxed = graph_of("0-1 0>2 0-3 0>5 1-2 1-3 1-4 1>5 1-6 2-3 2>4 2>6 4>5 6>4", 7)
    retry = graph_of("0-1 0>2 0-3 0>5 1-2 1-3 1>4 1>5 1-6 2-3 2>4 2>6 4>5 6>4", 7)
    skeleton = (relaxed + relaxed.T) != 0
    np.testing.assert_array_equal(orient_dense(skeleton, Cells(cells)).graph, relaxed)
    for u2pd in ("rand", "retry"):
        np.testing.assert_array_equal(orient_dense(skeleton, Cells(cells), u2pd=u2pd).graph, retry)


def test_rule3_may_overwrite_itself():
    """Recorded from pcalg 2.7-12: rule 3 sets 1 -> 0, then, its list made before, 0 -> 1."""
    cells = {(2, 3): (0, 4, 5), (4, 5): (1, 2, 3)}
    ambiguous = {(2, 4, 3), (2, 5, 3), (4, 2, 5), (4, 3, 5)}
    want = graph_of("0>1 0-2 0-3 4>0 5>0 2>1 3>1 4>1 5>1 2-4 2-5 3-4 3-5", 6)
    got = orient_dense((want + want.T) != 0, Cells(cells), ambiguous=ambiguous)
    np.testing.assert_array_equal(got.graph, want)
    assert got.trace[0, 1] == ("R3", 0, 2, 3, 1)


def test_conflict_solving_reads_rule2_from_the_start_of_its_pass():
    """Recorded from pcalg 2.7-12: 2 -> 0 -> 1 holds for a moment, then 0 - 2 becomes bidirected; 1 - 2 must stay."""
    start = graph_of("2>3 3>0 0>4 4>2 0>1 0-2 1-2 1-4", 5)
    skeleton = (start + start.T) != 0
    graph = partly_oriented(skeleton, np.argwhere((start == 1) & (start.T == 0)).tolist())
    apply_rules(graph, solve_confl=True)
    start[0, 2] = start[2, 0] = 2
    np.testing.assert_array_equal(dense(graph, skeleton), start)
