"""Summaries of all possible effects of each pair on a CUDA device, and the largest: kernels/effects/summaries.cu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pycupc.effects.regression import Floats, Ints, Regressions
from pycupc.effects.regressors import Regressors
from pycupc.engines.gpu.correlation import correlation
from pycupc.engines.gpu.device import Device, Session, open_device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import i32, i64, ptr

KERNEL: KernelName = ("effects/summaries", "summarize_effects")
#: The kernel's number of each summary.
HOW = {"smallest": 0, "mean": 1, "sign_agreement": 2, "value": 3}
#: Pairs of a launch: 512 MiB.
MOST = 1 << 26


def summaries(
    C: Floats, regressions: Regressions, first: Ints, effects: Ints, how: str, device: int
) -> Iterator[tuple[slice, Floats]]:
    """A summary of the effects of some causes at a time on `effects`, float64 (causes, effects).

    Raises EngineError if there is no usable device, or its memory does not suffice.

    `C`, float64 (p, p). `first`, int64 (causes + 1,): the first regression of each cause. `how`, {"smallest", "mean",
    "sign_agreement"}. `device`: number of the CUDA device.
    """
    dev = open_device(device)
    with Session(dev, lambda: None):
        arrays = (C, first, regressions.start, regressions.members, regressions.weights, effects)
        for causes, out in _launched(dev, [dev.transfers.copied(array) for array in arrays], HOW[how]):
            (values,) = dev.transfers.download((out.data.ptr, np.float64, out.shape))
            dev.wait()
            yield causes, values


def largest(
    X: Floats, deviations: Floats | None, regressors: Regressors, causes: Ints, effects: Ints, k: int, device: int
) -> tuple[Ints, Ints, Floats]:
    """As `pycupc.effects.largest.largest`, from observations, float64 (n, p); the bits are the same.

    The covariances are correlations, times the standard deviations of the variables if they are given. EngineError as
    of `summaries`.
    """
    dev, found, floor = open_device(device), [], float(np.nextafter(0.0, 1.0))
    with Session(dev, lambda: None):
        cp, copied, download = dev.cp, dev.transfers.copied, dev.transfers.download
        C = correlation(dev, X)
        if deviations is not None:
            scale = copied(deviations)
            C *= scale[:, None]
            C *= scale
        some = C[tuple(map(copied, regressors.pairs()))]
        (pairs,) = download((some.data.ptr, np.float64, some.shape))
        dev.wait()
        regressions = Regressions.of(pairs, *regressors[1:])
        arrays = (regressors.first, regressions.start, regressions.members, regressions.weights, effects)
        for of_block, out in _launched(dev, [C, *map(copied, arrays)], HOW["value"]):
            values = out.ravel()
            size = cp.abs(values)
            if len(size) > k:
                floor = max(floor, float(cp.sort(size)[len(size) - k]))
            at = cp.flatnonzero(size >= floor)
            some = values[at]
            places, chosen = download((at.data.ptr, np.int64, at.shape), (some.data.ptr, np.float64, some.shape))
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
