"""Why a pair is, or is not, joined by an edge: the answer, and its sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Why:
    """Why a pair is, or is not, joined by an edge. ``print(why)`` puts it into a sentence.

    Attributes
    ----------
    x, y : str
        Labels, in the order of the deciding test.
    status : {"removed", "kept", "gap", "fixed"}
        "fixed": an edge of fixedEdges, never tested; "gap": a pair of fixedGaps.
    level, side, S, r, z, p, cutoff, margin
        Of the separating test of a removed edge: size of the set, "A" or "B" (tests/CONTRACT.md, section 1), labels of
        the set, partial correlation, Fisher's z, p-value, largest ``|r|`` judged independent, and ``cutoff - |r|``. Of
        a kept edge: of the test with the largest p-value, whose margin is negative and whose side is None; only p is
        known of discrete data, of a result without its data, and after more than 100,000 tests. None where not known.
    arrow : tuple or None
        What set the arrowhead of a kept edge: ("collider", x, y, z) or ("R1", ...), in labels; None if undirected.
    n_tests : int or None
        How many tests a kept edge survived, as pcalg counts them.
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
    arrow: tuple[str, ...] | None = None
    n_tests: int | None = None

    def __str__(self) -> str:
        pair = f"{self.x} and {self.y}"
        if self.status == "gap":
            return f"{pair}: no edge, because fixedGaps excludes it; never tested"
        if self.status == "fixed":
            return f"{pair}: edge, because fixedEdges requires it; never tested{self._arrow_text()}"
        if self.status == "kept":
            tests = "all its" if self.n_tests is None else f"its {self.n_tests:,}"
            given = "" if self.S is None else f", {self._given_text()}"
            return f"{pair}: edge; the largest p-value of {tests} tests is {self.p:.3g}{given}{self._arrow_text()}"
        text = f"{pair}: no edge, independent {self._given_text()} (level {self.level}, side {self.side}"
        if self.p is not None and not math.isnan(self.p):
            text += f", p = {self.p:.3g}"
        if self.r is not None and not math.isnan(self.r):
            text += f", |r| = {abs(self.r):.4g} <= {self.cutoff:.4g}"
        return text + ")"

    def _given_text(self) -> str:
        return f"given {{{', '.join(self.S)}}}" if self.S else "without conditioning"

    def _arrow_text(self) -> str:
        if self.arrow is None:
            return ""
        kind, *nodes = self.arrow
        rule = "the collider" if kind == "collider" else kind
        return f"; its arrow was set by {rule} of {', '.join(map(str, nodes))}"
