"""The pairs with the largest effects, in memory that does not grow with the number of pairs."""

from __future__ import annotations

import numpy as np

from pycupc.effects.regression import Floats, Ints
from pycupc.effects.result import Effects, _Block, _reduced
from pycupc.system.machine import available_cores, in_threads

#: Causes, effects, values of some pairs.
Pairs = tuple[Ints, Ints, Floats]


def largest(effects: Effects, k: int) -> Pairs:
    """The k pairs with the largest smallest absolute effect, in this order: causes, effects, and the smallest effects.

    A pair counts if all its possible effects are defined, none is 0, and its variables differ, so that there may be
    fewer than k. Of equal sizes the pair with the lower cause comes first, then the one with the lower effect.

    Returns
    -------
    causes, effects : int64 (m,)
        Positions of the variables.
    values : float64 (m,)
        The possible effect of smallest absolute value, with its sign; of several, that of the first parent set.
    """

    floors = [0.0]  # sizes that at least k pairs reach: one list for all threads, whose order does not matter

    def of_block(causes: slice) -> Pairs:
        return _largest(effects, effects._block(causes), k, floors)

    slices = effects._slices()
    found = in_threads(of_block, slices, min(available_cores(), len(slices)))
    x, y, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((y, x, -np.abs(values)))[:k]
    return x[order], y[order], values[order]


def _largest(effects: Effects, block: _Block, k: int, floors: list[float]) -> Pairs:
    """The pairs of a block that may be among the k largest of all, in any order; `floors` gets a higher one."""
    causes = effects.causes[block.causes]
    size = _reduced(np.minimum, np.abs(block.values), block.start)
    size[np.isnan(size) | (causes[:, None] == effects.effects)] = 0.0
    flat, floor = size.ravel(), max(floors)
    at = np.flatnonzero(flat >= floor if floor > 0 else flat > 0)
    if len(at) > k:
        least = float(np.partition(flat[at], -k)[-k])
        floors.append(least)
        at = at[flat[at] >= least]
    row, column = np.divmod(at, len(effects.effects))
    number = block.start[row + 1] - block.start[row]
    pair = np.repeat(np.arange(len(row)), number)
    entry = np.arange(len(pair)) + np.repeat(block.start[row] - np.cumsum(number) + number, number)
    values = block.values[entry, column[pair]]
    hits = np.flatnonzero(np.abs(values) == flat[at[pair]])
    first = hits[np.unique(pair[hits], return_index=True)[1]]
    return causes[row], effects.effects[column], values[first]
