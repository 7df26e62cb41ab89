"""Which rules are used, how they are repeated, and what is assumed before them. Loads no compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: The rules 1 to 10.
ALL_RULES = (True,) * 10
#: The rules that are repeated together until none of them changes a mark: of fci, and of rfci.
FCI_LOOPS = (range(1, 5), range(5, 8), range(8, 11))
RFCI_LOOPS = (range(1, 11),)

#: What becomes of a discriminating path (d, ..., a, b, c): True, b --> c; False, a <-> b <-> c; None, nothing.
Decide = Callable[[tuple[int, ...]], bool | None]


@dataclass(frozen=True)
class JointCausalInference:
    """What is assumed of context variables (Mooij et al. 2020): pcalg's ``jci`` "1", "12" or "123"."""

    assumptions: str
    context: Sequence[int]


def without_selection(rules: Sequence[bool]) -> list[bool]:
    """The rules without 5 to 7, which are for selection bias."""
    return [bool(rule) and number not in (5, 6, 7) for number, rule in enumerate(rules, 1)]
