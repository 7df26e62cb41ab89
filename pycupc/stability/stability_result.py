"""`Stability`: how often each edge was found in the graphs of the resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_real
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import look_up, pair_keys
from pycupc.results import npz
from pycupc.results.methods import METHODS
from pycupc.stability import bounds
from pycupc.stability.consensus import Consensus, Counts, PagConsensus, least_count, stable_graph
from pycupc.stability.over_resamples import OverResamples
from pycupc.stability.saved import NUMBERS, stability_fields
from pycupc.system.extras import data_frame
from pycupc.system.shown import Text

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    from matplotlib.axes import Axes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class Stability(OverResamples):
    """Frequencies of edges over resamples: the result of `pycupc.stability`.

    The argument `alpha` of a method is one of the levels of the run, by default the first. Two results are equal
    (``==``) if they have the same variables, resamples and frequencies.

    Attributes
    ----------
    labels : tuple of p str
    alphas : tuple of float
        In the order in which they were given.
    resampling : Resampling
        Rows, scheme, fraction and seed.
    resamples : int64 (n_resamples,)
        The numbers of the resamples that are counted: 0, 1, ..., unless the run was interrupted.
    counts : tuple of Counts
        For each alpha the pairs that were ever adjacent, and in how many graphs with each mark.
    n_tests : float64 (n_resamples, number of alphas)
        Tests, as pcalg counts them.
    n_constant, n_copies : int64 (n_resamples,)
        For each resample, the number of variables that were constant, and therefore without edges (except fixedEdges),
        and the number of variables that were equal to another one.
    constant : int64 (p,)
        For each variable, the number of resamples in which it was constant.
    n_pairs, n_fixed : int
        The number of pairs that are tested (neither in fixedGaps nor in fixedEdges), and of pairs in fixedEdges.
    arguments : dict
        The arguments that determine the answer; large ones and the data are represented by their hash.
    method : {"pc", "fci", "rfci"}
    notes : dict
        Further facts: "quirks", where pcalg's answer could differ for discrete data.
    """

    _OFFERED: ClassVar[Sequence[str]] = (
        "alphas",
        "edges",
        "path",
        "consensus",
        "frequencies",
        "threshold_for",
        "to_networkx",
        "to_graphml",
    )
    KIND = npz.Kind("pycupc-stability-1", "a result that Stability.save wrote")
    FACTS = ("alphas", "n_pairs", "n_fixed", "notes", "method")
    ARRAYS = NUMBERS
    alphas: tuple[float, ...]
    counts: tuple[Counts, ...]
    n_tests: Floats
    n_constant: Ints
    n_copies: Ints
    constant: Ints
    n_pairs: int
    n_fixed: int
    method: str = "pc"
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.labels)

    # -- edges --------------------------------------------------------------------------------------------------------

    def edges(self, threshold: float = 0.5, alpha: float | None = None) -> pd.DataFrame:
        """The pairs adjacent in at least a share `threshold` of the resamples, the most frequent first.

        Returns
        -------
        pandas.DataFrame
            from, to, adjacent, directed, reversed, undirected, bidirected (shares of the resamples), alpha. from --> to
            is the more frequent of the two directions: "directed" is its share, "reversed" the share of the other. Of
            `fci` and `rfci` instead of the kinds of edges the marks at each end: from_circle, from_arrow, from_tail,
            to_circle, to_arrow, to_tail; the end "to" has an arrowhead at least as often as the other.

        Raises
        ------
        TypeError, ValueError
            If `threshold` is not in [0, 1], or `alpha` is not a level of the run.
        """
        return data_frame(self._edge_columns(threshold, alpha))

    def _edge_columns(self, threshold: float = 0.5, alpha: float | None = None) -> dict[str, NDArray[Any]]:
        """The columns of `edges`."""
        counts = self._counts(alpha)
        kept = self._frequent(counts.adjacent, threshold)
        low, high = counts.low[kept], counts.high[kept]
        turned = counts.counting.is_turned(counts.kinds[kept])
        names = np.array(self.labels, dtype=object)
        ends = {"from": names[np.where(turned, high, low)], "to": names[np.where(turned, low, high)]}
        level = np.full(len(kept), self._alpha(alpha))
        return {**ends, **counts.frequencies(kept, turned, self.n_resamples), "alpha": level}

    def to_pandas(self, threshold: float = 0.0) -> pd.DataFrame:
        """`edges` for all alphas, one after the other."""
        return data_frame(self.columns(threshold))

    def columns(self, threshold: float = 0.0) -> dict[str, NDArray[Any]]:
        """The columns of `to_pandas`."""
        parts = [self._edge_columns(threshold, alpha) for alpha in self.alphas]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def path(self, threshold: float = 0.0) -> pd.DataFrame:
        """How the frequency of each pair changes with alpha: from, to, and a column for each alpha, ascending.

        The table has the pairs that at some alpha are adjacent in at least a share `threshold` of the resamples, the
        most frequent first.
        """
        ascending = sorted(self.alphas)
        keys = np.unique(np.concatenate([self._keys(alpha) for alpha in ascending]))
        table = np.zeros((len(keys), len(ascending)), dtype=np.int64)
        for column, alpha in enumerate(ascending):
            table[keys.searchsorted(self._keys(alpha)), column] = self._counts(alpha).adjacent
        kept = self._frequent(table.max(axis=1), threshold)
        names = np.array(self.labels, dtype=object)
        low, high = np.divmod(keys[kept], max(self.p, 1))
        out = data_frame(table[kept] / max(self.n_resamples, 1), columns=ascending)
        out.insert(0, "from", names[low])
        out.insert(1, "to", names[high])
        return out

    def mean_edges(self, alpha: float | None = None) -> float:
        """Mean number of edges of the graphs of the resamples."""
        return float(self._counts(alpha).adjacent.sum()) / max(self.n_resamples, 1)

    def frequencies(self, graph: NamedGraph, alpha: float | None = None) -> Floats:
        """The share of the resamples that have each edge of a graph on the same variables, float64 (m,).

        They are in the order of ``graph.edges()``; ``fit.explore(stability=result.frequencies(fit))`` shows them on the
        page of `fit`. ValueError if the graph has different variables.
        """
        if tuple(graph.labels) != self.labels:
            raise ValueError(f"graph must have the {self.p} variables of the resamples, in their order")
        times = np.append(self._counts(alpha).adjacent, 0)  # the last one for edges that were never found
        return times[look_up(self._keys(alpha), graph.sparse_graph.keys)] / max(self.n_resamples, 1)

    # -- graphs -------------------------------------------------------------------------------------------------------

    def consensus(self, threshold: float = 0.5, alpha: float | None = None) -> Consensus | PagConsensus:
        """The graph of the pairs that are adjacent in at least a share `threshold` of the resamples.

        `Consensus`, and of `fci` and `rfci` `PagConsensus`, describe how the marks of an edge are chosen.
        """
        facts: dict[str, Any] = {"alpha": self._alpha(alpha), "threshold": _checked_share(threshold)}
        return stable_graph(self.labels, self._counts(alpha), n_resamples=self.n_resamples, **facts)

    def to_networkx(self, threshold: float = 0.0, alpha: float | None = None) -> networkx.DiGraph:
        """`consensus` as networkx.DiGraph with the frequencies as attributes; by default of all pairs ever adjacent."""
        return self.consensus(threshold, alpha).to_networkx()

    def to_graphml(self, threshold: float = 0.0, alpha: float | None = None) -> str:
        """`consensus` as GraphML text with the frequencies as attributes; by default of all pairs ever adjacent."""
        return self.consensus(threshold, alpha).to_graphml()

    def plot(self, threshold: float = 0.5, alpha: float | None = None, **options: Any) -> Axes:
        """Draw `consensus`, more frequent edges thicker and darker; `options` are the arguments of `PcAlgo.plot`."""
        return self.consensus(threshold, alpha).plot(**options)

    # -- error control ------------------------------------------------------------------------------------------------

    def bound(self, threshold: float, alpha: float | None = None, method: bounds.Method | None = None) -> float:
        """Bound on the expected number of false edges among ``edges(threshold)``.

        Parameters
        ----------
        threshold : float
            A share above 1/2; at or below 1/2 no bound holds, and the result is infinite.
        alpha : float, optional
        method : {"meinshausen-buehlmann", "worst-case", "unimodal"}, optional
            The first for scheme "subsample", the other two for "complementary", where "worst-case" is the default.
            `pycupc.stability.bounds` states the theorem and the assumptions of each.

        Returns
        -------
        float
            A number of edges (adjacencies, whatever their marks), without the pairs of fixedEdges.

        Raises
        ------
        TypeError, ValueError
            The scheme has no bound, or not this one, or the run was interrupted between two halves.
        """
        return self._bound(alpha, method)(_checked_share(threshold))

    def threshold_for(self, n_false: float, alpha: float | None = None, method: bounds.Method | None = None) -> float:
        """The smallest threshold whose `bound` is at most `n_false` edges, among the multiples of 1 / n_resamples.

        Raises
        ------
        TypeError, ValueError
            There is none, because q, the mean number of edges per graph, is too large (choose a smaller alpha); or as
            for `bound`.
        """
        check_real("n_false", "a number of edges", n_false)
        if not n_false > 0:
            raise ValueError(f"n_false must be a number of edges above 0, got {n_false!r}")
        bound = self._bound(alpha, method)
        shares = np.arange(1, self.n_resamples + 1) / self.n_resamples
        found = next((float(share) for share in shares if bound(float(share)) <= n_false), None)
        if found is None:
            raise ValueError(
                f"no threshold bounds the expected number of false edges by {n_false:g}: with {self._q(alpha):.1f} "
                f"edges per graph the bound is {bound(1.0):.3g} at threshold 1; take a smaller alpha"
            )
        return found

    def _bound(self, alpha: float | None, method: bounds.Method | None) -> Callable[[float], float]:
        """The bound as a function of the threshold."""
        scheme = self.resampling.scheme
        chosen = bounds.checked_method(method, scheme, self.resampling.fraction)
        pairs, sizes = np.unique(self.resamples // 2, return_counts=True)
        if scheme == "complementary" and (not len(pairs) or (sizes != 2).any()):
            raise ValueError("the bound needs both halves of every pair; the run was interrupted between two halves")
        q, n_resamples = self._q(alpha), self.n_resamples
        return lambda share: bounds.bound(chosen, q, self.n_pairs, share, n_resamples)

    def _q(self, alpha: float | None) -> float:
        """Mean number of edges per graph, edges in fixedEdges not counted."""
        return self.mean_edges(alpha) - self.n_fixed

    # -- texts --------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        alphas = ", ".join(f"{alpha:g}" for alpha in self.alphas)
        of = "" if self.method == "pc" else f" of {self.method}"
        return (
            f"<Stability{of}: {self.p:,} variables, {self.n_resamples:,} resamples ({self.resampling.scheme}), "
            f"alpha {alphas}>"
        )

    def _figure(self) -> Any:
        stable = self.consensus()
        return stable.small_picture() if stable._is_small else None

    def summary(self) -> str:
        """Size of the study and numbers of edges by frequency, as text."""
        rows, n_resamples = self.resampling, self.n_resamples
        name = METHODS[self.method].title
        lines = [
            f"{name} on resamples: {self.p:,} variables, {rows.n:,} observations",
            f"{n_resamples:,} resamples of {rows.size:,} rows, scheme {rows.scheme!r}, random_state {rows.seed}",
            "",
            f"{'alpha':>8} {'edges per graph':>16} {'ever adjacent':>14} {'in >= 50 %':>11} {'in >= 90 %':>11} "
            f"{'tests per graph':>16}",
        ]
        for k, (alpha, counts) in enumerate(zip(self.alphas, self.counts, strict=True)):
            half, most = (int((counts.adjacent >= least_count(share, n_resamples)).sum()) for share in (0.5, 0.9))
            lines.append(
                f"{alpha:>8g} {self.mean_edges(alpha):>16,.1f} {len(counts.low):>14,} {half:>11,} {most:>11,} "
                f"{self.n_tests[:, k].mean():>16,.0f}"
            )
        for numbers, kind in ((self.n_constant, "constant"), (self.n_copies, "identical to others")):
            if numbers.any():
                several = int((numbers > 0).sum())
                lines.append(f"in {several:,} resamples some variables were {kind}, at most {numbers.max():,} at once")
        lines += [f"{key}: {text}" for key, text in self.notes.items()]
        return Text("\n".join(lines))

    # -- files --------------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        out = super().to_arrays() | {"n_tests": self.n_tests.ravel()}
        for k, counts in enumerate(self.counts):
            out |= {f"low_{k}": counts.low, f"high_{k}": counts.high, f"kinds_{k}": counts.kinds.ravel()}
        return out

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Stability:
        """Read a file that `save` wrote; errors as of `PcAlgo.load`."""
        with npz.reading(path, cls.KIND) as (about, values):
            return cls(**stability_fields(about, values))

    # -- by alpha -----------------------------------------------------------------------------------------------------

    def _alpha(self, alpha: float | None) -> float:
        if alpha is None:
            return self.alphas[0]
        if alpha not in self.alphas:
            raise ValueError(f"alpha must be one of {', '.join(f'{a:g}' for a in self.alphas)}, got {alpha!r}")
        return float(alpha)

    def _counts(self, alpha: float | None) -> Counts:
        return self.counts[self.alphas.index(self._alpha(alpha))]

    def _frequent(self, times: Ints, threshold: float) -> Ints:
        """The positions of the numbers that are a share of at least `threshold` of the resamples, the largest first."""
        kept = np.flatnonzero(times >= least_count(_checked_share(threshold), self.n_resamples))
        return kept[np.argsort(-times[kept], kind="stable")]

    def _keys(self, alpha: float | None) -> Ints:
        counts = self._counts(alpha)
        return pair_keys(counts.low, counts.high, self.p)


def _checked_share(threshold: Any) -> float:
    check_real("threshold", "a number from 0 to 1", threshold, lambda share: 0 <= share <= 1)
    return float(threshold)
