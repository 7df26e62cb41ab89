"""The summaries of the levels of a run, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LevelSummary:
    """One level of the skeleton phase: its tests, as pcalg counts them, and edges.

    `n_careful` are doubtful tests, decided by the canonical formula, among all that the engine made. The number may
    vary between runs: an engine with several threads makes some tests that pcalg would not have made. `n_made` are the
    tests made if `n_bounds` bounds answered the others, else -1.
    """

    level: int
    n_tests: int
    n_removed: int
    edges_left: int
    n_careful: int
    seconds: float
    n_made: int = -1
    n_bounds: int = 0


def level_lines(levels: Sequence[LevelSummary], n_edgetests: Sequence[int]) -> list[str]:
    """The levels as the lines of a table, or the numbers of tests where only these are known."""
    if not levels:
        return [f"tests per level: {', '.join(f'{v:,}' for v in n_edgetests)}"]
    width = max(18, *(len(f"{s.n_tests:,}") for s in levels))
    lines = ["", f"{'level':>5} {'tests':>{width}} {'removed':>12} {'edges left':>12} {'seconds':>9}"]
    lines += [
        f"{s.level:>5} {s.n_tests:>{width},} {s.n_removed:>12,} {s.edges_left:>12,} {s.seconds:>9.3f}" for s in levels
    ]
    if careful := sum(s.n_careful for s in levels):
        lines.append(f"{careful:,} tests were ill-conditioned or near the cutoff: the canonical formula decided")
    if bounds := sum(s.n_bounds for s in levels):
        made = sum(s.n_tests if s.n_made < 0 else s.n_made for s in levels)
        lines.append(f"{made:,} of {sum(n_edgetests):,} tests were made; {bounds:,} bounds answered the others")
    return lines


def closing_lines(notes: Mapping[str, Any], engine: str) -> list[str]:
    """The last lines of a summary."""
    lines = [f"{key.replace('_', ' ')}: {value}" for key, value in notes.items()]
    return [*lines, f"engine: {engine}"] if engine else lines
