"""``pycupc compare``: two results, read from files or computed by the methods named, side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pycupc.comparison import compare
from pycupc.results.pcalgo import PcAlgo

METHODS = ("pycupc", "pcalg-stable", "pcalg-stable.fast")


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
        return PcAlgo.load(path)
    if suffStat is None or alpha is None:
        raise ValueError(f"the method {source} needs data and alpha")
    if source == "pycupc":
        import pycupc

        return (pycupc.skeleton if skeleton else pycupc.pc)(suffStat, alpha=alpha, labels=labels, **options)
    from pycupc.r.bridge import pcalg_pc, pcalg_skeleton

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
    from pycupc.data.readers import DataError, read_data
    from pycupc.gaussian.suffstat import SuffStat
    from pycupc.r.bridge import RBridgeError

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
