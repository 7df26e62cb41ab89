"""The skeleton phase: the level loop of PC-stable. It knows no hardware and asks an engine for each level."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pycupc import citest
from pycupc.engines import Engine, EngineError, LevelResult
from pycupc.engines.choose import make_engine
from pycupc.evidence import LevelSummary, Removals
from pycupc.result import PcAlgo
from pycupc.sepset import SepSets
from pycupc.suffstat import SuffStat, as_suff_stat, check_labels

logger = logging.getLogger("pycupc")

Method = Literal["stable", "stable.fast"]


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


@dataclass
class Problem:
    """Checked arguments of one run."""

    suff_stat: SuffStat | None  # None with a callable test
    raw_suff_stat: Any
    indep_test: Callable | None
    alpha: float
    labels: tuple[str, ...]
    m_max: float
    gaps: np.ndarray | None
    fixed: np.ndarray | None
    NAdelete: bool
    engine: Engine
    engine_note: str
    numCores: int | None
    call: str
    progress: Callable | None
    verbose: bool

    @property
    def C(self) -> np.ndarray:
        """Correlations; with a callable test a stand-in that only has the right shape."""
        p = len(self.labels)
        return self.suff_stat.C if self.suff_stat is not None else np.broadcast_to(np.nan, (p, p))

    @property
    def n(self) -> int:
        return self.suff_stat.n if self.suff_stat is not None else 0


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
        suffStat, indepTest, alpha, labels, p, method, m_max, fixedGaps, fixedEdges, NAdelete, numCores, verbose,
        engine=engine, engine_options=engine_options, progress=progress, function="skeleton",
    )  # fmt: skip
    with _heard(verbose):
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
            cutoff = citest.cutoff(problem.alpha, n, level) if problem.suff_stat is not None else math.nan
            result = engine.run_level(level, cutoff)
            edges -= result.n_removed
            seconds = time.perf_counter() - start
            results.append(result)
            levels.append(LevelSummary(level, result.n_tests, result.n_removed, edges, result.n_careful, seconds))
            logger.info(
                "level %d: %d tests, %d edges removed, %d left, %.3f s",
                level, result.n_tests, result.n_removed, edges, seconds,
            )  # fmt: skip
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
        labels=problem.labels, graph=adjacency.astype(np.int8), skeleton=adjacency,
        sepset=SepSets.from_levels(adjacency, [], problem.gaps), n_edgetests=[0], max_ord=-1, call=problem.call,
        n=problem.n if problem.suff_stat is not None else None, alpha=problem.alpha, engine=problem.engine_note,
        pMax=p_max, gaps=problem.gaps,
    )  # fmt: skip


def _assemble(problem: Problem, levels: list[LevelSummary], results: list[LevelResult]) -> PcAlgo:
    engine = problem.engine
    adjacency = engine.adjacency()
    graph = np.zeros(adjacency.shape, dtype=np.int8)  # zeros are free until written: most pages never are
    later = [r for r in results if r.level > 0]
    evidence: dict[str, Any]
    if problem.suff_stat is not None:
        x, y, z = engine.kept()
        graph[x, y] = graph[y, x] = 1
        p_kept = np.where(np.isinf(z), -np.inf, citest.z_to_p(z))
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


# -- arguments ----------------------------------------------------------------------------------------------------


def check_arguments(
    suffStat, indepTest, alpha, labels, p, method, m_max, fixedGaps, fixedEdges, NAdelete, numCores, verbose,
    *, engine, engine_options, progress, function,
) -> Problem:  # fmt: skip
    """Check everything before anything runs; errors as pcalg has them (contract, section 3), and more."""
    from pycupc.citest import gaussCItest

    if method == "original":
        raise ValueError(
            "method 'original' depends on the order of the variables and is not offered; call pcalg::pc() for it, or "
            "use 'stable'"
        )
    if method not in ("stable", "stable.fast"):
        raise ValueError(f"method must be 'stable' or 'stable.fast', got {method!r}")
    if isinstance(alpha, (bool, str)) or not isinstance(alpha, (int, float, np.integer, np.floating)):
        raise TypeError(f"alpha must be a number in [0, 1], got {alpha!r}")
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha!r}")
    if isinstance(m_max, (bool, str)) or not isinstance(m_max, (int, float, np.integer, np.floating)):
        raise TypeError(f"m_max must be a whole number from 0 on, or inf, got {m_max!r}")
    if math.isnan(m_max) or m_max < 0 or (m_max != math.inf and m_max != int(m_max)):
        raise ValueError(f"m_max must be a whole number from 0 on, or inf, got {m_max!r}")
    if numCores is not None and (not isinstance(numCores, (int, np.integer)) or numCores < 1):
        raise ValueError(f"numCores must be a whole number from 1 on, or None for all, got {numCores!r}")
    if indepTest is not None and not callable(indepTest):
        raise TypeError(f"indepTest must be callable (x, y, S, suffStat) -> p, got {indepTest!r}")

    gaussian = indepTest is None or indepTest is gaussCItest
    if not gaussian and engine not in ("auto", "reference"):
        raise ValueError(f"a custom indepTest runs on engine='reference' only, got engine={engine!r}")
    suff_stat = as_suff_stat(suffStat) if gaussian else None
    known = suff_stat.p if suff_stat is not None else p
    if labels is None and suff_stat is not None:
        labels = suff_stat.labels
    if known is None and labels is None:
        raise ValueError("either labels or p must be given with a custom indepTest")
    if p is not None:
        if isinstance(p, bool) or not isinstance(p, (int, np.integer)):
            raise TypeError(f"p must be the number of variables, got {p!r}")
        if labels is not None and len(labels) != p:
            raise ValueError(f"p must equal the number of labels, {len(labels)}, got {p}")
        if suff_stat is not None and p != suff_stat.p:
            raise ValueError(f"p must equal the number of variables of suffStat, {suff_stat.p}, got {p}")
        if p < 2:
            raise ValueError(f"p must be at least 2, got {p}")
    known = len(labels) if known is None else known
    labels = tuple(str(i + 1) for i in range(known)) if labels is None else check_labels(labels, known)
    gaps, fixed = _pairs(fixedGaps, "fixedGaps", known), _pairs(fixedEdges, "fixedEdges", known)

    if gaussian:
        chosen, note = make_engine(engine, known, numCores=numCores, options=engine_options)
    else:
        from pycupc.engines.reference import ReferenceEngine

        chosen = ReferenceEngine(indepTest, suffStat, float(alpha), bool(NAdelete))
        note = "reference (custom indepTest)"
    name = engine if isinstance(engine, str) else engine.name
    call = f"{function}(alpha={float(alpha):g}, m_max={m_max}, engine={name!r})"
    return Problem(
        suff_stat, suffStat, None if gaussian else indepTest, float(alpha), labels, m_max, gaps, fixed, bool(NAdelete),
        chosen, note, numCores, call, progress, bool(verbose),
    )  # fmt: skip


def _pairs(value: Any, name: str, p: int) -> np.ndarray | None:
    if value is None:
        return None
    matrix = np.asarray(value)
    if matrix.shape != (p, p):
        raise ValueError(f"{name} must have shape ({p}, {p}), got {matrix.shape}")
    if matrix.dtype.kind not in "biuf" or (matrix.dtype.kind == "f" and np.isnan(matrix).any()):
        raise TypeError(f"{name} must be a matrix of True and False, got {matrix.dtype}")
    matrix = np.ascontiguousarray(matrix != 0)
    if not np.array_equal(matrix, matrix.T):
        raise ValueError(f"{name} must be symmetric")
    matrix[np.diag_indices(p)] = False  # the diagonal means nothing
    return matrix if matrix.any() else None


@contextmanager
def _heard(verbose: bool):
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
