"""The columns of edges: r beside pMax, and a new column, which needs one row."""

import explored_graphs
import numpy as np
import pytest

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.graph import exports
from pycupc.r import r_explanation
from pycupc.results import edge_columns, explorer_content, serialisation


@pytest.fixture(scope="module")
def data():
    return pycupc.SuffStat.from_data(explored_graphs.table(9))


@pytest.mark.parametrize("method", ["pc", "skeleton", "fci", "rfci"])
def test_r_is_the_correlation_of_the_ends(data, method):
    """Of data whose matrix was never computed, too; its sign and size are as in `gaussCItest` given nothing."""
    fit = getattr(pycupc, method)(data, alpha=0.01)
    edges = fit.edges()
    at = edges["from"].map(fit.index).to_numpy(), edges["to"].map(fit.index).to_numpy()
    np.testing.assert_array_equal(edges["r"], data.C[at])
    assert (edges["r"] < 0).any()
    rows = getattr(pycupc, method)(pycupc.SuffStat.from_data(explored_graphs.table(9)), alpha=0.01)
    np.testing.assert_array_equal(rows.edges()["r"], edges["r"])


def test_r_is_nan_where_a_test_has_none_or_a_file_lacks_it(data, tmp_path, monkeypatch):
    fit = pycupc.pc(data, alpha=0.01)
    codes = (explored_graphs.table(9) > 0).astype(int)
    binary = pycupc.pc(DiscreteSuffStat(codes, [2] * 9, adaptDF=False), disCItest, alpha=0.01)
    custom = pycupc.pc(None, lambda x, y, S, _: 0.5 * (x + y == 3), alpha=0.1, p=4)
    for other in (binary, custom):
        assert other.edges()["r"].isna().all()
        assert len(other.edges())
    assert ",," in exports.csv(custom._edge_columns())  # an empty cell
    assert '"r": null' in custom.to_json()
    monkeypatch.setattr(serialisation, "MOST_NUMBERS", 1)
    fit.save(tmp_path / "fit.npz")
    assert pycupc.PcAlgo.load(tmp_path / "fit.npz").edges()["r"].isna().all()
    again = pycupc.PcAlgo.load(tmp_path / "fit.npz", suffStat=data)
    np.testing.assert_array_equal(again.edges()["r"], fit.edges()["r"])


def test_a_new_column_is_a_row(data, monkeypatch):
    """`edges`, its files, R and the explorer have it: a number, a text, and a column that only PAGs have."""
    lines = lambda fit: np.arange(len(fit.sparse_graph)) / 2  # noqa: E731
    texts = lambda fit: np.array([f"<{k}>" for k in range(len(fit.sparse_graph))], dtype=object)  # noqa: E731
    new = (
        edge_columns.EdgeColumn("half", lines, on_page="half its number"),
        edge_columns.EdgeColumn("mark", texts, on_page="its mark"),
        edge_columns.EdgeColumn("of_pag", lines, only_pag=True, on_page="of a PAG"),
    )
    monkeypatch.setattr(edge_columns, "COLUMNS", (*edge_columns.COLUMNS, *new))
    for function, names in ((pycupc.pc, ["half", "mark"]), (pycupc.fci, ["half", "mark", "of_pag"])):
        fit = function(data, alpha=0.01)
        edges = fit.edges()
        assert [*edges][-len(names) :] == names
        assert edges["half"].tolist() == (np.arange(len(edges)) / 2).tolist()
        assert 'attr.name="half" attr.type="double"' in fit.to_graphml()
        values, arrays = r_explanation._edges(fit, None)
        assert values["columns"][-len(names) :] == names
        assert (values["mark"], arrays["half"].tolist()) == (edges["mark"].tolist(), edges["half"].tolist())
        page = explorer_content.content(fit, around=str(edges["from"][0]), radius=1)
        assert [*page.columns] == ["half its number", "its mark", "of a PAG"][: len(names)]
        assert 0 < len(page.columns["its mark"]) == len(page.graph) < len(edges)
        ends = edges.set_index(["from", "to"])
        for k, (tail, head) in enumerate(zip(*page.graph.edge_list()[:2], strict=True)):
            row = ends.loc[(page.labels[tail], page.labels[head])]
            assert (row["half"], row["mark"]) == (page.columns["half its number"][k], page.columns["its mark"][k])
