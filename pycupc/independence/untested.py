"""The removed pairs whose separating test was not made: there were too few observations for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.sparse import look_up, pair_keys

Integers = NDArray[np.int64]

#: More than any number of variables.
_MANY = 1 << 31


class UntestedPairs(NamedTuple):
    """Removed pairs whose separating test would have needed more observations than there are, by pair."""

    # x, y, level, needed: (k,): the pair in the order of its test, the size of the set, and the observations that the
    # test would have needed.
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
