"""The removed pairs of discrete data whose separating test was not made: there were too few observations for it.

pcalg's p-value of such a test is 1, as that of perfect independence. Whether a test was made depends on nothing but its
variables and the data, so it is found out after a run, for the removed pairs alone, and only when somebody asks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.discrete.g_square import observations_needed
from pycupc.discrete.suffstat import DiscreteSuffStat
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import look_up, pair_keys
from pycupc.results.evidence import PValues

Integers = NDArray[np.int64]

#: More than any number of variables.
_MANY = 1 << 31


class UntestedPairs(NamedTuple):
    """Removed pairs whose separating test would have needed more observations than there are, by pair.

    Attributes
    ----------
    x, y, level, needed : int64 (k,)
        The pair in the order of its test, the size of the set, and the observations that the test would have needed.
    """

    x: Integers
    y: Integers
    level: Integers
    needed: Integers

    @classmethod
    def by_pair(cls, table: Integers) -> UntestedPairs:
        """From the attributes in one array, int64 (4, k), in any order."""
        return cls(*table[:, np.argsort(pair_keys(table[0], table[1], _MANY), kind="stable")])

    def needed_by(self, x: ArrayLike, y: ArrayLike) -> Integers:
        """The observations that the test of each of these pairs would have needed, int64 (m,); 0 if it was made."""
        at = look_up(pair_keys(self.x, self.y, _MANY), np.atleast_1d(pair_keys(x, y, _MANY)))
        return np.where(at < 0, 0, np.append(self.needed, 0)[at]).astype(np.int64)

    def sentences(self, removed: int) -> list[str]:
        """How many of the `removed` pairs were not tested: one sentence, or none if all were."""
        text = f"{len(self.x):,} of {removed:,} removed pairs were not tested: not enough data; see why() and untested"
        return [text] if len(self.x) else []


def no_untested_pairs() -> UntestedPairs:
    """Where every removed pair was tested."""
    return UntestedPairs(*np.zeros((4, 0), dtype=np.int64))


def untested_pairs(suff: DiscreteSuffStat, sepset: SepSets, p_values: PValues) -> UntestedPairs:
    """Those among the removed pairs, whose sets are `sepset`, as the tests found them."""
    x, y = sepset.implied_empty()
    blocks: list[tuple[NDArray[Any], ...]] = [(x, y, np.empty((len(x), 0), dtype=np.int64))]
    blocks += [(block.x, block.y, block.members) for block in sepset.blocks]
    parts = []
    for x, y, S in blocks:
        if suff.df == "observed" and S.shape[1]:  # a table is counted for each: only where the test may not have been
            at = [k for k, pair in enumerate(zip(x.tolist(), y.tolist(), strict=True)) if p_values.at(*pair) == 1.0]
            x, y, S = x[at], y[at], S[at]
        needed = observations_needed(suff, x, y, S)
        few = needed > suff.n
        level = np.full(int(few.sum()), S.shape[1])
        parts.append(np.vstack([x[few], y[few], level, needed[few]]).astype(np.int64))
    return UntestedPairs.by_pair(np.concatenate(parts, axis=1))
