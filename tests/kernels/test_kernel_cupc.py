"""The kernels of cuPC-E and cuPC-S (kernels/cupc/) on the host: whole runs."""

import numpy as np
import pytest
from gpu_on_host import GRAPH_FILES, HostEngine, build, compare, compare_near_copies, observations
from indefinite_problems import indefinite_problem

from pycupc.engines.gpu.cupc import CupcTests, Geometry

LEVELS = range(1, 7)  # from level 6 on, one kernel for all up to 8
FILES = GRAPH_FILES | {
    file: tuple(CupcTests(algorithm, Geometry()).kernel(level)[1] for level in LEVELS)
    for algorithm, file in (("cupc-e", "cupc/cupc_e"), ("cupc-s", "cupc/cupc_s"))
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 256, FILES)


@pytest.mark.parametrize("algorithm", ["cupc-e", "cupc-s"])
@pytest.mark.parametrize(
    ("seed", "p", "n", "alpha", "levels"),
    [(0, 16, 60, 0.3, 4), (1, 20, 400, 0.1, 5), (2, 40, 40, 0.01, 4), (1, 20, 400, 0.3, 7)],
)
def test_the_answer_is_that_of_the_cpu(library, algorithm, seed, p, n, alpha, levels):
    C = np.corrcoef(observations(seed, p, n, 0.5), rowvar=False)
    compare(HostEngine(library, algorithm), C, n, alpha, levels)


@pytest.mark.parametrize("algorithm", ["cupc-e", "cupc-s"])
def test_clipped_partial_correlations_count_for_the_largest_p_value(library, algorithm):
    compare_near_copies(HostEngine(library, algorithm))


@pytest.mark.parametrize("algorithm", ["cupc-e", "cupc-s"])
def test_indefinite_matrices(library, algorithm):
    for seed in range(12):
        C, n, alpha, _ = indefinite_problem(seed)
        compare(HostEngine(library, algorithm), C, n, alpha, 1, m_max=6)
