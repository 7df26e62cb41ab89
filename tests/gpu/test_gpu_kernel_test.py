"""The kernel-based test on the GPU: graph, sets, counts and p-values of the CPU engine.

pytest -m gpu tests/gpu/test_gpu_kernel_test.py; PYCUPC_KERNEL_PROBLEMS=500 for a change of its code.
"""

import os

import numpy as np
import pytest
from kernel_cases import KINDS

from pycupc import KCI, pc

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:constant columns", "ignore:identical columns", "ignore:column"),
]
PROBLEMS = int(os.environ.get("PYCUPC_KERNEL_PROBLEMS", "60"))


@pytest.mark.parametrize("kind", KINDS)
def test_random_problems(kind):
    for seed in range(-(-PROBLEMS // len(KINDS))):
        rng = np.random.default_rng(seed)
        X = KINDS[kind](rng, int(rng.integers(30, 260)))
        how = {"alpha": float(rng.choice([0.01, 0.05, 0.2])), "NAdelete": bool(rng.integers(2))}
        cpu, gpu = (pc(X, KCI(), engine=engine, **how) for engine in ("cpu", "gpu"))
        assert (cpu.graph == gpu.graph).all()
        assert cpu.n_edgetests == gpu.n_edgetests
        assert cpu.sepset.cells() == gpu.sepset.cells()
        np.testing.assert_allclose(gpu.pMax, cpu.pMax, atol=1e-9)
