"""`pc` with tiers, context variables and forbidden arrows: tpc's recorded answers, the oracle, a live tpc."""

import os
import pickle
from itertools import combinations

import numpy as np
import pytest
from benchmarks.peers import has_r_package
from common import assert_same, refused
from markov_classes import d_separated
from orientation_cases import noise_test as noise
from tiers_cases import live_tpc, random_problem, recorded
from tiers_oracle import later, tpc

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.suffstat import SuffStat

N_CASES = int(os.environ.get("PYCUPC_LIVE_CASES", "40"))
SEED = int(os.environ.get("PYCUPC_LIVE_SEED", "1"))
KNOWN = ("tiers", "context_all", "context_tier", "forbidden")


def fit(problem, engine="auto", **more):
    """`pc` on a problem of tiers_cases."""
    arguments = {name: problem[name] for name in (*KNOWN, "alpha", "m_max") if name in problem}
    if not arguments.keys() & set(KNOWN):
        arguments["tiers"] = [1] * problem["p"]
    data = {"suffStat": problem["seed"], "indepTest": noise, "p": problem["p"]}
    if "C" in problem:
        data = {"suffStat": SuffStat(problem["C"], problem["n"]), "engine": engine}
    return pycupc.pc(**data, **arguments, conservative=not problem["maj_rule"], **more)


def one_test(problem):
    if "C" in problem:
        data = SuffStat(problem["C"], problem["n"])
        return lambda x, y, S: gaussCItest(x, y, S, data)
    return lambda x, y, S: noise(x, y, S, problem["seed"])


def want(problem, test=None, **more):
    names = (*KNOWN, "alpha", "m_max", "maj_rule")
    return tpc(test or one_test(problem), problem["p"], **{k: problem[k] for k in names if k in problem}, **more)


def assert_answer(got, answer, note=""):
    np.testing.assert_array_equal(got.graph, answer.graph, err_msg=note)
    assert got.n_edgetests == list(answer.counts), note
    assert got.max_ord == answer.max_ord, note
    assert got.sepset.cells() == answer.cells, note
    np.testing.assert_allclose(got.pMax, answer.pMax, rtol=1e-6, err_msg=note)


@pytest.mark.parametrize("number", range(len(recorded())))
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_recorded_answers_of_tpc(number, engine):
    problem, answer = recorded()[number]
    answer.pMax = np.where(np.array(answer.pMax) < 0, -np.inf, answer.pMax)
    assert_answer(fit(problem, engine), answer)


def test_oracle_on_noise():
    rng = np.random.default_rng(SEED)
    for _ in range(N_CASES):
        problem = random_problem(rng)
        assert_answer(fit(problem), want(problem), str(problem))


def test_oracle_on_samples():
    rng = np.random.default_rng(SEED + 1)
    for _ in range(N_CASES // 2):
        problem = random_problem(rng, gaussian=True)
        got = fit(problem, "cpu")
        assert_answer(got, want(problem), str(problem))
        assert_same(got, fit(problem, "reference"))


def without_some_tiers(rng, problem):
    """The problem with variables that have no tier; context variables of a tier keep theirs."""
    p, kept = problem["p"], problem.get("context_tier", [])
    tiers = problem.get("tiers", rng.integers(1, 4, p).tolist())
    problem["tiers"] = [None if rng.random() < 0.4 and v not in kept else tier for v, tier in enumerate(tiers)]
    numbers = [tier for tier in problem["tiers"] if tier is not None]
    first = [v for v in problem.get("context_all", []) if problem["tiers"][v] in (None, min(numbers, default=None))]
    return problem | {"context_all": first}


def test_variables_without_a_tier():
    rng, free = np.random.default_rng(SEED + 3), 0
    for k in range(2 * N_CASES):
        problem = without_some_tiers(rng, random_problem(rng, gaussian=k % 2 == 0))
        got = fit(problem, "cpu" if "C" in problem else "auto")
        assert_answer(got, want(problem), str(problem))
        free += any(tier is None for tier in problem["tiers"])
        if "C" in problem:
            assert_same(got, fit(problem, "reference"))
    assert free > N_CASES


def test_no_variable_has_a_tier_as_without_tiers():
    rng = np.random.default_rng(SEED + 4)
    for _ in range(10):
        problem = random_problem(rng)
        problem = {name: value for name, value in problem.items() if name not in KNOWN}
        one, none = ({**problem, "tiers": [tier] * problem["p"]} for tier in (1, None))
        assert_same(fit(one), fit(none))


def test_the_sets_suffice_where_some_variables_have_no_tier():
    """With the truth as test the edges are the edges of the DAG, whose arrows tiers allow one by one."""
    rng, back = np.random.default_rng(SEED + 5), 0
    for _ in range(N_CASES):
        p = 7
        tiers = [None if rng.random() < 0.4 else int(rng.integers(3)) for _ in range(p)]
        order = rng.permutation(p)
        dag = np.zeros((p, p), dtype=bool)
        dag[np.ix_(order, order)] = np.triu(rng.random((p, p)) < 0.4, 1)
        for a, b in np.argwhere(dag).tolist():
            dag[a, b] = not later(tiers, a, b)
        reach = np.linalg.matrix_power(np.eye(p) + dag, p) > 0
        back += any(reach[a, b] and later(tiers, a, b) for a in range(p) for b in range(p))
        got = pycupc.pc(dag, lambda x, y, S, dag: float(d_separated(dag, x, y, S)), 0.5, p=p, tiers=tiers)
        np.testing.assert_array_equal(got.skeleton, dag | dag.T)
        arrows = np.argwhere((got.graph > 0) & ~(got.graph.T > 0)).tolist()
        assert all(dag[tail, head] for tail, head in arrows)
    assert back > 2  # a path through a variable without a tier may lead back


def test_live_tpc(rscript, tmp_path):
    if not has_r_package("tpc"):
        pytest.skip("R has no package tpc")
    rng = np.random.default_rng(SEED + 2)
    problems = [random_problem(rng, gaussian=k % 4 == 0) for k in range(N_CASES)]
    for problem, answer in zip(problems, live_tpc(rscript, tmp_path, problems), strict=True):
        assert answer.error is None, problem
        assert_answer(fit(problem, "cpu"), answer, str(problem))


@pytest.mark.parametrize(
    ("tiers", "graph"), [([1, 2, 2], [[0, 1, 0], [0, 0, 1], [0, 1, 0]]), ([2, 2, 1], [[0, 1, 0], [1, 0, 0], [0, 1, 0]])]
)
def test_a_side_with_all_neighbours_in_later_tiers_makes_no_test(tiers, graph):
    """The empty set and b separate: one set of two has b, so that the triple is ambiguous. Answers of tpc."""
    C = np.array([[1, 0.4, 0.12], [0.4, 1, 0.4], [0.12, 0.4, 1]])
    assert pycupc.pc({"C": C, "n": 100}, alpha=0.05, tiers=tiers).graph.tolist() == graph


def test_calls_in_the_order_of_tpc():
    rng = np.random.default_rng(3)
    problem = random_problem(rng) | {"p": 6, "tiers": [1, 2, 1, 2, 3, 1], "alpha": 0.9, "m_max": np.inf}
    for name in ("context_all", "context_tier", "forbidden"):
        problem.pop(name, None)
    calls, oracle = [], []

    def test(x, y, S, _):
        calls.append((x, y, S))
        return noise(x, y, S, 5)

    def asked(x, y, S):
        oracle.append((x, y, S))
        return noise(x, y, S, 5)

    fit_ = pycupc.pc(None, test, 0.9, p=6, tiers=problem["tiers"])
    tpc(asked, 6, 0.9, problem["tiers"])
    n = sum(fit_.n_edgetests)
    assert calls[:n] == oracle[:n]
    assert sorted(calls[n:]) == sorted(oracle[n:])


def test_largest_p_values_where_bounds_answer_tests(tmp_path):
    rng = np.random.default_rng(0)
    B = np.tril((rng.random((25, 25)) < 0.4) * rng.uniform(0.2, 1, (25, 25)), -1)
    X, how = rng.standard_normal((2000, 25)) @ np.linalg.inv(np.eye(25) - B).T, {"alpha": 0.05, "m_max": 4}

    def run(pruning, **more):
        options = {"engine": "cpu", "engine_options": {"pruning": pruning}}
        return pycupc.skeleton(X, **how, **more, **options, tiers=[1] * 12 + [2] * 13)

    made, found = run(False), run("always")
    assert found.p_values.deferred
    assert (found.p_values.edge_p.met() < made.p_values.edges - 1e-6).any()
    kept = [run("always", checkpoint=tmp_path) for _ in range(2)]  # the second one resumes after the last level
    for fit in (pickle.loads(pickle.dumps(found)), *kept, found):
        assert_same(fit, made)
        np.testing.assert_allclose(fit.pMax, made.pMax, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_test_without_p_value_counts_as_independent_in_the_rule_as_in_tpc(seed):
    class Batched:
        def batch(self, x, y, S):
            return np.array([single(*asked) for asked in zip(x, y, S.tolist(), strict=True)])

    def single(x, y, S, _=None):
        p = noise(min(x, y), max(x, y), tuple(sorted(S)), seed)
        return np.nan if p > 0.95 else p

    def with_one(x, y, S):
        return 1.0 if np.isnan(single(x, y, S)) else single(x, y, S)

    tiers = [1, 1, 1, 1, 2, 1]
    want_ = tpc(with_one, 6, 0.95, tiers).graph.tolist()
    for test in (single, Batched()):
        assert pycupc.pc(None, test, 0.95, p=6, tiers=tiers).graph.tolist() == want_


def test_gaps_fixed_edges_and_required_arrows():
    rng = np.random.default_rng(SEED + 4)
    for _ in range(N_CASES):
        problem = random_problem(rng)
        p = problem["p"]
        gaps, fixed = (np.triu(rng.random((p, p)) < 0.15, 1) for _ in range(2))
        gaps, fixed = gaps | gaps.T, fixed | fixed.T
        tiers, required = problem.get("tiers", [1] * p), []
        for a, b in rng.integers(0, p, (2, 2)).tolist():
            if tiers[a] < tiers[b] and not gaps[a, b]:
                required.append((a, b))
        for name in ("context_all", "context_tier", "forbidden"):
            problem.pop(name, None)
        known = pycupc.Knowledge(tiers, required=required)
        got = fit(problem | {"tiers": known}, fixedGaps=gaps, fixedEdges=fixed)
        assert_answer(got, want(problem, gaps=gaps, fixed=fixed, required=required), str((problem, gaps, fixed)))


def test_discrete_data():
    rng = np.random.default_rng(6)
    x = rng.integers(0, 2, 800)
    columns = [x, (x + (rng.random(800) < 0.2)) % 2, rng.integers(0, 2, 800)]
    columns += [(columns[1] + (rng.random(800) < 0.2)) % 2, (columns[1] + columns[2] + (rng.random(800) < 0.1)) % 2]
    data, tiers = DiscreteSuffStat(np.column_stack(columns), [2] * 5), [1, 2, 1, 3, 2]
    answer = tpc(lambda x, y, S: disCItest(x, y, S, data), 5, 0.05, tiers)
    for engine in ("cpu", "reference"):
        got = pycupc.pc(data, disCItest, 0.05, tiers=tiers, engine=engine)
        assert_answer(got, answer)
        assert got.n_edgetests[1] > 0


def test_nothing_points_to_an_earlier_tier_and_reasons_say_why():
    problem, _ = next(case for case in recorded() if "C" in case[0] and len(set(case[0].get("tiers", ()))) > 1)
    got = fit(problem)
    later = np.subtract.outer(problem["tiers"], problem["tiers"]) > 0
    assert not got.graph[later].any()
    between = [pair for pair, reason in got.trace.items() if reason[0] == "tier"]
    assert between
    assert "its arrow follows from the tiers" in str(got.why(*between[0]))
    assert got.notes["known_before"].startswith(f"{len(set(problem['tiers']))} tiers")


def test_one_tier_is_pc_with_the_majority_rule_and_conflicts_solved():
    rng = np.random.default_rng(8)
    for _ in range(10):
        problem = {k: v for k, v in random_problem(rng, gaussian=True).items() if k not in KNOWN}
        got = fit(problem)
        data, rule = SuffStat(problem["C"], problem["n"]), {"maj_rule": problem["maj_rule"]}
        rule |= {"conservative": not problem["maj_rule"], "solve_confl": True}
        plain = pycupc.pc(data, alpha=problem["alpha"], m_max=problem["m_max"], **rule)
        np.testing.assert_array_equal(got.graph, plain.graph)
        assert got.n_edgetests == plain.n_edgetests
        assert got.sepset == plain.found_sepset  # tpc leaves the sets alone


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"tiers": [1, 2]}, "tiers must have a number for each of the 3 variables, None for one without a tier, got 2"),
        ({"tiers": [1, 1, 1], "u2pd": "retry"}, "need u2pd='relaxed', got u2pd='retry'"),
        ({"context_all": [0], "context_tier": [0]}, "context_all and context_tier both have a"),
        ({"tiers": [1, 2, 2], "context_all": ["b"]}, "context_all must be in the first tier, got b"),
        ({"forbidden": np.zeros((2, 2))}, r"forbidden must have shape \(3, 3\), got \(2, 2\)"),
        ({"tiers": pycupc.Knowledge(forbidden=[("a", "b")]), "forbidden": [("a", "b")]}, "forbidden is given twice"),
        ({"tiers": pycupc.Knowledge(required=[("a", "b")]), "fixedGaps": [("a", "b")]}, "required arrow a --> b"),
    ],
)
def test_wrong_arguments(arguments, text):
    refused(text, pycupc.pc, {"C": np.eye(3), "n": 50}, labels=["a", "b", "c"], **arguments)


def test_all_pairs_are_gaps():
    got = pycupc.pc(1, noise, 0.5, p=3, forbidden=~np.eye(3, dtype=bool))
    assert (got.n_edgetests, got.max_ord) == ([0], -1)
    assert np.isneginf(got.pMax[0, 1])


@pytest.mark.parametrize("problem", [problem for problem, _ in recorded() if "C" in problem])
def test_the_tests_that_a_kept_edge_survived(problem):
    got = fit(problem, "cpu")
    for a, b in zip(got.sparse_graph.low.tolist(), got.sparse_graph.high.tolist(), strict=True):
        why, made = got.why(a, b), want_tests(problem, a, b)
        if why.status == "kept" and len(made):
            tests = dict(made)
            assert why.n_tests == len(made)
            assert why.p == pytest.approx(max(tests.values()), rel=1e-6)
            assert tests[tuple(got.labels.index(v) for v in why.S)] == pytest.approx(why.p, rel=1e-6)


def want_tests(problem, a, b):
    """The tests of a pair in the run of the oracle: (set, p)."""
    made, test = [], one_test(problem)

    def asked(x, y, S):
        if {x, y} == {a, b}:
            made.append((S, test(x, y, S)))
        return test(x, y, S)

    want(problem, asked)
    return made


def test_an_edge_without_a_possible_direction(tmp_path):
    forbidden = np.zeros((3, 3), dtype=bool)
    forbidden[0, 1] = True
    C = np.array([[1, 0.7, 0.5], [0.7, 1, 0.7], [0.5, 0.7, 1]])
    got = pycupc.pc({"C": C, "n": 100}, tiers=[1, 2, 3], forbidden=forbidden)
    assert got.notes["edges_without_direction"] == 1
    assert got.sepset.get(0, 1) is None
    assert "excludes both of its directions" in str(got.why(0, 1))
    assert got.pMax[0, 1] > 0
    edges = got.edges()
    np.testing.assert_array_equal(edges["pMax"], [got.pMax[1, 2]])
    assert got.why(1, 2).n_tests == 2 + 2
    got.save(tmp_path / "fit.npz")
    back = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    assert back == got
    assert dict(back.trace) == dict(got.trace) == {(1, 2): ("tier", 1, 2)}
    np.testing.assert_array_equal(back.pMax[2], got.pMax[2])  # but for the edge that is gone
    assert back.sepset.cells() == got.sepset.cells() == {(2, 0): (1,)}
    assert [str(back.why(*pair)) for pair in ((0, 1), (1, 2))] == [str(got.why(*pair)) for pair in ((0, 1), (1, 2))]


class Elsewhere:
    """Noise as a `PairTest`, which takes the pairs of a row at a time."""

    def __init__(self, seed):
        self.seed, self.n_calls = seed, 0

    def __call__(self, x, y, S, _):
        return noise(x, y, S, self.seed)

    def search(self, level, wanted, alpha, na_p):
        self.n_calls += 1
        out, gone = [], set()
        for x, y, candidates in wanted:
            n, largest, separated = 0, -np.inf, False
            for S in combinations(candidates, level) if (y, x) not in gone else ():
                n, p = n + 1, noise(x, y, S, self.seed)
                largest = max(largest, p)
                if separated := p >= alpha:
                    break
            out.append((n, separated, largest))
            gone |= {(x, y)} if separated else set()
        return out


def test_a_test_in_another_language_takes_many_pairs_at_a_time():
    problem = {"p": 7, "seed": 21, "alpha": 0.9, "maj_rule": True, "tiers": [1, 2, 1, 3, 2, 1, 2]}
    want_ = fit(problem)
    test = Elsewhere(21)
    got = pycupc.pc(None, test, 0.9, p=7, tiers=problem["tiers"])
    assert_same(got, want_)
    np.testing.assert_array_equal(got.pMax, want_.pMax)
    assert test.n_calls < 100 < sum(got.n_edgetests)


def test_the_skeleton_alone():
    """Its edges are those of `pc`, and those that `pc` drops since both directions are impossible."""
    dropped = 0
    for problem, _ in recorded():
        if "C" not in problem:
            continue
        known = {name: problem[name] for name in KNOWN if name in problem} or {"tiers": [1] * problem["p"]}
        options = {name: problem[name] for name in ("alpha", "m_max") if name in problem}
        whole, alone = fit(problem, "cpu"), pycupc.skeleton(SuffStat(problem["C"], problem["n"]), **options, **known)
        low, high = whole.sparse_graph.low, whole.sparse_graph.high
        lost = {tuple(pair) for pair in whole.tiers.lost.tolist()}
        edges = set(zip(alone.sparse_graph.low.tolist(), alone.sparse_graph.high.tolist(), strict=True))
        assert edges == {*zip(low.tolist(), high.tolist(), strict=True)} | lost
        assert alone.n_edgetests == whole.n_edgetests
        assert alone.edge_counts() == (0, len(edges), 0)
        assert alone.notes["known_before"] == whole.notes["known_before"]
        dropped += len(lost)
    assert dropped
