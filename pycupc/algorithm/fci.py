"""`fci`: the FCI algorithm, for data with hidden common causes, behind the arguments of ``pcalg::fci``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.arguments import Problem, running
from pycupc.algorithm.parameters import Arguments, Jci, Method, Type
from pycupc.algorithm.possible_d_sep_stage import Stage, run_stage
from pycupc.algorithm.skeleton import find_skeleton, keeping, skeleton
from pycupc.data.names import positions
from pycupc.engines.protocol import Answers, Engine, ProgressHook, Questions
from pycupc.graph.pairs import Pairs
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.custom import IndepTest
from pycupc.orientation import Orientation
from pycupc.orientation.pag import ALL_RULES, JointCausalInference, orient_pag, without_selection
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.tests_after_levels import LaterTests
from pycupc.system.clusters import Workplace
from pycupc.system.localised_message import Message, Setting
from pycupc.system.nearest import hinted
from pycupc.system.text import explained_as


@explained_as(skeleton)
@hinted
def fci(  # noqa: PLR0913 - pcalg's arguments
    suffStat: Any,
    indepTest: IndepTest | None = None,
    alpha: float = 0.01,
    labels: Sequence[str] | None = None,
    p: int | None = None,
    skel_method: Method = "stable",
    type: Type = "normal",
    fixedGaps: Any = None,
    fixedEdges: Any = None,
    NAdelete: bool = True,
    m_max: float = math.inf,
    pdsep_max: float = math.inf,
    rules: Sequence[bool] = ALL_RULES,
    doPdsep: bool = True,
    biCC: bool = False,
    conservative: bool = False,
    maj_rule: bool = False,
    numCores: int | None = None,
    selectionBias: bool = True,
    jci: Jci = "0",
    contextVars: Sequence[int | str] | None = None,
    verbose: bool = False,
    *,
    skeleton: PcAlgo | None = None,
    engine: str | Engine = "auto",
    engine_options: dict[str, Any] | None = None,
    progress: ProgressHook | bool | None = None,
    budget: float | None = None,
    quirks: bool = False,
    tiers: Any = None,
    correlation: str | None = None,
    executor: Workplace | None = None,
) -> PagAlgo:
    """Estimate the PAG of a causal graph with hidden variables by the FCI algorithm, as ``pcalg::fci``.

    Parameters
    ----------
    suffStat, indepTest, alpha, labels, p, fixedGaps, fixedEdges, NAdelete, m_max, numCores, verbose, engine,
    engine_options, progress, correlation, executor
        See `pycupc.skeleton`; `skel_method` is its `method`.
    type : {"normal", "anytime", "adaptive"}, default "normal"
        "anytime" needs a finite `m_max`; "adaptive" takes as `m_max` of the tests after the skeleton the last level of
        that (Colombo et al. 2012).
    pdsep_max : float, default inf
        An edge x - y stays as it is if more variables than this are in Possible-D-SEP(x).
    rules : sequence of 10 bool
        Which of the rules 1 to 10 to use (Zhang 2008).
    doPdsep : bool, default True
        Whether to test the edges of the skeleton given sets from Possible-D-SEP.
    biCC : bool, default False
        Draw these sets from the biconnected component of the edge only.
    conservative, maj_rule : bool, default False
        See `pycupc.pc`. A triple whose ends no set separates is not ambiguous here.
    selectionBias : bool, default True
        Whether there may be selection bias: rules 5 to 7.
    jci : {"0", "1", "12", "123"}, default "0"
        Assumptions about the context variables `contextVars`, which need ``selectionBias=False``: no system variable
        causes a context variable ("1"); besides, no context variable shares a hidden cause with a system variable
        ("12"); besides, the context variables are dependent, but cause each other in no way that is asked for ("123")
        (Mooij et al. 2020).
    contextVars : sequence of int or str, optional
    skeleton : PcAlgo, optional
        A finished skeleton of these data, gaps and fixed edges, as of `pycupc.skeleton`: it is not computed again.
    budget : float, optional
        Limit of the work for each edge given sets from Possible-D-SEP, about in seconds of one core. What lies beyond
        is not searched: the edge stays, a warning says how many, and ``later.open_pairs`` has them.
    quirks : bool, default False
        Reproduce faults of pcalg 2.7-12 (docs/contracts/latent.md, section 6), among them counts of tests and the slot
        allPdsep, and the faults of the test that `pycupc.skeleton` describes.
    tiers : sequence of p numbers, mapping, `Knowledge`, or path, optional
        The tier of each variable, as of `pycupc.pc`. A later tier is no ancestor of an earlier one: no test is given a
        variable that is later than both of its pair, and edges between tiers have an arrowhead at the later end
        (docs/contracts/tiers.md, section 8). Needs ``selectionBias=False`` and ``jci="0"``.

    Returns
    -------
    PagAlgo

    Raises
    ------
    TypeError, ValueError, EngineError, Interrupted
        See `pycupc.pc`.

    References
    ----------
    Spirtes, Meek and Richardson (1999), An algorithm for causal inference in the presence of latent variables and
    selection bias. Zhang (2008), On the completeness of orientation rules for causal discovery in the presence of
    latent confounders and selection bias, Artificial Intelligence 172. Colombo, Maathuis, Kalisch and Richardson
    (2012), Learning high-dimensional directed acyclic graphs with latent and selection variables, Ann. Stat. 40.
    """
    given = Arguments(
        function="fci",
        suffStat=suffStat,
        indepTest=indepTest,
        alpha=alpha,
        labels=labels,
        p=p,
        skel_method=skel_method,
        type=type,
        fixedGaps=fixedGaps,
        fixedEdges=fixedEdges,
        NAdelete=NAdelete,
        m_max=m_max,
        pdsep_max=pdsep_max,
        rules=rules,
        doPdsep=doPdsep,
        biCC=biCC,
        conservative=conservative,
        maj_rule=maj_rule,
        numCores=numCores,
        selectionBias=selectionBias,
        jci=jci,
        contextVars=contextVars,
        verbose=verbose,
        skeleton=skeleton,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
        budget=budget,
        quirks=quirks,
        tiers=tiers,
        correlation=correlation,
        executor=executor,
    )
    with running(given) as problem:
        context = _context(contextVars, problem.labels)
        if context and jci == "0":  # as in pcalg
            warnings.warn(Message("contextVars have no effect with {jci}", jci=Setting("jci", jci)), stacklevel=2)
        if jci == "123":
            fixed = _among(context, len(problem.labels))
            if problem.gaps is not None and problem.gaps.holds(fixed.low, fixed.high).any():
                raise ValueError("jci='123' makes edges of all pairs of contextVars, one of which is in fixedGaps")
            fixed = fixed | problem.fixed
            problem = replace(problem, fixed=fixed if len(fixed) else None)
        fit = first_skeleton(problem, skeleton)
        with keeping(fit):
            found = Found(fit.sparse_graph, fit.sepset, LaterTests())
            if doPdsep:
                largest, pairs = fit.max_ord if type == "adaptive" else m_max, problem.fixed
                stage = Stage(m_max=largest, pdsep_max=pdsep_max, fixed=pairs, tiers=problem.tiers)
                stage = replace(stage, quirks=quirks, budget=budget)
                found = _after_possible_d_sep(found, problem, stage, biCC)
            if conservative or maj_rule:
                found = found.checked(problem, maj_rule, unseparated=doPdsep)
        orient = partial(
            orient_pag,
            found.graph,
            found.sepset,
            rules=rules if selectionBias else without_selection(rules),
            ambiguous=found.ambiguous,
            jci=JointCausalInference(jci, context) if jci != "0" else None,
            arrowheads=() if problem.tiers is None else problem.tiers.arrowheads(found.graph),
        )
        pag = orient(quirks=quirks)
        if quirks:
            found = found.with_faults(pag, orient(quirks=False))
        return oriented(fit, found, problem, pag)


@dataclass(frozen=True)
class Found:
    """The graph, the separating sets and the tests after the skeleton; the triples that must not be oriented."""

    graph: SparseGraph
    sepset: SepSets
    later: LaterTests
    ambiguous: NDArray[np.int64] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def checked(self, problem: Problem, maj_rule: bool, *, unseparated: bool) -> Found:
        """With the conservative or the majority rule; `unseparated`: triples that no set separates are oriented."""
        check = problem.check_triples(self.graph, self.sepset, maj_rule=maj_rule)
        ambiguous = check.ambiguous if unseparated else check.undecided
        notes = {**self.notes, "ambiguous_triples": len(ambiguous)}
        return replace(self, sepset=self.sepset.changed(check.cells), ambiguous=ambiguous, notes=notes)

    def with_faults(self, pag: Orientation, right: Orientation) -> Found:
        """With notes on what the faults of pcalg that were reproduced have changed."""
        ends = ((getattr(one.graph, end) for end in ("low_mark", "high_mark")) for one in (pag, right))
        marks = sum(int(np.count_nonzero(a != b)) for a, b in zip(*ends, strict=True))
        tests = sum(self.later.n_tests) - sum(self.later.n_edgetests_pdsep)
        text, wrong = "faults of pcalg have changed {n} marks; {right} avoids them", Setting("quirks", False)
        notes = {"faults": Message(text, n=marks, right=wrong)} if marks else {}
        return replace(self, notes={**self.notes, **notes, **({"tests_not_counted": tests} if tests else {})})


def first_skeleton(problem: Problem, given: PcAlgo | None) -> PcAlgo:
    """The skeleton; or the given one of the same problem, after which the engine can answer questions as well."""
    if given is None:
        return find_skeleton(replace(problem, function="skeleton") if problem.known is None else problem)
    if not isinstance(given, PcAlgo):
        raise TypeError(f"skeleton must be a result of pycupc.skeleton, got {type(given).__name__}")
    if other := _difference(problem, given):
        raise ValueError(f"skeleton must be of the same {other}")
    problem.engine.take(problem.test, problem.labels, gaps=problem.gaps, fixed=problem.fixed, m_max=0)
    undirected = SparseGraph.undirected(given.p, given.sparse_graph.low, given.sparse_graph.high)
    skeleton: dict[str, Any] = {"sparse_graph": undirected, "trace": {}, "sepset": given.found_sepset}
    return replace(given, method="skeleton", orientation=None, **skeleton)


def _difference(problem: Problem, given: PcAlgo) -> str:
    """In which input a problem differs from the run of a skeleton, in words, or ""; p-values stand for the data."""
    test, labels, p = problem.test, problem.labels, given.p
    if labels != given.labels:
        return "data and alpha: its variables are others"
    for name, mine, theirs in (("n", test.n, given.n), ("alpha", problem.alpha, given.alpha)):
        if mine != theirs:
            return f"data and alpha: got {theirs!r} instead of {mine!r} as {name}"
    if given.tiers is not None and not given.tiers.same(problem.tiers):
        return "tiers, or of none"
    edges = Pairs(p, given.sparse_graph.low, given.sparse_graph.high)
    none = edges - edges
    gaps, fixed = none | problem.gaps, none | problem.fixed
    for name, wrong in (("fixedGaps", gaps - (gaps - edges)), ("fixedEdges", fixed - gaps - edges)):
        if len(wrong):
            return f"{name}, which have the pair of {labels[wrong.low[0]]} and {labels[wrong.high[0]]}"
    pairs = () if test.in_order else islice(combinations(range(p), 2), 1000)  # a test that draws numbers is not asked
    for x, y in islice((pair for pair in pairs if given.found_sepset[pair] is not None), 20):
        S, kept = given.found_sepset[x, y], given.p_values.at(x, y)
        if min(abs(kept - test.p_value(*ends, S)) for ends in ((x, y), (y, x))) > 1e-6:  # not so for NaN
            return f"data and test: {labels[x]} and {labels[y]} have another p-value in these data"
    return ""


def oriented(fit: PcAlgo, found: Found, problem: Problem, pag: Orientation) -> PagAlgo:
    """The result."""
    return PagAlgo(
        labels=problem.labels,
        sparse_graph=pag.graph,
        method=problem.function,  # type: ignore[arg-type]
        skeleton_fit=fit,
        sepset=found.sepset,
        later=found.later,
        trace=pag.trace,
        call=problem.call,
        notes={**fit.notes, **found.notes},
    )


def _after_possible_d_sep(found: Found, problem: Problem, stage: Stage, biCC: bool) -> Found:
    from pycupc.orientation.pag.possible_d_sep import biconnected, possible_d_sep  # loads Numba

    if biCC:
        components = biconnected(found.graph)
        if stage.quirks:  # pcalg takes the labels for positions
            positions = np.array([_position(label) for label in problem.labels])
            components = [positions[v] for v in components]
        stage = replace(stage, components=components or [np.zeros(0, dtype=np.int64)])
    progress = problem.progress

    def ask(questions: Questions) -> Answers:
        hook = None if progress is None else lambda done, pairs: progress(-1, done, pairs, len(found.graph))
        return problem.engine.first_separating(questions, hook)

    pds = possible_d_sep(found.graph, found.sepset)
    graph, sepset, later = run_stage(found.graph, found.sepset, pds, problem.test, ask, stage)
    notes = {}
    if n := len(later.open_pairs):
        notes["not_searched_to_the_end"] = f"{n} ordered pairs, in later.open_pairs"
        warnings.warn(
            f"{n} edges have not been tested given all sets from Possible-D-SEP, which would exceed the budget: they "
            "may be too many; later.open_pairs lists them",
            stacklevel=4,
        )
    return Found(graph, sepset, later, notes=notes)


def _position(label: str) -> int:
    """The position, from 0, that R reads from a label; -1 for none."""
    try:
        return int(float(label)) - 1
    except (ValueError, OverflowError):
        return -1


def _context(variables: Any, labels: Sequence[str]) -> list[int]:
    """Positions of the context variables."""
    try:
        return sorted({*positions(() if variables is None else variables, labels)})
    except (TypeError, ValueError, IndexError) as error:
        raise type(error)(f"contextVars: {error}") from None


def _among(context: Sequence[int], p: int) -> Pairs:
    """All pairs of context variables."""
    pairs = np.array([*combinations(context, 2)], dtype=np.int64).reshape(-1, 2)
    return Pairs(p, *pairs.T)
