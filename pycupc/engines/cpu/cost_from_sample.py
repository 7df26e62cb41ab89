"""The work of a run of many variables, estimated from some of them, without making level 0."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

from pycupc.engines.cpu.level0_sieve import Sieve
from pycupc.engines.cpu.tuning import SAMPLED, SIEVE_TILE, SIEVED_BYTES
from pycupc.engines.protocol import Engine, Sampled
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest


def sample(columns: Columns, test: GaussianTest, make_engine: Callable[[], Engine], n_threads: int) -> Sampled:
    """Level 0 of the variables of a tile with all others, and the other levels of a few of these with their neighbours.

    `make_engine` makes the engine of the second run. Fixed pairs are left out.
    """
    p, n, cutoff = len(columns), test.data.n, test.cutoff(0)
    begin, chosen = time.perf_counter(), np.random.default_rng(0).permutation(p)[:SIEVE_TILE]
    x, y = Sieve(columns, n, cutoff).beside(chosen, n_threads)
    r = columns.pairs(x, y, n_threads)
    left = np.abs(r) > cutoff
    x, y = x[left], y[left]
    share = len(chosen) / p
    seconds = (time.perf_counter() - begin) / share / 2  # each pair has two ends
    few = chosen[np.isfinite(columns.squares[chosen])][:SAMPLED]
    part = np.union1d(few, y[np.isin(x, few)])
    later = later_seconds(SuffStat.from_rows(columns.centred[part].T), test.alpha, make_engine())
    memory = _own_memory() + int(4 * n * p) + int(len(x) / share / 2 * SIEVED_BYTES)
    degrees = np.bincount(np.searchsorted(np.sort(chosen), x), minlength=len(chosen))
    return Sampled(degrees, seconds + later * p / len(part), memory)


def later_seconds(data: SuffStat, alpha: float, engine: Engine) -> float:
    """Seconds of the levels after level 0."""
    engine.take(GaussianTest(data, alpha), [str(k) for k in range(data.p)])
    level, seconds, more = 0, 0.0, True
    while more:
        result = engine.run_level(level)
        seconds += result.seconds if level else 0.0
        level, more = level + 1, result.more
    return seconds


def _own_memory() -> int:
    """Bytes of memory of this process, with the centred columns, but without files that are mapped into memory."""
    try:
        with open("/proc/self/statm") as file:
            resident, shared = map(int, file.read().split()[1:3])
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
