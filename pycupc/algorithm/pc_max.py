"""`pc_max`: the PC algorithm whose colliders are decided by the largest p-value."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from os import PathLike
from typing import Any

from pycupc.algorithm.arguments import Problem, running
from pycupc.algorithm.parameters import Arguments, Method
from pycupc.algorithm.pc import log_lines, pc, with_arrows, with_decisions, with_known
from pycupc.algorithm.skeleton import find_skeleton, keeping, skeleton
from pycupc.engines.protocol import Engine, ProgressHook
from pycupc.independence.custom import IndepTest
from pycupc.orientation import TripleCheck, orient
from pycupc.orientation.conservative import AMBIGUOUS, COLLIDER
from pycupc.orientation.largest_p import decide_by_largest_p
from pycupc.orientation.lines import lines_of_arrows
from pycupc.results.contradictions import CONTRADICTING
from pycupc.results.pcalgo import PcAlgo
from pycupc.system.nearest import hinted
from pycupc.system.text import explained_as


@explained_as(skeleton)
@explained_as(pc)
@hinted
def pc_max(  # noqa: PLR0913 - the arguments of pc
    suffStat: Any,
    indepTest: IndepTest | None = None,
    alpha: float = 0.01,
    labels: Sequence[str] | None = None,
    p: int | None = None,
    fixedGaps: Any = None,
    fixedEdges: Any = None,
    NAdelete: bool = True,
    m_max: float = math.inf,
    skel_method: Method = "stable",
    solve_confl: bool = False,
    numCores: int | None = None,
    verbose: bool = False,
    *,
    engine: str | Engine = "auto",
    engine_options: dict[str, Any] | None = None,
    progress: ProgressHook | bool | None = None,
    quirks: bool = False,
    tiers: Any = None,
    context_all: Sequence[str | int] | None = None,
    context_tier: Sequence[str | int] | None = None,
    forbidden: Any = None,
    correlation: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
    executor: Executor | None = None,
) -> PcAlgo:
    """Estimate the CPDAG of a causal graph with the PC-Max algorithm (Ramsey 2016).

    The skeleton is that of `pc`. An unshielded triple a - b - c is a collider if b is not in the set with the largest
    p-value, among all subsets of the neighbours of a, and of c, given which a and c are tested. `pc` looks at the first
    set that separates a and c, whose p-value may be just above alpha, and finds more false colliders.

    Parameters
    ----------
    suffStat, indepTest, alpha, labels, p, fixedGaps, fixedEdges, NAdelete, m_max, numCores, verbose, engine,
    engine_options, progress, quirks, correlation, checkpoint, executor
        See `skeleton`; `skel_method` is its `method`.
    solve_confl, tiers, context_all, context_tier, forbidden
        See `pc`.

    Returns
    -------
    PcAlgo
        Its separating sets are changed as of the majority rule: b is in those of a non-collider, out of those of a
        collider. ``notes["ambiguous_triples"]`` counts the triples with equal largest p-values, which are not oriented.

    Raises
    ------
    TypeError, ValueError
        An argument is invalid; or a triple has too many subsets to finish: the message names it.
    EngineError, Interrupted
        See `skeleton`.

    Notes
    -----
    p-values are equal if they agree to 9 digits. A p-value that is undefined (NaN) counts as 0, with `NAdelete` too:
    it is no evidence for independence.

    References
    ----------
    Ramsey (2016), Improving accuracy and scalability of the PC algorithm by maximizing p-value, arXiv:1610.00378.

    Examples
    --------
    >>> import numpy as np, pycupc
    >>> rng = np.random.default_rng(1)
    >>> x, z = rng.standard_normal((2, 1000))
    >>> y = x + z + rng.standard_normal(1000)
    >>> fit = pycupc.pc_max(np.column_stack([x, y, z]), labels=["x", "y", "z"], alpha=0.01)
    >>> fit.matrix().loc["x", "y"], fit.matrix().loc["y", "x"]  # x --> y
    (np.int8(1), np.int8(0))
    """
    given = Arguments(
        function="pc_max",
        suffStat=suffStat,
        indepTest=indepTest,
        alpha=alpha,
        labels=labels,
        p=p,
        fixedGaps=fixedGaps,
        fixedEdges=fixedEdges,
        NAdelete=NAdelete,
        m_max=m_max,
        skel_method=skel_method,
        solve_confl=solve_confl,
        numCores=numCores,
        verbose=verbose,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
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
        fit = replace(find_skeleton(problem), method="pc_max")
        if not len(fit.sparse_graph):
            return fit
        with keeping(fit):
            check = _decided(problem, fit)
        if verbose:
            log_lines(_lines(check, fit.labels))
        if problem.known is not None:
            return with_known(fit, problem.known, check, verbose)
        fit = with_decisions(fit, check)
        oriented = orient(fit.sparse_graph, fit.sepset, solve_confl=solve_confl, ambiguous=check.undecided)
        if verbose:
            log_lines(lines_of_arrows(oriented.trace, fit.labels))
        contradicting = {CONTRADICTING: oriented.n_contradicting} if oriented.n_contradicting else {}
        return with_arrows(fit, oriented, notes={**fit.notes, **contradicting})


def _decided(problem: Problem, fit: PcAlgo) -> TripleCheck:
    """The decision on each unshielded triple; the engine takes the test anew, with alpha 1."""
    test, engine = copy.copy(problem.test), problem.engine
    test.alpha, test.na_p = 1.0, 0.0
    engine.close()
    engine.take(test, problem.labels)
    return decide_by_largest_p(fit.sparse_graph, fit.sepset, test, engine.first_separating, problem.known)


def _lines(check: TripleCheck, labels: Sequence[str]) -> Iterator[str]:
    """The decision on each triple, as lines of the log."""
    why = "the set of {a} and {c} with the largest p-value"
    texts = {
        COLLIDER: f"collider, because {why} is without {{b}}",
        AMBIGUOUS: "ambiguous, with {b} and without: equal p",
    }
    for triple, decision in zip(check.triples.tolist(), check.decision.tolist(), strict=True):
        a, b, c = (labels[v] for v in triple)
        text = texts.get(decision, f"no collider, because {why} holds {{b}}")
        yield f"triple {a} - {b} - {c}: {text.format(a=a, b=b, c=c)}"
