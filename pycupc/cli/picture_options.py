"""The options of pictures: a table, from which `plot` and `run` have their options, and pictures their arguments."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pycupc.cli.option_types import picture_side
from pycupc.data.names import DataError, listed
from pycupc.data.source import open_text, read_source
from pycupc.graph.knowledge import Knowledge


@dataclass(frozen=True)
class PictureOption:
    """One option: its flag, its help, further arguments of ``add_argument``, and the commands that have it.

    ``value(given, labels)`` is the argument of `pycupc.graph.drawing.plot` for a given option.
    """

    flag: str
    help: str
    how: dict[str, Any] = field(default_factory=dict)
    commands: tuple[str, ...] = ("plot", "run")
    value: Callable[[Any, Sequence[str]], Any] = lambda given, labels: given
    of_pages: bool = False  # whether the explorer has it
    of_pictures: bool = True


def _read_groups(path: Path, labels: Sequence[str]) -> dict[str, list[str]]:
    """The groups of a file with a line ``variable,group`` for each variable that has one, and perhaps a header."""
    groups: dict[str, list[str]] = {}
    for variable, group in _read_pairs(path, labels, "group"):
        groups.setdefault(group, []).append(variable)
    return groups


def _read_pairs(path: Path, labels: Sequence[str], what: str) -> list[list[str]]:
    """The lines ``variable,text`` of a file without its header; `what` says what the text is."""
    source, pairs = read_source(path), []
    with open_text(source) as file:
        for number, cells in enumerate(csv.reader(file), 1):
            row = [cell.strip() for cell in cells]
            if not any(row) or (number == 1 and row[0] not in labels and row[0].lower() in ("variable", "name")):
                continue
            if len(row) != 2:
                raise DataError(
                    f"{source.name}, line {number}: expected a variable and its {what}, got {len(row)} cells"
                )
            if row[0] not in labels:
                there = f"the variables are {listed(labels)}"
                raise DataError(f"{source.name}, line {number}: there is no variable {row[0]!r}; {there}")
            pairs.append(row)
    return pairs


#: By the name of the argument of `pycupc.graph.drawing.plot`.
OPTIONS = {
    "groups": PictureOption(
        "--groups",
        "draw groups of variables in a colour and form of their own: a file with a line 'variable,group' for each",
        {"type": Path, "metavar": "FILE"},
        value=_read_groups,
        of_pages=True,
    ),
    "tiers": PictureOption(
        "--tiers",
        "draw the tiers of a file in Tetrad's format as rows",
        {"type": Path, "metavar": "FILE"},
        commands=("plot",),
        value=lambda path, labels: Knowledge.read(path),
    ),
    "paths": PictureOption(
        "--path",
        "highlight the edges of a path; may be repeated",
        {"nargs": "+", "action": "append", "metavar": "NAME"},
        commands=("plot",),
    ),
    "units": PictureOption(
        "--units",
        "units of variables, for the effects on the explorer's page: a file with a line 'variable,unit' for each",
        {"type": Path, "metavar": "FILE"},
        commands=("plot",),
        value=lambda path, labels: dict(_read_pairs(path, labels, "unit")),
        of_pages=True,
        of_pictures=False,
    ),
    "name": PictureOption(
        "--name",
        "name of the data, the headline of the explorer's page",
        {"metavar": "TEXT"},
        commands=("plot",),
        of_pages=True,
        of_pictures=False,
    ),
    "title": PictureOption("--no-title", "draw no title", {"action": "store_false", "default": None}),
    "legend": PictureOption("--no-legend", "draw no legend", {"action": "store_false", "default": None}),
    "figsize": PictureOption(
        "--figsize",
        "width and height of the picture in inches (default: the drawing's own)",
        {"type": picture_side, "nargs": 2, "metavar": ("WIDTH", "HEIGHT")},
        value=lambda size, labels: tuple(size),
    ),
}


def add_options(group: Any, command: str) -> None:
    """Add the options that a command has."""
    for name, option in OPTIONS.items():
        if command in option.commands:
            group.add_argument(option.flag, dest=f"picture_{name}", help=option.help, **option.how)


def picture_arguments(args: argparse.Namespace, labels: Sequence[str], *, page: bool = False) -> dict[str, Any]:
    """The arguments for a picture, or for the explorer, that were given; DataError if a file does not fit."""
    given = {name: getattr(args, f"picture_{name}", None) for name in OPTIONS}
    used = {name: option.of_pages if page else option.of_pictures for name, option in OPTIONS.items()}
    if args.command == "plot":
        for name, option in OPTIONS.items():
            if given[name] is not None and not used[name]:
                which = "pictures, not of the explorer (.html)" if page else "the explorer (.html), not of pictures"
                args.parser.error(f"{option.flag} is of {which}")
    return {
        name: option.value(given[name], labels)
        for name, option in OPTIONS.items()
        if given[name] is not None and used[name]
    }
