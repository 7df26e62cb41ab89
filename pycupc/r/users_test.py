"""A user's `indepTest` in R, many pairs at a time: a round trip for each test would take longer than most tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.custom import Search
from pycupc.r.background import Background


class UsersTest:
    """A user's `indepTest`, which R calls: a `pycupc.independence.custom.PairTest`.

    It sends events "tests" with the level, alpha, the p-value that stands for NA, and for each pair x, y, the number of
    candidates, and the candidates one after the other, all from 0; `reverse` is the place from 1 of the reversed pair
    if that comes earlier, else 0. R answers with one vector: for each pair the number of tests, then for each pair
    whether the last of them separates it, then for each pair the largest p-value.
    """

    def __init__(self, background: Background) -> None:
        self._background = background

    def __call__(self, x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
        """The p-value of one test; NaN where R has NA."""
        members = [int(s) for s in S]
        ((_, _, p),) = self.search(len(members), [(int(x), int(y), members)], math.inf, math.nan)
        return p

    def search(self, level: int, wanted: list[Search], alpha: float, na_p: float) -> list[tuple[int, bool, float]]:
        place: dict[tuple[int, int], int] = {}
        reverse = []
        for k, (x, y, _) in enumerate(wanted, 1):
            reverse.append(place.get((y, x), 0))
            place[x, y] = k
        event = {"kind": "tests", "level": level, "alpha": alpha, "na_p": na_p, "reverse": reverse}
        event |= {"x": [x for x, _, _ in wanted], "y": [y for _, y, _ in wanted]}
        event["length"] = [len(candidates) for _, _, candidates in wanted]
        event["candidates"] = [v for _, _, candidates in wanted for v in candidates]
        answer, n = self._background.request(event), len(wanted)
        made = zip(answer[:n], answer[n : 2 * n], answer[2 * n :], strict=True)
        return [(int(tests), bool(separated), float(p)) for tests, separated, p in made]


class UsersBatch:
    """A user's `indepTest` in R that answers many tests per call: a `pycupc.independence.custom.Batch`.

    It sends events "batch" with x, y and S, row by row, from 0; R answers with the p-values, NaN where R has NA.
    """

    def __init__(self, background: Background) -> None:
        self._background = background

    def batch(self, x: Indices, y: Indices, S: Indices) -> Floats:
        event = {"kind": "batch", "x": x.tolist(), "y": y.tolist(), "S": S.ravel().tolist()}
        return np.array(self._background.request(event), dtype=np.float64)
