"""The decisions of the orientation as lines of the log (`verbose`): one per triple, collider and arrow of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pycupc.orientation.conservative import AMBIGUOUS, COLLIDER, NON_COLLIDER, UNSEPARATED, TripleCheck
from pycupc.orientation.trace import KNOWN, Reason

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

_ORDER = (*KNOWN, "collider", "R1", "R2", "R3", "R4")
_WHY_KNOWN = {
    "tier": "it is in an earlier tier",
    "context": "it is a context variable",
    "required": "the arrow is required",
    "forbidden": "the other direction is forbidden",
}


def lines_of_triples(check: TripleCheck, labels: Sequence[str], *, maj_rule: bool) -> Iterator[str]:
    """The decision on each unshielded triple."""
    texts = _MAJORITY if maj_rule else _CONSERVATIVE
    for triple, decision in zip(check.triples.tolist(), check.decision.tolist(), strict=True):
        a, b, c = (labels[v] for v in triple)
        yield f"triple {a} - {b} - {c}: {texts[decision].format(a=a, b=b, c=c)}"


def lines_of_arrows(trace: Mapping[tuple[int, int], Reason], labels: Sequence[str]) -> Iterator[str]:
    """The last cause of the arrowheads: the colliders, then the arrows by rule; an overwritten arrow has no line."""
    reasons = dict.fromkeys((rule, *(labels[v] for v in nodes)) for _, (rule, *nodes) in trace.items())
    for rule, a, b, *more in sorted(reasons, key=lambda reason: _ORDER.index(reason[0])):
        if rule in _WHY_KNOWN:
            yield f"known: {a} -> {b}, because {_WHY_KNOWN[rule]}"
        elif rule == "collider":
            (c,) = more
            why = f"{a}, {c} are not adjacent, and no separating set of theirs has {b}"
            yield f"collider: {a} -> {b} <- {c}, because {why}"
        elif rule == "R1":
            (c,) = more
            yield f"rule 1: {b} -> {c}, because {a} -> {b} and {a}, {c} are not adjacent: else a collider at {b}"
        elif rule == "R2":
            (c,) = more
            yield f"rule 2: {a} -> {c}, because {a} -> {b} -> {c}: else a cycle"
        elif rule == "R4":
            c, d = more
            yield f"rule 4: {a} -> {d}, because {a} - {b} -> {c} -> {d}, {a} - {c}, and {b}, {d} are not adjacent"
        else:
            c, d = more
            yield f"rule 3: {a} -> {d}, because {a} - {b} -> {d} and {a} - {c} -> {d}, and {b}, {c} are not adjacent"
