"""Summaries of all possible effects of each pair on a CUDA device, and the largest: kernels/effects/summaries.cu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pycupc.effects.regression import SMALLEST_PIVOT, Floats, Ints, Regressions
from pycupc.engines.gpu.correlation import correlation
from pycupc.engines.gpu.device import Device, Session, open_device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import f64, i32, i64, ptr

KERNEL: KernelName = ("effects/summaries", "summarize_effects")
SOLVE: KernelName = ("effects/summaries", "solve_regressions")
#: The kernel's number of each summary.
HOW = {"smallest": 0, "mean": 1, "sign_agreement": 2, "value": 3}
#: Pairs of a launch: 512 MiB.
MOST = 1 << 26


def summaries(
    C: Floats, regressions: Regressions, first: Ints, effects: Ints, how: str, device: int
) -> Iterator[tuple[slice, Floats]]:
    """A summary of the effects of some causes at a time on `effects`, float64 (causes, effects).

    Parameters
    ----------
    C : float64 (p, p)
    regressions : Regressions
    first : int64 (causes + 1,)
        The first regression of each cause.
    effects : int64
    how : {"smallest", "mean", "sign_agreement"}
    device : int
        Number of the CUDA device.

    Raises
    ------
    EngineError
        If there is no usable device, or its memory does not suffice.
    """
    dev = open_device(device)
    with Session(dev, lambda: None):
        arrays = (C, first, regressions.start, regressions.members, regressions.weights, effects)
        for causes, out in _launched(dev, [dev.transfers.copied(array) for array in arrays], HOW[how]):
            (values,) = dev.transfers.download((out.data.ptr, np.float64, out.shape))
            dev.wait()
            yield causes, values


def largest(
    X: Floats,
    deviations: Floats | None,
    unsolved: Regressions,
    first: Ints,
    causes: Ints,
    effects: Ints,
    k: int,
    device: int,
) -> tuple[Ints, Ints, Floats]:
    """As `pycupc.effects.largest.largest`, from data; the bits are the same.

    Parameters
    ----------
    X : float64 (n, p)
        Their correlations are the covariances.
    deviations : float64 (p,), optional
        Standard deviations by which the correlations are multiplied.
    unsolved : Regressions
    first, effects, device
        As of `summaries`.
    causes : int64
    k : int
        The number of pairs.

    Raises
    ------
    EngineError
        As `summaries`.
    """
    dev, (start, members) = open_device(device), (unsolved.start, unsolved.members)
    found, floor = [], float(np.nextafter(0.0, 1.0))
    with Session(dev, lambda: None):
        cp, copied, n = dev.cp, dev.transfers.copied, len(start) - 1
        C = correlation(dev, X)
        if deviations is not None:
            scale = copied(deviations)
            C *= scale[:, None]
            C *= scale
        place = np.concatenate(([0], np.cumsum(np.diff(start) ** 2)))
        sent = [C, *map(copied, (first, start, members)), cp.empty(len(members)), copied(effects)]
        begins, L = copied(place), cp.empty(max(1, int(place[-1])))
        args = (*map(ptr, (C, *sent[2:4], begins, L, sent[4])), i64(n), i64(len(C)), f64(SMALLEST_PIVOT))
        dev.launch(*SOLVE, (dev.blocks(n),), (256,), args)
        for of_block, out in _launched(dev, sent, HOW["value"]):
            values = out.ravel()
            size = cp.abs(values)
            if len(size) > k:
                floor = max(floor, float(cp.sort(size)[len(size) - k]))
            at = cp.flatnonzero(size >= floor)
            some = values[at]
            pieces = (at.data.ptr, np.int64, at.shape), (some.data.ptr, np.float64, some.shape)
            places, chosen = dev.transfers.download(*pieces)
            dev.wait()
            found.append((places + of_block.start * len(effects), chosen))
    at, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    x, y = causes[at // len(effects)], effects[at % len(effects)]
    order = np.lexsort((y, x, -np.abs(values)))[:k]
    return x[order], y[order], values[order]


def _launched(dev: Device, sent: Sequence[Any], how: int) -> Iterator[tuple[slice, Any]]:
    """The summary of some causes at a time, on the device: `sent` are the first six arguments of the kernel."""
    C, first, *_, effects = sent
    n, at_a_time = len(first) - 1, max(1, MOST // max(1, len(effects)))
    for a in range(0, n, at_a_time):
        causes = slice(a, min(a + at_a_time, n))
        out = dev.cp.empty((causes.stop - a, len(effects)))
        begin = ptr(first)
        begin.value = (begin.value or 0) + 8 * a
        args = (ptr(C), begin, *map(ptr, sent[2:]), ptr(out), i64(len(out)), i64(len(effects)), i64(len(C)), i32(how))
        dev.launch(*KERNEL, (dev.blocks(out.size),), (256,), args)
        yield causes, out
