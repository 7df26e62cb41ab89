"""The data of a test of discrete variables: codes, the number of levels of each variable, and adaptDF."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import values_of
from pycupc.data.names import check_labels, listed_at, names_for, warn_of_constants
from pycupc.data.table import Table
from pycupc.data.text_columns import MOST_LEVELS
from pycupc.system.localised_message import Message, Words

_CODING = Words("DiscreteSuffStat.from_data(table)", "apply(dm, 2, function(column) as.integer(factor(column)) - 1L)")

#: How the degrees of freedom of a test are counted (docs/contracts/contract.md, section 12).
DegreesOfFreedom = Literal["pcalg", "observed"]


class DiscreteSuffStat(Mapping[str, Any]):
    """A table of codes, pcalg's ``suffStat`` for ``disCItest`` and ``binCItest``.

    Parameters
    ----------
    dm : int (n, p)
        Codes 0, 1, ..., k - 1 of each variable; a DataFrame or an array. For other values see `from_data`.
    nlev : int (p,), optional
        Number of levels of each variable, 2 to 255; by default the number of different codes of each column, but 2 for
        a constant column, which a warning names.
    adaptDF : bool
        Given a conditioning set, lower the degrees of freedom by the number of empty cells, but not below 1.
    df : {"pcalg", "observed"}, default "pcalg"
        The degrees of freedom of a test of x and y given S. "pcalg": (levels of x - 1) (levels of y - 1) for each
        configuration of S, whether or not it occurs; a test needs 10 observations for each, or it counts as
        independence. "observed": for each configuration that occurs, (levels of x in it - 1) (levels of y in it - 1);
        a test needs 5 observations for each. It finds more of the edges of sparse tables (see Notes), and excludes
        ``adaptDF=True`` and ``quirks=True``.
    labels : sequence of str, optional
        Names of the variables; by default the column names of a DataFrame.

    Attributes
    ----------
    codes : uint8 (p, n)
        The codes by variable.
    nlev : int64 (p,)
    adaptDF : bool
    df : str
    labels : tuple of str, or None
    categories : tuple of tuples, or None
        What each code stands for, after `from_data`.

    Raises
    ------
    TypeError, ValueError
        Missing values, values that are not whole numbers, negative codes, an nlev below 2, more than 255 levels, codes
        beyond nlev; the message names the columns. `df` is neither of the two, or is
        "observed" together with adaptDF=True.

    Notes
    -----
    It is a mapping with the keys "dm", "nlev" and "adaptDF", as pcalg's tests expect one.

    Take df="pcalg" for pcalg's answer. Take df="observed" if the answer need not be pcalg's and configurations of two
    or three variables leave many tables empty: docs/contracts/contract.md, section 12, has figures.
    """

    def __init__(
        self,
        dm: Any,
        nlev: Sequence[int] | NDArray[Any] | None = None,
        *,
        adaptDF: bool = False,
        df: DegreesOfFreedom = "pcalg",
        labels: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(adaptDF, bool | np.bool_):
            raise TypeError(f"adaptDF must be True or False, got {adaptDF!r}")
        if df not in get_args(DegreesOfFreedom):
            raise ValueError(f"df must be 'pcalg' or 'observed', got {df!r}")
        if df == "observed" and adaptDF:
            raise ValueError("choose one of adaptDF=True and df='observed', which both change the degrees of freedom")
        raw = values_of(dm, "dm")
        values, columns = raw.values, raw.labels
        labels = columns if labels is None else labels
        self.labels = None if labels is None else check_labels(labels, values.shape[1])
        names = names_for(self.labels, values.shape[1])
        codes = _whole_numbers(values, names)
        self.nlev = _levels(codes, nlev, names)
        self.codes: NDArray[np.uint8] = np.ascontiguousarray(codes.T, dtype=np.uint8)
        self.adaptDF, self.df = bool(adaptDF), df
        self.categories: tuple[tuple[Any, ...], ...] | None = None

    @classmethod
    def from_data(
        cls,
        data: Any,
        labels: Sequence[str] | None = None,
        *,
        adaptDF: bool = False,
        df: DegreesOfFreedom = "pcalg",
        **options: Any,
    ) -> DiscreteSuffStat:
        """Code a table of categories: the different values of each column, sorted, become 0, 1, ....

        Parameters
        ----------
        data : DataFrame, array (n, p), or path of a file
            Strings, booleans, categories or whole numbers; in a file, any text. A text is a category as it stands, so
            that "1" and "01" are two. A category that does not occur gets no code.
        labels : sequence of str, optional
            Names of the variables, instead of the column names.
        adaptDF : bool, default False
        df : {"pcalg", "observed"}, default "pcalg"
        **options
            How to read a file, as for `pycupc.data.read_data`. Of these, `only` and `drop` (sequences of names) choose
            the columns of a DataFrame, too.

        Returns
        -------
        DiscreteSuffStat
            Its `categories` say what each code stands for.

        Raises
        ------
        TypeError, ValueError
            Missing values; a column with numbers that are not whole, with more than 255 different values, or with more
            than 10 texts that have fewer than two rows each, as names and numbers with a unit have; numbers beside a
            mark of missing values, such as ?. The message names the columns.

        Warns
        -----
        UserWarning
            Texts that seem to be measurements; categories that may mean a missing value, such as None or ?; constant
            columns, which get two levels: every test of them has the p-value 1, so that they have no edges.
        """
        table = data if isinstance(data, Table) else Table.of(data, labels, categories=True, **options)
        table.check_categories()
        levels = _two_for_constants(table.ends.high.astype(np.int64) + 1, table.names)
        out = cls(table.values, levels, adaptDF=adaptDF, df=df, labels=table.labels)
        out.categories = table.categories
        return out

    @classmethod
    def of_codes(cls, codes: NDArray[np.int64], nlev: NDArray[np.int64], *, adaptDF: bool) -> DiscreteSuffStat:
        """The data of codes (n, p) that are below `nlev`, (p,), two or more; checked only for more than 255 levels."""
        if nlev.max(initial=2) > MOST_LEVELS:
            return cls(codes, nlev, adaptDF=adaptDF)
        out = cls.__new__(cls)
        out.codes, out.nlev = np.ascontiguousarray(codes.T, dtype=np.uint8), nlev
        out.labels, out.categories, out.adaptDF, out.df = None, None, adaptDF, "pcalg"
        return out

    def take(self, rows: NDArray[np.int64]) -> DiscreteSuffStat:
        """The observations in `rows`, int64 (k,), with the numbers of levels of the whole table."""
        out = copy.copy(self)
        out.codes = np.ascontiguousarray(self.codes[:, rows])
        return out

    def constant_variables(self) -> NDArray[np.int64]:
        """The variables that have one value, by their positions."""
        return np.flatnonzero((self.codes == self.codes[:, :1]).all(axis=1))

    def arrays(self) -> Iterator[NDArray[Any]]:
        """The arrays that determine the answer."""
        yield from (self.codes, self.nlev)

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.codes.shape[1])

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.codes)

    def check_binary(self) -> DiscreteSuffStat:
        """This object; ValueError unless all variables have the levels 0 and 1."""
        if (self.nlev != 2).any():
            j = int(np.flatnonzero(self.nlev != 2)[0])
            name = self.labels[j] if self.labels else f"column {j}"
            raise ValueError(f"binCItest takes variables with levels 0 and 1; {name} has {self.nlev[j]}: use disCItest")
        return self

    def __getitem__(self, key: str) -> Any:
        if key == "dm":
            return self.codes.T
        if key in ("nlev", "adaptDF"):
            return getattr(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("dm", "nlev", "adaptDF"))

    def __len__(self) -> int:
        return 3

    def __repr__(self) -> str:
        levels = f"{self.nlev.min()} to {self.nlev.max()} levels"
        return f"DiscreteSuffStat(p={self.p}, n={self.n}, {levels}, adaptDF={self.adaptDF}, df={self.df!r})"


def as_discrete_suff_stat(suffStat: Any, name: str = "suffStat") -> DiscreteSuffStat:
    """Accept what `pc` and `skeleton` accept for discrete data: DiscreteSuffStat, or a mapping with dm and adaptDF.

    `name` is its name in messages.

    Raises TypeError or ValueError if it is of another kind or lacks an entry.
    """
    if isinstance(suffStat, DiscreteSuffStat):
        return suffStat
    if not isinstance(suffStat, Mapping):
        raise TypeError(
            f"{name} must be a DiscreteSuffStat or a mapping with 'dm' (codes) and 'adaptDF', "
            f"got {type(suffStat).__name__}; for a table of categories use DiscreteSuffStat.from_data(table)"
        )
    needed = {"dm": "'dm' (codes, n rows and p columns)", "adaptDF": "'adaptDF' (True or False)"}
    if missing := [what for key, what in needed.items() if suffStat.get(key) is None]:
        raise ValueError(f"{name} lacks {' and '.join(missing)}")
    how = {"nlev": suffStat.get("nlev"), "adaptDF": suffStat["adaptDF"], "df": suffStat.get("df", "pcalg")}
    return DiscreteSuffStat(suffStat["dm"], **how)


def _whole_numbers(values: NDArray[Any], names: Sequence[str]) -> NDArray[np.int64]:
    if values.dtype.kind not in "iubf":
        text = "dm must hold whole numbers, got {kind}; for strings and categories use {coding}"
        raise TypeError(Message(text, kind=str(values.dtype), coding=_CODING))
    if values.dtype.kind == "f":
        _refuse(np.isnan(values).any(axis=0), names, "dm must be complete; missing values in {columns}")
        text = "dm must hold whole numbers 0, 1, ...; {columns} does not. Is it continuous? Then use the Gaussian test "
        text += "(gaussCItest), or cut it into intervals"
        _refuse((values != np.floor(values)).any(axis=0) | np.isinf(values).any(axis=0), names, text)
    codes = values.astype(np.int64)
    _refuse((codes < 0).any(axis=0), names, "dm must hold codes of at least 0; negative codes in {columns}")
    return codes


def _levels(
    codes: NDArray[np.int64], nlev: Sequence[int] | NDArray[Any] | None, names: Sequence[str]
) -> NDArray[np.int64]:
    largest = codes.max(axis=0)
    if nlev is None:
        levels = _two_for_constants(np.array([len(np.unique(column)) for column in codes.T]), names)
        text = "without nlev the codes must be 0, 1, ..., k - 1; {columns} leaves some out: give nlev, or use {coding}"
    else:
        levels = np.asarray(nlev)
        if levels.shape != largest.shape or levels.dtype.kind not in "iuf" or (levels != np.floor(levels)).any():
            raise ValueError(f"nlev must hold {len(largest)} whole numbers, one per column of dm, got {nlev!r}")
        _refuse(levels < 2, names, "nlev must be at least 2; it is not for {columns}")
        text = "a code of dm must be below nlev; it is not in {columns}. Codes begin at 0; for any others use {coding}"
    _refuse(largest >= levels, names, text)
    text = f"a variable may have at most {MOST_LEVELS} levels; {{columns}} has more. Is it continuous?"
    _refuse(levels > MOST_LEVELS, names, text)
    return levels.astype(np.int64)


def _two_for_constants(levels: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of levels, but 2 for a constant column, with a warning: pcalg stops at 1; at 2 its p-value is 1."""
    warn_of_constants(levels < 2, names, stacklevel=5)
    return np.maximum(levels, 2)


def _refuse(wrong: Any, names: Sequence[str], message: str) -> None:
    """Raise ValueError with the names of the columns that are wrong; `message` is a template with {columns}."""
    if np.any(wrong):
        raise ValueError(Message(message, columns=listed_at(names, np.flatnonzero(wrong)), coding=_CODING))
