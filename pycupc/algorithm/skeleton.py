"""The skeleton phase: the level loop of PC-stable. It is independent of the hardware; an engine runs each level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from pycupc.algorithm.arguments import Problem, running
from pycupc.algorithm.level_checkpoint import Checkpoint
from pycupc.algorithm.parameters import Arguments, Method
from pycupc.algorithm.tiered_levels import TieredLevels
from pycupc.engines.protocol import AnyEngine, Division, Engine, EngineError, LevelResult, ProgressHook, State
from pycupc.graph.removals import Removals
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.custom import IndepTest
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.summary import LevelSummary
from pycupc.system.clusters import Workplace
from pycupc.system.logging import logger
from pycupc.system.nearest import hinted


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes
    ----------
    level : int
        The level that was running; the number of levels, if all had finished.
    partial : PcAlgo or None
        The skeleton after the levels that had finished; None if none had.
    """

    def __init__(self, level: int, partial: PcAlgo | None, stage: str = "") -> None:
        done = f"levels 0 to {level - 1} had finished and are in .partial" if level else "no level had finished"
        super().__init__(f"interrupted during {stage or f'level {level}'}; {done}")
        self.level = level
        self.partial = partial
        self._stage = stage

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int, PcAlgo | None, str]]:
        return type(self), (self.level, self.partial, self._stage)


@contextmanager
def keeping(fit: PcAlgo) -> Iterator[None]:
    """Let Ctrl-C raise `Interrupted` with this skeleton, after which more is tested."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(fit.max_ord + 1, fit, "the tests after the skeleton") from None


@hinted
def skeleton(  # noqa: PLR0913 - pcalg's arguments
    suffStat: Any,
    indepTest: IndepTest | None = None,
    alpha: float = 0.01,
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
    progress: ProgressHook | bool | None = None,
    quirks: bool = False,
    correlation: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    executor: Workplace | None = None,
    tiers: Any = None,
    context_all: Sequence[str | int] | None = None,
    context_tier: Sequence[str | int] | None = None,
    forbidden: Any = None,
) -> PcAlgo:
    """Estimate the skeleton of a causal graph with PC-stable, as ``pcalg::skeleton(method = "stable")``.

    Parameters
    ----------
    suffStat : SuffStat, mapping with "C" and "n", or data
        Correlation matrix (p, p) and number of observations; or a table of observations (n, p), or the path of a file
        that holds one, as accepted by `SuffStat.from_data`. With a custom `indepTest`, whatever that test takes.
    indepTest : callable ``(x, y, S, suffStat) -> p``, optional
        Conditional-independence test, where S is a tuple of 0-based indices. The engines implement `gaussCItest` (the
        default), `pycupc.discrete.disCItest` and `binCItest`; any other function runs on the reference engine, one call
        per test.
    alpha : float in [0, 1], default 0.01
        Significance level of each test; a larger alpha keeps more edges.
    labels : sequence of str, optional
        Names of the variables; by default the names in `suffStat`, or "1", "2", ... if it has none.
    p : int, optional
        Number of variables. Needed only with a custom `indepTest`, unless `suffStat` is a DataFrame or `labels` are
        given.
    method : {"stable", "stable.fast"}
        Both give pcalg's "stable" answer; "original" depends on the order of the variables and is refused.
    m_max : int or inf, default inf
        Largest size of the conditioning sets (R: ``m.max``).
    fixedGaps, fixedEdges : bool (p, p), or list of pairs of names, optional
        Pairs that never get an edge, and edges that are never tested. A matrix must be symmetric; a DataFrame is
        matched by its row and column names.
    NAdelete : bool, default True
        Treat a NaN p-value as independence. (The Gaussian test never returns NaN: a NaN correlation counts as 0.)
    numCores : int, optional
        Number of threads of the cpu engine; by default one per available core. The answer does not depend on it.
    verbose : bool, default False
        Log a line per level on the logger ``pycupc``, and print it to stderr if logging is not configured. `pc` then
        also logs each collider and each arrow that a rule set, with the reason, and each triple that the conservative
        or the majority rule decides.
    engine : {"auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference"} or Engine, default "auto"
        "auto" takes the GPU if one works and the problem is large enough to benefit, else the CPU; "schur" is another
        name for "gpu".
    engine_options : dict, optional
        Options of the engine: pruning (cpu and gpu; True by default); correlations, "dense" to compute all of them from
        data, "rows" only what tests read (cpu and gpu; by default the engine chooses); device, the number of a
        CUDA device, or devices, "all" or a list of numbers, to share the work among them (every GPU engine); beta,
        gamma (cupc-e); theta, delta (cupc-s).
    progress : True, or callable ``(level, tests_done, tests_at_most, edges_left)``, optional
        True shows a bar on stderr. A callable is called several times per second while a level runs, so it must be
        fast.
    quirks : bool, default False
        For tests of categories: reproduce two faults of `disCItest` in pcalg 2.7-12 (docs/contracts/contract.md,
        section 12). If they could affect the answer, the result has a note.
    correlation : {"pearson", "spearman", "kendall", "normal-scores", "latent"}, optional
        Of data: what C is computed from, see `SuffStat.from_data`.
    checkpoint : str or Path, optional
        Folder in which the finished levels are kept, and once a minute the finished parts of a level. The same call
        resumes after them, with another number of threads, too, and after a level with another engine (only tests of
        correlations resume on a GPU).
        Data, arguments or a version of pycupc that would give another skeleton are refused. A custom `indepTest` is
        recognised by its code and everything that this reads, or by its attribute `identity`, a text; it must not draw
        random numbers.
    executor : concurrent.futures.Executor, int or str, optional
        Workers that make the tests of large levels, and answer large questions, in pieces: a `ProcessPoolExecutor`, a
        Dask cluster (``Client.get_executor()``), an `MPIPoolExecutor`; or a number of processes of this machine, or the
        address of a Dask scheduler, for this call. The answer is the same. Each worker has an engine of this kind, with
        `numCores` threads or all its cores. Small work stays in this process. A custom `indepTest` must be known to the
        workers and must not draw random numbers.
    tiers : sequence of p numbers, mapping, `Knowledge`, or path, optional
        The tier of each variable, see `Knowledge`; a path names a file in Tetrad's format. A later tier cannot cause an
        earlier one, so that conditioning sets are drawn from fewer variables: the skeleton equals tpc's, version 1.0
        (docs/contracts/tiers.md). A variable without a tier (None) may be in any.
    context_all, context_tier : sequence of variables, optional
        Variables that nothing causes, which are parents of all others, or of all others in their tier.
    forbidden : bool (p, p), or list of (tail, head), optional
        Arrows tail --> head that must not be; an arrow forbidden both ways is a gap (tpc: ``forbEdges``).

    Returns
    -------
    PcAlgo
        The skeleton, with all edges undirected.

    Raises
    ------
    TypeError, ValueError
        An argument is invalid; the message names it, what was expected and what was given.
    EngineError
        The engine cannot run on this machine, or the problem does not fit into its memory.
    Interrupted
        Ctrl-C was pressed. It is a KeyboardInterrupt whose ``partial`` is the skeleton after the levels that had
        finished.

    Notes
    -----
    All decisions, separating sets and test counts equal pcalg's (method "stable"), except where rounding in pcalg
    decides: where p and alpha agree to 10 digits, and on near-collinear data (docs/contracts/contract.md, sections 10
    and 11).

    References
    ----------
    Colombo and Maathuis (2014), Order-independent constraint-based causal structure learning, JMLR 15, 3741-3782.
    Zarebavani et al. (2020), cuPC: CUDA-based parallel PC algorithm for causal structure learning on GPU, IEEE
    TPDS 31(3), 530-542.
    """
    given = Arguments(
        function="skeleton",
        suffStat=suffStat,
        indepTest=indepTest,
        alpha=alpha,
        labels=labels,
        p=p,
        skel_method=method,
        m_max=m_max,
        fixedGaps=fixedGaps,
        fixedEdges=fixedEdges,
        NAdelete=NAdelete,
        numCores=numCores,
        verbose=verbose,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
        quirks=quirks,
        correlation=correlation,
        checkpoint=checkpoint,
        executor=executor,
        tiers=tiers,
        context_all=context_all,
        context_tier=context_tier,
        forbidden=forbidden,
    )
    with running(given) as problem:
        return find_skeleton(problem)


def find_skeleton(problem: Problem) -> PcAlgo:
    """Run the level loop; errors as of `skeleton`. The engine answers questions until the caller closes it."""
    engine, p, m_max = problem.engine, len(problem.labels), problem.m_max
    levels = problem.levels()
    results: list[LevelResult] = []
    folder = problem.checkpoint
    kept = None if folder is None else Checkpoint(folder, problem)
    try:
        logger.info("%d variables, alpha %g, engine %s", p, problem.alpha, problem.engine_note)
        pairs = {"gaps": problem.gaps, "fixed": problem.fixed}
        division = Division(kept=kept)
        last = m_max if kept is None else 0  # a level that runs ahead would write where the state is read
        levels.take(problem.test, problem.labels, **pairs, m_max=last, progress=problem.progress, division=division)
        results = [] if kept is None else kept.resume(levels)
        edges = problem.n_pairs - sum(r.n_removed for r in results)
        more = results[-1].more if results else edges > 0
        while more and edges and len(results) <= m_max:
            r = levels.run_level(len(results))
            edges -= r.n_removed
            results.append(r)
            if kept is not None:
                kept.keep(r, levels)
            made = f" ({r.n_made} made, {r.n_bounds} bounds)" if r.n_bounds else ""
            text = "level %d: %d tests%s, %d edges removed, %d left, %.3f s"
            logger.info(text, r.level, r.n_tests, made, r.n_removed, edges, r.seconds)
            more = r.more
        return _assemble(problem, results, levels)
    except MemoryError as error:
        raise EngineError(
            f"out of memory at level {len(results)} of {p:,} variables on engine {engine.name!r} "
            f"({str(error) or 'no detail'}); take a smaller alpha or m_max, fewer variables, another engine or machine"
        ) from error
    except KeyboardInterrupt:
        finished = _assemble(replace(problem, function="skeleton"), results, levels) if results else None
        raise Interrupted(len(results), finished) from None


def _assemble(problem: Problem, results: list[LevelResult], levels: AnyEngine | TieredLevels) -> PcAlgo:
    test = problem.test
    state = levels.state() if results else State(*np.zeros((3, 0)))
    graph = SparseGraph.undirected(len(problem.labels), state.x, state.y)
    gaps = None if problem.gaps is None else problem.gaps.keys
    sepset = SepSets(graph, [(r.x, r.y, r.S) for r in results], gaps, state.noncolliders)
    values = [r.r for r in results if len(r.x)]
    found = Removals(sepset, values)
    edges_left = problem.n_pairs - np.cumsum([r.n_removed for r in results], dtype=np.int64)
    note = test.note([r.n_tests for r in results])
    p_values = test.p_values(graph, state, found, sepset)
    return PcAlgo(
        labels=problem.labels,
        sparse_graph=graph,
        sepset=sepset,
        p_values=p_values,
        n_edgetests=[r.n_tests for r in results] or [0],  # pcalg has one count, 0, where fixedGaps leaves no pair
        max_ord=len(results) - 1,
        call=problem.call,
        n=test.n,
        alpha=problem.alpha,
        method="skeleton",
        engine=problem.engine_note,
        engine_name=problem.engine.name,
        levels=tuple(
            LevelSummary(r.level, r.n_tests, r.n_removed, left, r.n_careful, r.seconds, r.n_made, r.n_bounds)
            for r, left in zip(results, edges_left.tolist(), strict=True)
        ),
        removals=found if test.has_r else Removals(sepset, [np.full(len(p), np.nan) for p in values]),
        find_untested=test.find_untested(sepset, p_values),
        tiers=problem.tiers,
        notes=({"quirks": note} if note else {})
        | ({"test": problem.reason} if problem.reason else {})
        | ({"file": problem.file} if problem.file else {})
        | ({} if problem.known is None else {"known_before": problem.known.summary()}),
    )
