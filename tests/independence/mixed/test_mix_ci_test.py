"""Tests of numbers and categories together: micd's recorded p-values (tests/files/any_data.npz), and the engines."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from any_tables import chain, mixed_frame
from common import FILES

import pycupc
from pycupc import MixedTable, mixCItest, pc
from pycupc.independence.missing.data import IncompleteTable
from pycupc.independence.mixed.test import MixedTest

RECORDED = np.load(FILES / "any_data.npz")


@pytest.mark.parametrize("k", range(14))
def test_mixed_tests_are_those_of_micd(k):
    X = RECORDED[f"mixed_X{k}"]
    D = pd.DataFrame(X, columns=list("abcxyz")).astype(dict.fromkeys("abc", str))
    table = MixedTable.of(D)
    test = MixedTest(table, 0.05, quirks=True)
    for (x, y, *S), p in zip(RECORDED[f"mixed_tests{k}"].tolist(), RECORDED[f"mixed_p{k}"], strict=True):
        S = [v for v in S if v >= 0]
        made = test.single_tests(np.array([x]), np.array([y]), np.array([S], dtype=np.int64).reshape(1, -1))[1][0]
        assert made == pytest.approx(p, abs=1e-9)
        assert mixCItest(x, y, S, table, quirks=True) == pytest.approx(p, abs=1e-9)


def test_singular_and_constant_columns():
    x = np.random.default_rng(0).standard_normal(60)
    table = MixedTable.of(pd.DataFrame({"a": list("ab") * 30, "x": x, "x2": x, "k": 1.0, "f": "q"}))
    for x, y, S, p in ((1, 2, [0], 0.0), (0, 3, [], 1.0), (1, 4, [], 1.0), (0, 1, [2], 1.0)):
        assert mixCItest(x, y, S, table) == p
    with pytest.warns(UserWarning, match="constant columns are independent of all others, hence no edges: k, f"):
        table.check()


def test_categories_of_too_many_levels_are_untested_among_numbers():
    """The G^2 test of a and b needs 10 * 9 * 9 observations; those with a number are made."""
    rng = np.random.default_rng(1)
    D = pd.DataFrame({name: [f"{name}{v}" for v in rng.integers(0, 10, 200)] for name in "ab"})
    D["x"] = rng.normal(size=200)
    fit = pc(D, mixCItest)
    assert fit.untested.x.tolist() == [0]
    assert fit.untested.y.tolist() == [1]
    assert "a and b: no edge, not enough data: the test without conditioning needs 810" in str(fit.why("a", "b"))
    assert "not enough data" not in str(fit.why("a", "x"))


def test_engines_agree_on_a_mixed_table():
    fits = [pc(mixed_frame(), mixCItest, engine=engine) for engine in ("cpu", "reference")]
    assert fits[0].n_edgetests == fits[1].n_edgetests
    np.testing.assert_allclose(*(fit.p_values.dense() for fit in fits), atol=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.7])
def test_a_number_may_have_one_value_in_a_category(value):
    """Its covariance matrix is singular there, whatever the value."""
    D = mixed_frame(120)
    D["y"] = np.where(D["v"] == "no", value, D["y"])
    fits = [pc(D, mixCItest, alpha=0.1, engine=engine) for engine in ("cpu", "reference")]
    assert mixCItest(0, 3, [], D) == fits[0].pMax[0, 3] == fits[1].pMax[0, 3] == 0
    assert mixCItest(1, 3, [0], D) == 1
    assert MixedTest(MixedTable.of(D), 0.1).single_tests(np.array([1]), np.array([3]), np.array([[0]]))[1] == 1


@pytest.mark.parametrize("method", ["pc", "fci", "rfci"])
@pytest.mark.parametrize("kind", ["mixed", "incomplete"])
def test_faults_of_the_tests_of_categories_are_those_of_the_skeleton(method, kind):
    codes = np.digitize(chain(n=200, p=4, seed=6), [-1, 1])
    words = pd.DataFrame(codes).astype(str)
    data = MixedTable.of(words) if kind == "mixed" else IncompleteTable(codes, categories=True, adaptDF=True)
    found = {}
    for quirks in (True, False):
        fit = getattr(pycupc, method)(data, quirks=quirks)
        found[quirks] = fit.p_values.dense()
        np.testing.assert_array_equal(found[quirks], pycupc.skeleton(data, quirks=quirks).p_values.dense())
    assert not np.array_equal(found[True], found[False])


def test_categories_that_do_not_occur_count_with_quirks_unless_all_are_categories():
    table = MixedTable.of(mixed_frame(100))
    more = replace(table, categories=tuple(c and (*c, "never") for c in table.categories))
    for quirks, V in product((True, False), ([0, 2], [0, 1, 2], [1, 2, 0], [1, 3])):
        p, other = (mixCItest(V[0], V[1], V[2:], some, quirks=quirks) for some in (table, more))
        assert (p == other) == (not quirks or V in ([0, 2], [1, 3]))
        test = MixedTest(more, 0.05, quirks=quirks)
        found = test.single_tests(*(np.array([part]) for part in (V[0], V[1], V[2:])))[1]
        np.testing.assert_allclose(found, other, atol=1e-12)
