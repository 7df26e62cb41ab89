"""Faults of pcalg's fci and rfci (docs/contracts/latent.md, section 6): each is there with quirks, and not without."""

import numpy as np
import pytest
import rfci_oracle
from fci_cases import fitted, random_problem
from latent_cases import oriented
from orientation_cases import noise_test
from rfci_problems import oracle_of, rules_of_rfci, skeleton_of
from rfci_problems import random_problem as random_skeleton

import pycupc


def test_the_sets_that_a_row_records():
    """With quirks the set of the last neighbour and that neighbour, without them Possible-D-SEP itself."""
    rng, differing = np.random.default_rng(5), 0
    for _ in range(8):
        case = random_problem(rng) | {"arguments": {}}
        pcalgs, right = (fitted(case, quirks=quirks) for quirks in (True, False))
        removed = {*zip(pcalgs.later.x.tolist(), pcalgs.later.y.tolist(), strict=True)}
        graph = pcalgs.skeleton_fit.sparse_graph
        for x, (got, pds) in enumerate(zip(pcalgs.all_pdsep, right.all_pdsep, strict=True)):
            near = [y for y in range(graph.p) if graph.adjacent(x, y) and (y, x) not in removed]
            assert got.tolist() == [*(v for v in pds.tolist() if v != near[-1]), near[-1]] if near else not len(got)
            differing += got.tolist() != pds.tolist()
    assert differing > 10


def marked(*edges: str, p: int = 5) -> np.ndarray:
    """A matrix of marks of edges such as "0o>1"."""
    M = np.zeros((p, p), dtype=int)
    for text in edges:
        (a, at_a, at_b, b), mark = text, {"o": 1, "<": 2, ">": 2, "-": 3}
        M[int(a, 36), int(b, 36)], M[int(b, 36), int(a, 36)] = mark[at_b], mark[at_a]
    return M


def both(M, number: int, **more) -> list[np.ndarray]:
    """What one rule makes of the marks, with quirks and without."""
    rules = tuple(k == number for k in range(1, 11))
    case = {"M": M, "cells": {}, "rules": rules, "ambiguous": set(), "colliders": False} | more
    return [oriented(case, quirks)[0] for quirks in (True, False)]


#: 2 and 5 are adjacent, so that 1, 2, 4, 5 is covered; 1, 3, 6, 4, 5 is not, but 4 is met by way of 2 first.
DETOUR = ("0oo1", "1oo2", "2oo4", "1oo3", "3oo6", "6oo4", "2<o5")


@pytest.mark.parametrize(
    ("rule", "edges", "at"),
    [
        (9, (*DETOUR, "4o>5", "0o>5"), (5, 0)),
        (10, (*DETOUR, "4oo5", "0oo7", "0o>8", "5->8", "7->8"), (8, 0)),
        # 0, 1, 2, 4, 3 and 0, 5, 6, for the parents 3 and 6 of 1: no path passes over the end
        (10, ("0o>1", "1oo2", "2oo4", "4oo3", "3->1", "0oo5", "5oo6", "6->1"), (1, 0)),
    ],
)
def test_a_rule_misses_a_path(rule, edges, at):
    pcalgs, right = both(marked(*edges, p=9), rule)
    assert (pcalgs[at], right[at]) == (1, 3)


def test_rule_10_takes_the_steps_only():
    """0, 2 and 0, 3 make an ambiguous triple; 0, 2 and 0, 4, 5, 3 do not."""
    M = marked("0o>1", "0oo2", "0oo3", "2->1", "3->1", "0oo4", "4oo5", "5oo3", p=6)
    for ambiguous, found in ((set(), 3), ({(2, 0, 3)}, 1)):
        pcalgs, right = both(M, 10, ambiguous=ambiguous)
        assert (pcalgs[1, 0], right[1, 0]) == (found, 3)


def test_rule_5_misses_a_cycle():
    """A cycle 2, 3, ..., 13 with a detour over 0 and another one over 1, which are covered."""
    cycle = range(2, 14)
    M = np.zeros((14, 14), dtype=int)
    for u, v in zip(cycle, (*cycle[1:], 2), strict=True):
        M[u, v] = M[v, u] = 1
    around = np.where(M, 3, 0)
    for v in cycle:
        detour = int(v > 7)
        M[v, detour], M[detour, v] = 1, 1 if v in (3, 6, 9, 12) else 2
    pcalgs, right = both(M, 5)
    np.testing.assert_array_equal(pcalgs, M)
    np.testing.assert_array_equal(right, np.where(around, around, M))


def test_the_last_triple_of_a_cycle():
    square = marked("0oo1", "1oo2", "2oo3", "3oo0", p=4)
    for triple in ((1, 0, 3), (0, 1, 2), (1, 2, 3), (0, 3, 2)):
        pcalgs, right = both(square, 5, ambiguous={triple})
        np.testing.assert_array_equal(pcalgs, np.where(square, 3, 0))
        np.testing.assert_array_equal(right, square)


def test_a_triple_that_is_none_of_the_path():
    M = marked("0o>3", "0oo1", "1oo2", "2oo3", p=4)
    for ambiguous, closed in ((set(), False), ({(0, 3, 2)}, True)):
        pcalgs, right = both(M, 9, ambiguous=ambiguous)
        assert right[3, 0] == 3
        assert pcalgs[3, 0] == (1 if closed else 3)


def asked_of(table):
    """A test that finds the independencies of a table {(x, y): sets}, x < y."""

    def test(x, y, S, _):
        return float(tuple(sorted(S)) in table.get((min(x, y), max(x, y)), ()))

    return test


def test_a_set_outside_the_component():
    """With biCC: 3, beyond the collider 2, separates 0 and 1, whose component is 0, 1, 4."""
    table = {(x, 3): [()] for x in (0, 1)} | {(3, 4): [()], (1, 2): [(0,)], (2, 4): [(0,)], (0, 1): [(3,)]}
    fits = {quirks: pycupc.fci(None, asked_of(table), 0.5, p=5, biCC=True, quirks=quirks) for quirks in (True, False)}
    assert [fits[quirks].sparse_graph.adjacent(0, 1) for quirks in (True, False)] == [False, True]
    assert fits[True].sepset[0, 1] == (3,)


#: The set of 0 and 2 separates 0 and 1, which makes the triple 0 - 3 - 1, whose set separates 0 and 3.
TWO_REMOVALS = {(0, 4): [()], (1, 4): [()], (3, 4): [()], (2, 3): [()]}
TWO_REMOVALS |= {(0, y): [(4,)] for y in (1, 2, 3)}


def test_triples_made_by_removals():
    found = {q: pycupc.rfci(None, asked_of(TWO_REMOVALS), 0.5, p=5, quirks=q) for q in (True, False)}
    gone = {q: list(zip(fit.later.x.tolist(), fit.later.y.tolist(), strict=True)) for q, fit in found.items()}
    assert gone == {True: [(0, 1)], False: [(0, 1), (0, 3)]}
    assert [found[q].skeleton_fit.skeleton[0, 3] for q in (True, False)] == [True, True]


def test_fixed_edges():
    fixed = np.zeros((5, 5), dtype=bool)
    fixed[0, 1] = fixed[1, 0] = True
    options = {"alpha": 0.5, "p": 5, "fixedEdges": fixed}
    assert not pycupc.rfci(None, asked_of(TWO_REMOVALS), quirks=True, **options).sparse_graph.adjacent(0, 1)
    assert pycupc.rfci(None, asked_of(TWO_REMOVALS), **options).sparse_graph.adjacent(0, 1)


@pytest.mark.parametrize("NAdelete", [True, False])
def test_a_test_without_an_answer(NAdelete):
    """It counts as NAdelete says; pcalg stops with an error of R."""

    def test(x, y, S, _):
        return np.nan if (min(x, y), max(x, y), S) == (0, 1, (4,)) else asked_of(TWO_REMOVALS)(x, y, S, _)

    fit = pycupc.rfci(None, test, 0.5, p=5, NAdelete=NAdelete)
    assert fit.sparse_graph.adjacent(0, 1) != NAdelete


#: 0 *-> 1 <-> 2 <-> 3, a discriminating path for 3 and 4.
LONG_PATH = {
    "M": marked("0o>1", "1<>2", "2<o3", "1->4", "2->4", "3oo4"),
    "cells": {(0, 4): (1, 2), (0, 2): (1,), (0, 3): (), (1, 3): (2,)},
    "rules": tuple(k == 4 for k in range(1, 11)),
    "ambiguous": set(),
    "test": (0, 0.5),
}


def test_edges_inside_a_long_path():
    """Of 0 - 1 - 2 - 3 - 4 pcalg tests 0 - 1 - 3 - 4."""
    test = asked_of({(2, 3): [(1,)]})
    cut = {}
    for quirks in (True, False):
        got, want, _ = rules_of_rfci(LONG_PATH, quirks, test)
        np.testing.assert_array_equal(got, want)
        cut[quirks] = got[2, 3] == 0
    assert cut == {True: False, False: True}


def test_an_endless_search_ends():
    """1 and 3 are no neighbours: pcalg finds them independent, has nothing to remove, and finds the same path again."""
    test = asked_of({(1, 3): [(2,)]})
    got, want, n_cut = rules_of_rfci(LONG_PATH, True, test)
    np.testing.assert_array_equal(got, want)
    assert n_cut == 2
    np.testing.assert_array_equal(got, marked("0o>1", "1<>2", "2<>3", "1->4", "2->4", "3<>4"))


@pytest.mark.parametrize(
    ("spared", "seed", "rule"),
    [("neighbours", 399, ""), ("rule", 163, "conservative"), ("unseparated", 427, "conservative")],
)
def test_after_a_path_has_lost_an_edge(spared, seed, rule):
    """Which new triples there are, the rule, and what becomes of triples whose ends no set separates."""
    rng = np.random.default_rng(seed)
    (A, cells), alpha = random_skeleton(rng, 8), float(rng.choice([0.7, 0.85, 0.95]))
    marks = []
    for part in ("", spared):
        oracle = oracle_of(A, cells, seed, alpha, rule=rule)
        oracle.spared = part
        rfci_oracle.orient_triples(oracle, rfci_oracle.unshielded(A))
        rfci_oracle.RfciPag(oracle).run()
        marks.append(oracle.A)
    how = {"conservative": bool(rule), "quirks": True, "skeleton": skeleton_of(A, cells, seed, alpha)}
    fit = pycupc.rfci(seed, noise_test, alpha, p=len(A), **how)
    np.testing.assert_array_equal(fit.sparse_graph.amat_pag(), marks[0])
    assert (marks[0] != marks[1]).any()


def test_rule_10_of_rfci():
    """0, a parent of 3, is the end of its path already; pcalg's rfci knows that only if 2 were the other parent."""
    rules = tuple(k == 10 for k in range(1, 11))
    M = np.array([[0, 3, 0, 2, 3], [1, 0, 1, 2, 0], [0, 3, 0, 3, 1], [3, 1, 1, 0, 3], [1, 0, 1, 2, 0]])
    case = {"M": M, "cells": {}, "rules": rules, "ambiguous": set(), "test": (0, 2.0)}
    of_fci = both(M, 10)
    of_rfci = [rules_of_rfci(case, quirks)[0] for quirks in (True, False)]
    assert [found[3, 1] for found in (*of_fci, *of_rfci)] == [3, 3, 1, 3]


def test_a_result_says_what_the_faults_have_changed():
    """In its notes, of marks in the sentence of each language; nothing where all was right."""
    rng, seen = np.random.default_rng(4), set()
    for _ in range(60):
        case = random_problem(rng) | {"arguments": {}}
        fit = fitted(case, engine="cpu")
        right = fitted(case, engine="cpu", quirks=False)
        assert fit.notes.get("tests_not_counted", 0) == sum(fit.later.n_tests) - sum(fit.n_edgetests_pdsep)
        differ = int((fit.sparse_graph.amat_pag() != right.sparse_graph.amat_pag()).sum())
        if differ:
            assert fit.notes["faults"].startswith(f"faults of pcalg have changed {differ} marks; quirks=False")
        assert ("faults" in fit.notes) == (differ > 0)
        assert not {"faults", "tests_not_counted"} & right.notes.keys()
        seen.add("tests_not_counted" in fit.notes)
    assert seen == {True, False}
