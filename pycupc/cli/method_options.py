"""The options that give arguments of the methods: each is a row of the table of parameters.

An argument with a `flag` in `pycupc.algorithm.parameters` becomes an option here; nothing else need be written.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pycupc.algorithm.parameters import PARAMETERS, Arguments
from pycupc.cli.option_types import level, natural, positive
from pycupc.cli.output import one_of
from pycupc.results.methods import METHODS, OF_CPDAGS, ORIENTING

#: The types of the options that are neither switches nor have a few words.
_TYPES: dict[str, Callable[[str], Any]] = {
    "m_max": level,
    "pdsep_max": level,
    "numCores": positive,
    "random_state": natural,
    "executor": str,
    **dict.fromkeys(("fixedGaps", "fixedEdges", "tiers", "checkpoint"), Path),
}
#: The arguments whose option names a file, and that are its content.
_FILES = ("fixedGaps", "fixedEdges", "tiers")
_DEFAULTS = {one.name: one.default for one in dataclasses.fields(Arguments)}


def add_options(group: argparse._ArgumentGroup, name: str, *, of_resamples: bool = False) -> None:
    """Add the options of a group of the table, in its order; `of_resamples`: those that each resample gets."""
    for parameter, row in PARAMETERS.items():
        if row.group == name and (row.resampled or not of_resamples):
            how: dict[str, Any] = {"default": _DEFAULTS[parameter], "help": row.help}
            if isinstance(_DEFAULTS[parameter], bool):
                how["action"] = "store_true"
            elif words := row.choices or row.words:
                how |= one_of(*words)
            else:
                how |= {"type": _TYPES.get(parameter, _value_of(parameter)), "metavar": row.metavar}
            group.add_argument(row.flag, **how)


def _value_of(parameter: str) -> Callable[[str], Any]:
    """The type of a number that the table alone describes."""

    def parse(text: str) -> float:
        try:
            value = float(text)
            PARAMETERS[parameter].validate(parameter, value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value

    return parse


def add_orientation_options(parser: argparse.ArgumentParser, *, of_resamples: bool = False) -> argparse._ArgumentGroup:
    """Add the options that say how edges are oriented; returns their group."""
    group = parser.add_argument_group("orientation", "arguments of pcalg::pc; the default is --u2pd relaxed")
    add_options(group, "orientation", of_resamples=of_resamples)
    return group


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the algorithm."""
    group = parser.add_argument_group("algorithm")
    method = "; ".join(METHODS[name].help for name in ORIENTING)
    group.add_argument("--method", **one_of(*ORIENTING), default="pc", help=method)
    add_options(group, "algorithm")


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of all methods that the command has options for, by their names in Python, with their values."""
    there = {name: row.flag.lstrip("-").replace("-", "_") for name, row in PARAMETERS.items() if row.flag}
    return {name: getattr(args, attribute) for name, attribute in there.items() if hasattr(args, attribute)}


def _is_of_method(args: argparse.Namespace, name: str) -> bool:
    """Whether an option is an argument of the method: --seed and --checkpoint may belong to resampling."""
    return PARAMETERS[name].resampled or args.command == "run"


def check_method(args: argparse.Namespace) -> None:
    """Exit with a usage error if arguments do not belong to the algorithm, or contradict each other."""
    given = {name: value for name, value in given_options(args).items() if value != _DEFAULTS[name]}
    for name in given:
        row = PARAMETERS[name]
        if args.method not in row.functions and _is_of_method(args, name):
            methods = " or ".join(method for method in row.functions if method in ORIENTING)
            args.parser.error(f"{row.flag} goes with --method {methods} only")
    if getattr(args, "to_cpdag", False):
        _check_to_cpdag(args)
    rules = [name for name in ("conservative", "maj_rule", "solve_confl", "tiers") if name in given]
    if "u2pd" in given and rules:
        args.parser.error(f"{PARAMETERS[rules[0]].flag} goes with --u2pd relaxed only")
    if {"conservative", "maj_rule"} <= {*given}:
        args.parser.error("choose one of --conservative and --maj-rule")


def _check_to_cpdag(args: argparse.Namespace) -> None:
    """Exit with a usage error if no CPDAG can replace the graph, or it would lose what other arguments add."""
    if args.method not in OF_CPDAGS:
        methods = " or ".join(OF_CPDAGS)
        args.parser.error(f"--to-cpdag goes with --method {methods} only; --method {args.method} gives a PAG")
    if args.tiers is not None:
        args.parser.error("--to-cpdag does not go with --tiers: a CPDAG has no arrows that were known before")
    if args.solve_confl:
        args.parser.error("--to-cpdag does not go with --solve-confl: no CPDAG has bidirected edges")


def method_arguments(args: argparse.Namespace, of_data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the algorithm but data, alpha and progress; `of_data`: those that depend on the data."""
    own = {
        name: value
        for name, value in given_options(args).items()
        if args.method in PARAMETERS[name].functions and name not in _FILES and _is_of_method(args, name)
    }
    if args.method == "fci":  # with selection an arrowhead says more than that something came earlier
        own["selectionBias"] = args.tiers is None
    return own | of_data
