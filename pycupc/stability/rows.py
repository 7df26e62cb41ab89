"""The rows of the resamples: a pure function of the seed and the index of the resample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_real, is_whole
from pycupc.system.localised_message import Argument, Message, Setting, Value

Scheme = Literal["bootstrap", "subsample", "complementary"]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Resampling:
    """The resamples of a table of n rows.

    Raises
    ------
    TypeError, ValueError
        An attribute is invalid, or a resample would have fewer than 2 rows.
    """

    n: int  # rows of the data
    # {"bootstrap", "subsample", "complementary"}: n rows drawn with replacement; a share of the rows, each at most
    # once; halves of the rows, where the resamples 2k and 2k + 1 have no row in common.
    scheme: Scheme
    fraction: float  # float in (0, 1): share of the rows in a subsample, rounded down to whole rows
    seed: int  # int, at least 0

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            schemes, given = Value(*get_args(Scheme)), Value(self.scheme)
            raise ValueError(Message("scheme must be one of {schemes}, got {given}", schemes=schemes, given=given))
        check_real("fraction", "a number between 0 and 1", self.fraction, lambda share: 0 < share < 1)
        object.__setattr__(self, "fraction", float(self.fraction))
        if self.fraction != 0.5 and self.scheme != "subsample":
            size = "as many rows as the data" if self.scheme == "bootstrap" else "half of the rows"
            text = "{fraction} needs {needed}: with {scheme} a resample has {size}"
            fraction, needed = Setting("fraction", self.fraction), Setting("scheme", "subsample")
            raise ValueError(Message(text, fraction=fraction, needed=needed, scheme=Value(self.scheme), size=size))
        if self.size < 2:
            text = "{fraction} of {n} rows leaves {size}; at least 2 are needed"
            raise ValueError(Message(text, fraction=Setting("fraction", self.fraction), n=self.n, size=self.size))

    @property
    def size(self) -> int:
        """Rows of a resample."""
        return self.n if self.scheme == "bootstrap" else int(self.n * self.fraction)

    def indices(self, i: int) -> NDArray[np.int64]:
        """The rows of resample `i`, ascending; with "bootstrap" a row may occur several times."""
        if self.scheme == "bootstrap":
            rows = self._generator(i).integers(self.n, size=self.n)
        elif self.scheme == "subsample":
            rows = self._generator(i).permutation(self.n)[: self.size]
        else:
            shuffled = self._generator(i // 2).permutation(self.n)
            rows = shuffled[i % 2 * self.size :][: self.size]
        return np.sort(rows).astype(np.int64, copy=False)

    def random_state(self, i: int) -> int:
        """The `random_state` of `pycupc.pc` on resample `i`, which only u2pd="rand" and "retry" use."""
        return int(np.random.SeedSequence(self.seed, spawn_key=(i, 1)).generate_state(1)[0])

    def _generator(self, k: int) -> np.random.Generator:
        """The generator of ``SeedSequence(seed).spawn(k + 1)[k]``."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(k,)))


def seed_of(random_state: Any) -> int:
    """The seed that `random_state` stands for: itself, one drawn from a generator, or for None a fresh one below 2^32.

    TypeError or ValueError if it is none of these.
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if not is_whole(random_state):
        raise TypeError(f"random_state must be a whole number, a numpy.random.Generator or None, got {random_state!r}")
    if random_state < 0:
        text, name = "{name} must be 0 or more, got {given}", Argument("random_state")
        raise ValueError(Message(text, name=name, given=random_state))
    return int(random_state)
