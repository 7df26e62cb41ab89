"""The rule that set each arrowhead: a mapping that makes its entries on demand."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]

#: The cause of an arrowhead: the name of the rule and the variables it took part in, see `Orientation.trace`.
Reason = tuple[Any, ...]

#: The rule that set an arrowhead, as a number; rules 1, 2 and 3 have their own. What was known before comes after them.
COLLIDER, RULE_4 = 4, 5
KNOWN = ("tier", "context", "required", "forbidden")
FIRST_KNOWN = 6


class Trace(Mapping[tuple[int, int], Reason]):
    """The reasons of `Orientation.trace`, from arrays with one entry per arrowhead, which come on first access.

    `arrays` returns five arrays of int, (k,): tail and head, where the arrowhead is; rule: 1, 2, 3, `RULE_4` or
    `COLLIDER`, or `FIRST_KNOWN` and the position in `KNOWN`; first and second, the variables that took part besides the
    two ends, of which the second counts only in rules 3 and 4.
    """

    def __init__(self, arrays: Callable[[], tuple[Integers, ...]]) -> None:
        self._of = arrays

    @cached_property
    def _arrays(self) -> tuple[Integers, ...]:
        return self._of()

    @cached_property
    def _reasons(self) -> dict[tuple[int, int], Reason]:
        found: dict[tuple[int, int], Reason] = {}
        for a, b, rule, first, second in zip(*(values.tolist() for values in self._arrays), strict=True):
            if rule == COLLIDER:
                found[a, b] = ("collider", min(a, first), b, max(a, first))
            elif rule == 1:
                found[a, b] = ("R1", first, a, b)
            elif rule == 2:
                found[a, b] = ("R2", a, first, b)
            elif rule >= FIRST_KNOWN:
                found[a, b] = (KNOWN[rule - FIRST_KNOWN], a, b)
            else:
                found[a, b] = ("R3" if rule == 3 else "R4", a, first, second, b)
        return found

    def __getitem__(self, pair: tuple[int, int]) -> Reason:
        return self._reasons[pair]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._reasons)

    def items(self) -> ItemsView[tuple[int, int], Reason]:
        """The items of a dict: a third of the time of one look-up after the other."""
        return self._reasons.items()

    def __len__(self) -> int:
        return len(self._arrays[0])

    def __repr__(self) -> str:
        return repr(self._reasons)
