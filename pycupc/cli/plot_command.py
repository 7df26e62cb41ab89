"""``pycupc plot``: a picture, or the explorer, of a result or of the neighbourhood of some of its variables."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycupc.cli import picture_options
from pycupc.cli.folder import MANIFEST
from pycupc.cli.output import OK, add_command

if TYPE_CHECKING:
    from pycupc.effects.effects_result import Effects
    from pycupc.stability import Consensus, PagConsensus

_PICTURES = (".png", ".svg", ".pdf", ".tikz")

_DESCRIPTION = """\
Draw a result, or the neighbourhood of some of its variables:

    pycupc plot results --open                     opens the explorer that 'pycupc run' wrote
    pycupc plot results                            a picture of the whole graph
    pycupc plot results --around TP53              TP53 and what is within 2 edges, labelled
    pycupc plot results --around TP53 --around MYC --radius 1 --out near.svg
    pycupc plot results --around TP53 --out near.html     the explorer, to open in the browser
    pycupc plot results --groups groups.csv --no-title --figsize 7 5 --out paper.pdf
    pycupc plot results --tiers known.txt --path smoking tar cancer

RESULT is a folder that 'pycupc run' or 'pycupc stability' wrote, or a file that PcAlgo.save wrote.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "plot", main, description=_DESCRIPTION)
    add = parser.add_argument
    add("result", metavar="RESULT", type=Path, help="a folder of results, or a result file")
    add("--around", action="append", metavar="NAME", help="draw this variable and its neighbourhood; may be repeated")
    add("--radius", type=int, metavar="K", help="size of the neighbourhood of --around in edges (default: 2)")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help=".png, .svg, .pdf, .tikz or .html (default: a .png named after the variable)",
    )
    picture_options.add_options(parser, "plot")
    add("--data", metavar="FILE", help="observations, for correlations that the explorer shows and the result lacks")
    add("--effects", action="store_true", help="show possible effects on the explorer's page, in the units of --data")
    add("--open", action="store_true", help="open what was written, or graph.html of the folder RESULT")


def main(args: argparse.Namespace) -> int:
    from pycupc.cli.compare_command import load
    from pycupc.graph import drawing as plotting
    from pycupc.independence.gaussian.suffstat import SuffStat
    from pycupc.stability import Consensus, PagConsensus

    if args.radius is not None and not args.around:
        args.parser.error("--radius goes with --around")
    args.radius = 2 if args.radius is None else args.radius
    if args.radius < 0:
        args.parser.error(f"--radius must be 0 or more, got {args.radius}")
    page = args.result / "graph.html"
    if args.open and args.out is None and args.around is None and page.is_file():
        _open(page)
        return OK
    name = re.sub(r"[^\w.-]+", "_", args.around[0])[:60].strip("._") if args.around else "graph"
    out = args.out or Path(f"{name or 'neighbourhood'}.png")
    ending = out.suffix.lower()
    if ending not in (*_PICTURES, ".html"):
        args.parser.error(f"--out must end in {', '.join(_PICTURES)} or .html, got {out.name}")
    data = None if args.data is None else SuffStat.from_data(args.data)
    fit = _consensus(args.result) or load(args.result, data)
    look = picture_options.picture_arguments(args, fit.labels, page=ending == ".html")
    if "units" in look and not args.effects:
        args.parser.error("--units goes with --effects")
    if args.effects:
        look["effects"] = _effects(fit, args, page=ending == ".html")
    if ending == ".html":
        fit.explore(out, around=args.around, radius=args.radius, show=False, **look)
    elif isinstance(fit, (Consensus, PagConsensus)):
        fit.save_picture(out, around=args.around, radius=args.radius, **look)
    else:
        plotting.save(fit.sparse_graph, fit.labels, out, around=args.around, radius=args.radius, **look)
    print(f"{out} is written")
    if args.open:
        _open(out)
    return OK


def _effects(fit: Any, args: argparse.Namespace, *, page: bool) -> Effects:
    """The possible effects for the page; a wrong combination of options is an error of usage."""
    from pycupc.effects.effects import effects
    from pycupc.results.pcalgo import PcAlgo

    if not page:
        args.parser.error("--effects is of the explorer (.html), not of pictures")
    if args.data is None:
        args.parser.error("--effects goes with --data FILE, the observations")
    if not isinstance(fit, PcAlgo):
        args.parser.error(f"--effects needs a result of the method pc, got {fit.title}")
    return effects(fit, args.data)


def _consensus(source: Path) -> Consensus | PagConsensus | None:
    """The consensus graph of a folder of 'pycupc stability', or of its stability.npz; None for other sources."""
    file = source / "stability.npz" if source.is_dir() else source
    if file.name != "stability.npz" or not file.is_file():
        return None
    from pycupc.stability import Stability

    try:
        wanted = json.loads((file.parent / MANIFEST).read_text(encoding="utf-8"))["consensus"]
        threshold = {"threshold": float(wanted["threshold"])}
    except (OSError, ValueError, TypeError, KeyError):  # moved without its manifest
        threshold = {}
    return Stability.load(file).consensus(**threshold)


def _open(path: Path) -> None:
    import webbrowser

    print(f"opening {path}")
    webbrowser.open(path.resolve().as_uri())
