"""``pycupc run``: data in, a folder of results out."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pycupc.cli import inputs, output
from pycupc.cli.folder import refuse_existing, whole_folder
from pycupc.cli.progress import LevelBar
from pycupc.estimate import labels_of

_DESCRIPTION = """\
Find the causal graph (CPDAG) of a table of continuous data, and write into a folder:

    edges.csv        one line an edge: from, to, type (directed, undirected, bidirected), evidence
    sepsets.csv      for each pair parted by a non-empty set: the set, partial correlation, p-value, margin
    amat.csv         adjacency matrix in pcalg's coding: [i, j] = 1 and [j, i] = 0 means j --> i
    graph.graphml, graph.dot, graph.json       the graph for other programs
    graph.png        a picture (see --plot)
    result.npz       everything, for pycupc.PcAlgo.load
    summary.txt      what a person wants to know first
    manifest.json    versions, arguments, hash of the input, tests and edges level by level, timings

The folder appears only when it is complete.
"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "run",
        help="find the graph of a table of data, write a folder of results",
        usage="pycupc run DATA [options]\n       pycupc run --example [options]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inputs.add_arguments(parser)
    tests = parser.add_argument_group("tests")
    inputs.add_test_arguments(tests)
    tests.add_argument(
        "--m-max",
        type=inputs.level,
        default=float("inf"),
        metavar="L",
        help="largest conditioning set (default: no limit)",
    )
    turn = parser.add_argument_group("orientation", "arguments of pcalg::pc; the default is its relaxed rule")
    turn.add_argument(
        "--u2pd", choices=("relaxed", "rand", "retry"), default="relaxed", help="if no DAG fits the colliders"
    )
    turn.add_argument(
        "--conservative", action="store_true", help="orient a triple only if all its separating sets agree"
    )
    turn.add_argument("--maj-rule", action="store_true", help="orient a triple as most of its separating sets say")
    turn.add_argument("--solve-confl", action="store_true", help="mark contradicting arrows as bidirected edges")
    turn.add_argument("--seed", type=int, metavar="K", help="random state of --u2pd rand")
    out = parser.add_argument_group("output")
    out.add_argument("--out", type=Path, metavar="DIR", help="folder to write (default: named after DATA)")
    out.add_argument("--force", action="store_true", help="replace the folder of an earlier run")
    out.add_argument(
        "--plot", action="append", choices=("png", "svg", "pdf", "none"), help="formats of the picture (default: png)"
    )
    out.add_argument(
        "--all-sepsets", action="store_true", help="write sepsets.csv even if it has more than 200,000 lines"
    )
    out.add_argument(
        "--keep-partial",
        action="store_true",
        help="if interrupted, write the skeleton after the levels that had finished",
    )
    out.add_argument("--quiet", action="store_true", help="print nothing but errors")
    out.add_argument("--no-progress", action="store_true", help="no progress bars (off anyway when not on a terminal)")
    parser.set_defaults(main=lambda args: main(args, parser))


def main(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run with parsed arguments; returns the exit code."""
    inputs.check(args, parser)
    for flag in ("conservative", "maj_rule", "solve_confl"):
        if getattr(args, flag) and args.u2pd != "relaxed":
            parser.error(f"--{flag.replace('_', '-')} goes with --u2pd relaxed only")
    if args.conservative and args.maj_rule:
        parser.error("choose one of --conservative and --maj-rule")
    target = args.out or Path(f"{'example' if args.example else _stem(args.data)}-pycupc")
    force = args.force or (args.example and args.out is None)  # the example's own folder is no loss
    refuse_existing(target, force)
    pictures = output.picture_formats(args.plot)

    said: list[str] = []
    times: dict[str, float] = {}
    began = datetime.now(timezone.utc)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_: _warn(str(message), said)
        clock = time.perf_counter()
        suff_stat, source = inputs.read(args)
        times["read"] = time.perf_counter() - clock
        clock = time.perf_counter()
        fit, stopped = _fit(args, suff_stat)
        times["pc"] = time.perf_counter() - clock
        clock = time.perf_counter()
        with whole_folder(target, force=force) as folder:
            files = output.write(fit, folder, pictures, all_sepsets=args.all_sepsets)
            times["write"] = time.perf_counter() - clock
            arguments = {key: _plain(value) for key, value in vars(args).items() if key != "main"}
            output.write_manifest(folder, fit, arguments, source, files, times, began, said)
    if stopped is not None:
        print(f"pycupc: {stopped}; the skeleton after them is in {target}{os.sep}", file=sys.stderr)
        return 130
    if not args.quiet:
        print(fit.summary())
        print(f"\nResults are in {target}{os.sep}")
    return 0


def _fit(args: argparse.Namespace, suff_stat: Any) -> tuple[Any, str | None]:
    """The result, and what to say if it is only that of the levels before an interrupt."""
    import pycupc

    options = {name: getattr(args, name) for name in ("m_max", "u2pd", "conservative", "maj_rule", "solve_confl")}
    labels = labels_of(suff_stat)
    bar = LevelBar(sys.stderr) if sys.stderr.isatty() and not args.quiet and not args.no_progress else None
    try:
        fit = pycupc.pc(
            suff_stat,
            alpha=args.alpha,
            numCores=args.threads,
            engine=args.engine,
            progress=bar,
            random_state=args.seed,
            **options,
            **inputs.pairs(args, labels),
        )
    except pycupc.Interrupted as stop:
        if bar is not None:
            bar.close(finished=False)
        if not args.keep_partial or stop.partial is None:
            hint = "" if stop.partial is None else " (--keep-partial would write the levels that had finished)"
            raise KeyboardInterrupt(f"interrupted; nothing was written{hint}") from None
        level = stop.partial.max_ord
        stop.partial.notes["interrupted"] = f"skeleton after levels 0 to {level}, not oriented"
        return stop.partial, f"interrupted; levels 0 to {level} had finished"
    finally:
        if bar is not None:
            bar.close()
    return fit, None


def _stem(path: Path) -> str:
    """File name without its endings: data for data.csv.gz."""
    return path.name.split(".")[0] or "data"


def _warn(text: str, said: list[str]) -> None:
    said.append(text)
    print(f"warning: {text}", file=sys.stderr)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return "inf" if value == float("inf") else value
