"""`CStaR`: the pairs of cause and effect, ranked by how stably their effect is among the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_count, check_labels, check_real
from pycupc.graph.lists import spans
from pycupc.independence.gaussian.ranks import ranks
from pycupc.independence.missing.family import IMPUTED
from pycupc.results import npz
from pycupc.results.schema import indices, require
from pycupc.stability import bounds
from pycupc.stability.over_resamples import DRAWN, Ints, OverResamples
from pycupc.stability.rows import Resampling
from pycupc.system.extras import data_frame
from pycupc.system.shown import Text
from pycupc.system.text import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_INDICES = ("causes", "effects", "q", "resamples", "start", "cause", "effect")
#: The share of the resamples whose values lie in the interval of a pair.
MIDDLE = 0.95


@dataclass(kw_only=True, eq=False, repr=False)
class CStaR(OverResamples):
    """Causal stability ranking of pairs of variables: the result of `pycupc.cstar`.

    Attributes
    ----------
    labels : tuple of p str
    alpha : float
    resampling : Resampling
        Rows, scheme, fraction and seed.
    causes, effects : int64
        Positions of the candidates.
    q : int64
        Ascending: a pair is selected at q in a resample if its effect is among the q largest.
    resamples : int64 (n_resamples,)
        The numbers of the resamples that are counted: 0, 1, ..., unless the run was interrupted.
    start : int64 (n_resamples + 1,)
        The entries of resample k are ``start[k]`` to ``start[k + 1] - 1``.
    cause, effect : int64
        The pairs with the largest effects of each resample, at most ``q[-1]``, the largest first.
    value : float64
        Their effects: for each pair the possible effect of smallest absolute value, with its sign.
    arguments : dict
        The arguments that determine the answer; large ones and the data are represented by their hash.
    """

    _OFFERED: ClassVar[Sequence[str]] = ("top", "alpha")
    KIND = npz.Kind("pycupc-cstar-1", "a result that CStaR.save wrote")
    FACTS = ("alpha",)
    ARRAYS = (*_INDICES, "value")
    alpha: float
    causes: Ints
    effects: Ints
    q: Ints
    start: Ints
    cause: Ints
    effect: Ints
    value: Floats

    @property
    def n_pairs(self) -> int:
        """Number of candidate pairs of different variables."""
        return len(self.causes) * len(self.effects) - len(np.intersect1d(self.causes, self.effects))

    # -- the ranking --------------------------------------------------------------------------------------------------

    def to_pandas(self, q: int | None = None) -> pd.DataFrame:
        """All pairs that were ever selected, the best first.

        Parameters
        ----------
        q : int, optional
            One of `q`, for the columns pi and pcer; by default the largest.

        Returns
        -------
        pandas.DataFrame
            cause, effect, median_rank (infinite if the pair was not selected at most of the `q`), pi (share of the
            resamples that select the pair), value (median of its effects in the resamples that select it at the largest
            q), low and high (the middle 95 % of them), pcer (`bound` per candidate pair, NaN if none holds).

        Raises
        ------
        ValueError
            If `q` is none of the numbers `q` of the run.
        """
        return data_frame(self.columns(q))

    def top(self, k: int = 20, q: int | None = None) -> pd.DataFrame:
        """The first k rows of `to_pandas`."""
        check_count("k", k)
        return self.to_pandas(q).head(k)

    def columns(self, q: int | None = None) -> dict[str, NDArray[Any]]:
        """The columns of `to_pandas`."""
        pairs, at = self._pairs, self._at(q)
        names = np.array(self.labels, dtype=object)
        pi = pairs["times"][at] / max(self.n_resamples, 1)
        bounds_of = {share: self.bound(share, q) / self.n_pairs for share in np.unique(pi).tolist()}
        pcer = np.array([bounds_of[share] for share in pi.tolist()])
        pcer[np.isinf(pcer)] = np.nan
        ends = {name: names[pairs[name]] for name in ("cause", "effect")}
        shown = {name: pairs[name] for name in ("value", "low", "high")}
        return {**ends, "median_rank": pairs["rank"], "pi": pi, **shown, "pcer": np.minimum(pcer, 1.0)}

    def bound(self, threshold: float, q: int | None = None) -> float:
        """Bound on the expected number of false pairs among those selected in at least a share `threshold`.

        q^2 / ((2 threshold - 1) N) with N candidate pairs; infinite for a threshold of at most 1/2, or if no theorem
        holds, as for bootstrap resamples, and for imputed data, whose halves are not independent: the imputations of
        one were drawn with the rows of the other. `pycupc.stability.bounds.meinshausen_buehlmann` states the
        assumptions: the pairs without an effect are exchangeable, and the ranking is no worse than a random one.

        Raises
        ------
        TypeError, ValueError
            If `threshold` is not in [0, 1], or `q` is none of the numbers `q` of the run.
        """
        check_real("threshold", "a number from 0 to 1", threshold, lambda share: 0 <= share <= 1)
        most = float(self.q[self._at(q)])
        imputed = self.arguments.get("data_kind") == IMPUTED.name
        if imputed or self.resampling.scheme == "bootstrap" or self.resampling.fraction != 0.5:
            return math.inf
        return bounds.meinshausen_buehlmann(most, self.n_pairs, float(threshold))

    def _at(self, q: int | None) -> int:
        if q is None:
            return len(self.q) - 1
        if q not in self.q:
            raise ValueError(f"q must be one of {', '.join(map(str, self.q.tolist()))}, got {q!r}")
        return int(np.flatnonzero(self.q == q)[0])

    @cached_property
    def _pairs(self) -> dict[str, NDArray[Any]]:
        """The pairs that were selected, the best first; `times`: by how many resamples, a row for each q."""
        keys, pair = np.unique(self.cause * len(self.labels) + self.effect, return_inverse=True)
        place = spans(0, np.diff(self.start))
        times = np.stack([np.bincount(pair[place < q], minlength=len(keys)) for q in self.q])
        rank = np.median(np.where(times, ranks(-times.T).T, np.inf), axis=0)  # of the largest number 1, of 0 infinite
        values, number = self.value[np.lexsort((self.value, pair))], times[-1]
        first = np.cumsum(number) - number
        middle = [_quantile(values, first, number, share) for share in (0.5, (1 - MIDDLE) / 2, (1 + MIDDLE) / 2)]
        best = np.lexsort((keys, -np.abs(middle[0]), -times[-1], rank))
        cause, effect = np.divmod(keys[best], len(self.labels))
        by_value = {name: of_all[best] for name, of_all in zip(("value", "low", "high"), middle, strict=True)}
        return {"cause": cause, "effect": effect, "times": times[:, best], "rank": rank[best], **by_value}

    # -- texts, pictures and files ------------------------------------------------------------------------------------

    def plot(self, k: int = 20, *, ax: Axes | None = None) -> Axes:
        """Ranked dot plot of `top`: the effects in the resamples as rings, their median and the middle 95 % of them."""
        from pycupc.effects.plot import dot_plot

        table, first = self.top(k), (self._pairs["cause"][:k], self._pairs["effect"][:k])
        rings = [self.value[(self.cause == x) & (self.effect == y)] for x, y in zip(*first, strict=True)]
        ax = dot_plot(table, rings, ax)
        ax.set_xlabel(f"effects in the resamples\nfilled: the median; line: the middle {MIDDLE:.0%}")
        return ax

    def __repr__(self) -> str:
        return (
            f"<CStaR: {counted(len(self.causes), 'cause')}, {counted(len(self.effects), 'effect')}, "
            f"{self.n_resamples:,} resamples, alpha {self.alpha:g}>"
        )

    def _figure(self) -> Any:
        return self.plot(10).figure

    def summary(self, k: int = 10) -> str:
        """Size of the study and the first k pairs, as text."""
        rows, grid = self.resampling, ", ".join(map(str, self.q.tolist()))
        lines = [
            f"Causal stability ranking: {self.n_pairs:,} pairs of cause and effect, {rows.n:,} observations",
            f"{self.n_resamples:,} resamples of {rows.size:,} rows, scheme {rows.scheme!r}, random_state {rows.seed}, "
            f"alpha {self.alpha:g}",
            f"q: {grid}; pi and pcer for {self.q[-1]}",
            "",
            f"{'cause':<20} {'effect':<20} {'median rank':>11} {'pi':>6}"
            + "".join(f" {name:>9}" for name in ("value", "low", "high", "pcer")),
        ]
        columns = [column[:k].tolist() for column in self.columns().values()]
        for cause, effect, rank, pi, value, low, high, pcer in zip(*columns, strict=True):
            bound = "-" if math.isnan(pcer) else f"{pcer:.2g}"
            lines.append(
                f"{cause:<20} {effect:<20} {rank:>11g} {pi:>6.2f} {value:>9.3g} {low:>9.3g} {high:>9.3g} {bound:>9}"
            )
        return Text("\n".join(lines))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CStaR:
        """Read a file that `save` wrote; errors as of `PcAlgo.load`."""
        with npz.reading(path, cls.KIND) as (about, values):
            labels = check_labels(about["labels"], len(about["labels"]))
            numbers = {name: indices(values, name) for name in _INDICES}
            for name in ("causes", "effects", "cause", "effect"):
                require(int(numbers[name].max(initial=0)) < len(labels), name, "out of range")
            for name in ("causes", "effects", "q", "resamples"):
                require(bool((np.diff(numbers[name]) > 0).all()) and len(numbers[name]) > 0, name, "out of order")
            start, value = numbers["start"], values["value"]
            sizes = np.diff(start)
            sound = len(sizes) == len(numbers["resamples"]) and start[0] == 0 and start[-1] == len(value)
            require(sound and sizes.min() >= 0 and sizes.max() <= numbers["q"][-1], "start", "out of range")
            require(len(numbers["cause"]) == len(numbers["effect"]) == len(value), "value", f"{len(value)} numbers")
            facts: dict[str, Any] = {"alpha": float(about["alpha"]), "arguments": dict(about["arguments"])}
            facts |= {"resampling": Resampling(*(about[name] for name in DRAWN))}
            return cls(labels=labels, value=value.astype(np.float64), **facts | numbers)


def _quantile(values: Floats, first: Ints, number: Ints, share: float) -> Floats:
    """A quantile of each group of ascending values, interpolated between two of them."""
    at = share * (number - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, number - 1)
    found: Floats = values[first + below] + (at - below) * (values[first + above] - values[first + below])
    return found
