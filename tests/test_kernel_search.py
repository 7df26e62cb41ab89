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
    "pruning/pairs": ("prove_pairs<2>",),
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
