"""``pycupc compare``: two results, read from files or computed by a method, and how they differ."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from pycupc.cli.output import DATA, DIFFERS, OK, USAGE, add_command
from pycupc.results import npz
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo

METHODS = ("pycupc", "pcalg-stable", "pcalg-stable.fast")

_DESCRIPTION = """\
Compare two results: what differs, and the first test, triple or orientation rule at which they
differ. A and B are folders that 'pycupc run' wrote, files that save() of a result wrote, or methods,
which are run on the data; pcalg's methods need R with pcalg, and rpy2: pip install ".[r]" in a
checkout of pycupc. The exit code is 0 if the two are equal, 1 if they differ.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "compare", main, description=_DESCRIPTION)
    add = parser.add_argument
    add("a", metavar="A", help=f"a result file or folder, or a method: {', '.join(METHODS)}")
    add("b", metavar="B", help="the same")
    add("--data", metavar="FILE", help="observations, for methods and to explain differences")
    add("--alpha", type=float, help="significance level of each test, for methods")
    add("--m-max", type=float, default=math.inf, metavar="L", help="size of the largest conditioning set of methods")
    add("--skeleton", action="store_true", help="run methods up to the skeleton only")
    add("--rtol", type=float, default=1e-6, help="relative tolerance of p-values (default %(default)g)")


def main(args: argparse.Namespace) -> int:
    from pycupc.data.names import DataError
    from pycupc.independence.gaussian.suffstat import SuffStat
    from pycupc.r.bridge import RBridgeError
    from pycupc.results.comparison import compare

    try:
        suffStat = SuffStat.from_data(args.data) if args.data else None
        fits = [
            load_or_compute(source, suffStat, args.alpha, skeleton=args.skeleton, m_max=args.m_max)
            for source in (args.a, args.b)
        ]
        names = [source if source in METHODS else Path(source).name for source in (args.a, args.b)]
        if names[0] == names[1]:
            names = [f"A ({args.a})", f"B ({args.b})"]
        comparison = compare(*fits, suffStat=suffStat, alpha=args.alpha, names=names, rtol=args.rtol)
    except (ValueError, OSError, RBridgeError) as error:
        print(f"pycupc compare: {error}", file=sys.stderr)
        return DATA if isinstance(error, DataError) else USAGE
    sys.stdout.write(comparison.text)
    return OK if comparison.equal else DIFFERS


def load(source: str | Path, suffStat: Any = None, nor: str = "") -> PcAlgo | PagAlgo:
    """The result in a file or folder; ValueError if there is none, whose text ends in what else it could be."""
    path = Path(source) / "result.npz" if Path(source).is_dir() else Path(source)
    if not path.is_file():
        raise ValueError(f"{str(source)!r} is neither a result file, nor a folder with a result.npz{nor}")
    kind = PagAlgo if npz.format_of(path) == npz.PAG.format else PcAlgo
    return kind.load(path, suffStat=suffStat)


def load_or_compute(
    source: str | Path, suffStat: Any = None, alpha: float | None = None, *, skeleton: bool = False, **options: Any
) -> PcAlgo | PagAlgo:
    """The result in a file or folder, or the result of one of `METHODS` with these arguments of `pycupc.pc`.

    ValueError if `source` is none of these, or a method lacks data or alpha; RBridgeError without R, pcalg or rpy2.
    """
    if source not in METHODS:
        return load(source, suffStat, f", nor one of the methods {', '.join(METHODS)}")
    if suffStat is None or alpha is None:
        raise ValueError(f"the method {source} needs data and alpha")
    if source == "pycupc":
        from pycupc.algorithm.parameters import function_of

        fit: PcAlgo = function_of("skeleton" if skeleton else "pc")(suffStat, alpha=alpha, **options)
        return fit
    from pycupc.r.bridge import pcalg_pc, pcalg_skeleton

    method = str(source).removeprefix("pcalg-")
    if skeleton:
        return pcalg_skeleton(suffStat, alpha, method=method, **options)
    return pcalg_pc(suffStat, alpha, skel_method=method, **options)
