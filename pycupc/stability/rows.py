"""The data of a study, and a resample of its rows in the form that `pycupc.pc` takes.

Which rows a resample has is a pure function of the seed and the index of the resample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pycupc.data.mixed import MixedTable
from pycupc.data.names import check_real, is_whole
from pycupc.data.table import Table
from pycupc.independence.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.independence.discrete.suffstat import as_discrete_suff_stat
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.measures import Measure
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.missing.family import missing_test
from pycupc.independence.mixed.mix_ci_test import as_mixed, mixCItest
from pycupc.system.message import Argument, Message, Setting, Value

Scheme = Literal["bootstrap", "subsample", "complementary"]
Ints = NDArray[np.int64]
#: Data that select their own rows.
OwnRows = DiscreteSuffStat | MixedTable | MultipleImputation | IncompleteTable


@dataclass(frozen=True)
class Resampling:
    """The resamples of a table of n rows.

    Raises
    ------
    TypeError, ValueError
        An attribute is invalid, or a resample would have fewer than 2 rows.
    """

    n: int  # rows of the data
    # {"bootstrap", "subsample", "complementary"}: n rows drawn with replacement; a share of the rows, each at most
    # once; halves of the rows, where the resamples 2k and 2k + 1 have no row in common.
    scheme: Scheme
    fraction: float  # float in (0, 1): share of the rows in a subsample, rounded down to whole rows
    seed: int  # int, at least 0

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            schemes, given = Value(*get_args(Scheme)), Value(self.scheme)
            raise ValueError(Message("scheme must be one of {schemes}, got {given}", schemes=schemes, given=given))
        check_real("fraction", "a number between 0 and 1", self.fraction, lambda share: 0 < share < 1)
        object.__setattr__(self, "fraction", float(self.fraction))
        if self.fraction != 0.5 and self.scheme != "subsample":
            size = "as many rows as the data" if self.scheme == "bootstrap" else "half of the rows"
            text = "{fraction} needs {needed}: with {scheme} a resample has {size}"
            fraction, needed = Setting("fraction", self.fraction), Setting("scheme", "subsample")
            raise ValueError(Message(text, fraction=fraction, needed=needed, scheme=Value(self.scheme), size=size))
        if self.size < 2:
            text = "{fraction} of {n} rows leaves {size}; at least 2 are needed"
            raise ValueError(Message(text, fraction=Setting("fraction", self.fraction), n=self.n, size=self.size))

    @property
    def size(self) -> int:
        """Rows of a resample."""
        return self.n if self.scheme == "bootstrap" else int(self.n * self.fraction)

    def indices(self, i: int) -> NDArray[np.int64]:
        """The rows of resample `i`, ascending; with "bootstrap" a row may occur several times."""
        if self.scheme == "bootstrap":
            rows = self._generator(i).integers(self.n, size=self.n)
        elif self.scheme == "subsample":
            rows = self._generator(i).permutation(self.n)[: self.size]
        else:
            shuffled = self._generator(i // 2).permutation(self.n)
            rows = shuffled[i % 2 * self.size :][: self.size]
        return np.sort(rows).astype(np.int64, copy=False)

    def random_state(self, i: int) -> int:
        """The `random_state` of `pycupc.pc` on resample `i`, which only u2pd="rand" and "retry" use."""
        return int(np.random.SeedSequence(self.seed, spawn_key=(i, 1)).generate_state(1)[0])

    def _generator(self, k: int) -> np.random.Generator:
        """The generator of ``SeedSequence(seed).spawn(k + 1)[k]``."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,)))


def seed_of(random_state: Any) -> int:
    """The seed that `random_state` stands for: itself, one drawn from a generator, or for None a fresh one below 2^32.

    TypeError or ValueError if it is none of these.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if not is_whole(random_state):
        raise TypeError(f"random_state must be a whole number, a numpy.random.Generator or None, got {random_state!r}")
    if random_state < 0:
        text, name = "{name} must be 0 or more, got {given}", Argument("random_state")
        raise ValueError(Message(text, name=name, given=random_state))
    return int(random_state)


_NEEDS_ROWS = "data must be a table of observations: resampling draws rows, which a correlation matrix does not have"


@dataclass(frozen=True)
class Rows:
    """Observations from which rows can be selected: numbers, or codes that keep the numbers of levels of all rows."""

    data: Table | OwnRows
    measure: Measure = field(default_factory=Measure)
    raw: bool = False  # whether the test takes the table itself

    @property
    def n(self) -> int:
        return len(self.data.values) if isinstance(self.data, Table) else int(self.data.n)

    def whole(self) -> SuffStat | Table | OwnRows:
        """All rows, as `pycupc.pc` takes them."""
        return self._for_test(self.data) if isinstance(self.data, Table) else self.data

    def _for_test(self, table: Table) -> SuffStat | Table:
        return table if self.raw else SuffStat.from_table(table, self.measure)

    def take(self, rows: Ints) -> tuple[SuffStat | Table | OwnRows, Ints, int]:
        """Some of the rows, as `pycupc.pc` takes them, without the warnings of `SuffStat.from_data`.

        Then the variables that have one value in all of them, and therefore no edges except those of fixedEdges (none
        are found in incomplete data); and the number of variables, without constant ones, that equal another one in all
        of them (0 but for complete numbers).
        """
        if not isinstance(self.data, Table):
            taken, constant = self.data.take(rows), np.zeros(0, dtype=np.int64)
            if isinstance(taken, DiscreteSuffStat | MixedTable):
                values = taken.codes if isinstance(taken, DiscreteSuffStat) else taken.values.T
                constant = np.flatnonzero((values == values[:, :1]).all(axis=1))
            return taken, constant, 0
        table = Table.of_values(self.data.values[rows], self.data.labels)
        return self._for_test(table), table.constant, sum(map(len, table.copies))

    def digest(self) -> str:
        """Hash of the values that determine the answer, without the labels."""
        data, found = self.data, hashlib.sha256()
        for array in (data.values,) if isinstance(data, Table) else data.arrays():
            found.update(f"{array.dtype}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).data.cast("B"))
        if self.measure != Measure():
            rule = () if self.measure.n_rule is None else (self.measure.n_rule,)
            found.update(repr((self.measure.name, self.measure.nearest, *rule)).encode())
        return found.hexdigest()


def as_rows(
    data: Any, indepTest: Any, labels: Any, correlation: str | None = None, *, by_default: bool = False
) -> Rows:
    """The observations given to `stability`; TypeError or ValueError unless of the kind that `indepTest` takes.

    `by_default`: as of `as_suff_stat`.
    """
    fits = indepTest in (None, gaussCItest) and not isinstance(data, SuffStat | OwnRows | Mapping)
    if correlation is not None and not fits:
        text = "{correlation} goes with a table of numbers and the Gaussian test"
        raise ValueError(Message(text, correlation=Setting("correlation", correlation)))
    if indepTest is disCItest or indepTest is binCItest:
        return Rows(as_discrete_suff_stat(data, "data"))
    if (test := missing_test(indepTest, data, 0.01, NAdelete=True, quirks=False)) is not None:
        return Rows(test.data)
    if indepTest is mixCItest or (indepTest is None and isinstance(data, MixedTable)):
        return Rows(as_mixed(data))
    raw = False
    if indepTest is not None and indepTest is not gaussCItest:
        from pycupc.independence.rcot import RCoT  # loads Numba

        raw = isinstance(indepTest, RCoT)
    if not (raw or indepTest in (None, gaussCItest)):
        text = "indepTest must be gaussCItest (or None), disCItest, binCItest, mixCItest, RCoT or of missing data, got"
        raise ValueError(f"{text} {indepTest!r}: rows cannot be drawn from the data of any other test")
    if isinstance(data, DiscreteSuffStat):
        raise ValueError("data of type DiscreteSuffStat need indepTest=disCItest (or binCItest)")
    if isinstance(data, SuffStat):
        if data.rows is None:
            raise ValueError(f"{_NEEDS_ROWS}; got a SuffStat without rows, made from correlations")
        values = np.ascontiguousarray(data.rows, dtype=np.float64)
        return Rows(Table.of_values(values, data.labels), data.measure)
    if isinstance(data, Mapping):
        raise ValueError(f"{_NEEDS_ROWS}; got a mapping with {', '.join(map(repr, data)) or 'no entries'}")
    table = Table.of(data, labels)
    table.check()
    if by_default and indepTest is None and correlation is None:
        table.warn_of_codes()
    measure = Measure(correlation or "pearson").of_data(table)  # type: ignore[arg-type]  # checked
    return Rows(replace(table, values=np.ascontiguousarray(table.values, dtype=np.float64)), measure, raw)
