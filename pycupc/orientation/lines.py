"""The decisions of the orientation as lines of the log (`verbose`): one per triple, collider and arrow of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycupc.orientation.conservative import AMBIGUOUS, COLLIDER, NON_COLLIDER, UNSEPARATED, TripleCheck
from pycupc.orientation.trace import Reason

#: The decisions of the conservative rule and of the majority rule, and why; of a triple (a, b, c), {b} is the middle.
_CONSERVATIVE = {
    COLLIDER: "collider, because {b} is in none of the sets that separate {a} and {c}",
    NON_COLLIDER: "no collider, because {b} is in all sets that separate {a} and {c}",
    AMBIGUOUS: "ambiguous, because {b} is in some of the sets that separate {a} and {c}: not oriented",
    UNSEPARATED: "not oriented, because no set of neighbours separates {a} and {c}",
}
_MAJORITY = _CONSERVATIVE | {
    COLLIDER: "collider, because {b} is in less than half of the sets that separate {a} and {c}",
    NON_COLLIDER: "no collider, because {b} is in more than half of the sets that separate {a} and {c}",
    AMBIGUOUS: "ambiguous, because {b} is in just half of the sets that separate {a} and {c}: not oriented",
}

#: The reasons of arrowheads in the order of their lines; {0}, {1}, ... are the variables of `Orientation.trace`.
_ARROWS = {
    "tier": "known: {0} -> {1}, because it is in an earlier tier",
    "context": "known: {0} -> {1}, because it is a context variable",
    "required": "known: {0} -> {1}, because the arrow is required",
    "forbidden": "known: {0} -> {1}, because the other direction is forbidden",
    "collider": (
        "collider: {0} -> {1} <- {2}, because {0}, {2} are not adjacent, and no separating set of theirs has {1}"
    ),
    "R1": "rule 1: {1} -> {2}, because {0} -> {1} and {0}, {2} are not adjacent: else a collider at {1}",
    "R2": "rule 2: {0} -> {2}, because {0} -> {1} -> {2}: else a cycle",
    "R3": "rule 3: {0} -> {3}, because {0} - {1} -> {3} and {0} - {2} -> {3}, and {1}, {2} are not adjacent",
    "R4": "rule 4: {0} -> {3}, because {0} - {1} -> {2} -> {3}, {0} - {2}, and {1}, {3} are not adjacent",
}
_ORDER = [*_ARROWS]


def lines_of_triples(check: TripleCheck, labels: Sequence[str], *, maj_rule: bool) -> Iterator[str]:
    """The decision on each unshielded triple."""
    texts = _MAJORITY if maj_rule else _CONSERVATIVE
    for triple, decision in zip(check.triples.tolist(), check.decision.tolist(), strict=True):
        a, b, c = (labels[v] for v in triple)
        yield f"triple {a} - {b} - {c}: {texts[decision].format(a=a, b=b, c=c)}"


def lines_of_arrows(trace: Mapping[tuple[int, int], Reason], labels: Sequence[str]) -> Iterator[str]:
    """The last cause of the arrowheads: the colliders, then the arrows by rule; an overwritten arrow has no line."""
    reasons = dict.fromkeys((rule, *(labels[v] for v in nodes)) for _, (rule, *nodes) in trace.items())
    for rule, *names in sorted(reasons, key=lambda reason: _ORDER.index(reason[0])):
        yield _ARROWS[rule].format(*names)
