"""Runs of the CPU engine without the matrix of all variables: the answers of runs with it, bit for bit."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.generators import modules, scale_free
from common import refused
from row_data import table

import pycupc
from pycupc.engines.cpu import cpu_engine as cpu
from pycupc.engines.cpu import gaussian, level0, level0_sieve, level1_from_columns, submatrices
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.protocol import EngineError, Lists, Pairs, Questions
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.system import machine

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of constant and identical columns


def spoiled(X, seed):
    """One of the columns that make trouble: a copy, a constant, nearly a copy, an outlier, tiny numbers."""
    n, p = X.shape
    rng = np.random.default_rng(seed)
    a, b = rng.choice(p, 2, replace=False)
    if seed % 5 == 0:
        X[:, a] = X[:, b]
    elif seed % 5 == 1:
        X[:, a] = 0.1
    elif seed % 5 == 2:
        X[:, a] = X[:, b] + 1e-9 * rng.standard_normal(n)
    elif seed % 5 == 3:
        X[0, a] = 1e150
    else:
        X[:, a] *= 1e-310
    return X


def pairs(p, share, seed):
    chosen = np.triu(np.random.default_rng(seed).random((p, p)) < share, 1)
    return chosen | chosen.T


def both(X, *, hubs=False, **options):
    """The fit with the matrix, after a check that the fit without it has the same evidence.

    With `hubs`, doubtful tests may be more: a part of a hub tests sets after the first one, which is in another part.
    """
    pruning = options.pop("pruning", True)
    dense, rows = (
        pycupc.pc(
            pycupc.SuffStat.from_data(X),
            engine="cpu",
            engine_options={"correlations": reading, "pruning": pruning},
            **options,
        )
        for reading in ("dense", "rows")
    )
    assert rows == dense
    assert rows.trace == dense.trace
    facts = [[(s.n_careful * (not hubs), s.n_made, s.n_bounds) for s in fit.levels] for fit in (dense, rows)]
    assert facts[0] == facts[1]
    for fit in (dense, rows):
        fit.p_values.settle_for_tests_made()
    np.testing.assert_array_equal(rows.removals.r, dense.removals.r)
    np.testing.assert_array_equal(
        rows.p_values.of_edges(rows.sparse_graph), dense.p_values.of_edges(dense.sparse_graph)
    )
    return dense


@pytest.mark.parametrize("seed", range(24))
def test_small_tables(seed):
    rng = np.random.default_rng(seed)
    alpha = float(rng.choice([0, 1e-6, 0.01, 0.05, 0.3, 1]))
    n, p = int(rng.integers(4, 150)), int(rng.integers(2, 30 if alpha < 0.1 else 10))
    X = spoiled(table(n, p, seed), seed)
    options = {"fixedGaps": pairs(p, 0.2, seed)} if seed % 3 == 0 else {}
    options |= {"fixedEdges": pairs(p, 0.1, seed + 1)} if seed % 4 == 0 else {}
    options |= {"conservative": True} if seed % 2 else {}
    both(X, alpha=alpha, pruning=("always", True, False)[seed % 3], **options)


def test_several_tiles_and_extracts(monkeypatch):
    monkeypatch.setattr(level0_sieve, "SIEVE_TILE", 64)
    fit = both(table(60, 300, 0), alpha=0.05)
    assert fit.max_ord > 2


@pytest.mark.parametrize("scale", [False, True])
def test_hubs_read_parts_of_their_neighbours(scale, monkeypatch):
    for module in (level1_from_columns, cpu):
        monkeypatch.setattr(module, "HUB", 6)
    monkeypatch.setattr(submatrices, "HUB_PART", 3)
    X = scale_free(150, 100, 0, first=40).T if scale else table(60, 40, 7, degree=5)
    p = X.shape[1]
    both(X, hubs=True, alpha=0.01, fixedGaps=pairs(p, 0.02, 0), fixedEdges=pairs(p, 0.02, 1))


@pytest.mark.parametrize("tests", [10, 1_000_000])
def test_the_widest_row_may_have_no_targets(tests, monkeypatch):
    """Side A tests no pair of the last variable, which has the most neighbours."""
    monkeypatch.setattr(level1_from_columns, "TASK_TESTS", tests)
    X = np.random.default_rng(0).standard_normal((9000, 100))
    X[:, -1] += X[:, :-1].sum(axis=1)
    degrees = pycupc.skeleton(X, alpha=0.01, m_max=0, engine="cpu").sparse_graph.degrees()
    assert degrees[-1] > 10 * np.sort(degrees)[-2]
    both(X, alpha=0.01, m_max=1)


def test_a_hub_of_several_hundred_neighbours():
    X = scale_free(2000, 100, 0, first=100).T
    both(X, alpha=1e-5)
    assert pycupc.skeleton(X, alpha=1e-5, m_max=0, engine="cpu").sparse_graph.degrees().max() > 400


def test_tall_tables_are_summed_in_parts(monkeypatch):
    monkeypatch.setattr(level0_sieve, "SIEVE_DEPTH", 50)
    both(table(333, 40, 0), alpha=0.01)


@pytest.mark.parametrize("n", [3, 64, 130])
def test_pairs_and_groups_have_the_bits_of_the_matrix(n):
    X = table(n, 50, n)
    X[:, 7], X[:, 8] = X[:, 3], 2.0
    C, columns = correlation(X), Columns.of(X)
    x, y = np.triu_indices(50)
    np.testing.assert_array_equal(columns.pairs(x, y), C[x, y])
    members, starts = np.random.default_rng(0).integers(0, 50, 40), np.array([0, 3, 4, 4, 20, 33, 40])
    out = np.full((40, 40), 9.0)
    columns.put_groups(members, starts, out)
    for begin, end in pairwise(starts):
        own = members[begin:end]
        np.testing.assert_array_equal(out[begin:end, begin:end], C[np.ix_(own, own)])


def test_pairs_at_the_cutoff_are_decided_by_the_definition(monkeypatch):
    """With a cutoff that is the correlation of a pair, or one unit beside it."""
    X = table(100, 60, 1)
    C, columns = correlation(X), Columns.of(X)
    for size in np.sort(np.abs(C[np.triu_indices(60, 1)]))[::97]:
        for cutoff in (np.nextafter(size, 0), size, np.nextafter(size, 1)):
            want = level0.level0(C, 100, float(cutoff), None, None, 1)
            got = level0_sieve.level0(columns, 100, float(cutoff), None, None, 1)
            np.testing.assert_array_equal(got.offsets, want.offsets)
            np.testing.assert_array_equal(got.neighbours, want.neighbours)
            every = np.arange(len(want.neighbours))
            np.testing.assert_array_equal(got.z(every), want.z(every))


@pytest.mark.parametrize("n", [5, 100, 5000, 20_000])
def test_the_margin_is_more_than_rounding(n):
    """Columns whose rounding errors all have the same sign come close to it; the tables here stay far below."""
    rng = np.random.default_rng(n)
    X = np.abs(rng.standard_normal((n, 40))) + np.linspace(0, 50, n)[:, None]
    columns = Columns.of(X)
    unit = (columns.centred / np.sqrt(columns.squares)[:, None]).astype(np.float32)
    error = np.abs((unit @ unit.T).astype(np.float64) - correlation(X)).max()
    assert 0 < error < level0_sieve.margin(n)


def test_gaps_and_fixed_edges_of_the_sieve():
    X = table(80, 30, 2)
    gaps, fixed = (Pairs.of_matrix(pairs(30, 0.2, seed)) for seed in (3, 4))
    want = level0.level0(correlation(X), 80, 0.2, gaps, fixed, 1)
    got = level0_sieve.level0(Columns.of(X), 80, 0.2, gaps, fixed, 1)
    np.testing.assert_array_equal(got.neighbours, want.neighbours)
    np.testing.assert_array_equal(got.fixed, want.fixed)


def test_too_many_edges_name_an_alpha_that_would_fit(monkeypatch):
    X = table(200, 60, 3)
    kept = pycupc.skeleton(X, alpha=1e-6, m_max=0, engine="cpu")
    monkeypatch.setattr(level0_sieve, "free_memory", lambda: level0_sieve.SIEVED_BYTES * len(kept.sparse_graph))
    with pytest.raises(
        EngineError, match=r"level 0 leaves about \d+ edges among 60 variables.*alpha = 1e-06 would"
    ) as e:
        pycupc.skeleton(X, alpha=0.01, engine="cpu", engine_options={"correlations": "rows"})
    assert f"leave about {len(kept.sparse_graph)}" in str(e.value)


@pytest.mark.parametrize("share", [0.0, 9.0])
def test_the_engine_chooses_after_the_sieve(share, monkeypatch):
    monkeypatch.setattr(cpu, "SIEVE_FROM", 2)
    monkeypatch.setattr(gaussian, "ROWS_SHARE", share)
    X = table(100, 40, 4)
    data = pycupc.SuffStat.from_data(X)
    fit = pycupc.skeleton(data, alpha=0.01, engine="cpu")
    assert data.has_C == (share == 0)
    assert fit == pycupc.skeleton({"C": correlation(X), "n": 100}, alpha=0.01, engine="cpu")


def test_a_matrix_has_no_rows_to_read():
    data = {"C": correlation(table(50, 5, 0)), "n": 50}
    refused("correlations='rows' needs data", pycupc.pc, data, engine="cpu", engine_options={"correlations": "rows"})
    refused("correlations must be", CpuEngine, correlations="sparse")


def test_questions_in_parts():
    X, p = table(120, 80, 5, degree=3), 80
    rng = np.random.default_rng(0)
    x, y = np.array([rng.choice(p, 2, replace=False) for _ in range(150)]).T
    lists = [rng.permutation(np.setdiff1d(np.arange(p), pair))[: rng.integers(0, 7)] for pair in zip(x, y, strict=True)]
    skip = Lists.of([own[:2].tolist() for own in lists])
    for extra in ({}, {"skip": skip}, {"largest_p": False}):
        answers = []
        for reading in ("dense", "rows"):
            engine = CpuEngine(correlations=reading)
            engine.take(GaussianTest(pycupc.SuffStat.from_data(X), 0.05), [str(v) for v in range(p)])
            asked = Questions(x, y, Lists.of([own.tolist() for own in lists]), 0, 9, **extra)
            answers.append((engine.first_separating(asked), engine.count_separating(asked)))
            none = asked._replace(x=x[:0], y=y[:0], candidates=Lists.of([]), skip=None)
            assert len(engine.first_separating(none).found) == 0
        for one, other in zip(*(([*a], [*c]) for a, c in answers), strict=True):
            for u, v in zip(one, other, strict=True):
                for left, right in zip(u, v, strict=True) if isinstance(u, Lists) else [(u, v)]:
                    np.testing.assert_array_equal(left, right)


def test_evidence_is_found_without_the_matrix():
    X = table(100, 60, 6)
    data = pycupc.SuffStat.from_data(X)
    fit = pycupc.pc(data, alpha=0.01, engine="cpu", engine_options={"correlations": "rows"})
    dense = pycupc.pc({"C": correlation(X), "n": 100}, alpha=0.01, engine="cpu")
    for y in range(1, 60, 7):
        assert str(fit.why(0, y)) == str(dense.why(0, y))
    assert not data.has_C


def test_modules_of_many_variables(monkeypatch):
    """The engine takes the sieve by itself, and nothing computes a matrix of all variables."""
    monkeypatch.setattr(cpu, "SIEVE_FROM", 2000)
    data = pycupc.SuffStat.from_data(modules(2000, 100, 0).T)
    fit = pycupc.pc(data, alpha=1e-6, engine="cpu")
    assert not data.has_C
    assert fit.max_ord >= 2
    assert fit == pycupc.pc(data, alpha=1e-6, engine="cpu", engine_options={"correlations": "dense"})


def test_matrices_that_do_not_fit_are_refused(monkeypatch):
    fit = pycupc.skeleton(table(50, 40, 0), engine="cpu")
    monkeypatch.setattr(machine, "SURELY_FREE", 0)
    monkeypatch.setattr(machine, "free_memory", lambda: 1000)
    for name in ("graph", "skeleton", "pMax"):
        refused(r"of 40 variables would take .* ask for the edges", getattr, fit, name, error=MemoryError)
    assert len(fit.edges()) == len(fit.sparse_graph)
