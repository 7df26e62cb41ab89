"""The pairs with the largest effects, in memory that does not grow with the number of pairs."""

from __future__ import annotations

import numpy as np

from pycupc.effects.blocks import Block, may_lead
from pycupc.effects.local import LocalEffects
from pycupc.effects.regression import Floats, Ints

#: Causes, effects, values of some pairs.
Pairs = tuple[Ints, Ints, Floats]


def largest(effects: LocalEffects, k: int) -> Pairs:
    """The k pairs with the largest smallest absolute effect, in this order: causes, effects, and the smallest effects.

    A pair counts if all its possible effects are defined, none is 0, and its variables differ, so that there may be
    fewer than k. Of equal sizes the pair with the lower cause comes first, then the one with the lower effect.

    Returns `causes, effects`, int64 (m,): positions of the variables; `values`, float64 (m,): the possible effect of
    smallest absolute value, with its sign; of several, that of the first parent set.
    """
    # sizes that at least k pairs reach, and 0 is none: one list for all threads, whose order does not matter
    floors = [float(np.nextafter(0.0, 1.0))]
    found = effects.in_blocks(lambda block: _largest(effects, block, k, floors))
    x, y, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((y, x, -np.abs(values)))[:k]
    return x[order], y[order], values[order]


def _largest(effects: LocalEffects, block: Block, k: int, floors: list[float]) -> Pairs:
    """The pairs of a block that may be among the k largest of all, in any order; `floors` gets a higher one."""
    causes = effects.causes[block.causes]
    size = block.smallest()
    size[np.isnan(size) | (causes[:, None] == effects.effects)] = 0.0
    at = may_lead(size, k, max(floors))
    if len(at) >= k:
        floors.append(float(size.ravel()[at].min()))
    row, column = np.divmod(at, len(effects.effects))
    number = block.start[row + 1] - block.start[row]
    pair = np.repeat(np.arange(len(row)), number)
    entry = np.arange(len(pair)) + np.repeat(block.start[row] - np.cumsum(number) + number, number)
    values = block.values[entry, column[pair]]
    hits = np.flatnonzero(np.abs(values) == size.ravel()[at[pair]])
    first = hits[np.unique(pair[hits], return_index=True)[1]]
    return causes[row], effects.effects[column], values[first]
