"""Shared by the commands: their names, exit codes, and the arguments about the folder of results and progress."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pycupc.system.nearest import did_you_mean

OK, DIFFERS, USAGE, DATA, DEVICE, INTERRUPTED = 0, 1, 2, 3, 4, 130

#: Each command, which is the module `pycupc.cli.NAME_command`, and what it is for.
COMMANDS = {
    "run": "find the graph of a table of data, and write a folder of results",
    "plot": "a picture of a result, or of a neighbourhood",
    "stability": "how often each edge is found on resamples of the rows",
    "cstar": "causes of a variable, ranked by how stable a large effect is",
    "estimate": "tests, memory and time of a run, before it",
    "compare": "how two results differ, and where they first do",
    "doctor": "what is installed, which engines work, and why others do not",
}


#: Formats of the picture.
PICTURES = ("png", "svg", "pdf", "tikz", "none")


class FolderError(ValueError):
    """The output folder cannot be used."""


class NoRoomError(FolderError):
    """The disk of the output folder has no room."""


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    main: Callable[[argparse.Namespace], int],
    *,
    description: str,
    data: str = "",
) -> argparse.ArgumentParser:
    """Add the parser of a command, in whose arguments are its `main` and `parser`; its usage calls the data `data`."""
    form = argparse.RawDescriptionHelpFormatter
    usage = f"pycupc {name} {data} [options]\n       pycupc {name} --example [options]" if data else None
    parser = commands.add_parser(name, help=COMMANDS[name], usage=usage, description=description, formatter_class=form)
    parser.set_defaults(main=main, parser=parser)
    return parser


def one_of(*words: str) -> dict[str, Any]:
    """Arguments of `add_argument` for an option with one of these words, of which an error names the nearest."""

    def parse(text: str) -> str:
        if text in words:
            return text
        expected = f"expected {', '.join(words[:-1])} or {words[-1]}, got {text!r}"
        raise argparse.ArgumentTypeError(expected + did_you_mean(text, words))

    return {"type": parse, "metavar": f"{{{','.join(words)}}}"}


def with_each_format(arguments: Sequence[str]) -> list[str]:
    """The arguments, ``--plot png svg`` as ``--plot png --plot svg``: several words would take DATA, too."""
    out: list[str] = []
    for word in arguments:
        if word in PICTURES and out[-1:] and out[-1] in PICTURES and out[-2] == "--plot":
            out.append("--plot")
        out.append(word)
    return out


def discard_output() -> None:
    """Write nothing more to stdout, which nobody can take: not what is still held back either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def add_folder_arguments(parser: argparse.ArgumentParser, *, graph: bool = True) -> argparse._ArgumentGroup:
    """Add the arguments about progress and the folder of results, which may hold a graph; returns their group."""
    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--out", type=Path, metavar="DIR", help="folder to write (default: named after DATA)")
    add("--force", action="store_true", help="replace the results of an earlier run; other files in DIR stay")
    there = [form for form in PICTURES if graph or form != "tikz"]
    formats = f"formats of the picture: {', '.join(there)} (default: png); several: --plot png svg"
    add("--plot", action="append", **one_of(*there) | {"metavar": "FORMAT"}, help=formats)
    if graph:
        add("--amat", action="store_true", help="write amat.csv for more than 1,000 variables too")
    formulas = "begin text in .csv files that a spreadsheet takes for a formula (= + - @) with an apostrophe"
    add("--spreadsheet", action="store_true", help=formulas)
    add("--quiet", action="store_true", help="print nothing but warnings and errors")
    add("--no-progress", action="store_true", help="show no progress bars (there are none outside a terminal)")
    return group


def progress_wanted(args: argparse.Namespace) -> bool:
    """Whether progress is to be shown on a terminal."""
    return not args.quiet and not args.no_progress


def target(args: argparse.Namespace, command: str) -> tuple[Path, bool]:
    """The folder to write, by default named after the data and the command, and whether it may be replaced."""
    name = "example" if args.example else args.data.name.split(".")[0].strip("-") or "data"  # data.csv.gz, or -
    # the folder of the example may always be replaced
    return args.out or Path(f"{name}-{command}"), args.force or bool(args.example and args.out is None)


def picture_formats(requested: Sequence[str] | None) -> tuple[str, ...]:
    """Formats to draw: those requested; by default png if matplotlib is installed. ImportError if one needs it."""
    installed = importlib.util.find_spec("matplotlib") is not None
    if requested is None:
        return ("png",) if installed else ()
    formats = tuple(dict.fromkeys(name for name in requested if name != "none"))
    if set(formats) - {"tikz"} and not installed:
        raise ImportError(f"--plot {formats[0]} needs matplotlib: pip install 'pycupc[plot]' (or --plot none)")
    return formats
