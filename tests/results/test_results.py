"""The result itself: one sparse graph, one set of separating sets, one serialisation that round-trips."""

import os
from dataclasses import replace

import explored_graphs
import numpy as np
import pytest
from common import GOLDEN, Case, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import pycupc
from pycupc import PcAlgo, SuffStat
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph, symbol
from pycupc.results import npz, serialisation
from pycupc.results.facts_in_texts import method_in_call
from pycupc.results.schema import NEW_FACTS
from pycupc.results.serialisation import only_stored_cells
from pycupc.system import machine

from orientation_cases import flat_cells, sets_of  # isort: skip

seeds = st.integers(0, 2**32 - 1)


def random_graph(rng: np.random.Generator) -> np.ndarray:
    """A mixed graph as a matrix of marks."""
    p = int(rng.integers(1, 12))
    upper = np.triu(rng.random((p, p)) < 0.5, 1)
    graph = np.zeros((p, p), np.int8)
    for i, j in np.argwhere(upper):
        graph[i, j], graph[j, i] = [(1, 0), (0, 1), (1, 1), (2, 2)][rng.integers(4)]
    return graph


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_sparse_graph_is_the_dense_one(seed):
    dense = random_graph(np.random.default_rng(seed))
    graph, skeleton = SparseGraph.from_dense(dense), (dense != 0) | (dense.T != 0)
    np.testing.assert_array_equal(graph.dense(), dense)
    np.testing.assert_array_equal(graph.skeleton(), skeleton)
    np.testing.assert_array_equal(graph.degrees(), skeleton.sum(axis=1))
    assert SparseGraph.from_cells(graph.p, *graph.cells()) == graph
    start, neighbours = graph.neighbour_lists()
    for v in range(graph.p):
        np.testing.assert_array_equal(neighbours[start[v] : start[v + 1]], np.flatnonzero(skeleton[v]))
    x, y = np.indices(dense.shape)
    np.testing.assert_array_equal(graph.adjacent(x.ravel(), y.ravel()), skeleton.ravel())
    directed = int(((dense == 1) & (dense.T == 0)).sum())
    undirected = int(np.triu((dense == 1) & (dense.T == 1)).sum())
    assert [*graph.counts().values()] == [directed, undirected, int(np.triu(dense == 2).sum())]


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_any_marks_are_those_of_the_dense_amat_pag(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(0, 9))
    adjacent = np.triu(rng.random((p, p)) < 0.5, 1)
    amat = rng.integers(1, 4, (p, p)) * (adjacent | adjacent.T)
    graph = SparseGraph.from_amat_pag(amat)
    np.testing.assert_array_equal(graph.amat_pag(), amat)
    np.testing.assert_array_equal(graph.skeleton(), amat != 0)
    order = rng.permutation(p)
    assert graph.subgraph(order) == SparseGraph.from_amat_pag(amat[np.ix_(order, order)])
    if 1 in amat:
        refused("no circles", graph.cells)
    else:
        assert SparseGraph.from_cells(p, *graph.cells()) == graph


@pytest.mark.parametrize("p", [0, 1, 2])
def test_sparse_graph_without_edges(p):
    graph = SparseGraph.from_dense(np.zeros((p, p), np.int8))
    assert (len(graph), sum(graph.counts().values()), graph.dense().shape) == (0, 0, (p, p))
    assert graph.degrees().tolist() == [0] * p
    assert not graph.adjacent(np.zeros(3, int), np.zeros(3, int)).any()


def test_cells_outside_the_matrix_or_on_its_diagonal_are_refused():
    refused("edges among the variables 0 to 2", SparseGraph.from_cells, 3, [0], [3], [1])
    refused("edge of variable 1 to itself", SparseGraph.from_cells, 3, [0, 1], [1, 1], [1, 1])


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


def test_what_made_a_result_stands_in_fields_and_not_in_its_texts():
    """Of an edge without a direction, only the field tells that `pc` has oriented it."""
    data = {"C": np.array([[1.0, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]), "n": 100}
    fit, skeleton = pycupc.pc(data), pycupc.skeleton(data)
    assert (fit.method, fit.engine_name, fit.orientation) == ("pc", "cpu", "relaxed")
    assert (skeleton.method, skeleton.engine_name, skeleton.orientation) == ("skeleton", "cpu", None)
    assert [replace(one, call="f(x)").oriented for one in (fit, skeleton)] == [True, False]
    assert not replace(skeleton, call="pc(x)").oriented
    assert pycupc.pc(data, m_max=0, engine="reference").engine_name == "reference"
    without = pycupc.pc({"C": np.eye(3), "n": 100}, u2pd="retry")
    assert (without.method, without.orientation, without.oriented) == ("pc", None, True)
    pag = pycupc.fci(data, skeleton=replace(fit, sparse_graph=skeleton.sparse_graph))
    assert (pag.skeleton_fit.method, pag.skeleton_fit.orientation, pag.skeleton_fit.oriented) == (
        "skeleton",
        None,
        False,
    )
    assert pag.engine_name == "cpu"


def test_a_file_of_0_2_0_has_the_facts_that_stood_in_its_texts(tmp_path):
    seen = set()
    for seed in (0, 46, 54):  # whose colliders contradict each other in each way
        rng = np.random.default_rng(seed)
        data = rng.standard_normal((40, 18)) @ rng.standard_normal((18, 18))
        fits = [pycupc.pc(data, alpha=0.2, u2pd=u2pd, random_state=0) for u2pd in ("relaxed", "rand", "retry")]
        for fit in (*fits, pycupc.skeleton(data, engine="reference")):
            meta, arrays = fit.contents()
            npz.write(tmp_path / "fit.npz", {name: meta[name] for name in meta if name not in NEW_FACTS}, arrays)
            loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
            assert [getattr(loaded, name) for name in NEW_FACTS] == [getattr(fit, name) for name in NEW_FACTS]
            seen.add(fit.orientation)
    assert seen == {None, "relaxed", "extendable", "reoriented", "forced", "random"}


def test_the_method_that_a_call_names():
    calls = {
        "pc": ["pc(alpha=0.1)", "pcalg::pc(suffStat = S)", "cu_pc(X)", "pycupc::cu_tpc(X)", "tpc(X)", "my.pc(rfci(x))"],
        "skeleton": ["skeleton(x)", "cu_skeleton(pc(x))"],
        "fci": ["cu_fci(x)"],
        "rfci": ["pcalg::rfci(x)", "cu_rfci (x)"],
        None: ["", "fciPlus(x)", "(function(x) pc(x))(1)", "pc2(x)"],
    }
    for method, texts in calls.items():
        assert {method_in_call(text) for text in texts} == {method}


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


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_changed_sets_equal_a_dict_of_cells(seed):
    """Against a plain dict: pcalg's list of lists with some cells written."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 8))
    empty = SparseGraph.from_dense(np.zeros((p, p), np.int8))
    pairs = [(x, y) for x in range(p) for y in range(p) if x < y]
    stored = [(pair if rng.random() < 0.5 else pair[::-1]) for pair in pairs if rng.random() < 0.4]
    sets = {cell: tuple(rng.permutation(p)[: rng.integers(1, p)].tolist()) for cell in stored}
    gaps = [x * p + y for x, y in pairs if not {(x, y), (y, x)} & sets.keys() and rng.random() < 0.3]
    sepset = SepSets.from_flat(empty, flat_cells(sets), np.array(gaps, dtype=np.int64))
    cells = dict(sets)
    for x, y in pairs:
        if not {(x, y), (y, x)} & sets.keys() and x * p + y not in gaps:
            cells[x, y] = ()
    assert sepset.cells() == cells
    changes = {
        (x, y): tuple(rng.permutation(p)[: rng.integers(0, p)].tolist())
        for x in range(p)
        for y in range(p)
        if x != y and rng.random() < 0.2
    }
    changed = sepset.changed(flat_cells(changes))
    assert (changed.cells(), sepset.cells()) == (cells | changes, cells)
    for x, y in {*cells, *changes}:
        assert changed.get(x, y) == (cells | changes)[x, y]
    left = [x * p + y for x, y in np.array(changed.gaps(), dtype=int).reshape(-1, 2).tolist()]
    assert left == [g for g in gaps if not {divmod(g, p), divmod(g, p)[::-1]} & changes.keys()]
    everywhere = [(x, y) for x in range(p) for y in range(p)]
    there, found = changed.of_cells(*np.array(everywhere).reshape(-1, 2).T)
    held = [S if t else None for t, S in zip(there, sets_of(found), strict=True)]
    assert held == [(cells | changes).get(cell) for cell in everywhere]
    assert not len(changed.of_cells(np.zeros(0, dtype=int), np.zeros(0, dtype=int))[0])


def test_dense_views_cannot_be_written_to():
    fit = pycupc.pc({"C": np.eye(3), "n": 50})
    for matrix in (fit.graph, fit.skeleton, fit.pMax):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 1] = 1


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_saved_files_are_as_private_as_the_umask_says(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        pycupc.pc({"C": np.eye(3), "n": 50}).save(tmp_path / "fit.npz")
    finally:
        os.umask(before)
    assert (tmp_path / "fit.npz").stat().st_mode & 0o777 == mode


def test_a_result_of_an_asymmetric_test_is_saved_and_loaded(tmp_path):
    """Side B separates at level 0: its empty sets are stored cells, and removals as well."""
    fit = pycupc.pc(None, lambda x, y, S, _: float((x == 3 and not S) or (x < y == 2 and len(S) == 1)), alpha=0.1, p=4)
    assert fit.removals.level.tolist() == [0, 0, 0, 1, 1]
    assert fit.removals.x.tolist() == [3, 3, 3, 0, 1]
    fit.save(tmp_path / "fit.npz")
    assert pycupc.PcAlgo.load(tmp_path / "fit.npz") == fit


def test_a_result_without_correlations_says_so():
    arrays = pycupc.skeleton({"C": np.full((3, 3), 0.9) + 0.1 * np.eye(3), "n": 50}).to_arrays()
    del arrays["C"]
    fit = pycupc.PcAlgo.from_arrays(arrays, labels=["a", "b", "c"], max_ord=1)
    assert fit.edge_attributes()["pMax"].tolist() == arrays["edge_p"].tolist()
    with pytest.raises(ValueError, match="made without its correlations"):
        _ = fit.pMax


def test_the_data_of_a_result_are_not_turned_into_a_matrix(tmp_path):
    rng = np.random.default_rng(5)
    data = SuffStat.from_data(np.cumsum(rng.standard_normal((150, 30)), axis=1))
    fit = pycupc.pc(data, alpha=0.01, engine="cpu", engine_options={"correlations": "rows"})
    fit.save(tmp_path / "r.npz", evidence=False)
    fit.why(0, 5)
    loaded = PcAlgo.load(tmp_path / "r.npz", suffStat=data)
    np.testing.assert_array_equal(loaded.removals.r, fit.removals.r)
    assert str(loaded.why(0, 5)) == str(fit.why(0, 5))
    assert not data.has_C


def test_sets_of_too_many_pairs_are_refused(monkeypatch):
    fit = pycupc.skeleton(np.random.default_rng(0).standard_normal((50, 20)), engine="cpu")
    monkeypatch.setattr(machine, "SURELY_FREE", 0)
    monkeypatch.setattr(machine, "free_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"the separating sets of all pairs of 20 variables would take .* ask for"):
        fit.sepset.cells()
    assert fit.sepset[0, 1] == ()


def test_a_file_of_another_class_names_the_classes(tmp_path):
    data = pycupc.data.load_example("cell_nuclei").iloc[:, :3]
    pycupc.fci(data).save(tmp_path / "pag.npz")
    with pytest.raises(
        ValueError, match=r"format is 'pycupc-pag-1', .* read the file with `load` of the class \(PcAlgo, "
    ):
        pycupc.PcAlgo.load(tmp_path / "pag.npz")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_the_bytes_for_r_hold_everything_but_p_max(seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((60, 9)) @ rng.standard_normal((9, 9))
    codes = (data > 0).astype(int)
    fits = [pycupc.pc(data, alpha=0.2, **options) for options in ({}, {"maj_rule": True}, {"fixedGaps": [("1", "2")]})]
    fits += [function(data, alpha=0.2) for function in (pycupc.skeleton, pycupc.fci, pycupc.rfci)]
    binary = DiscreteSuffStat(codes, [2] * 9, adaptDF=False)
    fits += [function(binary, disCItest, alpha=0.2) for function in (pycupc.pc, pycupc.fci)]
    for fit in fits:
        back = type(fit).from_bytes(fit.to_bytes(), fit.pMax)
        assert back == fit
        assert (back.trace, back.notes, back.call, back.found_sepset) == (
            fit.trace,
            fit.notes,
            fit.call,
            fit.found_sepset,
        )
        assert [str(back.why(0, y)) for y in range(1, fit.p)] == [str(fit.why(0, y)) for y in range(1, fit.p)]
        np.testing.assert_array_equal(back.edge_attributes()["pMax"], fit.edge_attributes()["pMax"])


def test_the_bytes_for_r_are_equal_for_runs_that_are_equal(monkeypatch):
    """Seconds and doubtful tests, which vary, are left out; correlations of too many pairs, too; p-values of the levels
    are not computed for them.
    """
    data = explored_graphs.table(9)
    fits = [pycupc.pc(data, alpha=0.01, numCores=cores) for cores in (1, 1, 2)]
    assert len({fit.to_bytes(p_values=False) for fit in fits}) == 1
    assert "edges" not in fits[0].p_values.__dict__
    assert len({fit.to_bytes() for fit in fits}) == 1
    fit = fits[0]
    whole = fit.to_bytes()
    monkeypatch.setattr(serialisation, "MOST_NUMBERS", len(fit.removals) - 1)
    without = fit.to_bytes()
    assert len(without) < len(whole) - 8 * 45
    back = PcAlgo.from_bytes(without, fit.pMax)
    assert (back, back.p_values.known, back.removals.r_known) == (fit, None, False)
    known = PcAlgo.from_bytes(without, fit.pMax, SuffStat.from_data(data).correlations)
    assert [str(known.why(0, y)) for y in range(1, 9)] == [str(fit.why(0, y)) for y in range(1, 9)]


def test_the_bytes_for_r_compute_nothing_that_is_not_wanted():
    data = np.random.default_rng(5).standard_normal((150, 30))
    fit = pycupc.pc(data, alpha=0.05, engine="cpu", engine_options={"correlations": "rows"})
    without = fit.to_bytes(p_values=False)
    assert not fit.p_values.known.has_dense
    assert len(fit.to_bytes()) > len(without) + 8 * 30 * 31 // 2


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"sizes": [["edge_low", "i", 9]]}\n', "half", "version", "label"])
def test_bytes_that_are_damaged_or_of_another_version_are_refused(damage):
    fit = pycupc.pc(explored_graphs.table(9), alpha=0.01)
    data = fit.to_bytes()
    changed = {"half": data[: len(data) // 2], "version": data.replace(b"result-4", b"result-5")}
    changed["label"] = data.replace(b'"labels": [', b'"labels": [3, ')
    refused(
        "the bytes of the result are damaged, or of another version: .*",
        PcAlgo.from_bytes,
        changed.get(damage, damage),
        fit.pMax,
    )
