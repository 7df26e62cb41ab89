"""A user's own test: what it gets, NaN, tables as data, many tests at a time."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from common import golden_case, refused
from small_tables import NAMES, chain_table

import pycupc
from pycupc import RCoT, SuffStat, gaussCItest, pc
from pycupc.independence.gaussian.fisher_z import p_value


def test_custom_test_gets_what_it_was_given_and_NAdelete_decides():
    case = golden_case("er_p10_n100")
    calls = []

    def test(x, y, S, suff_stat):
        calls.append((x, y, S))
        return pycupc.gaussCItest(x, y, S, suff_stat)

    fit = pycupc.pc(case.suff_stat, test, alpha=float(case.alpha), p=10)
    np.testing.assert_array_equal(fit.graph, case.cpdag_relaxed)
    np.testing.assert_allclose(fit.pMax, case.pMax, rtol=1e-9)
    assert len(calls) == sum(fit.n_edgetests)
    assert "reference" in fit.engine
    nothing = pycupc.skeleton(None, lambda *_: math.nan, alpha=0.05, p=4)
    everything = pycupc.skeleton(None, lambda *_: math.nan, alpha=0.05, p=4, NAdelete=False)
    assert not nothing.skeleton.any()
    assert everything.skeleton.sum() == 12


def test_the_result_of_a_function_without_a_name_can_be_pickled():
    fit = pc(None, lambda x, y, S, data: 0.5 if S else 0.001, p=4)
    assert pickle.loads(pickle.dumps(fit)) == fit


def test_custom_test_with_a_table_needs_no_p():
    frame = pd.DataFrame(chain_table(), columns=NAMES)

    def test(x, y, S, data):
        return gaussCItest(x, y, S, SuffStat.from_data(data))

    fit = pc(frame, test, alpha=0.05)
    assert fit.labels == tuple(NAMES)
    np.testing.assert_array_equal(fit.graph, pc(frame, alpha=0.05).graph)
    assert pc(frame, test, alpha=0.05, p=3).labels == ("1", "2", "3")  # some of its columns
    refused("either labels or p must be given", pc, frame.to_numpy(), test)


rng = np.random.default_rng(2)
X = rng.normal(size=(120, 9)) @ (np.eye(9) + 0.4 * np.triu(rng.normal(size=(9, 9)), 1))
C = np.corrcoef(X, rowvar=False)


class FisherZ:
    """pcalg's Gaussian test, by NumPy."""

    symmetric, at_once = True, 50

    def __init__(self):
        self.calls = []

    def batch(self, x, y, S):
        self.calls.append(len(x))
        nodes = np.column_stack([x, y, S])
        P = np.linalg.inv(C[nodes[:, :, None], nodes[:, None, :]])
        return p_value(-P[:, 0, 1] / np.sqrt(P[:, 0, 0] * P[:, 1, 1]), 120, S.shape[1])


class Asymmetric:
    """Separates by the numbers of the variables, in one direction only; some tests are undefined."""

    def batch(self, x, y, S):
        p = np.where((x > y) & ((x + y + S.sum(axis=1)) % 4 == 0), 0.5, 0.001 / (1 + x))
        return np.where((x * y + S.sum(axis=1)) % 11 == 7, math.nan, p)


def one_by_one(test):
    return lambda x, y, S, _: float(
        test.batch(np.array([x]), np.array([y]), np.array([S], dtype=np.int64).reshape(1, -1))[0]
    )


@pytest.mark.parametrize("how", [{}, {"conservative": True}, {"m_max": 1}])
def test_answer_and_counts_of_the_gaussian_test(how):
    test = FisherZ()
    a, b = pc(None, test, p=9, alpha=0.1, **how), pc({"C": C, "n": 120}, alpha=0.1, **how)
    assert (a.graph == b.graph).all()
    assert a.n_edgetests == b.n_edgetests
    assert a.sepset.cells() == b.sepset.cells()
    np.testing.assert_allclose(a.pMax, b.pMax, rtol=1e-9)
    assert max(test.calls) <= 50
    assert len(test.calls) < sum(a.n_edgetests) / 5


@pytest.mark.parametrize("NAdelete", [True, False])
@pytest.mark.parametrize("how", [{}, {"fixedGaps": [("1", "2")], "fixedEdges": [("3", "4")]}])
def test_a_test_that_is_not_symmetric_is_answered_as_by_single_calls(NAdelete, how):
    test, how = Asymmetric(), {"p": 9, "alpha": 0.05, "NAdelete": NAdelete, **how}
    a, b, c = pc(None, test, **how), pc(None, one_by_one(test), **how), pc(None, test, engine="reference", **how)
    for other in (b, c):
        assert (a.graph == other.graph).all()
        assert a.n_edgetests == other.n_edgetests
        assert a.sepset.cells() == other.sepset.cells()
        np.testing.assert_array_equal(a.pMax, other.pMax)


class _OnDevice:
    """An array as PyTorch or CuPy has it."""

    def __init__(self, values):
        self._values = values

    def detach(self):
        return self

    def cpu(self):
        return self._values


def test_arrays_of_other_packages_and_wrong_answers():
    class Answering:
        def __init__(self, answer):
            self.answer = answer

        def batch(self, x, y, S):
            return self.answer(len(x))

    assert not pc(None, Answering(lambda m: _OnDevice(np.ones(m))), p=4).graph.any()
    refused("one p-value for each of 6 tests, got shape", pc, None, Answering(lambda m: 0.5), p=4)
    refused(r"p-values in \[0, 1\], got 2.0", pc, None, Answering(lambda m: np.full(m, 2.0)), p=4)


def test_p_values_in_a_series_of_pandas():
    pandas = pytest.importorskip("pandas")

    class InSeries:
        p = 9

        def batch(self, x, y, S):
            return pandas.Series(RCoT(X, features=20).batch(x, y, S))

    assert pc(None, InSeries(), alpha=0.3).skeleton.tolist() == pc(X, RCoT(features=20), alpha=0.3).skeleton.tolist()
