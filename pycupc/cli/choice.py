"""The choice of the test for a table: numbers, categories, or both; complete, or with gaps."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pycupc.data import DataError
from pycupc.data.categories import is_measured, look_categorical, read_categories
from pycupc.data.in_memory import RawTable
from pycupc.data.mixed import MixedTable
from pycupc.data.names import default_labels, listed, listed_at
from pycupc.data.readers import ReadOptions, read_correlation
from pycupc.data.source import STDIN
from pycupc.data.table import Table
from pycupc.data.text_layout import like_a_number, unit_of
from pycupc.engines.select import make_engine
from pycupc.independence.discrete import DiscreteSuffStat
from pycupc.independence.gaussian.latent import levels_of
from pycupc.independence.gaussian.measures import definite
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.kernel.kci import KernelData
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.missing.impute import imputed
from pycupc.system.progress import LevelBar

#: Variables from which correlations are left to the engine, as in pycupc/engines/cpu/tuning.py.
SIEVE_FROM = 10_000

Data = SuffStat | DiscreteSuffStat | MixedTable | IncompleteTable | MultipleImputation | KernelData


class Chosen(NamedTuple):
    """The data of a test, and the table as it was read.

    `kind` names the input in a word or two; `why` says which test was chosen, why, and how to choose another.
    """

    kind: str
    data: Data
    table: RawTable | Table | MixedTable
    why: str


def choose(args: argparse.Namespace, path: Path, options: dict[str, Any], bar: LevelBar | None) -> Chosen:
    """Read the input, and choose the test unless `args` do; a warning tells of a choice that is not Gaussian."""
    if isinstance(args.correlation, int):
        matrix = read_correlation(path, ReadOptions(**options | {"missing": "error"}))
        C = definite(matrix.values, nearest=True) if args.nearest else matrix.values
        data = SuffStat(C, args.correlation, matrix.labels)
        return Chosen("correlation matrix", data, matrix, "a correlation matrix (--correlation): the Gaussian test")
    if args.test == "mixed":
        return _of_both(MixedTable.of(path, **options), "--test mixed")
    if args.test == "kci":
        complete = "drop-rows" if options["missing"] == "drop-rows" else "error"
        table = Table.of(path, **options | {"missing": complete})
        table.check()
        return Chosen("data", KernelData.of(table), table, "--test kci")
    if args.test == "discrete" or (args.test == "auto" and args.example == "discrete"):
        return _of_categories(args, path, options, "--test discrete")
    try:
        table = Table.of(path, **options)
    except DataError:
        only_numbers = args.test == "gaussian" or args.drop_non_numeric or str(path) == STDIN  # which is read only once
        chosen = None if only_numbers else _of_words(args, path, options)
        if chosen is None:
            raise
        warnings.warn(f"{path}: {chosen.why}", stacklevel=4)
        return chosen
    chosen = _of_numbers(args, table, bar)
    by_default = args.test == "auto" and args.correlation is None and args.command != "cstar"
    if codes := by_default and table.may_be_codes:
        chosen = chosen._replace(why=chosen.why + _CODES)
    if codes or (not isinstance(chosen.data, SuffStat) and args.missing == "auto"):
        warnings.warn(f"{path}: {chosen.why}", stacklevel=4)
    return chosen


#: What is said of numbers that may be codes, unless the user has chosen the test of numbers.
_CODES = "; every column holds few whole numbers: if they are codes of categories: --test discrete"
_CODES += "; if not: --test gaussian"


def _of_numbers(args: argparse.Namespace, table: Table, bar: LevelBar | None) -> Chosen:
    measure, gaps = args.correlation or "pearson", table.ends.incomplete()
    if not len(gaps):
        few = levels_of(table.values) if measure == "pearson" else {}
        why = f"numbers in all columns: the Gaussian test, {measure} correlations"
        if few:
            why += f"; {len(few)} of {len(table.names)} columns have up to 10 values: --correlation latent for classes"
        return Chosen("data", _with_correlations(args, table, bar), table, why)
    if measure != "pearson":
        text = f"--correlation {measure} needs complete rows, and values are missing in "
        raise ValueError(f"{text}{listed_at(table.names, gaps)}: --missing drop-rows")
    where = f"values are missing in {len(gaps)} of {len(table.names)} columns, so that "
    if args.missing.startswith("pairwise"):
        rule = args.missing.removeprefix("pairwise").removeprefix("=") or "mean"
        data = SuffStat.from_data(table, missing="pairwise", nearest=args.nearest, n_rule=rule)
        why = f"{where}each correlation and its n come from the rows complete in its pair (--missing {args.missing})"
        return Chosen("data with gaps", data, table, why)
    return _with_gaps(args, IncompleteTable(table), table, where, "pairwise, drop-rows")


def _with_gaps(
    args: argparse.Namespace, data: IncompleteTable, table: RawTable | Table | MixedTable, where: str, others: str
) -> Chosen:
    """Tests of incomplete data; `where` begins the explanation, and `others` are ways to treat gaps, too."""
    kind = "categories with gaps" if data.categories else "data with gaps"
    if args.missing.startswith("impute="):
        M, seed = int(args.missing.removeprefix("impute=")), args.impute_seed or 0
        why = f"{M} imputations by chained equations are tested together (--missing impute={M} --impute-seed {seed})"
        source = table if isinstance(table, Table) else data
        return Chosen(kind, imputed(source, M, seed, categories=data.categories), table, where + why)
    why = "each test takes the rows that are complete in its variables (--missing testwise); others: --missing "
    return Chosen(kind, data, table, f"{where}{why}impute=20, {others}")


def _with_correlations(args: argparse.Namespace, table: Table, bar: LevelBar | None) -> SuffStat:
    engine, _ = make_engine(args.engine, len(table.names), numCores=args.threads)
    try:
        device = engine if engine.correlates_on_device else None
        few = len(table.names) < SIEVE_FROM  # of more, the engine may need few of the correlations
        progress = bar.correlations if bar is not None and few else None
        how = {"correlation": args.correlation or "pearson", "nearest": args.nearest}
        return SuffStat.from_data(table, engine=device, progress=progress, **how)
    finally:
        engine.close()


def _of_categories(args: argparse.Namespace, path: Path, options: dict[str, Any], why: str) -> Chosen:
    if options["missing"] == "keep" and str(path) != STDIN:
        raw = read_categories(str(path), ReadOptions(**options))
        if any(cell is None for cell in raw.values.flat):
            return _of_categories_with_gaps(args, raw, why)
    return _of_complete_categories(args, _categories(path, options), why)


def _categories(path: Path, options: dict[str, Any]) -> Table:
    missing = "drop-rows" if options["missing"] == "drop-rows" else "error"
    return Table.of(path, categories=True, **options | {"missing": missing})


def _of_complete_categories(args: argparse.Namespace, table: Table, why: str) -> Chosen:
    return Chosen("categories", DiscreteSuffStat.from_data(table, adaptDF=args.adapt_df, df=args.df), table, why)


def _of_categories_with_gaps(args: argparse.Namespace, raw: RawTable, why: str) -> Chosen:
    if args.df != "pcalg":
        raise ValueError("--df observed needs complete rows, and values are missing: --missing drop-rows")
    if args.missing.startswith("pairwise"):
        raise ValueError("--missing pairwise takes numbers, and the table has categories: --missing testwise")
    data = IncompleteTable(raw.values, raw.names, categories=True, adaptDF=args.adapt_df)
    return _with_gaps(args, data, raw, f"{why}; values are missing, so that ", "drop-rows")


def _of_words(args: argparse.Namespace, path: Path, options: dict[str, Any]) -> Chosen | None:
    """The choice for a table that holds words; None if they are damaged numbers or names of rows."""
    why = "holds categories, so that the G^2 test of discrete data runs (--test discrete); with --test gaussian only "
    why += "numbers are accepted"
    with contextlib.suppress(DataError):
        table = _categories(path, options)
        known = table.categories or ()
        if look_categorical(known) and not _name_rows(known[0], len(table.values)) and args.correlation is None:
            return _of_complete_categories(args, table, why)
    try:
        mixed = MixedTable.of(path, **options)
    except DataError:
        return None
    words = [c for c in mixed.categories if c is not None]
    numbers_too = any(like_a_number(str(text)) for categories in words for text in categories)
    if not words or numbers_too or _name_rows(mixed.categories[0], mixed.n):
        return None
    if args.correlation is not None:
        return _latent(args, mixed)
    texts = (map(str, np.unique(column[~np.isnan(column)]).tolist()) for column in mixed.numbers().T)
    if 2 * len(words) >= mixed.p and not any(map(is_measured, texts)):
        return _of_categories(args, path, options, why)
    names = [mixed.names[j] for j in np.flatnonzero(mixed.categorical).tolist()]
    text = f"{len(names)} of {mixed.p} columns hold words ({listed(names, most=3)}), so that the test of numbers and "
    text += "categories together runs (--test mixed); --drop-non-numeric leaves the words out, --test discrete takes "
    return _of_both(mixed, text + "every value for a category")


def _name_rows(first: Sequence[str] | None, n: int) -> bool:
    """Whether the different texts of the first column of n rows may be the names of the rows."""
    return first is not None and len(first) == n and not unit_of(first)


def _latent(args: argparse.Namespace, mixed: MixedTable) -> Chosen:
    if args.correlation != "latent":
        raise ValueError(f"--correlation {args.correlation} takes numbers, and the table holds words; latent may do")
    mixed.check()
    table = mixed.as_numbers()
    data = SuffStat.from_data(table, correlation="latent", nearest=args.nearest)
    return Chosen("data", data, table, "--correlation latent, with words as the two classes of a variable")


def _of_both(mixed: MixedTable, why: str) -> Chosen:
    mixed.check_texts()
    gaps = np.isnan(mixed.values).any(axis=0)
    if gaps.any():
        text = "and the test of numbers and categories together needs complete rows, and does not pool imputations"
        where = f"values are missing in {listed_at(mixed.names, gaps)}"
        raise ValueError(f"{where}, {text}: --missing drop-rows, or --drop these columns")
    mixed.check()  # here, where warnings name the options of the command line
    return Chosen("numbers and categories", replace(mixed, checked=True), mixed, why)


def labels_of(data: Data) -> Any:
    """Names of the variables; without names "1", "2", ..., as in `pc`."""
    return data.labels if data.labels is not None else default_labels(data.p)
