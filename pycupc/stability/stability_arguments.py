"""The arguments of `stability`, checked before anything is computed."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from pycupc.algorithm.arguments import Problem, problem_of
from pycupc.algorithm.parameters import KNOWLEDGE, PARAMETERS, Arguments, defaults_of
from pycupc.data.names import is_real, is_whole
from pycupc.engines.protocol import Engine, EngineError
from pycupc.graph.knowledge import Knowledge
from pycupc.independence.families import data_and_test, observations_of
from pycupc.independence.gaussian.test import warn_of_few
from pycupc.independence.registry import Observations, Request
from pycupc.results.methods import ORIENTING
from pycupc.stability.resample_checkpoint import seed_in
from pycupc.stability.rows import Resampling, Scheme, seed_of
from pycupc.stability.study import Study
from pycupc.system.localised_message import Message, Setting
from pycupc.system.nearest import did_you_mean

#: The arguments of each method that `stability` passes on, with their defaults.
ARGUMENTS = {
    method: {name: default for name, default in defaults_of(method).items() if PARAMETERS[name].resampled}
    for method in ORIENTING
}
#: The arguments of `stability` and of `cstar` themselves, to name the one that was meant.
_BOTH = ("data", "n_resamples", "scheme", "fraction", "alpha", "random_state", "executor", "checkpoint", "progress")
OWN = {"stability": (*_BOTH, "method"), "cstar": (*_BOTH, "causes", "effects", "q", "standardize")}


@dataclass(frozen=True)
class Plan:
    """The arguments about resampling, checked on construction."""

    n_resamples: int
    scheme: Scheme
    fraction: float
    random_state: int | np.random.Generator | None
    executor: Executor | None
    checkpoint: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        n, executor, checkpoint = self.n_resamples, self.executor, self.checkpoint
        if not is_whole(n):
            raise TypeError(f"n_resamples must be a whole number, got {n!r}")
        if n < 1:
            raise ValueError(f"n_resamples must be at least 1, got {n}")
        if self.scheme == "complementary" and n % 2:
            text = "n_resamples must be even for {scheme}, which draws pairs, got {n}"
            raise ValueError(Message(text, scheme=Setting("scheme", self.scheme), n=n))
        if executor is not None and not isinstance(executor, Executor):
            raise TypeError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}")
        if checkpoint is not None and not isinstance(checkpoint, (str, PathLike)):
            raise TypeError(f"checkpoint must be the path of a folder, got {checkpoint!r}")

    def seed(self) -> int:
        """The seed: the one that was given, else the seed of the checkpoint if there is one."""
        kept = seed_in(self.checkpoint) if self.random_state is None and self.checkpoint is not None else None
        return seed_of(self.random_state) if kept is None else kept


def checked_study(
    data: Any, plan: Plan, alpha: Any, arguments: dict[str, Any], method: str = "pc", name: str = "stability"
) -> Study:
    """The study of the function with this name; the arguments of the method are checked as the method checks them."""
    if method not in ORIENTING:
        raise ValueError(f"method must be one of {', '.join(map(repr, ORIENTING))}, got {method!r}")
    defaults = ARGUMENTS[method]
    if unknown := sorted(arguments.keys() - defaults.keys()):
        text = f"{unknown[0]} is no argument of {name} or {method}"
        hint = did_you_mean(unknown[0], (*OWN[name], *defaults))
        raise TypeError(text + (hint or f"; {method} has {', '.join(defaults)}"))
    given = {**defaults, **arguments}
    if isinstance(given["engine"], Engine):
        raise TypeError(f"engine must be the name of an engine: each resample makes its own, got {given['engine']!r}")
    if plan.executor is not None and given["numCores"] is None:
        given["numCores"] = 1
    alphas = _checked_alphas(alpha)
    for level in alphas:
        Arguments(function=method, alpha=level, **given).check()
    if "rules" in defaults:
        given["rules"] = tuple(map(bool, given["rules"]))
    correlation, by_default = given.pop("correlation", None), given["indepTest"] is None and name != "cstar"
    wishes = {"test": "gaussian"} if name == "cstar" else {}  # which takes numbers only
    data, given["indepTest"], reason = data_and_test(data, given["indepTest"], correlation, **wishes)
    correlation = None if reason else correlation
    how = {"labels": given["labels"], "correlation": correlation, "by_default": by_default}
    rows = observations_of(Request(data, given["indepTest"], **how))
    resampling = Resampling(rows.n, plan.scheme, plan.fraction, plan.seed())
    problem = _problem(rows, method, given | {"alpha": alphas[0]}, away=plan.executor is not None)
    if problem.test.has_r:
        warn_of_few(resampling.size, stacklevel=5)
    del given["p"]
    flags = {name: bool(given[name]) for name, default in defaults.items() if isinstance(default, bool)}
    given |= {"labels": problem.labels, "fixedGaps": problem.gaps, "fixedEdges": problem.fixed}
    given |= {**flags, "m_max": float(given["m_max"])}  # in one form, as they are part of the study's identity
    if problem.known is not None:
        given |= {name: None for name in KNOWLEDGE if name in given} | {"tiers": Knowledge.of_positions(problem.known)}
    return Study(rows, resampling, alphas, given, method)


def _checked_alphas(alpha: Any) -> tuple[float, ...]:
    alphas = tuple(alpha) if np.iterable(alpha) and not isinstance(alpha, (str, bytes)) else (alpha,)
    if not alphas or not all(map(is_real, alphas)):
        text = f"alpha must be a number in [0, 1] or a sequence of them, got {alpha!r}"
        raise TypeError(text) if alphas else ValueError(text)
    if len(set(alphas)) < len(alphas):
        raise ValueError(f"alpha must not name a level twice, got {alpha!r}")
    return tuple(map(float, alphas))


def _problem(rows: Observations, method: str, given: dict[str, Any], *, away: bool) -> Problem:
    """The checked arguments. If the resamples run elsewhere (`away`), this machine need not have the engine."""
    arguments = Arguments(function=method, suffStat=rows.whole(), **given)
    try:
        problem = problem_of(arguments)
    except EngineError:
        if not away:
            raise
        problem = problem_of(replace(arguments, engine="cpu", engine_options=None))
    problem.engine.close()
    return problem
