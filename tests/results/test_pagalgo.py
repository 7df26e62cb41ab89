"""The result of fci and rfci: marks and their reasons, evidence of both stages, files, comparison, page, command."""

import json
import shutil
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from common import refused, run
from made_up_pag import REMOVED, made_up

import pycupc
from pycupc import cli
from pycupc.data import load_example
from pycupc.graph.sparse import ARROW, CIRCLE, SparseGraph
from pycupc.results import explorer_content, npz
from pycupc.results.tests_after_levels import LaterTests


@pytest.fixture(scope="module")
def data():
    return pycupc.SuffStat.from_data(load_example("cell_nuclei"))


@pytest.fixture(scope="module")
def fit(data):
    return made_up(data)


@pytest.fixture(scope="module")
def removed(fit):
    """The pair that the later test removed."""
    graph = fit.skeleton_fit.sparse_graph
    return int(graph.low[REMOVED]), int(graph.high[REMOVED])


def other_marks(fit):
    """The result with other marks at the first three edges."""
    graph = fit.sparse_graph
    low = graph.low_mark.copy()
    low[:3] = low[:3] % 3 + 1
    return replace(fit, sparse_graph=SparseGraph(graph.p, graph.low, graph.high, low, graph.high_mark))


def test_attributes_of_the_skeleton_and_of_the_later_tests(fit, removed):
    skeleton = fit.skeleton_fit
    assert (fit.n_edgetests, fit.max_ord, fit.n, fit.alpha) == (skeleton.n_edgetests, skeleton.max_ord, 569, 0.01)
    assert (fit.n_edgetests_pdsep, fit.max_ord_pdsep, len(fit.all_pdsep)) == ([0, 4], 1, 30)
    differ = np.argwhere(fit.pMax != skeleton.pMax)
    assert differ.tolist() == [list(removed[::-1])]  # the one cell that was raised
    assert fit.pMax[removed[::-1]] == fit.later.p[0]
    assert fit.sepset[removed] == tuple(fit.later.S.members.tolist())
    assert fit.found_sepset == fit.sepset
    assert repr(fit).startswith("<PagAlgo (fci): 30 variables, 39 edges (")
    assert "39 edges" in fit._repr_html_()


def test_edges_have_the_reason_of_each_mark(fit):
    table = fit.edges()
    assert [*table] == ["from", "to", "type", "pMax", "r", "set_by", "from_set_by"]
    amat = fit.amat_pag()
    for row in table.itertuples():
        i, j = fit.index(row[1]), fit.index(row[2])
        for at, text in (((i, j), row.set_by), ((j, i), row.from_set_by)):
            assert (text == "") == (amat.iloc[at] == CIRCLE)
            assert text.startswith("R4" if amat.iloc[at] == ARROW else "R1" if text else "")
            assert text.endswith(fit.labels[at[1]] if text else "")
    skeleton = fit.skeleton_fit
    known = skeleton.p_values.of_edges(skeleton.sparse_graph)
    np.testing.assert_array_equal(table.pMax, np.delete(known, REMOVED))


def test_a_raised_edge_has_the_raised_p_value(fit):
    graph = fit.sparse_graph
    x, y = graph.high[:1], graph.low[:1]
    raised = replace(fit, later=replace(fit.later, raised=(x, y, np.array([0.009]))))
    assert raised.edges().pMax[0] == raised.p_values.at(int(x[0]), int(y[0])) == 0.009
    why = raised.why(int(x[0]), int(y[0]))
    assert (why.p, why.S, why.n_tests) == (0.009, None, None)
    assert "the largest p-value of all its tests is 0.009" in str(why)
    by_column = np.zeros((30, 30), order="F")
    raised.p_values.dense(by_column)
    np.testing.assert_array_equal(by_column, raised.pMax)


def test_later_p_values_raise_those_of_the_levels_and_never_lower_them(fit):
    """In either order of the pair, and where the second test has the smaller p-value."""
    (x, other), (y, _) = fit.sparse_graph.low[:2], fit.sparse_graph.high[:2]
    known, p = fit.edges().pMax.tolist(), np.array([0.009, 0.004, 1e-305])
    ends = np.array([y, x, other]), np.array([x, y, fit.sparse_graph.high[1]])
    raised = replace(fit, later=replace(fit.later, raised=(*(v.astype(np.int32) for v in ends), p)))
    assert known[1] > 1e-305
    assert raised.p_values.of_edges(fit.sparse_graph)[:2].tolist() == [0.009, known[1]]


def test_why_of_each_stage(fit, removed):
    why = fit.why(*removed)
    S = tuple(fit.labels[v] for v in fit.later.S.members)
    assert (why.status, why.stage, why.level, why.side, why.S) == ("removed", "possible-d-sep", 2, None, S)
    assert (why.r, why.p) == (fit.later.value[0], fit.later.p[0])
    assert f"given {{{', '.join(S)}}} (tests given subsets of Possible-D-SEP, p = " in str(why)
    skeleton = fit.skeleton_fit
    cell = next(iter(skeleton.found_sepset.blocks))
    assert fit.why(int(cell.x[0]), int(cell.y[0])) == skeleton.why(int(cell.x[0]), int(cell.y[0]))
    refused("different variables", fit.why, 0, 0)


def test_why_tells_both_marks_of_an_edge(fit):
    graph = fit.sparse_graph
    for k in range(len(graph)):
        x, y = int(graph.low[k]), int(graph.high[k])
        why, back = fit.why(x, y), fit.why(y, x)
        assert why.symbol == back.symbol[::-1].translate(str.maketrans("<>", "><"))
        assert why.set_by == back.set_by[::-1]
        for mark, reason, at in zip((why.symbol[0], why.symbol[-1]), why.set_by, ((y, x), (x, y)), strict=True):
            assert (mark == "o") == (reason is None)
            assert reason is None or reason[0] == fit.trace[at][0]
        assert str(why).count("the data do not determine which") == [*why.symbol].count("o")


def test_why_tells_that_sets_were_not_tested(fit):
    graph = fit.sparse_graph
    ends = int(graph.high[0]), int(graph.low[0])
    limited = replace(fit, later=replace(fit.later, open_pairs=np.array([ends], np.int32)))
    assert limited.why(*ends[::-1]).open
    assert "after the levels not all of its sets were tested" in str(limited.why(*ends))
    assert not limited.why(int(graph.high[1]), int(graph.low[1])).open


def test_summary(fit):
    lines = fit.summary().split("\n")
    assert lines[0] == "FCI: 30 variables, 569 observations, alpha 0.01"
    assert "Possible-D-SEP: 11 tests given sets of up to 2 variables, 1 edge removed" in lines
    assert "1 pair not searched to the end: too many sets; see later.open_pairs" in lines
    assert "made up: the marks" in lines
    assert "RFCI: 30" in replace(fit, method="rfci").summary()


def test_equality(fit, data):
    assert fit == made_up(data)
    assert fit != other_marks(fit)
    assert fit != replace(fit, later=LaterTests())
    assert fit != made_up(data, method="rfci")
    assert fit != fit.skeleton_fit
    refused("unhashable", hash, fit, error=TypeError)


def test_saved_and_loaded(fit, data, tmp_path):
    file = tmp_path / "fit.npz"
    fit.save(file)
    again = pycupc.PagAlgo.load(file)
    assert again == fit
    for name in ("call", "notes", "engine", "levels", "n_edgetests_pdsep", "max_ord_pdsep"):
        assert getattr(again, name) == getattr(fit, name)
    assert again.trace == fit.trace
    assert [a.tolist() for a in again.all_pdsep] == [a.tolist() for a in fit.all_pdsep]
    np.testing.assert_array_equal(again.pMax, fit.pMax)
    assert again.edges().equals(fit.edges())
    without = replace(fit, later=LaterTests())
    without.save(file)
    assert pycupc.PagAlgo.load(file, suffStat=data) == without
    assert pycupc.PagAlgo.load(file).all_pdsep is None
    refused(r"its format is 'pycupc-pag-1', this version reads", pycupc.PcAlgo.load, file)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"pag_mark_low": 4}, "mark_low cannot be outside of the range"),
        ({"later_x": 30}, "later_x cannot be outside"),
        ({"pdsep_members": 99}, "pdsep_members cannot be outside"),
        ({"later_len": 1}, "later_len cannot be 1"),
        ({"pag": {"method": "pc"}}, "method cannot be"),
        ({"pag": {"trace": [[0, 1, 2]]}}, "trace cannot be"),
        ({"pag": {"n_tests": [-1]}}, "n_tests cannot be"),
    ],
)
def test_a_damaged_file_is_refused(fit, tmp_path, what, message):
    file = tmp_path / "fit.npz"
    fit.save(file)
    with npz.reading(file, npz.PAG) as (meta, arrays):
        meta["pag"] |= what.pop("pag", {})
        for name, value in what.items():
            arrays[name][0] = value
    del meta["format"], meta["arrays"]
    npz.write(file, meta, arrays, npz.PAG)
    refused(message, pycupc.PagAlgo.load, file)


def test_exports_have_circles(fit, tmp_path):
    amat = fit.amat_pag()
    assert SparseGraph.from_amat_pag(amat) == fit.sparse_graph
    refused("amat_pag", fit.amat)
    assert "odot" in fit.to_dot()
    assert "from o-> to" in json.loads(fit.to_json())["convention"]
    assert fit.to_networkx().number_of_nodes() == 30
    assert "from_set_by" in fit.to_graphml()


def test_the_page_has_both_stages_and_both_marks(fit, removed, tmp_path):
    content = explorer_content.content(fit)
    assert (content.title, content.pag, content.removed.after_levels) == ("PAG of FCI", True, 1)
    assert (content.removed.x[-1], content.removed.y[-1]) == removed
    assert content.removed.r[-1] == fit.later.value[0]
    for k, reasons in enumerate(content.reasons):
        ends = {int(fit.sparse_graph.low[k]), int(fit.sparse_graph.high[k])}
        for end, *reason in reasons:
            (other,) = ends - {end}
            assert tuple(reason) == fit.trace[other, end]
    page = fit.explore(tmp_path / "graph.html", show=False)
    assert '"after_levels":1' in page.read_text(encoding="utf-8")


def test_compare_finds_marks_and_stages(fit, removed):
    assert pycupc.compare(fit, fit)
    other = other_marks(fit)
    found = pycupc.compare(fit, other)
    assert not found
    assert [part for part, same in found.parts.items() if not same] == ["graph"]
    assert len(found.marks) == 3
    for x, y, *symbols in found.marks:
        assert symbols == [fit.why(x, y).symbol, other.why(x, y).symbol]
        assert f"{fit.labels[x]} {symbols[0]} {fit.labels[y]} in a" in found.text
    skeleton = fit.skeleton_fit
    without = replace(fit, sparse_graph=skeleton.sparse_graph, sepset=skeleton.sepset, later=LaterTests())
    (difference,) = pycupc.compare(fit, without).differences
    assert (difference.x, difference.y, difference.removed_by) == (*removed, 0)
    assert list(difference.S) == fit.later.S.members.tolist()
    counted = replace(fit, later=replace(fit.later, n_edgetests_pdsep=[0, 5]))
    assert "of Possible-D-SEP: 0 5" in pycupc.compare(fit, counted).text


def test_compare_any_two_graphs(fit, data):
    other = other_marks(fit)
    found = pycupc.compare(fit.amat_pag(), other.amat_pag())
    assert found.marks == pycupc.compare(fit, other).marks
    assert found.parts == {"skeleton": True, "graph": False}
    assert pycupc.compare(fit.amat_pag(), fit)
    mixed = pycupc.compare(fit, pycupc.pc(data, alpha=0.01), names=("fci", "pc"))
    assert "1 edge only in pc: " in mixed.text
    refused("compare two of the same data", pycupc.compare, fit, fit.subgraph([0, 1]))


# -- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fci", "rfci"])
def test_run_writes_the_files_of_a_pag(here, monkeypatch, capsys, fit, removed, method):
    given = {}

    def algorithm(suff_stat, **options):
        given.update(options)
        return made_up(suff_stat, method=method)

    monkeypatch.setattr(import_module(f"pycupc.algorithm.{method}"), method, algorithm)
    more = ["--pdsep-max", "5"] if method == "fci" else []
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--method", method, *more) == cli.OK
    assert given.get("pdsep_max") == (5 if more else None)
    assert not given.keys() & {"u2pd", "solve_confl", "random_state"}
    folder = here / "example-pycupc"
    assert f"{method.upper()}: 30 variables" in capsys.readouterr().out
    amat = pd.read_csv(folder / "amat.csv", index_col=0)
    np.testing.assert_array_equal(amat, fit.amat_pag())
    edges = pd.read_csv(folder / "edges.csv", keep_default_na=False)
    assert edges.type.tolist() == fit.edges().type.tolist()
    assert edges.from_set_by.tolist() == fit.edges().from_set_by.tolist()
    sets = pd.read_csv(folder / "sepsets.csv")
    late = sets[sets.stage != "levels"]
    assert late[["x", "y"]].to_numpy().tolist() == [[fit.labels[v] for v in removed]]
    assert late.r.tolist() == fit.later.value.tolist()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["edges"] == fit.sparse_graph.counts()
    assert (manifest["method"], manifest["after_the_levels"]["removed"]) == (method, 1)
    assert "mark at j" in manifest["files"]["amat.csv"]
    assert "from o-> to" in manifest["files"]["edges.csv"]
    assert "PagAlgo.load" in manifest["files"]["result.npz"]
    assert pycupc.PagAlgo.load(folder / "result.npz").method == method
    shutil.copytree(folder, here / "again")
    assert run("compare", folder, here / "again") == cli.OK
    assert run("plot", folder, "--around", fit.labels[0], "--out", here / "near.html") == cli.OK
    assert "PAG of" in (here / "near.html").read_text(encoding="utf-8")
