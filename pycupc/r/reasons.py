"""The reasons of the marks of results that R holds.

R's object, which is to be identical to pcalg's, does not hold them. They follow from the skeleton and the separating
sets: where orienting these again gives the graph of the object, it gives the reasons as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.constraints import Constraints
from pycupc.data.knowledge import Knowledge
from pycupc.engines.base import Engine
from pycupc.engines.select import make_engine
from pycupc.graph.sparse import SparseGraph, pair_keys
from pycupc.graph.tiers import Tiers
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.fisher_z import p_value
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.orientation import Orientation, TripleCheck, check_triples, orient
from pycupc.orientation.pag import ALL_RULES, JointCausalInference, PagOrientation, orient_pag
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

Data = Mapping[str, Any]


def with_reasons(fit: PcAlgo, data: Data | None) -> PcAlgo:
    """`fit` with the reasons of its arrows, if they can be found; `data`: its C and n, if R gave them."""
    if len(fit.sparse_graph) == fit.edge_counts()[1]:
        return fit
    same = (oriented for oriented in _orientations(fit, data) if oriented.graph == fit.sparse_graph)
    found = next(same, None)
    return fit if found is None else replace(fit, trace=found.trace)


def _orientations(fit: PcAlgo, data: Data | None) -> Iterator[Orientation]:
    """The graphs of the variants of `pc`; the graphs of the rules for triples, whose tests need the data, last."""
    skeleton = _skeleton(fit)
    for solve_confl in (False, True):
        yield orient(skeleton, fit.sepset, solve_confl=solve_confl)
    yield orient(skeleton, fit.sepset, u2pd="retry", random_state=0)
    for check in _checks(fit, data):
        for solve_confl in (False, True):
            yield orient(skeleton, fit.sepset, solve_confl=solve_confl, ambiguous=check.undecided)


def _skeleton(fit: PcAlgo | PagAlgo) -> SparseGraph:
    return SparseGraph.undirected(fit.p, fit.sparse_graph.low, fit.sparse_graph.high)


def _checks(
    fit: PcAlgo | PagAlgo, data: Data | None, skeleton: SparseGraph | None = None, known: Constraints | None = None
) -> Iterator[TripleCheck]:
    """The triples, decided by the conservative and by the majority rule, whose tests need the data."""
    if not data or fit.alpha is None:
        return
    test = GaussianTest(SuffStat(data["C"], data["n"]), fit.alpha)
    engine: Engine = make_engine("cpu", fit.p)[0]
    with warnings.catch_warnings():  # the run that made the result has warned of its data
        warnings.simplefilter("ignore")
        engine.take(test, fit.labels)
    for maj_rule in (False, True):
        count, graph = engine.count_separating, skeleton or _skeleton(fit)
        yield check_triples(graph, fit.sepset, test, count, maj_rule=maj_rule, known=known)


def with_known(fit: PcAlgo, given: Mapping[str, Any], sent: Mapping[str, NDArray[Any]], data: Data | None) -> PcAlgo:
    """`fit`, an answer of tpc, with what was known before its tests, and with the data with the reasons of its arrows.

    `given` are `tiers`, `context_all`, `context_tier` and, of a skeleton, `oriented`, False; `forbidden` is an array
    that was `sent`, if at all.
    """
    from pycupc.orientation.known import orient_known  # loads Numba

    p, graph = fit.p, fit.sparse_graph
    forbidden = sent["forbidden"].view(np.bool_).reshape(p, p).T if "forbidden" in sent else ()
    context = ([int(v) for v in given[name]] for name in ("context_all", "context_tier"))
    known = Knowledge(list(given["tiers"]), (), forbidden, *context).of(fit.labels)
    if not given.get("oriented", True):
        return replace(fit, tiers=Tiers(known.tier))
    gaps = fit.sepset.gaps()
    excluded = known.gaps().keys
    lost = gaps[~np.isin(pair_keys(gaps[:, 0], gaps[:, 1], p), excluded)].astype(np.int32)
    ends = np.append(graph.low, lost[:, 0]), np.append(graph.high, lost[:, 1])
    order = np.lexsort(ends[::-1])
    skeleton = SparseGraph.undirected(p, *(end[order] for end in ends))
    fit = replace(fit, tiers=Tiers(known.tier, lost=lost))
    for check in _checks(fit, data, skeleton, known):
        oriented = orient_known(skeleton, check, known)
        if oriented.graph == graph:
            return replace(fit, trace=oriented.trace)
    return fit


def with_reasons_of_marks(fit: PagAlgo, options: Mapping[str, Any], data: Data) -> PagAlgo:
    """`fit` with the reasons of its marks, if they can be found, and with r of the tests after the levels.

    `options`: `rules`, ten values or None; `jci` and the positions `context`, or None.
    """
    if data:
        from pycupc.independence.gaussian.partial_correlation import canonical_r  # imports Numba

        later = fit.later
        for k, (x, y) in enumerate(zip(later.x.tolist(), later.y.tolist(), strict=True)):
            S = sorted(later.S.of_question(k))
            later.value[k] = canonical_r(data["C"], x, y, S)
            later.p[k] = p_value(later.value[k], data["n"], len(S))
    found = next((pag for pag in _pags(fit, options, data) if pag.graph == fit.sparse_graph), None)
    return fit if found is None else replace(fit, trace=found.trace)


def _pags(fit: PagAlgo, options: Mapping[str, Any], data: Data) -> Iterator[PagOrientation]:
    """The graphs of the variants of `fci` or `rfci`; those of the rules for triples, which need the data, last."""
    given = [bool(rule) for rule in options["rules"] or ALL_RULES]
    without_selection = [rule and number not in (5, 6, 7) for number, rule in enumerate(given, 1)]
    jci = JointCausalInference(options["jci"], [int(v) for v in options["context"]]) if options["jci"] else None
    skeleton = _skeleton(fit)
    of = (fit.method == "rfci",) if len(fit.later) or fit.all_pdsep else (fit.method == "rfci", fit.method != "rfci")

    def variants(ambiguous: NDArray[np.int64] | None) -> Iterator[PagOrientation]:
        for of_rfci, rules, quirks in product(of, (given, without_selection), (True, False)):
            yield orient_pag(
                skeleton, fit.sepset, rules=rules, ambiguous=ambiguous, jci=jci, quirks=quirks, of_rfci=of_rfci
            )

    yield from variants(None)
    for check in _checks(fit, data):
        yield from variants(check.ambiguous)
        yield from variants(check.undecided)
