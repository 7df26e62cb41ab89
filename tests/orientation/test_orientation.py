"""Orientation: the rules written out literally, oracles, and what must be refused; recorded answers: test_golden.py."""

import subprocess
import sys
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from common import refused
from effects_cases import random_dag
from hypothesis import given, settings
from hypothesis import strategies as st
from markov_classes import classes_on, cpdag_of, true_cpdag

from pycupc import pc
from pycupc.engines.cpu import threads
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.orientation import colliders, orient
from pycupc.orientation.colliders import mark_triples, orient_colliders
from pycupc.orientation.lines import lines_of_arrows
from pycupc.orientation.meek import apply_rules
from pycupc.orientation.mixed_graph import trace, undirected
from pycupc.results.causal_graph import CausalGraph
from pycupc.system import jit

import orientation_oracle as oracle  # isort: skip
from orientation_cases import (  # isort: skip
    Cells, check_dense, dense, noise_test, orient_dense, partly_oriented, random_case, sparse,
)  # fmt: skip

seeds = st.integers(0, 2**32 - 1)


# The rules written out literally


VARIANTS = {"relaxed": {}, "solve_confl": {"solve_confl": True}, "rand": {"u2pd": "rand"}, "retry": {"u2pd": "retry"}}
#: Rule 3 on edges that the same pass has directed; the gap of rule 3 appears last.
MEMORABLE = (2974, 3261, 15545, 18406)


def check_against_contract(skeleton, cells, err_msg, want=None, **options):
    """The graph, what set each arrowhead, the way and the tries, as the contract written out has them: in `want`."""
    graph, reasons, *way = want or oracle.orient(skeleton, Cells(cells), **options)
    got = orient_dense(skeleton, Cells(cells), **options)
    np.testing.assert_array_equal(got.graph, graph, err_msg=err_msg)
    assert dict(got.trace) == reasons, err_msg
    assert [got.status, got.n_tries] == way, err_msg
    return {got.status, *(why[0] for why in reasons.values())}


def test_compiled_orientation_equals_the_contract_written_out():
    """Every variant, with and without ambiguous triples."""
    seen = set()
    for seed in [*range(250), *range(500, 750), *MEMORABLE]:
        skeleton, cells, ambiguous = random_case(np.random.default_rng(seed))
        for name, options in VARIANTS.items():
            for skipped in [set(), ambiguous] if ambiguous and "u2pd" not in options else [set()]:
                more = {**options, "ambiguous": skipped, "random_state": seed}
                found = check_against_contract(skeleton, cells, f"{seed} {name}", **more)
                seen |= {*found, *((name, status) for status in found)}
    assert seen >= {"collider", "R1", "R2", "R3"}
    assert seen >= {("retry", status) for status in ("extendable", "reoriented", "forced", "random")}


@pytest.mark.parametrize("plain", [False, True])
def test_small_graphs_are_oriented_without_compiling(plain, monkeypatch):
    """The same source as plain Python: the same graph, also with more than 64 variables, namely 65."""
    monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", 1e9 if plain else -1)
    for seed in range(24):
        skeleton, cells, ambiguous = random_case(np.random.default_rng(seed), p_max=90 if seed == 8 else 12)
        for name, options in VARIANTS.items():
            if len(skeleton) <= 12 or "u2pd" not in options:
                more = {**options, "random_state": seed, "ambiguous": ambiguous if "u2pd" not in options else set()}
                check_against_contract(skeleton, cells, f"{seed} {name}", **more)


def test_searching_and_reading_a_row_give_the_same_colliders(monkeypatch):
    """Sparse graphs with a set of one member, often a common neighbour, for most pairs: all, some or no rows searched.

    With 0 every row with a cell is searched, with 10^6 only the rows without paths are.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(40, 70))
        upper = np.triu(rng.random((p, p)) < 1 / p, 1)
        skeleton, cells = upper | upper.T, {}
        for x, y in np.argwhere(np.triu(~skeleton, 1)).tolist():
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
        upper = np.triu(rng.random((p, p)) < 2 / p, 1)
        skeleton, cells = upper | upper.T, {}
        for x, y in np.argwhere(np.triu(~skeleton, 1)).tolist():
            others = np.setdiff1d(np.arange(p), [x, y])
            S = rng.choice(others, min(len(others), int(rng.choice([0, 1, 1, 1, 2, 3]))), replace=False)
            cells[(x, y) if rng.random() < 0.6 else (y, x)] = tuple(sorted(S.tolist()))
        check_against_contract(skeleton, cells, f"{seed}", oracle.orient(skeleton, Cells(cells)))


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


def graph_of(text, p):
    """ "0-1 0>2" as a matrix."""
    graph = np.zeros((p, p), dtype=int)
    for edge in text.split():
        a, b = int(edge[0]), int(edge[2])
        graph[a, b] = 1
        graph[b, a] = edge[1] == "-"
    return graph


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


# CPDAGs and DAGs of a graph


def colliders_of(dag):
    """The unshielded colliders a -> b <- c."""
    return {
        (a, b, c)
        for b in range(len(dag))
        for a, c in combinations(np.flatnonzero(dag[:, b]).tolist(), 2)
        if not dag[a, c] and not dag[c, a]
    }


@given(seeds)
@settings(max_examples=250, deadline=None)
def test_cpdag_and_dag_of_any_graph_are_those_of_the_dags_that_extend_it(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(2, 6)), rng.uniform(0.2, 0.9))
    classes = classes_on(dag | dag.T)
    marks = (true_cpdag(dag) if rng.random() < 0.7 else dag).astype(int)
    for a, b in np.argwhere(dag).tolist():
        if rng.random() < rng.choice([0.2, 0.7]):
            marks[[a, b], [b, a]] = [(1, 0), (0, 1), (1, 1)][rng.integers(3)]
    arrows = (marks == 1) & (marks.T == 0)
    extensions = [
        (other, dags)
        for dags in classes
        for other in dags
        if (other >= arrows).all() and all(arrows[a, b] and arrows[c, b] for a, b, c in colliders_of(other))
    ]
    graph = CausalGraph(labels=tuple("abcdef"[: len(dag)]), sparse_graph=SparseGraph.from_dense(marks))
    cycle = graph.cycle()
    assert (cycle is None) == nx.is_directed_acyclic_graph(nx.DiGraph(arrows))
    if cycle is not None:
        assert all(arrows[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        assert len(set(cycle)) == len(cycle)
    assert graph.is_cpdag == (graph._not_a_cpdag() == "")
    if extensions:
        assert any(np.array_equal(graph.to_dag().graph, other) for other, _ in extensions)
        want = cpdag_of(extensions[0][1])
        np.testing.assert_array_equal(graph.to_cpdag().graph, want)
        assert graph.is_cpdag == np.array_equal(marks, want)
    else:
        assert not graph.is_cpdag
        for method in (graph.to_dag, graph.to_cpdag):
            refused('no DAG extends this graph: not a CPDAG: .*; u2pd="retry" gives a graph that a DAG extends', method)


def test_bidirected_edges_are_no_part_of_a_cpdag():
    graph = CausalGraph(labels=("a", "b"), sparse_graph=SparseGraph.from_dense([[0, 2], [2, 0]]))
    assert (graph.is_cpdag, graph.cycle()) == (False, None)
    refused("1 edge is bidirected", graph.to_dag)


# rand and retry


def test_forced_dag_takes_the_lowest_sink_first():
    """Recorded from pcalg 2.7-12; three tries fail, the last one has no cycle."""
    want = graph_of("1>0 1-4 2>0 2-3 2-4 3>0 3-4", 5)
    cells = {(0, 4): (1, 3), (1, 2): (3,), (1, 3): (0, 4)}
    got = orient_dense((want + want.T) != 0, Cells(cells), u2pd="retry")
    assert (got.status, got.n_tries) == ("forced", 3)
    np.testing.assert_array_equal(got.graph, want)


# Conservative and majority rule


def awkward_data(rng, p, n):
    """Correlations of a sample with a duplicate, a sum of two others and, sometimes, an undefined column."""
    x = rng.standard_normal((n, p)) + 0.6 * rng.standard_normal((n, 1))
    kind = rng.integers(0, 4)
    if kind >= 1:
        x[:, 0] = x[:, 1]
    if kind >= 2:
        x[:, 2] = x[:, 3] + x[:, 4]
    C = np.corrcoef(x.T)
    C = (C + C.T) / 2
    if kind == 3:
        C[5, :] = C[:, 5] = np.nan
    np.fill_diagonal(C, 1.0)
    return C


@given(seeds, st.booleans(), st.sampled_from([0.0, 0.01, 0.2, 1.0]))
@settings(max_examples=12, deadline=None)
def test_walk_equals_one_test_at_a_time(seed, maj_rule, alpha):
    rng = np.random.default_rng(seed)
    p, n = 9, int(rng.integers(5, 100))
    C = awkward_data(rng, p, n)
    skeleton, cells, _ = random_case(rng, p_max=p + 1)
    got = check_dense(skeleton, Cells(cells), C, n, alpha, maj_rule=maj_rule)
    want = check_dense(
        skeleton, Cells(cells), None, None, alpha, maj_rule=maj_rule, indep_test=gaussCItest, suff_stat={"C": C, "n": n}
    )
    assert got.decisions == want.decisions
    assert got.sepset_changes == want.sepset_changes
    assert got.ambiguous == want.ambiguous


def test_walk_does_not_depend_on_tasks_or_threads(monkeypatch):
    rng = np.random.default_rng(0)
    C = awkward_data(rng, 14, 60)
    skeleton = np.triu(rng.random((14, 14)) < 0.7, 1)
    skeleton |= skeleton.T
    want = check_dense(skeleton, Cells({}), C, 60, 0.2, maj_rule=True, n_threads=1)
    assert len(want.decisions) > 30
    monkeypatch.setattr(threads, "INLINE_TESTS", 1)
    got = check_dense(skeleton, Cells({}), C, 60, 0.2, maj_rule=True, n_threads=3)
    assert got.decisions == want.decisions
    assert got.sepset_changes == want.sepset_changes


def one_triple(cells, p_empty, p_b, maj_rule=False):
    """0 - 1 - 2 with p-values given for the empty set and for {1}."""
    skeleton = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    test = {"indep_test": lambda x, y, S, stat: p_b if S else p_empty}
    return check_dense(skeleton, Cells(cells), None, None, 0.5, maj_rule=maj_rule, **test)


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


def test_rules_differ_where_sets_disagree():
    """Node 1 is in 4 of the 6 sets that separate 0 and 2 here (those of adj(0) and of adj(2))."""
    skeleton = np.zeros((4, 4), dtype=bool)
    for a, b in ((0, 1), (1, 2), (0, 3), (3, 2)):
        skeleton[a, b] = skeleton[b, a] = True

    def test(x, y, S, stat):
        return float({x, y} == {0, 2} and S != ())

    kinds = [
        check_dense(skeleton, Cells({}), None, None, 0.5, maj_rule=maj, indep_test=test).decisions[0, 1, 2]
        for maj in (False, True)
    ]
    assert kinds == ["ambiguous", "non-collider"]


# Refusals


def test_endless_checks_are_refused_by_name():
    skeleton = ~np.eye(40, dtype=bool)
    skeleton[3, 7] = skeleton[7, 3] = False
    with pytest.raises(ValueError, match=r"triple \(3, 0, 7\) alone needs .*node 3 has 38 neighbours"):
        check_dense(skeleton, Cells({}), np.eye(40), 100, 0.05, maj_rule=True)
    small = ~np.eye(27, dtype=bool)
    small[3, 7] = small[7, 3] = False
    with pytest.raises(ValueError, match=r"triple \(3, 0, 7\)"):
        check_dense(small, Cells({}), None, None, 0.05, maj_rule=True, indep_test=noise_test, suff_stat=1)


def test_nan_from_a_test_is_refused():
    refused(r"indep_test must return a p-value, got NaN for x=0, y=2, S=\(\)", one_triple, {}, float("nan"), 0.0)


def test_empty_graphs():
    for p in (0, 1, 4):
        none = np.zeros((p, p), dtype=bool)
        for u2pd in ("relaxed", "rand", "retry"):
            got = orient_dense(none, Cells({}), u2pd=u2pd)
            assert got.graph.dtype == np.int8
            assert got.graph.shape == (p, p)
            assert not got.graph.any()
        check = check_dense(none, Cells({}), None, None, 0.05, maj_rule=False, indep_test=noise_test)
        assert (check.ambiguous, check.sepset_changes, check.decisions) == (frozenset(), {}, {})


# What verbose tells


def test_the_lines_of_arrows_are_colliders_and_then_rules():
    trace = {(2, 3): ("R3", 2, 0, 1, 3), (1, 2): ("R1", 0, 1, 2), (0, 1): ("collider", 0, 1, 3)}
    trace |= {(3, 1): ("collider", 0, 1, 3), (0, 2): ("R2", 0, 1, 2)}
    assert list(lines_of_arrows(trace, "abcd")) == [
        "collider: a -> b <- d, because a, d are not adjacent, and no separating set of theirs has b",
        "rule 1: b -> c, because a -> b and a, c are not adjacent: else a collider at b",
        "rule 2: a -> c, because a -> b -> c: else a cycle",
        "rule 3: c -> d, because c - a -> d and c - b -> d, and a, b are not adjacent",
    ]


@pytest.mark.parametrize("rule", ["conservative", "maj_rule"])
def test_verbose_tells_of_arrows_and_triples(rule, caplog):
    data = np.random.default_rng(1).standard_normal((500, 6))
    data[:, 2] += data[:, 0] + data[:, 1]
    data[:, 3] += data[:, 2]
    with caplog.at_level("INFO", logger="pycupc"):
        fit = pc(data, labels=list("abcdef"), **{rule: True}, verbose=True)
        told = [r.getMessage() for r in caplog.records]
        caplog.clear()
        pc(data, labels=list("abcdef"), **{rule: True})
    arrows = [line for line in told if line.startswith(("collider: ", "rule "))]
    assert arrows == list(lines_of_arrows(fit.trace, fit.labels))
    assert any(line.startswith("collider: a -> c <- b, because ") for line in arrows)
    assert any(line.startswith("rule 1: c -> d, because ") for line in arrows)
    triples = [line for line in told if line.startswith("triple ")]
    assert triples[0].startswith("triple a - c - b: collider, because c is in ")
    assert sum("not oriented" in line for line in triples) == fit.notes["ambiguous_triples"]
    assert not any(r.getMessage().startswith(("collider", "rule", "triple")) for r in caplog.records)


def test_nothing_is_left_to_compile_after_compile_ahead():
    code = """
import threading
import time
import numpy as np
from numba.core import event
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import compile_ahead, orient

compile_ahead()
while threading.active_count() > 1:  # the thread starts others
    time.sleep(0.01)
compiled = []
listener = event.RecordingListener()
x, y = np.triu_indices(300, 1)
edge = np.random.default_rng(0).random(len(x)) < 0.1
graph = SparseGraph.undirected(300, x[edge], y[edge])
size = 1 + np.arange(np.count_nonzero(~edge)) % 2
members = np.random.default_rng(1).integers(0, 300, size.sum())
of_pairs = (v.astype(np.int32) for v in (x[~edge], y[~edge], size, members))
with event.install_listener("numba:compile", listener):
    oriented = orient(graph, SepSets.from_flat(graph, FlatCells(*of_pairs)))
assert len(oriented.trace) > 100
print(len(listener.buffer))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n", done.stderr
