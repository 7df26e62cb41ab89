"""Groups of observations: those that agree in several variables."""

from __future__ import annotations

from pycupc.system.jit import jit_part


@jit_part
def divided(group, codes, n, groups, levels, place):
    """Divide the groups of n observations, int64 (n,), by the codes of a further variable; returns how many there are.

    They are numbered from 0 on, as they occur. `place`, int64 (at least groups times levels,): work space.
    """
    for g in range(groups * levels):
        place[g] = -1
    made = 0
    for s in range(n):
        key = group[s] * levels + codes[s]
        if place[key] < 0:
            place[key] = made
            made += 1
        group[s] = place[key]
    return made
