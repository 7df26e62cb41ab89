"""Questions about single pairs: every engine answers as the literal definition says
(docs/contracts/contract.md, 1 and 6).
"""

import math
from itertools import combinations

import numpy as np
import pytest
from common import take

import pycupc
from pycupc.discrete import DiscreteSuffStat
from pycupc.engines.cpu import CpuEngine, setwise_walk
from pycupc.engines.protocol import Answers, Counts, Engine, Lists, Questions
from pycupc.engines.reference import ReferenceEngine
from pycupc.graph.questions import TEST_SECONDS
from pycupc.independence.base import IndependenceTest
from pycupc.independence.custom import CustomTest
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.gaussian.test import GaussianTest

pytestmark = pytest.mark.filterwarnings("ignore:C has NaN")

P = 10


def gaussian(seed: int) -> GaussianTest:
    """Correlations of a chain with a hub; by turns with copies and sums of columns, and with NaN."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, P))
    for j in range(1, P):
        X[:, j] += 0.7 * X[:, j - 1] + 0.4 * X[:, j // 3]
    if seed % 3 == 1:
        X[:, 2] = X[:, 5] + 1e-9 * rng.standard_normal(60)
        X[:, 7] = X[:, 3] + X[:, 4]
    C = np.corrcoef(X, rowvar=False)
    if seed % 3 == 2:
        C[:, 6] = C[6] = np.nan
    return GaussianTest(pycupc.SuffStat(C, 60), [0.01, 0.2, 1.0][seed % 5 % 3])


def discrete(seed: int) -> DiscreteTest:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (400, P))
    for j in range(1, P):
        codes[:, j] = np.where(rng.random(400) < 0.4, codes[:, j], codes[:, j - 1])
    suff = DiscreteSuffStat(codes, [3] * P, adaptDF=seed % 2 == 0, df="observed" if seed % 4 == 1 else "pcalg")
    return DiscreteTest(suff, 0.05, quirks=seed % 4 == 0)


def asked(seed: int, *, skip: bool, sizes: tuple[int, int] = (0, P)) -> Questions:
    """Random pairs; their candidates are any other variables in any order, often none."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(P, 2, replace=False) for _ in range(25)])
    others = [rng.permutation([v for v in range(P) if v not in pair])[: rng.integers(0, 7)] for pair in pairs]
    skipped = [[v for v in range(P) if rng.random() < 0.6] for _ in pairs]
    return Questions(*pairs.T, Lists.of(others), *sizes, Lists.of(skipped) if skip else None)


def sets_of(question: Questions, i: int, size: int) -> list[tuple[int, ...]]:
    sets = combinations(question.candidates.of_one(i), size)
    skip = None if question.skip is None else set(question.skip.of_one(i))
    return [S for S in sets if skip is None or not set(S) <= skip]


def expected(test: IndependenceTest, question: Questions) -> tuple[list, list, list]:
    """By the definition: the first separating sets, the tests by size, the number of separating sets."""
    found, tests, numbers = [], [], []
    for i, (x, y) in enumerate(zip(question.x.tolist(), question.y.tolist(), strict=True)):
        made, first, separating = np.zeros(question.sizes().stop, dtype=int), None, []
        for size in question.sizes():
            for S in sets_of(question, i, size):
                made[size] += first is None
                if test.p_value(x, y, S) >= test.alpha:
                    first = S if first is None else first
                    separating.append(S)
        found.append(first)
        tests.append(made.tolist())
        numbers.append([len(separating), *(sum(v in S for S in separating) for v in question.candidates.of_one(i))])
    return found, tests, numbers


def listed(question: Questions, answers: Answers, counts: Counts) -> tuple[list, list, list]:
    """The answers in the form of `expected`."""
    sets = [tuple(answers.S.of_one(i)) if found else None for i, found in enumerate(answers.found)]
    parts = np.split(counts.containing, question.candidates.offsets[1:-1])
    numbers = [[found, *part.tolist()] for found, part in zip(counts.found.tolist(), parts, strict=True)]
    return sets, answers.n_tests.tolist(), numbers


@pytest.mark.parametrize("sizes", [(0, P), (1, 3), (2, 2), (4, 50)], ids=str)
@pytest.mark.parametrize("skip", [False, True], ids=["all", "skip"])
@pytest.mark.parametrize("make", [gaussian, discrete])
@pytest.mark.parametrize("seed", range(4))
def test_engines_answer_by_the_definition(make, seed, skip, sizes, monkeypatch):
    monkeypatch.setattr(setwise_walk, "FIRST_ROUND", 1 + seed)
    monkeypatch.setattr(setwise_walk, "PART_SETS", 5)
    test, question = make(seed), asked(seed, skip=skip, sizes=sizes)
    want = expected(test, question)
    engines: list[Engine] = [CpuEngine(1 + seed % 2), ReferenceEngine()]
    answers = []
    for engine in engines:
        take(engine, test)
        answers.append(engine.first_separating(question).finished())
        assert listed(question, answers[-1], engine.count_separating(question)) == want
        engine.close()
    cpu, reference = answers
    np.testing.assert_allclose(cpu.value, reference.value, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(cpu.p, reference.p, rtol=1e-5, atol=1e-12)
    assert (np.isneginf(cpu.p) == (cpu.n_tests.sum(axis=1) == 0)).all()


def test_the_first_set_is_that_of_a_level():
    """Asked about the neighbours of the graph before a level, the answers are the removals of side A."""
    test = gaussian(0)
    engine = take(CpuEngine(1), test)
    for level in range(3):
        before = engine.state()
        result = engine.run_level(level)
        lists = [[] for _ in range(P)]
        for x, y in zip(before.x.tolist(), before.y.tolist(), strict=True):
            lists[x].append(y)
            lists[y].append(x)
        candidates = Lists.of(
            [[v for v in sorted(lists[x]) if v != y] for x, y in zip(before.x, before.y, strict=True)]
        )
        answers = engine.first_separating(Questions(before.x, before.y, candidates, level, level))
        on_side_a = result.x < result.y
        if level:
            assert before.x[answers.found].tolist() == result.x[on_side_a].tolist()
            assert answers.S.members.reshape(-1, level).tolist() == result.S[on_side_a].tolist()
            np.testing.assert_array_equal(answers.value[answers.found], result.r[on_side_a])
        else:
            assert answers.found.sum() == result.n_removed


@pytest.mark.parametrize("make", [gaussian, discrete])
@pytest.mark.parametrize("skip", [False, True], ids=["all", "skip"])
def test_a_budget_leaves_pairs_open_after_so_many_tests(make, skip, monkeypatch):
    monkeypatch.setattr(setwise_walk, "FIRST_ROUND", 3)
    for seed in range(3):
        test, question = make(seed), asked(seed, skip=skip)
        want, made, _ = expected(test, question)
        for most in (0, 1, 5, 12):
            limited = question._replace(budget=(most + 0.5) * (TEST_SECONDS if test.has_r else 1), largest_p=False)
            for engine in (CpuEngine(1), ReferenceEngine()):
                answers = take(engine, test).first_separating(limited)
                over = [sum(tests) > most for tests in made]
                assert answers.open.tolist() == over
                assert answers.n_tests.sum(axis=1).tolist() == [min(sum(tests), most) for tests in made]
                found = [S is not None and not left for S, left in zip(want, over, strict=True)]
                assert answers.found.tolist() == found
                assert (np.isnan(answers.p) == ~answers.found).all()


def test_progress_tells_of_decided_pairs():
    for engine in (CpuEngine(1), ReferenceEngine()):
        told: list[tuple[int, int]] = []
        take(engine, gaussian(0)).first_separating(asked(0, skip=False), lambda *counts, told=told: told.append(counts))
        assert told == sorted(told)
        assert told[-1] == (25, 25)


def test_no_questions():
    empty = Questions(*np.zeros((2, 0), dtype=np.int32), Lists.of([]), 0, 3)
    for engine, test in [(CpuEngine(1), gaussian(0)), (CpuEngine(1), discrete(0)), (ReferenceEngine(), gaussian(0))]:
        take(engine, test)
        assert [len(part) for part in engine.count_separating(empty)] == [0, 0]
        assert len(engine.first_separating(empty).found) == 0


def test_a_users_function_is_asked_in_order_and_NaN_is_an_error_only_where_sets_are_counted():
    calls = []

    def function(x, y, S, data):
        calls.append((x, y, S))
        return math.nan if len(S) == 2 else 0.0

    question = Questions(np.array([3]), np.array([1]), Lists.of([[4, 2, 0]]), 0, 3)
    for delete, first in ((True, (4, 2)), (False, ())):
        engine = take(ReferenceEngine(), CustomTest(function, None, 0.05, 5, NAdelete=delete))
        answers = engine.first_separating(question)
        assert (bool(answers.found[0]), tuple(answers.S.of_one(0))) == (delete, first)
        with pytest.raises(ValueError, match=r"indep_test must return a p-value, got NaN for x=3, y=1, S=\(4, 2\)"):
            engine.count_separating(question)
    assert calls[:5] == [(3, 1, S) for S in ((), (4,), (2,), (0,), (4, 2))]
    assert calls[-4:] == [(3, 1, S) for S in ((), (4,), (2,), (4, 2))]
