"""The arguments about data, tests and orientation that the commands share, and reading the data."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from pycupc.cli.choice import Data, choose, labels_of
from pycupc.cli.method_options import add_options, check_method
from pycupc.cli.option_types import correlation_argument, delimiter, imputation_seed, missing_values, probability
from pycupc.cli.output import one_of
from pycupc.data import EXAMPLES, DataError
from pycupc.data.mixed import MixedTable
from pycupc.data.names import listed
from pycupc.data.pairs import read_pairs
from pycupc.data.readers import ReadOptions
from pycupc.data.source import STDIN
from pycupc.data.text_layout import is_formula
from pycupc.graph.drawing import positions
from pycupc.graph.knowledge import Knowledge
from pycupc.independence.discrete import DiscreteSuffStat, disCItest
from pycupc.independence.discrete.suffstat import DegreesOfFreedom
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.kernel.kci import KCI, KernelData
from pycupc.independence.missing.data import IncompleteTable
from pycupc.independence.missing.reference_tests import disCItwd
from pycupc.independence.mixed.mix_ci_test import mixCItest
from pycupc.system.progress import LevelBar
from pycupc.system.text import counted


def add_data_arguments(parser: argparse.ArgumentParser, *, rows: bool = False) -> None:
    """Add the arguments that describe the input; --correlation is not offered where `rows` are needed."""
    add = parser.add_argument_group("data").add_argument
    table = (
        "table with one column per variable and one row per observation: .csv, .tsv or .txt, also compressed "
        "(.gz, .bz2, .xz), .parquet, .feather, .xlsx, .npy, .h5ad, or - for standard input"
    )
    add("data", nargs="?", type=Path, metavar="DATA", help=table)
    example = "use the example data of the package: continuous measurements, or categories with --example discrete"
    add("--example", nargs="?", **one_of(*EXAMPLES), const="continuous", help=example)
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
    add("--drop-non-numeric", action="store_true", help="leave out all columns with other cells than numbers")
    missing_rows = (
        "missing values: testwise leaves incomplete rows out of each test; pairwise takes for each correlation the "
        "rows with both values, and for each test the mean of their numbers over its pairs of variables (pairwise=min: "
        "the smallest; pairwise=harmonic: the harmonic mean); impute=M tests M imputations by chained equations; "
        "drop-rows leaves incomplete rows out; error; auto: testwise (default)"
    )
    add("--missing", type=missing_values, default="auto", metavar="HOW", help=missing_rows)
    imputations = "seed of the imputations of --missing impute=M (default: 0); --seed does not change them"
    add("--impute-seed", type=imputation_seed, metavar="K", help=imputations)


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
    test = (
        "gaussian: partial correlations of numbers; discrete: G^2 of categories; mixed: both (auto: by the table); "
        "kci: kernels of numbers, for dependence of any form, up to some thousand rows"
    )
    add("--test", **one_of("auto", "gaussian", "discrete", "mixed", "kci"), default="auto", help=test)
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
    if args.correlation is not None and args.test in ("discrete", "mixed", "kci"):
        args.parser.error("--correlation goes with the Gaussian test only")
    if args.df == "observed" and (args.adapt_df or args.quirks):
        args.parser.error("--df observed does not go with --adapt-df or --quirks")
    if args.impute_seed is not None and not args.missing.startswith("impute="):
        args.parser.error("--impute-seed goes with --missing impute=M")
    chosen = args.only or args.drop or args.drop_non_numeric or args.missing not in ("error", "auto") or args.example
    if isinstance(args.correlation, int) and chosen:
        args.parser.error("--correlation does not go with --example, --only, --drop, --drop-non-numeric or --missing")
    check_method(args)


def read(args: argparse.Namespace, bar: LevelBar | None = None) -> tuple[Data, dict[str, Any]]:
    """Read the data that `args` name; also returns what the manifest records about them.

    `bar` shows the progress of their correlations. DataError or ValueError if the file or its values are wrong.
    """
    path: Path = EXAMPLES[args.example] if args.example else args.data
    options = {f.name: getattr(args, f.name) for f in fields(ReadOptions)}
    options["missing"] = args.missing if args.missing in ("error", "drop-rows") else "keep"
    try:
        kind, suff_stat, table, choice = choose(args, path, options, bar)
        if args.nearest and not isinstance(suff_stat, SuffStat):
            raise ValueError(f"--nearest goes with a test of correlations (--missing pairwise); {choice}")
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"{'standard input' if str(path) == STDIN else path}: {error}") from error
    formulas = [label for label in labels_of(suff_stat) if is_formula(label)]
    if formulas and not getattr(args, "spreadsheet", True):
        text = "a spreadsheet that opens the .csv files of the results takes these names for formulas (--spreadsheet)"
        warnings.warn(f"{text}: {listed(formulas)}", stacklevel=2)
    if not getattr(args, "quiet", True):  # `estimate`, which may print JSON, has no --quiet
        with contextlib.suppress(OSError):  # the summary fails too, and its error says where the results are
            print(f"read {_shape(suff_stat, table, path)}\n")  # on a terminal at once, else with the summary
    of_table = {"layout": table.layout, "variables": suff_stat.p, "observations": suff_stat.n}
    return suff_stat, {"kind": kind, "choice": choice, **table.facts, **of_table}


def _shape(suff_stat: Data, table: Any, path: Path) -> str:
    """The shape of the data in words."""
    where, variables = "standard input" if str(path) == STDIN else path, counted(suff_stat.p, "variable")
    if isinstance(suff_stat, SuffStat) and suff_stat.rows is None and suff_stat.pair_n is None:
        return f"the correlations of {variables}, of {counted(suff_stat.n, 'observation')}, from {where}"
    return f"{counted(len(table.values), 'observation')} of {variables} from {where}"


def test_of(args: argparse.Namespace, suff_stat: Data) -> dict[str, Any]:
    """The arguments of `pycupc.pc` that select the test; DataError if options of the other test were given."""
    if isinstance(suff_stat, DiscreteSuffStat):
        return {"indepTest": disCItest, "quirks": args.quirks}
    if isinstance(suff_stat, MixedTable):
        if args.adapt_df or args.df != "pcalg":
            raise DataError("--df and --adapt-df go with --test discrete; the data are numbers and categories")
        return {"indepTest": mixCItest, "quirks": args.quirks}
    if isinstance(suff_stat, KernelData):
        return {"indepTest": KCI(), "quirks": args.quirks}
    if isinstance(suff_stat, IncompleteTable) and suff_stat.categories:
        return {"indepTest": disCItwd, "quirks": args.quirks}
    if args.adapt_df or args.df != "pcalg" or (args.quirks and args.method == "pc"):
        text = "--df, --adapt-df and --quirks go with --test discrete, which is not imputed; the test is another one"
        raise DataError(text)
    return {"quirks": args.quirks}


def check_around(args: argparse.Namespace, suff_stat: Data) -> None:
    """DataError if --around names no variable of the data."""
    try:
        if args.around:
            positions(args.around, labels_of(suff_stat))
    except ValueError as error:
        raise DataError(f"--{error}") from None


def arguments_of_data(args: argparse.Namespace, suff_stat: Data) -> dict[str, Any]:
    """The arguments of `pycupc.pc` that depend on the data: the test, pairs, and what is known."""
    return known(args, suff_stat) | fixed_pairs(args, labels_of(suff_stat)) | test_of(args, suff_stat)


def fixed_pairs(args: argparse.Namespace, labels: Sequence[str]) -> dict[str, Any]:
    """The fixed gaps and fixed edges that `args` name, as `pycupc.pc` takes them."""
    files = {"fixedGaps": args.fixed_gaps, "fixedEdges": args.fixed_edges}
    return {name: read_pairs(path, labels) for name, path in files.items() if path is not None}


def known(args: argparse.Namespace, suff_stat: Data) -> dict[str, Any]:
    """What the file of --tiers holds, as `pycupc.pc` takes it; DataError if it does not fit the variables."""
    if args.tiers is None:
        return {}
    knowledge = Knowledge.read(args.tiers)
    try:
        knowledge.of(labels_of(suff_stat))
    except ValueError as error:
        raise DataError(f"{args.tiers}: {error}") from None
    return {"tiers": knowledge}
