"""Data sets of realistic size that anybody can make: a seed, and a digest of the answer to them.

The data come from `numpy.random.RandomState`, whose stream NumPy has frozen (NEP 19). Another machine may round their
last digits differently; that changes no decision, since no test of these data lies so close to its cutoff.

The digests are those of pcalg 2.7-12 under R 4.2.2, which needs some minutes for each of the two larger sets;
`test_pcalg_gives_the_recorded_answer` (marks `r` and `slow`) computes them again with the pcalg that is installed.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import pytest
import record_golden

import pycupc


@dataclass(frozen=True)
class Generated:
    """One data set, p variables with about `degree` neighbours each and n observations, and its recorded answer.

    Attributes
    ----------
    edges, tests : int
        Edges of the skeleton and tests of all levels, for a first look if the digest differs.
    digest : str
        Of the whole answer, see `digest`.
    """

    p: int
    degree: float
    n: int
    alpha: float
    edges: int
    tests: int
    digest: str

    def suff_stat(self) -> pycupc.SuffStat:
        return pycupc.SuffStat.from_data(standardised(self.p, self.degree, self.n))


SETS = {
    "small": Generated(120, 3, 80, 0.05, 120, 13_937, "758a791be99123d8"),
    "dense": Generated(500, 8, 1000, 0.01, 1405, 1_347_383, "86da53d82fcf5d7c"),
    "wide": Generated(1000, 6, 100, 0.05, 1583, 1_323_902, "eb83e4051b6377ad"),
}


def standardised(p: int, degree: float, n: int, seed: int = 1) -> np.ndarray:
    """Observations, float64 (n, p), of a random linear Gaussian DAG on 0, 1, ..., p - 1 in this order.

    The parents of a variable, each with a weight between 0.1 and 1 of random sign, explain 40 to 80 % of its variance,
    which is about 1.
    """
    draw = np.random.RandomState(seed)
    present = draw.random_sample((p, p)) < degree / (p - 1)
    sign = np.where(draw.random_sample((p, p)) < 0.5, -1, 1)
    weights = np.tril(present * sign * (0.1 + 0.9 * draw.random_sample((p, p))), -1)
    noise = 0.2 + 0.4 * draw.random_sample(p)  # share of the variance
    X = draw.standard_normal((n, p))
    for i in range(p):
        parents = np.flatnonzero(weights[i])
        if len(parents):
            signal = X[:, parents] @ weights[i, parents]
            X[:, i] = np.sqrt(1 - noise[i]) * signal / signal.std() + np.sqrt(noise[i]) * X[:, i]
    return X


def digest(
    graph: np.ndarray, cells: dict[tuple[int, int], tuple[int, ...]], n_edgetests: list[int], max_ord: int
) -> str:
    """Short name of a whole answer: CPDAG, separating sets cell by cell, tests per level, last level."""
    ordered = sorted(cells.items())
    parts = [
        [*graph.shape, *graph.ravel().tolist()],
        [v for cell, members in ordered for v in (*cell, len(members), *members)],
        n_edgetests,
        [max_ord],
    ]
    out = hashlib.sha256()
    for part in parts:
        out.update(np.array([len(part), *part], dtype="<i8").tobytes())
    return out.hexdigest()[:16]


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("reference", "small"),
        *(("cpu", name) for name in SETS),
        *(pytest.param(engine, name, marks=pytest.mark.gpu) for engine in ("gpu", "cupc-e", "cupc-s") for name in SETS),
    ],
)
def test_answer_is_the_recorded_one(engine, name):
    work = SETS[name]
    fit = pycupc.pc(work.suff_stat(), alpha=work.alpha, engine=engine)
    assert (int(fit.skeleton.sum()) // 2, sum(fit.n_edgetests)) == (work.edges, work.tests)
    assert digest(fit.graph, fit.sepset.cells(), fit.n_edgetests, fit.max_ord) == work.digest


@pytest.mark.r
@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_pcalg_gives_the_recorded_answer(name, rscript):
    work = SETS[name]
    case = {"C": work.suff_stat().C, "n": np.array(work.n), "alpha": np.array(work.alpha)}
    case["cpdag_relaxed"] = np.empty(0)  # the only orientation to be recorded
    answer = record_golden.run_pcalg({name: case}, rscript)[name]
    assert int(answer["skeleton"].sum()) // 2 == work.edges
    cells, counts = record_golden.read_cells(answer), answer["n_edgetests"].tolist()
    assert digest(answer["cpdag_relaxed"], cells, counts, int(answer["max_ord"])) == work.digest
