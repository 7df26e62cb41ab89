"""`Effects`: the possible effects of causes on effects, computed as they are asked for (docs/EFFECTS.md, section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import position
from pycupc.effects.blocks import Block, may_lead
from pycupc.effects.intervals import half_widths, of_smallest
from pycupc.effects.local import BLOCK, LocalEffects
from pycupc.effects.optimal import may_cause, optimal_effects, optimal_set
from pycupc.effects.orientations import Nodes, Orientations
from pycupc.effects.parent_sets import joint_parent_sets
from pycupc.effects.regression import Floats, Ints
from pycupc.effects.regressors import Regressors
from pycupc.graph.sparse import SparseGraph
from pycupc.system.extras import data_frame
from pycupc.system.log import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Variable = int | str


class Reason(NamedTuple):
    """One possible effect: its value, and the variables that it is adjusted for, as labels.

    `parents` are the parents of the cause; `given` is the adjustment set, None if the effect is 0 without a regression,
    because the other variable is a parent of the cause or no descendant, or undefined (NaN). `low` and `high` are the
    ends of the confidence interval of the regression, NaN if the number of observations is not known.
    """

    value: float
    parents: tuple[str, ...]
    given: tuple[str, ...] | None
    low: float
    high: float


@dataclass(kw_only=True, eq=False, repr=False)
class Effects:
    """Possible total effects of causes on effects. ``E[x, y]`` are those of x on y, by label or position.

    Attributes
    ----------
    labels : tuple of p str
    C : float64 (p, p)
        The covariance matrix from which the effects are computed: they are changes of y per unit of x.
    n : float or None
        Number of observations, for intervals.
    causes, effects : int64
        Positions of the variables that are asked about.
    method : {"local", "optimal"}
    device : int or None
        The number of the CUDA device that computes summaries; None: the processor.
    """

    labels: tuple[str, ...]
    C: Floats
    n: float | None
    causes: Ints
    effects: Ints
    method: str
    device: int | None = None
    _graph: SparseGraph = field(repr=False)
    _with_knowledge: bool = False
    _regressors: Regressors = field(init=False)
    _graphs: list[Orientations] = field(init=False)

    def __post_init__(self) -> None:
        self._graphs = []
        if self.method == "local":
            self._regressors = Regressors.local(self._graph, self.causes, with_knowledge=self._with_knowledge)
            return
        sets = []
        for x in self.causes.tolist():
            choices = joint_parent_sets([x], self._orientations)
            self._graphs += [graph for _, graph in choices]
            sets.append([self._orientations.parents[x] | own[0] for own, _ in choices])
        self._regressors = Regressors.of(self.causes.tolist(), sets)

    @cached_property
    def _local(self) -> LocalEffects:
        return LocalEffects.of(self.C, self._regressors, self.causes, self.effects)

    @cached_property
    def _orientations(self) -> Orientations:
        return Orientations.of(self._graph)

    def __repr__(self) -> str:
        pairs = f"{counted(len(self.causes), 'cause')}, {counted(len(self.effects), 'effect')}"
        return f"<Effects: {pairs}, {counted(int(self._regressors.first[-1]), 'parent set')}, method {self.method!r}>"

    # -- values -------------------------------------------------------------------------------------------------------

    def values(self, x: Variable) -> Floats:
        """The possible effects of x on all `effects`, float64 (k, number of effects): a row for each parent set of x.

        0 where the other variable is in the set; NaN where a regression is singular or no adjustment set is valid; no
        rows if x has no valid set of parents. ``E[x, y]`` is a single 0 where y is a parent of x in the graph.
        """
        k = self._number(x, self.causes, "cause")
        return self._values(slice(k, k + 1))

    def __getitem__(self, pair: tuple[Variable, Variable]) -> Floats:
        at = self._number(pair[1], self.effects, "effect")
        if self._is_single(position(pair[0], self.labels), int(self.effects[at])):
            return np.zeros(1)
        found: Floats = self.values(pair[0])[:, at].copy()
        return found if len(found) else np.full(1, np.nan)

    def _is_single(self, x: int, y: int) -> bool:
        """Whether y is a parent of x in the graph, so that the effect is 0 whichever parents x has: one value."""
        return self.method == "local" and y in self._orientations.parents[x]

    def _values(self, causes: slice) -> Floats:
        if self.method == "local":
            return self._local.values(causes)
        first, last = int(self._regressors.first[causes.start]), int(self._regressors.first[causes.stop])
        (x,) = self.causes[causes].tolist()
        sets = [
            [optimal_effects(self.C, [x], [y], graph)[0, 0] for y in self.effects.tolist()]
            for graph in self._graphs[first:last]
        ]
        return np.array(sets, dtype=np.float64).reshape(last - first, len(self.effects))

    def _parents(self, regression: int) -> Nodes:
        _, start, members = self._regressors
        return frozenset(members[start[regression] : start[regression + 1] - 1].tolist())

    def _number(self, v: Variable, among: Ints, what: str) -> int:
        at = np.flatnonzero(among == position(v, self.labels))
        if not len(at):
            raise ValueError(f"{v!r} is not among the variables asked about as {what}")
        return int(at[0])

    # -- summaries ----------------------------------------------------------------------------------------------------

    def smallest(self) -> Floats:
        """The smallest absolute effect of each pair, float64 (causes, effects): a lower bound on its size.

        NaN if one of the effects is, or there is none.
        """
        return self._joined("smallest")

    def mean(self) -> Floats:
        """The mean of the possible effects of each pair, float64 (causes, effects)."""
        return self._joined("mean")

    def sign_agreement(self) -> Floats:
        """How far the signs agree, float64 (causes, effects): 1 if all effects have one sign, 0 if they balance."""
        return self._joined("sign_agreement")

    def _joined(self, how: str) -> Floats:
        parts = [values for _, values in self._summaries(how)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _summaries(self, how: str) -> Iterator[tuple[slice, Floats]]:
        """A summary of the effects of some causes at a time."""
        if self.device is not None:
            from pycupc.effects.on_gpu import summaries

            found = self._local
            yield from summaries(self.C, found.regressions, found.first, self.effects, how, self.device)
        elif self.method == "local":
            yield from self._local.in_blocks(lambda block: (block.causes, block.summary(how)))
        else:
            for causes in (slice(k, k + 1) for k in range(len(self.causes))):
                values = self._values(causes)
                yield causes, Block(causes, values, np.array([0, len(values)])).summary(how)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each pair of different variables: cause, effect, n_values, smallest, mean, sign_agreement."""
        causes, effects = (np.repeat(self.causes, len(self.effects)), np.tile(self.effects, len(self.causes)))
        keep = np.flatnonzero(causes != effects)
        columns = {how: self._joined(how).ravel()[keep] for how in ("smallest", "mean", "sign_agreement")}
        return self._table(causes[keep], effects[keep], columns)

    def top(self, k: int = 20, *, level: float = 0.95) -> pd.DataFrame:
        """The k pairs with the largest smallest absolute effect; memory follows k, not the number of pairs.

        Parameters
        ----------
        k : int
        level : float
            Of the confidence interval.

        Returns
        -------
        DataFrame
            cause, effect, n_values, smallest, mean, sign_agreement, and the effect of smallest size with its interval:
            value, low, high. The interval is that of the regression, given the graph: it does not contain the
            uncertainty about the graph.
        """
        kept: Floats = np.zeros((0, 3))
        n = max(1, len(self.effects))
        rows = max(1, BLOCK // n)
        for causes, sizes in self._summaries("smallest"):
            for a in range(0, len(sizes), rows):
                size, of = sizes[a : a + rows], self.causes[causes][a : a + rows]
                size[np.isnan(size) | (of[:, None] == self.effects)] = -1.0
                at = may_lead(size, k, kept[-1, 0] if len(kept) == k else 0.0)
                new = np.concatenate((kept, np.column_stack((size.ravel()[at], of[at // n], self.effects[at % n]))))
                kept = np.asarray(new[np.lexsort((new[:, 2], new[:, 1], -new[:, 0]))[:k]], dtype=np.float64)
        x, y = kept[:, 1].astype(np.int64), kept[:, 2].astype(np.int64)
        sets = [self._reasons(a, b, level) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        least = [min(reasons, key=lambda reason: abs(reason.value)) for reasons in sets]
        values = [np.array([reason.value for reason in reasons]) for reasons in sets]
        return self._table(x, y, {
            "smallest": kept[:, 0],
            "mean": np.array([v.mean() for v in values]),
            "sign_agreement": np.array([abs(np.sign(v).mean()) for v in values]),
            **{name: np.array([getattr(reason, name) for reason in least]) for name in ("value", "low", "high")},
        })  # fmt: skip

    def _table(self, causes: Ints, effects: Ints, columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
        names = np.array(self.labels, dtype=object)
        number = np.ones(len(self.labels), dtype=np.int64)
        number[self.causes] = np.maximum(np.diff(self._regressors.first), 1)
        number = number[causes]
        if self.method == "local":
            arrows = [x * len(names) + y for x in self.causes.tolist() for y in self._orientations.parents[x]]
            number[np.isin(causes * len(names) + effects, arrows)] = 1
        return data_frame({"cause": names[causes], "effect": names[effects], "n_values": number, **columns})

    def why(self, x: Variable, y: Variable, *, level: float = 0.95) -> list[Reason]:
        """Each possible effect of x on y with the parents of x that give it, and its confidence interval."""
        self._number(x, self.causes, "cause")
        self._number(y, self.effects, "effect")
        return self._reasons(position(x, self.labels), position(y, self.labels), level)

    def _reasons(self, x: int, y: int, level: float) -> list[Reason]:
        k = int(np.flatnonzero(self.causes == x)[0])
        if self._is_single(x, y):
            return [Reason(0.0, tuple(self.labels[v] for v in sorted(self._orientations.parents[x])), None, 0.0, 0.0)]
        values, out = self[x, y], []
        for at, r in enumerate(range(int(self._regressors.first[k]), int(self._regressors.first[k + 1]))):
            parents = self._parents(r)
            given: Nodes | None = None if y in parents else parents
            if self.method == "optimal":
                graph = self._graphs[r]
                given = optimal_set([x], [y], graph) if x != y and may_cause([x], y, graph) else None
            low, high = self._interval(float(values[at]), x, y, given, level)
            names = tuple(self.labels[v] for v in sorted(parents))
            adjusted = None if given is None else tuple(self.labels[v] for v in sorted(given))
            out.append(Reason(float(values[at]), names, adjusted, low, high))
        return out

    def _interval(self, value: float, x: int, y: int, given: Nodes | None, level: float) -> tuple[float, float]:
        half = 0.0
        if self.n is None or np.isnan(value):
            half = np.nan
        elif given is not None and x != y:
            half = float(half_widths(self.C, self.n, [*sorted(given), x], np.array([y]), level)[0])
        return value - half, value + half

    def with_intervals(self, *, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """The effect of smallest size of each pair, and the ends of its interval: float64 (causes, effects) each.

        ValueError with method "optimal", whose sets differ from effect to effect; `why` has its intervals.
        """
        if self.method != "local":
            raise ValueError(f"intervals of all pairs need method 'local', got {self.method!r}")
        value, half = np.full((2, len(self.causes), len(self.effects)), np.nan)
        for k in range(len(self.causes)):
            sets = range(int(self._regressors.first[k]), int(self._regressors.first[k + 1]))
            if sets:
                values = self._values(slice(k, k + 1))
                regressions = self._local.regressions
                value[k], half[k] = of_smallest(self.C, self.n, regressions, sets, values, self.effects, level)
        return value, value - half, value + half

    def on_page(self, nodes: Ints) -> dict[str, Floats]:
        """`with_intervals` among some variables, by position, for the explorer; NaN for what was not asked about."""
        chosen = replace(self, causes=np.intersect1d(nodes, self.causes), effects=np.intersect1d(nodes, self.effects))
        at = np.ix_(np.searchsorted(nodes, chosen.causes), np.searchsorted(nodes, chosen.effects))
        out = {name: np.full((len(nodes), len(nodes)), np.nan) for name in ("value", "low", "high", "agreement")}
        for array, values in zip(out.values(), (*chosen.with_intervals(), chosen.sign_agreement()), strict=True):
            array[at] = values
        return out

    def plot(self, k: int = 20, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
        """Ranked dot plot of `top`: all possible effects of each pair, and the interval of the smallest.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from pycupc.effects.plot import dot_plot

        table = self.top(k, level=level)
        pairs = zip(table["cause"], table["effect"], strict=True)
        return dot_plot(table, [self[x, y] for x, y in pairs], ax)
