"""The description of a family of tests: everything that the rest of the program must know about it, in one object.

A family registers itself by a `Family` in its folder, and by a line in `pycupc/independence/families.py`. Whoever needs
to know which test some data take, how their rows are drawn or what determines their answer asks that object; nobody
outside the folder compares classes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.data.content import Columns, Content
from pycupc.data.mixed import MixedTable
from pycupc.data.table import Table
from pycupc.independence.base import CorrelationEngine, IndependenceTest, Indices
from pycupc.independence.choice import Choice, Wishes, no_device
from pycupc.system.progress import CountHook

#: Bytes of data that are hashed at a time.
HASHED = 1 << 25


@dataclass(frozen=True)
class Request:
    """The arguments of a call from which a family makes its test.

    `function`: the function or object that stands for the family, as of ``indepTest``; `by_default`: whether nobody has
    named it, so that data that may be meant for another test are worth a warning. `p`: the number of variables if it is
    given, else 0. `m_max`: most variables of a set. `device`: the engine that computes the correlations of p variables,
    if it does so on its device; `progress`, callable ``(done, total)``: called while the CPU computes them. The others:
    as of `pycupc.pc`.
    """

    suffStat: Any
    function: Any
    alpha: float = 0.01
    labels: Any = None
    p: int = 0
    m_max: float = math.inf
    NAdelete: bool = True
    quirks: bool = False
    correlation: str | None = None
    progress: CountHook | None = None
    device: Callable[[int], CorrelationEngine | None] = no_device
    by_default: bool = False


@dataclass(frozen=True)
class FromR:
    """The data of a test as R sends them.

    `name`: of the test. `table` (n, p): the observations or codes, if there are any. `arrays`: by name; arrays of p x p
    numbers are matrices. `values`: the other values, by name.
    """

    name: str
    table: NDArray[Any]
    arrays: Mapping[str, NDArray[Any]]
    labels: list[str]
    values: Mapping[str, Any]

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.labels)

    @property
    def quiet(self) -> NDArray[Any]:
        """The table with quiet NaN in place of R's NA, a signalling NaN, with which NumPy's fmin and fmax are wrong."""
        return np.where(np.isnan(self.table), np.nan, self.table)


class Observations(Protocol):
    """Data of which rows can be drawn."""

    @property
    def n(self) -> int:
        """Number of rows."""

    def whole(self) -> Any:
        """All rows, as `pycupc.pc` takes them."""

    def take(self, rows: Indices) -> tuple[Any, Indices, int]:
        """Some of the rows, int64 (k,), as `pycupc.pc` takes them, without warnings that were given for the whole.

        Then the variables that have one value in all of these rows, and therefore no edges except fixed edges; and the
        number of variables, without the constant ones, that equal another variable in all of these rows. Both are empty
        where the family does not say.
        """

    def digest(self) -> str:
        """Hash of the values that determine the answer, without the labels."""


@dataclass(frozen=True)
class OwnRows:
    """`Observations` of data that draw their own rows by `take`, and have `n`, `arrays` and `constant_variables`."""

    data: Any

    @property
    def n(self) -> int:
        return int(self.data.n)

    def whole(self) -> Any:
        return self.data

    def take(self, rows: Indices) -> tuple[Any, Indices, int]:
        taken = self.data.take(rows)
        return taken, taken.constant_variables(), 0

    def digest(self) -> str:
        return digest_of(self.data.arrays())


@dataclass(frozen=True)
class TableRows:
    """`Observations` of a table of numbers that the test takes itself."""

    table: Table

    @property
    def n(self) -> int:
        return len(self.table.values)

    def whole(self) -> Any:
        return self.table

    def take(self, rows: Indices) -> tuple[Any, Indices, int]:
        table = Table.of_values(self.table.values[rows], self.table.labels)
        return table, table.constant, sum(map(len, table.copies))

    def digest(self) -> str:
        return digest_of((self.table.values,))


def mixed_from_r(sent: FromR) -> MixedTable:
    """A table of numbers and categories; ``values["texts"]``: the categories of each column, None for numbers."""
    categories = tuple(None if own is None else tuple(own) for own in sent.values["texts"])
    return MixedTable(sent.quiet, categories, (False,) * sent.p, tuple(sent.labels))


def table_from_r(sent: FromR) -> Table | MixedTable:
    """A table of numbers, or of numbers and categories."""
    mixed = any(own is not None for own in sent.values.get("texts") or ())
    return mixed_from_r(sent) if mixed else Table.of(sent.quiet, sent.labels)


def no_rows(function: Any) -> ValueError:
    """The error about a test from whose data rows cannot be drawn."""
    return ValueError(
        "indepTest must be a test of pycupc, or a batch test with a method of(data) and a __name__, got "
        f"{function!r}: rows cannot be drawn from the data of any other test"
    )


def digest_of(arrays: Iterable[NDArray[Any]], more: str = "") -> str:
    """A hash of arrays and of a text; arrays that are not in row order are copied in parts."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        rows = max(1, HASHED * len(array) // max(array.nbytes, 1))
        for k in range(0, len(array), rows):
            found.update(np.ascontiguousarray(array[k : k + rows]).data.cast("B"))
    found.update(more.encode())
    return found.hexdigest()


def checked_table(data: Any, labels: Any) -> Table:
    """A table of complete numbers, row by row in memory; errors as of `Table.check`."""
    table = Table.of(data, labels)
    table.check()
    return replace(table, values=np.ascontiguousarray(table.values, dtype=np.float64))


@dataclass(frozen=True)
class Identity:
    """What determines the answers of a test besides alpha: facts that JSON can hold, and arrays."""

    facts: Mapping[str, Any]
    arrays: tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Moments:
    """The covariances from which effects are computed.

    `matrices`, float64 (M, p, p): of each imputation, or of the data if M is 1. `n`: number of observations, None if
    intervals are not known. `note`: what else must be known about the effects.
    """

    matrices: NDArray[np.float64]
    n: float | None
    note: str = ""

    def correlations(self) -> NDArray[np.float64]:
        """The correlations of each matrix, float64 (M, p, p); NaN of a variable without variance."""
        deviations = np.sqrt(self.matrices.diagonal(axis1=1, axis2=2))
        with np.errstate(invalid="ignore", divide="ignore"):
            found: NDArray[np.float64] = self.matrices / (deviations[:, :, None] * deviations[:, None, :])
        return found


class MomentsOf(Protocol):
    """Computes the covariances of data."""

    def __call__(self, data: Any, *, quiet: bool = False) -> Moments:
        """Raise TypeError or ValueError for data that have none; with `quiet`, warn of nothing."""


@dataclass(frozen=True)
class Kind:
    """A kind of data that a family takes: a row of the page "What works with what".

    The texts name example data: `x` a table of numbers, `k` of categories, `m` of both, `x_k` of numbers of which some
    are classes; `x_gaps`, `k_gaps`, `m_gaps` with missing values, `x_imputed`, `k_imputed`, `m_imputed` lists of
    imputations; `C` and `n` correlations and the number of observations, `N` a matrix of these numbers.
    """

    title: str
    #: The first arguments of a call of `pycupc.pc`; those of the functions of R, "" where R does not have it; and the
    #: options of the commands, None where they do not have it.
    python: str
    r: str = ""
    shell: str | None = None
    #: Whether rows can be drawn; whether effects can be computed, which are linear, and whether the test is for linear
    #: dependence, as `cstar` needs it.
    rows: bool = True
    numbers: bool = False
    linear: bool = False
    #: How a test on a GPU is asked for, where no engine has it.
    gpu: str = ""
    #: Functions of R that do not take it, where Python's do.
    not_in_r: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """A family of tests."""

    name: str
    #: The classes of its tests, and the function that makes the test of a call; it raises TypeError or ValueError where
    #: the data do not fit.
    tests: tuple[type[IndependenceTest], ...]
    make: Callable[[Request], IndependenceTest]
    #: The functions that stand for the family as ``indepTest``.
    functions: tuple[Any, ...] = ()
    #: Classes of objects that stand for the family as ``indepTest`` as well: tests with options.
    options: tuple[type, ...] = ()
    #: The names among them of tests with faults of pcalg or micd, which `quirks` reproduces.
    faulty: tuple[Any, ...] = ()
    #: Classes of data that need no ``indepTest``, and the function that stands for such data; None: the first one.
    classes: tuple[type, ...] = ()
    function_for: Callable[[Any], Any] | None = None
    #: Whether ``correlation`` may be given.
    correlates: bool = False
    #: The rows of the data of a call of `pycupc.stability`; None: they cannot be drawn.
    observations: Callable[[Request], Observations] | None = None
    #: What determines the answers of a test, None if nobody knows; without it a run cannot be kept in a checkpoint.
    identity: Callable[[Any], Identity | None] | None = None
    #: The covariances of data of the family's classes; None: effects are computed from data of other classes only.
    moments: MomentsOf | None = None
    #: The kinds of data that it takes.
    kinds: tuple[Kind, ...] = ()
    #: The data that R sends for one of the functions.
    from_r: Callable[[FromR], Any] = table_from_r
    #: The word of ``test`` of `pycupc.choose`, and of ``--test``; the kind of columns that it takes, and its help; ""
    #: if the family has none of its own.
    word: str = ""
    columns: Columns = "numbers"
    help: str = ""
    #: The words of other families under which this one is chosen, too, where their test does not take the table.
    under: tuple[str, ...] = ()
    #: The choice for a table with these wishes; None if it is of another family. ValueError if the wishes do not fit.
    choice: Callable[[Content, Wishes], Choice | None] | None = None
    #: Where nobody has named a test, and another family has been chosen though this one is as likely: the sentence that
    #: says so, and the arguments of `pycupc.choose` that choose it.
    would_do: Callable[[Content], tuple[str, dict[str, Any]] | None] | None = None
