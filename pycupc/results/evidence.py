"""The evidence behind a result: what each level did, which test removed an edge, why a pair is (not) joined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LevelSummary:
    """One level of the skeleton phase.

    n_tests is pcalg's count. n_careful counts the tests that the canonical formula decided, among all that an engine
    did: one that works ahead on several threads does some that pcalg would not have done, not always the same.
    """

    level: int
    n_tests: int
    n_removed: int
    edges_left: int
    n_careful: int
    seconds: float


class Removals:
    """Edges removed at levels from 1 on: ordered pair (x < y side A, else side B), level, r of the separating test.

    Made of parts, one (x, y, level, r) of arrays or scalars for each level; joined when first read.
    """

    def __init__(self, *parts: tuple[Any, Any, Any, Any]) -> None:
        self._parts = parts

    def _joined(self, i: int, dtype: type) -> np.ndarray:
        arrays = [np.broadcast_to(np.asarray(part[i], dtype=dtype), np.shape(part[0])) for part in self._parts]
        return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)

    @cached_property
    def x(self) -> np.ndarray:
        return self._joined(0, np.int32)

    @cached_property
    def y(self) -> np.ndarray:
        return self._joined(1, np.int32)

    @cached_property
    def level(self) -> np.ndarray:
        return self._joined(2, np.int32)

    @cached_property
    def r(self) -> np.ndarray:
        return self._joined(3, np.float64)

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        key = np.minimum(self.x, self.y).astype(np.int64) << 32 | np.maximum(self.x, self.y)
        order = np.argsort(key)
        return key[order], order

    def find(self, x: int, y: int) -> int | None:
        """Index of the removal of the unordered pair."""
        key = min(x, y) << 32 | max(x, y)
        keys, order = self._index
        i = int(keys.searchsorted(key))
        return int(order[i]) if i < len(keys) and keys[i] == key else None


@dataclass(frozen=True)
class Why:
    """Why a pair is, or is not, joined by an edge. ``print(why)`` says it in a sentence.

    Attributes
    ----------
    x, y : str
        Labels, in the order in which the deciding test saw them.
    status : {"removed", "kept", "gap", "fixed"}
        fixed: an edge of fixedEdges, never tested; gap: a pair of fixedGaps.
    level, side, S, r, z, p, cutoff, margin
        Of the separating test of a removed edge: |S|, "A" or "B" (contract, section 1), labels of the set, partial
        correlation, Fisher's z, p-value, largest |r| judged independent, and ``cutoff - |r|``. For a kept edge p is its
        largest p-value. None where not known.
    arrow : tuple or None
        What set the arrowhead of a kept edge: ("collider", x, y, z) or ("R1", ...), in labels; None if undirected.
    """

    x: str
    y: str
    status: str
    level: int | None = None
    side: str | None = None
    S: tuple[str, ...] | None = None
    r: float | None = None
    z: float | None = None
    p: float | None = None
    cutoff: float | None = None
    margin: float | None = None
    arrow: tuple | None = None

    def __str__(self) -> str:
        pair = f"{self.x} and {self.y}"
        if self.status == "gap":
            return f"{pair}: no edge, because fixedGaps says so; never tested"
        if self.status == "fixed":
            return f"{pair}: edge, because fixedEdges says so; never tested{self._arrow_text()}"
        if self.status == "kept":
            return f"{pair}: edge; the largest p-value of all its tests is {self.p:.3g}{self._arrow_text()}"
        given = f"given {{{', '.join(self.S or ())}}}" if self.S else "without conditioning"
        text = f"{pair}: no edge, independent {given} (level {self.level}, side {self.side}, p = {self.p:.3g}"
        if self.r is not None and not math.isnan(self.r):
            text += f", |r| = {abs(self.r):.4g} <= {self.cutoff:.4g}"
        return text + ")"

    def _arrow_text(self) -> str:
        if self.arrow is None:
            return ""
        kind, *nodes = self.arrow
        rule = "the collider" if kind == "collider" else kind
        return f"; its arrow was set by {rule} of {', '.join(map(str, nodes))}"
