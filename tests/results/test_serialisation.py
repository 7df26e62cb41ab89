"""A result as arrays and back: each kind of result comes back as it was."""

from dataclasses import replace

import explored_graphs
import numpy as np
import pytest
from common import GOLDEN, Case, refused
from orientation_cases import flat_cells

import pycupc
from pycupc.graph.sparse import SparseGraph, symbol
from pycupc.results.schema import NEW_FACTS
from pycupc.results.serialisation import only_stored_cells


@pytest.mark.filterwarnings("ignore:C has NaN")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_result_round_trips(path, tmp_path):
    """Arrays and back, a file and back, R's naming of every cell and back: graph, sets, gaps, counts, p-values, why."""
    case = Case(path)
    for options in ({}, {"conservative": True}):
        if options and f"cpdag_{next(iter(options))}" not in case._data:
            continue
        fit = pycupc.pc(case.suff_stat, **case.arguments, **options)
        facts = {key: getattr(fit, key) for key in ("labels", "max_ord", "n", "alpha", "trace")}
        fit.save(tmp_path / "fit.npz")
        loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
        assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]
        for name in ("labels", "call", "n", "alpha", "levels", "engine", "trace", "notes", *NEW_FACTS):
            assert getattr(loaded, name) == getattr(fit, name), name
        for back in (pycupc.PcAlgo.from_arrays(fit.to_arrays(), **facts), loaded):
            assert_equal(back, fit)
            assert back.found_sepset == fit.found_sepset
            assert [str(back.why(0, y)) for y in range(1, fit.p)] == [str(fit.why(0, y)) for y in range(1, fit.p)]
        assert_equal(pycupc.PcAlgo.from_arrays(as_from_r(fit), **facts), fit)


def test_a_result_with_circles_is_saved_loaded_and_compared(tmp_path):
    fit = pycupc.pc(explored_graphs.table(9), alpha=0.01)
    edges, rng = fit.sparse_graph, np.random.default_rng(0)
    marks = rng.permutation([(a, b) for a in (1, 2, 3) for b in (1, 2, 3)] * 4)[: len(edges)].T.astype(np.int8)
    pag = SparseGraph(9, edges.low, edges.high, *marks)
    fit, other = replace(fit, sparse_graph=pag), fit
    fit.save(tmp_path / "fit.npz")
    loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    assert loaded == fit
    assert loaded.sparse_graph == pag
    assert "partially directed" in loaded.summary()
    assert "not a CPDAG: " in loaded._cpdag_note()
    assert pycupc.compare(fit, loaded)
    found = pycupc.compare(fit, other)
    assert [part for part, same in found.parts.items() if not same] == ["graph"]
    x, y = (fit.labels[v] for v in found.edge)
    assert f"First edge: {x} {symbol(*marks[:, 0])} {y} in a, {x} " in found.text
    refused(r"no DAG extends this graph: not a CPDAG: \d+ edges have circles", fit.to_dag)


def assert_equal(back: pycupc.PcAlgo, fit: pycupc.PcAlgo) -> None:
    assert back.sparse_graph == fit.sparse_graph
    assert back.sepset == fit.sepset
    assert back.sepset.cells() == fit.sepset.cells()
    assert (back.n_edgetests, back.max_ord) == (fit.n_edgetests, fit.max_ord)
    np.testing.assert_array_equal(back.pMax, fit.pMax)


def as_from_r(fit: pycupc.PcAlgo) -> dict[str, np.ndarray]:
    """The arrays of `fit` as they come back from R: every cell that holds a set is named, gaps are not."""
    arrays = fit.to_arrays("matrix")
    cells = flat_cells(dict(sorted(fit.sepset.cells().items())))
    arrays |= dict(zip(("sepset_x", "sepset_y", "sepset_len", "sepset_members"), cells, strict=True))
    del arrays["gap_x"], arrays["gap_y"]
    return only_stored_cells(arrays, fit.p)
