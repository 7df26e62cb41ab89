"""Two results side by side: are they equal, and if not, at which test, triple or rule did they part?

Results part at the first level at which one removed an edge that the other kept. Everything later may only follow from
that, so the first one is explained in full: the test, both p-values, the conditioning of its matrix, and the exactly
collinear columns among its variables, which are the usual reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pycupc.comparison.differences import Parting, Side, collinear_pairs, first_triple, partings
from pycupc.comparison.report import Report
from pycupc.results.pcalgo import PcAlgo

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """What `compare` found. True in a condition when the results are equal; its `str` is the report.

    Attributes
    ----------
    equal : bool
        Skeleton, graph, separating sets, numbers of tests, last level and p-values are all equal.
    parts : dict of str to bool
        Which of these are.
    partings : tuple of Parting
        Pairs of variables on which the skeletons differ, by level and then by variables.
    triple : tuple of (x, y, z) or None
        The first unshielded triple x - y - z that only one of two results with equal skeletons calls a collider.
    edge : tuple of (x, y) or None
        The first edge whose direction differs, in results with equal skeletons.
    collinear : tuple of (int, int)
        All exactly collinear pairs of columns, where `suffStat` was given.
    text : str
        The report.
    """

    equal: bool
    parts: dict[str, bool]
    partings: tuple[Parting, ...]
    triple: tuple[int, int, int] | None
    edge: tuple[int, int] | None
    collinear: tuple[tuple[int, int], ...]
    text: str

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        return self.text


def compare(
    a: PcAlgo,
    b: PcAlgo,
    *,
    suffStat: Any = None,
    alpha: float | None = None,
    names: Sequence[str] = ("a", "b"),
    rtol: float = 1e-6,
) -> Comparison:
    """Compare two results of the same data.

    Parameters
    ----------
    a, b : PcAlgo
    suffStat : SuffStat or mapping with "C" and "n", optional
        The data of both; with it the test at which the results part is computed again and its matrix looked at.
    alpha : float, optional
        Significance level, for the report only.
    names : sequence of two str
        What the report calls them.
    rtol : float
        Relative tolerance of the p-values; everything else is compared exactly.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If the two are of different variables, or `suffStat` is of another number of variables.
    """
    labels = list(a.labels)
    _check_labels(labels, list(b.labels), names)
    one, two = Side(a, names[0]), Side(b, names[1])
    C, n = _data(suffStat, len(labels))
    skeleton = np.array_equal(one.adjacent, two.adjacent)
    parts = {
        "skeleton": skeleton,
        "graph": np.array_equal(one.graph, two.graph),
        "separating sets": a.sepset == b.sepset,
        "numbers of tests": np.array_equal(a.n_edgetests, b.n_edgetests),
        "last level": int(a.max_ord) == int(b.max_ord),
        "p-values": bool(np.allclose(one.p_max, two.p_max, rtol=rtol, atol=1e-300)),
    }
    apart = () if skeleton else partings(one, two, C, n)
    triple = edge = None
    if skeleton and not parts["graph"]:
        triple = first_triple(one, two)
        x, y = (int(v) for v in np.argwhere(one.graph != two.graph)[0])
        edge = min(x, y), max(x, y)
    collinear = () if C is None else collinear_pairs(C, range(len(C)))
    report = Report(one, two, labels, alpha)
    text = report.text(parts, apart, triple, edge, collinear)
    return Comparison(all(parts.values()), parts, apart, triple, edge, collinear, text)


def _check_labels(a: list[str], b: list[str], names: Sequence[str]) -> None:
    if a == b:
        return
    if len(a) != len(b):
        raise ValueError(f"{names[0]} has {len(a)} variables, {names[1]} has {len(b)}; compare two of the same data")
    k = next(i for i in range(len(a)) if a[i] != b[i])
    order = "in another order" if sorted(a) == sorted(b) else "by other names"
    raise ValueError(f"{names[0]} and {names[1]} have their variables {order}: number {k + 1} is {a[k]!r} and {b[k]!r}")


def _data(suffStat: Any, p: int) -> tuple[np.ndarray | None, int]:
    if suffStat is None:
        return None, 0
    C, n = (suffStat["C"], suffStat["n"]) if isinstance(suffStat, dict) else (suffStat.C, suffStat.n)
    C = np.asarray(C, dtype=np.float64)
    if C.shape != (p, p):
        raise ValueError(f"suffStat C must have shape ({p}, {p}) to match the results, got {C.shape}")
    return C, int(n)
