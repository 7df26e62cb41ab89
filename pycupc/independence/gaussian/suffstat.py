"""The sufficient statistic of the Gaussian conditional-independence test: correlations and sample size."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pycupc.data.in_memory import converted
from pycupc.data.mixed import MixedTable
from pycupc.data.names import DataError, check_labels, check_real, listed_at
from pycupc.data.table import Table
from pycupc.graph.pairs import in_order_of
from pycupc.independence.base import CorrelationEngine, Floats
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.measures import Measure, PairN, definite, pairwise_complete
from pycupc.system.localised_message import Cell, Message, Setting, Value
from pycupc.system.progress import CountHook

#: Rows of C that are inspected together.
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class MatrixFacts:
    """The findings of one pass over C; `SuffStat.check` turns it into errors and warnings."""

    nan_count: NDArray[np.int64]  # (p,): NaN entries in each row
    # asymmetric, out_of_range: tuple (i, j) or None: an entry that differs from its mirror by more than 1e-8 (or is NaN
    # where its mirror is not); one beyond +-1.
    asymmetric: tuple[int, int] | None
    out_of_range: tuple[int, int] | None
    bad_diagonal: int | None  # a diagonal entry that is neither NaN nor within 1e-10 of 1

    @classmethod
    def of(cls, C: Floats) -> MatrixFacts:
        """The findings, without threads; some rows at a time, as there may be many."""
        nan_count, unlike, beyond = np.zeros(len(C), dtype=np.int64), None, None
        for low in range(0, len(C), ROWS_AT_ONCE):
            part = slice(low, low + ROWS_AT_ONCE)
            rows, mirrored = C[part], C[:, part].T
            nan_count[part] = np.isnan(rows).sum(axis=1)
            with np.errstate(invalid="ignore"):
                differ = ~(np.abs(rows - mirrored) <= 1e-8) & ~(np.isnan(rows) & np.isnan(mirrored))
                large = np.abs(rows) > 1 + 1e-8
            large[np.arange(len(rows)), np.arange(low, low + len(rows))] = False
            unlike, beyond = unlike or _first(differ, low), beyond or _first(large, low)
        with np.errstate(invalid="ignore"):
            diagonal = np.flatnonzero(np.abs(np.diagonal(C) - 1) > 1e-10)
        return cls(nan_count, unlike, beyond, int(diagonal[0]) if len(diagonal) else None)


def _first(bad: NDArray[np.bool_], low: int) -> tuple[int, int] | None:
    """The first entry that is true, in a matrix that lacks `low` rows above."""
    i, j = divmod(int(bad.argmax()), bad.shape[1])
    return (low + i, j) if bad[i, j] else None


class SuffStat:
    """Correlation matrix and number of observations, pcalg's ``suffStat`` for ``gaussCItest``.

    Parameters
    ----------
    C : array_like of shape (p, p)
        Correlation matrix; float64 in C order is taken without a copy. NaN is allowed off the diagonal and in the
        rows of constant variables: a pair with a NaN counts as independent, and a warning names the variables.
    n : float, or array_like of shape (p, p)
        Number of observations, at least 1. An effective sample size need not be a whole number. A symmetric matrix has
        the number of each pair, 0 where there is none; its diagonal is not read. A DataFrame goes by its names.
    labels : sequence of str, optional
        Names of the variables.
    n_rule : {"mean", "min", "harmonic"}, default "mean"
        Of a matrix n: which mean of the numbers of all pairs among x, y and S a test takes.

    Attributes
    ----------
    C : float64 (p, p)
        The correlations. After `from_data` they are computed on first access; from then on every engine uses this
        array. Before that, an engine computes the same numbers itself, on its own device.
    measure : Measure
        What the correlations are: of the observations, of their ranks, ...
    correlations : Correlations
        The same, also in parts, which are computed without the matrix.
    n : float
        Of a matrix n, the mean over its pairs.
    pair_n : PairN or None
        The matrix n, if there is one.
    p : int
    labels : tuple of str, or None
    rows : float64 or float32 (n, p), or None
        The observations after `from_data`, else None; NaN where one is missing (``missing="pairwise"``).

    Raises
    ------
    TypeError, ValueError
        If `C` is not a numeric square matrix with p >= 2, `n` is not finite and at least 1, or `labels` do not fit.
        Symmetry, range and diagonal are checked when a run starts, by its engine.
    """

    def __init__(self, C: Any, n: Any, labels: Sequence[str] | None = None, *, n_rule: str = "mean") -> None:
        raw = converted(C, "C")
        values, names = raw.values, raw.labels
        if values.ndim != 2 or values.shape[0] != values.shape[1]:
            raise ValueError(f"C must be square, got shape {values.shape}")
        if len(values) < 2:
            raise ValueError(f"C must describe at least 2 variables, got {len(values)}")
        labels = names if labels is None else labels
        self.labels = None if labels is None else check_labels(labels, len(values))
        self.pair_n = None
        if np.ndim(n):
            own = names or self.labels
            self.pair_n = PairN.of(n if own is None else in_order_of(n, "n", own), len(values), n_rule)
        self.n = check_n(n) if self.pair_n is None else self.pair_n.typical
        self.correlations = Correlations(np.ascontiguousarray(values, dtype=np.float64))
        self.measure = Measure()
        self._rows: NDArray[Any] | None = None
        self._checked = self._constant_named = False
        self.quiet = False  # whether nothing is said of the number of observations

    @property
    def p(self) -> int:
        """Number of variables."""
        return self.correlations.p

    @property
    def rows(self) -> Floats | None:
        """The observations, if they are known."""
        return self.correlations.data if self._rows is None else self._rows

    @property
    def has_C(self) -> bool:
        """Whether `C` has been given or computed, so that it takes no more memory."""
        return self.correlations.has_dense

    @property
    def C(self) -> Floats:
        """The correlations, float64 (p, p)."""
        return self.correlations.dense()

    def __repr__(self) -> str:
        return f"SuffStat(p={self.p}, n={self.n})"

    @classmethod
    def from_data(
        cls,
        data: Any,
        labels: Sequence[str] | None = None,
        *,
        correlation: str = "pearson",
        nearest: bool = False,
        n_rule: str = "mean",
        engine: CorrelationEngine | None = None,
        progress: CountHook | None = None,
        **options: Any,
    ) -> SuffStat:
        """Correlations of a table of observations.

        Parameters
        ----------
        data : table, array_like of shape (n, p), or path of a file
            Rows are observations, columns variables; column names become the labels. A DataFrame of pandas or polars,
            a PyArrow table or whatever else offers an Arrow stream, a NumPy array (also masked, where masked means
            missing, or a memory map), an array that offers DLPack (PyTorch, CuPy, JAX; copied to the CPU), an xarray
            DataArray (the labels are the coordinate of its second dimension), AnnData (its X; the labels are
            var_names), a sparse matrix of SciPy (densified), or a `Table` made of any of these. Or the path of a file
            that `pycupc.data.read_data` reads.
        labels : sequence of str, optional
            Names of the variables, instead of the column names.
        correlation : {"pearson", "spearman", "kendall", "normal-scores", "latent"}, default "pearson"
            Of the observations; of Gaussian variables of which the columns are increasing functions, estimated from
            Spearman's rho, Kendall's tau-b or normal scores; or of Gaussian variables of which columns with two values,
            or up to 10 whole ones, are classes (docs/howto/data.md). n stays the number of rows.
        nearest : bool, default False
            Replace C by the nearest correlation matrix if it is not positive semidefinite.
        n_rule : {"mean", "min", "harmonic"}, default "mean"
            With ``missing="pairwise"``, see `SuffStat`.
        engine : Engine, optional
            Computes `C` on its device on first access; by default the CPU does. The numbers are the same, bit for bit:
            `pycupc.independence.gaussian.correlation` defines them.
        progress : callable ``(done, total)``, optional
            Called while `C` is computed. If it is given, the CPU computes `C` at once.
        **options
            How to read a file, as for `pycupc.data.read_data`. Of these, `only`, `drop` (sequences of names) and
            `drop_non_numeric` (bool) choose the columns of a DataFrame, too. ``missing="pairwise"``, of any data: each
            correlation is computed from the rows with both values, and n is the matrix of the numbers of these rows.

        Returns
        -------
        SuffStat
            Holds a copy of the table, float64 or float32, unless it is a memory map to read only.

        Raises
        ------
        TypeError, ValueError
            `data` has columns that are not numeric, fewer than 2 variables or observations, or missing or infinite
            values (the message names the columns); it is a correlation or covariance matrix; or it is not a table (the
            message says how to convert it).

        Warns
        -----
        UserWarning
            Constant columns, whose correlations are NaN, so that they have no edges; groups of identical columns, whose
            correlations are identical as well; columns that count the rows; a value such as -999 that repeats
            far from all others; whole numbers beyond 2^53, which are rounded; and columns that `drop_non_numeric`
            leaves out. With another `correlation`, or pairwise rows: that C is not positive semidefinite.
        """
        measure = Measure(correlation, nearest)  # type: ignore[arg-type]  # checked
        pairwise = options.get("missing") == "pairwise"
        if pairwise:
            if measure.name != "pearson":
                text = "{pairwise} goes with {pearson} only, got {given}"
                facts = {"pairwise": Setting("missing", "pairwise"), "pearson": Setting("correlation", "pearson")}
                raise ValueError(Message(text, **facts, given=Value(correlation)))
            of_file = {"missing": "keep"} if isinstance(data, (str, os.PathLike)) else {}
            options = {name: value for name, value in options.items() if name != "missing"} | of_file
        if measure.name == "latent":
            table = _table_of_classes(data, labels, options)
        else:
            table = data if isinstance(data, Table) else Table.of(data, labels, **options)
        table.check(complete=not pairwise)
        if pairwise:
            measure = replace(measure, n_rule=n_rule)
        out = cls.from_table(table, measure.of_data(table), quiet=False, engine=engine, progress=progress)
        if progress is not None and engine is None:
            out.correlations.dense()
        return out

    @classmethod
    def from_table(cls, table: Table, measure: Measure | None = None, **how: Any) -> SuffStat:
        """As `from_data`, but without checks and warnings; `how`: further arguments of `Measure.correlations`.

        The values must not be changed.
        """
        out = cls.__new__(cls)
        out.measure, out.pair_n, out.n, out.labels = measure or Measure(), None, len(table.values), table.labels
        out.quiet = how.get("quiet", True)
        if out.measure.n_rule is not None and len(table.ends.incomplete()):
            C, n = pairwise_complete(table.values, table.names, quiet=out.quiet)
            out.correlations = Correlations(definite(C, nearest=out.measure.nearest, quiet=out.quiet))
            out.pair_n = PairN.of(n, len(n), out.measure.n_rule)
            out.n = out.pair_n.typical
        else:
            out.correlations = out.measure.correlations(table, **how)
        out._rows = table.values if out.correlations.data is None else None
        out._checked, out._constant_named = False, True
        return out

    @classmethod
    def from_rows(cls, X: Floats) -> SuffStat:
        """As `from_table`, for observations (n, p) of variables without names."""
        return cls.from_table(Table.of_values(X, None))

    def check(self, facts: MatrixFacts, names: Sequence[str]) -> None:
        """Raise errors and issue warnings for the findings of an engine in C; once per object."""
        if self._checked:
            return

        def refuse(text: str, i: int, j: int) -> NoReturn:
            there = {"ij": Cell(i, j), "value": Value(float(self.C[i, j])), "x": names[i], "y": names[j]}
            raise ValueError(Message(text, **there, ji=Cell(j, i), mirrored=Value(float(self.C[j, i]))))

        if facts.asymmetric is not None and not np.isinf(self.C[facts.asymmetric]):
            refuse("C must be symmetric, but C{ij} = {value} and C{ji} = {mirrored} ({x}, {y})", *facts.asymmetric)
        if (i := facts.bad_diagonal) is not None:
            text = "C must have a diagonal of 1, but C{ij} = {value} ({x}); a covariance matrix must be turned into "
            refuse(text + "correlations first", i, i)
        if (wrong := facts.out_of_range or facts.asymmetric) is not None:
            refuse("C must hold correlations in [-1, 1], but C{ij} = {value} ({x}, {y})", *wrong)
        if facts.nan_count.any() and not self._constant_named:
            bad = np.flatnonzero(facts.nan_count >= max(2, self.p - 1))
            bad = bad if len(bad) else np.flatnonzero(facts.nan_count)
            text = "C has NaN; pairs without a correlation count as independent: "
            warnings.warn(text + listed_at(names, bad), stacklevel=7)
        self._checked = True


def _table_of_classes(data: Any, labels: Sequence[str] | None, options: dict[str, Any]) -> Table:
    """A table of numbers, or of numbers and of categories that have an order, as codes."""
    if isinstance(data, Table):
        return data
    try:
        return Table.of(data, labels, **options)
    except (TypeError, DataError):
        mixed = MixedTable.of(data, labels, **options)
        if not mixed.categorical.any():
            raise
        mixed.check()
        return mixed.as_numbers()


def check_n(n: Any) -> float:
    """A finite number of observations from 1 on, an int if it is whole; TypeError or ValueError for anything else."""
    expected = "the number of observations, a finite number of at least 1"
    check_real("n", expected, n, lambda n: 1 <= n < math.inf)
    return int(n) if n == int(n) else float(n)


def as_suff_stat(
    suffStat: Any,
    progress: CountHook | None = None,
    correlation: str | None = None,
    device: Callable[[int], CorrelationEngine | None] = lambda p: None,
    *,
    by_default: bool = False,
) -> SuffStat:
    """Accept what `pc` and `skeleton` accept for Gaussian data: SuffStat, mapping with C and n, or data.

    TypeError or ValueError for anything else. `progress` is called while the CPU computes the correlations, if it does,
    when the engine accesses them. `device` says which engine computes other correlations than Pearson's of p variables.
    `by_default`: whether nobody has named the Gaussian test, so that a warning tells of data that may be codes.
    """
    if correlation is not None and isinstance(suffStat, (SuffStat, Mapping)):
        text = "{correlation} goes with data, from which correlations are computed, got {given}"
        given, setting = type(suffStat).__name__, Setting("correlation", correlation)
        raise ValueError(Message(text, correlation=setting, given=given))
    if isinstance(suffStat, SuffStat):
        return suffStat
    if isinstance(suffStat, Mapping):
        missing = [key for key in ("C", "n") if suffStat.get(key) is None]
        if missing:
            convert = "convert columns by pandas.DataFrame(columns), and an xarray Dataset by dataset.to_dataframe()"
            text = f"suffStat must have the entries 'C' and 'n'; missing: {', '.join(missing)}. For data, {convert}"
            raise ValueError(text)
        return SuffStat(suffStat["C"], suffStat["n"], n_rule=suffStat.get("n_rule") or "mean")
    table = Table.of(suffStat) if correlation != "latent" else _table_of_classes(suffStat, None, {})
    table.check()
    if by_default and correlation is None:
        table.warn_of_codes()
    # nobody else sees this object, so its rows may go with the need for them
    measure = Measure(correlation or "pearson").of_data(table)  # type: ignore[arg-type]  # checked
    engine = None if measure.name == "pearson" else device(table.values.shape[1])
    return SuffStat.from_table(table, measure, quiet=False, progress=progress, keep=False, engine=engine)
