"""Pruning before long levels (kernels/pruning/), all warps run on the host: it finds first separating sets."""

import ctypes
import dataclasses
import itertools
import re
from contextlib import nullcontext
from itertools import combinations

import numpy as np
import pytest
from common import gaussian_test, take
from exact_bounds import ABOVE, is_above, nudged, problems, tight
from exact_bounds import smallest as smallest_r
from gpu_on_host import KERNELS, HostDevice, build, library_of
from pruning_problems import GONE_A, LIVE, NOT_SEPARATED, Problem, check_first_sets, check_left_alone, random_problem

from pycupc.engines.cpu import CpuEngine
from pycupc.engines.cpu.pruning.delta import find_delta
from pycupc.engines.gpu import device_largest_p_values, structures
from pycupc.engines.gpu.pruning import device_bounded_walk, device_branch_and_bound, outcome
from pycupc.engines.protocol import EngineError
from pycupc.independence.gaussian.fisher_z import cutoff, z_score
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest

FILES = {
    "schur/plan": ("plan_phases",),
    "pruning/bounded_walk": (
        *("sound_rows", "settle_walked"),
        *(f"{kernel}<{q}>" for kernel in ("try_walk", "walk_rows") for q in (1, 2)),
    ),
    "pruning/delta": ("find_delta",),
    "pruning/search_pairs": ("search_pairs<2>", "search_pairs<12>"),
    "pruning/decided": ("settle_shared", "count_left"),
}


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    return HostDevice(build(tmp_path_factory.mktemp("kernels"), 256, FILES))


def walked(problem: Problem, device, most_left: float = 2.0, shared: int = 1 << 15):
    """Run the walk; returns decided, rank and spares of each pair. `shared`: few warps per block, as all are slow."""
    before, device.shared_block = device.shared_block, shared
    try:
        return problem.run(device, device_bounded_walk, most_left=most_left)
    finally:
        device.shared_block = before


def searched(problem: Problem, device, **tuning):
    """Run the search; returns decided, rank and spares of each pair."""
    return problem.run(
        device, device_branch_and_bound, **{"least_sets": 0.0, "nodes": (4096, 4096), "sets_per_node": 1e-6, **tuning}
    )


both_ways = pytest.mark.parametrize("prune", [walked, searched])


@pytest.mark.parametrize(
    ("prune", "level", "seeds"),
    [*((walked, level, 4) for level in device_bounded_walk.LEVELS), *((searched, level, 2) for level in (2, 3, 5))],
)
def test_every_pair_gets_its_first_separating_set(device, prune, level, seeds):
    for seed in range(seeds):
        problem = random_problem(100 * level + seed, level)
        decided, rank, spares = prune(problem, device)
        if prune is walked:
            gone = (problem.state[problem.source, problem.column] == GONE_A) & (problem.source > problem.column)
            assert not decided[gone].any()
        assert check_first_sets(problem, decided, rank, spares) > 5
        assert problem.counters.bounds > 0


@both_ways
def test_pairs_far_above_the_cutoff_are_dismissed(device, prune):
    """By one node each, or with nearly no tests."""
    C = np.full((12, 12), 0.5) + 0.5 * np.eye(12)
    problem = Problem(C, ~np.eye(12, dtype=bool), 3, 0.01)
    decided, rank, spares = prune(problem, device)
    assert (decided == 1).all()
    assert (rank == NOT_SEPARATED).all()
    if prune is walked:
        assert -problem.counters.spared < 0.1 * spares.sum()  # made; `enter_ranks` adds those spared
    else:
        assert problem.counters.bounds == 12 * 11


@pytest.mark.parametrize("r", [1 - 1e-5, np.nan])
@both_ways
def test_fixed_edges_and_near_singular_rows_are_left_alone(device, prune, r):
    decided, problem = check_left_alone(lambda problem: prune(problem, device), r)
    if prune is searched:
        assert (decided == 1).any()
        assert GONE_A in problem.state


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


def test_gives_up_where_too_much_is_left(device):
    problem = random_problem(300, 3)
    best = problem.best.copy()
    decided, _, _ = walked(problem, device, 1e-9)
    assert not decided.any()
    assert (problem.best == best).all()
    assert problem.open.sum() == (problem.state == LIVE).sum()


def test_rows_that_do_not_fit_shared_memory_are_left_alone(device):
    problem = random_problem(301, 3)
    degrees = np.diff(problem.start)
    widest = int(np.sort(degrees)[len(degrees) // 2])
    need = device_bounded_walk.shared_of_block(widest) + device_bounded_walk.shared_of_warp(widest, 1)
    decided, _, _ = walked(problem, device, shared=outcome.STATIC_SHARED + need)
    narrow = degrees[problem.source] <= widest
    assert not decided[~narrow].any()
    gone = (problem.state[problem.source, problem.column] == GONE_A) & (problem.source > problem.column)
    assert (decided[narrow & ~gone] == 1).all()
    assert device_bounded_walk._fitting(227 << 10, 1024, 2)[0] == 1024
    assert device_bounded_walk._fitting(48 << 10, 1024, 3)[1] == 1


@both_ways
def test_a_run_that_is_stopped_leaves_a_margin_of_every_row(device, prune, monkeypatch):
    """The kernels that are launched already read them, whatever the memory held before."""
    margins, count_left = [], outcome.count_left

    def count(dev, graph, found):
        margins.extend((ctypes.c_double * graph.p).from_address(found.margin))
        count_left(dev, graph, found)

    monkeypatch.setattr(outcome, "count_left", count)
    device.stop[0] = 1
    try:
        decided, _, _ = prune(random_problem(300, 3), device)
    finally:
        device.stop[0] = 0
    assert margins == [0.0] * 11
    assert not decided.any()


@pytest.mark.parametrize("power", [3, 6, 9, 12])
@pytest.mark.parametrize("level", [2, 3, 4])
def test_cutoffs_beside_the_smallest_correlation(device, level, power):
    """Without a doubtful band, so that the search's own margin is all that makes its outcomes certain."""
    sure = 0
    for sign in (-1, 1):
        problem = random_problem(10 * level + power, level, p=9)
        pairs = list(zip(problem.source.tolist(), problem.column.tolist(), strict=True))
        r = [problem.correlations(x, y) for x, y in pairs]
        problem.cutoff, problem.band = float(np.median([v.min() for v in r])) * (1 + sign * 10.0**-power), 0.0
        decided, rank, _ = searched(problem, device)
        sure += int((decided == 1).sum())
        for e in np.flatnonzero(decided == 1):
            if rank[e] == NOT_SEPARATED:
                assert r[e].min() > problem.cutoff
            else:
                assert r[e][rank[e]] <= problem.cutoff
                assert not (r[e][: rank[e]] <= problem.cutoff).any()
    assert sure > len(pairs)


def test_rows_of_hundreds_of_neighbours(device, monkeypatch):
    """A star of 300 variables, of whose pairs eight are tested; the first sets hold members far apart."""
    monkeypatch.setattr(device_branch_and_bound, "CLASSES", ((384, 12, 512),))
    monkeypatch.setattr(device_branch_and_bound, "PAIRS", [("pruning/search_pairs", "search_pairs<12>")])
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
    decided, rank, spares = searched(problem, device)
    at = [y - 1 for y in targets]
    assert decided[at].all()
    assert decided.sum() == len(targets)
    expected = [problem.first_set(0, y) for y in targets]
    assert [(int(rank[e]), int(spares[e])) for e in at] == expected
    assert sum(first != NOT_SEPARATED for first, _ in expected) > 3


def test_pairs_that_take_too_many_nodes_or_questions_are_left(device):
    """A set counts as a node here, so that the pairs have too few nodes to be given away."""
    for tuning in ({"nodes": (1, 1)}, {"questions": (0, 0)}):
        problem = random_problem(300, 3)
        decided, rank, _ = searched(problem, device, sets_per_node=16 * 40.0, **tuning)
        left = decided == 0
        assert left.any()
        assert (rank[~left] == NOT_SEPARATED).all() or "nodes" in tuning
        assert problem.open.sum() == (left & (problem.state[problem.source, problem.column] == LIVE)).sum()


@pytest.mark.parametrize(("seed", "idle"), [(500, 0), (501, 1)])
def test_parts_of_pairs_that_are_given_away(device, seed, idle, monkeypatch):
    """Each node but a few goes through the exchange, and each question about a first set.

    With `idle`, a block seems to wait for work all the time.
    """
    clear = device.cp.cuda.runtime.memsetAsync

    def cleared(to, value, n, stream):
        clear(to, value, n, stream)
        if n == device_branch_and_bound.EXCHANGE_ZEROS:
            ctypes.c_int.from_address(to + 20).value = idle

    monkeypatch.setattr(device.cp.cuda.runtime, "memsetAsync", cleared)
    problem = random_problem(seed, 5, p=12)
    limits = {} if idle else {"nodes": (1, 1), "questions": (0, 0)}
    found = searched(problem, device, few_nodes=0, **limits)
    assert check_first_sets(problem, *found) > 5


def test_a_pair_with_too_many_nodes_in_all_its_parts_is_left(device):
    """Rows of 11 neighbours have 252 sets, for which a pair may take more than 16 nodes, or more than 30."""
    outcomes = []
    for allowed in (16.5, 30.0, 1e9):
        problem = random_problem(501, 5, p=12)
        decided, rank, spares = searched(problem, device, nodes=(1, 1), few_nodes=0, sets_per_node=252 * 64 / allowed)
        outcomes.append(int((decided == 0).sum()))
        for e in np.flatnonzero(decided):
            x, y = int(problem.source[e]), int(problem.column[e])
            assert decided[e] == 1
            assert (int(rank[e]), int(spares[e])) == problem.first_set(x, y)
    assert outcomes[0] > outcomes[1] > outcomes[2]


@pytest.mark.parametrize("later", [0, 1])
def test_checked_pruning_holds_and_a_wrong_one_is_reported(device, monkeypatch, later):
    """Wrong: each first set is one set later than it is."""
    problem, launch = random_problem(300, 3), device_branch_and_bound.launch

    def checked(dev, graph, level, outlook):
        found = launch(dev, graph, level, outlook)
        spares = (ctypes.c_uint64 * outlook.pairs).from_address(found.spares)
        spares[:] = [n + later for n in spares]
        test = gaussian_test(problem.C, 60.0, problem.cutoff)
        outcome.check(dev, test, (graph, level, outlook.pairs), found)
        return found

    monkeypatch.setattr(device_branch_and_bound, "launch", checked)
    with pytest.raises(EngineError, match="a bound is wrong: it says") if later else nullcontext():
        searched(problem, device)


@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_z_of_all_tests_of_each_edge(device, seed, monkeypatch):
    """From what levels 0 and 1 know, the search finds what a run without bounds has seen at the levels from 2 on."""
    monkeypatch.setattr(device_branch_and_bound, "CLASSES", ((64, 2, 256),))
    monkeypatch.setattr(
        device_branch_and_bound,
        "TUNING",
        dataclasses.replace(device_branch_and_bound.TUNING, least_sets=0.0, sets_per_node=1e-6),
    )
    monkeypatch.setattr(device_largest_p_values, "FEW_TESTS", -1.0)
    monkeypatch.setattr(device_largest_p_values, "MANY_TESTS", -1.0)
    C, n, alpha = random_problem(seed, 2, p=12, noise=0.7).C, 300, 0.2
    engine, pending = take(CpuEngine(1, pruning=False), GaussianTest(SuffStat(C, n), alpha)), []
    for level in range(12):
        if level == 2:
            early = engine.state()
        if level >= 2:
            pending.append(
                device_largest_p_values.PendingLevel(level, cutoff(alpha, n, level), *graph_of(engine.state()[:3], 12))
            )
        if not engine.run_level(level).more:
            break
    x, y, expected = engine.state()[:3]
    known = dict(zip(zip(*early[:2], strict=True), early[2], strict=True))
    z = np.array([known[edge] for edge in zip(x, y, strict=True)])
    found, left = device_largest_p_values.Search(device, SuffStat(C, n), x, y, by_rows=False).levels(pending, z)
    assert not left
    assert (z > expected * 1.001).sum() > 3
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("sets_per_node", [8000.0, 1e-12])
def test_pairs_of_which_the_smallest_z_is_not_known_are_named(device, monkeypatch, sets_per_node):
    """Also where the tests of a pair would take longer than any number of nodes; such pairs are not shared."""
    limits = {"least_sets": 0.0, "nodes": (1, 1), "sets_per_node": sets_per_node}
    monkeypatch.setattr(device_branch_and_bound, "CLASSES", ((64, 2, 256),))
    monkeypatch.setattr(
        device_branch_and_bound, "TUNING", dataclasses.replace(device_branch_and_bound.TUNING, **limits)
    )
    monkeypatch.setattr(device_largest_p_values, "FEW_TESTS", -1.0)
    monkeypatch.setattr(device_largest_p_values, "MANY_TESTS", -1.0)
    C = random_problem(0, 2, p=16, noise=0.7).C
    x, y = (v.astype(np.int32) for v in np.nonzero(np.triu(np.ones((16, 16)), 1)))
    pending = [device_largest_p_values.PendingLevel(6, 0.001, *graph_of((x, y), 16))]
    z = z_score(C[x, y], 300, 0)
    found, left = device_largest_p_values.Search(device, SuffStat(C, 300), x[:30], y[:30], by_rows=False).levels(
        pending, z[:30]
    )
    assert (found <= z[:30]).all()
    (level,) = left
    assert level.unknown.sum() == 60


def graph_of(edges, p: int):
    """Neighbour lists of edges x < y: offsets and neighbours."""
    near = np.zeros((p, p), dtype=bool)
    near[edges[0], edges[1]] = near[edges[1], edges[0]] = True
    return np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int64), np.nonzero(near)[1].astype(np.int32)


def test_sizes_are_the_same_on_both_sides(tmp_path):
    wrapper = 'extern "C" long long doubles(int width, int level) { return space_doubles(width, level); }'
    library = library_of(f'#include "common/structures.cuh"\n{wrapper}', tmp_path)
    library.doubles.restype = ctypes.c_longlong
    for width, level in itertools.product((1, 32, 256), (2, 27, 39, 40, 41, 60)):
        assert library.doubles(width, level) == device_branch_and_bound.space_doubles(width, level)
    text = "".join(file.read_text() for file in sorted((KERNELS / "pruning").iterdir()))
    value = {name: int(number) for name, number in re.findall(r"\bconstexpr int (\w+) = (\d+);", text)}
    node, parts = 8 * value["NODE_DOUBLES"], value["PARTS"]
    assert 24 + 8 * parts == device_branch_and_bound.EXCHANGE_ZEROS
    assert device_branch_and_bound.EXCHANGE_ZEROS + parts * (node + 16) == device_branch_and_bound.EXCHANGE_BYTES
    assert value["STACK"] * node == 8 * device_branch_and_bound.STACK_DOUBLES
    assert value["DEPTH"] * node == 8 * device_branch_and_bound.DEPTH_DOUBLES
    assert value["FIRST_DOUBLES"] == device_branch_and_bound.FIRST_DOUBLES
    assert value["MOST_WALKED"] == device_bounded_walk.MOST_WALKED
    assert len(device_branch_and_bound.CLASSES) <= len(structures.Counters().turns)
    for high, slots, block in device_branch_and_bound.CLASSES:
        assert high <= min(32 * slots, 32 * value["WORDS"])
        assert block <= 512


EXAMINE = r"""
#include "cuda_on_host.h"
#include "pruning/work.cuh"
extern "C" int dismissed(const double* R, const double* delta, int d, double cutoff, double margin, int taken, int m) {
    static unsigned high[1024], low[1024];
    static double p[32], x[32], y[32], v[32], W[40 * 33];
    static unsigned short list[32];
    static Node node, other;
    static Factor factor;
    static int verdict;
    for (int i = 0; i < (d + 1) * (d + 1); ++i) {
        unsigned long long b;
        memcpy(&b, R + i, 8);
        high[i] = b >> 32;
        low[i] = (unsigned)b;
    }
    root(d, d - 1, m, node);
    if (taken >= 0) {
        node.kept.drop(taken);
        node.taken.add(taken);
        node.choose = m - 1;
    }
    factor.count = 0;
    host::run({1, 1, 1}, {32, 1, 1}, [&] {
        const Row row = {{high, low}, delta, d, cutoff, margin};
        const Space w = {p, list, &factor, W, x, y, v};
        const Verdict found = examine<1>(row, w, node, other, Threshold{cutoff, nullptr});
        if (lane_id() == 0) verdict = found;
    });
    return verdict == NONE;
}
"""


def test_no_node_is_dismissed_that_a_set_separates_in_exact_arithmetic(tmp_path):
    """The claim of docs/contracts/pruning.md, section 2, for the bound and the tests of a node; as of the CPU in
    engines/cpu/test_pruning.py.

    The bound has g = 0, so that its inequalities are equalities where b is 0.
    """
    found, rng = library_of(EXAMINE, tmp_path).dismissed, np.random.default_rng(3)
    array = np.ctypeslib.ndpointer(np.float64)
    found.argtypes = [array, array, ctypes.c_int, ctypes.c_double, ctypes.c_double, ctypes.c_int, ctypes.c_int]

    def dismissed(M, m, c, taken):
        d = len(M) - 1
        order = [*range(d - 1), d, d - 1]  # x last
        R, delta = np.ascontiguousarray(M[np.ix_(order, order)]), find_delta(M[np.ix_(order[:-1], order[:-1])])
        least = min(delta.min(), 1.0 / np.linalg.inv(R)[d, d])
        return bool(found(R, delta, d, c, 1e-9 / least**1.5, 0 if taken else -1, m))

    sizes = itertools.product((3, 4), (0, 2), (0.0, 0.2), (0.3, 0.5))
    cases = [(tight(m + more, m, r, of_a, 0.0, 0.5), m) for m, more, r, of_a in sizes]
    near = total = 0
    for k, (M, m) in enumerate([*cases, *problems(5, 60)]):
        m, taken = max(m, 3), k % 3 == 0
        for step in range(6 if len(M) >= m + 2 else 0):
            beside = nudged(rng, M, 0.03 * 0.5**step) if step else M
            r, T = smallest_r(beside, m, (0,) if taken else ())
            c = abs(r) + ABOVE
            if r > 0.0:
                assert not dismissed(beside, m, c, taken) or is_above(beside, T, c), (beside.tolist(), m, c, T)
                near += dismissed(beside, m, r - 1e-3, taken)
                total += 1
    assert near > total / 6


def test_gives_up_where_it_does_not_pay(device):
    problem = random_problem(300, 3)
    decided, _, _ = searched(problem, device, sets_per_node=1e9, trial=(0.0, 0.0), nodes=(4096, 4096))
    assert (decided == 0).sum() > len(decided) / 2
