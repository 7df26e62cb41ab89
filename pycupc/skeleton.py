"""The skeleton phase: the level loop of PC-stable. It knows no hardware and asks an engine for each level."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pycupc.arguments import Method, Problem, check_arguments
from pycupc.engines.base import Engine, EngineError, LevelResult
from pycupc.gaussian import fisher_z
from pycupc.results.evidence import LevelSummary, Removals
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.sepset import SepSets

logger = logging.getLogger("pycupc")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes
    ----------
    partial : PcAlgo or None
        The skeleton after the levels that had finished; None if none had.
    """

    def __init__(self, level: int, partial: PcAlgo | None) -> None:
        done = f"levels 0 to {level - 1} had finished and are in .partial" if level else "no level had finished"
        super().__init__(f"interrupted during level {level}; {done}")
        self.partial = partial


def skeleton(
    suffStat: Any,
    indepTest: Callable | None = None,
    alpha: float = 0.05,
    labels: Sequence[str] | None = None,
    p: int | None = None,
    method: Method = "stable",
    m_max: float = math.inf,
    fixedGaps: Any = None,
    fixedEdges: Any = None,
    NAdelete: bool = True,
    numCores: int | None = None,
    verbose: bool = False,
    *,
    engine: str | Engine = "auto",
    engine_options: dict[str, Any] | None = None,
    progress: Callable[[int, int, int, int], None] | None = None,
) -> PcAlgo:
    """Estimate the skeleton of a causal graph with PC-stable, as ``pcalg::skeleton(method = "stable")``.

    Parameters
    ----------
    suffStat : SuffStat, mapping with "C" and "n", or DataFrame
        Correlation matrix (p, p) and number of observations, or data. With another `indepTest`, whatever it takes.
    indepTest : callable ``(x, y, S, suffStat) -> p``, optional
        Conditional-independence test, S a tuple of 0-based indices. The default (None or `gaussCItest`) is the
        Gaussian test on the engines; anything else runs on the reference engine, one call a test.
    alpha : float in [0, 1], default 0.05
        Level of each test; larger keeps more edges.
    labels : sequence of str, optional
        Names of the variables; from `suffStat` if it has some, else "1", "2", ...
    p : int, optional
        Number of variables, if it is not clear from the other arguments.
    method : {"stable", "stable.fast"}
        Both give pcalg's "stable" answer; "original" depends on the order of the variables and is refused.
    m_max : int or inf, default inf
        Largest conditioning set (R: ``m.max``).
    fixedGaps, fixedEdges : bool (p, p), optional
        Symmetric; pairs that never get an edge, and edges that are never tested.
    NAdelete : bool, default True
        A test whose p-value is NaN counts as independence. (The Gaussian test gives none: NaN correlations count as 0.)
    numCores : int, optional
        Threads of the cpu engine; all by default. The answer does not depend on it.
    verbose : bool, default False
        Say on the ``pycupc`` logger, and on stderr if it has no handler, what each level did.
    engine : {"auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference"}, default "auto"
        "auto" takes the GPU when one works and the problem is large enough to gain by it.
    engine_options : dict, optional
        Arguments of the GPU engine: device, beta, gamma, theta, delta.
    progress : callable ``(level, tests_done, tests_at_most, edges_left)``, optional

    Returns
    -------
    PcAlgo
        All edges undirected.

    Raises
    ------
    TypeError, ValueError
        An argument is not what it should be; the message names it.
    EngineError
        The engine cannot run here, or the problem does not fit its memory.
    Interrupted
        Ctrl-C; a KeyboardInterrupt whose ``partial`` holds the levels that had finished.

    Notes
    -----
    Every decision, separating set and test count is that of pcalg's "stable" method (`n_edgetests` too).

    References
    ----------
    Colombo and Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15.
    Zarebavani et al. (2020), cuPC: CUDA-based parallel PC algorithm for causal structure learning on GPU, IEEE TPDS 31.
    """
    problem = check_arguments(
        suffStat,
        indepTest,
        alpha,
        labels,
        p,
        method,
        m_max,
        fixedGaps,
        fixedEdges,
        NAdelete,
        numCores,
        verbose,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
        function="skeleton",
    )
    with heard(verbose):
        return find_skeleton(problem)


def find_skeleton(problem: Problem) -> PcAlgo:
    """Run the level loop on checked arguments."""
    engine, p = problem.engine, len(problem.labels)
    n = problem.n
    levels: list[LevelSummary] = []
    results: list[LevelResult] = []
    level = 0
    try:
        if problem.suff_stat is not None:
            problem.suff_stat.check(engine.inspect(problem.C), problem.labels)
        _check_memory(problem)
        logger.info("%d variables, alpha %g, engine %s", p, problem.alpha, problem.engine_note)
        engine.start(problem.C, n, gaps=problem.gaps, fixed=problem.fixed, progress=problem.progress)
        edges = int(engine.degrees().sum()) // 2
        if not edges:
            return _nothing_to_test(problem)
        more = True
        while more and edges and level <= problem.m_max:
            start = time.perf_counter()
            cutoff = fisher_z.cutoff(problem.alpha, n, level) if problem.suff_stat is not None else math.nan
            result = engine.run_level(level, cutoff)
            edges -= result.n_removed
            seconds = time.perf_counter() - start
            results.append(result)
            levels.append(LevelSummary(level, result.n_tests, result.n_removed, edges, result.n_careful, seconds))
            logger.info(
                "level %d: %d tests, %d edges removed, %d left, %.3f s",
                level,
                result.n_tests,
                result.n_removed,
                edges,
                seconds,
            )
            more = result.more
            level += 1
        return _assemble(problem, levels, results)
    except KeyboardInterrupt:
        partial = _assemble(problem, levels, results) if levels else None
        raise Interrupted(level, partial) from None
    finally:
        engine.close()


def _nothing_to_test(problem: Problem) -> PcAlgo:
    """fixedGaps leaves no pair: pcalg's answer then has max.ord -1 and one count, 0."""
    p = len(problem.labels)
    adjacency = np.zeros((p, p), dtype=np.bool_)
    p_max = np.where(np.eye(p, dtype=bool), 1.0, -np.inf)
    return PcAlgo(
        labels=problem.labels,
        graph=adjacency.astype(np.int8),
        skeleton=adjacency,
        sepset=SepSets.from_levels(adjacency, [], problem.gaps),
        n_edgetests=[0],
        max_ord=-1,
        call=problem.call,
        n=problem.n if problem.suff_stat is not None else None,
        alpha=problem.alpha,
        engine=problem.engine_note,
        pMax=p_max,
        gaps=problem.gaps,
    )


def _assemble(problem: Problem, levels: list[LevelSummary], results: list[LevelResult]) -> PcAlgo:
    engine = problem.engine
    adjacency = engine.adjacency()
    graph = np.zeros(adjacency.shape, dtype=np.int8)  # zeros are free until written: most pages never are
    later = [r for r in results if r.level > 0]
    evidence: dict[str, Any]
    if problem.suff_stat is not None:
        x, y, z = engine.kept()
        graph[x, y] = graph[y, x] = 1
        p_kept = np.where(np.isinf(z), -np.inf, fisher_z.z_to_p(z))
        evidence = {"C": problem.C, "kept": (x, y, p_kept)}
    else:
        graph[adjacency] = 1
        p_max = np.maximum(engine.p_max, engine.p_max.T)  # type: ignore[attr-defined]
        np.fill_diagonal(p_max, 1.0)
        evidence = {"pMax": p_max}
    return PcAlgo(
        labels=problem.labels,
        graph=graph,
        skeleton=adjacency,
        sepset=SepSets.from_levels(adjacency, [(r.x, r.y, r.S) for r in later], problem.gaps),
        n_edgetests=[s.n_tests for s in levels],
        max_ord=len(levels) - 1,
        call=problem.call,
        n=problem.n if problem.suff_stat is not None else None,
        alpha=problem.alpha,
        levels=levels,
        engine=problem.engine_note,
        removals=Removals(*((r.x, r.y, r.level, r.r) for r in later)),
        gaps=problem.gaps,
        **evidence,
    )


def _check_memory(problem: Problem) -> None:
    p = len(problem.labels)
    need, free = problem.engine.memory(p)
    if need > free:
        raise EngineError(
            f"{p:,} variables need about {need / 1e9:.1f} GB on engine {problem.engine.name!r} and {free / 1e9:.1f} GB "
            "are free; use fewer variables, or another engine or machine"
        )


@contextmanager
def heard(verbose: bool):
    """With `verbose`, let the package's log lines be seen, even where nobody has set up logging."""
    if not verbose:
        yield
        return
    handler, before = None, logger.level
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("pycupc: %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        if handler is not None:
            logger.removeHandler(handler)
