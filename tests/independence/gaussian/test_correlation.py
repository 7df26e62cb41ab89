"""Correlations of data: the definition, and everything that they must not depend on."""

import pickle
import tracemalloc
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from common import assert_same
from small_tables import chain_table

import pycupc
from pycupc import SuffStat, pc
from pycupc.data.table import Table
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.independence.gaussian import correlation as module
from pycupc.independence.gaussian.correlation import Correlations, correlation, scaled
from pycupc.independence.gaussian.test import GaussianTest


def table(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p)) * 10 + 3


def by_definition(x, y):
    """r of two columns, each step rounded once; exact rational numbers stand in for fused multiply-add."""

    def products(a, b):
        total, block = 0.0, 0.0
        for begin in range(0, len(a), 64):
            for k in range(begin, min(begin + 64, len(a)), 4):
                group = 0.0
                for u, v in zip(a[k : k + 4], b[k : k + 4], strict=True):
                    group = float(Fraction(u) * Fraction(v) + Fraction(group))
                block += group
            lost = Fraction(total) + Fraction(block)
            total += block
            block = float(lost - Fraction(total))
        return total

    def centred(column):
        column = column * 2.0 ** -np.frexp(np.abs(column).max())[1]
        values = [Fraction(value) for value in column.tolist()]
        mean = sum(values) / len(values)
        return [float(value - mean) for value in values]

    a, b = centred(x), centred(y)
    return products(a, b) / np.sqrt(products(a, a) * products(b, b))


def exact(X):
    """The correlations of whole numbers in exact arithmetic, rounded once at the end."""
    whole = X.astype(int).astype(object)
    D = len(X) * whole - whole.sum(axis=0)
    S = D.T @ D
    with localcontext(prec=60):
        root = [Decimal(v).sqrt() for v in S.diagonal()]
        return np.array([[float(Decimal(v) / (root[i] * root[j])) for j, v in enumerate(S[i])] for i in range(len(S))])


@pytest.mark.parametrize("n", [2, 3, 5, 63, 64, 65, 67, 130, 259])
def test_every_bit_is_that_of_the_definition(n):
    X = table(n, 9, n)
    want = [[by_definition(x, y) for y in X.T] for x in X.T]
    np.testing.assert_array_equal(correlation(X), np.clip(want, -1, 1))


@pytest.mark.parametrize(("n", "p"), [(2, 2), (5, 7), (20, 128), (20, 129), (67, 300), (3000, 17), (40, 1000)])
def test_agrees_with_numpy_to_rounding(n, p):
    X = table(n, p)
    C = correlation(X)
    np.testing.assert_allclose(C, np.corrcoef(X, rowvar=False), rtol=0, atol=4e-15)
    np.testing.assert_array_equal(C, C.T)
    assert (C.diagonal() == 1).all()


@pytest.mark.parametrize("n", [50, 130, 300, 1000])
def test_an_error_of_about_one_ulp(n):
    """Indicators and sums, whose terms repeat, and whole numbers far from zero."""
    rng = np.random.default_rng(n)
    parts = rng.integers(0, 5, (n, 2))
    for offset in (0.0, 1e9, 1e15):
        X = np.column_stack([np.eye(3)[rng.integers(0, 3, n)], parts, parts.sum(axis=1), rng.integers(0, 9, n)])
        np.testing.assert_allclose(correlation(X + offset), exact(X), rtol=0, atol=4e-16)


def test_constant_columns_at_any_offset():
    n = 1000
    values = np.array([0.1, -1e-300, 1e15 + 1, 1e300, 5e-324, 2.0**53 - 1, 1 / 3, 0.0])
    X = np.vstack([np.tile(values, (n, 1)).T, np.arange(n)]).T
    assert np.isnan(correlation(X)[:-1]).all()
    X[500, :-2] = np.nextafter(X[500, :-2], np.inf)  # varies by an ulp
    C, spike = correlation(X), np.arange(n) == 500
    np.testing.assert_allclose(C[-1, :-2], np.corrcoef(spike, np.arange(n))[0, 1], rtol=1e-12)


@pytest.mark.parametrize("p", [6, 129, 300])
def test_nothing_but_the_columns_decides(p, monkeypatch):
    """Order and number of the columns, layout of the memory, threads, units of measurement: the same bits."""
    X = table(23, p)
    C = correlation(X)
    for few in (2, 3, 5):
        np.testing.assert_array_equal(correlation(X[:, -few:]), C[-few:, -few:])
    order = np.random.default_rng(1).permutation(p)
    np.testing.assert_array_equal(correlation(X[:, order]), C[np.ix_(order, order)])
    np.testing.assert_array_equal(correlation(np.asfortranarray(X)), C)
    np.testing.assert_array_equal(correlation(np.repeat(X, 2, axis=0)[::2]), C)
    np.testing.assert_array_equal(correlation(X * 2.0 ** np.linspace(-900, 900, p).astype(int)), C)
    monkeypatch.setattr(module, "INLINE_WORK", 0)
    for threads in (1, 3, 16):
        monkeypatch.setattr(module, "available_cores", lambda threads=threads: threads)
        np.testing.assert_array_equal(correlation(X), C)


def test_copies_constants_and_mirror_images():
    X = table(20, 200)
    X[:, [7, 150, 199]] = X[:, [3]]
    X[:, 60] = -X[:, 3]
    X[:, [20, 21]] = 0.1  # whose mean is not 0.1 in floating point
    C = correlation(X)
    others = np.setdiff1d(np.arange(200), [20, 21])
    for copy in (7, 150, 199):
        np.testing.assert_array_equal(C[copy], C[3])
        assert C[copy, 3] == 1
    np.testing.assert_array_equal(C[60], -C[3])
    assert np.isnan(C[[20, 21]]).all()
    assert not np.isnan(C[np.ix_(others, others)]).any()


def test_progress_and_memory(monkeypatch):
    """Beside the matrix only one copy of the table; progress rises to its end."""
    monkeypatch.setattr(module, "INLINE_WORK", 0)
    X, seen = table(20, 2000), []
    correlation(X[:, :50])
    tracemalloc.start()
    correlation(X, progress=lambda done, total: seen.append((done, total)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2000**2 + 2 * X.nbytes + (4 << 20)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (120, 120)


def test_correlations_are_computed_when_asked_for():
    X = table(30, 12)
    data = pycupc.SuffStat.from_data(X)
    want, X[:] = correlation(X), 0.0  # the table is the caller's
    assert not data.has_C
    copy = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(data.C, want)
    assert data.C is data.C
    assert data.has_C
    np.testing.assert_array_equal(copy.C, want)
    assert (data.n, data.p, pycupc.SuffStat(want, 30).p) == (30, 12, 12)


def test_an_engine_with_a_device_gets_the_data_alone():
    """What the result is later asked for is computed then, with the same numbers; changes to C count from then on."""

    class Device(CpuEngine):
        def _begin(self, names):
            test = self._test
            assert not test.data.has_C
            self._test = GaussianTest(pycupc.SuffStat(correlation(test.data.rows), test.n), test.alpha)
            super()._begin(names)

    X = table(200, 12)
    for j in range(1, 12):
        X[:, j] += 0.7 * X[:, j - 1]
    data = pycupc.SuffStat.from_data(X)
    fit = pycupc.pc(data, engine=Device())
    assert not data.has_C
    cpu = pycupc.pc({"C": correlation(X), "n": 200}, engine="cpu")
    np.testing.assert_array_equal(fit.graph, cpu.graph)
    x, y = int(fit.removals.x[0]), int(fit.removals.y[0])
    assert str(fit.why(x, y)) == str(cpu.why(x, y))
    assert not data.has_C
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fit)).pMax, cpu.pMax)
    np.testing.assert_array_equal(fit.pMax, cpu.pMax)
    assert data.has_C
    data.C[0, 1] = data.C[1, 0] = 0.0
    assert pycupc.skeleton(data, engine="cpu").skeleton[0, 1] == 0


@pytest.mark.parametrize("known", [True, False])
def test_parts_are_those_of_the_matrix(known, monkeypatch):
    X = table(40, 300)
    X[:, 7] = X[:, 260]
    X[:, 8] = 3.0
    C = correlation(X)
    monkeypatch.setattr(module, "INLINE_WORK", 0)
    parts = Correlations(C) if known else Correlations(data=np.asfortranarray(X))
    i, j = np.array([299, 7, 8, 0, 7]), np.arange(260, 100, -1)
    np.testing.assert_array_equal(parts.among(i), C[np.ix_(i, i)])
    np.testing.assert_array_equal(parts.pairs(i, j[:5]), C[i, j[:5]])
    assert parts.has_dense == known
    np.testing.assert_array_equal(parts.dense(), C)
    assert (parts.p, parts.dense() is parts.dense()) == (300, True)


@pytest.mark.parametrize("keep", [True, False])
def test_rows_stay_only_where_they_are_wanted(keep):
    parts = Correlations(data=table(10, 4), keep=keep)
    parts.dense()
    assert (parts.data is not None) == keep


def test_progress_computes_at_once():
    seen = []
    data = pycupc.SuffStat.from_data(table(30, 12), progress=lambda done, total: seen.append((done, total)))
    assert data.has_C
    assert seen == []  # one tile, which is done before the first call
    big = pycupc.SuffStat.from_data(table(30, 300), progress=lambda done, total: seen.append((done, total)))
    assert big.has_C
    assert seen


def test_constant_columns():
    X = table(30, 40)
    X[:, [3, 39]] = 0.1
    X[:20, 5] = X[0, 5]
    for values in (X, np.asfortranarray(X)):
        assert Table.of(values).constant.tolist() == [3, 39]
    with pytest.warns(UserWarning, match="constant columns have no correlations, hence no edges: column 3, column 39"):
        data = pycupc.SuffStat.from_data(X)
    assert not pycupc.skeleton(data, engine="cpu").skeleton[3].any()  # named once, not again: warnings are errors


@pytest.mark.parametrize("seed", range(4))
def test_edges_do_not_depend_on_the_order_of_identical_columns(seed):
    """With correlations from a matrix product, 31 copies of a column gave 62 edges, and 32 in the reverse order."""
    X = np.random.default_rng(seed).standard_normal((20, 257))
    copies = np.random.default_rng(seed + 100).choice(257, 31, replace=False)
    X[:, copies] = X[:, copies[:1]]
    with pytest.warns(UserWarning, match="identical columns cannot be told from each other"):
        fits = [pycupc.skeleton(pycupc.SuffStat.from_data(x), alpha=0.01) for x in (X, X[:, ::-1])]
    np.testing.assert_array_equal(fits[0].skeleton, fits[1].skeleton[::-1, ::-1])
    assert fits[0].n_edgetests[0] == fits[1].n_edgetests[0]
    assert fits[0].levels[-1].edges_left < 40


class Doubtful:
    """An engine whose correlations overflow where the columns do not come scaled."""

    def correlation(self, X):
        with np.errstate(all="raise"):
            Z = X - X.mean(axis=0)
            return np.clip((Z.T @ Z) / np.sqrt(np.outer((Z**2).sum(axis=0), (Z**2).sum(axis=0))), -1, 1)


@pytest.mark.parametrize("scales", [[1e-200, 1, 1e153, 1e300, 1e-290], [1e308, 1e-307, 1e-160, 1e160, 1]])
def test_extreme_scales(scales):
    X = np.clip(chain_table(), -1.7, 1.7)
    X -= X.mean(axis=0)
    want = SuffStat.from_data(X)
    got = SuffStat.from_data(X * scales)
    np.testing.assert_allclose(got.C, want.C, rtol=0, atol=1e-15)
    assert_same(pc(got), pc(want))
    on_device = SuffStat.from_data(X * scales, engine=Doubtful())
    np.testing.assert_allclose(on_device.C, want.C, rtol=0, atol=1e-14)


def test_scaling_is_exact():
    X = chain_table()
    assert scaled(X) is X
    powers = np.array([-900, 0, 500, 1000, -1000])
    np.testing.assert_array_equal(SuffStat.from_data(np.ldexp(X, powers)).C, SuffStat.from_data(X).C)
    ratio = scaled(np.ldexp(X, powers)) / X
    assert (ratio == ratio[0]).all()
    assert (np.frexp(ratio[0])[0] == 0.5).all()
    X = np.round(chain_table() * 1000)  # denormal columns
    np.testing.assert_array_equal(SuffStat.from_data(X * 5e-324).C, SuffStat.from_data(X).C)
    with np.errstate(all="raise"):
        assert np.abs(scaled(X * 5e-324)).max() <= 1
