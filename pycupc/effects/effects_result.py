"""`Effects`: the possible effects of causes on effects, computed as they are asked for
(docs/contracts/effects.md, section 4).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from pycupc.data.names import check_count, position
from pycupc.effects.causal_paths import may_cause, optimal_effects, optimal_set
from pycupc.effects.local import InBlocks, LocalEffects, largest
from pycupc.effects.orientations import Ints, Nodes, Orientations, Variable, parents_of
from pycupc.effects.parent_sets import Choice, ParentSets, joint_parent_sets, parent_sets
from pycupc.effects.regression import Floats, half_widths
from pycupc.graph.sparse import DIRECTED, SparseGraph
from pycupc.system.extras import data_frame
from pycupc.system.shown import OfferedNames, as_lines, as_picture, as_table
from pycupc.system.text import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


#: Most pairs of which a notebook shows the first ones.
MAX_SHOWN = 250_000


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


class Reasons(list[Reason]):
    """The possible effects of a pair; notebooks show them as a table."""

    def _repr_html_(self) -> str:
        def names(variables: tuple[str, ...] | None) -> str:
            return "not estimated" if variables is None else ", ".join(variables) or "nothing"

        columns = {"parents of the cause": [", ".join(reason.parents) or "none" for reason in self]}
        columns["adjusted for"] = [names(reason.given) for reason in self]
        return as_table({**columns, **{name: [getattr(reason, name) for reason in self] for name in _NUMBERS}})


_NUMBERS = ("value", "low", "high")


@dataclass(kw_only=True, eq=False, repr=False)
class Effects(OfferedNames, InBlocks):
    """Possible total effects of causes on effects. ``E[x, y]`` has the effects of x on y, by label or position.

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
    note : str
        What else must be known about the effects; "" if nothing.
    """

    _OFFERED: ClassVar[Sequence[str]] = (
        *("top", "why", "plot", "values", "to_pandas"),
        *("smallest", "mean", "sign_agreement", "with_intervals"),
        *("labels", "causes", "effects", "method", "note"),
    )
    labels: tuple[str, ...]
    C: Floats
    n: float | None
    causes: Ints
    effects: Ints
    method: str
    device: int | None = None
    note: str = ""
    _graph: SparseGraph = field(repr=False)
    _with_knowledge: bool = False
    sets: ParentSets = field(init=False)
    _choices: list[Choice] = field(init=False)  # of method "optimal": one for each parent set

    def __post_init__(self) -> None:
        causes: list[int] = self.causes.tolist()
        if self.method == "local":
            self.sets = parent_sets(self._graph, causes, with_knowledge=self._with_knowledge)
            return
        choices = [joint_parent_sets([x], self._graph, self._known) for x in causes]
        self._choices = [choice for of_one in choices for choice in of_one]
        self.sets = ParentSets.of(causes, [[choice.parents[0] for choice in of_one] for of_one in choices])

    @cached_property
    def _local(self) -> LocalEffects:
        return LocalEffects.of(self.C, self.sets, self.causes, self.effects)

    @cached_property
    def _known(self) -> Orientations:
        return Orientations.of(self._graph)

    @property
    def source(self) -> str:
        """How the effects were found in data that are not complete observations; else empty."""
        return self.note

    def __repr__(self) -> str:
        pairs = f"{counted(len(self.causes), 'cause')}, {counted(len(self.effects), 'effect')}"
        of = f", {self.source}" if self.source else ""
        return f"<Effects: {pairs}, {counted(int(self.sets.first[-1]), 'parent set')}, method {self.method!r}{of}>"

    def _repr_html_(self) -> str:
        """For notebooks: the first pairs of `top` as a table and, where matplotlib is installed, a dot plot."""
        shown = as_lines(repr(self)[1:-1])
        if len(self.causes) * len(self.effects) <= MAX_SHOWN:
            with contextlib.suppress(ImportError):
                shown += as_table({str(name): column for name, column in self.top(10).items()})
                shown += as_picture(self.plot(10).figure, "the largest effects")
        return f"<div>{shown}</div>"

    # -- values -------------------------------------------------------------------------------------------------------

    def values(self, x: Variable) -> Floats:
        """The possible effects of x on all `effects`, float64 (k, number of effects): a row for each parent set of x.

        0 where the other variable is in the set; NaN where a regression is singular or no adjustment set is valid; no
        rows if x has no valid set of parents. ``E[x, y]`` is a single 0 where y is a parent of x in the graph.
        """
        k = self._number(x, self.causes, "cause")
        return self.rows(slice(k, k + 1))

    def __getitem__(self, pair: tuple[Variable, Variable]) -> Floats:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"E[x, y] has the effects of a pair, got E[{pair!r}]")
        at = self._number(pair[1], self.effects, "effect")
        if self._is_single(position(pair[0], self.labels), int(self.effects[at])):
            return np.zeros(1)
        found: Floats = self.values(pair[0])[:, at].copy()
        return found if len(found) else np.full(1, np.nan)

    def _is_single(self, x: int, y: int) -> bool:
        """Whether y is a parent of x in the graph, so that the effect is 0 whichever parents x has: one value."""
        return self.method == "local" and y in parents_of(x, self._graph)

    def rows(self, causes: slice) -> Floats:
        if self.method == "local":
            return self._local.rows(causes)
        return self._optimal_rows(self.C, causes)

    def _optimal_rows(self, C: Floats, causes: slice) -> Floats:
        """`rows` of method "optimal" in a covariance matrix."""
        found = []
        for r in range(self.sets.first[causes.start], self.sets.first[causes.stop]):
            x, graph = self.sets.members[self.sets.start[r + 1] - 1], self._known.directed(self._choices[r].arrows)
            found.append([optimal_effects(C, [int(x)], [y], graph)[0, 0] for y in self.effects.tolist()])
        return np.array(found, dtype=np.float64).reshape(len(found), len(self.effects))

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
        if self.device is not None:
            from pycupc.effects.on_gpu import summary

            return summary(self.C, self._local, how, self.device)
        parts = [*self.in_blocks(lambda block: block.summary(how))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each pair of different variables: cause, effect, n_values, smallest, mean, sign_agreement."""
        causes, effects = (np.repeat(self.causes, len(self.effects)), np.tile(self.effects, len(self.causes)))
        keep = np.flatnonzero(causes != effects)
        columns = {how: self._joined(how).ravel()[keep] for how in ("smallest", "mean", "sign_agreement")}
        causes, effects, p = causes[keep], effects[keep], len(self.labels)
        number = np.repeat(np.maximum(np.diff(self.sets.first), 1), len(self.effects))[keep]
        if self.method == "local":
            tail, head, kind = self._graph.edge_list()
            arrows = (head.astype(np.int64) * p + tail)[kind == DIRECTED]
            number[np.isin(causes * p + effects, arrows)] = 1
        names = np.array(self.labels, dtype=object)
        return data_frame({"cause": names[causes], "effect": names[effects], "n_values": number, **columns})

    def top(self, k: int = 20, *, level: float = 0.95, by: str = "units") -> pd.DataFrame:
        """The k pairs with the largest smallest absolute effect; memory follows k, not the number of pairs.

        Parameters
        ----------
        k : int
        level : float
            Of the confidence interval.
        by : {"units", "sd"}, default "units"
            In which unit the largest effects are sought: the units of the data, in which a variable with large numbers
            comes first; or standard deviations of the effect per standard deviation of the cause, for variables of
            different units. The table then has them as well, in the column in_sd.

        Returns
        -------
        DataFrame
            cause, effect, n_values, smallest, mean, sign_agreement, and the effect of smallest size with its interval:
            value, low, high. The regression gives the interval, for this graph: it does not contain the uncertainty
            about the graph.
        """
        check_count("k", k)
        if by not in ("units", "sd"):
            raise ValueError(f"by must be 'units' or 'sd', got {by!r}")
        sd = np.sqrt(np.where(self.C.diagonal() > 0, self.C.diagonal(), 1.0))  # a constant has no effect in any unit
        ranked = self._scaled(sd) if by == "sd" else self
        if self.device is None:
            x, y, _ = largest(ranked, k, 0.0)
        else:
            from pycupc.effects import on_gpu

            x, y, _ = on_gpu.largest(ranked.C, ranked._local, k, 0.0, self.device)
        sets = [self.why(a, b, level=level) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        values = [np.array([reason.value for reason in reasons]) for reasons in sets]
        names = np.array(self.labels, dtype=object)
        least = [reasons[np.abs(v).argmin()] for reasons, v in zip(sets, values, strict=True)]
        in_sd = {"in_sd": np.array([one.value for one in least]) * sd[x] / sd[y]} if by == "sd" else {}
        return data_frame({
            "cause": names[x], "effect": names[y], "n_values": np.array([*map(len, sets)], dtype=np.int64),
            "smallest": np.array([abs(reason.value) for reason in least]),
            "mean": np.array([v.mean() for v in values]),
            "sign_agreement": np.array([abs(np.sign(v).mean()) for v in values]),
            **{name: np.array([getattr(reason, name) for reason in least]) for name in _NUMBERS},
            **in_sd,
        })  # fmt: skip

    def _scaled(self, sd: Floats) -> Effects:
        """The effects of the variables divided by these numbers, float64 (p,)."""
        return replace(self, C=self.C / np.outer(sd, sd))

    def why(self, x: Variable, y: Variable, *, level: float = 0.95) -> Reasons:
        """Each possible effect of x on y with the parents of x that give it, and its confidence interval."""
        k = self._number(x, self.causes, "cause")
        x, y = int(self.causes[k]), int(self.effects[self._number(y, self.effects, "effect")])
        if self._is_single(x, y):
            return Reasons([Reason(0.0, self._names(parents_of(x, self._graph)), None, 0.0, 0.0)])
        values, out = self[x, y].tolist(), Reasons()  # a single NaN if there is no set
        for value, (r, parents) in zip(values, self._numbered_sets(k), strict=False):
            given: Nodes | None = None if y in parents else parents
            if self.method == "optimal":
                graph = self._known.directed(self._choices[r].arrows)
                given = optimal_set([x], [y], graph) if x != y and may_cause([x], y, graph) else None
            half = np.nan if self.n is None or np.isnan(value) else 0.0
            if half == 0.0 and given is not None and x != y:
                half = float(self.half_widths([*sorted(given), x], np.array([y]), level)[0])
            adjusted = None if given is None else self._names(given)
            out.append(Reason(value, self._names(parents), adjusted, value - half, value + half))
        return out

    def half_widths(self, members: list[int], ys: Ints, level: float) -> Floats:
        """Half the confidence intervals of the effects of the last member on `ys`, given the others; NaN if unknown."""
        return half_widths(self.C, self.n, members, ys, level)

    def _numbered_sets(self, k: int) -> Iterator[tuple[int, Nodes]]:
        """The parent sets of cause k with their numbers among all."""
        return enumerate(self.sets.of_cause(k), int(self.sets.first[k]))

    def _names(self, members: Nodes) -> tuple[str, ...]:
        return tuple(self.labels[v] for v in sorted(members))

    def with_intervals(self, *, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """The effect of smallest size of each pair, and the ends of its interval: float64 (causes, effects) each.

        ValueError with method "optimal", whose sets differ from effect to effect; `why` has its intervals.
        """
        if self.method != "local":
            raise ValueError(f"intervals of all pairs need method 'local', got {self.method!r}")
        value, half = np.full((2, len(self.causes), len(self.effects)), np.nan)
        for k, x in enumerate(self.causes.tolist()):
            values = self.rows(slice(k, k + 1))
            halves = np.full(values.shape, np.nan)
            for row, (r, parents) in zip(halves, self._numbered_sets(k), strict=True):
                if self.n is not None and not np.isnan(self._local.weights[self.sets.start[r]]):
                    row[:] = self.half_widths([*sorted(parents), x], self.effects, level)
                    row[np.isin(self.effects, [*parents, x])] = 0.0
            if len(values):
                least = np.abs(values).argmin(axis=0)[None]
                value[k], half[k] = (np.take_along_axis(array, least, axis=0)[0] for array in (values, halves))
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
