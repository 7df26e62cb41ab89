"""Stability: every resample has `pc`'s own graph, frequencies are those of a plain loop, bounds those of the papers."""

import math
import sys
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from common import refused
from scipy.optimize import linprog
from stability_data import discrete, gaussian

import pycupc
from pycupc.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.stability import bounds
from pycupc.stability.consensus import (
    BACKWARD,
    BIDIRECTED,
    CPDAG,
    FORWARD,
    PAG,
    UNDIRECTED,
    Counts,
    least_count,
    stable_graph,
)
from pycupc.stability.rows import Resampling

SCHEMES = ("bootstrap", "subsample", "complementary")


def plain_loop(result, fits):
    """The columns of `to_pandas`, counted by dictionaries: {(alpha, low, high): [forward, backward, ...]}."""
    counts = {}
    for alpha, graph in fits:
        for i, j in zip(*np.nonzero(np.triu(graph.skeleton, 1)), strict=True):
            a, b = graph.graph[i, j], graph.graph[j, i]
            kind = {(1, 0): FORWARD, (0, 1): BACKWARD, (1, 1): UNDIRECTED, (2, 2): BIDIRECTED}[a, b]
            counts.setdefault((alpha, int(i), int(j)), [0, 0, 0, 0])[kind] += 1
    return counts


def assert_counts(result, fits):
    found = {}
    for alpha, counts in zip(result.alphas, result.counts, strict=True):
        for i, j, kinds in zip(counts.low.tolist(), counts.high.tolist(), counts.kinds.tolist(), strict=True):
            found[alpha, i, j] = kinds
    assert found == plain_loop(result, fits)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("options", [{}, {"solve_confl": True, "maj_rule": True}, {"u2pd": "rand"}], ids=str)
def test_each_resample_is_pcs_answer(scheme, options):
    """The frequencies of the whole run equal a plain loop of `pc` over ``data[indices(i)]``."""
    data = gaussian()
    result = pycupc.stability(data, n_resamples=6, scheme=scheme, alpha=(0.01, 0.2), random_state=7, **options)
    fits = []
    for i in range(6):
        state = {"random_state": result.resampling.random_state(i)} if "u2pd" in options else {}
        for alpha in (0.01, 0.2):
            fit = pycupc.pc(data.iloc[result.indices(i)], alpha=alpha, **options, **state)
            assert result.n_tests[i, result.alphas.index(alpha)] == sum(fit.n_edgetests)
            fits.append((alpha, fit))
    assert_counts(result, fits)
    assert len(result.counts[0].low) < len(result.counts[1].low)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_discrete(scheme):
    """Levels that do not occur in a resample still count: `nlev` is that of the whole data."""
    data = discrete()
    result = pycupc.stability(data, indepTest=disCItest, n_resamples=6, scheme=scheme, random_state=3)
    fits, smaller = [], 0
    for i in range(6):
        codes = data.codes.T[result.indices(i)]
        smaller += codes[:, -1].max() < data.nlev[-1] - 1
        resample = DiscreteSuffStat(codes, data.nlev, adaptDF=True, labels=data.labels)
        fits.append((0.01, pycupc.pc(resample, disCItest, 0.01)))
    assert_counts(result, fits)
    assert scheme == "bootstrap" or smaller  # the rare level is missing somewhere


def test_where_pcalg_may_differ_is_said_once_as_pc_says_it(tmp_path):
    """In the result, its summary, its file, and after a restart from a checkpoint."""
    run = {"indepTest": disCItest, "n_resamples": 2, "random_state": 3}
    result = pycupc.stability(discrete(), checkpoint=tmp_path / "c", **run)
    alone = pycupc.pc(discrete().take(result.indices(0)), disCItest)
    assert result.notes == alone.notes
    assert "may differ from pcalg's disCItest, whose adaptDF" in result.notes["quirks"]
    assert result.summary().count("may differ from pcalg") == 1
    again = pycupc.stability(discrete(), checkpoint=tmp_path / "c", **run)
    result.save(tmp_path / "result.npz")
    assert again.notes == pycupc.Stability.load(tmp_path / "result.npz").notes == result.notes


def test_binary_and_mapping():
    rng = np.random.default_rng(1)
    codes = rng.integers(2, size=(80, 4))
    codes[:, 1] = np.where(rng.random(80) < 0.8, codes[:, 0], codes[:, 1])
    result = pycupc.stability({"dm": codes, "adaptDF": False}, indepTest=binCItest, n_resamples=4, random_state=0)
    fits = [(0.01, pycupc.pc({"dm": codes[result.indices(i)], "adaptDF": False}, binCItest)) for i in range(4)]
    assert_counts(result, fits)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n", [11, 40])
def test_schemes(scheme, n):
    """What each scheme promises of the rows, and that they are a function of seed and index only."""
    resampling = Resampling(n, scheme, 0.5, 5)
    rows = [resampling.indices(i) for i in range(6)]
    for i, drawn in enumerate(rows):
        assert len(drawn) == (n if scheme == "bootstrap" else n // 2)
        assert (np.diff(drawn) >= (scheme != "bootstrap")).all()
        assert drawn[0] >= 0
        assert drawn[-1] < n
        assert np.array_equal(drawn, Resampling(n, scheme, 0.5, 5).indices(i))
        assert not np.array_equal(drawn, Resampling(n, scheme, 0.5, 6).indices(i))
    if scheme == "complementary":
        assert not set(rows[2]) & set(rows[3])
        assert set(rows[2]) & set(rows[4])
    spawned = [np.random.default_rng(seed) for seed in np.random.SeedSequence(5).spawn(6)]
    for i, drawn in enumerate(rows):
        if scheme == "bootstrap":
            expected = spawned[i].integers(n, size=n)
        elif scheme == "subsample":
            expected = spawned[i].permutation(n)[: n // 2]
        elif i % 2 == 0:  # of an odd number of rows, the last in the order drawn is in neither half
            shuffled = spawned[i // 2].permutation(n)
            expected = shuffled[: n // 2]
        else:
            expected = shuffled[n // 2 : 2 * (n // 2)]
        np.testing.assert_array_equal(drawn, np.sort(expected))


def test_rows_are_drawn_evenly():
    """Every row is as likely as any other, in every scheme."""
    for scheme in SCHEMES:
        resampling = Resampling(20, scheme, 0.5, 0)
        times = np.bincount(np.concatenate([resampling.indices(i) for i in range(2000)]), minlength=20)
        mean = times.mean()
        assert abs(times - mean).max() < 5 * math.sqrt(mean)


def test_constant_columns_and_copies_are_counted_without_warnings():
    """A column that is constant in a resample is isolated there, as in `pc`; nothing is said a hundred times."""
    data = gaussian(n=30, p=6)
    data["v5"] = 0.0
    data.loc[:1, "v5"] = [1.0, -1.0]
    data["copy"] = data["v0"]
    data.loc[2, "copy"] += 1e-9
    result = pycupc.stability(data, n_resamples=20, alpha=0.2, random_state=4)
    fits, constant, copies = [], [], []
    for i in range(20):
        rows = result.indices(i)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits.append((0.2, pycupc.pc(data.iloc[rows], alpha=0.2)))
        constant.append(not {0, 1} & set(rows.tolist()))
        copies.append(2 * (2 not in rows))
        assert not constant[-1] or not fits[-1][1].skeleton[5].any()
    assert_counts(result, fits)
    assert result.n_constant.tolist() == [int(c) for c in constant]
    assert 0 < sum(constant) == result.constant[5]
    assert result.n_copies.tolist() == copies
    assert f"in {sum(constant)} resamples some variables were constant, at most 1 at once" in result.summary()
    assert "some variables were identical to others, at most 2 at once" in result.summary()


def test_warnings_about_the_data_come_once():
    data = gaussian(n=40, p=4)
    data["constant"] = 1.0
    with pytest.warns(UserWarning, match="constant columns") as seen:
        pycupc.stability(data, n_resamples=5, random_state=0)
    assert len(seen) == 1


def test_fixed_pairs():
    data = gaussian(p=6)
    fixed = {"fixedGaps": [("v0", "v1"), ("v1", "v2")], "fixedEdges": [("v0", "v1"), ("v3", "v5"), ("v2", "v4")]}
    result = pycupc.stability(data, n_resamples=4, random_state=0, scheme="complementary", **fixed)
    assert_counts(result, [(0.01, pycupc.pc(data.iloc[result.indices(i)], **fixed)) for i in range(4)])
    assert (result.n_pairs, result.n_fixed) == (15 - 4, 2)
    q = result.mean_edges() - 2
    assert result.bound(0.9) == pytest.approx(q * q / (0.8 * 11))


def test_extreme_numbers():
    """A column whose largest value is in few rows has the digits of its small values in the other resamples."""
    data = gaussian(n=40, p=4).to_numpy().copy()
    data[:, 0] *= 1e-150
    data[0, 0] = 1e200
    result = pycupc.stability(data, n_resamples=8, alpha=0.1, random_state=0)
    assert_counts(result, [(0.1, pycupc.pc(data[result.indices(i)], alpha=0.1)) for i in range(8)])


def test_kinds_of_input(tmp_path):
    """The same answer for every form of the data; the labels come from wherever `pc` takes them."""
    frame = gaussian(n=60, p=5)
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    first = pycupc.stability(frame, n_resamples=3, random_state=1)
    assert first.labels == tuple(frame.columns)
    for data in (path, str(path), pycupc.SuffStat.from_data(frame)):
        assert pycupc.stability(data, n_resamples=3, random_state=1) == first
    array = pycupc.stability(frame.to_numpy(), n_resamples=3, random_state=1, labels=list(frame.columns))
    assert array == first
    assert pycupc.stability(frame.to_numpy(), n_resamples=3, random_state=1).labels == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_one_sufficient_statistic_serves_pc_and_stability(engine):
    """Also after `pc` has read its correlations; a copy is not made of the rows."""
    frame = gaussian(n=60, p=5)
    stat = pycupc.SuffStat.from_data(frame)
    rows = stat.rows
    pycupc.pc(stat, engine=engine)
    assert stat.rows is rows
    again = pycupc.stability(stat, n_resamples=3, random_state=1, engine=engine)
    assert again == pycupc.stability(frame, n_resamples=3, random_state=1)


def test_the_table_may_change_meanwhile():
    data = gaussian(n=60, p=5).to_numpy()
    before = pycupc.stability(data.copy(), n_resamples=4, random_state=1)
    changing = data.copy()

    def change(*_):
        changing[:] = 0

    assert pycupc.stability(changing, n_resamples=4, random_state=1, progress=change) == before


def test_seeds():
    data = gaussian(n=60, p=5)
    one = pycupc.stability(data, n_resamples=3, random_state=11)
    assert pycupc.stability(data, n_resamples=3, random_state=one.random_state) == one
    drawn = pycupc.stability(data, n_resamples=3)
    assert pycupc.stability(data, n_resamples=3, random_state=drawn.random_state) == drawn
    generators = [pycupc.stability(data, n_resamples=3, random_state=np.random.default_rng(5)) for _ in range(2)]
    assert generators[0] == generators[1]
    assert one != drawn


def test_progress(capsys):
    seen = []
    pycupc.stability(gaussian(n=40, p=4), n_resamples=3, random_state=0, progress=lambda *a: seen.append(a))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    pycupc.stability(gaussian(n=40, p=4), n_resamples=3, random_state=0, progress=True)
    assert "3 of 3" in capsys.readouterr().err
    pycupc.stability(gaussian(n=40, p=4), n_resamples=3, random_state=0)
    assert capsys.readouterr().err == ""


# -- the result -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    return pycupc.stability(gaussian(), n_resamples=20, scheme="complementary", alpha=(0.05, 0.001), random_state=1)


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


def test_consensus_marks():
    """More than half of the graphs with the edge decide its mark; without that majority it is undirected."""
    low, high = np.array([0, 0, 1, 1, 2], dtype=np.int32), np.array([1, 2, 2, 3, 3], dtype=np.int32)
    kinds = np.array([[6, 2, 1, 0], [1, 6, 2, 0], [4, 4, 0, 0], [1, 0, 2, 7], [3, 0, 0, 0]], dtype=np.int32)
    consensus = stable_graph(tuple("abcd"), Counts(low, high, kinds), alpha=0.1, threshold=0.8, n_resamples=10)
    assert consensus.edges().values.tolist() == [
        ["a", "b", "directed", 0.9, 0.6, 0.2, 0.1, 0.0],
        ["c", "a", "directed", 0.9, 0.6, 0.1, 0.2, 0.0],
        ["b", "c", "undirected", 0.8, 0.4, 0.4, 0.0, 0.0],
        ["b", "d", "bidirected", 1.0, 0.1, 0.0, 0.2, 0.7],
    ]
    assert repr(consensus).endswith("adjacent in at least 80% of 10 resamples, alpha 0.1>")


def test_pairs_are_listed_along_the_more_frequent_arrow():
    """From low to high where both arrows are equally frequent."""
    arrows = [[3, 2], [2, 2], [2, 3], [0, 0]]
    assert CPDAG.is_turned(np.array([[*pair, 0, 0] for pair in arrows])).tolist() == [False, False, True, False]
    assert PAG.is_turned(np.array([[0, b, 0, 0, f, 0] for f, b in arrows])).tolist() == [False, False, True, False]


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


def test_frequencies_on_a_graph(result):
    fit = pycupc.pc(gaussian(), alpha=0.2)
    shares = result.frequencies(fit)
    table = result.edges(0.0)
    known = {frozenset(row[:2]): row[2] for row in table.itertuples(index=False)}
    ends = fit.edges()[["from", "to"]].itertuples(index=False)
    assert shares.tolist() == [known.get(frozenset(pair), 0.0) for pair in ends]
    refused("graph must have the 10 variables", result.frequencies, fit.subgraph(["v0", "v1"]))


def test_summary_and_texts(result):
    text = result.summary()
    assert "20 resamples of 60 rows, scheme 'complementary', random_state 1" in text
    assert repr(result) == "<Stability: 10 variables, 20 resamples (complementary), alpha 0.05, 0.001>"
    assert "<p>PC-stable on resamples" in result._repr_html_()


def test_counts_of_graphs_in_any_order(monkeypatch):
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(30):
        keys = np.unique(rng.integers(0, 400, size=60))
        low, high = np.divmod(keys, 20)
        low, high = low[low < high].astype(np.int32), high[low < high].astype(np.int32)
        graphs.append((low, high, rng.integers(4, size=len(low)).astype(np.uint8)))
    one = Counts.of(graphs, 20)
    monkeypatch.setattr(sys.modules[Counts.__module__], "COUNTED", 200)  # some graphs at a time
    two = Counts.of([graphs[k] for k in rng.permutation(30)], 20)
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("low", "high", "kinds"))
    assert one.adjacent.sum() == sum(len(low) for low, *_ in graphs)


def test_thresholds_are_exact():
    """0.7 of 10 resamples is 7, although 0.7 * 10 is above 7 in floating point."""
    assert least_count(0.7, 10) == 7
    assert [least_count(k / 100, 100) for k in range(1, 101)] == list(range(1, 101))
    assert least_count(0.0, 10) == 1


# -- bounds -----------------------------------------------------------------------------------------------------------


def test_bounds_by_hand():
    """Meinshausen and Buehlmann: 10^2 / (0.6 * 1000); Shah and Samworth's constants of theorem 2 for B = 50."""
    assert bounds.meinshausen_buehlmann(10, 1000, 0.8) == pytest.approx(1 / 6)
    assert bounds.bound("worst-case", 10, 1000, 0.75, 100) == pytest.approx(0.2)
    assert bounds.unimodal(10, 1000, 0.75, 100) == pytest.approx(0.1 / (2 * (0.5 - 0.01)))
    assert bounds.unimodal(10, 1000, 0.9, 100) == pytest.approx(0.1 * 4 * (0.1 + 0.01) / 1.02)
    assert bounds.meinshausen_buehlmann(10, 1000, 0.5) == math.inf
    assert bounds.unimodal(600, 1000, 0.9, 100) == math.inf
    assert bounds.unimodal(10, 1000, 0.6, 100) == bounds.unimodal(10, 1000, 0.591, 100)
    for times in range(51, 101):  # 0.55 * 100 is 55.00000000000001
        assert bounds.unimodal(10, 1000, times / 100, 100) == bounds.unimodal(10, 1000, times / 100 - 1e-6, 100)


def largest_probability(B: int, threshold: float, theta: float) -> float:
    """Largest P(X >= 2 threshold - 1) of a unimodal X on 0, 1/B, ..., 1 with mean at most theta^2, by linear programs.

    This is what the unimodal bound rests on: X is the share of pairs of which both halves have the edge.
    """
    x = np.arange(B + 1) / B
    reward = -(x >= 2 * threshold - 1 - 1e-12).astype(float)
    largest = 0.0
    for mode in range(B + 1):
        steps = np.diff(np.eye(B + 1), axis=0)
        steps[:mode] *= -1
        found = linprog(
            reward, A_ub=np.vstack([steps, x]), b_ub=[*[0.0] * B, theta**2], A_eq=np.ones((1, B + 1)), b_eq=[1.0]
        )
        largest = max(largest, -found.fun) if found.status == 0 else largest
    return largest


@pytest.mark.parametrize("theta", [0.05, 0.3])
@pytest.mark.parametrize("k", [12, 14, 15, 16, 18, 20])
def test_unimodal_bound_is_the_largest_probability(theta, k):
    B, q, n_pairs = 10, theta * 500, 500
    factor = bounds.unimodal(q, n_pairs, k / (2 * B), 2 * B) / (q * q / n_pairs)
    assert factor == pytest.approx(largest_probability(B, k / (2 * B), theta) / theta**2, rel=1e-6)


def test_bounds_of_a_result(result):
    q, n_pairs = result.mean_edges(), 45
    assert result.bound(0.9) == pytest.approx(q * q / (0.8 * n_pairs))
    small = result.mean_edges(0.001)
    assert result.bound(0.9, 0.001, "unimodal") == bounds.unimodal(small, n_pairs, 0.9, 20)
    assert result.bound(0.5) == math.inf
    threshold = result.threshold_for(5, 0.001)
    assert result.bound(threshold, 0.001) <= 5 < result.bound(threshold - 0.05, 0.001)
    refused("no threshold bounds the expected number of false edges by 0.01", result.threshold_for, 0.01)
    with pytest.raises(ValueError, match="method='meinshausen-buehlmann' needs scheme='subsample'"):
        result.bound(0.9, method="meinshausen-buehlmann")
    refused("method must be one of", result.bound, 0.9, method="r-concave")


def test_no_bound_where_none_holds():
    data = gaussian(n=40, p=4)
    bootstrap = pycupc.stability(data, n_resamples=2, random_state=0)
    refused("no bound is known for bootstrap resamples", bootstrap.bound, 0.9)
    third = pycupc.stability(data, n_resamples=2, random_state=0, scheme="subsample", fraction=0.3)
    refused("no bound is known for subsamples of a share of 0.3", third.threshold_for, 1)
    half = pycupc.stability(data, n_resamples=2, random_state=0, scheme="subsample")
    assert half.bound(0.9) == pytest.approx(half.mean_edges() ** 2 / (0.8 * 6))
    refused("method='unimodal' needs scheme='complementary'", half.bound, 0.9, method="unimodal")
