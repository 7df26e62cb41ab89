"""A graph that is meant to be a CPDAG: cycles, contradictions, and the CPDAG of a result."""

import numpy as np
from common import refused

import pycupc
from pycupc.data import load_example
from pycupc.results import explorer_content


def test_a_directed_cycle_is_told():
    names = load_example("cell_nuclei").columns[[4, 5, 8]].tolist()
    for options in ({}, {"solve_confl": True}):
        fit = pycupc.pc(load_example("cell_nuclei").iloc[:, :10], alpha=0.01, **options)
        assert (fit.is_cpdag, fit.cycle()) == (False, (4, 5, 8))
        told = f"kept as pcalg has them (directed cycle {' --> '.join([*names, names[0]])})"
        assert f'{told}; u2pd="retry" gives a graph that a DAG extends\n' in fit.summary()
        assert f"{told}." in explorer_content.content(fit).note
        refused("no DAG extends this graph: not a CPDAG: directed cycle", fit.to_dag)


SQUARE = dict.fromkeys(((0, 2), (1, 3)), ())


def of_square(sets, **options):
    """The result of `pc` on four variables, of which these pairs are separated, by these sets."""

    def independent(x, y, S, _):
        return float(sets.get((min(x, y), max(x, y))) == tuple(S))

    return pycupc.pc(None, independent, labels=list("abcd"), alpha=0.5, **options)


def test_contradicting_arrows_are_counted_as_pcalg_marks_them(nuclei):
    relaxed, marked = (pycupc.pc(nuclei, alpha=0.01, solve_confl=solve) for solve in (False, True))
    n = marked.edge_counts()[2]
    assert n == 19
    told = f"arrows contradict each other on {n} edges, which is usual in real data; "
    assert f"\n{told}kept as pcalg has them; to_cpdag() gives a CPDAG\n" in relaxed.summary()
    assert f'\n{told}marked as bidirected; u2pd="retry" gives a graph that a DAG extends\n' in marked.summary()
    assert f"A{told[1:]}kept as pcalg has them." in explorer_content.content(relaxed).note
    assert "contradicting" not in relaxed.summary()  # the number is said once
    for tables in range(40):
        rng = np.random.default_rng(tables)
        x = rng.standard_normal((60, 7)) @ rng.standard_normal((7, 7))
        relaxed, marked = (pycupc.pc(x, alpha=0.1, solve_confl=solve) for solve in (False, True))
        # an arrow that was overwritten may have led the rules on, which then contradict others
        assert (relaxed.notes.get("contradicting_edges", 0) > 0) == (marked.edge_counts()[2] > 0)


def test_contradictions_are_told_by_their_kind():
    """A path whose middle edge gets both directions, and a square whose colliders share all edges, or that has none."""
    one = of_square({(0, 2): (), (1, 3): (), (0, 3): ()})  # a - b - c - d
    assert one.edge_counts() == (3, 0, 0)
    assert "arrows contradict each other on 1 edge, which is usual in real data; kept as" in one.summary()
    assert one.to_cpdag().notes["CPDAG"].endswith("; 1 edge changed")
    told = "arrows contradict each other on 4 edges, which is usual in real data; "
    assert f"{told}kept as pcalg has them" in of_square(SQUARE).summary()
    assert f"{told}marked as bidirected" in of_square(SQUARE, solve_confl=True).summary()
    without_colliders = of_square({(0, 2): (1, 3), (1, 3): (0, 2)})
    assert "\nthe tests contradict each other, which is usual in real data; " in without_colliders.summary()
    assert "kept as pcalg has them (every direction of its undirected edges adds" in without_colliders.summary()


def test_the_cpdag_of_a_result_keeps_the_evidence(nuclei):
    fit = pycupc.pc(nuclei, alpha=0.01)
    cpdag = fit.to_cpdag()
    assert isinstance(cpdag, pycupc.PcAlgo)
    assert cpdag.is_cpdag
    assert cpdag.sepset == fit.sepset
    assert cpdag.to_cpdag() is cpdag
    marks = cpdag.graph
    assert set(cpdag.trace) == {(a, b) for a, b in fit.trace if (marks[a, b], marks[b, a]) == (1, 0)}
    changed = (np.triu(fit.graph != marks) | np.triu((fit.graph != marks).T)).sum()
    assert f"CPDAG: of the DAGs that extend the graph of pc; {changed} edges changed\n" in cpdag.summary()
    assert "contradict" not in cpdag.summary()


def test_of_a_cpdag_nothing_is_told():
    fit = pycupc.pc(load_example("cell_nuclei").iloc[:, :10], alpha=0.01, u2pd="retry")
    assert (fit.is_cpdag, fit.cycle()) == (True, None)
    assert fit.to_cpdag().sparse_graph == fit.sparse_graph
    assert fit.to_dag().edge_counts() == (len(fit.sparse_graph), 0, 0)
    assert fit.to_dag().labels == fit.labels
    assert "CPDAG" not in fit.summary() + explorer_content.content(fit).note


def test_a_skeleton_is_not_expected_to_be_a_cpdag():
    skeleton = pycupc.skeleton(load_example("cell_nuclei"), alpha=0.01)
    assert not skeleton.is_cpdag
    assert "CPDAG" not in skeleton.summary() + explorer_content.content(skeleton).note
