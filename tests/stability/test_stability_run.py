"""Stability: every resample has `pc`'s own graph, and frequencies are those of a plain loop, for any data."""

import warnings

import numpy as np
import pytest
from any_tables import frame, incomplete, mixed_frame
from stability_data import discrete, gaussian

import pycupc
from pycupc import MixedTable, RCoT, SuffStat
from pycupc.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.r.stability_values import from_values, to_values
from pycupc.stability.consensus import BACKWARD, BIDIRECTED, FORWARD, UNDIRECTED

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


RESAMPLED = {
    "RCoT": (lambda: frame(100), lambda D: D),
    "ranks": (lambda: frame(100), lambda D: SuffStat.from_data(D, correlation="kendall")),
    "mixed": (lambda: mixed_frame(100), MixedTable.of),
    "pairwise": (lambda: incomplete(100), lambda D: SuffStat.from_data(D, missing="pairwise")),
    "smallest n": (lambda: incomplete(100), lambda D: SuffStat.from_data(D, missing="pairwise", n_rule="min")),
    "test-wise": (lambda: incomplete(100), IncompleteTable),
    "imputed": (lambda: frame(100), lambda D: MultipleImputation([D + 0.4 * np.sin(7 * D + k) for k in range(3)])),
}


@pytest.mark.parametrize("kind", RESAMPLED)
@pytest.mark.parametrize("method", ["pc", "rfci"])
def test_stability_is_a_loop_over_the_resampled_rows(kind, method):
    D, of = RESAMPLED[kind][0](), RESAMPLED[kind][1]
    how = {"alpha": 0.1, "quirks": kind == "mixed"}
    how |= {"indepTest": RCoT(seed=3, features=25)} if kind == "RCoT" else {}
    result = pycupc.stability(of(D), n_resamples=4, random_state=1, method=method, **how)
    fits = [getattr(pycupc, method)(of(D.iloc[result.indices(i)]), **how) for i in range(4)]
    if method == "pc":
        assert result.n_tests[:, 0].tolist() == [sum(fit.n_edgetests) for fit in fits]
    expected = np.mean([fit.sparse_graph.skeleton() for fit in fits], axis=0)
    shares, place = result.columns(), {label: i for i, label in enumerate(result.labels)}
    found = np.zeros_like(expected)
    found[tuple([place[label] for label in shares[end]] for end in ("from", "to"))] = shares["adjacent"]
    np.testing.assert_array_equal(found + found.T, expected)
    if method == "pc":
        arrows = sum(fit.sparse_graph.counts().get("directed", 0) for fit in fits) / 4
        assert shares["directed"].sum() + shares["reversed"].sum() == arrows


TIERS = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
MARKS = (None, "circle", "arrow", "tail")
CASES = {
    "fci": ("fci", {"doPdsep": True, "m_max": 2, "conservative": True}),
    "fci with tiers": ("fci", {"tiers": TIERS, "selectionBias": False}),
    "rfci": ("rfci", {"rules": [True] * 9 + [False]}),
}


@pytest.mark.parametrize("case", CASES)
def test_marks_are_those_of_a_plain_loop(case, tmp_path):
    method, options = CASES[case]
    data = gaussian()
    run = {"method": method, "alpha": (0.05, 0.2), "random_state": 3, **options}
    result = pycupc.stability(data, n_resamples=4, scheme="subsample", checkpoint=tmp_path / "c", **run)
    for k, alpha in enumerate(result.alphas):
        times = {}
        for i in range(4):
            fit = getattr(pycupc, method)(data.iloc[result.indices(i)], alpha=alpha, **options)
            assert result.n_tests[i, k] == sum(fit.n_edgetests) + sum(fit.later.n_tests)
            amat = fit.sparse_graph.amat_pag()
            for x, y in zip(*np.nonzero(amat), strict=True):
                mark = times.setdefault((fit.labels[x], fit.labels[y]), dict.fromkeys(MARKS[1:], 0))
                mark[MARKS[amat[x, y]]] += 1  # at y
        table = result.edges(0, alpha)
        assert len(table) == len(times) / 2 > 5
        for row in table.to_dict("records"):
            ends = times[row["to"], row["from"]], times[row["from"], row["to"]]
            assert [row[f"from_{mark}"] * 4 for mark in MARKS[1:]] == list(ends[0].values())
            assert [row[f"to_{mark}"] * 4 for mark in MARKS[1:]] == list(ends[1].values())
            assert row["adjacent"] * 4 == sum(ends[0].values()) == sum(ends[1].values())
            assert row["to_arrow"] >= row["from_arrow"]
    again = pycupc.stability(data, n_resamples=6, scheme="subsample", checkpoint=tmp_path / "c", **run)
    assert again == pycupc.stability(data, n_resamples=6, scheme="subsample", **run) != result
    again.save(tmp_path / "s.npz")
    assert pycupc.Stability.load(tmp_path / "s.npz") == again
    assert f"{method.upper()} on resamples" in again.summary()
    assert (
        from_values({**to_values(again)[0], "labels": again.labels}, to_values(again)[1])
        .to_pandas()
        .equals(again.to_pandas())
    )


def test_what_is_known_holds_in_every_resample(tmp_path):
    """In any form, which a checkpoint does not tell apart; no arrow points back."""
    data = gaussian()
    names = list(data.columns)
    known = pycupc.Knowledge(tiers=dict(zip(names, TIERS, strict=True)), forbidden=[("v0", "v2"), ("v2", "v0")])
    run = {"n_resamples": 4, "random_state": 1, "checkpoint": tmp_path / "c", "alpha": 0.1}
    result = pycupc.stability(data, tiers=known, **run)
    matrix = np.zeros((10, 10), dtype=bool)
    matrix[0, 2] = matrix[2, 0] = True
    assert pycupc.stability(data, tiers=[2 * t for t in TIERS], forbidden=matrix, **run) == result
    with pytest.raises(ValueError, match="tiers"):
        pycupc.stability(data, **run)
    tier = dict(zip(names, TIERS, strict=True))
    table = result.to_pandas()
    assert not ((table["from"] == "v0") & (table["to"] == "v2")).any()
    late = table[table["from"].map(tier) > table["to"].map(tier)]
    assert len(table) > 5
    assert not late["directed"].any()
    assert result.n_pairs == 44
