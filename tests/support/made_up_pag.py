"""A PAG with evidence, for tests of the result itself: a real skeleton, one edge removed later, marks by chance."""

import numpy as np

import pycupc
from pycupc.graph.lists import Lists
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import CIRCLE, SparseGraph
from pycupc.independence.gaussian import fisher_z
from pycupc.results.tests_after_levels import LaterTests

#: The number of the edge of the skeleton that the later test removes.
REMOVED = 3


def made_up(data: pycupc.SuffStat, *, seed: int = 1, method: str = "fci", **options: object) -> pycupc.PagAlgo:
    """A `PagAlgo` whose marks and their reasons are drawn, and whose later test is made up."""
    fit = pycupc.skeleton(data, alpha=0.01, **options)
    rng, skeleton = np.random.default_rng(seed), fit.sparse_graph
    x, y = int(skeleton.low[REMOVED]), int(skeleton.high[REMOVED])
    S = [v for v in range(skeleton.p) if v not in (x, y)][:2]
    r = 0.01
    p = float(fisher_z.p_value(r, data.n, 2))
    left = skeleton.with_edges(np.delete(np.arange(len(skeleton)), REMOVED))
    marks = rng.integers(1, 4, (2, len(left))).astype(np.int8)
    raised = np.array([y], np.int32), np.array([x], np.int32), np.array([p])
    later = LaterTests(
        x=raised[1],
        y=raised[0],
        S=Lists.of([S]),
        value=np.array([r]),
        p=raised[2],
        stage="rfci" if method == "rfci" else "possible-d-sep",
        n_tests=[0, 4, 7],
        all_pdsep=[
            np.array([(v + 1) % skeleton.p, (v + 3) % skeleton.p][: v % 3], np.int32) for v in range(skeleton.p)
        ],
        n_edgetests_pdsep=[0, 4],
        max_ord_pdsep=1,
        raised=raised,
        open_pairs=np.array([[0, 2]], np.int32),
    )
    cells = FlatCells(*map(np.concatenate, zip(fit.sepset.flat(), later.both_cells(), strict=True)))
    trace = {}
    for a, b, *ends in zip(left.low.tolist(), left.high.tolist(), *marks.tolist(), strict=True):
        for pair, mark in (((b, a), ends[0]), ((a, b), ends[1])):
            if mark != CIRCLE:
                trace[pair] = ("R4", S[0], S[1], *pair) if mark == 2 else ("R1", S[0], *pair)
    return pycupc.PagAlgo(
        labels=fit.labels,
        sparse_graph=SparseGraph(skeleton.p, left.low, left.high, *marks),
        method=method,
        skeleton_fit=fit,
        sepset=SepSets.from_flat(left, cells),
        later=later,
        trace=trace,
        call=f"{method}(data, alpha=0.01)",
        notes={"made up": "the marks"},
    )
