"""Mode "checked" of pruning: some pairs that bounds have decided are tested as well, given sets drawn at random.

A pair is tested given the sets of a few of its candidates. If bounds have found a first separating set, its members are
among these candidates: it must be the first among their sets, too. If they have found none, no set may separate the
pair.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from pycupc.engines.cpu.graph import Findings, Graph, Indices
from pycupc.engines.cpu.tuning import CHECKED_PAIRS, CHECKED_SECONDS, CHECKED_SETS
from pycupc.engines.protocol import Answers, EngineError, Lists, Questions

#: Answers questions without bounds.
Ask = Callable[[Questions], Answers]


def check_level(graph: Graph, decided: Indices, findings: Findings, level: int, ask: Ask) -> None:
    """Check the findings about some of these entries; EngineError if tests contradict them."""
    some = _thinned(decided)
    separated = graph.settle(level, findings)[0]
    at = np.searchsorted(np.flatnonzero(findings.rank >= 0), some)
    found = [separated.S[k].tolist() if findings.rank[e] >= 0 else None for e, k in zip(some, at, strict=True)]
    _check(graph.questions(some, level), found, ask)


def check_answers(questions: Questions, answers: Answers, ask: Ask) -> None:
    """Check some of the answers; EngineError if tests contradict them."""
    some = _thinned(np.flatnonzero(~answers.open))
    lists = [questions.candidates, *([] if questions.skip is None else [questions.skip])]
    candidates, *skip = (Lists.of([own.of_one(i) for i in some.tolist()]) for own in lists)
    asked = questions._replace(
        x=questions.x[some], y=questions.y[some], candidates=candidates, skip=skip[0] if skip else None
    )
    _check(asked, [answers.S.of_one(i) if answers.found[i] else None for i in some.tolist()], ask)


def _thinned(numbers: Indices) -> Indices:
    """About `CHECKED_PAIRS` of these numbers, evenly spaced."""
    return numbers[:: max(1, len(numbers) // CHECKED_PAIRS)]


def _check(questions: Questions, found: Sequence[list[int] | None], ask: Ask) -> None:
    """Test each pair given sets of a few candidates; `found`: its first separating set, None if bounds say none."""
    draw, drawn = random.Random(len(found)), []
    for i, S in enumerate(found):
        own, members, last = questions.candidates.of_one(i), set(S or ()), len(S or ()) or questions.largest
        number = max(questions.smallest, len(members))
        while number < len(own) and _n_sets(number + 1, questions.smallest, last) <= CHECKED_SETS:
            number += 1
        members.update(draw.sample([v for v in own if v not in members], min(number, len(own)) - len(members)))
        drawn.append([v for v in own if v in members])
    few = questions._replace(candidates=Lists.of(drawn), largest_p=False, budget=CHECKED_SECONDS)
    answers = ask(few)
    made = [answers.S.of_one(i) if answers.found[i] else None for i in range(len(found))]
    wrong = [i for i, S in enumerate(found) if made[i] != S and not answers.open[i]]
    if wrong:
        i = wrong[0]
        raise EngineError(
            f"a bound is wrong: it says {found[i]} for the first set that separates variables {questions.x[i]} and "
            f"{questions.y[i]} (None: no set does), and tests given sets of {drawn[i]} say {made[i]}; so for "
            f"{len(wrong)} of {len(found)} pairs checked. Please report this with your data"
        )


def _n_sets(n: int, smallest: int, largest: int) -> int:
    """How many sets of these sizes n candidates have."""
    return sum(comb(n, size) for size in range(smallest, min(largest, n) + 1))
