"""The frequencies over the resamples that have finished, during a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycupc.stability.result import Stability
from pycupc.stability.study import Outcome, Study
from pycupc.stability.tally import Tally


class Gathered:
    """The frequencies over the resamples so far."""

    def __init__(self, study: Study) -> None:
        self._study, self._labels = study, study.arguments["labels"]
        p = len(self._labels)
        self._tallies = [Tally(p) for _ in study.alphas]
        self._constant = np.zeros(p, dtype=np.int64)
        self._numbers: dict[int, tuple[Any, int, int]] = {}
        self._note = ""

    @property
    def n(self) -> int:
        """Resamples so far."""
        return len(self._numbers)

    def add(self, outcome: Outcome) -> None:
        """Count the edges of a resample."""
        for tally, edges in zip(self._tallies, outcome.edges, strict=True):
            tally.add(edges)
        self._constant[outcome.constant] += 1
        self._numbers[outcome.index] = (outcome.n_tests, len(outcome.constant), outcome.n_copies)
        self._note = max(self._note, outcome.note, key=len)  # the longer one names both faults

    def partial(self) -> Stability | None:
        """The result so far, None if there is none."""
        return self.result() if self.n else None

    def result(self) -> Stability:
        """The frequencies."""
        study, p = self._study, len(self._labels)
        order = sorted(self._numbers)
        tests, constant, copies = zip(*(self._numbers[i] for i in order), strict=True)
        masks = (study.arguments[name] for name in ("fixedGaps", "fixedEdges"))
        gaps, fixed = (np.zeros((1, 1), dtype=np.bool_) if mask is None else mask for mask in masks)
        return Stability(
            labels=self._labels,
            alphas=study.alphas,
            resampling=study.resampling,
            resamples=np.array(order, dtype=np.int64),
            counts=tuple(tally.counts() for tally in self._tallies),
            n_tests=np.array(tests, dtype=np.float64),
            n_constant=np.array(constant, dtype=np.int64),
            n_copies=np.array(copies, dtype=np.int64),
            constant=self._constant,
            n_pairs=p * (p - 1) // 2 - int(np.count_nonzero(gaps | fixed)) // 2,
            n_fixed=int(np.count_nonzero(fixed & ~gaps)) // 2,
            arguments=study.identity,
            notes={"quirks": self._note} if self._note else {},
        )
