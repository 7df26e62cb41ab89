"""What the commands share: exit codes, and how a command becomes part of the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

OK, DIFFERS, USAGE, DATA, DEVICE, INTERRUPTED = 0, 1, 2, 3, 4, 130


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    main: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    usage: str | None = None,
) -> argparse.ArgumentParser:
    """Add the parser of a command; the parsed arguments hold its `main` and, for errors of usage, its `parser`."""
    parser = commands.add_parser(
        name, help=summary, usage=usage, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(main=main, parser=parser)
    return parser


def discard_output() -> None:
    """Write nothing more to stdout, which nobody can take: not what is still held back either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
