"""`compare`, and what it returns.

Two results begin to differ at the first level at which one removed an edge that the other kept. Later differences may
merely follow from that one, so it is explained in full: the test, both p-values, the condition number of its matrix,
and the collinear columns among its variables, which are the usual reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycupc.graph.named import NamedGraph
from pycupc.independence.gaussian.suffstat import as_suff_stat
from pycupc.results.comparison.differences import (
    Compared,
    Difference,
    OtherMarks,
    collinear_pairs,
    find_differences,
    first_triple,
    other_marks,
    same_p_values,
)
from pycupc.results.comparison.report import Report, graphs_report
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

__all__ = ["Comparison", "compare"]


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
    edge: tuple[int, int] | None
    marks: tuple[OtherMarks, ...]
    collinear: tuple[tuple[int, int], ...]
    text: str

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


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
    a, b = (side if isinstance(side, NamedGraph) else NamedGraph.from_amat_pag(side) for side in (a, b))
    labels = list(a.labels)
    _check_labels(labels, list(b.labels), names)
    if not any(isinstance(a, kind) and isinstance(b, kind) for kind in (PcAlgo, PagAlgo)):
        return _compare_graphs(a, b, names)
    one, two = Compared(a, names[0]), Compared(b, names[1])
    C, n = _data(suffStat, len(labels))
    parts = _parts(one, two, rtol)
    marks = other_marks(one.graph, two.graph)
    differences = () if parts["skeleton"] else find_differences(one, two, C, n)
    triple = edge = None
    if parts["skeleton"] and not parts["graph"]:
        triple, edge = first_triple(one, two), marks[0][:2]
    collinear = () if C is None else collinear_pairs(C, range(len(C)))
    text = Report(one, two, labels, alpha).text(parts, differences, triple, marks, collinear)
    if not all(parts.values()):
        text += "".join(
            f"{name}: {fit.notes['quirks']}\n" for fit, name in zip((a, b), names, strict=True) if "quirks" in fit.notes
        )
    return Comparison(all(parts.values()), parts, differences, triple, edge, marks, collinear, text)


def _parts(one: Compared, two: Compared, rtol: float) -> dict[str, bool]:
    a, b = one.fit, two.fit
    counts = [[*map(float, side.fit.n_edgetests), -1, *map(float, side.pdsep_counts)] for side in (one, two)]
    parts = {
        "skeleton": np.array_equal(one.adjacent, two.adjacent),
        "graph": one.graph == two.graph,
        "separating sets": a.sepset == b.sepset,
        "numbers of tests": counts[0] == counts[1],
        "last level": int(a.max_ord) == int(b.max_ord),
        "p-values": same_p_values(one, two, rtol),
    }
    if isinstance(a, PagAlgo) and isinstance(b, PagAlgo):
        parts["last level"] &= a.max_ord_pdsep == b.max_ord_pdsep
        sets = [[members.tolist() for members in fit.all_pdsep or ()] for fit in (a, b)]
        parts["Possible-D-SEP"] = sets[0] == sets[1]
    return parts


def _compare_graphs(a: NamedGraph, b: NamedGraph, names: Sequence[str]) -> Comparison:
    """Compare the edges and marks only."""
    one, two = a.sparse_graph, b.sparse_graph
    parts = {"skeleton": np.array_equal(one.keys, two.keys), "graph": one == two}
    marks = other_marks(one, two)
    edge = marks[0][:2] if marks and parts["skeleton"] else None
    text = graphs_report(one, two, a.labels, names, parts)
    return Comparison(one == two, parts, (), None, edge, marks, (), text)


def _check_labels(a: list[str], b: list[str], names: Sequence[str]) -> None:
    if a == b:
        return
    if len(a) != len(b):
        raise ValueError(f"{names[0]} has {len(a)} variables, {names[1]} has {len(b)}; compare two of the same data")
    k = next(i for i in range(len(a)) if a[i] != b[i])
    order = "in another order" if sorted(a) == sorted(b) else "by other names"
    raise ValueError(f"{names[0]} and {names[1]} have their variables {order}: number {k + 1} is {a[k]!r} and {b[k]!r}")


def _data(suffStat: Any, p: int) -> tuple[np.ndarray | None, float]:
    if suffStat is None:
        return None, 0
    stat = as_suff_stat(suffStat)
    if stat.p != p:
        raise ValueError(f"suffStat must have the {p} variables of the results, got {stat.p}")
    return stat.C, stat.n
