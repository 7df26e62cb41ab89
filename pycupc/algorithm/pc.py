"""`pc`: the PC algorithm, skeleton then orientation, behind the arguments of ``pcalg::pc``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.arguments import Problem, running
from pycupc.algorithm.parameters import Arguments, Method
from pycupc.algorithm.skeleton import find_skeleton, skeleton
from pycupc.engines.protocol import Engine, ProgressHook
from pycupc.graph.constraints import Constraints
from pycupc.independence.custom import IndepTest
from pycupc.orientation import Orientation, U2pd, compile_ahead, orient
from pycupc.orientation.lines import lines_of_arrows, lines_of_triples
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.summary import CONTRADICTING
from pycupc.system.clusters import Workplace
from pycupc.system.logging import logger
from pycupc.system.nearest import hinted
from pycupc.system.text import explained_as


@explained_as(skeleton)
@hinted
def pc(  # noqa: PLR0913 - pcalg's arguments
    suffStat: Any,
    indepTest: IndepTest | None = None,
    alpha: float = 0.01,
    labels: Sequence[str] | None = None,
    p: int | None = None,
    fixedGaps: Any = None,
    fixedEdges: Any = None,
    NAdelete: bool = True,
    m_max: float = math.inf,
    u2pd: U2pd = "relaxed",
    skel_method: Method = "stable",
    conservative: bool = False,
    maj_rule: bool = False,
    solve_confl: bool = False,
    numCores: int | None = None,
    verbose: bool = False,
    *,
    engine: str | Engine = "auto",
    engine_options: dict[str, Any] | None = None,
    progress: ProgressHook | bool | None = None,
    random_state: int | np.random.Generator | None = None,
    quirks: bool = False,
    tiers: Any = None,
    context_all: Sequence[str | int] | None = None,
    context_tier: Sequence[str | int] | None = None,
    forbidden: Any = None,
    correlation: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    executor: Workplace | None = None,
) -> PcAlgo:
    """Estimate the CPDAG of a causal graph with the PC algorithm, as ``pcalg::pc(skel.method = "stable")``.

    Parameters
    ----------
    suffStat, indepTest, alpha, labels, p, fixedGaps, fixedEdges, NAdelete, m_max, numCores, verbose, engine,
    engine_options, progress, quirks, correlation, checkpoint, executor
        See `skeleton`.
    u2pd : {"relaxed", "rand", "retry"}, default "relaxed"
        What to do when no DAG has the colliders that were found: "relaxed" keeps the result as it is, which need not be
        a CPDAG (`PcAlgo.is_cpdag`, `PcAlgo.to_cpdag`); "rand" returns the CPDAG of a random DAG on the skeleton;
        "retry" first tries other directions of the edges on which colliders disagree.
    skel_method : {"stable", "stable.fast"}
        Both give pcalg's "stable" answer.
    conservative, maj_rule : bool, default False
        Decide whether an unshielded triple is a collider from all separating sets in the neighbourhoods of its ends: by
        agreement of all of them (`conservative`), or by the majority (`maj_rule`). Undecided triples are not oriented.
    solve_confl : bool, default False
        Mark edges on which colliders or rules disagree as bidirected instead of overwriting. A directed cycle can
        remain.
    random_state : int, numpy.random.Generator or None
        Seed or generator for ``u2pd="rand"``, and for "retry" in the rare case that it draws a graph.
    tiers, context_all, context_tier, forbidden
        See `skeleton`.

    Returns
    -------
    PcAlgo

    Raises
    ------
    TypeError, ValueError
        An argument is invalid, or two contradict each other; the message names them. With `conservative` or `maj_rule`,
        also if a triple has too many subsets for the check to finish; the message names it.
    EngineError, Interrupted
        See `skeleton`.

    Notes
    -----
    A pair of `fixedGaps` has no separating set, so x - y - z over a gap (x, z) becomes a collider at y. pcalg does the
    same.

    With tiers, context variables or forbidden arrows the answer equals tpc's, version 1.0 (docs/contracts/tiers.md):
    triples are decided by the majority rule unless `conservative` is set, conflicts are solved, and Meek's fourth rule
    applies.

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
    >>> fit = pycupc.pc(np.column_stack([x, y, z]), labels=["x", "y", "z"], alpha=0.01)
    >>> fit.matrix().loc["x", "y"], fit.matrix().loc["y", "x"]  # x --> y
    (np.int8(1), np.int8(0))
    """
    given = Arguments(
        function="pc",
        suffStat=suffStat,
        indepTest=indepTest,
        alpha=alpha,
        labels=labels,
        p=p,
        fixedGaps=fixedGaps,
        fixedEdges=fixedEdges,
        NAdelete=NAdelete,
        m_max=m_max,
        u2pd=u2pd,
        skel_method=skel_method,
        conservative=conservative,
        maj_rule=maj_rule,
        solve_confl=solve_confl,
        numCores=numCores,
        verbose=verbose,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
        random_state=random_state,
        quirks=quirks,
        tiers=tiers,
        context_all=context_all,
        context_tier=context_tier,
        forbidden=forbidden,
        correlation=correlation,
        checkpoint=checkpoint,
        executor=executor,
    )
    with running(given) as problem:
        ambiguous = None
        if problem.engine.compiles_beside:
            compile_ahead()
        fit = find_skeleton(problem)
        if not len(fit.sparse_graph):
            return replace(fit, method="pc")
        if problem.known is not None:
            return _known_oriented(fit, problem, problem.known, not conservative, verbose)
        if conservative or maj_rule:
            fit, ambiguous = _checked_triples(fit, problem, maj_rule, verbose)
        graph, notes = fit.sparse_graph, dict(fit.notes)
        oriented = orient(
            graph, fit.sepset, u2pd=u2pd, solve_confl=solve_confl, ambiguous=ambiguous, random_state=random_state
        )
        if u2pd != "relaxed":
            notes["orientation"] = f"{u2pd}: {oriented.status}"
        if oriented.n_tries:
            notes["orientations_tried"] = oriented.n_tries
        if oriented.n_contradicting:
            notes[CONTRADICTING] = oriented.n_contradicting
        if verbose:
            _log(lines_of_arrows(oriented.trace, fit.labels))
        return _oriented(fit, oriented, notes=notes)


def _oriented(fit: PcAlgo, oriented: Orientation, **changes: Any) -> PcAlgo:
    """The result of `pc` from its skeleton, with further `changes`."""
    found: dict[str, Any] = {"sparse_graph": oriented.graph, "trace": oriented.trace, "orientation": oriented.status}
    return replace(fit, method="pc", **found, **changes)


def _log(lines: Iterable[str]) -> None:
    for line in lines:
        logger.info("%s", line)


def _checked_triples(fit: PcAlgo, problem: Problem, maj_rule: bool, verbose: bool) -> tuple[PcAlgo, NDArray[np.int64]]:
    """`fit` with its separating sets changed by the conservative or majority rule; the ambiguous triples."""
    check = problem.check_triples(fit.sparse_graph, fit.sepset, maj_rule=maj_rule)
    if verbose:
        _log(lines_of_triples(check, fit.labels, maj_rule=maj_rule))
    changed = fit.sepset.changed(check.cells)
    notes = {**fit.notes, "ambiguous_triples": len(check.undecided)}
    return replace(fit, sepset=changed, found_sepset=fit.sepset, notes=notes), check.undecided


def _known_oriented(fit: PcAlgo, problem: Problem, known: Constraints, maj_rule: bool, verbose: bool) -> PcAlgo:
    """`fit` with its edges oriented as tpc does; the separating sets of the skeleton stay."""
    from pycupc.orientation.known import orient_known  # loads Numba

    problem.test.na_in_rules = 1.0  # as in tpc
    check = problem.check_triples(fit.sparse_graph, fit.sepset, maj_rule=maj_rule, known=known)
    oriented = orient_known(fit.sparse_graph, check, known)
    if verbose:
        _log(lines_of_triples(check, fit.labels, maj_rule=maj_rule))
        _log(lines_of_arrows(oriented.trace, fit.labels))
    notes = {**fit.notes, "ambiguous_triples": len(check.undecided)}
    sepset, tiers, graph = fit.sepset, fit.tiers, fit.sparse_graph
    if len(oriented.graph) < len(graph) and tiers is not None:
        gone = np.flatnonzero(~oriented.graph.adjacent(graph.low, graph.high))
        notes["edges_without_direction"] = len(gone)
        tiers = tiers._replace(lost=np.column_stack([graph.low[gone], graph.high[gone]]))
        sepset = sepset.of_skeleton(oriented.graph, graph.keys[gone])
    return _oriented(fit, oriented, sepset=sepset, found_sepset=sepset, tiers=tiers, notes=notes)
