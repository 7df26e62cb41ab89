"""`cstar`: the pairs whose effect is among the largest in many resamples (docs/contracts/effects.md, section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.parameters import KNOWLEDGE
from pycupc.algorithm.pc import pc
from pycupc.data.names import check_real, is_whole, positions
from pycupc.effects.local import LocalEffects, largest
from pycupc.effects.parent_sets import parent_sets
from pycupc.effects.pooled import PooledLocalEffects
from pycupc.effects.regression import weights_of
from pycupc.engines.select import DEVICE_ENGINES
from pycupc.independence.families import family_of, moments_of
from pycupc.independence.gaussian.family import CorrelatedRows
from pycupc.independence.gaussian.measures import deviations_of
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.registry import Moments
from pycupc.stability.ranking import CStaR, Floats
from pycupc.stability.rows import Ints, Scheme
from pycupc.stability.stability_arguments import Plan, checked_study
from pycupc.stability.stability_run import collected
from pycupc.stability.study import Arrays, Outcome, Resampled
from pycupc.system.localised_message import Message, Value
from pycupc.system.machine import available_cores
from pycupc.system.nearest import hinted

#: The arrays of an outcome.
PAIRS = ("cause", "effect", "value")
#: The number of values of `q` by default.
N_Q = 10
#: Up to this number of effects, only the correlations that are needed are computed.
FEW = 50


@dataclass(frozen=True)
class CausalStudy(Resampled[CStaR]):
    """A study that asks for the largest effects in every resample. Its positions and its `q` ascend.

    Arrays of an outcome: `cause`, `effect`, `value` of the pairs that `largest` finds; at most the largest q pairs.
    """

    causes: Ints
    effects: Ints
    q: Ints
    standardize: bool

    def outcome(self, i: int) -> Outcome:
        """Run `pc` on resample `i`, and find the pairs with the largest effects in its graph."""
        rows = self.resampling.indices(i)
        stat, *_ = self.rows.take(rows)
        fit = pc(stat, alpha=self.alphas[0], random_state=self.resampling.random_state(i), **self.arguments)
        known = any(self.arguments.get(name) is not None for name in KNOWLEDGE)
        sets = parent_sets(fit.sparse_graph, self.causes.tolist(), with_knowledge=known)
        k, deviations = int(self.q[-1]), None
        if not isinstance(self.rows, CorrelatedRows):
            moments = _moments(stat, quiet=True)
            matrices = moments.correlations() if self.standardize else moments.matrices
            return _outcome(i, *largest(PooledLocalEffects.of(matrices, sets, self.causes, self.effects), k))
        if not self.standardize:
            values = self.rows.table.values[rows]
            complete = self.rows.measure.n_rule is None
            deviations = values.std(axis=0, ddof=1) if complete else deviations_of(values)
        on_device = fit.engine_name in DEVICE_ENGINES
        X = stat.correlations.data if on_device and not stat.has_C else None
        if X is not None and len(self.effects) > FEW:  # the device has had all correlations
            from pycupc.effects import on_gpu

            options = {"devices": "all", **(self.arguments["engine_options"] or {})}
            device = options.get("device", 0 if options["devices"] == "all" else options["devices"][0])
            return _outcome(i, *on_gpu.largest_of(X, deviations, sets, self.causes, self.effects, k, device))
        x, y = sets.pairs()
        pairs, columns = _needed(stat, x, y, self.effects)
        if deviations is not None:
            pairs = pairs * deviations[x] * deviations[y]
            columns = columns * deviations[:, None] * deviations[self.effects]
        found = LocalEffects(self.causes, self.effects, sets, weights_of(pairs, sets), columns)
        return _outcome(i, *largest(found, k))

    def check(self, arrays: Arrays) -> None:
        cause, effect, value = (arrays[name] for name in PAIRS)
        sound = len(cause) == len(effect) == len(value) <= self.q[-1] and np.isfinite(value).all()
        if not sound or not (np.isin(cause, self.causes).all() and np.isin(effect, self.effects).all()):
            raise ValueError("its effects are out of range")

    def result(self, outcomes: Sequence[Outcome]) -> CStaR:
        parts = [outcome.arrays for outcome in outcomes]
        cause, effect, value = (np.concatenate([of[name] for of in parts]) for name in PAIRS)
        own: dict[str, Any] = {name: getattr(self, name) for name in ("resampling", "causes", "effects", "q")}
        return CStaR(
            labels=tuple(self.arguments["labels"]),
            alpha=self.alphas[0],
            resamples=np.array([outcome.index for outcome in outcomes]),
            start=np.cumsum([0, *(len(of["value"]) for of in parts)]),
            cause=cause.astype(np.int64),  # a file has smaller integers
            effect=effect.astype(np.int64),
            value=value,
            arguments=self.identity,
            **own,
        )

    @cached_property
    def identity(self) -> dict[str, Any]:
        """As of every study, with the candidates and q."""
        chosen = {"causes": self.causes, "effects": self.effects}
        own = {name: "all" if len(given) == self.p else given.tolist() for name, given in chosen.items()}
        own |= {"q": self.q.tolist(), "standardize": self.standardize}
        if not isinstance(self.rows, CorrelatedRows):
            family, test = family_of(self.arguments["indepTest"], self.rows.whole())
            own |= {"indepTest": test.__name__, "data_kind": family.name}
        return {**super().identity, **own}


def _moments(data: Any, *, quiet: bool = False) -> Moments:
    """The covariances of data of a family that has them; ValueError where effects cannot be computed."""
    text = "data must be numbers, for a test of linear dependence (gaussCItest, gaussMItest, gaussCItwd): effects are "
    try:
        moments = moments_of(data, quiet=quiet)
    except TypeError:  # of categories
        raise ValueError(f"{text}linear, got {data!r}") from None
    if moments is None:
        kind = family_of(None, data)[0].name
        raise ValueError(f"{text}linear, got data of kind {kind!r} or another test")
    return moments


def _outcome(i: int, *pairs: NDArray[Any]) -> Outcome:
    return Outcome(i, dict(zip(PAIRS, pairs, strict=True)))


def _needed(stat: SuffStat, x: Ints, y: Ints, effects: Ints) -> tuple[Floats, Floats]:
    """The correlations of x and y, and of all variables with the effects, float64 (p, number of effects).

    For few effects, where only a device has had all correlations, no others are computed.
    """
    if stat.has_C or len(effects) > FEW:
        return stat.C[x, y], stat.C if len(effects) == stat.p else stat.C[:, effects]
    columns, every = stat.correlations.columns(), np.arange(stat.p)
    of_effects = columns.pairs(np.repeat(every, len(effects)), np.tile(effects, stat.p), available_cores())
    return columns.pairs(x, y, available_cores()), of_effects.reshape(stat.p, -1)


@hinted
def cstar(  # noqa: PLR0913 - as stability, and the candidates
    data: Any,
    causes: Sequence[str | int] | str | int | None = None,
    effects: Sequence[str | int] | str | int | None = None,
    q: int | Sequence[int] | None = None,
    *,
    n_resamples: int = 100,
    alpha: float = 0.01,
    scheme: Scheme = "subsample",
    fraction: float = 0.5,
    standardize: bool = True,
    random_state: int | np.random.Generator | None = None,
    executor: Executor | None = None,
    checkpoint: str | PathLike[str] | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
    **arguments: Any,
) -> CStaR:
    """Rank pairs of cause and effect by how often their effect is among the largest in resamples of the rows.

    Causal stability ranking (Stekhoven et al. 2012): in each resample `pc` estimates the graph, and the smallest
    absolute possible effect of each pair (`ida`) ranks the pairs. A pair is selected at q if it is among the q first;
    Pi is the share of the resamples that select it. docs/contracts/effects.md tells what the numbers mean.

    Parameters
    ----------
    data : table, array_like (n, p), or path of a file
        Observations, as for `SuffStat.from_data`. A `MultipleImputation`: the effects of a resample are the means over
        its imputations. An `IncompleteTable`, or a `SuffStat` with ``missing="pairwise"``: they come from the
        covariances of the rows that are complete in each pair.
    causes, effects : str, int, or sequence of them, optional
        The candidates, by label or position; by default all variables.
    q : int, or sequence of them, optional
        Each pair has the median of its ranks by Pi over these numbers. By default up to ten numbers, evenly spaced up
        to the square root of the number of candidate pairs.
    n_resamples, scheme, fraction, random_state, executor, checkpoint, progress
        As of `stability`; the resamples are the same. The default scheme is the paper's: halves of the rows.
    alpha : float in [0, 1], default 0.01
        Significance level of each test.
    standardize : bool, default True
        Effects are in standard deviations (of the resample); otherwise in the units of the data.
    **arguments
        Further arguments of `pc`, as of `stability`.

    Returns
    -------
    CStaR

    Raises
    ------
    TypeError, ValueError, IndexError
        An argument is invalid, or `checkpoint` is damaged or belongs to other data or arguments; the message names it.
        These errors are raised before anything is computed.
    EngineError, StabilityInterrupted
        As of `stability`; ``partial`` is a `CStaR`.

    Notes
    -----
    Resample i has the graph of ``pc(data[result.indices(i)], alpha, ...)``, and each pair has one value: among its
    possible effects from ``ida`` with method "local" (with tiers or other knowledge of type "pdag"), the effect of
    smallest absolute value. Pairs whose value is 0 or undefined are never selected.

    Examples
    --------
    >>> import pycupc
    >>> result = pycupc.cstar(pycupc.load_example(), effects="harvest", n_resamples=20, random_state=1)
    >>> len(result.top(3))
    3
    """
    check_real("alpha", "a number in [0, 1]", alpha)
    if not isinstance(standardize, (bool, np.bool_)):
        raise TypeError(f"standardize must be True or False, got {standardize!r}")
    plan = Plan(n_resamples, scheme, fraction, random_state, executor, checkpoint)
    general = checked_study(data, plan, alpha, arguments, name="cstar")
    rows = general.rows
    if not isinstance(rows, CorrelatedRows):
        _moments(rows.whole())
    elif not standardize and rows.measure.name != "pearson":
        raise ValueError("standardize=False needs Pearson's correlations: others have no units of the data")
    elif not standardize:
        rows.table.check_scale()
    labels = general.arguments["labels"]
    of, on = _candidates("causes", causes, labels), _candidates("effects", effects, labels)
    n_pairs = len(of) * len(on) - len(np.intersect1d(of, on))
    if n_pairs == 0:
        raise ValueError(f"causes and effects must have a pair of different variables, got {labels[of[0]]!r} twice")
    drawn = general.rows, general.resampling, general.alphas, general.arguments
    study = CausalStudy(*drawn, of, on, _checked_q(q, n_pairs), bool(standardize))
    return collected(study, plan, progress)


def _candidates(name: str, given: Any, labels: Sequence[str]) -> Ints:
    """Positions of one variable or several, ascending; all if None."""
    if given is None:
        return np.arange(len(labels))
    several = positions(given, labels)
    found = np.unique(several)
    if len(found) < len(several) or not len(found):
        raise ValueError(f"{name} must name one variable or several, each once, got {[labels[v] for v in several]}")
    return found


def _checked_q(q: Any, n_pairs: int) -> Ints:
    """The numbers q, ascending; up to ten by default."""
    if q is None:
        most = math.isqrt(n_pairs - 1) + 1
        return np.unique(np.ceil(np.arange(1, N_Q + 1) * most / N_Q).astype(np.int64))
    several = list(q) if np.ndim(q) > 0 else [q]
    if not several or not all(map(is_whole, several)):
        raise TypeError(f"q must be a whole number or a sequence of them, got {q!r}")
    found = np.unique([int(number) for number in several])
    if found[0] < 1 or found[-1] > n_pairs or len(found) < len(several):
        text = "q must be different numbers from 1 to {most:,}, the number of candidate pairs, got {q}"
        raise ValueError(Message(text, most=n_pairs, q=Value(q)))
    return found
