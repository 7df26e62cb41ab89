"""The compiled half of `ranks.concordances`: concordant and discordant pairs of observations, in n log n steps.

As Knight (1966) does, one variable puts the observations into order, and inversions of the other are counted. They are
counted by the places of the observations met so far, one bit each, with a Fenwick tree (1994) over the words of bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Indices
from pycupc.system.jit import compiled, jit_inlined
from pycupc.system.numba_names import intrinsic, types


def _popcount_code(_: Any, bits: Any) -> Any:
    """The number of ones among 64 bits."""
    return types.int64(types.int64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


popcount: Any = intrinsic(_popcount_code)


@jit_inlined
def _count_below(place, words, tree):
    """How many bits before `place` are set."""
    word = place >> 6
    count = popcount(words[word] & ((1 << (place & 63)) - 1))
    while word > 0:
        count += tree[word]
        word &= word - 1
    return count


class Orders(NamedTuple):
    """The orders of n observations by p variables."""

    # order, ends: (p, n): the observations of a variable in ascending order; behind the last of those equal to the one
    # in this position.
    order: NDArray[np.int32]
    ends: NDArray[np.int32]
    # place, below, upto: (p, n): of each observation: its position in `order`, and how many are smaller, and not
    # larger.
    place: NDArray[np.int32]
    below: NDArray[np.int32]
    upto: NDArray[np.int32]
    tied: NDArray[np.bool_]  # (p,): whether a variable has equal observations


@compiled
def fill_row(i: int, orders: Orders, words: Indices, tree: Indices, out: Indices) -> None:
    """Write the concordant minus the discordant pairs of observations of variable `i` with each j > i to ``out[j]``.

    ``words``, int64 (n // 64 + 1,), and ``tree``, with one element more, are work space.
    """
    order, ends, place, below, upto, tied = orders
    p, n = order.shape
    n_words = len(words)
    for j in range(i + 1, p):
        for w in range(n_words):
            words[w] = 0
            tree[w + 1] = 0
        total, begin, twice = 0, 0, tied[j]
        while begin < n:
            end = ends[i, begin]
            for k in range(begin, end):
                observation = order[i, k]
                less = _count_below(below[j, observation], words, tree)
                not_more = _count_below(upto[j, observation], words, tree) if twice else less
                total += less + not_more - begin
            for k in range(begin, end):
                at = place[j, order[i, k]]
                word = at >> 6
                words[word] |= 1 << (at & 63)
                word += 1
                while word <= n_words:
                    tree[word] += 1
                    word += word & -word
            begin = end
        out[j] = total
