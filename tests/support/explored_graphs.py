"""Results for the tests and the pictures of the explorer: data sets that are generated from a seed."""

import explored_graphs
import numpy as np
import pandas as pd

import pycupc
from pycupc.graph.sparse import SparseGraph

#: Labels that would do harm if they were taken for markup, or that are hard to show.
HOSTILE = (
    "<script>document.title = 'run'</script>",
    "</script><script>document.title = 'run'</script>",
    "<img src=x onerror=\"document.title = 'run'\">",
    "\"quoted\" and 'quoted'",
    "two\nlines\tand a tab",
    "x" * 200,
    "&lt;b&gt; {data} {script}",
    "\u2028separators\u2029",
    "back\\slash ${title} `tick`",
    "<!-- <script> -->",
    "漢字 naïve 😀",
    "https://example.org/?a=1&b=2",
)


def table(p: int, n: int = 400, parents: int = 2, seed: int = 1) -> pd.DataFrame:
    """Data of a linear Gaussian graph with some hubs: n observations of p variables, GENE0, GENE1, ..."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, p))
    weight = np.ones(p)
    for j in range(p):
        chosen = (
            rng.choice(j, min(j, int(rng.integers(0, parents + 1))), replace=False, p=weight[:j] / weight[:j].sum())
            if j
            else []
        )
        X[:, j] = X[:, chosen] @ (rng.uniform(0.4, 0.9, len(chosen)) * rng.choice([-1, 1], len(chosen)))
        X[:, j] += rng.normal(size=n)
        weight[chosen] += 1.5
    return pd.DataFrame(X[:, rng.permutation(p)], columns=[f"GENE{i}" for i in range(p)])


def result(p: int, labels: list[str] | None = None, **options: int) -> pycupc.PcAlgo:
    """The graph of `table`, by default with its labels."""
    data = table(p, **options)
    return pycupc.pc(pycupc.SuffStat.from_data(data), alpha=0.01, labels=labels)


def large(p, m):
    """A result of p variables and m edges that no test removed anything from."""
    rng = np.random.default_rng(p)
    pairs = np.unique(rng.integers(0, p * p, 3 * m))
    low, high = pairs // p, pairs % p
    graph_pairs = rng.permutation(np.flatnonzero(low < high))[:m]
    graph_pairs.sort()
    graph = SparseGraph.undirected(p, low[graph_pairs], high[graph_pairs])
    fit = explored_graphs.result(4)
    values = np.linspace(0, 0.01, len(graph))
    return pycupc.PcAlgo(
        labels=tuple(f"v{i}" for i in range(p)),
        sparse_graph=graph,
        sepset=pycupc.graph.sepset.SepSets(graph),
        p_values=type(fit.p_values)(graph, fit.removals.__class__(), np.zeros((0, 2), np.int32), values, 100),
        n_edgetests=[1],
        max_ord=0,
        n=100,
        alpha=0.01,
    )
