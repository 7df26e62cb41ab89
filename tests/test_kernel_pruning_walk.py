"""The walk before long levels (kernels/pruning/walk.cu), run on the host: it finds first separating sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from gpu_on_host import HostDevice, build
from pruning_problems import GONE_A, LIVE, NOT_SEPARATED, Problem, check_first_sets, check_left_alone, random_problem

from pycupc.engines.gpu.pruning import outcome, walk

FILES = {
    "common/binomials": ("binomial_table",),
    "schur/plan": ("plan_phases",),
    "pruning/walk": (
        *("sound_rows", "settle_walked"),
        *(f"{kernel}<{q}>" for kernel in ("try_walk", "walk_rows") for q in range(4)),
    ),
    "pruning/decided": ("count_left",),
}


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    device = HostDevice(build(tmp_path_factory.mktemp("kernels"), 256, FILES))
    device.shared_block = 1 << 15  # a few warps per block, as threads are slow here
    return device


def walked(problem: Problem, device, most_left: float = 2.0):
    """Run the kernels; returns decided, rank and spares of each pair."""
    return problem.run(device, walk, most_left=most_left)


@pytest.mark.parametrize("level", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_every_pair_gets_its_first_separating_set(device, level, seed):
    problem = random_problem(100 * level + seed, level)
    decided, rank, spares = walked(problem, device)
    gone = (problem.state[problem.source, problem.column] == GONE_A) & (problem.source > problem.column)
    assert not decided[gone].any()
    separated = check_first_sets(problem, decided, rank, spares)
    assert separated > 5
    assert problem.counters.bounds > 0


def test_bounds_spare_tests(device):
    """Correlations far above the cutoff: nearly nothing is left to be tested."""
    C = np.full((12, 12), 0.5) + 0.5 * np.eye(12)
    problem = Problem(C, ~np.eye(12, dtype=bool), 3, 0.01)
    decided, rank, spares = walked(problem, device)
    assert (decided == 1).all()
    assert (rank == NOT_SEPARATED).all()
    assert -problem.counters.spared < 0.1 * spares.sum()  # what was made; `lift` adds what was spared


def test_doubtful_tests_are_left_with_the_rest_of_the_row_decided(device):
    """A cutoff that equals the partial correlation of one pair given one set."""
    problem = random_problem(7, 3)
    x, y = 0, int(np.flatnonzero(problem.near[0])[-1])
    neighbours = [v for v in np.flatnonzero(problem.near[x]) if v != y]
    smallest = min(
        abs(K[0, 1]) / np.sqrt(K[0, 0] * K[1, 1])
        for S in combinations(neighbours, 3)
        for K in [np.linalg.inv(problem.C[np.ix_([x, y, *S], [x, y, *S])])]
    )
    problem.cutoff = float(smallest)
    decided, _, _ = walked(problem, device)
    left = [(int(a), int(b)) for a, b in zip(problem.source[decided == 2], problem.column[decided == 2], strict=True)]
    assert (x, y) in left or (y, x) in left
    assert len(left) < 10
    assert problem.open.sum() == len(left)


@pytest.mark.parametrize("r", [1 - 1e-5, np.nan])
def test_fixed_edges_and_near_singular_rows_are_left_alone(device, r):
    check_left_alone(lambda problem: walked(problem, device), r)


def test_gives_up_where_too_much_is_left(device):
    problem = random_problem(300, 3)
    best = problem.best.copy()
    decided, _, _ = walked(problem, device, 1e-9)
    assert not decided.any()
    assert (problem.best == best).all()
    assert problem.open.sum() == (problem.state == LIVE).sum()


def test_rows_that_do_not_fit_shared_memory_are_left_alone(device, monkeypatch):
    problem = random_problem(301, 3)
    degrees = np.diff(problem.start)
    widest = int(np.sort(degrees)[len(degrees) // 2])
    need = walk.shared_of_block(widest) + walk.shared_of_warp(widest, 1)
    monkeypatch.setattr(device, "shared_block", outcome.STATIC_SHARED + need)
    decided, _, _ = walked(problem, device)
    narrow = degrees[problem.source] <= widest
    assert not decided[~narrow].any()
    gone = (problem.state[problem.source, problem.column] == GONE_A) & (problem.source > problem.column)
    assert (decided[narrow & ~gone] == 1).all()
    assert walk._fitting(227 << 10, 1024, 2)[0] == 1024
    assert walk._fitting(48 << 10, 1024, 3)[1] == 1
