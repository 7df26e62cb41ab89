"""`simulate`: a random DAG with random weights, and data from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_count, check_labels, check_real, default_labels, is_whole
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph
from pycupc.system.extras import data_frame
from pycupc.system.machine import check_room
from pycupc.system.nearest import hinted
from pycupc.truth.known_graph import KnownGraph

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: The share of the second distribution in the mixtures.
SHARE = 0.1


def _mixture(other: Callable[[np.random.Generator, int], Floats]) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: np.where(rng.random(n) < SHARE, other(rng, n), rng.standard_normal(n))


#: The distributions of the errors; the first six have the names that pcalg's rmvDAG gives them.
ERRORS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "t4": lambda rng, n: rng.standard_t(4, n),
    "mix": _mixture(lambda rng, n: rng.standard_cauchy(n)),
    "mixt3": _mixture(lambda rng, n: rng.standard_t(3, n)),
    "mixN100": _mixture(lambda rng, n: 10 * rng.standard_normal(n)),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), n),
    "laplace": lambda rng, n: rng.laplace(0, np.sqrt(0.5), n),
    "exponential": lambda rng, n: rng.exponential(1, n) - 1,
}


@dataclass(frozen=True, repr=False, eq=False)
class Simulation:
    """The result of `simulate`.

    Attributes
    ----------
    data : ndarray of float64 (n, p)
        An observation in each row, in the unit of the standard errors; for `pycupc.pc` as it is.
    labels : tuple of p str
        The names of the variables.
    graph : KnownGraph
        The true DAG; ``graph.to_cpdag()`` is what data can tell of it, ``graph.effect(x, y)`` the true effects.
    weights : ndarray of float64 (m,)
        The weight of each edge, in the order of ``graph.edges()``.
    seed : int
        The seed, also if none was given: with it and the same arguments the same version of NumPy draws the same.
    """

    data: Floats
    labels: tuple[str, ...]
    graph: KnownGraph
    weights: Floats
    seed: int

    def table(self) -> pd.DataFrame:
        """The data with the names of the variables; ImportError if pandas is not installed."""
        return data_frame(self.data, columns=list(self.labels))

    def weight_matrix(self) -> Floats:
        """The weights as float64 (p, p): [i, j] is the weight of i --> j, and 0 where there is no edge."""
        p, edges = len(self.labels), self.graph.sparse_graph
        check_room(p, 8, "the weights as a matrix")
        out = np.zeros((p, p))
        out[edges.low, edges.high] = self.weights
        return out

    def __repr__(self) -> str:
        n, p = self.data.shape
        return f"<Simulation: {n:,} observations of {p:,} variables, {len(self.weights):,} edges, seed {self.seed}>"


@hinted
def simulate(
    p: int,
    n: int,
    *,
    degree: float | None = None,
    prob: float | None = None,
    weights: tuple[float, float] = (0.1, 1.0),
    errors: str = "normal",
    seed: int | None = None,
    labels: Sequence[str] | None = None,
) -> Simulation:
    """A random DAG, and data from a linear model on it, as pcalg's ``randomDAG`` and ``rmvDAG`` make them.

    Each variable may be a cause of the later ones, each pair with the same probability. A variable is the sum of its
    causes times their weights, and an error.

    Parameters
    ----------
    p : int
        Number of variables, at least 1.
    n : int
        Number of observations, at least 1.
    degree : float, optional
        Expected number of neighbours of a variable, in [0, p - 1]; by default 2, or p - 1 if that is less.
    prob : float, optional
        Instead of `degree`: probability of each edge, in [0, 1].
    weights : (float, float), default (0.1, 1.0)
        The weights are uniform between these two numbers: pcalg's ``lB`` and ``uB``.
    errors : str, default "normal"
        Distribution of the errors. "normal", "uniform", "laplace" and "exponential" have mean 0 and variance 1; "t4"
        and "cauchy" are standard t with 4 degrees of freedom, and Cauchy; "mix", "mixt3" and "mixN100" are normal with
        10 % of Cauchy, of t with 3 degrees of freedom, and of normal with variance 100.
    seed : int, optional
        At least 0; by default another one in each call, which the result has as `seed`. The numbers differ from R's.
    labels : sequence of p str, optional
        Names of the variables; by default "1" to "p", as `pycupc.pc` names the columns of an array.

    Returns
    -------
    Simulation

    Raises
    ------
    TypeError, ValueError
        If an argument has another type or is out of its range, both `degree` and `prob` are given, or the data exceed
        the range of float64.

    Notes
    -----
    Variances grow along the order of the variables, so that their variance tells late ones from early ones; methods
    that use variances look better on such data than on others (Reisach, Seiler and Weichwald 2021, NeurIPS 34).
    Correlations, which `pc` uses, do not depend on them.
    """
    for name, value in (("p", p), ("n", n)):
        check_real(name, "a whole number of at least 1", value, lambda number: is_whole(number) and number >= 1)
    names = default_labels(p) if labels is None else check_labels(labels, p)
    probability = _probability(p, degree, prob)
    low, high = _bounds(weights)
    if not isinstance(errors, str) or errors not in ERRORS:
        raise ValueError(f"errors must be one of {', '.join(map(repr, ERRORS))}, got {errors!r}")
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    check_count("seed", seed)
    rng = np.random.default_rng(seed)
    causes = [np.sort(rng.choice(j, rng.binomial(j, probability), replace=False)) for j in range(p)]
    sizes = [rng.uniform(low, high, len(of)) for of in causes]
    data = np.empty((n, p))
    with np.errstate(over="ignore", invalid="ignore"):  # reported below
        for j in range(p):
            data[:, j] = data[:, causes[j]] @ sizes[j] + ERRORS[errors](rng, n)
    if not np.isfinite(data).all():
        raise ValueError(f"the data exceed the range of float64 with weights={weights!r}; give smaller ones")
    tail, head = np.concatenate(causes), np.repeat(np.arange(p), [len(of) for of in causes])
    order = np.lexsort((head, tail))
    marks = (np.full(len(order), mark, dtype=np.int8) for mark in (TAIL, ARROW))
    edges = SparseGraph(p, tail[order].astype(np.int32), head[order].astype(np.int32), *marks)
    chosen = np.concatenate(sizes)[order]
    graph = KnownGraph(labels=names, sparse_graph=edges, coefficients=chosen)
    return Simulation(data, names, graph, chosen, int(seed))


def _probability(p: int, degree: float | None, prob: float | None) -> float:
    """The probability of each edge."""
    if prob is not None:
        if degree is not None:
            raise ValueError(f"either degree or prob must be given, got degree={degree!r} and prob={prob!r}")
        check_real("prob", "a number in [0, 1]", prob, lambda share: 0 <= share <= 1)
        return float(prob)
    degree = min(2, p - 1) if degree is None else degree
    check_real("degree", f"a number in [0, p - 1 = {p - 1}]", degree, lambda number: 0 <= number <= p - 1)
    return degree / max(p - 1, 1)


def _bounds(weights: Any) -> tuple[float, float]:
    """The least and the largest weight."""
    try:
        low, high = weights
    except (TypeError, ValueError):
        raise TypeError(f"weights must be two numbers, the least and the largest, got {weights!r}") from None
    for bound in (low, high):
        check_real("weights", "two numbers, the least and the largest", bound, np.isfinite)
    if low > high:
        raise ValueError(f"weights must be the least and the largest, got {weights!r}")
    return float(low), float(high)
