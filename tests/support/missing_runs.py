"""Random problems of incomplete data, for comparisons of engines by `discrete_runs.compare`."""

import warnings

import numpy as np
from discrete_runs import Problem

from pycupc.graph.pairs import Pairs
from pycupc.independence.gaussian.n_by_pair import LocalGaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.missing.test import ImputedTest, TestwiseTest

#: In the order of the families of kernels/missing/tests.cu.
FAMILIES = ("gaussMItest", "disMItest", "gaussCItwd", "disCItwd", "pairwise")


def random_problem(family: str, seed: int, p: int = 0) -> Problem:
    """Data of 3 to 8 variables, or `p`; in some problems copies of variables, constants, gaps or fixed edges."""
    rng = np.random.default_rng(seed)
    p, n = p or int(rng.integers(3, 9)), int(rng.choice([4, 12, 40, 100, 300]))
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += X[:, :j] @ (rng.normal(0, 0.8, j) * (rng.random(j) < 0.5))
    if seed % 5 == 4:
        X[:, -1] = X[:, 0] + (rng.normal(0, 1e-5, n) if seed % 2 else 0)
    holes = rng.random(X.shape) < rng.choice([0.02, 0.1, 0.3])
    holes[:2] = False
    if family in ("disMItest", "disCItwd"):
        cuts = [np.sort(rng.normal(size=int(rng.integers(1, 5)))) for _ in range(p)]
        X = np.column_stack([np.digitize(column, cut) for column, cut in zip(X.T, cuts, strict=True)]).astype(float)
    alpha, NAdelete = float(rng.choice([0.001, 0.05, 0.3])), bool(seed % 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = _test(family, np.where(holes, np.nan, X), rng, alpha, NAdelete=NAdelete, odd=bool(seed % 2))
    pairs = None
    if seed % 4 > 1:
        mask = rng.random((p, p)) < 0.1
        pairs = Pairs.of_matrix(mask | mask.T)
    return Problem(test, pairs if seed % 4 == 2 else None, pairs if seed % 4 == 3 else None, 20)


def _test(family, X, rng, alpha, *, NAdelete, odd):
    if family == "pairwise":
        n = rng.integers(3, 300, size=(X.shape[1],) * 2)
        C = np.corrcoef(np.nan_to_num(X), rowvar=False)
        rule = ("mean", "min", "harmonic")[int(rng.integers(3))]
        return LocalGaussianTest(SuffStat((C + C.T) / 2, np.maximum(n, n.T), n_rule=rule), alpha)
    if family == "gaussCItwd":
        return TestwiseTest(IncompleteTable(X), alpha, NAdelete=NAdelete)
    if family == "disCItwd":
        data = IncompleteTable(X, categories=True, adaptDF=bool(rng.integers(2)))
        return TestwiseTest(data, alpha, NAdelete=NAdelete, quirks=odd)
    holes, imputations = np.isnan(X), []
    for _ in range(int(rng.choice([2, 5, 40]))):
        drawn = X[rng.integers(2, size=X.shape), np.arange(X.shape[1])]  # the first two rows are complete
        noise = 0 if family == "disMItest" else rng.normal(size=X.shape)
        imputations.append(np.where(holes, drawn + noise, X))
    return ImputedTest(MultipleImputation(imputations, categories=family == "disMItest"), alpha, NAdelete=NAdelete)


#: Changes of the tuning, none of which may change an answer.
TUNING = ({"DOUBTFUL": 0}, {"OBSERVED_SHARED_BYTES": 0}, {"OBSERVED_TABLE_BYTES": 40})
