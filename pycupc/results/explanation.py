"""Why a pair is, or is not, joined by an edge: the answer, and its sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pycupc.system.shown import as_lines, as_table

#: What was known before the tests, as reasons of arrows (`pycupc.orientation.trace.KNOWN`).
_KNOWN = {
    "tier": "the tiers",
    "context": "its context variable",
    "JCI": "the context variables",
    "required": "a required arrow",
    "forbidden": "a forbidden arrow",
}


@dataclass(frozen=True)
class Why:
    """Why a pair is, or is not, joined by an edge. ``print(why)`` puts it into a sentence.

    Attributes
    ----------
    x, y : str
        Labels, in the order of the deciding test.
    status : {"removed", "kept", "gap", "fixed", "impossible"}
        "fixed": an edge of fixedEdges, never tested; "gap": a pair of fixedGaps; "impossible": both directions are.
    level, side, S, r, z, p, cutoff, margin
        Of the separating test of a removed edge: size of the set, "A" or "B" (docs/contracts/contract.md, section 1),
        labels of the set, partial correlation, Fisher's z, p-value, largest ``|r|`` judged independent, and ``cutoff -
        |r|``. Of a kept edge: of the test with the largest p-value, whose margin is negative and whose side is None;
        only p is known of discrete data, of a result without its data, and after more than 100,000 tests. None where
        not known.
    arrow : tuple or None
        What set the arrowhead of a kept edge: ("collider", x, y, z) or ("R1", ...), in labels; None if undirected.
    n_tests : int or None
        How many tests a kept edge survived, as pcalg counts them.
    n, needed : float and int, or None
        Of a removed edge whose separating test was not made, because there were too few observations (discrete data,
        data with gaps): how many there were that are complete in its variables, and how many it needs.
    stage : str or None
        Of an edge that `fci` or `rfci` removed after the levels: the stage, "possible-d-sep" or "rfci". The level is
        the size of the set, and there is no side.
    symbol : str or None
        Of a kept edge of a PAG: its marks between x and y, such as ``o->``.
    set_by : tuple of two tuples or None, or None
        Of a kept edge of a PAG: what set the mark at x, and the mark at y, in labels; None for a circle.
    open : bool
        Whether some sets of a kept edge were not tested after the levels, since there were too many.
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
    n: float | None = None
    needed: int | None = None
    stage: str | None = None
    symbol: str | None = None
    set_by: tuple[tuple[str, ...] | None, ...] | None = None
    open: bool = False

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, and the numbers of the deciding test."""
        given = None if self.S is None else ", ".join(self.S) or "nothing"
        numbers = {"level": self.level, "given": given, "r": self.r, "z": self.z, "p": self.p, "cutoff": self.cutoff}
        known = {name: [value] for name, value in numbers.items() if value is not None and value == value}
        return f"<div>{as_lines(str(self))}{as_table(known) if known else ''}</div>"

    def __str__(self) -> str:
        pair = f"{self.x} and {self.y}"
        if self.status == "gap":
            return f"{pair}: no edge, because fixedGaps or what is known excludes it; never tested"
        if self.status == "impossible":
            return f"{pair}: no edge, although the tests found one: what is known excludes both of its directions"
        if self.status == "fixed":
            return f"{pair}: edge, because fixedEdges requires it; never tested{self._arrow_text()}"
        if self.status == "kept":
            tests = "all its" if self.n_tests is None else f"its {self.n_tests:,}"
            tests += " tests" if self.symbol is None or self.n_tests is None else " tests in the levels"
            given = "" if self.S is None else f", {self._given_text()}"
            p = "not known" if self.p is None or math.isnan(self.p) else f"{self.p:.3g}"
            some = "; after the levels not all of its sets were tested" if self.open else ""
            return f"{pair}: edge; the largest p-value of {tests} is {p}{given}{some}{self._arrow_text()}"
        if self.needed is not None:
            there = f"there are {self.n:,.10g}" if self.n else "and its variables were never observed together"
            return (
                f"{pair}: no edge, not enough data: the test {self._given_text()} needs {self.needed:,} observations, "
                f"{there} (level {self.level}, side {self.side}; p counts as 1)"
            )
        when = f"level {self.level}, side {self.side}" if self.stage is None else STAGES[self.stage]
        text = f"{pair}: no edge, independent {self._given_text()} ({when}"
        if self.p is not None and not math.isnan(self.p):
            text += f", p = {self.p:.3g}"
        if self.r is not None and not math.isnan(self.r):
            text += f", |r| = {abs(self.r):.4g} <= {self.cutoff:.4g}"
        return text + ")"

    def _given_text(self) -> str:
        return f"given {{{', '.join(self.S)}}}" if self.S else "without conditioning"

    def _arrow_text(self) -> str:
        if self.symbol is not None and self.set_by is not None:
            marks = zip((self.x, self.y), (self.symbol[0], self.symbol[-1]), self.set_by, strict=True)
            texts = [f"; the {_MARKS[mark]} at {end} {_set_by(reason)}" for end, mark, reason in marks]
            return f": {self.x} {self.symbol} {self.y}" + "".join(texts)
        return "" if self.arrow is None else f"; its arrow {_set_by(self.arrow)}"


#: The stages after the levels, in words.
STAGES = {"possible-d-sep": "tests given subsets of Possible-D-SEP", "rfci": "tests of RFCI after the levels"}

_MARKS = {"o": "circle", "<": "arrowhead", ">": "arrowhead", "-": "tail"}


def _set_by(reason: tuple[str, ...] | None) -> str:
    """What set a mark, in words."""
    if reason is None:
        return "means an arrowhead or a tail: the data do not determine which"
    kind, *nodes = reason
    if kind in _KNOWN:
        return f"follows from {_KNOWN[kind]}"
    rule = "the collider" if kind == "collider" else kind
    return f"was set by {rule} of {', '.join(map(str, nodes))}"


def reason_of_arrow(
    trace: Mapping[tuple[int, int], tuple[Any, ...]], labels: Sequence[str], i: int, j: int
) -> tuple[str, ...] | None:
    """The cause of the arrowhead at j of an edge, or else at i, in labels; None if it has no arrowhead."""
    return reason_of_mark(trace, labels, i, j) or reason_of_mark(trace, labels, j, i)


def reason_of_mark(
    trace: Mapping[tuple[int, int], tuple[Any, ...]], labels: Sequence[str], i: int, j: int
) -> tuple[str, ...] | None:
    """What set the mark at j of the edge between i and j, in labels; None for a circle."""
    reason = trace.get((i, j))
    return None if reason is None else (reason[0], *(labels[v] for v in reason[1:]))
