"""`pycupc.cstar` against a plain loop of `pc` and `ida`, wherever the resamples run and whenever a run is killed."""

import copy
import importlib
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import refused
from scipy.stats import rankdata
from stability_data import discrete, gaussian

import pycupc
from pycupc import cli
from pycupc.effects import local
from pycupc.effects.local import largest
from pycupc.effects.parent_sets import ParentSets, parent_sets
from pycupc.engines.protocol import EngineError
from pycupc.stability import StabilityError, StabilityInterrupted
from pycupc.stability.cstar import _needed

pytestmark = pytest.mark.usefixtures("libraries_of_python")
CALL = {"n_resamples": 12, "alpha": 0.1, "random_state": 9, "q": (3, 5, 8, 10)}


@pytest.fixture(scope="module")
def data():
    return gaussian(n=60, p=6)


@pytest.fixture(scope="module")
def expected(data):
    return pycupc.cstar(data, **CALL)


def smallest_effects(X, pairs, cov, **options):
    """For each pair the possible effect of smallest absolute value, by `pc` and `ida` as a user calls them."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = pycupc.pc(X, **options)
        for x, y in pairs:
            values = pycupc.ida(x, y, cov(X, rowvar=False), fit)
            found[x, y] = values[np.argmin(np.abs(values))]
    return found


@pytest.mark.parametrize(
    ("causes", "effects", "q", "standardize"),
    [(None, None, [3, 5, 8, 10], True), (None, "v5", [1, 2, 4], True), (["v1", 0, "v4"], [5, 2, 4], 4, False)],
)
def test_a_plain_loop(data, causes, effects, q, standardize):
    options = {"alpha": 0.1, "m_max": 2}
    result = pycupc.cstar(data, causes, effects, q, n_resamples=10, random_state=4, standardize=standardize, **options)
    names = {0: "v0", 5: "v5", 2: "v2", 4: "v4"}
    of = [names.get(v, v) for v in (data.columns if causes is None else causes)]
    on = [names.get(v, v) for v in (data.columns if effects is None else [effects] if effects == "v5" else effects)]
    pairs = sorted((x, y) for x in of for y in on if x != y)
    assert result.n_pairs == len(pairs)
    grid, kept = np.atleast_1d(q), {pair: [] for pair in pairs}
    times = {number: dict.fromkeys(pairs, 0) for number in grid}
    drawn = pycupc.stability(data, n_resamples=10, random_state=4, scheme="subsample", **options)
    for i in range(10):
        assert np.array_equal(result.indices(i), drawn.indices(i))
        X = data.to_numpy()[result.indices(i)]
        X = pd.DataFrame(X, columns=data.columns)
        found = smallest_effects(X, pairs, np.corrcoef if standardize else np.cov, **options)
        order = sorted((pair for pair in pairs if found[pair] != 0), key=lambda pair: -abs(found[pair]))
        for number in grid:
            for pair in order[:number]:
                times[number][pair] += 1
        for pair in order[: grid[-1]]:
            kept[pair].append(found[pair])
    ranks = [np.where(c := np.array(list(t.values())), rankdata(-c), np.inf) for t in times.values()]
    want = pd.DataFrame({"median_rank": np.median(ranks, axis=0)}, index=pd.MultiIndex.from_tuples(pairs))
    table = result.to_pandas().set_index(["cause", "effect"])
    assert set(table.index) == {pair for pair in pairs if kept[pair]}
    assert table["median_rank"].is_monotonic_increasing
    for pair, row in table.iterrows():
        assert row["median_rank"] == want.loc[pair, "median_rank"]
        assert row["pi"] == times[grid[-1]][pair] / 10
        assert np.allclose(row[["value", "low", "high"]], np.quantile(kept[pair], [0.5, 0.025, 0.975]), rtol=1e-10)
        pcer = grid[-1] ** 2 / ((2 * row["pi"] - 1) * len(pairs) ** 2) if row["pi"] > 0.5 else np.nan
        assert np.isclose(row["pcer"], min(pcer, 1), equal_nan=True)
    first = result.to_pandas(int(grid[0])).set_index(["cause", "effect"])
    assert all(first.loc[pair, "pi"] == times[grid[0]][pair] / 10 for pair in first.index)


def test_threads(data, expected):
    """Processes: stability/test_processes.py."""
    with ThreadPoolExecutor(2) as executor:
        assert pycupc.cstar(data, executor=executor, numCores=2, engine="reference", **CALL) == expected


def test_a_checkpoint_of_another_study_or_damaged(data, tmp_path):
    kept = tmp_path / "kept"
    call = {**CALL, "n_resamples": 2}
    found = pycupc.cstar(data, checkpoint=kept, **call)
    with pytest.raises(ValueError, match=r"another study: effects was 'all', now \[5\]"):
        pycupc.cstar(data, effects="v5", checkpoint=kept, **{**call, "q": 3})
    with pytest.raises(ValueError, match="is of another study: scheme was 'subsample', now 'bootstrap'"):
        pycupc.stability(data, n_resamples=2, alpha=0.1, random_state=9, checkpoint=kept)
    (kept / "resample-000000.npz").write_bytes((kept / "resample-000001.npz").read_bytes())
    refused("another resample; delete the file", pycupc.cstar, data, checkpoint=kept, **call)
    (kept / "resample-000000.npz").unlink()
    assert pycupc.cstar(data, checkpoint=kept, **call) == found


def test_interrupt_keeps_what_is_finished(data, expected):
    def interrupt(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(StabilityInterrupted, match="interrupted after 3 of 12 resamples") as caught:
        pycupc.cstar(data, progress=interrupt, **CALL)
    assert isinstance(caught.value.partial, pycupc.CStaR)
    assert caught.value.partial.resamples.tolist() == [0, 1, 2]
    assert np.array_equal(caught.value.partial.value, expected.value[: expected.start[3]])


@pytest.mark.parametrize("standardize", [True, False])
def test_zero_and_undefined_effects_are_never_selected(standardize):
    """c is an effect of a and b, and causes neither; k is constant but for two rows, and w copies a."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 400))
    c = a + b + 0.5 * rng.standard_normal(400)
    X = pd.DataFrame({"a": a, "b": b, "c": c, "k": np.zeros(400)})
    X.loc[:1, "k"] = 1.0, 2.0
    result = pycupc.cstar(X, n_resamples=20, q=12, random_state=0, standardize=standardize)
    pairs = set(zip(result.to_pandas()["cause"], result.to_pandas()["effect"], strict=True))
    assert {("a", "c"), ("b", "c")} < pairs
    assert not {("c", "a"), ("c", "b")} & pairs
    constant = [i for i in range(20) if result.indices(i)[0] > 1]
    assert constant
    for i in constant:
        entries = slice(result.start[i], result.start[i + 1])
        assert 3 not in result.cause[entries]
        assert 3 not in result.effect[entries]
    assert np.isfinite(result.value).all()


def test_tiers_direct_edges():
    """Without them the direction of the only edge is not known, and the smallest effect is 0."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(200)
    X = pd.DataFrame({"a": a, "b": a + rng.standard_normal(200), "c": rng.standard_normal(200)})
    call = {"causes": "a", "effects": "b", "n_resamples": 5, "random_state": 0, "alpha": 0.001}
    assert len(pycupc.cstar(X, **call).to_pandas()) == 0
    assert pycupc.cstar(X, tiers=[1, 2, 2], **call).to_pandas()["pi"].tolist() == [1.0]


def test_equal_effects_come_in_the_order_of_the_variables(monkeypatch):
    """Also where the effects are computed in several blocks."""
    C = np.eye(7) + 0.5 * (np.ones((7, 7)) - np.eye(7))
    C[0, 5] = C[5, 0] = -0.5
    fit = pycupc.pc({"C": np.eye(7), "n": 10}, alpha=0.01)
    for block in (local.BLOCK, 8):
        monkeypatch.setattr(local, "BLOCK", block)
        causes, effects, values = largest(pycupc.effects(fit, C), 9)
        assert causes.tolist() == [0] * 6 + [1] * 3
        assert effects.tolist() == [1, 2, 3, 4, 5, 6, 0, 2, 3]
        assert values.tolist() == [0.5] * 4 + [-0.5] + [0.5] * 4


def test_ties_of_the_ranking_are_broken_as_documented(expected):
    """docs/contracts/effects.md, section 6: median rank, pi at the largest q, size of the effect, position of the
    variables.
    """
    rng, q, every = np.random.default_rng(0), [1, 2, 4], [(x, y) for x in range(6) for y in range(6) if x != y]
    decided = dict.fromkeys(range(4), 0)
    for _ in range(60):
        chosen = [[every[k] for k in rng.permutation(8)[: rng.integers(0, 5)]] for _ in range(4)]
        drawn = [sorted(rng.choice([-0.5, 0.5, 0.25], len(pairs)), key=lambda v: -abs(v)) for pairs in chosen]
        ends = np.array([pair for pairs in chosen for pair in pairs], dtype=np.int64).reshape(-1, 2).T
        result = replace(
            expected, q=np.array(q), resamples=np.arange(4), start=np.cumsum([0, *map(len, chosen)]),
            cause=ends[0], effect=ends[1], value=np.array([v for values in drawn for v in values]),
        )  # fmt: skip
        times = {pair: [sum(pair in pairs[:k] for pairs in chosen) for k in q] for pairs in chosen for pair in pairs}
        effects = {pair: [] for pair in times}
        for pairs, values in zip(chosen, drawn, strict=True):
            for pair, v in zip(pairs, values, strict=True):
                effects[pair].append(v)

        def rank(pair, i, times=times):
            own, all_times = times[pair][i], [t[i] for t in times.values()]
            equal = sum(t == own for t in all_times)
            return sum(t > own for t in all_times) + (equal + 1) / 2 if own else np.inf

        keys = {
            pair: (np.median([rank(pair, i) for i in range(3)]), -times[pair][-1], -abs(np.median(effects[pair])), pair)
            for pair in times
        }
        order = sorted(keys, key=keys.get)
        table = result.to_pandas()
        assert [tuple(int(v[1:]) for v in pair) for pair in zip(table["cause"], table["effect"], strict=True)] == order
        assert table["median_rank"].tolist() == [keys[pair][0] for pair in order]
        for a, b in pairwise(order):
            decided[next(i for i in range(4) if keys[a][i] != keys[b][i])] += 1
    assert min(decided.values()) > 5


@pytest.mark.parametrize("block", [local.BLOCK, 10])
def test_ties_of_the_effects_are_broken_as_documented(monkeypatch, block):
    """docs/contracts/effects.md, section 6: the cause that comes first, then the effect;
    the value of the first parent set.
    """
    monkeypatch.setattr(local, "BLOCK", block)
    rng = np.random.default_rng(1)

    class Made(local.InBlocks):
        causes, effects = np.arange(5), np.array([4, 0, 2, 3, 1])

        def __init__(self):
            sizes = rng.integers(1, 4, 5)
            self.sets = ParentSets(np.cumsum([0, *sizes]), np.zeros(0), np.zeros(0))
            values = [-0.5, -0.25, -0.25, 0.25, 0.25, 0.25, 0.5, 0.0]
            self.values = rng.choice(values, (int(sizes.sum()), 5))

        def rows(self, causes):
            return self.values[self.sets.first[causes.start] : self.sets.first[causes.stop]]

    for _ in range(30):
        made = Made()
        of = {
            (x, int(y)): min(made.values[made.sets.first[x] : made.sets.first[x + 1], j].tolist(), key=abs)
            for x in range(5)
            for j, y in enumerate(made.effects)
            if x != y
        }
        order = sorted((pair for pair in of if of[pair] != 0), key=lambda pair: (-abs(of[pair]), pair))
        for k in (1, 4, 9, 25):
            causes, effects, values = largest(made, k)
            assert list(zip(causes.tolist(), effects.tolist(), strict=True)) == order[:k]
            assert values.tolist() == [of[pair] for pair in order[:k]]


def test_only_the_correlations_that_are_needed(data):
    """As where a device has the matrix: the same bits."""
    stats, effects = [pycupc.SuffStat.from_data(data) for _ in range(2)], np.array([1, 4])
    x, y = parent_sets(pycupc.pc(data, alpha=0.1).sparse_graph, range(6)).pairs()
    assert len(stats[1].C) == 6
    for some, C in zip(*(_needed(stat, x, y, effects) for stat in stats), strict=True):
        np.testing.assert_array_equal(some, C)
    assert not stats[0].has_C


def test_the_engine_and_not_its_text_says_where_the_correlations_are(data, expected, monkeypatch):
    """Only the engines of a device leave them there, whatever the text about the engine says."""
    from pycupc.effects import on_gpu

    module = importlib.import_module("pycupc.stability.cstar")  # whose name the function has taken

    def run(stat, **arguments):  # which computes no correlations of `stat`
        return replace(pycupc.pc(copy.deepcopy(stat), **arguments), **facts)

    def on_device(X, *_):
        raise LookupError("on the device")

    monkeypatch.setattr(module, "pc", run)
    monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(on_gpu, "largest_of", on_device)
    for name, text in (("cpu", "the device at hand"), ("reference", "reference (requested)")):
        facts = {"engine_name": name, "engine": text}
        assert pycupc.cstar(data, **CALL) == expected
    for name in ("gpu", "cupc-e", "cupc-s"):
        facts = {"engine_name": name, "engine": "cpu in the text"}
        with pytest.raises(StabilityError, match="on the device"):
            pycupc.cstar(data, **CALL)


def test_bound_and_its_schemes(data, expected):
    assert expected.bound(0.75) == 100 / (0.5 * 30)
    assert expected.bound(0.75, 3) == 9 / (0.5 * 30)
    assert expected.bound(0.5) == np.inf
    for other in ({"scheme": "bootstrap"}, {"fraction": 0.7}):
        result = pycupc.cstar(data, effects="v5", n_resamples=2, random_state=0, **other)
        assert result.bound(1.0) == np.inf
        assert np.isnan(result.to_pandas()["pcer"]).all()
    refused("q must be one of 3, 5, 8, 10, got 4", expected.to_pandas, 4)
    refused("threshold must be a number from 0 to 1, got 2", expected.bound, 2)
    assert pycupc.cstar(data, effects=0, n_resamples=1).q.tolist() == [1, 2, 3]  # up to the root of the pairs


def test_save_load_and_texts(expected, tmp_path):
    expected.save(tmp_path / "c.npz")
    loaded = pycupc.CStaR.load(tmp_path / "c.npz")
    assert loaded == expected
    pd.testing.assert_frame_equal(loaded.to_pandas(), expected.to_pandas())
    assert repr(loaded) == "<CStaR: 6 causes, 6 effects, 12 resamples, alpha 0.1>"
    assert loaded.top(1)["cause"][0] in loaded.summary(1)
    nothing = {name: getattr(expected, name)[:0] for name in ("cause", "effect", "value")}
    empty = replace(expected, start=0 * expected.start, **nothing)
    empty.save(tmp_path / "empty.npz")
    assert pycupc.CStaR.load(tmp_path / "empty.npz") == empty
    assert len(empty.to_pandas()) == 0
    good = (tmp_path / "c.npz").read_bytes()
    (tmp_path / "c.npz").write_bytes(good[: len(good) // 2])
    refused(r"is not a result that CStaR.save wrote, or is damaged", pycupc.CStaR.load, tmp_path / "c.npz")


def test_plot(expected):
    pytest.importorskip("matplotlib")
    ax = expected.plot(4)
    top = expected.top(4)
    with pytest.raises(ValueError, match="k must be a whole number of at least 0, got -1"):
        expected.top(-1)
    want = [f"{x} \u2192 {y}" for x, y in zip(top["cause"], top["effect"], strict=True)]
    assert [text.get_text() for text in ax.get_yticklabels()] == want
    rings = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [len(line.get_xdata()) for line in rings] == [round(12 * pi) for pi in top["pi"]]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"effects": "v9"}, ValueError, "v9"),
        ({"causes": 7}, IndexError, "variables are 0 to 5, got 7"),
        ({"causes": 1.5}, TypeError, "a variable is named by its label or its number, got 1.5"),
        ({"causes": ["v0", 0]}, ValueError, r"causes must name one variable or several, each once, got \['v0', 'v0'\]"),
        ({"effects": []}, ValueError, r"effects must name one variable or several, each once, got \[\]"),
        ({"causes": 2, "effects": "v2"}, ValueError, "must have a pair of different variables, got 'v2' twice"),
        ({"q": 0}, ValueError, "q must be different numbers from 1 to 30, the number of candidate pairs, got 0"),
        ({"q": [3, 31]}, ValueError, "from 1 to 30"),
        ({"q": [3, 3]}, ValueError, r"different numbers.*got \[3, 3\]"),
        ({"q": 2.5}, TypeError, "q must be a whole number or a sequence of them, got 2.5"),
        ({"q": []}, TypeError, "q must be a whole number or a sequence"),
        ({"alpha": [0.1, 0.2]}, TypeError, r"alpha must be a number in \[0, 1\], got \[0.1, 0.2\]"),
        ({"alpha": 2}, ValueError, r"alpha must be a number in \[0, 1\], got 2"),
        ({"standardize": "no"}, TypeError, "standardize must be True or False, got 'no'"),
        (
            {"standardize": False, "correlation": "kendall"},
            ValueError,
            "standardize=False needs Pearson's correlations",
        ),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        ({"scheme": "jackknife"}, ValueError, "scheme must be one of"),
        ({"threshold": 0.5}, TypeError, "threshold is no argument of cstar or pc"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments(data, arguments, error, words):
    calls = []
    refused(words, pycupc.cstar, data, **{"progress": lambda *a: calls.append(a), **arguments}, error=error)
    assert not calls


def test_wrong_data():
    refused("resampling draws rows", pycupc.cstar, {"C": np.eye(3), "n": 50})
    extreme = np.random.default_rng(1).standard_normal((30, 3)) * [1, 1e-200, 1]
    refused("variances from 1e-290 to 1e290; others: column 1", pycupc.cstar, extreme, standardize=False)
    refused(
        "data must be numbers, for a test of linear dependence .*got data of kind 'discrete'",
        pycupc.cstar,
        discrete(n=30),
    )
    refused("for a test of linear dependence", pycupc.cstar, gaussian(n=30, p=3), indepTest=pycupc.RCoT())
    codes = pycupc.IncompleteTable([[0, 1], [1, 0], [0, np.nan], [1, 1]], categories=True)
    refused("for a test of linear dependence .*got IncompleteTable", pycupc.cstar, codes)
    of_matrices = pycupc.MultipleImputation.from_correlations([np.eye(3)] * 2, 50)
    for resampled in (pycupc.cstar, pycupc.stability):
        refused("data must hold the imputed tables: resampling draws rows", resampled, of_matrices)


def possible(x, y, C, fit):
    """The possible effects of x on y, also where the graph is no CPDAG."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pycupc.ida(x, y, C, fit)


def with_gaps(data, share=0.08):
    rng = np.random.default_rng(4)
    return data.mask(rng.random(data.shape) < share), rng


@pytest.mark.parametrize("standardize", [True, False])
def test_imputed_data_pool_the_effects_of_each_resample(data, standardize):
    """A plain loop: `pc` on the same rows of each imputation, the mean of `ida` over them given the same parents."""
    gaps, rng = with_gaps(data)
    tables = [gaps.fillna(0.0) + gaps.isna() * rng.standard_normal(data.shape) for _ in range(3)]
    options = {"n_resamples": 6, "alpha": 0.1, "random_state": 9, "q": 30, "standardize": standardize}
    result = pycupc.cstar(pycupc.MultipleImputation(tables), **options)
    cov = np.corrcoef if standardize else np.cov
    for i in range(6):
        rows = result.indices(i)
        drawn = [table.iloc[rows] for table in tables]
        fit = pycupc.pc(pycupc.MultipleImputation(drawn), alpha=0.1)
        want = {}
        for x, y in ((x, y) for x in range(6) for y in range(6) if x != y):
            values = np.mean([possible(x, y, cov(table, rowvar=False), fit) for table in drawn], axis=0)
            want[x, y] = values[np.argmin(np.abs(values))]
        part = slice(*result.start[i : i + 2])
        got = dict(
            zip(
                zip(result.cause[part].tolist(), result.effect[part].tolist(), strict=True),
                result.value[part],
                strict=True,
            )
        )
        assert {pair for pair, value in want.items() if abs(value) > 1e-12} == set(got)
        for pair, value in got.items():
            assert value == pytest.approx(want[pair], abs=1e-12)
    assert result.arguments["indepTest"] == "gaussMItest"
    assert result.bound(0.9) == np.inf  # the halves are not independent
    assert np.isnan(result.to_pandas()["pcer"]).all()


@pytest.mark.parametrize("standardize", [True, False])
def test_gaps_give_the_effects_of_the_pairwise_covariances(data, standardize):
    gaps, _ = with_gaps(data)
    options = {"n_resamples": 6, "alpha": 0.1, "random_state": 9, "q": 30, "standardize": standardize}
    kinds = {
        "gaussCItwd": (pycupc.IncompleteTable(gaps), lambda table: pycupc.IncompleteTable(table)),
        "gaussCItest": (
            pycupc.SuffStat.from_data(gaps, missing="pairwise"),
            lambda table: pycupc.SuffStat.from_data(table, missing="pairwise"),
        ),
    }
    for name, (whole, of) in kinds.items():
        result = pycupc.cstar(whole, **options)
        for i in range(6):
            drawn = gaps.iloc[result.indices(i)]
            fit = pycupc.pc(of(drawn), alpha=0.1)
            C = drawn.corr().to_numpy()
            if not standardize:
                C = C * np.outer(drawn.std(), drawn.std())
            part = slice(*result.start[i : i + 2])
            assert len(result.value[part])
            for x, y, value in zip(result.cause[part], result.effect[part], result.value[part], strict=True):
                values = possible(int(x), int(y), C, fit)
                assert value == pytest.approx(values[np.argmin(np.abs(values))], abs=1e-12)
        assert result.arguments["indepTest"] == name
        assert np.isfinite(result.bound(0.9))


def test_a_variable_that_a_resample_lacks_has_no_effect_and_no_warning():
    """In some resample a column has no value, or one, or shares one row with another: its effects are undefined."""
    X = np.random.default_rng(2).standard_normal((24, 4)).cumsum(axis=1)
    few, constant = X.copy(), X.copy()
    few[3:, 0] = np.nan
    constant[2:, 0] = 0.1
    tables = [constant, constant + [0, *np.random.default_rng(3).standard_normal(3)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gaps, imputed = pycupc.IncompleteTable(few), pycupc.MultipleImputation(tables)
        whole = [pycupc.effects(pycupc.pc(data, alpha=0.1), data) for data in (gaps, imputed)]
    assert [each.C.shape for each in whole] == [(4, 4)] * 2
    for data in (gaps, imputed):
        for standardize in (True, False):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                one = pycupc.cstar(data, n_resamples=1, random_state=1, q=3, standardize=standardize)
                several = pycupc.cstar(data, n_resamples=20, random_state=1, q=3, standardize=standardize)
            assert len(told) % 2 == 0  # both calls say the same about the whole, and nothing about resamples
            assert np.isfinite(several.value).all()
            assert len(one.value) <= 3


def test_too_many_parent_sets_name_the_resample(data, monkeypatch):
    from pycupc.effects import parent_sets

    monkeypatch.setattr(parent_sets, "MOST_PARENT_SETS", 0)
    with pytest.raises(EngineError, match="resample 0 failed .ValueError: too many possible parent sets"):
        pycupc.cstar(data, n_resamples=2)


def test_command_line(data, here, capsys):
    """What only ``pycupc cstar`` has; cli/test_stability_command.py tests the common part."""
    data.to_csv("data.csv", index=False)
    Path("known.txt").write_text("addtemporal\n1 v0 v1 v2 v3 v4\n2 v5\n")
    given = "--effect v4 v5 --cause v0 v1 v4 --q 2 4 --resamples 6 --units --seed 3 --alpha 0.1 --tiers known.txt"
    pictures = {"ranking.svg", "ranking.pdf"} if find_spec("matplotlib") else set()
    plot = ["--plot", *(["svg", "pdf"] if pictures else ["none"])]
    assert cli.main(["cstar", "data.csv", *given.split(), *plot, "--out", "out"]) == cli.OK
    call = {"n_resamples": 6, "random_state": 3, "alpha": 0.1, "standardize": False, "tiers": "known.txt"}
    result = pycupc.cstar("data.csv", ["v0", "v1", "v4"], ["v4", "v5"], (2, 4), **call)
    assert pycupc.CStaR.load("out/cstar.npz") == result
    assert result.summary() in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_csv("out/ranking.csv"), result.to_pandas(), check_dtype=False)
    for name in pictures:
        picture = Path("out", name).read_bytes()
        assert (b">v5<" in picture or b"v5</text>" in picture) if name.endswith("svg") else b"/Type3" not in picture
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert set(manifest["files"]) == {"cstar.npz", "ranking.csv", "summary.txt"} | pictures
    assert manifest["study"] == result.arguments
    assert {path.name for path in here.iterdir()} == {"data.csv", "known.txt", "out"}
    wrong = {
        "--q 0": (cli.USAGE, "expected a whole number from 1, got '0'"),
        "--q 31": (cli.DATA, "q must be different numbers from 1 to 30"),
        "--alpha 0.1 0.2": (cli.USAGE, "unrecognized arguments: 0.2"),
        "--correlation 50": (cli.USAGE, "--correlation gives no rows to draw; cstar needs observations"),
    }
    for options, (code, words) in wrong.items():
        assert cli.main(["cstar", "data.csv", *options.split()]) == code
        assert words in capsys.readouterr().err
