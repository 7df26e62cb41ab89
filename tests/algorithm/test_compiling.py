"""Which functions are compiled: all by `compile_everything`, few by a small run."""

import subprocess
import sys

import pytest

_CODE = """
import gc
from numba.core.dispatcher import Dispatcher
from pycupc.algorithm.compiling import compile_everything
from pycupc.engines.cpu.turn_walk import take_turns
from pycupc.independence.deciding import kinds, run_tests
from pycupc.independence.mixed.decisions import Complete, Imputed

parts = []
compile_everything(parts.append)
assert "tiers" in parts and "RCoT" in parts
ours = [d for d in gc.get_objects() if isinstance(d, Dispatcher) and d.py_func.__module__.startswith("pycupc")]
ours = [d for d in ours if "compile" in vars(d)]  # of `compiled`; others are compiled into their callers
assert len(ours) > 40
for by_family, others in (run_tests, {Complete, Imputed}), (take_turns, set()):  # these are made by kind of variable
    compiled = {signature[0].instance_class for signature in by_family.signatures}
    assert len(kinds()) >= 4 and compiled == kinds() - others, (by_family, kinds() - compiled)
print(sorted(d.py_func.__name__ for d in ours if not d.signatures))
"""


@pytest.mark.slow
def test_nothing_is_left_to_compile():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _CODE], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stdout + done.stderr


_SMALL = """
import gc
import numpy as np
import pycupc
from numba.core.dispatcher import Dispatcher

X = np.random.default_rng(0).standard_normal((300, 30))
X[:, 1::2] += X[:, ::2]
X[:, 2] += X[:, 1]
pycupc.fci(X, alpha=0.001, engine="cpu")
X[:, 4:12] += X[:, :8]
pycupc.pc(X[:, :12], alpha=0.01, engine="cpu")
ours = [d for d in gc.get_objects() if isinstance(d, Dispatcher) and "compile" in vars(d) and d.signatures]
print(sorted({d.py_func.__module__.removeprefix("pycupc.") for d in ours}))
"""


def test_a_small_run_compiles_only_what_plain_python_would_round_differently():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _SMALL], capture_output=True, text=True, check=False)
    own = ["engines.cpu.gaussian_questions", "engines.cpu.set_walk", "independence.gaussian.blocked_products"]
    assert done.stdout == f"{own}\n", done.stdout + done.stderr
