"""Make, orient, save, load and export a result for p = 100,000 variables: `python large_result.py EDGES FOLDER`.

Run by tests/test_results.py in a process whose memory is limited to less than one p x p matrix of bytes.
"""

import sys
from pathlib import Path

import numpy as np

from pycupc.graph.removals import Removals
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.orientation import orient
from pycupc.results.pcalgo import PcAlgo

P = 100_000
LIMIT = 8 << 30  # one p x p matrix of bytes takes 10 GB


def main(n_edges: int, folder: Path) -> None:
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    rng = np.random.default_rng(1)
    low, high = sorted_pairs(rng, n_edges)
    skeleton = SparseGraph.undirected(P, low, high)
    x, y = sorted_pairs(rng, n_edges)
    apart = ~skeleton.adjacent(x, y)
    x, y = x[apart], y[apart]
    members = rng.integers(0, P, (len(x), 1)).astype(np.int32)
    other = (members[:, 0] != x) & (members[:, 0] != y)  # a set does not hold the variables that it separates
    x, y, members = x[other], y[other], members[other]
    sepset = SepSets(skeleton, [(x, y, members)])
    removals = Removals(sepset, [np.zeros(len(x))])
    oriented = orient(skeleton, sepset)
    fit = PcAlgo(
        labels=tuple(f"v{i}" for i in range(P)),
        sparse_graph=oriented.graph,
        sepset=sepset,
        p_values=GaussianPValues(skeleton, removals, sepset.gaps(), rng.random(len(skeleton)), 100),
        n_edgetests=[P * (P - 1) // 2, 10],
        max_ord=1,
        trace=oriented.trace,
        removals=removals,
    )
    fit.save(folder / "fit.npz")
    back = PcAlgo.load(folder / "fit.npz")
    assert back.sparse_graph == fit.sparse_graph
    assert back.sepset == fit.sepset
    assert back.trace == fit.trace
    assert len(back.edges()) == len(skeleton)
    for export in (back.to_graphml, back.to_dot, back.to_json):
        assert len(export()) > 10 * len(skeleton)
    assert back.summary()
    i, j = int(x[0]), int(y[0])
    assert back.sepset[i][j] == (int(members[0, 0]),)
    print(len(skeleton), "edges")


def sorted_pairs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """About n different pairs x < y, int32, in order."""
    x, y = rng.integers(0, P, (2, n))
    keys = np.unique((np.minimum(x, y) * P + np.maximum(x, y))[x != y])
    return tuple(v.astype(np.int32) for v in np.divmod(keys, P))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
