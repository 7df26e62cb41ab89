"""``pycupc run``: data in, a folder of results out."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pycupc.algorithm.parameters import function_of
from pycupc.cli import inputs, method_options, option_types, output, picture_options, writing
from pycupc.cli.folder import OutputFolder
from pycupc.cli.interrupts import interrupting
from pycupc.cli.output import INTERRUPTED, NoRoomError, add_command
from pycupc.cli.writing import GRAPH_FILES, FileKind, graph_files, pictures, text, too_large
from pycupc.data import TRUTHS
from pycupc.data.clean_columns import FACTS
from pycupc.graph import exports
from pycupc.results.edge_columns import sepset_columns
from pycupc.results.pagalgo import PagAlgo
from pycupc.results.pcalgo import PcAlgo
from pycupc.system.progress import level_bar

_DESCRIPTION = f"""\
Find the causal graph of a table of continuous or discrete data: a CPDAG (--method pc) or, if variables may be hidden,
a PAG (--method fci or rfci); and write into a folder:

    edges.csv        one line per edge: from, to, type (directed, undirected, ...), pMax, r, what set the arrow
    {GRAPH_FILES}       the graph for other programs
    graph.html, graph.png                      the explorer of the graph and its evidence, and a picture (see --plot)
    sepsets.csv, amat.csv                      separating sets with their tests; adjacency matrix in pcalg's coding
    result.npz       the complete result, for pycupc.PcAlgo.load
    summary.txt      numbers of edges and tests, level by level
    manifest.json    versions, arguments, hash of the input, timings; how to read each file, and why some are left out

The folder appears only when it is complete. If it cannot be written, the results are kept in another folder,
which a message names.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "run", main, description=_DESCRIPTION, data="DATA")
    inputs.add_data_arguments(parser)
    inputs.add_test_arguments(parser, limited=True)
    there: dict[str, Any] = {"dest": "cluster", "type": option_types.positive, "default": None, "metavar": "N"}
    several = "share large levels among N processes of this machine, with --threads K each (default: the cores / N)"
    parser.add_argument_group("tests").add_argument("--processes", help=several, **there)
    method_options.add_method_options(parser)
    orientation = method_options.add_orientation_options(parser)
    cpdag = "where arrows contradict each other, write the CPDAG of the DAGs that extend the graph instead"
    orientation.add_argument("--to-cpdag", action="store_true", help=cpdag)
    folder = output.add_folder_arguments(parser)
    add = folder.add_argument
    add("--all-sepsets", action="store_true", help="write sepsets.csv even if it has more than 20,000 lines")
    add("--parquet", action="store_true", help="write edges.parquet, the table of edges.csv, too")
    near = "let the page, the picture and the files for other programs hold this variable and its neighbourhood only"
    add("--around", action="append", default=[], metavar="NAME", help=f"{near}; may be repeated")
    far = "size of the neighbourhood of --around in edges (default: 2)"
    add("--distance", type=option_types.level, metavar="K", help=far)
    evidence = "keep all correlations and r in result.npz, however many (see PcAlgo.save)"
    add("--evidence", action="store_true", help=evidence)
    method_options.add_options(folder, "folder")
    picture_options.add_options(folder, "run")
    add("--keep-partial", action="store_true", help="if interrupted, write the skeleton after the finished levels")


def main(args: argparse.Namespace) -> int:
    """Run with parsed arguments; returns the exit code."""
    inputs.check(args)
    if args.parquet and find_spec("pyarrow") is None:
        args.parser.error("--parquet needs pyarrow: pip install 'pycupc[parquet]'")
    if args.distance is not None and not args.around:
        args.parser.error("--distance goes with --around")
    args.distance = 2 if args.distance is None else int(min(args.distance, 1e9))
    answer = "the results are being written; please wait"
    shown = output.progress_wanted(args)
    with (
        interrupting(answer if args.keep_partial else None) as no_more_interrupts,
        writing.begun(args, "pycupc", FILES) as record,
    ):
        fit, interruption = _fit(args, record, shown)
        if args.to_cpdag and interruption is None:
            fit = _cpdag_of(fit)
        if decided := [record.source[fact] for fact in FACTS if fact in record.source]:
            fit.notes["data"] = "; ".join(decided)
        if fit.p_values.deferred:
            with record.timed("p_values"), level_bar(wanted=shown):
                interruption = interruption or _find_p_values(fit)
        no_more_interrupts()
        with level_bar(wanted=shown) as bar:
            progress = None if bar is None else bar.writing
            truth = _found_of_the_truth(fit, args.example) if interruption is None else {}
            writing.keep(record, fit, writing.facts_of(fit) | truth, progress)
    shown_summary = not args.quiet and interruption is None
    code = writing.report(record, "\n".join([fit.summary(), *truth.values()]) if shown_summary else None)
    if interruption is None:
        return code
    print(f"pycupc: {interruption} is in {record.place}{os.sep}", file=sys.stderr)
    return INTERRUPTED


def _check_space(folder: OutputFolder, p: int, args: argparse.Namespace) -> None:
    """Raise before the tests begin if the results surely do not fit onto the disk."""
    needed = 1e6 + 300.0 * p + p * p * (4.0 * args.evidence + 2.0 * args.amat)
    free = shutil.disk_usage(folder.parent).free
    if free < needed:
        raise NoRoomError(
            f"{free / 1e6:.1f} MB are free in {folder.target.parent}, the results need {needed / 1e6:.1f}"
        )


def _fit(args: argparse.Namespace, record: writing.Run, shown: bool) -> tuple[PcAlgo | PagAlgo, str | None]:
    """Read the data and run the method: the result, and a message if it has only the levels before an interrupt."""
    from pycupc.algorithm.skeleton import Interrupted

    try:
        with level_bar(wanted=shown) as bar:
            with record.timed("read"):
                choice, record.source = inputs.read(args, bar)
            _check_space(record.folder, choice.data.p, args)
            inputs.check_around(args, choice)
            picture_options.picture_arguments(args, choice.labels)  # before the tests, which may take hours
            with record.timed(args.method):
                options = method_options.method_arguments(args, inputs.arguments_of_data(args, choice))
                fit = function_of(args.method)(choice.data, alpha=args.alpha, progress=bar, **options)
            if choice.unexpected:
                fit.notes["test"] = str(choice.reason).removeprefix(f"{choice.content.decided}; ")
            return fit, None
    except Interrupted as interrupt:
        partial = interrupt.partial
        if not args.keep_partial or partial is None:
            hint = "" if partial is None else " (--keep-partial would write the skeleton after the finished levels)"
            raise KeyboardInterrupt(f"interrupted; nothing was written{hint}") from None
        partial.notes["interrupted"] = f"skeleton after levels 0 to {partial.max_ord}, not oriented"
        partial.p_values.settle_for_tests_made()
        return partial, f"interrupted; levels 0 to {partial.max_ord} had finished; the skeleton after them"


def _cpdag_of(fit: PcAlgo | PagAlgo) -> PcAlgo:
    """The result of pc with the CPDAG of the DAGs that extend its graph; ValueError if none does."""
    assert isinstance(fit, PcAlgo)  # as `inputs.check` has made sure
    if not fit._has_dag:
        way = "--u2pd retry gives a graph that a DAG extends, without --to-cpdag the graph is written as it is"
        raise ValueError(f"--to-cpdag: no DAG extends the graph ({fit._without_dag()}); {way}; nothing was written")
    return fit.to_cpdag()


def _found_of_the_truth(fit: PcAlgo | PagAlgo, example: str | None) -> dict[str, str]:
    """How much of the true graph of example data was found, for the manifest; {} if it or a variable is not known."""
    if example not in TRUTHS or not isinstance(fit, PcAlgo):
        return {}
    from pycupc.truth.evaluation import evaluate
    from pycupc.truth.known_graph import load_truth

    truth = load_truth(example)
    if set(fit.labels) != set(truth.labels):
        return {}
    found = evaluate(fit, truth, as_cpdag=True).sentence
    return {"truth": f"the true graph is known: {found}"}


def _find_p_values(fit: PcAlgo | PagAlgo) -> str | None:
    """Find the largest p-values of the edges; returns a message if that was interrupted."""
    try:
        fit.p_values.of_edges(fit.sparse_graph)
    except KeyboardInterrupt:
        fit.p_values.settle_for_tests_made()
        fit.notes["p_values"] = "of the tests that were made; the search for the largest of all tests was interrupted"
        return "interrupted while the largest p-values were sought: some may be larger than written; the result"
    return None


#: Largest number of separating sets written as text without --all-sepsets.
MAX_SEPSETS = 20_000

_SEPSETS = (
    "pairs separated by a non-empty set: x, y in pcalg's order, level, set (names delimited by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r| (for discrete data p, and a note: 'not enough data' where the test was "
    "not made; of fci and rfci the stage of the test); the sets are as the tests found them, before --conservative or "
    "--maj-rule changed any. A pair that is neither here nor in edges.csv was separated by the empty set, or is a "
    "fixed gap"
)


def _no_sepsets(fit: PcAlgo | PagAlgo, args: argparse.Namespace) -> str | None:
    n = fit.found_sepset.n_stored
    return None if args.all_sepsets or n <= MAX_SEPSETS else f"{n:,} sets; --all-sepsets writes it"


def _draw(fit: PcAlgo | PagAlgo, path: Path, args: argparse.Namespace) -> None:
    from pycupc.graph import drawing

    look = picture_options.picture_arguments(args, fit.labels)
    drawing.save(fit.sparse_graph, fit.labels, path, around=args.around or None, radius=args.distance, **look)


def _edges_parquet(fit: PcAlgo | PagAlgo, path: Path, _: argparse.Namespace) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = fit._edge_columns()
    parquet.write_table(pyarrow.table(columns), path)


#: Every file but manifest.json, in the order in which they are written.
FILES = (
    *pictures("picture", _draw, left_out=too_large),
    FileKind(
        "graph.html",
        "the graph and its evidence, to explore in a browser",
        lambda fit, path, args: fit.explore(
            path,
            show=False,
            around=args.around or None,
            radius=args.distance,
            name=args.example or args.data.name.split(".")[0],
            **picture_options.picture_arguments(args, fit.labels, page=True),
        ),
        left_out=too_large,
        drawn=True,
    ),
    FileKind(
        "result.npz",
        lambda fit: f"the complete result; pycupc.{type(fit).__name__}.load reads it",
        lambda fit, path, args: fit.save(path, evidence=args.evidence or None),
    ),
    text("sepsets.csv", _SEPSETS, lambda fit: exports.csv(sepset_columns(fit)), left_out=_no_sepsets),
    *graph_files("edges.csv"),
    FileKind("edges.parquet", "the table of edges.csv", _edges_parquet, form="parquet"),
    text("summary.txt", "numbers of edges and tests, level by level", lambda fit: fit.summary() + "\n"),
)
