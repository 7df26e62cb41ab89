"""How many conditioning sets there are: binomial coefficients, exact in Python and saturated in tables of 64 bits.

A row of a level is wide if its sets are too many to be numbered in 64 bits. Ranks in such a row are Python integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, log10

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.protocol import EngineError
from pycupc.system.localised_message import Argument, Message, Variable

Counts = NDArray[np.int64]

#: The value of a saturated entry of a table.
MAX_RANK = 2**63 - 1
#: Tables are exact below this number of sets, which no machine can test one by one.
TOO_MANY = 2**62
#: Rows with at least this number of conditioning sets are wide.
WIDE = TOO_MANY


@lru_cache(maxsize=8)  # both sides of a level ask for it, and the levels after it
def binomial_table(d: int, size: int) -> Counts:
    """int64 (d + 1, size + 1) table of C(i, j), saturated at MAX_RANK."""
    table = np.zeros((d + 1, size + 1), dtype=np.int64)
    table[:, 0] = 1
    for j in range(1, size + 1):  # C(i, j) = C(0, j-1) + ... + C(i-1, j-1)
        too_large = np.cumsum(table[:-1, j - 1].astype(np.float64)) >= float(TOO_MANY)
        table[1:, j] = np.where(too_large, MAX_RANK, np.cumsum(table[:-1, j - 1]))
    return table


def is_wide(d: int, level: int) -> bool:
    """Whether a row with d neighbours is wide at a level."""
    return _most_numbered(d, level) >= WIDE


def by_degree(function: Callable[[int], float], degrees: Counts) -> NDArray[np.float64]:
    """The values of a function of the number of neighbours, float64 (p,); it is called once for each number."""
    kinds = np.flatnonzero(np.bincount(degrees))
    values = np.zeros(int(kinds[-1]) + 1 if len(kinds) else 0)
    values[kinds] = [function(d) for d in kinds.tolist()]
    return values[degrees]


def are_too_many(degrees: Counts, level: int) -> NDArray[np.bool_]:
    """The rows, given their numbers of neighbours, that cannot be enumerated, bool (p,)."""
    return _have_as_many(degrees, level, TOO_MANY)


def are_wide(degrees: Counts, level: int) -> NDArray[np.bool_]:
    """The rows, given their numbers of neighbours, that are wide, bool (p,)."""
    return _have_as_many(degrees, level, WIDE)


def _have_as_many(degrees: Counts, level: int, sets: int) -> NDArray[np.bool_]:
    if _most_numbered(int(degrees.max(initial=0)), level) < sets:
        return np.zeros(len(degrees), dtype=np.bool_)
    return by_degree(lambda d: _most_numbered(d, level) >= sets, degrees) > 0


def _most_numbered(d: int, level: int) -> int:
    """The number of conditioning sets of a row with d neighbours, or of their prefixes of all members but the last."""
    n = max(d - 1, 0)
    return max(comb(n, level), comb(n, level - 1)) if n >= level else 0


def refuse(rows: NDArray[np.bool_], degrees: Counts, level: int, why: str) -> None:
    """Raise `refusal` for the first of these rows, bool (p,), if there is one."""
    if rows.any():
        x = int(rows.argmax())
        raise refusal(x, int(degrees[x]), level, why)


def refusal(x: int, d: int, level: int, why: str) -> EngineError:
    """The error for variable x with d neighbours, whose conditioning sets are too many to be tried one by one."""
    return EngineError(
        Message(
            "level {level} cannot be run: variable {x} has {d} neighbours and so about 10^{digits:.0f} conditioning "
            "sets of size {level}, too many to try one by one, and {why}; take a smaller alpha, or set {m_max} to "
            "{below} or less",
            level=level,
            x=Variable(x),
            d=d,
            digits=log10(comb(d - 1, level)),
            why=why,
            m_max=Argument("m_max"),
            below=level - 1,
        )
    )


def about(n: int, size: int) -> float:
    """C(n, size), as far as floating-point numbers go."""
    return float(min(comb(max(n, 0), size), 10**300))


def exact_rank(members: Sequence[int], n: int) -> int:
    """Lexicographic rank of ascending members among the subsets of range(n) of that size, a Python integer."""
    size = len(members)
    return comb(n, size) - 1 - sum(comb(n - 1 - member, size - i) for i, member in enumerate(members))


def exact_members(rank: int, n: int, size: int) -> list[int]:
    """The subset of range(n) with `size` members that has this rank, ascending; the inverse of `exact_rank`."""
    members: list[int] = []
    member = 0
    while len(members) < size:
        with_member = comb(n - 1 - member, size - len(members) - 1)
        if rank < with_member:
            members.append(member)
        else:
            rank -= with_member
        member += 1
    return members


def exact_sum(counts: Counts) -> int:
    """The sum of int64 numbers >= 0, a Python integer."""
    if float(counts.max(initial=0)) * len(counts) < 2.0**62:
        return int(counts.sum())
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def level_tests(degrees: Counts, targets: Counts, level: int) -> int:
    """Most tests that a level can need: sum over rows of targets * C(degree - 1, level), an exact Python integer.

    `targets`, int (p,), are the numbers of neighbours whose edge is tested: all but fixed edges.
    """
    of_degree = np.bincount(degrees, weights=targets)  # exact: p * p < 2^53
    return sum(int(of_degree[d]) * comb(d - 1, level) for d in np.flatnonzero(of_degree).tolist() if d > level)
