"""Random questions about pairs, and their answers on two engines."""

import numpy as np
from common import take

import pycupc
from pycupc.engines.protocol import Answers, Engine, Lists, Questions
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.test import GaussianTest


def random_questions(seed: int, p: int, m: int) -> tuple[GaussianTest, Questions]:
    """Pairs with candidates, mostly ascending, sizes from 2 on, and lists to skip; sometimes with many equal tests."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ (rng.normal(0, 0.7, j) * (rng.random(j) < 0.4))
    C = np.where(np.eye(p), 1.0, 0.5) if seed % 3 == 2 else correlation(X)
    ends = np.array([rng.choice(p, 2, replace=False) for _ in range(m)])
    others = [rng.permutation(np.setdiff1d(np.arange(p), pair))[: rng.integers(2, p - 1)] for pair in ends]
    candidates = [np.sort(some) if rng.random() < 0.8 else some for some in others]
    skip = Lists.of([rng.permutation(some)[: rng.integers(0, len(some) + 1)] for some in candidates])
    questions = Questions(*ends.T, Lists.of(candidates), 2, int(rng.integers(2, p)), skip)
    return GaussianTest(pycupc.SuffStat(C, 300), 0.05), questions


def compare_answers(engines: tuple[Engine, Engine], test: GaussianTest, questions: Questions) -> Answers:
    """The answers, which are the same on both engines."""
    mine, theirs = (take(engine, test).first_separating(questions) for engine in engines)
    for name in ("found", "value", "n_tests", "open"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    np.testing.assert_array_equal(mine.S.members, theirs.S.members)
    np.testing.assert_allclose(mine.finished().p, theirs.finished().p, rtol=1e-6, atol=1e-300)
    return mine


def counts(reached: dict[int, tuple[int, list[int] | None]], questions: Questions) -> np.ndarray:
    """How many pairs a device has searched to the end, found a set for, and left."""
    last = np.minimum(np.diff(questions.candidates.offsets), questions.largest)
    ends = [(size > last[i], S is not None, S is None and size <= last[i]) for i, (size, S) in reached.items()]
    return np.array(ends, dtype=int).reshape(-1, 3).sum(axis=0)
