"""Single tests of discrete data at any level, against tables counted cell by cell."""

import numpy as np
import pytest
from discrete_cases import draw, observed_df, rare_levels
from scipy.stats import chi2

from pycupc.discrete import DiscreteSuffStat, disCItest, gSquareBin, gSquareDis
from pycupc.independence.discrete.contingency import prepare, single_tests


def literal(x, y, S, dm, nlev, adaptDF, few=10):
    """Degrees of freedom, G^2 and p-value from a table counted cell by cell; `few`: observations per df it needs."""
    n, tables = len(dm), {}
    for row in dm.tolist():
        tables.setdefault(tuple(row[s] for s in S), np.zeros((nlev[x], nlev[y])))[row[x], row[y]] += 1
    sets = int(np.prod([nlev[s] for s in S], dtype=int))
    df = (nlev[x] - 1) * (nlev[y] - 1) * sets
    if n < few * df:
        return df, 0.0, 1.0
    g2 = 0.0
    for table in tables.values():
        expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
        there = table > 0
        g2 += 2 * (table[there] * np.log(table[there] / expected[there])).sum()
    if adaptDF and S:
        filled = sum(int((table > 0).sum()) for table in tables.values())
        df = max(df - (nlev[x] * nlev[y] * sets - filled), 1)
    return df, g2, float(chi2.sf(g2, df))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("adaptDF", [False, True])
def test_single_test_at_any_level(seed, adaptDF):
    codes, levels = draw(seed, 9, [50, 400, 5000][seed % 3], most=2 + seed % 3)
    rng = np.random.default_rng(seed)
    x, y, *others = rng.permutation(9).tolist()
    S = others[: seed % 8]
    expected = literal(x, y, S, codes, levels.tolist(), adaptDF)[2]
    assert gSquareDis(x, y, S, codes, levels, adaptDF) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    if (levels == 2).all():
        assert gSquareBin(x, y, S, codes, adaptDF) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("seed", range(60))
def test_observed_degrees_of_freedom(seed):
    """Against a count by table, with levels and configurations that never occur; one test, and on the cpu engine."""
    codes, levels = draw(seed, 9, [12, 50, 400, 5000][seed % 4], most=2 + seed % 3)
    levels = levels + (seed % 5 == 0)
    rng = np.random.default_rng(seed)
    x, y, *others = rng.permutation(9).tolist()
    S = others[: seed % 8]
    g2, df = literal(x, y, S, codes, levels.tolist(), False, few=0)[1], observed_df(x, y, S, codes)
    expected = 1.0 if df == 0 or len(codes) < 5 * df else float(chi2.sf(g2, df))
    suff = DiscreteSuffStat(codes, levels, df="observed")
    assert disCItest(x, y, S, suff) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    tested = [np.array([value], dtype=int) for value in (x, y, sorted(S))]
    (single,) = single_tests(prepare(suff, 0.01, quirks=False), *tested)[1]
    assert single == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_observed_degrees_of_freedom_of_a_few_rows(n):
    suff = DiscreteSuffStat([[0, 1, 2], [1, 0, 2], [0, 1, 0]][:n], [3, 3, 3], df="observed")
    data = prepare(suff, 0.05, quirks=False)
    for S in ([], [2]):
        independent, p = single_tests(data, np.array([0]), np.array([1]), np.array([S], dtype=int).reshape(1, -1))
        assert independent.all()
        assert p.tolist() == [1.0]


def test_observed_degrees_of_freedom_find_edges_that_rare_levels_hide():
    table, levels = rare_levels()
    assert disCItest(1, 2, [0], DiscreteSuffStat(table, levels)) == 1
    assert disCItest(1, 2, [0], DiscreteSuffStat(table, levels, df="observed")) < 1e-20


def test_the_two_faults_of_pcalg():
    codes, _ = draw(1, 8, 20_000, most=2)
    codes[:, 1] = np.where(np.random.default_rng(1).random(20_000) < 0.9, codes[:, 0], codes[:, 1])
    S = [2, 3, 4, 5, 6]
    assert gSquareDis(0, 1, S, codes) < 1e-50
    assert gSquareDis(0, 1, S, codes, quirks=True) == 1
    ternary, levels = draw(2, 4, 2000, most=3)
    assert (levels == 3).any()
    s = int(np.flatnonzero(levels == 3)[-1])
    x, y = (v for v in range(3) if v != s)
    assert gSquareDis(x, y, [s], ternary, levels, True) != gSquareDis(x, y, [s], ternary, levels, True, quirks=True)
