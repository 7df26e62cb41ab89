"""What a result offers beside its numbers: equality, names, parts of the graph, a picture in a notebook, its files."""

import base64
import json
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from common import FILES, refused

import pycupc
from pycupc.data import load_example
from pycupc.graph import drawing as plotting
from pycupc.graph import exports
from pycupc.graph.named import NamedGraph
from pycupc.graph.pairs import read_pairs
from pycupc.graph.sparse import SparseGraph
from pycupc.results import explorer_content, serialisation

HOSTILE = ["plain", "a\x00b", "bell\x07 \x1b[31mred", "line\nbreak\r\ttab", "\x7f\x85\u2028\u2029\ufffe\uffff"]
HOSTILE += ['quote " \\ end\\', "<script>&amp;]]>", "half \ud800 a pair", "\\N\\G"]


@pytest.fixture(scope="module")
def data():
    return pycupc.SuffStat.from_data(load_example("cell_nuclei"))


@pytest.fixture(scope="module")
def fit(data):
    return pycupc.pc(data, alpha=0.01)


# -- CPDAGs -----------------------------------------------------------------------------------------------------------


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


def test_contradicting_arrows_are_counted_as_pcalg_marks_them(data):
    relaxed, marked = (pycupc.pc(data, alpha=0.01, solve_confl=solve) for solve in (False, True))
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


def test_the_cpdag_of_a_result_keeps_the_evidence(data):
    fit = pycupc.pc(data, alpha=0.01)
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


# -- equality ---------------------------------------------------------------------------------------------------------


def test_equal_is_what_the_tests_decided(fit, data):
    assert fit == pycupc.pc(data, alpha=0.01, numCores=1)
    assert fit == pycupc.pc(data, alpha=0.01, engine="reference")
    assert fit != pycupc.pc(data, alpha=0.02)
    assert fit != pycupc.skeleton(data, alpha=0.01)
    assert fit != pycupc.pc(data, alpha=0.01, labels=[f"V{k}" for k in range(30)])
    assert fit != "fit"
    refused("unhashable", hash, fit, error=TypeError)


# -- names ------------------------------------------------------------------------------------------------------------


def test_sepset_by_label(fit, tmp_path):
    fit.save(tmp_path / "fit.npz")
    for result in (fit, pycupc.PcAlgo.load(tmp_path / "fit.npz")):
        for (x, y), members in list(fit.sepset.cells().items())[::20]:
            names = tuple(fit.labels[v] for v in members)
            assert result.sepset[fit.labels[x], fit.labels[y]] == names
            assert result.sepset[fit.labels[y], fit.labels[x]] == names  # whichever cell holds it
        low, high = int(fit.sparse_graph.low[0]), int(fit.sparse_graph.high[0])
        assert result.sepset[fit.labels[low], fit.labels[high]] is None
        with pytest.raises(KeyError, match="there is no variable 'nobody'"):
            result.sepset["nobody", fit.labels[0]]
        assert result.sepset[0][4] == fit.sepset.get(0, 4)
        assert [result.sepset[x, y] for x in range(30) for y in range(30)] == [
            fit.sepset.of_pair(x, y) for x in range(30) for y in range(30)
        ]
        with pytest.raises(IndexError, match="variables are 0 to 29, got 30"):
            result.sepset[0, 30]


def test_what_is_printed(fit, data):
    for sepset in (fit.sepset, pycupc.pc(data, alpha=0.01, maj_rule=True).sepset):
        sizes = [len(S) for S in sepset.cells().values()]
        listed = ", ".join(f"{sizes.count(n)} of size {n}" for n in sorted({*sizes}))
        assert repr(sepset) == f"<SepSets of 30 variables: {listed}>"
    assert repr(fit.sepset[29]).startswith("<sepset[29]: {")
    assert repr(pycupc.compare(fit, fit)).startswith("a and b are equal: skeleton, graph")
    assert repr(fit.subgraph([0])) == "<Graph: 1 variable, 0 edges (0 directed, 0 undirected, 0 bidirected)>"
    two = pycupc.pc({"C": [[1, 0.5], [0.5, 1]], "n": 1500})
    assert two.summary().startswith("PC-stable: 2 variables, 1,500 observations, alpha 0.01\n1 edge: 0 directed")
    assert plotting.describe(SparseGraph.undirected(3000, [0], [1])) == "3,000 variables, 1 edge, all undirected"


def test_every_message_about_an_unknown_name_lists_similar_ones(fit, data, tmp_path):
    (tmp_path / "pairs.csv").write_text("radius_mean,area_mean\nRadius_mean,area_mean\n")
    calls = (
        lambda: fit.index("Radius_mean"),
        lambda: fit.sepset["Radius_mean", "area_mean"],
        lambda: fit.plot(around="Radius_mean"),
        lambda: pycupc.pc(data, fixedGaps=[("Radius_mean", "area_mean")]),
        lambda: read_pairs(tmp_path / "pairs.csv", fit.labels),
    )
    for call in calls:
        refused(r"no variable .*'Radius_mean'; similar: radius_mean, ", call, error=(ValueError, KeyError))


def test_subgraph_by_names(fit):
    names = ["perimeter_mean", "radius_mean", "area_mean", "texture_se"]
    part = fit.subgraph(names)
    assert part.labels == tuple(names)
    whole = fit.matrix()
    np.testing.assert_array_equal(part.matrix(), whole.loc[names, names])
    rows = fit.edges().set_index(["from", "to"])
    for row in part.edges().itertuples(index=False):
        known = rows.loc[(row[0], row[1])] if (row[0], row[1]) in rows.index else rows.loc[(row[1], row[0])]
        assert row[2:6] == tuple(known[["type", "pMax", "r", "set_by"]])
    assert len(part.edges()) > 1
    assert fit.subgraph([3, "radius_mean"]).labels == (fit.labels[3], "radius_mean")
    assert part.subgraph(["area_mean"]).p == 1
    assert json.loads(part.to_json())["nodes"] == names
    assert "4 variables" in repr(part)


@pytest.mark.parametrize(
    ("variables", "error", "words"),
    [
        ("radius_mean", TypeError, "a sequence of labels, got the string 'radius_mean'"),
        (["nobody"], ValueError, "there is no variable 'nobody'"),
        ([30], IndexError, "variables are 0 to 29, got 30"),
        ([1.0], TypeError, "a variable is named by its label or its number, got 1.0"),
        (["radius_mean", 0], ValueError, "must be different variables"),
    ],
)
def test_subgraph_of_what_is_not_there(fit, variables, error, words):
    refused(words, fit.subgraph, variables, error=error)


# -- notebooks --------------------------------------------------------------------------------------------------------


def test_notebooks_show_counts_and_a_picture(fit):
    html = fit._repr_html_()
    assert "30 variables, 40 edges (33 directed, 7 undirected, 0 bidirected)" in html
    picture = base64.b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', html)[1])
    assert picture.startswith(b"\x89PNG")
    assert len(html) < 400_000
    ElementTree.fromstring(html.replace("<img", "<img ").replace('"></div>', '"/></div>'))


def test_notebooks_show_counts_only_where_a_picture_would_take_long(fit, monkeypatch):
    monkeypatch.setattr("pycupc.graph.named.MAX_SHOWN", (29, 1000))
    assert "<img" not in fit._repr_html_()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<img" not in fit._repr_html_()
    assert "30 variables" in fit._repr_html_()


# -- hostile labels ---------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile():
    p = len(HOSTILE)
    return SparseGraph.from_cells(p, range(p - 1), range(1, p), [1] * (p - 1))


def test_svg_and_graphml_are_valid_xml(hostile, tmp_path):
    plotting.save(hostile, HOSTILE, tmp_path / "graph.svg", title="\x00 title \x1b")
    root = ElementTree.fromstring((tmp_path / "graph.svg").read_bytes())
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "plain" in texts
    assert any(text.startswith("bell?") for text in texts)
    root = ElementTree.fromstring(NamedGraph(labels=HOSTILE, sparse_graph=hostile).to_graphml().encode())
    assert len(list(root.iter("{http://graphml.graphdrawing.org/xmlns}node"))) == 9


def test_dot_has_no_control_characters(hostile):
    text = NamedGraph(labels=HOSTILE, sparse_graph=hostile).to_dot()
    assert [c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000)] == []
    quoted = r'"(?:[^"\\\n]|\\.)*"'
    edges = [line for line in text.splitlines() if " -> " in line]
    assert len(edges) == len(HOSTILE) - 1
    assert all(re.fullmatch(rf"  {quoted} -> {quoted};", line) for line in edges)
    assert r'"line\nbreak??tab"' in text
    assert r'"quote \" \\ end\\"' in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it(hostile):
    text = NamedGraph(labels=HOSTILE, sparse_graph=hostile).to_dot()
    done = subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().count("\nedge ") == len(HOSTILE) - 1


# -- files ------------------------------------------------------------------------------------------------------------


def test_csv_is_what_pandas_writes(fit):
    columns = fit._edge_columns()
    columns["more"] = np.array([np.nan, -np.inf, *range(len(columns["from"]) - 2)])
    columns["from"][0] = 'a "quoted", name\n'
    import pandas as pd

    assert exports.csv(columns) == pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")
    assert fit._amat_csv() == fit.amat().to_csv(lineterminator="\n")


def test_large_evidence_is_saved_only_when_asked_for(fit, data, tmp_path, monkeypatch):
    monkeypatch.setattr(serialisation, "MOST_NUMBERS", 100)
    path = tmp_path / "fit.npz"
    fit.save(path)
    with np.load(path) as file:
        assert {"C", "removed_r", "pMax"}.isdisjoint(file.files)
        assert file["sepset_members"].dtype == np.uint8  # the smallest that holds 30 variables
    sparse = pycupc.PcAlgo.load(path)
    assert sparse == fit
    np.testing.assert_array_equal(sparse.edge_attributes()["pMax"], fit.edge_attributes()["pMax"])
    x, y = (int(fit.removals.x[5]), int(fit.removals.y[5]))
    assert str(sparse.why(x, y)).startswith(str(fit.why(x, y)).partition(", p = ")[0])
    assert np.isnan(sparse.p_values.at(x, y))
    with pytest.raises(ValueError, match=r"without its correlations; load it together with its data"):
        _ = sparse.pMax
    with pytest.raises(ValueError, match=r"saved without the partial correlations"):
        _ = sparse.removals.r

    again = pycupc.PcAlgo.load(path, suffStat=data)
    np.testing.assert_array_equal(again.pMax, fit.pMax)  # to the last bit: every r is the canonical formula's
    assert [str(again.why(0, y)) for y in range(1, 30)] == [str(fit.why(0, y)) for y in range(1, 30)]
    comparison = pycupc.compare(sparse, fit)
    assert comparison.equal  # in all that both know
    fit.save(path, evidence=True)
    np.testing.assert_array_equal(pycupc.PcAlgo.load(path).pMax, fit.pMax)


@pytest.mark.parametrize("method", [pycupc.pc, pycupc.rfci])
def test_other_data_of_the_same_size_are_refused(data, tmp_path, method):
    fit = method(data, alpha=0.01)
    fit.save(tmp_path / "fit.npz", evidence=False)
    others = np.random.default_rng(0).permuted(data.rows, axis=0)
    for other in (others, {"C": np.corrcoef(others, rowvar=False), "n": len(others)}):
        with pytest.raises(ValueError, match=r"^suffStat must be the data of the result: .* larger"):
            type(fit).load(tmp_path / "fit.npz", suffStat=other)
    assert type(fit).load(tmp_path / "fit.npz", suffStat=data) == fit


def test_a_loaded_result_can_be_saved_again(fit, tmp_path):
    for name, evidence in {"one": False, "two": True}.items():
        fit.save(tmp_path / f"{name}.npz", evidence=evidence)
        pycupc.PcAlgo.load(tmp_path / f"{name}.npz").save(tmp_path / "again.npz", evidence=evidence)
        assert pycupc.PcAlgo.load(tmp_path / "again.npz") == fit
        assert (tmp_path / "again.npz").read_bytes() == (tmp_path / f"{name}.npz").read_bytes()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"C": np.eye(5), "n": 569}, "30 variables and n = 569, got 5 variables and n = 569"),
        ({"C": np.eye(30), "n": 5}, "got 30 variables and n = 5"),
        (pycupc.SuffStat(np.eye(30), 569, [f"V{k}" for k in range(30)]), "the labels differ"),
    ],
)
def test_data_of_something_else_are_refused(fit, tmp_path, other, words):
    fit.save(tmp_path / "fit.npz")
    refused(f"^suffStat must .*{words}", pycupc.PcAlgo.load, tmp_path / "fit.npz", suffStat=other)


@pytest.mark.parametrize("number", [2, 3])
def test_files_of_older_formats_are_refused_with_the_remedy(number):
    """files/format2.npz and format3.npz were written by 0.1.0."""
    words = rf"its format is 'pycupc-result-{number}', this version reads 'pycupc-result-4'; run the analysis again, or"
    refused(words, pycupc.PcAlgo.load, FILES / f"format{number}.npz")
