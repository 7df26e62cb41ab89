"""The rule that set each mark: a mapping that makes its entries on demand."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.constraints import REASONS

Integers = NDArray[np.integer[Any]]

#: The cause of a mark: the name of the rule and the variables it took part in, see `Orientation.trace`.
Reason = tuple[Any, ...]

#: How a graph was found: "relaxed"; with "rand" and "retry" "extendable" (the colliders as they were found),
#: "reoriented" (other directions of the edges that colliders want both ways), "forced" (the CPDAG of a DAG that keeps
#: the colliders' arrows and adds colliders), "random" (the CPDAG of a random DAG on the skeleton).
OrientationStatus = Literal["relaxed", "extendable", "reoriented", "forced", "random"]

#: What set a mark, as a number, also in pickles; rules 1 to 10 have their own. What was known before comes after them:
#: `FIRST_KNOWN` and the position in `KNOWN`. Further rules have the numbers from `FURTHER` on.
COLLIDER = 11
KNOWN = (*REASONS, "JCI")
FIRST_KNOWN = 12
FURTHER = 18

#: The reasons by number: their name, and the order of their variables: 0 and 1 are the ends, 1 with the mark, 2 and 3
#: the further variables.
Forms = Mapping[int, tuple[str, tuple[int, ...]]]
_MEEK: Forms = {1: ("R1", (2, 0, 1)), 2: ("R2", (0, 2, 1)), 3: ("R3", (0, 2, 3, 1)), 4: ("R4", (0, 2, 3, 1))}


class Trace(Mapping[tuple[int, int], Reason]):
    """The reasons of `Orientation.trace`, from arrays with one entry per mark, on first access.

    `arrays` returns five arrays of int, (k,): the two ends, of which the second has the mark; the number of the rule;
    first and second, the variables that took part besides. The reason of a rule without a form is ``paths[first]``.
    """

    def __init__(
        self, arrays: Callable[[], tuple[Integers, ...]], forms: Forms = _MEEK, paths: Sequence[Reason] = ()
    ) -> None:
        self._arrays, self._forms, self._paths = arrays, forms, paths

    @cached_property
    def _reasons(self) -> dict[tuple[int, int], Reason]:
        found: dict[tuple[int, int], Reason] = {}
        for a, b, rule, first, second in zip(*(values.tolist() for values in self._arrays()), strict=True):
            if rule in self._forms:
                name, order = self._forms[rule]
                variables = (a, b, first, second)
                found[a, b] = (name, *(variables[i] for i in order))
            elif rule == COLLIDER:
                found[a, b] = ("collider", min(a, first), b, max(a, first))
            elif rule >= FIRST_KNOWN:
                found[a, b] = (KNOWN[rule - FIRST_KNOWN], a, b)
            else:
                found[a, b] = self._paths[first]
        return found

    def __getitem__(self, pair: tuple[int, int]) -> Reason:
        return self._reasons[pair]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._reasons)

    def items(self) -> ItemsView[tuple[int, int], Reason]:
        """The items of a dict: a third of the time of one look-up after the other."""
        return self._reasons.items()

    def __len__(self) -> int:
        return len(self._reasons)

    def __repr__(self) -> str:
        return repr(self._reasons)
