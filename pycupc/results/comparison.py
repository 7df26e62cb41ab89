"""`compare`: are two results equal, and if not, where do they begin to differ? `differences` looks at their tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycupc.data.names import check_real, listed
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import SparseGraph, symbol
from pycupc.independence.gaussian.suffstat import as_suff_stat
from pycupc.results.differences import LISTED, Difference, Pair, Side, TwoSides, collinear_pairs, limited
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.system.nearest import hinted
from pycupc.system.shown import as_lines
from pycupc.system.text import counted

__all__ = ["Comparison", "Difference", "compare"]

#: The two ends of an edge, and its marks between them in the first graph and in the second, such as ``o->``.
OtherMarks = tuple[int, int, str, str]


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`. Its truth value says whether the results are equal; printed, it is the report.

    Attributes
    ----------
    equal : bool
        Skeleton, graph, separating sets, numbers of tests, last level and p-values are all equal.
    parts : dict of str to bool
        Which of these are.
    differences : tuple of Difference
        Pairs of variables on which the skeletons differ, by level and then by variables.
    triple : tuple of (x, y, z) or None
        The first unshielded triple x - y - z that only one of two results with equal skeletons calls a collider.
    edge : tuple of (x, y) or None
        The first edge whose direction differs, in results with equal skeletons.
    marks : tuple of (x, y, str, str)
        The edges of both that have other marks: the ends, and the marks in each, such as ``o->``.
    collinear : tuple of (int, int)
        All pairs of columns that are collinear up to rounding, where `suffStat` was given.
    text : str
        The report.
    """

    equal: bool
    parts: dict[str, bool]
    differences: tuple[Difference, ...]
    triple: tuple[int, int, int] | None
    edge: Pair | None
    marks: tuple[OtherMarks, ...]
    collinear: tuple[Pair, ...]
    text: str

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return as_lines(self.text)

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


@hinted
def compare(
    a: Any,
    b: Any,
    *,
    suffStat: Any = None,
    alpha: float | None = None,
    names: Sequence[str] = ("a", "b"),
    rtol: float = 1e-6,
) -> Comparison:
    """Compare two results of the same data.

    Parameters
    ----------
    a, b : PcAlgo, PagAlgo, NamedGraph, or matrix of pcalg's type amat.pag
        Two results of `pc` and `skeleton`, or two of `fci` and `rfci`, are compared in all parts; of any other two only
        the edges and their marks.
    suffStat : SuffStat, mapping with "C" and "n", or data, optional
        The data of both; with it the test at which the results begin to differ is computed once more and its matrix
        examined.
    alpha : float, optional
        Significance level, for the report only.
    names : sequence of two str
        What the report calls them.
    rtol : float
        Relative tolerance of the p-values; everything else is compared exactly, numbers of tests as float64, which is
        what R has.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError, ValueError
        If the two have different variables, or `suffStat` is something else or has a different number of variables.
    """
    check_real("rtol", "a number of at least 0", rtol, lambda tolerance: tolerance >= 0)
    check_real("alpha", "a number in [0, 1]", 0 if alpha is None else alpha, lambda level: 0 <= level <= 1)
    a, b = (side if isinstance(side, NamedGraph) else NamedGraph.from_amat_pag(side) for side in (a, b))
    _check_labels(a.labels, b.labels, names)
    marks = _other_marks(a.sparse_graph, b.sparse_graph)
    parts = {
        "skeleton": np.array_equal(a.sparse_graph.keys, b.sparse_graph.keys),
        "graph": a.sparse_graph == b.sparse_graph,
    }
    edge = marks[0][:2] if marks and parts["skeleton"] else None
    if not any(isinstance(a, kind) and isinstance(b, kind) for kind in (PcAlgo, PagAlgo)):
        lines = [_headline(parts, names), *_edges_of_one(a, b, names), *_marks_lines(marks, a.labels, names)]
        return Comparison(parts["graph"], parts, (), None, edge, marks, (), "\n".join(lines) + "\n")
    C, n = _data(suffStat, a.labels)
    both = TwoSides(Side(a, names[0]), Side(b, names[1]))
    parts |= both.parts(rtol)
    differences = () if parts["skeleton"] else both.differences(C, n)
    triple = both.triple() if parts["skeleton"] and not parts["graph"] else None
    collinear = () if C is None else collinear_pairs(C, range(len(C)))
    lines = [_headline(parts, names)]
    if parts["skeleton"]:
        if marks:
            lines += both.lines_of_triple(triple, len(marks))
            several = both.one.fit.is_pag or both.two.fit.is_pag
            first = f"First edge: {_marks_line(marks[0], a.labels, names)}."
            lines += _marks_lines(marks, a.labels, names) if several else [first]
        lines += both.lines_of_bookkeeping(parts)
    else:
        lines += both.lines_of_skeletons(differences, collinear, alpha)
    if not all(parts.values()):
        sides = zip((a, b), names, strict=True)
        lines += [f"{name}: {fit.notes['quirks']}" for fit, name in sides if "quirks" in fit.notes]
    text = "\n".join(lines) + "\n"
    return Comparison(all(parts.values()), parts, differences, triple, edge, marks, collinear, text)


def _check_labels(a: Sequence[str], b: Sequence[str], names: Sequence[str]) -> None:
    if len(a) != len(b):
        raise ValueError(f"{names[0]} has {len(a)} variables, {names[1]} has {len(b)}; compare two of the same data")
    k = next((i for i in range(len(a)) if a[i] != b[i]), None)
    if k is not None:
        how = "in another order" if sorted(a) == sorted(b) else "by other names"
        text = f"{names[0]} and {names[1]} have their variables {how}: number {k + 1} is {a[k]!r} and {b[k]!r}"
        raise ValueError(text)


def _data(suffStat: Any, labels: tuple[str, ...]) -> tuple[np.ndarray | None, float]:
    if suffStat is None:
        return None, 0
    stat = as_suff_stat(suffStat)
    if stat.p != len(labels):
        raise ValueError(f"suffStat must have the {len(labels)} variables of the results, got {stat.p}")
    if stat.labels is not None and sorted(stat.labels) == sorted(labels) and tuple(stat.labels) != labels:
        raise ValueError("suffStat must have the order of the variables of the results, got the names in another order")
    return stat.C, stat.n


def _other_marks(one: SparseGraph, two: SparseGraph) -> tuple[OtherMarks, ...]:
    """The edges of both graphs that have other marks in the second."""
    there = two.edge_number(one.low, one.high)
    here = np.flatnonzero(there >= 0)
    first, second = one.with_edges(here), two.with_edges(there[here])
    differ = np.flatnonzero((first.low_mark != second.low_mark) | (first.high_mark != second.high_mark)).tolist()
    symbols = [[symbol(graph.low_mark[k], graph.high_mark[k]) for k in differ] for graph in (first, second)]
    return tuple(zip(first.low[differ].tolist(), first.high[differ].tolist(), *symbols, strict=True))


def _headline(parts: Mapping[str, bool], names: Sequence[str]) -> str:
    """Which parts of two results are equal."""
    if all(parts.values()):
        return f"{names[0]} and {names[1]} are equal: {', '.join(parts)}."
    differ, agree = (", ".join(part for part, same in parts.items() if same == equal) for equal in (False, True))
    return f"{names[0]} and {names[1]} differ in: {differ}." + (f" Equal: {agree}." if agree else "")


def _edges_of_one(a: NamedGraph, b: NamedGraph, names: Sequence[str]) -> list[str]:
    """The edges that only one of two graphs has, a line for each graph."""
    lines = []
    for named, other, name in ((a, b, names[0]), (b, a, names[1])):
        graph, labels = named.sparse_graph, named.labels
        only = graph.with_edges(np.flatnonzero(other.sparse_graph.edge_number(graph.low, graph.high) < 0))
        ends = zip(only.low.tolist(), only.high.tolist(), only.low_mark, only.high_mark, strict=True)
        if edges := [f"{labels[x]} {symbol(*marks)} {labels[y]}" for x, y, *marks in ends]:
            lines.append(f"{counted(len(edges), 'edge')} only in {name}: {listed(edges, most=LISTED)}.")
    return lines


def _marks_line(marks: OtherMarks, labels: Sequence[str], names: Sequence[str]) -> str:
    """An edge in both graphs."""
    x, y, *symbols = marks
    edges = zip(symbols, names, strict=True)
    return ", ".join(f"{labels[x]} {symbol} {labels[y]} in {name}" for symbol, name in edges)


def _marks_lines(marks: Sequence[OtherMarks], labels: Sequence[str], names: Sequence[str]) -> list[str]:
    """The edges that have other marks, a line for each."""
    lines = [f"  {_marks_line(edge, labels, names)}" for edge in marks[:LISTED]]
    return [f"The edges with other marks{limited(marks)}:", *lines] if marks else []
