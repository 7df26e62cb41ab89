"""Groups of observations that agree in several variables, numbered as they occur."""

from __future__ import annotations

from pycupc.system.compiled import part


@part
def divided(group, codes, n, groups, levels, place):
    """Divide the groups of n observations by the codes of a further variable; returns how many there are then.

    group : int64 (n,)
        The number of the group of each observation, from 0 on; overwritten.
    place : int64 (at least groups times levels,)
        Work space.
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
