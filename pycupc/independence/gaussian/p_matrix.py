"""The p-values of all pairs of a Gaussian result, from its correlations and removals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from pycupc.graph.sparse import Ints
from pycupc.independence.base import Floats
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.p_values import Filling, set_both
from pycupc.system.machine import available_cores, in_threads

#: x, y, level (one number, or one per pair) and r of removed pairs.
Part = tuple[Ints, Ints, int | Ints, Floats]

#: Up to this many variables, computing p-values one by one is faster than loading compiled code.
_FEW = 400


def begin(out: Floats, C: Floats, n: float, parts: Iterable[Part], last: Callable[[], None] | None = None) -> Filling:
    """Begin to write the p-value of the last test of each pair, in both directions, to ``out``, float64 (p, p).

    `C`, float64 (p, p), are the correlations of `n` observations; `parts` are the pairs removed at level 1 and above.
    The cells of edges and of the diagonal receive numbers without a meaning, until `last` is called, at the end.
    """
    if len(C) > _FEW:
        return _in_threads(out, C, n, parts, last)
    out[:], levels = C, np.zeros(C.shape, dtype=np.int64)
    for x, y, level, r in parts:
        set_both(out, x, y, r)
        set_both(levels, x, y, level)
    x, y = (i.astype(np.int32) for i in np.triu_indices(len(C), 1))
    set_both(out, x, y, fisher_z.p_value(out[x, y], n, levels[x, y]))
    return Filling(last=last)


def _in_threads(out: Floats, C: Floats, n: float, parts: Iterable[Part], last: Callable[[], None] | None) -> Filling:
    from concurrent.futures import ThreadPoolExecutor

    from pycupc.independence.gaussian import compiled_p_values as p_values  # loads Numba

    n_threads, root = available_cores(), math.sqrt(max(n - 3.0, 0.0))

    def put(removals: tuple[Ints, Ints, Floats, Floats]) -> None:
        p_values.put_removals(*removals, out)

    np.abs(C, out=out)
    for _ in in_threads(put, _shares(parts, n, n_threads), n_threads):
        pass
    flags = np.zeros((n_threads, 2), dtype=np.int64)
    pool = ThreadPoolExecutor(n_threads)
    threads = [pool.submit(p_values.fill_rows, i, n_threads, root, out, flags[i]) for i in range(n_threads)]
    filling = Filling(threads, flags[:, p_values.STOP], last, pool)
    try:
        while not all(thread.done() or begun for thread, begun in zip(threads, flags[:, p_values.BEGUN], strict=True)):
            time.sleep(1e-4)
    except BaseException:
        filling.stop()
        raise
    return filling


def _shares(parts: Iterable[Part], n: float, n_shares: int) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
    """x, y, r and the square roots of n - level - 3, each part in `n_shares` shares, as compiled code takes them."""
    for x, y, level, r in parts:
        root = np.broadcast_to(np.sqrt(np.maximum(n - 3.0 - np.asarray(level), 0.0)), x.shape)
        types = (np.int32, np.int32, np.float64, np.float64)
        arrays = [np.require(a, t, ["C", "W"]) for a, t in zip((x, y, r, root), types, strict=True)]
        for low, high in pairwise(np.linspace(0, len(x), n_shares + 1).astype(int).tolist()):
            yield arrays[0][low:high], arrays[1][low:high], arrays[2][low:high], arrays[3][low:high]
