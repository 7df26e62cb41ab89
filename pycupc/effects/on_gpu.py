"""Summaries of all possible effects of each pair on a CUDA device, and the largest: kernels/effects/summaries.cu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pycupc.effects.local import LEAST, LocalEffects, Pairs, first_pairs
from pycupc.effects.orientations import Ints
from pycupc.effects.parent_sets import ParentSets
from pycupc.effects.regression import Floats, weights_of
from pycupc.engines.gpu.device import Device, open_device, session
from pycupc.engines.gpu.device_correlation import correlation
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import i32, i64, ptr

KERNEL: KernelName = ("effects/summaries", "summarize_effects")
#: The kernel's number of each summary.
HOW = {"smallest": 0, "mean": 1, "sign_agreement": 2, "value": 3}
#: Pairs of a launch: 512 MiB.
MOST = 1 << 26


def summary(C: Floats, of: LocalEffects, how: str, device: int) -> Floats:
    """A summary of the effects of all pairs, float64 (causes, effects).

    `C`, float64 (p, p). `how`, {"smallest", "mean", "sign_agreement"}. `device`: number of the CUDA device. Raises
    EngineError if there is no usable device, or its memory does not suffice.
    """
    dev, found = open_device(device), np.empty((len(of.causes), len(of.effects)))
    with session(dev):
        for causes, out in _launched(dev, dev.transfers.copied(C), of, HOW[how]):
            (values,) = dev.fetch((out.data.ptr, np.float64, out.shape))
            found[causes] = values
    return found


def largest(C: Floats, of: LocalEffects, k: int, least: float, device: int) -> Pairs:
    """As `pycupc.effects.local.largest`; EngineError as of `summary`."""
    dev = open_device(device)
    with session(dev):
        return _largest(dev, dev.transfers.copied(C), of, k, least)


def largest_of(
    X: Floats, deviations: Floats | None, sets: ParentSets, causes: Ints, effects: Ints, k: int, device: int
) -> Pairs:
    """As `largest`, of pairs whose effect is not 0, from observations, float64 (n, p); the bits are the processor's.

    The covariances are correlations, times the standard deviations of the variables if they are given.
    """
    dev = open_device(device)
    with session(dev):
        C = correlation(dev, X)
        if deviations is not None:
            scale = dev.transfers.copied(deviations)
            C *= scale[:, None]
            C *= scale
        some = C[tuple(map(dev.transfers.copied, sets.pairs()))]
        (pairs,) = dev.fetch((some.data.ptr, np.float64, some.shape))
        return _largest(dev, C, LocalEffects(causes, effects, sets, weights_of(pairs, sets), C), k, LEAST)


def _largest(dev: Device, C: Any, of: LocalEffects, k: int, floor: float) -> Pairs:
    """As `largest`; C is on the device."""
    cp, found = dev.cp, []
    for causes, out in _launched(dev, C, of, HOW["value"]):
        values = out.ravel()
        size = cp.nan_to_num(cp.abs(values), nan=-1.0)
        if len(size) > k > 0:
            floor = max(floor, float(cp.sort(size)[len(size) - k]))
        at = cp.flatnonzero(size >= floor)
        some = values[at]
        places, chosen = dev.fetch((at.data.ptr, np.int64, at.shape), (some.data.ptr, np.float64, some.shape))
        found.append((places + causes.start * len(of.effects), chosen))
    at, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first_pairs(of.causes[at // len(of.effects)], of.effects[at % len(of.effects)], values, k)


def _launched(dev: Device, C: Any, of: LocalEffects, how: int) -> Iterator[tuple[slice, Any]]:
    """The summary of some causes at a time, on the device, where C is."""
    first, *others = map(dev.transfers.copied, (*of.sets, of.weights, of.effects))
    n, p, n_effects = len(of.causes), len(C), len(of.effects)
    at_a_time = max(1, MOST // max(1, n_effects))
    for a in range(0, n, at_a_time):
        causes = slice(a, min(a + at_a_time, n))
        out = dev.cp.empty((causes.stop - a, n_effects))
        begin = ptr(first)
        begin.value = (begin.value or 0) + 8 * a
        args = (ptr(C), begin, *map(ptr, others), ptr(out), i64(len(out)), i64(n_effects), i64(p), i32(how))
        dev.launch(*KERNEL, (dev.blocks(out.size),), (256,), args)
        yield causes, out
