"""The content of the explorer for a result: the part of a large graph, and the evidence for edges and removed pairs."""

from __future__ import annotations

import html
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.drawing import Variables, describe, positions
from pycupc.graph.explorer import Content, RemovedPairs, page, write_page
from pycupc.graph.named import NamedGraph
from pycupc.graph.sepset import FlatCells
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.independence.p_values import PValues
from pycupc.results.later_tests import LaterTests
from pycupc.results.why import KeptEdges, TestedResult

Integers = NDArray[np.int64]
#: Most variables and edges that a page holds.
MAX_NODES, MAX_EDGES = 5_000, 20_000
#: Most removed pairs of level 1 and above that a page lists.
MAX_REMOVED = 100_000
#: Most tests that are repeated for a page, to find the weakest test of each edge; they take a few tenths of a second.
MAX_TESTS = 40_000
#: Most variables for which a page holds the effects of all pairs.
MAX_EFFECTS = 200
#: Most variables for which a page holds the correlations of all pairs.
MAX_CORRELATIONS = 800
#: Of each variable its number on the page, or its label if it is not on the page.
Names = Sequence[int | str]


class ExploredResult(NamedGraph):
    """A graph with the evidence for its edges: `p_values`, their one source, and `trace`, what set each mark.

    A key of `trace` is a pair; the mark is at the second of the two. `is_pag` says whether the rules are those of FCI.
    """

    is_pag: ClassVar[bool] = False
    p_values: PValues
    trace: Mapping[tuple[int, int], tuple[Any, ...]]

    @property
    def title(self) -> str:
        """Headline of the page of `explore`."""
        raise NotImplementedError

    def tests_of_levels(self) -> TestedResult:
        """The result of the levels of the skeleton."""
        raise NotImplementedError

    def tests_after_levels(self) -> LaterTests:
        """The tests made after the levels; here none."""
        return LaterTests()

    def page_note(self) -> str:
        """A sentence about the graph for its page, or ""."""
        return ""


class ExploredEffects(Protocol):
    """The attributes of `pycupc.Effects` that this module reads."""

    labels: tuple[str, ...]

    def on_page(self, nodes: Integers) -> dict[str, NDArray[np.float64]]:
        """Arrays of `Content.effects` for the variables at these positions."""


class InlinePage:
    """A page for a notebook, which shows it as the output of a cell. `path` is its file, or None."""

    def __init__(self, content: Content, path: Path | None) -> None:
        self._text, self.path = page(content), path

    def _repr_html_(self) -> str:
        # without allow-same-origin, the page can neither read nor change the notebook
        text = html.escape(self._text)
        return f'<iframe srcdoc="{text}" sandbox="allow-scripts allow-modals" width="100%" height="760"></iframe>'

    def __repr__(self) -> str:
        return f"<Explorer{'' if self.path is None else f': {self.path}'}>"


def show_page(content: Content, path: str | PathLike[str] | None = None, *, show: bool = True) -> Path | InlinePage:
    """Write a page to a file, by default in a new temporary folder, and show it.

    In a notebook, whose kernel may run on another machine than the browser, the page is returned to be shown there, and
    written only to a given `path`. Elsewhere the file is opened in the browser, and its path is returned.
    """
    file = None if path is None else Path(path)
    inline = show and _in_notebook()
    if file is None and not inline:
        file = Path(tempfile.mkdtemp(prefix="pycupc-")) / "graph.html"
    if file is not None:
        write_page(content, file)
    if file is None or inline:
        return InlinePage(content, file)
    if show:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())
    return file


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def content(
    fit: ExploredResult,
    *,
    around: Variables | None = None,
    radius: int = 2,
    stability: ArrayLike | None = None,
    effects: ExploredEffects | None = None,
) -> Content:
    """Gather the content of the page of a result; the arguments and errors are those of `PcAlgo.explore`."""
    graph, p = fit.sparse_graph, len(fit.labels)
    edge_p = fit.p_values.of_edges(graph)
    nodes, at, part = _part(graph, fit.labels, edge_p, around, radius)
    place = np.full(p, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    levels = fit.tests_of_levels()
    names = [k if k >= 0 else label for k, label in zip(place.tolist(), fit.labels, strict=True)]
    removed, named = _removed(fit, place)
    low, high, edge_p = graph.low[at], graph.high[at], edge_p[at]
    kept = KeptEdges(levels)
    numbers, highest = kept.n_tests(low, high)
    tests = numbers.astype(np.float64)
    tests[np.isneginf(edge_p)] = 0  # fixedEdges
    correlations = None
    if len(nodes) <= MAX_CORRELATIONS:
        correlations = fit.p_values.correlations(*nodes[np.array(np.triu_indices(len(nodes), 1))])
    gaps = place[levels.found_sepset.gaps()].reshape(-1, 2)
    untested = np.column_stack([place[levels.untested.x], place[levels.untested.y], levels.untested.needed])
    last = int(removed.level.max(initial=0))
    n, alpha = levels.n, levels.alpha
    cutoffs = [math.nan if n is None or alpha is None else fisher_z.cutoff(alpha, n, k) for k in range(last + 1)]
    part["labels"] += [fit.labels[v] for v in named.tolist()]
    of_pairs, missing = _effects(effects, fit.labels, nodes)
    part["note"] = " ".join(filter(None, (fit.page_note(), part["note"], missing)))
    return Content(
        **part,
        title=fit.title,
        pag=fit.is_pag,
        facts=_facts(levels, fit.sparse_graph),
        edge_p=np.where(np.isfinite(edge_p), edge_p, -1.0),
        edge_r=fit.p_values.correlations(low, high),
        edge_tests=tests,
        edge_level=highest,
        weakest=_weakest(kept, low, high, tests, names),
        reasons=_reasons(fit, low, high, names),
        stability=_frequencies(stability, len(graph), at),
        removed=removed,
        untested=untested[(untested[:, :2] >= 0).all(axis=1)][:MAX_REMOVED],
        gaps=gaps[(gaps >= 0).all(axis=1)].astype(np.int32),
        correlations=correlations,
        cutoffs=[cutoff if math.isfinite(cutoff) else None for cutoff in cutoffs],
        n=n,
        alpha=alpha,
        effects=of_pairs,
    )


def _effects(
    effects: ExploredEffects | None, labels: tuple[str, ...], nodes: Integers
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The effects among the variables of the page, and a sentence if there are too many for them."""
    if effects is None:
        return {}, ""
    if effects.labels != labels:
        raise ValueError("effects must be computed from this graph, got those of other variables")
    if len(nodes) > MAX_EFFECTS:
        return {}, f"Effects are shown of at most {MAX_EFFECTS} variables: choose some with `around`."
    return effects.on_page(nodes), ""


def consensus_content(
    graph: SparseGraph,
    labels: Sequence[str],
    shares: Mapping[str, NDArray[np.float64]],
    about: tuple[str, str],
    *,
    around: Variables | None = None,
    radius: int = 2,
) -> Content:
    """The content of the page of a consensus of resamples: no tests, but the shares of the resamples with each mark.

    `about`: the title and the facts.

    `shares` has "adjacent"; its arrays and their order are those of `pycupc.stability.Consensus.frequencies`.
    """
    _, at, part = _part(graph, labels, -shares["adjacent"], around, radius, "found most often")
    on_page = {mark: share[at] for mark, share in shares.items()}
    title, facts = about
    return Content(**part, title=title, facts=facts, stability=on_page["adjacent"], shares=on_page)


def _part(
    graph: SparseGraph,
    labels: Sequence[str],
    edge_p: NDArray[np.float64],
    around: Variables | None,
    radius: int,
    first: str = "with the smallest p-values",
) -> tuple[Integers, Integers, dict[str, Any]]:
    """The variables and the edges of a page by their numbers in the whole graph, and what `Content` has of them."""
    centres = None if around is None else positions(around, labels)
    nodes, edges, note = _chosen(graph, edge_p, centres, radius, first)
    shown = graph.with_edges(edges).subgraph(nodes)
    at = graph.edge_number(nodes[shown.low], nodes[shown.high])
    start = None if centres is None else int(np.searchsorted(nodes, centres[0]))
    part = {"note": note, "graph": shown, "labels": [labels[v] for v in nodes.tolist()], "start": start}
    return nodes, at, part | {"degree": graph.degrees()[nodes], "edges_left_out": len(graph) - len(edges)}


def _chosen(
    graph: SparseGraph, edge_p: NDArray[np.float64], around: list[int] | None, radius: int, first: str
) -> tuple[Integers, Integers, str]:
    """The variables and the edges that a page holds, ascending, and a sentence on what it leaves out.

    Of too many edges, those with the smallest `edge_p` stay, which the sentence calls `first`.
    """
    notes = []
    nodes = np.arange(graph.p) if around is None else graph.around(around, radius)
    if len(nodes) > MAX_NODES:
        if around is None:
            nodes = np.argsort(-graph.degrees(), kind="stable")
        which = "with most neighbours" if around is None else "nearest to the requested ones"
        notes.append(f"the {MAX_NODES:,} variables {which}, of {len(nodes):,}")
        nodes = nodes[:MAX_NODES]
    nodes = np.sort(nodes)
    inside = np.zeros(graph.p, dtype=np.bool_)
    inside[nodes] = True
    edges = np.flatnonzero(inside[graph.low] & inside[graph.high])
    if len(edges) > MAX_EDGES:
        notes.append(f"the {MAX_EDGES:,} edges among its variables {first}, of {len(edges):,}")
        edges = np.sort(edges[np.argsort(edge_p[edges], kind="stable")[:MAX_EDGES]])
    if around is not None and len(nodes) < graph.p and not notes:
        return nodes, edges, f"This page holds the variables within {radius} edges of the requested ones."
    if not notes:
        return nodes, edges, ""
    more = "pycupc plot RESULTS --around NAME --out NAME.html, or fit.explore(around=NAME), shows another part"
    return nodes, edges, f"This page holds {' and '.join(notes)}: {more}."


def _removed(fit: ExploredResult, place: Integers) -> tuple[RemovedPairs, Integers]:
    """Removed pairs among the variables of the page, and the variables that only their separating sets name.

    If there are more than MAX_REMOVED, they are those of the highest levels, and at the last of these levels those with
    the largest |r|, that is the smallest p. Pairs that were removed after the levels come last.
    """
    found, later, shown = fit.tests_of_levels(), fit.tests_after_levels(), place >= 0
    of_levels, gone = found.found_sepset.flat(by_row=False), found.removals
    known = len(gone) > 0  # else a result of R: the sets are there, the tests are not
    r = gone.r if known and gone.r_recorded else np.full(len(of_levels.x), math.nan)
    cells = FlatCells(*map(np.concatenate, zip(of_levels, later.cells(), strict=True)))
    r = np.append(r, later.value if isinstance(found.p_values, GaussianPValues) else np.full(len(later), math.nan))
    at, complete_from = np.flatnonzero(shown[cells.x] & shown[cells.y] & (cells.length > 0)), 1
    if len(at) > MAX_REMOVED:
        order = np.argpartition(-2.0 * cells.length[at] - np.abs(np.nan_to_num(r[at])), MAX_REMOVED)
        at, others = np.sort(at[order[:MAX_REMOVED]]), at[order[MAX_REMOVED:]]
        complete_from = int(cells.length[others].max()) + 1
    x, y, levels, members = cells.take(at)
    r, early = r[at], at < len(of_levels.x)
    if known and gone.r_known and not gone.r_recorded:
        r[early] = [gone.r_at(k) for k in at[early].tolist()]
    named = np.setdiff1d(members, np.flatnonzero(shown))
    number = place.copy()
    number[named] = shown.sum() + np.arange(len(named))
    p = None
    if np.isnan(r[early]).all() and len(x):
        p = np.array([fit.p_values.at(i, j) for i, j in zip(x.tolist(), y.tolist(), strict=True)])
    r_known = None if p is not None else np.clip(np.nan_to_num(r), -1.0, 1.0)
    late = int((~early).sum())
    return RemovedPairs(number[x], number[y], levels, number[members], r_known, p, complete_from, late), named


def _weakest(
    kept: KeptEdges, low: NDArray[Any], high: NDArray[Any], tests: NDArray[np.float64], names: Names
) -> list[tuple[list[int | str], float] | None]:
    """The set and r of the weakest test of each edge with few tests, else None; empty if few edges have few tests."""
    cheapest = np.argsort(tests, kind="stable")
    cheapest = cheapest[np.cumsum(tests[cheapest]) <= MAX_TESTS]
    if 2 * len(cheapest) < len(low):  # a few would not be worth the time
        return []
    out: list[tuple[list[int | str], float] | None] = [None] * len(low)
    tested = cheapest[tests[cheapest] > 0]
    for k, (S, r) in zip(tested.tolist(), kept.weakest_tests(low[tested], high[tested]), strict=False):
        out[k] = [names[v] for v in S], r
    return out


def _reasons(
    fit: ExploredResult, low: NDArray[Any], high: NDArray[Any], names: Names
) -> list[list[Sequence[str | int]]]:
    """What set the marks of each edge: [variable at whose end the mark is, rule, variables of the rule]."""
    trace = dict(fit.trace.items())  # in which a look-up is quicker
    ends = zip(low.tolist(), high.tolist(), strict=True)
    found = [[(end[1], *trace[end]) for end in ((a, b), (b, a)) if end in trace] for a, b in ends]
    return [[[names[v], rule, *(names[v] for v in rest)] for v, rule, *rest in reasons] for reasons in found]


def _frequencies(stability: ArrayLike | None, m: int, at: Integers) -> NDArray[np.float64] | None:
    if stability is None:
        return None
    values = np.asarray(stability, dtype=np.float64)
    if values.shape != (m,) or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            f"stability must hold a frequency from 0 to 1 for each of the {m} edges, in the order of edges(), got an "
            f"array of shape {values.shape}"
        )
    return values[at]


def _facts(fit: TestedResult, graph: SparseGraph) -> str:
    observations = "" if fit.n is None else f"; {fit.n:,} observations"
    alpha = "" if fit.alpha is None else f"; alpha {fit.alpha:g}"
    return f"{describe(graph)}{observations}{alpha}"
