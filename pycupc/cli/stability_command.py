"""``pycupc stability``: how often each edge is found on resamples of the rows."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pycupc.cli import inputs, method_options, option_types, output, writing
from pycupc.cli.output import add_command
from pycupc.cli.writing import GRAPH_FILES, FileKind, graph_files, pictures, text
from pycupc.graph import exports
from pycupc.system.clusters import opened

if TYPE_CHECKING:
    from pycupc.stability import Consensus, PagConsensus, Stability
    from pycupc.stability.rows import Scheme

_DESCRIPTION = f"""\
Find the causal graph (a CPDAG, or with --method fci or rfci a PAG) of many resamples of the rows of a table, count how
often each edge is found, and write into a folder:

    edges.csv        one line per pair that was ever adjacent, and per alpha: the shares of the resamples in which they
                     are adjacent, and have each kind of edge (of a PAG, each mark)
    consensus.csv    the edges of the consensus graph: pairs adjacent in at least the share --threshold
    {GRAPH_FILES}, amat.csv       the consensus graph for other programs
    graph.html, graph.png                                its explorer, and a picture (see --plot)
    stability.npz    the complete result, for pycupc.Stability.load
    summary.txt      numbers of edges by frequency
    manifest.json    versions, arguments, hash of the input, seed, timings; how to read each file

Finished resamples are kept beside that folder, in DIR-resamples, until the results are written: after an interrupt, the
same command resumes from there.
"""

_EDGES = "shares of the resamples in which a pair is adjacent, and has each kind or mark; reversed is to --> from"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "stability", main, description=_DESCRIPTION, data="DATA")
    inputs.add_data_arguments(parser, rows=True)
    add_resampling_arguments(parser, "bootstrap")
    inputs.add_test_arguments(parser, several=True, limited=True)
    method_options.add_method_options(parser)
    method_options.add_orientation_options(parser, of_resamples=True)
    parser.set_defaults(around=())
    add = output.add_folder_arguments(parser).add_argument
    least = "least share of the resamples that have an edge of the consensus graph (default: 0.5)"
    add("--threshold", type=option_types.probability, default=0.5, metavar="T", help=least)


def add_resampling_arguments(parser: argparse.ArgumentParser, scheme: Scheme) -> None:
    """Add the arguments about resamples, with the scheme that is the default."""
    add = parser.add_argument_group("resamples").add_argument
    add("--resamples", type=option_types.positive, default=100, metavar="K", help="number of resamples (default: 100)")
    schemes = (
        "n rows with replacement; a share of the rows; halves in pairs without common rows (default: "
        f"{scheme}). The last two come with bounds on what is found falsely"
    )
    add("--scheme", **output.one_of("bootstrap", "subsample", "complementary"), default=scheme, help=schemes)
    of_rows = "share of the rows in a subsample (default: 0.5)"
    add("--fraction", type=option_types.share, default=0.5, metavar="F", help=of_rows)
    add("--seed", type=option_types.natural, metavar="K", help="seed of the resamples (default: drawn, and recorded)")
    add("--scheduler", metavar="ADDRESS", help="run the resamples on this Dask cluster, e.g. tcp://host:8786")
    add("--checkpoint", type=Path, metavar="DIR", help="keep finished resamples in this folder, even after the run")


def main(args: argparse.Namespace) -> int:
    return run_resampled(args, _FILES, _study)


#: The object that the files show, the facts about it for the manifest, and a text for the user.
Study = tuple[Any, dict[str, Any], str]


def run_resampled(args: argparse.Namespace, files: Sequence[FileKind], study: Callable[..., Study]) -> int:
    """Run `stability` or `cstar`, by ``study(args, data, facts of the input, arguments of both)``; write `files`."""
    inputs.check(args)
    if isinstance(args.correlation, int):
        args.parser.error(f"--correlation gives no rows to draw; {args.command} needs observations")
    with writing.begun(args, args.command, files) as record:
        target = record.folder.target
        checkpoint = args.checkpoint or target.with_name(f"{target.name}-resamples")
        with record.timed("read"):
            choice, record.source = inputs.read(args)
        with record.timed(args.command), opened(args.scheduler, "--scheduler") as executor:
            given = method_options.method_arguments(args, inputs.arguments_of_data(args, choice))
            options = given | {"executor": executor, "checkpoint": checkpoint}
            options |= {"n_resamples": args.resamples, "random_state": args.seed}
            options |= {"scheme": args.scheme, "fraction": args.fraction}
            options["progress"] = output.progress_wanted(args) and sys.stderr.isatty()
            found, facts, summary = study(args, choice.data, record.source, options)
        writing.keep(record, found, facts)
    if args.checkpoint is None and record.failure is None:
        from pycupc.stability.resample_checkpoint import remove

        remove(checkpoint)
    return writing.report(record, None if args.quiet else summary)


class _Shown(NamedTuple):
    """A result, its consensus graph, and the summary."""

    result: Stability
    consensus: Consensus | PagConsensus
    summary: str


#: Every file but the manifest.
_FILES = (
    text("edges.csv", _EDGES, lambda study: exports.csv(study.result.columns())),
    *graph_files("consensus.csv", lambda study: study.consensus),
    FileKind(
        "stability.npz",
        "the complete result; pycupc.Stability.load reads it",
        lambda study, path, _: study.result.save(path),
    ),
    FileKind(
        "graph.html",
        "the consensus graph and the shares of its edges, to explore in a browser",
        lambda study, path, _: study.consensus.explore(path, show=False),
        drawn=True,
    ),
    *pictures("picture of the consensus graph", lambda study, path, _: study.consensus.save_picture(path)),
    text("summary.txt", "numbers of edges by frequency", lambda study: study.summary + "\n"),
)


def _study(args: argparse.Namespace, suff_stat: Any, source: dict[str, Any], options: dict[str, Any]) -> Study:
    from pycupc.stability import stability

    result = stability(suff_stat, method=args.method, alpha=args.alpha, **options)
    consensus, dropped = result.consensus(args.threshold), source.get("rows_dropped")
    summary = result.summary() + (f"\ndata: {dropped}" if dropped else "")
    facts = {
        "study": dict(result.arguments),
        "resamples": result.n_resamples,
        "edges_per_graph": [round(result.mean_edges(alpha), 3) for alpha in result.alphas],
        "consensus": {
            "alpha": consensus.alpha,
            "threshold": consensus.threshold,
            "edges": consensus.sparse_graph.counts(),
        },
    }
    return _Shown(result, consensus, summary), facts, f"{summary}\n\n{_about(result, consensus)}"


def _about(result: Stability, consensus: Consensus | PagConsensus) -> str:
    """The consensus graph in a sentence, with a bound on its false edges if one holds."""
    said = (
        f"consensus at alpha {consensus.alpha:g}, threshold {consensus.threshold:g}: {len(consensus.sparse_graph):,} "
        f"edges ({consensus.kinds_of_edges()})"
    )
    try:
        bound = result.bound(consensus.threshold)
    except ValueError:  # none is known for this scheme
        return said
    return said + (f"\nexpected false edges: at most {bound:.3g} (see Stability.bound)" if math.isfinite(bound) else "")
