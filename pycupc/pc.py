"""`pc`: the PC algorithm, skeleton then orientation, behind the arguments of ``pcalg::pc``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from pycupc.arguments import Method, Problem, check_arguments
from pycupc.engines.base import Engine
from pycupc.results.pcalgo import PcAlgo
from pycupc.skeleton import find_skeleton, heard


def pc(
    suffStat: Any,
    indepTest: Callable | None = None,
    alpha: float = 0.05,
    labels: Sequence[str] | None = None,
    p: int | None = None,
    fixedGaps: Any = None,
    fixedEdges: Any = None,
    NAdelete: bool = True,
    m_max: float = math.inf,
    u2pd: Literal["relaxed", "rand", "retry"] = "relaxed",
    skel_method: Method = "stable",
    conservative: bool = False,
    maj_rule: bool = False,
    solve_confl: bool = False,
    numCores: int | None = None,
    verbose: bool = False,
    *,
    engine: str | Engine = "auto",
    engine_options: dict[str, Any] | None = None,
    progress: Callable[[int, int, int, int], None] | None = None,
    random_state: int | np.random.Generator | None = None,
) -> PcAlgo:
    """Estimate the CPDAG of a causal graph with the PC algorithm, as ``pcalg::pc(skel.method = "stable")``.

    Parameters
    ----------
    suffStat, indepTest, alpha, labels, p, fixedGaps, fixedEdges, NAdelete, m_max, numCores, verbose, engine,
    engine_options, progress
        See `skeleton`.
    u2pd : {"relaxed", "rand", "retry"}, default "relaxed"
        What to do when the colliders found do not fit any DAG: keep the result as it is; take a random DAG's CPDAG;
        try other orientations of contradicting colliders first.
    skel_method : {"stable", "stable.fast"}
        Both give pcalg's "stable" answer.
    conservative, maj_rule : bool, default False
        Orient a triple as a collider only if all (most) of its separating sets say so.
    solve_confl : bool, default False
        Mark edges on which colliders or rules disagree as bidirected instead of overwriting.
    random_state : int, numpy.random.Generator or None
        Of ``u2pd="rand"`` (and of "retry" in its rare last resort).

    Returns
    -------
    PcAlgo

    Raises
    ------
    TypeError, ValueError
        An argument is not what it should be, or two contradict each other; the message names them. With
        `conservative` or `maj_rule`: a triple has too many subsets to ever finish; it is named.
    EngineError, Interrupted
        See `skeleton`.

    Notes
    -----
    A pair of `fixedGaps` has no separating set, so x - y - z over a gap (x, z) becomes a collider at y. pcalg does so
    too.

    References
    ----------
    Spirtes, Glymour and Scheines (2000), Causation, Prediction, and Search. Kalisch et al. (2012), Causal inference
    using graphical models with the R package pcalg, J. Stat. Softw. 47(11).

    Examples
    --------
    >>> import numpy as np, pycupc
    >>> rng = np.random.default_rng(1)
    >>> x, z = rng.standard_normal((2, 1000))
    >>> y = x + z + rng.standard_normal(1000)
    >>> fit = pycupc.pc(pycupc.SuffStat.from_data(np.column_stack([x, y, z]), labels=["x", "y", "z"]), alpha=0.01)
    >>> fit.matrix().loc["x", "y"], fit.matrix().loc["y", "x"]  # x --> y
    (np.int8(1), np.int8(0))
    """
    if u2pd not in ("relaxed", "rand", "retry"):
        raise ValueError(f"u2pd must be 'relaxed', 'rand' or 'retry', got {u2pd!r}")
    for name, value in (("conservative", conservative), ("maj_rule", maj_rule), ("solve_confl", solve_confl)):
        if value and u2pd != "relaxed":
            raise ValueError(f"{name}=True needs u2pd='relaxed', got u2pd={u2pd!r}")
    if conservative and maj_rule:
        raise ValueError("choose one of conservative=True and maj_rule=True, got both")
    problem = check_arguments(
        suffStat,
        indepTest,
        alpha,
        labels,
        p,
        skel_method,
        m_max,
        fixedGaps,
        fixedEdges,
        NAdelete,
        numCores,
        verbose,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
        function="pc",
    )
    with heard(verbose):
        fit = find_skeleton(problem)
        return _oriented(fit, problem, u2pd, conservative, maj_rule, solve_confl, random_state)


def _oriented(
    fit: PcAlgo, problem: Problem, u2pd: str, conservative: bool, maj_rule: bool, solve_confl: bool, random_state: Any
) -> PcAlgo:
    """`fit` with its edges oriented."""
    from pycupc.orientation import check_triples, orient

    if not fit.skeleton.any():
        return fit
    ambiguous = None
    if conservative or maj_rule:
        check = check_triples(
            fit.skeleton,
            fit.sepset,
            None if problem.suff_stat is None else problem.C,
            problem.n,
            problem.alpha,
            maj_rule=maj_rule,
            indep_test=problem.indep_test,
            suff_stat=problem.raw_suff_stat,
            n_threads=problem.numCores,
        )
        ambiguous = check.ambiguous
        fit.sepset = fit.sepset.changed(check.sepset_changes)
        fit.notes["ambiguous_triples"] = len(ambiguous)
    oriented = orient(
        fit.skeleton, fit.sepset, u2pd=u2pd, solve_confl=solve_confl, ambiguous=ambiguous, random_state=random_state
    )
    fit.graph, fit.trace = oriented.graph, oriented.trace
    if u2pd != "relaxed":
        fit.notes["orientation"] = f"{u2pd}: {oriented.status}"
    return fit
