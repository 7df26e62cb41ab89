"""What is known about directions, on the positions of p variables: which arrows are impossible, gaps, fixed edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import listed
from pycupc.graph.cycles import directed_cycle
from pycupc.graph.pairs import Pairs
from pycupc.graph.tiers import NO_TIER, earlier

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: What may be known of an arrow.
REASONS = ("tier", "context", "required", "forbidden")


@dataclass(frozen=True)
class Constraints:
    """Tiers, context variables, required and forbidden arrows of p variables (docs/contracts/tiers.md)."""

    tier: Indices  # (p,): position of the tier of each variable, the earliest 0, or NO_TIER; all 0 without tiers
    # context_all, context_tier: (p,): variables that nothing causes: parents of all other variables, or of those in
    # their tier.
    context_all: Mask
    context_tier: Mask
    # required, forbidden: (k,): tail * p + head of each arrow, ascending. An arrow that is required is forbidden the
    # other way.
    required: Indices
    forbidden: Indices

    @property
    def p(self) -> int:
        return len(self.tier)

    @property
    def context(self) -> Mask:
        """The context variables of both kinds, bool (p,)."""
        return self.context_all | self.context_tier

    def is_forbidden(self, x: NDArray[np.integer], y: NDArray[np.integer]) -> Mask:
        """Whether the arrows x --> y are forbidden one by one, bool (k,)."""
        return self._among(self.forbidden, x, y)

    def _among(self, arrows: Indices, x: NDArray[np.integer], y: NDArray[np.integer]) -> Mask:
        if not len(arrows):  # a tenth of the time of isin
            return np.zeros(len(x), dtype=np.bool_)
        return np.isin(x.astype(np.int64) * self.p + y, arrows)

    def is_impossible(self, x: NDArray[np.integer], y: NDArray[np.integer]) -> Mask:
        """Whether x --> y is excluded: forbidden, against the tiers, or into a context variable; bool (k,)."""
        into_context = self.context[y] & ~self.context[x]
        return np.asarray(self.is_forbidden(x, y) | earlier(self.tier, y, x) | into_context)

    def reasons(self, x: NDArray[np.integer], y: NDArray[np.integer]) -> Indices:
        """Why the edges x - y point to y: positions in `REASONS`; "forbidden" is the other direction."""
        tier, context, required, forbidden = range(len(REASONS))
        single = np.where(self._among(self.required, x, y), required, forbidden)
        later = np.where(earlier(self.tier, x, y), tier, single)
        return np.where(self.context[x] & ~self.context[y], context, later)

    def gaps(self) -> Pairs:
        """Pairs that never have an edge: forbidden both ways, or of a context variable and no child of it."""
        p = self.p
        tail, head = np.divmod(self.forbidden, max(p, 1))
        both = self.is_forbidden(head, tail)
        found = [(tail[both], head[both])]
        for v in np.flatnonzero(self.context).tolist():
            elsewhere = self.context_tier[v] & (self.tier != self.tier[v]) & (self.tier != NO_TIER)
            others = np.flatnonzero(self.context | elsewhere)
            others = others[others != v]
            found.append((np.full(len(others), v), others))
        return _pairs(p, found)

    def fixed(self) -> Pairs:
        """Edges that are never tested: those required, and from context variables to their children."""
        tail, head = np.divmod(self.required, max(self.p, 1))
        found = [(tail, head)]
        for v in np.flatnonzero(self.context).tolist():
            children = np.flatnonzero(~self.context & (self.context_all[v] | (self.tier == self.tier[v])))
            found.append((np.full(len(children), v), children))
        return _pairs(self.p, found)

    def check_only_tiers(self, function: str) -> None:
        """Raise ValueError if there is anything but tiers, and gaps, for `function`, which allows hidden variables."""
        tail, head = np.divmod(self.forbidden, max(self.p, 1))
        single = np.flatnonzero(~self.is_forbidden(head, tail))
        if self.context.any() or len(self.required) or len(single):
            what = "context variables" if self.context.any() else "required arrows" if len(self.required) else ""
            what = what or "arrows that are forbidden in one direction"
            raise ValueError(f"{function} takes tiers, and arrows that are forbidden both ways, got {what}")

    def check(self, labels: Sequence[str]) -> None:
        """Raise ValueError, which names the variables, if these constraints contradict each other."""
        both = np.flatnonzero(self.context_all & self.context_tier)
        if len(both):
            raise ValueError(f"context_all and context_tier both have {listed([labels[v] for v in both.tolist()])}")
        if len(nowhere := np.flatnonzero(self.context_tier & (self.tier == NO_TIER))):
            names = listed([labels[v] for v in nowhere.tolist()])
            raise ValueError(f"context_tier must name variables that have a tier, got {names}")
        late = np.flatnonzero(self.context_all & (self.tier > 0))
        if len(late):
            raise ValueError(f"context_all must be in the first tier, got {listed([labels[v] for v in late.tolist()])}")
        tail, head = np.divmod(self.required, max(self.p, 1))
        for k in np.flatnonzero(self.is_impossible(tail, head)).tolist():
            a, b = labels[tail[k]], labels[head[k]]
            if earlier(self.tier, head[k], tail[k]):
                why = f"{a!r} is in a later tier than {b!r}"
            elif self.context[head[k]]:
                why = f"{b!r} is a context variable"
            else:
                why = (
                    f"{b} --> {a} is required, too"
                    if (self.required == head[k] * self.p + tail[k]).any()
                    else "it is also forbidden"
                )
            raise ValueError(f"{a} --> {b} is required, but {why}")
        if cycle := directed_cycle(tail, head, self.p):
            names = " --> ".join(labels[v] for v in (*cycle, cycle[0]))
            raise ValueError(f"the required arrows form a cycle: {names}")

    def summary(self) -> str:
        """How much is known, for a note."""
        without, n_context = int((self.tier == NO_TIER).sum()), int(self.context.sum())
        n_tiers = len(np.unique(self.tier[self.tier != NO_TIER]))
        words = [f"{n_tiers} tiers"] * (n_tiers > 1)
        words += [f"{without:,} variable{'s' * (without > 1)} without a tier"] * (without > 0)
        for n, one in ((n_context, "context variable"), (len(self.required), "required arrow")):
            words += [f"{n:,} {one}{'s' * (n > 1)}"] * (n > 0)
        extra = len(self.forbidden) - len(self.required)
        return ", ".join(words + [f"{extra:,} forbidden arrow{'s' * (extra > 1)}"] * (extra > 0)) or "none"


def _pairs(p: int, found: Sequence[tuple[Indices, Indices]]) -> Pairs:
    ends = np.sort(np.concatenate(found, axis=1), axis=0)
    return Pairs(p, ends[0], ends[1])
