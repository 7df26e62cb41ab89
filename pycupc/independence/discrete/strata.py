"""Groups of observations: those that agree in several variables, and contingency tables of the strata of a set S.

The latter are for degrees of freedom that are those observed. A stratum is a configuration of S. Memory and time depend
on the strata that occur, never on how many configurations there are. A stratum of one observation is left out: its
table has one row and one column, so that it adds nothing. Source: docs/CONTRACT.md, section 12. The arguments are those
of `pycupc.independence.discrete.contingency`.
"""

from __future__ import annotations

import math

from pycupc.system.compiled import part


@part
def start_strata(counting, n):
    """Row 0 of the strata: one, with all observations."""
    for s in range(n):
        counting.configuration[0, s] = s
    counting.begin[0, 0], counting.begin[0, 1] = 0, n
    counting.strata[0] = 1 if n > 1 else 0


@part
def divide_strata(data, z, t, counting):
    """Row t + 1 of the strata: the strata of row t, divided by the codes of z."""
    order, begin, place, code = counting.configuration, counting.begin, counting.of_y, data.codes
    made, at = 0, 0
    begin[t + 1, 0] = 0
    for c in range(counting.strata[t]):
        for k in range(data.levels[z]):
            place[k] = 0
        for i in range(begin[t, c], begin[t, c + 1]):
            place[code[z, order[t, i]]] += 1
        for k in range(data.levels[z]):  # from the size of the new stratum to the place of its first observation
            m = place[k]
            place[k] = -1
            if m > 1:
                place[k] = at
                at += m
                made += 1
                begin[t + 1, made] = at
        for i in range(begin[t, c], begin[t, c + 1]):
            k = code[z, order[t, i]]
            if place[k] >= 0:
                order[t + 1, place[k]] = order[t, i]
                place[k] += 1
    counting.strata[t + 1] = made


@part
def statistic_of_strata(data, x, y, t, in_floats, counting):
    """Of the strata of row t: G^2 / 2 in fixed point, degrees of freedom, and if `in_floats` G^2 as pcalg computes it.

    The degrees of freedom are the sum of (rows - 1) (columns - 1) over the tables, where rows and columns without
    observations do not count.
    """
    f, counts, of_y, order, begin = data.f, counting.counts, counting.of_y, counting.configuration, counting.begin
    kx, ky = data.levels[x], data.levels[y]
    total, df, g2 = 0, 0, 0.0
    for c in range(counting.strata[t]):
        for cell in range(kx * ky):
            counts[0, cell] = 0
        for i in range(begin[t, c], begin[t, c + 1]):
            s = order[t, i]
            counts[0, data.codes[x, s] * ky + data.codes[y, s]] += 1
        n_k = begin[t, c + 1] - begin[t, c]
        rows, columns = 0, 0
        for j in range(ky):
            m = 0
            for i in range(kx):
                m += counts[0, i * ky + j]
            of_y[j] = m
            columns += m > 0
            total -= f[m]
        for i in range(kx):
            of_x = 0
            for j in range(ky):
                of_x += counts[0, i * ky + j]
                total += f[counts[0, i * ky + j]]
            rows += of_x > 0
            total -= f[of_x]
            if in_floats:
                for j in range(ky):
                    m = counts[0, i * ky + j]
                    if m > 0:
                        g2 += m * math.log(float(m) * float(n_k) / (float(of_x) * float(of_y[j])))
        total += f[n_k]
        df += (rows - 1) * (columns - 1)
    return total, df, 2.0 * g2


@part
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
