"""``pycupc estimate``: an estimate of the work of a run before it starts."""

from __future__ import annotations

import argparse
import json

from pycupc.cli import inputs, method_options
from pycupc.cli.interrupts import shown_warnings
from pycupc.cli.output import OK, add_command
from pycupc.system.progress import level_bar

#: Seconds for which the levels after level 1 are tried.
TRIAL = 2.0

_DESCRIPTION = """\
Estimate how many tests a run makes and how much memory it needs, level by level: before any test,
after level 0 and after level 1. These two levels are run, since they are cheap. Numbers marked <=
are exact upper bounds. The levels after them are tried for two seconds, which tells how long a run takes.
With --method fci, the sets from Possible-D-SEP in the graph that is left then are counted, too.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = add_command(commands, "estimate", main, description=_DESCRIPTION, data="DATA")
    inputs.add_data_arguments(parser)
    tests = inputs.add_test_arguments(parser)
    method_options.add_method_options(parser)
    tests.add_argument(
        "--levels", choices=(0, 1, 2), type=int, default=2, help="number of levels to run (default: 2, levels 0 and 1)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def main(args: argparse.Namespace) -> int:
    inputs.check(args)
    from pycupc.algorithm import estimate
    from pycupc.algorithm.arguments import problem_of
    from pycupc.algorithm.parameters import Arguments

    with shown_warnings(), level_bar() as bar:
        choice, _ = inputs.read(args, bar)
        given = inputs.arguments_of_data(args, choice)
        given |= {"suffStat": choice.data, "alpha": args.alpha, "numCores": args.threads, "engine": args.engine}
        problem = problem_of(Arguments(function=args.method, **given), bar)
        trial = TRIAL if args.levels == 2 else 0
        estimated = estimate.run_stages(problem, last=args.levels - 1, trial=trial, pdsep_max=args.pdsep_max)
    print(json.dumps(estimated.as_dict(), indent=1) if args.json else estimated)
    return OK
