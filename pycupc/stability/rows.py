"""The data of a study, and a resample of its rows in the form that `pycupc.pc` takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.data.observations import observations
from pycupc.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.discrete.suffstat import as_discrete_suff_stat
from pycupc.gaussian.correlation import constant_columns, groups_of_identical_columns
from pycupc.gaussian.gauss_ci_test import gaussCItest
from pycupc.gaussian.suffstat import SuffStat

Ints = NDArray[np.int64]

_NEEDS_ROWS = "data must be a table of observations: resampling draws rows, which a correlation matrix does not have"


@dataclass(frozen=True)
class Resample:
    """Some rows of the data.

    Attributes
    ----------
    suff_stat : SuffStat or DiscreteSuffStat
        What `pycupc.pc` takes.
    constant : int64
        Variables that have one value in all rows, and therefore no edges except those of fixedEdges.
    n_copies : int
        Number of variables that equal another one in all rows, without constant ones; 0 for discrete data.
    """

    suff_stat: SuffStat | DiscreteSuffStat
    constant: Ints
    n_copies: int


class Rows(Protocol):
    """Observations from which rows can be selected."""

    @property
    def n(self) -> int:
        """Number of rows."""

    def whole(self) -> SuffStat | DiscreteSuffStat:
        """All rows, as `pycupc.pc` takes them."""

    def take(self, rows: Ints) -> Resample:
        """Some of the rows."""

    def digest(self) -> str:
        """Hash of the values that determine the answer, without the labels."""


@dataclass(frozen=True)
class GaussianRows:
    """Observations X, float64 (n, p), that `SuffStat.from_data` has checked."""

    X: NDArray[np.float64]
    labels: tuple[str, ...] | None

    @property
    def n(self) -> int:
        return len(self.X)

    def whole(self) -> SuffStat:
        return SuffStat.from_checked(self.X, self.labels)

    def take(self, rows: Ints) -> Resample:
        """As ``SuffStat.from_data(X[rows])``, without its warnings."""
        X = self.X[rows]
        constant = constant_columns(X)
        known = set(constant)
        copies = sum(len(group) for group in groups_of_identical_columns(X) if group[0] not in known)
        return Resample(SuffStat.from_checked(X, self.labels), np.array(constant, dtype=np.int64), copies)

    def digest(self) -> str:
        return _sha256(self.X)


@dataclass(frozen=True)
class DiscreteRows:
    """Codes, of which a resample keeps the numbers of levels of the whole data."""

    suff_stat: DiscreteSuffStat

    @property
    def n(self) -> int:
        return self.suff_stat.n

    def whole(self) -> DiscreteSuffStat:
        return self.suff_stat

    def take(self, rows: Ints) -> Resample:
        taken = self.suff_stat.take(rows)
        constant = np.flatnonzero((taken.codes == taken.codes[:, :1]).all(axis=1))
        return Resample(taken, constant, 0)

    def digest(self) -> str:
        return _sha256(self.suff_stat.codes, self.suff_stat.nlev)


def as_rows(data: Any, indepTest: Any, labels: Any) -> Rows:
    """The observations that `pycupc.stability` was given.

    TypeError or ValueError if they are not of the kind that `indepTest` takes, or if that is a user's own test.
    """
    if indepTest is disCItest or indepTest is binCItest:
        return DiscreteRows(as_discrete_suff_stat(data, "data"))
    if indepTest is not None and indepTest is not gaussCItest:
        raise ValueError(
            "indepTest must be gaussCItest (or None), disCItest or binCItest, since rows cannot be drawn from the data "
            f"of any other test, got {indepTest!r}"
        )
    if isinstance(data, DiscreteSuffStat):
        raise ValueError("data of type DiscreteSuffStat need indepTest=disCItest (or binCItest)")
    if isinstance(data, SuffStat):
        if data.rows is None:
            raise ValueError(f"{_NEEDS_ROWS}; got a SuffStat without rows, made from correlations")
        return GaussianRows(data.rows, data.labels)
    if isinstance(data, Mapping):
        raise ValueError(f"{_NEEDS_ROWS}; got a mapping with {', '.join(map(repr, data)) or 'no entries'}")
    X, columns = observations(data)
    checked = SuffStat.from_data(X, columns if labels is None else labels)
    return GaussianRows(np.array(X, order="C"), checked.labels)  # the caller may change the table


def _sha256(*arrays: NDArray[Any]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data.cast("B"))
    return found.hexdigest()
