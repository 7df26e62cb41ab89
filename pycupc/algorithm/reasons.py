"""The reasons of the marks of a result that does not hold them, as of an object of pcalg.

They follow from the skeleton and the separating sets: where a variant of the method orients these again to the graph
of the result, it gives the reasons as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.select import make_engine
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.base import IndependenceTest
from pycupc.orientation import Orientation, TripleCheck, check_triples, orient
from pycupc.orientation.pag import ALL_RULES, JointCausalInference, orient_pag, without_selection
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

#: The test of a result with its data, in each form that the answer may have; empty without data.
Tests = Sequence[IndependenceTest]
Fit = TypeVar("Fit", PcAlgo, PagAlgo)


def with_reasons(fit: PcAlgo, tests: Tests) -> PcAlgo:
    """`fit` with the reasons of its arrows, if a variant of `pc` gives its graph."""
    if len(fit.sparse_graph) == fit.edge_counts()[1]:
        return fit
    return _with_trace(fit, _cpdags(fit, tests))


def with_reasons_of_marks(
    fit: PagAlgo, tests: Tests, *, rules: Sequence[bool] | None, jci: str | None, context: Sequence[int]
) -> PagAlgo:
    """`fit` with the reasons of its marks, if a variant of `fci` or `rfci` gives its graph.

    `rules`: the ten switches of the call, None for all; `jci`: what it assumed of the variables `context`, or None.
    """
    joint = JointCausalInference(jci, context) if jci else None
    return _with_trace(fit, _pags(fit, tests, [bool(rule) for rule in rules or ALL_RULES], joint))


def _with_trace(fit: Fit, variants: Iterable[Orientation]) -> Fit:
    """`fit` with the reasons of the first variant that has its graph; as it is if there is none."""
    found = next((oriented for oriented in variants if oriented.graph == fit.sparse_graph), None)
    return fit if found is None else replace(fit, trace=found.trace)


def _cpdags(fit: PcAlgo, tests: Tests) -> Iterator[Orientation]:
    """The graphs of the variants of `pc`; the graphs of the rules for triples, whose tests need the data, last."""
    skeleton = _skeleton(fit)
    for solve_confl in (False, True):
        yield orient(skeleton, fit.sepset, solve_confl=solve_confl)
    yield orient(skeleton, fit.sepset, u2pd="retry", random_state=0)
    for check in _checks(fit, tests):
        for solve_confl in (False, True):
            yield orient(skeleton, fit.sepset, solve_confl=solve_confl, ambiguous=check.undecided)


def _pags(fit: PagAlgo, tests: Tests, given: list[bool], jci: JointCausalInference | None) -> Iterator[Orientation]:
    """The graphs of the variants of `fci` or `rfci`; last the variants with a rule for triples, which need the data."""
    skeleton = _skeleton(fit)
    of = (fit.method == "rfci",) if len(fit.later) or fit.all_pdsep else (fit.method == "rfci", fit.method != "rfci")

    def variants(ambiguous: NDArray[np.int64] | None) -> Iterator[Orientation]:
        for of_rfci, rules, quirks in product(of, (given, without_selection(given)), (True, False)):
            yield orient_pag(
                skeleton, fit.sepset, rules=rules, ambiguous=ambiguous, jci=jci, quirks=quirks, of_rfci=of_rfci
            )

    yield from variants(None)
    for check in _checks(fit, tests):
        yield from variants(check.ambiguous)
        yield from variants(check.undecided)


def _skeleton(fit: PcAlgo | PagAlgo) -> SparseGraph:
    return SparseGraph.undirected(fit.p, fit.sparse_graph.low, fit.sparse_graph.high)


def _checks(fit: PcAlgo | PagAlgo, tests: Tests) -> Iterator[TripleCheck]:
    """The triples, decided by the conservative and by the majority rule, without warnings."""
    if fit.alpha is None:
        return
    skeleton = _skeleton(fit)
    for test in tests:
        engine, _ = make_engine("cpu", len(fit.labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine.take(test, fit.labels)
        for maj_rule in (False, True):
            yield check_triples(skeleton, fit.sepset, test, engine.count_separating, maj_rule=maj_rule)
