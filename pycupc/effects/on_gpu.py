"""Summaries of all possible effects of each pair on a CUDA device: kernels/effects/summaries.cu."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pycupc.effects.regression import Floats, Ints, Regressions
from pycupc.engines.gpu.device import Session, open_device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import i32, i64, ptr

KERNEL: KernelName = ("effects/summaries", "summarize_effects")
#: The kernel's number of each summary.
HOW = {"smallest": 0, "mean": 1, "sign_agreement": 2}
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
    dev, at_a_time = open_device(device), max(1, MOST // max(1, len(effects)))
    with Session(dev, lambda: None):
        arrays = (C, first, regressions.start, regressions.members, regressions.weights, effects)
        sent = [dev.transfers.copied(array) for array in arrays]
        for a in range(0, len(first) - 1, at_a_time):
            causes = slice(a, min(a + at_a_time, len(first) - 1))
            shape = (causes.stop - a, len(effects))
            out = dev.cp.empty(shape)
            begin = ptr(sent[1])
            begin.value = (begin.value or 0) + 8 * a
            args = (ptr(sent[0]), begin, *map(ptr, sent[2:]), ptr(out), i64(shape[0]), i64(shape[1]), i64(len(C)))
            dev.launch(*KERNEL, (dev.blocks(shape[0] * shape[1]),), (256,), (*args, i32(HOW[how])))
            (values,) = dev.transfers.download((out.data.ptr, np.float64, shape))
            dev.wait()
            yield causes, values
