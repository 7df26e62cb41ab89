"""Graphs handed over to causal-learn, pgmpy and igraph, and read from them, with the packages themselves."""

import numpy as np
import pytest
from common import refused

import pycupc
from pycupc.data import load_example
from pycupc.graph.named import NamedGraph
from pycupc.results.causal_graph import CausalGraph


@pytest.fixture(scope="module")
def fit():
    return pycupc.pc(load_example("cell_nuclei"), alpha=0.01, engine="cpu")


@pytest.fixture(scope="module")
def all_kinds():
    """An edge of each of the nine pairs of marks, of variables 0 and 1, 2 and 3, and so on; 18 has no edge."""
    amat = np.zeros((19, 19), dtype=int)
    for k, (there, back) in enumerate((a, b) for a in (1, 2, 3) for b in (1, 2, 3)):
        amat[2 * k, 2 * k + 1], amat[2 * k + 1, 2 * k] = there, back
    return NamedGraph.from_amat_pag(amat)


def test_causallearn(fit, all_kinds):
    pytest.importorskip("causallearn")
    for graph in (fit, all_kinds):
        theirs = graph.to_causallearn()
        back = CausalGraph.from_causallearn(theirs)
        assert back.labels == graph.labels
        assert back.sparse_graph == graph.sparse_graph
        # causal-learn's matrix: [j, i] is the mark at j of the edge i - j; -1 tail, 1 arrow, 2 circle
        assert np.array_equal(theirs.graph.T, np.array([0, 2, 1, -1])[graph.amat_pag().to_numpy()])
    names = [node.get_name() for node in theirs.get_nodes()]
    assert theirs.get_edge(theirs.get_node(names[4]), theirs.get_node(names[5])).get_endpoint1().name == "TAIL"


def test_a_result_of_causallearns_pc(fit):
    search = pytest.importorskip("causallearn.search.ConstraintBased.PC")
    data = load_example("cell_nuclei")
    theirs = search.pc(data.to_numpy(), 0.01, node_names=list(data.columns), show_progress=False)
    graph = CausalGraph.from_causallearn(theirs)
    assert graph.labels == fit.labels
    assert np.array_equal(graph.skeleton, fit.skeleton)


def test_pgmpy(fit, all_kinds):
    base = pytest.importorskip("pgmpy.base")
    theirs = fit.to_pgmpy()
    assert theirs.directed_edges == {
        (u, v) for u, v, kind in fit.edges()[["from", "to", "type"]].to_numpy() if kind == "directed"
    }
    back = CausalGraph.from_pgmpy(theirs)
    assert back.subgraph(fit.labels).sparse_graph == fit.sparse_graph
    assert CausalGraph.from_pgmpy(base.DAG([("b", "a"), ("a", "c")])).edges().to_numpy().tolist() == [
        ["b", "a", "directed"],
        ["a", "c", "directed"],
    ]
    refused("directed and undirected edges only, got 1 bidirected edge", all_kinds.to_pgmpy)


def test_igraph(fit):
    pytest.importorskip("igraph")
    theirs = fit.to_igraph()
    ours = fit.to_networkx()
    assert theirs.vs["name"] == list(fit.labels)
    arcs = {(theirs.vs[edge.source]["name"], theirs.vs[edge.target]["name"]): edge["type"] for edge in theirs.es}
    assert arcs == {(u, v): kind for u, v, kind in ours.edges(data="type")}
    assert theirs.es["pMax"] == [ours[u][v]["pMax"] for u, v in arcs]


@pytest.mark.parametrize("read", [CausalGraph.from_causallearn, CausalGraph.from_pgmpy])
def test_other_objects_are_refused(read):
    refused("graph must be .*, got dict", read, {}, error=TypeError)
