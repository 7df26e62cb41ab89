"""`rfci`: the RFCI algorithm, for data with hidden common causes, behind the arguments of ``pcalg::rfci``."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.algorithm.arguments import Problem, running
from pycupc.algorithm.fci import Found, fci, first_skeleton, oriented
from pycupc.algorithm.parameters import Arguments, Method
from pycupc.algorithm.skeleton import keeping, skeleton
from pycupc.engines.protocol import Engine, ProgressHook
from pycupc.graph.lists import Lists
from pycupc.independence.custom import IndepTest
from pycupc.orientation.conservative import unshielded
from pycupc.orientation.pag import ALL_RULES, RFCI_LOOPS, without_selection
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.tests_after_levels import LaterTests
from pycupc.system.clusters import Workplace
from pycupc.system.nearest import hinted
from pycupc.system.text import explained_as


@explained_as(skeleton)
@explained_as(fci)
@hinted
def rfci(  # noqa: PLR0913 - pcalg's arguments
    suffStat: Any,
    indepTest: IndepTest | None = None,
    alpha: float = 0.01,
    labels: Sequence[str] | None = None,
    p: int | None = None,
    skel_method: Method = "stable",
    fixedGaps: Any = None,
    fixedEdges: Any = None,
    NAdelete: bool = True,
    m_max: float = math.inf,
    rules: Sequence[bool] = ALL_RULES,
    conservative: bool = False,
    maj_rule: bool = False,
    numCores: int | None = None,
    verbose: bool = False,
    *,
    skeleton: PcAlgo | None = None,
    engine: str | Engine = "auto",
    engine_options: dict[str, Any] | None = None,
    progress: ProgressHook | bool | None = None,
    quirks: bool = False,
    tiers: Any = None,
    correlation: str | None = None,
    executor: Workplace | None = None,
) -> PagAlgo:
    """Estimate the PAG of a causal graph with hidden variables by the RFCI algorithm, as ``pcalg::rfci``.

    It is FCI without Possible-D-SEP: a few tests of triples and of discriminating paths take its place, so that it is
    feasible for thousands of variables. Its marks mean the same as FCI's, but an edge may stay that FCI would remove.

    Parameters
    ----------
    suffStat, indepTest, alpha, labels, p, fixedGaps, fixedEdges, NAdelete, m_max, numCores, verbose, engine,
    engine_options, progress, correlation, executor
        See `pycupc.skeleton`; `skel_method` is its `method`.
    rules, conservative, maj_rule, skeleton
        See `fci`.
    quirks : bool, default False
        Reproduce faults of pcalg 2.7-12 (docs/contracts/latent.md, section 6), and the faults of the test that
        `pycupc.skeleton` describes.
    tiers : sequence of p numbers, mapping, `Knowledge`, or path, optional
        See `fci`. Rules 5 to 7, for selection bias, are not used then.

    Returns
    -------
    PagAlgo

    Raises
    ------
    TypeError, ValueError, EngineError, Interrupted
        See `pycupc.pc`.

    References
    ----------
    Colombo, Maathuis, Kalisch and Richardson (2012), Learning high-dimensional directed acyclic graphs with latent and
    selection variables, Ann. Stat. 40, 294-321.
    """
    given = Arguments(
        function="rfci",
        suffStat=suffStat,
        indepTest=indepTest,
        alpha=alpha,
        labels=labels,
        p=p,
        skel_method=skel_method,
        fixedGaps=fixedGaps,
        fixedEdges=fixedEdges,
        NAdelete=NAdelete,
        m_max=m_max,
        rules=rules,
        conservative=conservative,
        maj_rule=maj_rule,
        numCores=numCores,
        verbose=verbose,
        skeleton=skeleton,
        engine=engine,
        engine_options=engine_options,
        progress=progress,
        quirks=quirks,
        tiers=tiers,
        correlation=correlation,
        executor=executor,
    )
    with running(given) as problem:
        fit = first_skeleton(problem, skeleton)
        rule = "conservative" if conservative else "majority" if maj_rule else ""
        with keeping(fit):
            return _Run(problem, fit, rule, quirks)(rules)


class _Run:
    """What follows the skeleton."""

    def __init__(self, problem: Problem, fit: PcAlgo, rule: str, quirks: bool) -> None:
        from pycupc.orientation.pag.dependence import Dependence  # loads Numba
        from pycupc.orientation.pag.orienting import Orienting

        self._problem, self._fit, self._rule, self._quirks = problem, fit, rule, quirks
        self._ambiguous = np.zeros((0, 3), dtype=np.int64)
        self._states = set[Hashable]()
        self._work = Orienting(fit.sparse_graph, quirks, of_rfci=True)
        self._tests = Dependence(
            self._work,
            fit.sepset,
            problem.engine.first_separating,
            in_order=problem.test.in_order,
            kept=None if quirks else problem.fixed,
            quirks=quirks,
        )

    def __call__(self, rules: Sequence[bool]) -> PagAlgo:
        tests = self._tests
        tests.examine(unshielded(self._fit.sparse_graph))
        if self._rule:
            self._decide(self._rule)
        tiers = self._problem.tiers
        if tiers is not None:
            rules = without_selection(rules)
        with self._work.compiling():
            self._work.mark_triples(tests.sepset(), self._ambiguous)
            self._work.assume(None, () if tiers is None else tiers.arrowheads(self._work.left()))
            self._work.orient_colliders()
            self._work.apply_rules(rules, RFCI_LOOPS, self._member)
            pag = self._work.oriented()
        notes = {"ambiguous_triples": len(self._ambiguous)} if self._rule else {}
        found = Found(pag.graph, tests.sepset(), self._later(), notes=notes)
        return oriented(self._fit, found, self._problem, pag)

    def _decide(self, rule: str, listed: NDArray[np.int64] | None = None, *, strict: bool = False) -> NDArray[np.int64]:
        """The ambiguous triples, of all or of the `listed`; their separating sets change as the rule says."""
        graph, sepset = self._work.left(), self._tests.sepset()
        check = self._problem.check_triples(graph, sepset, maj_rule=rule == "majority", listed=listed)
        self._tests.write(check.cells)
        ambiguous = check.undecided if strict else check.ambiguous
        self._ambiguous = np.concatenate([self._ambiguous, ambiguous])
        return ambiguous

    def _member(self, path: tuple[int, ...]) -> bool | None:
        """Whether b is in a set of the ends of a discriminating path; None if tests have removed one of its edges."""
        tests, (b, c) = self._tests, path[-2:]
        cut = tests.cut((*path[:2], b, c) if self._quirks else path)
        if cut is None or self._repeats(path):
            return b in tests.set_of(path[0], c)
        from pycupc.orientation.pag.dependence import triples_over

        triples = triples_over(cut.x, cut.y, tests.common_neighbours(cut.x, cut.y))
        new = np.array(triples, dtype=np.int64).reshape(-1, 3)
        triples += tests.examine(new, self._circled if self._quirks else None)
        self._orient(triples)
        return None

    def _repeats(self, path: tuple[int, ...]) -> bool:
        """Whether this path has been cut before with all marks and sets as now, as pcalg goes on doing for ever."""
        state = (path, self._work.marks(), self._tests.changed_cells())
        repeated = state in self._states
        self._states.add(state)
        return repeated

    def _circled(self, x: int, y: int) -> list[int]:
        """The common neighbours that pcalg makes new triples of."""
        circles = self._work.has_circles
        return [m for m in self._tests.common_neighbours(x, y) if circles(x, m) and circles(y, m)]

    def _orient(self, triples: Sequence[tuple[int, int, int]]) -> None:
        """Orient the colliders among new triples."""
        tests, adjacent = self._tests, self._work.adjacent
        left = [(x, y, z) for x, y, z in triples if adjacent(x, y) and adjacent(z, y) and not adjacent(x, z)]
        # pcalg forgets which rule it was given, and applies one only if a triple is ambiguous already.
        rule = ("conservative" if len(self._ambiguous) else "") if self._quirks else self._rule
        unclear = set[tuple[int, int, int]]()
        if rule and left:
            found = self._decide(rule, np.array(left, dtype=np.int64), strict=self._quirks)
            unclear = {(a, b, c) for a, b, c in found.tolist()}
            for triple in unclear:
                self._work.mark_ambiguous(*triple)
        for x, y, z in left:
            if (x, y, z) not in unclear and y not in tests.set_of(x, z):
                self._work.put_collider(x, y, z)

    def _later(self) -> LaterTests:
        removed = self._tests.removed
        return LaterTests(
            x=np.array([edge.x for edge in removed], dtype=np.int32),
            y=np.array([edge.y for edge in removed], dtype=np.int32),
            S=Lists.of([edge.S for edge in removed]),
            value=np.array([edge.value for edge in removed]),
            p=np.array([edge.p for edge in removed]),
            stage="rfci",
            n_tests=self._tests.n_tests,
        )
