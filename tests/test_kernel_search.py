"""The search before long levels (kernels/pruning/pairs.cu), all its warps run on the host."""

from __future__ import annotations

import numpy as np
import pytest
from filter_problems import GONE_A, LIVE, NOT_SEPARATED, Problem, check_first_sets, check_left_alone, random_problem
from gpu_on_host import HostDevice, build

from pycupc.engines.gpu import pruning

FILES = {
    "common/binomials": ("binomial_table",),
    "pruning/rows": ("bound_rows",),
    "pruning/pairs": ("prove_pairs<2>", "prove_pairs<12>"),
    "pruning/decided": ("count_open",),
}


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    library = build(tmp_path_factory.mktemp("kernels"), 256, FILES)
    if library is None:
        pytest.skip("no C++ compiler")
    return HostDevice(library)


def search(problem: Problem, device, **tuning):
    """Run the kernels; returns decided, rank and spares of each pair."""
    return problem.run(device, pruning, **{"least_sets": 0.0, "nodes": (4096, 4096), "sets_per_node": 1e-6, **tuning})


@pytest.mark.parametrize("level", [2, 3, 5])
@pytest.mark.parametrize("seed", range(2))
def test_every_pair_gets_its_first_separating_set(device, level, seed):
    problem = random_problem(100 * level + seed, level)
    separated = check_first_sets(problem, *search(problem, device))
    assert separated > 5
    assert problem.counters.bounds > 0


def test_rows_of_hundreds_of_neighbours(device, monkeypatch):
    """A star of 300 variables, of whose pairs eight are tested; the first sets hold members far apart."""
    monkeypatch.setattr(pruning, "CLASSES", ((384, 12, 512),))
    monkeypatch.setattr(pruning, "PAIRS", [("pruning/pairs", "prove_pairs<12>")])
    rng = np.random.default_rng(5)
    p, level, targets = 300, 2, (20, 100, 140, 180, 220, 250, 270, 299)
    X = rng.normal(size=(2000, p))
    for i, y in enumerate(targets):
        X[:, 0] += 0.4 * X[:, 10 + 30 * i] + 0.3 * X[:, 280 - 20 * i]
        X[:, y] += X[:, 10 + 30 * i] + X[:, 280 - 20 * i]
    near = np.zeros((p, p), dtype=bool)
    near[0, 1:] = near[1:, 0] = True
    fixed = [(0, y) for y in range(1, p) if y not in targets]
    problem = Problem(np.corrcoef(X, rowvar=False), near, level, 0.02, fixed)
    decided, rank, spares = search(problem, device)
    at = [y - 1 for y in targets]
    assert decided[at].all()
    assert decided.sum() == len(targets)
    expected = [problem.first_set(0, y) for y in targets]
    assert [(int(rank[e]), int(spares[e])) for e in at] == expected
    assert sum(first != NOT_SEPARATED for first, _ in expected) > 3


def test_one_node_proves_pairs_far_above_the_cutoff(device):
    C = np.full((12, 12), 0.5) + 0.5 * np.eye(12)
    problem = Problem(C, ~np.eye(12, dtype=bool), 3, 0.01)
    decided, rank, _ = search(problem, device)
    assert (decided == 1).all()
    assert (rank == NOT_SEPARATED).all()
    assert problem.counters.bounds == 12 * 11


def test_pairs_that_take_too_many_nodes_or_questions_are_left(device):
    for tuning in ({"nodes": (1, 1)}, {"questions": (0, 0)}):
        problem = random_problem(300, 3)
        decided, rank, _ = search(problem, device, **tuning)
        left = decided == 0
        assert left.any()
        assert (rank[~left] == NOT_SEPARATED).all() or "nodes" in tuning
        assert problem.open.sum() == (left & (problem.state[problem.source, problem.column] == LIVE)).sum()


def test_gives_up_where_it_does_not_pay(device):
    problem = random_problem(300, 3)
    decided, _, _ = search(problem, device, sets_per_node=1e9, trial=(0.0, 0.0), nodes=(4096, 4096))
    assert (decided == 0).sum() > len(decided) / 2


def test_fixed_edges_and_near_singular_rows_are_left_alone(device):
    decided, problem = check_left_alone(lambda problem: search(problem, device))
    assert (decided == 1).any()
    assert GONE_A in problem.state
