"""`add_background_knowledge`: brute force over DAGs, Meek's rules on matrices, a live pcalg."""

import os
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from common import refused
from effects_cases import random_dag
from markov_classes import labelled
from orientation_oracle import Drawing, rules

import pycupc
from pycupc import Knowledge, add_background_knowledge
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph

N_CASES = int(os.environ.get("PYCUPC_LIVE_CASES", "60"))
SEED = int(os.environ.get("PYCUPC_LIVE_SEED", "1"))
#: Pairs of arrows that are tried for each CPDAG.
MOST_PAIRS = 3


def named(graph):
    return CausalGraph(labels=tuple(f"v{i}" for i in range(len(graph))), sparse_graph=SparseGraph.from_dense(graph))


def added(graph, arrows, **more):
    """The graph matrix, None where the arrows contradict it."""
    try:
        return add_background_knowledge(named(graph), required=arrows, **more).graph
    except ValueError:
        return None


def oracle(graph, arrows):
    drawing = Drawing((graph + graph.T) != 0, solve_confl=True)
    drawing.G = np.array(graph, dtype=int)
    rules(drawing, rule_4=True)
    for a, b in arrows:
        if drawing.G[a, b] != 1:
            return None
        drawing.G[b, a] = 0
        rules(drawing, rule_4=True)
    return drawing.G


def assert_same(got, want, note):
    assert (got is None) == (want is None), note
    if want is not None:
        np.testing.assert_array_equal(got, want, err_msg=str(note))


def some(rng, graph, most):
    pairs = [tuple(pair) for pair in np.argwhere(graph).tolist()]
    at = rng.permutation(len(pairs))[: int(rng.integers(most + 1))]
    return [pairs[k] for k in at]


def common(dags):
    """The arrows that all have, the other edges undirected; None without a DAG."""
    return (np.sum(dags, axis=0) > 0).astype(int) if len(dags) else None


@pytest.mark.parametrize("p", range(2, 1 + int(os.environ.get("PYCUPC_MOST_NODES", "4"))))
def test_the_marks_that_all_remaining_dags_share(p):
    rng = np.random.default_rng(SEED)
    for dags in labelled(p):
        cpdag = common(dags)
        arrows = [tuple(pair) for pair in np.argwhere(cpdag + cpdag.T).tolist()]
        two = [(first, second) for first, second in combinations(arrows, 2) if first != second[::-1]]
        for known in [(), *((arrow,) for arrow in arrows), *(two[k] for k in rng.permutation(len(two))[:MOST_PAIRS])]:
            want = common([dag for dag in dags if all(dag[a, b] for a, b in known)])
            assert_same(added(cpdag, known), want, (cpdag, known))


def test_random_dags_and_knowledge_on_knowledge():
    rng, outcomes = np.random.default_rng(SEED), Counter()
    for _ in range(3 * N_CASES):
        dag = random_dag(rng, int(rng.integers(2, 9)), rng.uniform(0.2, 1))
        cpdag = named(dag).to_cpdag().graph
        arrows = some(rng, dag if rng.random() < 0.6 else cpdag, 3)
        got = added(cpdag, arrows)
        assert_same(got, oracle(cpdag, arrows), (cpdag, arrows))
        outcomes[got is None] += 1
        if got is not None:
            more = some(rng, dag, 2)
            forbidden = [pair[::-1] for pair in more]
            assert_same(added(got, [], forbidden=forbidden), oracle(got, more), (got, more))
    assert min(outcomes.values()) > 5


R_SCRIPT = r"""
suppressPackageStartupMessages(library(pcalg))
for (k in cases) {
  m <- k$m
  dimnames(m) <- list(seq_len(nrow(m)), seq_len(nrow(m)))
  names <- function(v) if (length(v)) as.character(v)
  invisible(capture.output(g <- addBgKnowledge(m, names(k$x), names(k$y))))
  cat(if (is.null(g)) "NULL" else g, "\n")
}
"""


def test_live_pcalg(rscript, tmp_path):
    rng, cases = np.random.default_rng(SEED + 1), []
    for k in range(N_CASES):
        dag = random_dag(rng, int(rng.integers(2, 8)), rng.uniform(0.2, 1))
        graph = named(dag).to_cpdag().graph if k % 4 else dag
        if k % 3 == 0:  # maximal, or not
            graph = np.where(rng.random(dag.shape) < 0.3, dag, graph)
            graph = np.where(graph + graph.T > 0, graph, dag)
        cases.append((graph, some(rng, dag if rng.random() < 0.6 else dag + dag.T, 3)))
    text = []
    for graph, arrows in cases:
        x, y = ([pair[end] + 1 for pair in arrows] for end in (0, 1))
        numbers = ", ".join(map(str, graph.ravel().tolist()))  # the transpose, column by column: amat.cpdag
        ends = f"x = c({', '.join(map(str, x))}), y = c({', '.join(map(str, y))})"
        text.append(f"list(m = matrix(c({numbers}), {len(graph)}), {ends})")
    script = tmp_path / "background.R"
    script.write_text(f"cases <- list({', '.join(text)})\n{R_SCRIPT}")
    done = subprocess.run([rscript, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for (graph, arrows), line in zip(cases, done.stdout.splitlines(), strict=True):
        want = None
        if line.strip() != "NULL":
            want = np.array(line.split(), dtype=float).astype(int).reshape(graph.shape)
        assert_same(added(graph, arrows), want, (graph, arrows))


def chain():
    x = np.random.default_rng(1).standard_normal((1000, 3)) @ np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    return pycupc.pc(x, labels=["a", "b", "c"])


def test_a_result_keeps_its_evidence_and_gains_reasons():
    fit = chain()
    got = add_background_knowledge(fit, tiers=Knowledge({"a": 1, "b": 2, "c": 2}))
    assert isinstance(got, pycupc.PcAlgo)
    assert dict(got.trace) == {(0, 1): ("tier", 0, 1), (1, 2): ("R1", 0, 1, 2)}
    assert got.sepset == fit.sepset
    assert got.notes["known_afterwards"] == "2 tiers"
    assert got._cpdag_note() == ""
    assert "arrow follows from the tiers" in str(got.why("a", "b"))
    assert fit.edge_counts() == (0, 2, 0)


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (
            {"required": [("a", "b"), ("c", "b")]},
            "c --> b .required. contradicts b --> c, which follows from the graph",
        ),
        ({"required": [("a", "c")]}, "a --> c is required, but a and c are not adjacent"),
        ({"forbidden": [("a", "b"), ("b", "a")]}, "a and b are adjacent, but both directions are forbidden"),
        ({"tiers": [1, 2]}, "tiers must have a number for each of the 3"),
    ],
)
def test_contradictions(known, text):
    refused(text, add_background_knowledge, chain(), **known)


def test_graphs_that_are_not_valid():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    refused("directed cycle v0 --> v1 --> v2 --> v0", add_background_knowledge, named(cycle))
    np.testing.assert_array_equal(add_background_knowledge(named(cycle), check_input=False).graph, cycle)
    with pytest.raises(ValueError, match=r"v1 --> v0 .required. contradicts v0 --> v1, which is in the graph"):
        add_background_knowledge(named(cycle), [("v1", "v0")], check_input=False)
    open_ = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    refused("CPDAG", add_background_knowledge, named(open_))
    assert add_background_knowledge(named(open_), check_input=False).graph[2, 1] == 0


def test_a_pag_is_refused():
    data = np.random.default_rng(2).standard_normal((50, 3))
    with pytest.raises(TypeError, match="fit must be a graph without circles, such as the result of pc, got PagAlgo"):
        add_background_knowledge(pycupc.fci(data, alpha=0.5), required=[(0, 1)])


def test_the_shares_of_a_consensus_follow_its_arrows():
    data = np.random.default_rng(1).standard_normal((400, 3)).cumsum(axis=1)
    graph = pycupc.stability(data, n_resamples=20, random_state=1).consensus()
    fit = replace(graph, frequencies=graph.frequencies | {"directed": np.array([0.6, 0.1]), "reversed": np.zeros(2)})
    got = add_background_knowledge(fit, required=[(1, 0), (2, 1)]).edges().sort_values("to")
    assert got[["from", "to", "directed", "reversed"]].to_numpy().tolist() == [["2", "1", 0, 0.6], ["3", "2", 0, 0.1]]
