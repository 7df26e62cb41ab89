"""``pycupc estimate``: the work of a run before it is done."""

from __future__ import annotations

import argparse
import json
import sys
import warnings

from pycupc.cli import inputs
from pycupc.cli.progress import LevelBar

_DESCRIPTION = """\
Say how many tests a run will make and how much memory it needs, level by level: before any test, after level 0 and
after level 1. These two levels are run; they are cheap. Numbers marked <= are exact upper bounds.
"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser(
        "estimate",
        help="how many tests and how much memory, level by level",
        usage="pycupc estimate DATA [options]\n       pycupc estimate --example [options]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inputs.add_arguments(parser)
    tests = parser.add_argument_group("tests")
    inputs.add_test_arguments(tests)
    tests.add_argument(
        "--levels", choices=(0, 1, 2), type=int, default=2, help="levels to run (default: 2, that is 0 and 1)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(main=lambda args: main(args, parser))


def main(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run with parsed arguments; returns the exit code."""
    inputs.check(args, parser)
    from pycupc import estimate
    from pycupc.engines.select import make_engine

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
        suff_stat, _ = inputs.read(args)
        labels = estimate.labels_of(suff_stat)
        masks = inputs.pairs(args, labels)
        engine, _ = make_engine(args.engine, suff_stat.p, numCores=args.threads, options=None)
        suff_stat.check(engine.inspect(suff_stat.C), labels)
        bar = LevelBar(sys.stderr) if sys.stderr.isatty() else None
        found = estimate.run_stages(
            suff_stat,
            args.alpha,
            engine,
            gaps=masks.get("fixedGaps"),
            fixed=masks.get("fixedEdges"),
            last=args.levels - 1,
            progress=bar,
        )
        if bar is not None:
            bar.close()
    print(json.dumps(found.as_dict(), indent=1) if args.json else found)
    return 0
