"""Lists of variables, all in one array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Integers = NDArray[np.integer]


class Lists(NamedTuple):
    """A list of variables for each of m questions, or variables: list i is ``members[offsets[i]:offsets[i + 1]]``."""

    offsets: Indices  # (m + 1,)
    members: NDArray[Any]  # integers; int32 in questions and answers

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Lists:
        """Join the lists, one after the other."""
        lists = list(lists)
        members = np.array([v for members in lists for v in members], dtype=np.int32)
        return cls(starts([len(members) for members in lists]), members)

    @classmethod
    def by_owner(cls, owner: Integers, members: Integers, m: int) -> Lists:
        """The list of i holds the `members` whose owner is i; the owners ascend."""
        return cls(starts(np.bincount(owner, minlength=m)), members)

    @property
    def sizes(self) -> Indices:
        return self.offsets[1:] - self.offsets[:-1]

    def of_one(self, i: int) -> list[int]:
        return self.members[self.offsets[i] : self.offsets[i + 1]].tolist()  # type: ignore[no-any-return]

    def of_each(self, i: Integers) -> tuple[Indices, NDArray[Any]]:
        """The lists i[0], i[1], ... one after the other: the position in `i` of each member, and the members."""
        sizes = self.sizes[i]
        members = self.members[spans(self.offsets[i], sizes)]
        return np.repeat(np.arange(len(i)), sizes), members


def starts(sizes: Sequence[int] | NDArray[Any]) -> Indices:
    """Where each of some lists begins that follow each other, and where the last one ends, int64 (m + 1,)."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def spans(begin: Integers | int, sizes: Integers) -> Indices:
    """The numbers ``begin[k]`` to ``begin[k] + sizes[k] - 1`` for one k after the other."""
    offsets = starts(sizes)
    return np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], sizes)
