"""The pairs with the largest effects, in memory that does not grow with the number of pairs."""

from __future__ import annotations

import numpy as np

from pycupc.effects.regression import Floats, Ints
from pycupc.effects.result import Effects, _Block, _reduced


def largest(effects: Effects, k: int) -> tuple[Ints, Ints, Floats]:
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
    sizes, x, y, values = np.zeros(0), *np.zeros((2, 0), dtype=np.int64), np.zeros(0)
    for block in effects._blocks():
        causes = effects.causes[block.causes]
        size = _reduced(np.minimum, np.abs(block.values), block.start)
        size[np.isnan(size) | (causes[:, None] == effects.effects)] = 0.0
        at = np.flatnonzero(size > (sizes[-1] if len(sizes) == k else 0.0))
        found = size.ravel()[at]
        if len(at) > k:  # fewer to sort
            enough = found >= np.partition(found, -k)[-k]
            at, found = at[enough], found[enough]
        row, column = np.divmod(at, len(effects.effects))
        sizes = np.concatenate((sizes, found))
        x, y = np.concatenate((x, causes[row])), np.concatenate((y, effects.effects[column]))
        values = np.concatenate((values, _smallest(block, row, column, found)))
        order = np.lexsort((y, x, -sizes))[:k]
        sizes, x, y, values = sizes[order], x[order], y[order], values[order]
    return x, y, values


def _smallest(block: _Block, row: Ints, column: Ints, size: Floats) -> Floats:
    """The first effect of each pair (row, column) of a block whose absolute value is `size`."""
    number = block.start[row + 1] - block.start[row]
    pair = np.repeat(np.arange(len(row)), number)
    entry = np.arange(len(pair)) + np.repeat(block.start[row] - np.cumsum(number) + number, number)
    values = block.values[entry, column[pair]]
    hits = np.flatnonzero(np.abs(values) == size[pair])
    found: Floats = values[hits[np.unique(pair[hits], return_index=True)[1]]]
    return found
