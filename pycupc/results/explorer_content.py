"""The content of the explorer of a graph with the tests behind its edges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.drawing import Variables, describe
from pycupc.graph.drawing.look import Look
from pycupc.graph.explorer import Content, InlinePage, RemovedPairs, part_of, show_page
from pycupc.graph.sepset import FlatCells
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.results.base import TestedGraph, TestedResult
from pycupc.results.edge_columns import columns_on_page
from pycupc.results.evidence import KeptEdges

Integers = NDArray[np.int64]
#: Most removed pairs of level 1 and above that a page lists.
MAX_REMOVED = 100_000
#: Most variables for which a page holds the effects of all pairs.
MAX_EFFECTS = 200
#: Most variables for which a page holds the correlations of all pairs.
MAX_CORRELATIONS = 800
#: Of each variable its number on the page, or its label if it is not on the page.
Names = Sequence[int | str]


def content(
    fit: TestedGraph,
    *,
    around: Variables | None = None,
    radius: int = 2,
    stability: ArrayLike | None = None,
    effects: Any = None,
    groups: Any = None,
) -> Content:
    """Gather the content of the page of a result; arguments and errors as of `PcAlgo.explore`."""
    graph, p = fit.sparse_graph, len(fit.labels)
    edge_p = fit.p_values.of_edges(graph)
    nodes, at, part = part_of(graph, fit.labels, edge_p, around, radius)
    place = np.full(p, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    levels = fit._tests_of_levels()
    names = [k if k >= 0 else label for k, label in zip(place.tolist(), fit.labels, strict=True)]
    removed, named = _removed(fit, place)
    low, high, edge_p = graph.low[at], graph.high[at], edge_p[at]
    numbers, highest = KeptEdges(levels).n_tests(low, high)
    tests = numbers.astype(np.float64)
    tests[np.isneginf(edge_p)] = 0  # fixedEdges
    correlations = None
    if len(nodes) <= MAX_CORRELATIONS:
        correlations = fit.p_values.correlations(*nodes[np.array(np.triu_indices(len(nodes), 1))])
    gaps = place[levels.found_sepset.gaps()].reshape(-1, 2)
    few = levels.untested
    untested = np.column_stack([place[few.x], place[few.y], few.needed, few.there.astype(np.int64)])
    last = int(removed.level.max(initial=0))
    n, alpha = levels.n, levels.alpha
    cutoffs = [math.nan if n is None or alpha is None else fisher_z.cutoff(alpha, n, k) for k in range(last + 1)]
    part["labels"] += [fit.labels[v] for v in named.tolist()]
    of_pairs, missing = _effects(effects, fit.labels, nodes)
    notes = getattr(fit, "notes", {})  # which a consensus lacks
    read = [f"{name.capitalize()}: {notes[name]}." for name in ("data", "test") if name in notes]
    part["note"] = " ".join(filter(None, (fit._page_note(), *read, part["note"], missing)))
    return Content(
        **part,
        title=fit.title,
        pag=fit.is_pag,
        facts=_facts(levels, fit.sparse_graph),
        edge_p=np.where(np.isfinite(edge_p), edge_p, -1.0),
        edge_r=fit.p_values.correlations(low, high),
        edge_tests=tests,
        edge_level=highest,
        columns={title: values[at] for title, values in columns_on_page(fit).items()},
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
        **_groups(groups, fit.sparse_graph, fit.labels, nodes),
    )


def _effects(effects: Any, labels: tuple[str, ...], nodes: Integers) -> tuple[dict[str, NDArray[np.float64]], str]:
    """The effects among the variables of the page, and a sentence if there are too many for them."""
    if effects is None:
        return {}, ""
    if effects.labels != labels:
        raise ValueError("effects must be computed from this graph, got effects of other variables")
    if len(nodes) > MAX_EFFECTS:
        return {}, f"Effects are shown of at most {MAX_EFFECTS} variables: choose some with `around`."
    return effects.on_page(nodes), ""


def _groups(groups: Any, graph: SparseGraph, labels: Sequence[str], nodes: Integers) -> dict[str, Any]:
    """The groups among the variables of the page, as fields of `Content`."""
    look = Look.of(graph, labels, groups=groups)
    return {} if look.group is None else {"groups": list(look.groups), "group": look.group[nodes] + 1}


def consensus_content(
    graph: SparseGraph,
    labels: Sequence[str],
    shares: Mapping[str, NDArray[np.float64]],
    about: tuple[str, str],
    *,
    around: Variables | None = None,
    radius: int = 2,
    groups: Any = None,
) -> Content:
    """The content of the page of a consensus of resamples: no tests, but the shares of the resamples with each mark.

    `about`: the title and the facts.

    `shares` has "adjacent"; its arrays and their order are as in `pycupc.stability.Consensus.frequencies`.
    """
    nodes, at, part = part_of(graph, labels, -shares["adjacent"], around, radius, "found most often")
    part |= _groups(groups, graph, labels, nodes)
    on_page = {mark: share[at] for mark, share in shares.items()}
    title, facts = about
    return Content(**part, title=title, facts=facts, stability=on_page["adjacent"], shares=on_page)


def _removed(fit: TestedGraph, place: Integers) -> tuple[RemovedPairs, Integers]:
    """Removed pairs among the variables of the page, and the variables that only their separating sets name.

    Of more than MAX_REMOVED, the pairs of the highest levels are kept, and of the lowest of these levels the pairs with
    the largest |r|, that is the smallest p. Pairs that were removed after the levels come last.
    """
    found, later, shown = fit._tests_of_levels(), fit.later, place >= 0
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


def _reasons(fit: TestedGraph, low: NDArray[Any], high: NDArray[Any], names: Names) -> list[list[Sequence[str | int]]]:
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


class ExplorableGraph(TestedGraph):
    """A graph with the tests behind its edges that can be shown in a browser."""

    _OFFERED: ClassVar[Sequence[str]] = ("explore",)

    def explore(  # noqa: PLR0913 - the options of a page
        self,
        path: str | PathLike[str] | None = None,
        *,
        show: bool = True,
        around: Variables | None = None,
        radius: int = 2,
        stability: ArrayLike | None = None,
        effects: Any = None,
        groups: Any = None,
        name: str | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Path | InlinePage:
        """Write the explorer of the graph and its evidence, one HTML file.

        Parameters
        ----------
        path : str or Path, optional
            By default a file in a new temporary folder; in a Jupyter notebook none.
        show : bool, default True
            Open it in the browser, or below the cell of a notebook.
        around : str or int, or sequence of them, optional
            Show only these variables and what is near them, starting with the neighbourhood of the first.
        radius : int, default 2
            How many edges away from them, of whatever direction, a variable may be.
        stability : sequence of m float, optional
            A frequency from 0 to 1 for each edge, in the order of `edges`, such as `Stability.frequencies` gives.
        effects : Effects, optional
            What `pycupc.effects` found with method "local": beside a chosen variable, what it moves and what moves it.
            For pages of at most 200 variables.
        groups : mapping of str to variables, or sequence of p str or None, optional
            Groups of variables, as of `plot`: drawn in a colour and a form of their own, and listed in the filters.
        name : str, optional
            Name of the data, the headline of the page; by default the name of the file that the data were read from.
        units : mapping of str to str, optional
            Units of variables by label: effects in different units have axes of their own.

        Returns
        -------
        Path, or an object that a notebook shows
            The file. In a notebook, if `show`, an object that displays the page; its ``path`` is the file, or None.

        Raises
        ------
        ValueError
            If `stability` has another length, `effects` has other variables, or a variable of `around`, `groups` or
            `units` does not exist.
        """
        found = content(self, around=around, radius=radius, stability=stability, effects=effects, groups=groups)
        units = dict(units or {})
        if unknown := [label for label in units if label not in self.labels]:
            raise ValueError(f"units must be of variables of the graph, got {unknown[0]!r}")
        shown = found.labels[: found.graph.p]
        if name is None:
            name = getattr(self._tests_of_levels(), "notes", {}).get("file", "").split(".")[0]
        found = replace(found, name=str(name), units=[units.get(label, "") for label in shown] if units else ())
        return show_page(found, path, show=show)
