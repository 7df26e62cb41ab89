"""The removed pairs of discrete data whose separating test was not made: there were too few observations for it.

pcalg's p-value of such a test is 1, as that of perfect independence. Whether a test was made depends on nothing but its
variables and the data, so it is found out after a run, for the removed pairs alone, and only when somebody asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.independence.discrete.g_square import observations_needed
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.p_values import PValues
from pycupc.independence.untested import UntestedPairs


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
