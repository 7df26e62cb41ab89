"""`Stability`: tables, paths, exports, pictures, texts."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from common import refused
from stability_data import gaussian

import pycupc


def test_tables(result):
    table = result.to_pandas()
    assert list(table) == ["from", "to", "adjacent", "directed", "reversed", "undirected", "bidirected", "alpha"]
    parts = table[["directed", "reversed", "undirected", "bidirected"]].sum(axis=1)
    np.testing.assert_allclose(parts, table["adjacent"], atol=1e-12)
    assert (table["directed"] >= table["reversed"]).all()
    assert set(table["alpha"]) == {0.05, 0.001}
    stable = result.edges(0.5)
    expected = table[(table["alpha"] == 0.05) & (table["adjacent"] >= 0.5)]
    pd.testing.assert_frame_equal(stable, expected.reset_index(drop=True))
    assert (np.diff(stable["adjacent"]) <= 0).all()
    assert len(result.edges(0.5, alpha=0.001)) < len(stable)


def test_path(result):
    path = result.path()
    assert list(path) == ["from", "to", 0.001, 0.05]
    assert len(path) == len({frozenset(pair) for pair in zip(path["from"], path["to"], strict=True)})
    for alpha in result.alphas:
        table = result.edges(0.0, alpha)
        shares = {frozenset(row[:2]): row[2] for row in table.itertuples(index=False)}
        for row in path.itertuples(index=False):
            assert row[2 + sorted(result.alphas).index(alpha)] == shares.get(frozenset(row[:2]), 0.0)
    assert len(result.path(0.9)) < len(path)


def test_exports(result):
    consensus = result.consensus(0.3)
    back = nx.parse_graphml(result.to_graphml(0.3))
    assert back.number_of_edges() == result.to_networkx(0.3).number_of_edges()
    for tail, head, data in consensus.to_networkx().edges(data=True):
        row = consensus.edges().set_index(["from", "to"])
        key = (tail, head) if (tail, head) in row.index else (head, tail)
        assert data["adjacent"] == row.loc[key, "adjacent"]
    assert result.to_networkx().number_of_nodes() == 10
    assert consensus.amat().shape == (10, 10)


def test_plot_shows_frequencies(result):
    pytest.importorskip("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    consensus = result.consensus(0.2)
    axes = consensus.plot()
    lines = [drawn for drawn in axes.get_children() if isinstance(drawn, LineCollection)]
    assert len(set(np.concatenate([line.get_linewidths() for line in lines]).round(6))) > 2  # one is the legend's
    assert any("adjacent in at least 20% of 20 resamples" in text.get_text() for text in axes.texts)
    assert result.plot(0.2, around="v0", radius=1) is not None
    assert result.plot(0.2, max_labelled=2) is not None
    refused("strength must have one number for each of the", consensus.plot, strength=[0.5])
    plt.close("all")


def test_summary_and_texts(result):
    text = result.summary()
    assert "20 resamples of 60 rows, scheme 'complementary', random_state 1" in text
    assert repr(result) == "<Stability: 10 variables, 20 resamples (complementary), alpha 0.05, 0.001>"
    assert "<p>PC-stable on resamples" in result._repr_html_()


def test_frequencies_on_a_graph(result):
    fit = pycupc.pc(gaussian(), alpha=0.2)
    shares = result.frequencies(fit)
    table = result.edges(0.0)
    known = {frozenset(row[:2]): row[2] for row in table.itertuples(index=False)}
    ends = fit.edges()[["from", "to"]].itertuples(index=False)
    assert shares.tolist() == [known.get(frozenset(pair), 0.0) for pair in ends]
    refused("graph must have the 10 variables", result.frequencies, fit.subgraph(["v0", "v1"]))
