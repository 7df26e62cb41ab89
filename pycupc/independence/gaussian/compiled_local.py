"""The compiled half of `local.py`."""

from __future__ import annotations

import math

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set
from pycupc.system.compiled import compiled, frozen


def p_values(C: Floats, n: Floats, rule: int, x: Indices, y: Indices, S: Indices) -> Floats:
    """The p-values of x[i] and y[i] given S[i], float64 (m,); `rule` is the position in `pair_n.RULES`."""
    nodes = np.ascontiguousarray(np.column_stack([np.sort(S, axis=1), x, y]).astype(np.int64))
    p, space = np.empty(len(x)), canonical_space(S.shape[1])
    if not _fill(frozen(C), frozen(n), rule, nodes, space, 0, p):
        _fill(frozen(C), frozen(n), rule, nodes, space, careful_address(), p)
    return p


@compiled
def _fill(C, n, rule, nodes, space, careful, p):
    """Write the p-values; False where `careful`, which is 0, is needed."""
    m, width = nodes.shape
    for i in range(m):
        r = given_set(C, nodes[i], width - 2, space, careful)
        if r != r:
            return False
        least, total, inverse = math.inf, 0.0, 0.0
        for a in range(width):
            for b in range(a):
                number = n[nodes[i, a], nodes[i, b]]
                total += number
                inverse += 1.0 / number
                if number < least:
                    least = number
        pairs = width * (width - 1) / 2.0
        number = total / pairs if rule == 0 else least if rule == 1 else pairs / inverse
        df = number - (width + 1)
        p[i] = math.erfc(math.sqrt(df) * abs(math.atanh(r)) * math.sqrt(0.5)) if df > 0.0 else 1.0
    return True
