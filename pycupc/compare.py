"""Two results side by side: are they equal, and if not, at which test, triple or rule did they part?

    compare(a, b)                        two PcAlgo objects
    run("pcalg-stable", ...)             a result by the name of its method, or from a file
    add_arguments(parser), main(args)    `pycupc compare A B`; exit code 0 equal, 1 different

Results part at the first level at which one removed an edge that the other kept. Everything later may only follow from
that, so the first one is explained in full: the test, both p-values, the conditioning of its matrix, and the exactly
collinear columns among its variables, which are the usual reason.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.compare_report import Report
from pycupc.flat import same_sets
from pycupc.parting import Parting, Side, collinear_pairs, first_triple, partings

if TYPE_CHECKING:
    import argparse

    from pycupc.result import PcAlgo

__all__ = ["METHODS", "Comparison", "Parting", "add_arguments", "compare", "main", "run"]

METHODS = ("pycupc", "pcalg-stable", "pcalg-stable.fast")


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
        "separating sets": same_sets(a, b),
        "numbers of tests": np.array_equal(a.n_edgetests, b.n_edgetests),
        "last level": int(a.max_ord) == int(b.max_ord),
        "p-values": bool(np.allclose(one.p_max, two.p_max, rtol=rtol, atol=1e-300)),
    }
    apart = () if skeleton else partings(one, two, C, n)
    triple = edge = None
    if skeleton and not parts["graph"]:
        triple = first_triple(one, two)
        edge = tuple(sorted(int(v) for v in np.argwhere(one.graph != two.graph)[0]))
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


def run(
    source: str | Path,
    suffStat: Any = None,
    alpha: float | None = None,
    *,
    labels: Sequence[str] | None = None,
    skeleton: bool = False,
    **options: Any,
) -> PcAlgo:
    """A result: loaded from a file, or computed by the method of this name.

    Parameters
    ----------
    source : str or Path
        One of `METHODS`, a file that ``PcAlgo.save`` wrote, or a folder that ``pycupc run`` wrote.
    suffStat, alpha, labels
        As for `pycupc.pc`; needed unless `source` is a file.
    skeleton : bool
        Stop before the edges are directed.
    **options
        Further arguments of `pycupc.pc`, which pcalg's ``pc`` has too.

    Returns
    -------
    PcAlgo

    Raises
    ------
    ValueError
        If `source` is neither, or there are no data for a method.
    RBridgeError
        If pcalg is asked for and R, pcalg or rpy2 is missing.
    """
    if str(source) not in METHODS:
        path = Path(source) / "result.npz" if Path(source).is_dir() else Path(source)
        if not path.is_file():
            raise ValueError(
                f"{str(source)!r} is neither a result file, nor a folder with a result.npz, nor one of the methods "
                f"{', '.join(METHODS)}"
            )
        from pycupc.result import PcAlgo

        return PcAlgo.load(path)
    if suffStat is None or alpha is None:
        raise ValueError(f"the method {source} needs data and alpha")
    if source == "pycupc":
        import pycupc

        return (pycupc.skeleton if skeleton else pycupc.pc)(suffStat, alpha=alpha, labels=labels, **options)
    from pycupc.rbridge import pcalg_pc, pcalg_skeleton

    method = str(source).removeprefix("pcalg-")
    chosen = {"method": method} if skeleton else {"skel_method": method}
    return (pcalg_skeleton if skeleton else pcalg_pc)(suffStat, alpha=alpha, labels=labels, **chosen, **options)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `pycupc compare`."""
    parser.add_argument("a", metavar="A", help=f"a result file or folder, or a method: {', '.join(METHODS)}")
    parser.add_argument("b", metavar="B", help="the same")
    parser.add_argument("--data", metavar="FILE", help="observations: for a method, and to look into a difference")
    parser.add_argument("--alpha", type=float, help="significance level of the tests, needed by a method")
    parser.add_argument("--m-max", type=float, default=np.inf, metavar="L", help="largest conditioning set")
    parser.add_argument("--skeleton", action="store_true", help="methods stop before the edges are directed")
    parser.add_argument("--rtol", type=float, default=1e-6, help="relative tolerance of p-values (default %(default)g)")


def main(args: argparse.Namespace) -> int:
    """Run `pycupc compare`; 0: equal, 1: different, 2: wrong usage, 3: something wrong with the data."""
    from pycupc.rbridge import RBridgeError
    from pycupc.readers import DataError, read_data
    from pycupc.suffstat import SuffStat

    try:
        suffStat = SuffStat.from_data(read_data(args.data)) if args.data else None
        labels = None if suffStat is None else suffStat.labels
        fits = [
            run(source, suffStat, args.alpha, labels=labels, skeleton=args.skeleton, m_max=args.m_max)
            for source in (args.a, args.b)
        ]
        names = [Path(s).name if s not in METHODS else s for s in (args.a, args.b)]
        if names[0] == names[1]:
            names = [f"A ({args.a})", f"B ({args.b})"]
        found = compare(*fits, suffStat=suffStat, alpha=args.alpha, names=names, rtol=args.rtol)
    except DataError as error:
        sys.stderr.write(f"pycupc compare: {error}\n")
        return 3
    except (ValueError, OSError, RBridgeError) as error:
        sys.stderr.write(f"pycupc compare: {error}\n")
        return 2
    sys.stdout.write(found.text)
    return 0 if found else 1
