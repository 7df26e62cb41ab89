"""The arguments about data, tests and orientation that the commands share, and reading the data."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pycupc.cli.method_options import add_options, check_method
from pycupc.cli.option_types import correlation_argument, delimiter, imputation_seed, missing_values, probability
from pycupc.cli.output import one_of
from pycupc.data import EXAMPLE, EXAMPLES, OLDER_NAMES, DataError
from pycupc.data.content import Content
from pycupc.data.covariances import are_covariances
from pycupc.data.names import listed
from pycupc.data.readers import ReadOptions, read_correlation
from pycupc.data.source import STDIN
from pycupc.data.text_layout import is_formula
from pycupc.graph.drawing import positions
from pycupc.graph.knowledge import Knowledge
from pycupc.graph.pairs import read_pairs
from pycupc.independence.choice import Choice, Wishes
from pycupc.independence.discrete.suffstat import DegreesOfFreedom
from pycupc.independence.families import WORDS, choice_of, test_to_name
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.measures import definite
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.results.methods import METHODS
from pycupc.system.progress import LevelBar
from pycupc.system.text import counted


def add_data_arguments(parser: argparse.ArgumentParser, *, rows: bool = False) -> None:
    """Add the arguments that describe the input; --correlation is not offered where `rows` are needed."""
    add = parser.add_argument_group("data").add_argument
    table = (
        "table with one column per variable and one row per observation: .csv, .tsv or .txt, also compressed "
        "(.gz, .bz2, .xz), .parquet, .feather, .xlsx, .npy, .h5ad, or - for standard input; or covariances as Tetrad "
        "writes them, .cov.txt: the number of rows, the names, the lower triangle"
    )
    add("data", nargs="?", type=Path, metavar="DATA", help=table)
    example = (
        "use example data of the package: greenhouse (default) or sprinkler, simulated from a graph, of which the "
        "summary says how much was found; cell_nuclei, real measurements"
    )
    add("--example", nargs="?", **_example_names(), const=EXAMPLE.stem, help=example)
    correlation = (
        "numbers: pearson (default); spearman, kendall, normal-scores: of ranks; latent: columns with two values, or "
        "up to 10 whole ones, are classes of Gaussian variables"
    ) + ("" if rows else "; or N: DATA is the correlation matrix of N observations")
    add("--correlation", type=correlation_argument, metavar="NAME" if rows else "NAME|N", help=correlation)
    nearest = "take the nearest correlation matrix where the correlations are not positive semidefinite"
    add("--nearest", action="store_true", help=nearest)
    names = "line 1 holds the names, which are V1, V2, ... if not (auto: decided from the table, or an error)"
    numbers = "the first column holds names or numbers of the rows and is left out (auto: as for --header)"
    for name, what in (("--header", names), ("--index", numbers)):
        add(name, **one_of("auto", "yes", "no"), default="auto", help=f"whether {what}")
    add("--delimiter", metavar="CHAR", type=delimiter, help="the character between cells (default: detected)")
    add("--decimal", choices=(".", ","), default=".", metavar="CHAR", help="the decimal point, . or , (default: .)")
    missing = "a cell that means a missing value, besides empty cells, NA, NaN, N/A, null and None; may be repeated"
    add("--na", action="append", default=[], metavar="TEXT", help=missing)
    add("--comment", metavar="CHAR", type=delimiter, help="ignore everything after this character on a line")
    add("--sheet", metavar="NAME", help="sheet of an Excel file (needed if there are several)")
    for name, what in (("--only", "read these columns and no others"), ("--drop", "leave out these columns")):
        add(name, action="extend", nargs="+", default=[], metavar="NAME", help=f"{what}; give DATA before")
    across = (
        "rows are variables, as genes often are, and columns observations; a first column of text names the variables, "
        "which --only and --drop choose, and other columns of text are left out"
    )
    add("--transpose", action="store_true", help=across)
    add("--drop-non-numeric", action="store_true", help="leave out all columns with other cells than numbers")
    kept = (
        "keep these columns as they stand, which are left out otherwise (they name or number the rows, or hold dates "
        "or free text) or read as numbers (5.2 mg); give DATA before"
    )
    add("--keep", action="extend", nargs="+", default=[], metavar="NAME", help=kept)
    missing_rows = (
        "missing values: testwise leaves incomplete rows out of each test; pairwise takes for each correlation the "
        "rows with both values, and for each test the mean of their numbers over its pairs of variables (pairwise=min: "
        "the smallest; pairwise=harmonic: the harmonic mean); impute=M tests M imputations by chained equations; "
        "drop-rows leaves incomplete rows out; error; auto: testwise (default)"
    )
    add("--missing", type=missing_values, default="auto", metavar="HOW", help=missing_rows)
    imputations = "seed of the imputations of --missing impute=M (default: 0); --seed does not change them"
    add("--impute-seed", type=imputation_seed, metavar="K", help=imputations)


def _example_names() -> dict[str, Any]:
    """Arguments of `add_argument` for the names of the example data, with the names of version 0.2.0."""
    words = one_of(*EXAMPLES)
    return {**words, "type": lambda text: words["type"](OLDER_NAMES.get(text, text))}


def add_test_arguments(
    parser: argparse.ArgumentParser, *, several: bool = False, limited: bool = False
) -> argparse._ArgumentGroup:
    """Add the arguments that determine the tests, and return their group.

    With `several`, --alpha takes several levels; with `limited`, there is --m-max.
    """
    group = parser.add_argument_group("tests")
    add = group.add_argument
    alpha = "significance level of each test, from 0 to 1; larger keeps more edges (default: 0.01)"
    if several:
        alpha += "; if there are several, the consensus graph is made with the first"
        add("--alpha", type=probability, nargs="+", default=[0.01], metavar="A", help=alpha)
    else:
        add("--alpha", type=probability, default=0.01, metavar="A", help=alpha)
    if limited:
        add_options(group, "limits")
    tests = "; ".join(f"{word}: {family.help}" for word, family in WORDS.items()) + " (auto: by the table)"
    add("--test", **one_of("auto", *WORDS), default="auto", help=tests)
    freedom = (
        "discrete: degrees of freedom: pcalg: of all configurations of the conditioning set; observed: of those that "
        "occur, which finds more edges where tables are sparse (default: pcalg)"
    )
    add("--df", **one_of(*get_args(DegreesOfFreedom)), default="pcalg", help=freedom)
    add("--adapt-df", action="store_true", help="discrete: empty cells lower the degrees of freedom")
    add_options(group, "tests")
    return group


def check(args: argparse.Namespace) -> None:
    """Exit with a usage error if the arguments contradict each other."""
    if (args.data is None) == (not args.example):
        args.parser.error("give either DATA or --example; DATA stands before --drop and --only")
    if args.correlation is not None and args.test != "auto" and not WORDS[args.test].correlates:
        args.parser.error("--correlation goes with the Gaussian test only")
    if args.df == "observed" and (args.adapt_df or args.quirks):
        args.parser.error("--df observed does not go with --adapt-df or --quirks")
    if args.impute_seed is not None and not args.missing.startswith("impute="):
        args.parser.error("--impute-seed goes with --missing impute=M")
    chosen = args.only or args.drop or args.drop_non_numeric or args.missing not in ("error", "auto") or args.example
    if isinstance(args.correlation, int) and chosen:
        args.parser.error("--correlation does not go with --example, --only, --drop, --drop-non-numeric or --missing")
    check_method(args)


def read(args: argparse.Namespace, bar: LevelBar | None = None) -> tuple[Choice, dict[str, Any]]:
    """Read the data that `args` name, and choose their test; also returns what the manifest records about them.

    `bar` shows the progress of their correlations, when they are computed. A warning tells of a choice that a user may
    not expect. DataError or ValueError if the file or its values are wrong.
    """
    path: Path = EXAMPLES[args.example] if args.example else args.data
    where = "standard input" if str(path) == STDIN else path
    options = {f.name: getattr(args, f.name) for f in fields(ReadOptions) if f.name not in ("missing", "units")}
    try:
        of_correlations = isinstance(args.correlation, int)
        choice = _of_matrix(args, path, options) if of_correlations else _of_table(args, path, options, bar)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: {error}") from error
    if choice.unexpected:
        warnings.warn(f"{path}: {choice.reason}", stacklevel=2)
    formulas = [label for label in choice.labels if is_formula(label)]
    if formulas and not getattr(args, "spreadsheet", True):
        text = "a spreadsheet that opens the .csv files of the results takes these names for formulas (--spreadsheet)"
        warnings.warn(f"{text}: {listed(formulas)}", stacklevel=2)
    table, p, n = choice.content.table, choice.data.p, choice.data.n
    is_matrix = choice.content.is_matrix
    kind = str(choice.content) if not is_matrix else "correlation matrix" if of_correlations else "covariances"
    if not getattr(args, "quiet", True):  # `estimate`, which may print JSON, has no --quiet
        of = f"the correlations of {counted(p, 'variable')}, of {counted(n, 'observation')},"
        rows = f"{counted(len(table.values), 'observation')} of {counted(p, 'variable')}"
        with contextlib.suppress(OSError):  # the summary fails too, and its error says where the results are
            print(f"read {of if is_matrix else rows} from {where}\n")  # on a terminal at once, else with the summary
    of_table = {"layout": table.layout, "variables": p, "observations": n}
    return choice, {"kind": kind, "choice": choice.reason, **table.facts, **of_table}


def _of_matrix(args: argparse.Namespace, path: Path, options: dict[str, Any]) -> Choice:
    """The choice for a correlation matrix."""
    if are_covariances(path):
        raise DataError(f"{path}: holds covariances and the number of observations; leave --correlation out")
    matrix = read_correlation(path, ReadOptions(**options))
    C = definite(matrix.values, nearest=True) if args.nearest else matrix.values
    data = SuffStat(C, args.correlation, matrix.labels)
    content = Content("numbers", matrix, np.zeros(0, dtype=np.int64), is_matrix=True)
    return Choice("gaussian", gaussCItest, data, content, "a correlation matrix (--correlation): the Gaussian test")


def _of_table(args: argparse.Namespace, path: Path, options: dict[str, Any], bar: LevelBar | None) -> Choice:
    """The choice for a table."""
    from pycupc.algorithm.arguments import device_for

    test = args.test
    if test == "auto" and args.example == "sprinkler":
        test = "discrete"
    if test == "auto" and args.command == "cstar":  # which has one test
        test = "gaussian"
    wishes = Wishes(
        test,
        args.missing,
        args.correlation,
        args.nearest,
        args.impute_seed,
        args.adapt_df,
        args.df,
        quirks=args.quirks and not METHODS[args.method].hidden,
        progress=None if bar is None else bar.correlations,
        device=partial(device_for, args.engine, args.threads, None),
    )
    return choice_of(path, wishes, keep_columns=args.keep, **options)


def check_around(args: argparse.Namespace, choice: Choice) -> None:
    """DataError if --around names no variable of the data."""
    try:
        if args.around:
            positions(args.around, choice.labels)
    except ValueError as error:
        raise DataError(f"--{error}") from None


def arguments_of_data(args: argparse.Namespace, choice: Choice) -> dict[str, Any]:
    """The arguments of `pycupc.pc` that depend on the data: the test, pairs, and what is known."""
    test = {"indepTest": test_to_name(choice), "quirks": args.quirks}
    return known(args, choice) | fixed_pairs(args, choice.labels) | test


def fixed_pairs(args: argparse.Namespace, labels: Sequence[str]) -> dict[str, Any]:
    """The fixed gaps and fixed edges that `args` name, as `pycupc.pc` takes them."""
    files = {"fixedGaps": args.fixed_gaps, "fixedEdges": args.fixed_edges}
    return {name: read_pairs(path, labels) for name, path in files.items() if path is not None}


def known(args: argparse.Namespace, choice: Choice) -> dict[str, Any]:
    """What the file of --tiers holds, as `pycupc.pc` takes it; DataError if it does not fit the variables."""
    if args.tiers is None:
        return {}
    knowledge = Knowledge.read(args.tiers)
    try:
        knowledge.of(choice.labels)
    except ValueError as error:
        raise DataError(f"{args.tiers}: {error}") from None
    return {"tiers": knowledge}
