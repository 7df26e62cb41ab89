"""pcalg's tests of discrete data, written out literally: contingency tables, their G^2, and its p-value.

They use NumPy and are slow. The reference engine and single tests use them; the other engines do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.independence.discrete.suffstat import DiscreteSuffStat, as_discrete_suff_stat

Codes = NDArray[np.integer[Any]]

#: A test needs this many observations per degree of freedom, or it counts as independence.
OBSERVATIONS_PER_DF = 10
#: The same with observed degrees of freedom (docs/contracts/contract.md, section 12).
OBSERVATIONS_PER_OBSERVED_DF = 5
#: The largest conditioning set of pcalg's `disCItest`; given a larger one it calls all variables independent.
LARGEST_SET_OF_DISCITEST = 4


def gSquareDis(
    x: int,
    y: int,
    S: Sequence[int],
    dm: ArrayLike,
    nlev: Sequence[int] | None = None,
    adaptDF: bool = False,
    *,
    quirks: bool = False,
) -> float:
    """p-value of the G^2 test of x and y given S.

    Parameters
    ----------
    x, y : int
        0-based, different columns.
    S : sequence of int
        Conditioning set, 0-based columns, without x and y; may be empty.
    dm : int (n, p)
        Codes: 0, 1, ..., nlev - 1 in each column.
    nlev : int (p,), optional
        Levels of each variable; the number of different codes of each column by default.
    adaptDF : bool, default False
        Given a set, lower the degrees of freedom by the number of empty cells, but not below 1.
    quirks : bool, default False
        Answer as pcalg 2.7-12, both of its faults included (docs/contracts/contract.md, section 12).

    Returns
    -------
    float in [0, 1]
        1 where there are fewer than 10 observations per degree of freedom.

    Raises
    ------
    TypeError, ValueError
        `dm` or `nlev` is not what it should be; the message names it.
    """
    return disCItest(x, y, S, DiscreteSuffStat(dm, nlev, adaptDF=adaptDF), quirks=quirks)


def gSquareBin(x: int, y: int, S: Sequence[int], dm: ArrayLike, adaptDF: bool = False) -> float:
    """p-value of the G^2 test of binary x and y given binary S; as `gSquareDis`, with codes 0 and 1."""
    return binCItest(x, y, S, DiscreteSuffStat(dm, [2] * np.shape(dm)[-1], adaptDF=adaptDF))


def disCItest(
    x: int, y: int, S: Sequence[int], suffStat: DiscreteSuffStat | Mapping[str, Any], *, quirks: bool = False
) -> float:
    """p-value of pcalg's ``disCItest``: are x and y independent given S, by the G^2 test?

    Parameters
    ----------
    x, y, S, quirks
        As for `gSquareDis`.
    suffStat : DiscreteSuffStat or mapping with keys "dm", "adaptDF" and optionally "nlev"

    Returns
    -------
    float in [0, 1]

    Notes
    -----
    `pc` and `skeleton` recognise this function as their `indepTest`: the engines then run their own form of the test.
    """
    suff = as_discrete_suff_stat(suffStat)
    return p_value(suff, x, y, tuple(S), quirks=quirks)


def binCItest(x: int, y: int, S: Sequence[int], suffStat: DiscreteSuffStat | Mapping[str, Any]) -> float:
    """p-value of pcalg's ``binCItest``: the G^2 test of binary data; as `disCItest`, which has no faults here."""
    return p_value(as_discrete_suff_stat(suffStat).check_binary(), x, y, tuple(S))


def p_value(suff: DiscreteSuffStat, x: int, y: int, S: Sequence[int], *, quirks: bool = False) -> float:
    """p-value of x and y given S, by the literal formulas of docs/contracts/contract.md, section 12."""
    from scipy.special import chdtrc

    levels = suff.nlev[[x, y, *S]]
    if suff.df == "observed":
        tables = tables_of(suff.codes, x, y, S, suff.nlev)
        df = observed_df(tables)
        few = df == 0 or suff.n < OBSERVATIONS_PER_OBSERVED_DF * df
        return 1.0 if few else float(chdtrc(df, max(g_square(tables), 0.0)))
    if suff.n < OBSERVATIONS_PER_DF * free(levels) or (quirks and len(S) > LARGEST_SET_OF_DISCITEST):
        return 1.0
    return p_of_tables(tables_of(suff.codes, x, y, S, suff.nlev), levels, adapt=suff.adaptDF, quirks=quirks)


def free(levels: NDArray[np.int64]) -> int:
    """The degrees of freedom of a test of x and y given S, from their numbers of levels, in this order."""
    return int(prod((levels[:2] - 1).tolist()) * prod(levels[2:].tolist()))


def p_of_tables(
    tables: NDArray[np.float64], levels: NDArray[np.int64], *, adapt: bool, quirks: bool, total: float | None = None
) -> float:
    """p-value of a table per configuration that occurs; `levels` as in `free`, `total` as in `g_square`."""
    from scipy.special import chdtrc

    df, members, n_sets = free(levels), len(levels) - 2, prod(levels[2:].tolist())
    if adapt and members:
        empty = prod(levels.tolist()) - int(np.count_nonzero(tables))
        if quirks:
            empty += 4 * (2**members - n_sets)
        df = max(df - empty, 1)
    return float(chdtrc(df, max(g_square(tables, total), 0.0)))


def observations_needed(suff: DiscreteSuffStat, x: Codes, y: Codes, S: Codes) -> NDArray[np.int64]:
    """How many observations each test of x and y given a row of S needs to be made, int64 (m,); x, y (m,), S (m, l)."""
    levels = suff.nlev
    if suff.df == "pcalg":
        df = (levels[x] - 1.0) * (levels[y] - 1.0) * levels[S].astype(np.float64).prod(axis=1)
        return np.asarray(np.minimum(OBSERVATIONS_PER_DF * df, 2.0**53), dtype=np.int64)
    if S.shape[1] == 0:
        seen = np.array([len(np.unique(column)) for column in suff.codes]) - 1
        return np.asarray(OBSERVATIONS_PER_OBSERVED_DF * seen[x] * seen[y], dtype=np.int64)
    tests = zip(x.tolist(), y.tolist(), S.tolist(), strict=True)
    df = [observed_df(tables_of(suff.codes, i, j, members, levels)) for i, j, members in tests]
    return OBSERVATIONS_PER_OBSERVED_DF * np.array(df, dtype=np.int64)


def observed_df(tables: NDArray[np.float64]) -> int:
    """Degrees of freedom of a table per configuration, in which rows and columns without observations do not count."""
    rows, columns = ((tables.sum(axis=axis) > 0).sum(axis=1) for axis in (2, 1))
    return int(((rows - 1) * (columns - 1)).sum())


def tables_of(codes: Codes, x: int, y: int, S: Sequence[int], levels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Counts of (configuration of S, code of x, code of y), for the configurations that occur; codes (p, n)."""
    configuration = np.zeros(codes.shape[1], dtype=np.int64)
    for s in S:
        _, configuration = np.unique(configuration * levels[s] + codes[s], return_inverse=True)
    shape = (int(configuration.max(initial=0)) + 1, int(levels[x]), int(levels[y]))
    cell = np.ravel_multi_index((configuration, codes[x], codes[y]), shape)
    return np.bincount(cell, minlength=prod(shape)).reshape(shape).astype(np.float64)


def g_square(tables: NDArray[np.float64], total: float | None = None) -> float:
    """G^2 of a table per configuration, float64 (configurations, levels of x, levels of y).

    `total` stands for the number of observations of each table, by default the number that is there.
    """
    of_x, of_y = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    there = tables > 0
    counts, expected = tables[there], (of_x * of_y)[there]
    of_all = np.broadcast_to(of_x.sum(axis=1, keepdims=True) if total is None else total, tables.shape)[there]
    return float(2 * (counts * np.log(counts * of_all / expected)).sum())
