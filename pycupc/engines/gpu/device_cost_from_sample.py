"""The work of a run without the correlation matrix, estimated from some of its variables."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_sieve, device_tuning
from pycupc.engines.protocol import Engine, Sampled
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest


def sampled(graph: device_sieve.RowGraph, test: GaussianTest, engine: Engine) -> Sampled:
    """Level 0 of the last variables with all others, and the other levels of these and their neighbours, by `engine`.

    Level 0 goes through the last two columns of squares of the sieve. Call it inside a `session`, once the kernels are
    compiled.
    """
    from pycupc.engines.cpu.cost_from_sample import later_seconds  # loads Numba

    p, (group, on_side), X, times = graph.p, device_sieve.squares_of(graph.p), test.data.rows, []
    assert X is not None
    before = max(0, on_side - 2)
    end, first = on_side * (on_side + 1) // 2, before * group * device_sieve.SIDE
    for begin in (end, before * (before + 1) // 2):  # first no squares, for the work that is not the sieve's
        graph.some_squares = begin, end
        start = time.perf_counter()
        graph.launch_level0(test.cutoff(0))
        x, y = np.divmod(graph.pairs_left().astype(np.int64), p)
        times.append(time.perf_counter() - start)
    of_all = (times[1] - times[0]) / (1 - (first / p) ** 2)
    degrees = np.bincount(np.concatenate([x, y]), minlength=p)[first:]
    part = np.unique(np.concatenate([np.arange(first, p), x, y]))
    later = later_seconds(SuffStat.from_rows(X[:, part]), test.alpha, engine)
    return Sampled(degrees, times[0] + of_all + later * p / len(part), _peak(degrees, X))


def _peak(degrees: NDArray[np.int64], X: NDArray[np.floating]) -> int:
    """Bytes of device memory: the centred columns, the data, and the arrays of the sieve and of the levels after it.

    The data and the arrays of the sieve are not needed any more then; but CuPy's pool keeps their room, and the later
    arrays are larger.
    """
    n, p = X.shape
    pairs = int(degrees.mean() * p / 2)
    of_sieve = 2 * (n + 16) * (p + device_sieve.SIDE) + 8 * max(device_sieve.first_room(p), pairs) + 8 * pairs
    lists = 4 * pairs * sum(device_sieve.RowGraph.lists.values())
    after = 16 * pairs + lists + 8 * int(((degrees + 1.0) ** 2).mean() * p)
    return int(8 * n * p + X.nbytes + of_sieve + after + 110 * p + device_tuning.FIXED_BYTES)
