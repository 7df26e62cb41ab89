"""Questions about pairs that the search answers: the answers are those of the tests that it does not make.

PYCUPC_PRUNING_CASES sets the number of random problems (300; ten times the pairs).
"""

import random
from itertools import combinations
from math import comb

import numpy as np
import pytest
from common import take
from pruning_problems import CASES, random_correlations, spoilt
from wide_problems import N, equicorrelated, planted

import pycupc
from pycupc.engines.cpu import CpuEngine, tuning
from pycupc.engines.cpu.pruning import minimum_search, node, pair_search
from pycupc.engines.protocol import Answers, EngineError, Lists, Questions
from pycupc.independence.gaussian.test import GaussianTest

MOST = 13


def asked(rng: np.random.Generator, p: int, m: int) -> Questions:
    """Random pairs with up to `MOST` candidates in any order, any sizes, and some lists to skip."""
    ends = np.array([rng.choice(p, 2, replace=False) for _ in range(m)])
    others = [rng.permutation(np.setdiff1d(np.arange(p), pair))[: rng.integers(2, MOST + 1)] for pair in ends]
    candidates = [np.sort(some) if rng.random() < 0.5 else some for some in others]
    skip = [rng.permutation(some)[: rng.integers(0, len(some) + 1)] for some in candidates]
    smallest = int(rng.integers(0, 4))
    largest = smallest + int(rng.choice([0, 2, MOST]))
    return Questions(*ends.T, Lists.of(candidates), smallest, largest, Lists.of(skip) if rng.random() < 0.7 else None)


def answered(test: GaussianTest, questions: Questions, pruning: bool | str, threads: int = 2) -> Answers:
    return take(CpuEngine(threads, pruning), test).first_separating(questions).finished()


@pytest.mark.parametrize("part", range(3))
@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
def test_the_search_answers_as_the_tests(part, monkeypatch):
    monkeypatch.setattr(node, "SETS_PER_PAIR", [0.05, tuning.SETS_PER_PAIR, 0.5][part])
    rng, searched = np.random.default_rng(part), 0
    for case in range(-(-CASES // 6)):
        C, n = random_correlations(rng)
        if case % 5 == 4:
            C, _ = spoilt(rng, C)
        test = GaussianTest(pycupc.SuffStat(C, n), float(rng.choice([0.0, 0.001, 0.01, 0.05, 0.2, 1.0])))
        questions = asked(rng, len(C), 10)
        plain, pruned = answered(test, questions, pruning=False), answered(test, questions, pruning="always")
        for mine, theirs in zip(pruned[:1] + pruned.S + pruned[4:], plain[:1] + plain.S + plain[4:], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(pruned.value, plain.value)
        np.testing.assert_allclose(pruned.p, plain.p, rtol=1e-6, atol=1e-300)
        searched += int(plain.found.sum())
    assert searched > CASES // 3


@pytest.mark.parametrize("most", [tuning.SEARCHED_MEMBERS, 300])
@pytest.mark.parametrize("order", ["small sizes first", "large sizes first", "any"])
@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
def test_sizes_of_a_pair_may_be_searched_in_any_order(order, most, monkeypatch):
    rng, first, pieces = np.random.default_rng(9), pair_search._SearchedPairs.__init__, []

    def shuffled(self, *how):
        first(self, *how)
        pieces.append(sum(len(part.items) for part in self._parts) - len(self._first))
        for part in self._parts:
            items = part.items.copy()
            number = {"small sizes first": np.arange, "large sizes first": lambda k: np.arange(k)[::-1]}
            part.items[:] = items[number.get(order, rng.permutation)(len(items))]

    for _ in range(-(-CASES // 20)):
        C, n = random_correlations(rng)
        test = GaussianTest(pycupc.SuffStat(C, n), float(rng.choice([0.001, 0.01, 0.05, 0.2])))
        questions = asked(rng, len(C), 10)
        want = answered(test, questions, "always", threads=1)
        with monkeypatch.context() as patch:
            patch.setattr(pair_search, "SEARCHED_MEMBERS", most)
            patch.setattr(pair_search._SearchedPairs, "__init__", shuffled)
            found = answered(test, questions, "always", threads=3)
        for mine, theirs in zip(found[:1] + found.S + found[2:6], want[:1] + want.S + want[2:6], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert max(pieces) > 0


def test_numbers_and_ranks_of_the_sets_that_are_not_skipped():
    rng = np.random.default_rng(0)
    for n in range(8):
        kept = rng.random(n) < 0.4
        for size in range(n + 1):
            sets = [S for S in combinations(range(n), size) if kept[list(S)].any()]
            assert pair_search.number_of_sets(kept, size) == len(sets)
            assert [pair_search.rank(kept, list(S)) for S in sets] == list(range(len(sets)))


def test_a_line_is_above_the_limits_of_all_sizes():
    """c + e n of docs/contracts/pruning.md, section 7: also where the limits rise ever more slowly,
    as tanh does near 1.
    """
    rng = np.random.default_rng(0)
    for case in range(200):
        k = int(rng.integers(1, 9))
        r = np.sort(rng.uniform(0.0, 1.0, k))
        if case % 2:
            r = np.tanh(rng.uniform(0.1, 6) / np.sqrt(np.arange(k, 0, -1)))
        at = int(rng.integers(-2, k))
        for m in range(max(0, -at), k - at):
            c, e = minimum_search._line(r * r, at, m)
            n = np.arange(max(0, -at), m + 1)
            above = c + e * n - r[at + n]
            assert c >= 0.0 <= e
            assert above.min() >= -1e-12
            assert c == 0.0 or above.min() < 1e-12  # as near as a line of this slope can be


def test_tests_beyond_64_bits_are_counted():
    test = GaussianTest(pycupc.SuffStat(equicorrelated(80), N), 0.01)
    others = list(range(79, 1, -1))
    questions = Questions(np.array([0, 1]), np.array([1, 0]), Lists.of([others, others[:9]]), 0, 78)
    answers = answered(test, questions._replace(skip=Lists.of([[], others])), pruning=True)
    assert not answers.found.any()
    assert answers.n_tests.tolist() == [[0] + [comb(78, size) for size in range(1, 79)], [0] * 79]
    np.testing.assert_allclose(answers.p, [0.0, -np.inf])
    answers = answered(test, questions._replace(largest_p=False), pruning=True)
    assert sum(answers.n_tests[0]) == 2**78
    assert np.isnan(answers.p).all()


@pytest.mark.parametrize("in_skip", [0, 23])
def test_the_one_separating_set_among_many_is_found(in_skip):
    p, x, y, size = 80, 3, 50, 24
    others = random.Random(2).sample([v for v in range(p) if v not in (x, y)], 78)
    positions = sorted(random.Random(1).sample(range(78), size))
    S = [others[k] for k in positions]
    test = GaussianTest(pycupc.SuffStat(planted(p, x, y, sorted(S)), N), 0.01)
    questions = Questions(
        np.array([x]), np.array([y]), Lists.of([others]), size - 1, 60, Lists.of([S[:in_skip]]), largest_p=False
    )
    answers = answered(test, questions, pruning=True)
    assert answers.S.of_one(0) == S
    assert abs(answers.value[0]) < 1e-12
    assert answers.p[0] > 0.99
    kept = np.array([v not in S[:in_skip] for v in others])
    assert answers.n_tests[0, size - 1 :].tolist() == [
        comb(78, size - 1) - (in_skip == size - 1),
        pair_search.rank(kept, positions) + 1,
        *[0] * 36,
    ]
    everything = Questions(*questions[:3], size, size, Lists.of([S]), largest_p=False)
    answers = answered(test, everything, pruning=True)
    assert (bool(answers.found[0]), answers.n_tests[0, size]) == (False, comb(78, size) - 1)


def unending() -> tuple[GaussianTest, Questions]:
    """Pairs of which all sets of 20 members are equally close to separating them, so that no bound dismisses any."""
    C = equicorrelated(60)
    r = 0.5 / (1 + 0.5 * 20)
    n = 23 + (2.5759 / np.arctanh(r)) ** 2  # the cutoff at .01 is just below r
    others = list(range(2, 60))
    return GaussianTest(pycupc.SuffStat(C, n), 0.01), Questions(
        np.array([0, 1]), np.array([1, 0]), Lists.of([others, [2, 3, 4]]), 2, 58, budget=0.02
    )


def test_a_pair_beyond_the_budget_stays_open_and_the_same_on_every_number_of_threads():
    test, questions = unending()
    one, two = (answered(test, questions, pruning=True, threads=threads) for threads in (1, 2))
    assert one.open.tolist() == [True, False]
    assert not one.found.any()
    for mine, theirs in zip(one[:1] + one.S + one[2:], two[:1] + two.S + two[2:], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    tests = one.n_tests[0].tolist()
    assert 4 < tests.index(0, 2) < 22
    assert tests[2 : tests.index(0, 2)] == [comb(58, size) for size in range(2, tests.index(0, 2))]
    assert one.n_tests[1].tolist() == [0, 0, 3, 1, *[0] * 55]


def test_a_search_without_end_can_be_interrupted():
    def interrupt(decided: int, total: int) -> None:
        if decided == 1:
            raise KeyboardInterrupt

    test, questions = unending()
    engine = take(CpuEngine(2), test)
    with pytest.raises(KeyboardInterrupt):
        engine.first_separating(questions._replace(budget=None), interrupt)


def test_a_largest_p_value_that_may_be_larger_is_told(monkeypatch):
    monkeypatch.setattr(tuning, "PATIENCE_FOR_MINIMUM", 1e-3)
    test = GaussianTest(pycupc.SuffStat(equicorrelated(70), N), 0.01)
    questions = Questions(np.array([0]), np.array([1]), Lists.of([list(range(2, 70))]), 34, 34)
    with pytest.warns(UserWarning, match="pMax of 1 edges is the largest p-value met, and may be larger"):
        answers = answered(test, questions, pruning=True)
    assert not answers.open.any()
    assert answers.n_tests[0, 34] == comb(68, 34)


def test_checked_answers_are_tested(monkeypatch):
    rng = np.random.default_rng(1)
    C, n = random_correlations(rng)
    test = GaussianTest(pycupc.SuffStat(C, n), 0.05)
    questions = asked(rng, len(C), 20)._replace(smallest=2, largest=6)
    for name, value in (("FEW_SETS", 1), ("WORTH", 0.0), ("WORTH_LOADING", 0.0)):
        monkeypatch.setattr(tuning, name, value)
    plain, checked = answered(test, questions, pruning=False), answered(test, questions, pruning="checked")
    np.testing.assert_array_equal(plain.n_tests, checked.n_tests)
    assert plain.found.any()
    search = pair_search.PairSearch._outcome

    def wrong(self, *arguments):
        outcome = search(self, *arguments)
        return outcome if outcome.positions is None else outcome._replace(n_tests=[0, 10**6], positions=None)

    monkeypatch.setattr(pair_search.PairSearch, "_outcome", wrong)
    with pytest.raises(EngineError, match="a bound is wrong: it says None for the first set"):
        answered(test, questions, pruning="checked")


def test_nearly_collinear_candidates_are_tested_one_by_one(monkeypatch):
    monkeypatch.setattr("pycupc.engines.cpu.answers.WORTH_A_WARNING", 1e-6)
    C = equicorrelated(12)
    C[2] = C[:, 2] = C[3]
    C[2, 2] = C[2, 3] = C[3, 2] = 1.0
    test = GaussianTest(pycupc.SuffStat(C, 1000), 0.01)
    questions = Questions(np.array([0]), np.array([1]), Lists.of([list(range(2, 12))]), 0, 10)
    with pytest.warns(UserWarning, match="1 pairs of variables, 0 and 1 first, are tested .* up to 1e\\+03 tests"):
        answers = answered(test, questions, pruning="always")
    plain = answered(test, questions, pruning=False)
    np.testing.assert_array_equal(answers.n_tests, plain.n_tests)


@pytest.mark.parametrize("smallest", [2, 4])
def test_largest_p_values_are_found_for_the_pairs_asked_for(smallest):
    """p is that of the tests made until it is asked for; which pairs are asked for together does not matter."""
    rng = np.random.default_rng(smallest)
    C, n = random_correlations(rng)
    test = GaussianTest(pycupc.SuffStat(C, n), 0.5)
    questions = asked(rng, len(C), 30)._replace(smallest=smallest, largest=9)
    expected = answered(test, questions, pruning=False)
    answers = take(CpuEngine(2, "always"), test).first_separating(questions)
    assert answers.unfinished is not None
    assert (answers.p <= expected.p * (1 + 1e-6)).all()
    later = answers.p < expected.p * (1 - 1e-6)
    assert later.any()
    last = np.arange(len(later))[::-1]
    one = np.concatenate([answers.unfinished(last[k : k + 1]) for k in range(10)])
    np.testing.assert_allclose(one, expected.p[last[:10]], rtol=1e-6)
    np.testing.assert_allclose(answers.unfinished(last), expected.p[last], rtol=1e-6)
