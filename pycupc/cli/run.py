"""``pycupc run``: data in, a folder of results out."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pycupc
from pycupc.cli import inputs, output
from pycupc.cli.command import DEVICE, INTERRUPTED, OK, add_command
from pycupc.cli.files import FILES, Request
from pycupc.cli.folder import FolderError, OutputFolder
from pycupc.cli.interrupts import only_once
from pycupc.cli.messages import shown_warnings
from pycupc.discrete import DiscreteSuffStat
from pycupc.estimate import labels_of
from pycupc.gaussian.suffstat import SuffStat
from pycupc.progress import level_bar

_DESCRIPTION = """\
Find the causal graph (CPDAG) of a table of continuous or discrete data, and write into a folder:

    edges.csv        one line per edge: from, to, type (directed, undirected, bidirected), evidence
    graph.graphml, graph.dot, graph.json       the graph for other programs
    graph.html       the graph and its evidence, to explore in a browser
    graph.png        a picture (see --plot)
    result.npz       the complete result, for pycupc.PcAlgo.load
    summary.txt      numbers of edges and tests, level by level
    manifest.json    versions, arguments, hash of the input, tests and edges level by level, timings
    sepsets.csv      one line per pair separated by a non-empty set: set, partial correlation, p-value, margin;
                     where there are more than 20,000, with --all-sepsets
    amat.csv         adjacency matrix in pcalg's coding: [i, j] = 1 and [j, i] = 0 means j --> i; for more than
                     1,000 variables with --amat

The folder appears only when it is complete. If it cannot be written, the results are kept elsewhere.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = add_command(
        commands,
        "run",
        main,
        summary="find the graph of a table of data, and write a folder of results",
        description=_DESCRIPTION,
        usage="pycupc run DATA [options]\n       pycupc run --example [options]",
    )
    inputs.add_data_arguments(parser)
    inputs.add_test_arguments(parser).add_argument(
        "--m-max",
        type=inputs.level,
        default=float("inf"),
        metavar="L",
        help="size of the largest conditioning set (default: no limit)",
    )
    _add_orientation_arguments(parser)
    _add_output_arguments(parser)


def _add_orientation_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("orientation", "arguments of pcalg::pc; the default is its relaxed rule")
    add = group.add_argument
    add("--u2pd", choices=("relaxed", "rand", "retry"), default="relaxed", help="if no DAG has the colliders found")
    add("--conservative", action="store_true", help="orient a triple only if all of its separating sets agree")
    add("--maj-rule", action="store_true", help="orient a triple as the majority of its separating sets imply")
    add("--solve-confl", action="store_true", help="mark edges with contradicting arrows as bidirected")
    add("--seed", type=int, metavar="K", help="random state of --u2pd rand and retry")


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    add("--out", type=Path, metavar="DIR", help="folder to write (default: named after DATA)")
    add("--force", action="store_true", help="replace the results of an earlier run; other files in DIR stay")
    add("--plot", action="append", choices=("png", "svg", "pdf", "none"), help="formats of the picture (default: png)")
    add("--amat", action="store_true", help="write amat.csv for more than 1,000 variables too")
    add("--all-sepsets", action="store_true", help="write sepsets.csv even if it has more than 20,000 lines")
    add(
        "--evidence",
        action="store_true",
        help="keep all correlations and r in result.npz, however many (see PcAlgo.save)",
    )
    add("--keep-partial", action="store_true", help="if interrupted, write the skeleton after the finished levels")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")
    add("--no-progress", action="store_true", help="show no progress bars (there are none outside a terminal)")


def main(args: argparse.Namespace) -> int:
    """Run with parsed arguments; returns the exit code."""
    _check_arguments(args)
    target = args.out or Path(f"{'example' if args.example else _stem(args.data)}-pycupc")
    force = args.force or (args.example and args.out is None)  # the folder of the example may always be replaced
    request = Request(output.picture_formats(args.plot), args.amat, args.all_sepsets, args.evidence)
    names = (*(kind.name for kind in FILES), output.MANIFEST)
    answer = "the results are being written; please wait"
    with (
        only_once(answer) if args.keep_partial else nullcontext(lambda: None) as no_more_interrupts,
        shown_warnings() as messages,
        OutputFolder(target, force=force, names=names) as folder,
        output.writer(request) as writer,
    ):
        inputs.begin_gpu(args)
        record = output.Run(_recorded(args), messages)
        with _timed(record.seconds, "read"), level_bar(wanted=_progress_wanted(args)) as bar:
            suff_stat, record.source = inputs.read(args, bar)
        _check_space(folder, suff_stat.p, request)
        with _timed(record.seconds, "pc"):
            fit, interruption = _fit(args, suff_stat)
        no_more_interrupts()
        with level_bar(wanted=_progress_wanted(args)) as bar:
            kept = output.keep(fit, folder, writer, record, None if bar is None else bar.writing)
    return _report(args, fit, kept, interruption)


def _report(args: argparse.Namespace, fit: pycupc.PcAlgo, kept: output.Kept, interruption: str | None) -> int:
    """Print what came out and where it is; returns the exit code."""
    place = f"{kept.place}{os.sep}"
    if kept.failure is not None:
        print(f"pycupc: {kept.failure}; the results are in {place} instead", file=sys.stderr)
    if interruption is not None:
        print(f"pycupc: {interruption}; the skeleton after them is in {place}", file=sys.stderr)
        return INTERRUPTED
    if not args.quiet:
        print(fit.summary())
        print(f"\nResults are in {place}")
        for name, reason in kept.written.left_out.items():
            print(f"without {name} ({reason})")
    return OK if kept.failure is None else DEVICE


def _check_space(folder: OutputFolder, p: int, request: Request) -> None:
    """Raise before the tests begin if the results surely do not fit onto the disk; warn if they may not."""
    least, most = output.sizes(p, request)
    free = folder.free()
    if free < least:
        raise FolderError(f"{free / 1e6:.1f} MB are free in {folder.target.parent}, the results need {least / 1e6:.1f}")
    if free < most:
        text = f"{free / 1e6:,.0f} MB are free in {folder.target.parent}, the results may need up to {most / 1e6:,.0f}"
        warnings.warn(text, stacklevel=2)


def _check_arguments(args: argparse.Namespace) -> None:
    inputs.check(args)
    for flag in ("conservative", "maj_rule", "solve_confl"):
        if getattr(args, flag) and args.u2pd != "relaxed":
            args.parser.error(f"--{flag.replace('_', '-')} goes with --u2pd relaxed only")
    if args.conservative and args.maj_rule:
        args.parser.error("choose one of --conservative and --maj-rule")


def _progress_wanted(args: argparse.Namespace) -> bool:
    return not args.quiet and not args.no_progress


def _fit(args: argparse.Namespace, suff_stat: SuffStat | DiscreteSuffStat) -> tuple[pycupc.PcAlgo, str | None]:
    """The result; and if it is only that of the levels before an interrupt, a message that says so."""
    options = {name: getattr(args, name) for name in ("m_max", "u2pd", "conservative", "maj_rule", "solve_confl")}
    options |= inputs.fixed_pairs(args, labels_of(suff_stat)) | inputs.test_of(args, suff_stat)
    try:
        with level_bar(wanted=_progress_wanted(args)) as bar:
            fit = pycupc.pc(
                suff_stat,
                alpha=args.alpha,
                numCores=args.threads,
                engine=args.engine,
                progress=bar,
                random_state=args.seed,
                **options,
            )
    except pycupc.Interrupted as interrupt:
        partial = interrupt.partial
        if not args.keep_partial or partial is None:
            hint = "" if partial is None else " (--keep-partial would write the skeleton after the finished levels)"
            raise KeyboardInterrupt(f"interrupted; nothing was written{hint}") from None
        partial.notes["interrupted"] = f"skeleton after levels 0 to {partial.max_ord}, not oriented"
        return partial, f"interrupted; levels 0 to {partial.max_ord} had finished"
    return fit, None


def _stem(path: Path) -> str:
    """File name without its endings: data for data.csv.gz, and for standard input."""
    return path.name.split(".")[0].strip("-") or "data"


def _recorded(args: argparse.Namespace) -> dict[str, object]:
    """The arguments as the manifest holds them; infinity becomes a word, which JSON lacks."""
    values = {name: value for name, value in vars(args).items() if name not in ("main", "parser")}
    return {name: "inf" if value == float("inf") else value for name, value in values.items()}


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
