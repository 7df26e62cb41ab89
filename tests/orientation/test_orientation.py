"""Orientation as a whole: the rules written out literally, small and empty graphs; recorded answers: test_golden.py."""

import subprocess
import sys

import numpy as np
import pytest

from pycupc.system import jit

from orientation_cases import (  # isort: skip
    Cells, check_dense, noise_test, orient_dense, random_case,
)  # fmt: skip
from orientation_cases import check_against_contract

# The rules written out literally


VARIANTS = {"relaxed": {}, "solve_confl": {"solve_confl": True}, "rand": {"u2pd": "rand"}, "retry": {"u2pd": "retry"}}
#: Rule 3 on edges that the same pass has directed; the gap of rule 3 appears last.
MEMORABLE = (2974, 3261, 15545, 18406)


def test_compiled_orientation_equals_the_contract_written_out():
    """Every variant, with and without ambiguous triples."""
    seen = set()
    for seed in [*range(250), *range(500, 750), *MEMORABLE]:
        skeleton, cells, ambiguous = random_case(np.random.default_rng(seed))
        for name, options in VARIANTS.items():
            for skipped in [set(), ambiguous] if ambiguous and "u2pd" not in options else [set()]:
                more = {**options, "ambiguous": skipped, "random_state": seed}
                found = check_against_contract(skeleton, cells, f"{seed} {name}", **more)
                seen |= {*found, *((name, status) for status in found)}
    assert seen >= {"collider", "R1", "R2", "R3"}
    assert seen >= {("retry", status) for status in ("extendable", "reoriented", "forced", "random")}


@pytest.mark.parametrize("plain", [False, True])
def test_small_graphs_are_oriented_without_compiling(plain, monkeypatch):
    """The same source as plain Python: the same graph, also with more than 64 variables, namely 65."""
    monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", 1e9 if plain else -1)
    for seed in range(24):
        skeleton, cells, ambiguous = random_case(np.random.default_rng(seed), p_max=90 if seed == 8 else 12)
        for name, options in VARIANTS.items():
            if len(skeleton) <= 12 or "u2pd" not in options:
                more = {**options, "random_state": seed, "ambiguous": ambiguous if "u2pd" not in options else set()}
                check_against_contract(skeleton, cells, f"{seed} {name}", **more)


def test_empty_graphs():
    for p in (0, 1, 4):
        none = np.zeros((p, p), dtype=bool)
        for u2pd in ("relaxed", "rand", "retry"):
            got = orient_dense(none, Cells({}), u2pd=u2pd)
            assert got.graph.dtype == np.int8
            assert got.graph.shape == (p, p)
            assert not got.graph.any()
        check = check_dense(none, Cells({}), None, None, 0.05, maj_rule=False, indep_test=noise_test)
        assert (check.ambiguous, check.sepset_changes, check.decisions) == (frozenset(), {}, {})


def test_nothing_is_left_to_compile_after_compile_ahead():
    code = """
import threading
import time
import numpy as np
from numba.core import event
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import compile_ahead, orient

compile_ahead()
while threading.active_count() > 1:  # the thread starts others
    time.sleep(0.01)
compiled = []
listener = event.RecordingListener()
x, y = np.triu_indices(300, 1)
edge = np.random.default_rng(0).random(len(x)) < 0.1
graph = SparseGraph.undirected(300, x[edge], y[edge])
size = 1 + np.arange(np.count_nonzero(~edge)) % 2
members = np.random.default_rng(1).integers(0, 300, size.sum())
of_pairs = (v.astype(np.int32) for v in (x[~edge], y[~edge], size, members))
with event.install_listener("numba:compile", listener):
    oriented = orient(graph, SepSets.from_flat(graph, FlatCells(*of_pairs)))
assert len(oriented.trace) > 100
print(len(listener.buffer))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n", done.stderr
