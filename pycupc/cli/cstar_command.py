"""``pycupc cstar``: pairs of cause and effect, ranked by how stable a large effect is on resamples of the rows."""

from __future__ import annotations

import argparse
import math
from typing import Any

from pycupc.cli import inputs, method_options, option_types, output
from pycupc.cli.output import add_command
from pycupc.cli.stability_command import Study, add_resampling_arguments, run_resampled
from pycupc.cli.writing import FileKind, pictures, text
from pycupc.graph import exports
from pycupc.graph.drawing import save_figure

_DESCRIPTION = """\
Causal stability ranking: find the causal graph (CPDAG) of many halves of the rows of a table, and in each the pairs of
variables with the largest effects; rank the pairs by how often they are among them; and write into a folder:

    ranking.csv      the pairs, best first: cause, effect, median_rank, pi (share of the resamples), value (median
                     effect) with low and high, pcer (bound on the error rate)
    ranking.png      the first pairs with their effects (see --plot)
    cstar.npz        the complete result, for pycupc.CStaR.load
    summary.txt      the first pairs
    manifest.json    versions, arguments, hash of the input, seed, timings

Finished resamples are kept beside that folder, in DIR-resamples, until the results are written: after an interrupt, the
same command resumes from there.
"""

_RANKING = (
    "pairs of cause and effect, best first: median rank over the numbers q, share of the resamples that select the "
    "pair at the largest q, median effect and the middle 95 % of the effects, bound on the error rate per pair"
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "cstar", main, description=_DESCRIPTION, data="DATA --effect NAME")
    inputs.add_data_arguments(parser, rows=True)
    add = parser.add_argument_group("candidates").add_argument
    for name, what in (("--effect", "effects"), ("--cause", "causes")):
        add(name, action="extend", nargs="+", metavar="NAME", help=f"candidates for {what} (default: all variables)")
    numbers = "a pair is selected if it is among the K largest; several: ranks are medians over them (default: chosen)"
    add("--q", type=option_types.positive, nargs="+", metavar="K", help=numbers)
    units = "effects in the units of the data (default: in standard deviations)"
    add("--units", action="store_true", help=units)
    add_resampling_arguments(parser, "subsample")
    inputs.add_test_arguments(parser, limited=True)
    method_options.add_orientation_options(parser, of_resamples=True)
    parser.set_defaults(method="pc", pdsep_max=math.inf)
    output.add_folder_arguments(parser, graph=False)


def main(args: argparse.Namespace) -> int:
    return run_resampled(args, _FILES, _study)


def _study(args: argparse.Namespace, suff_stat: Any, _: dict[str, Any], options: dict[str, Any]) -> Study:
    from pycupc.stability import cstar

    given = {"alpha": args.alpha, "standardize": not args.units, **options}
    result = cstar(suff_stat, args.cause, args.effect, args.q, **given)
    return result, {"study": dict(result.arguments), "resamples": result.n_resamples}, result.summary()


#: Every file but the manifest.
_FILES = (
    text("ranking.csv", _RANKING, lambda result: exports.csv(result.columns())),
    FileKind("cstar.npz", "the complete result; pycupc.CStaR.load reads it", lambda result, path, _: result.save(path)),
    *pictures(
        "picture of the first pairs and their effects",
        lambda result, path, _: save_figure(result.plot().figure, path),
        "ranking",
    ),
    text("summary.txt", "the first pairs", lambda result: result.summary() + "\n"),
)
