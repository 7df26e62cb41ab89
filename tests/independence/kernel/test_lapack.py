"""LAPACK in one of several threads."""

import numpy as np
import pytest

from pycupc.system import machine


def test_lapack_takes_one_thread_among_others():
    lapack = pytest.importorskip("pycupc.independence.kernel.lapack")  # loads SciPy's library
    assert lapack.pivoted_factor(np.eye(3), 0.1).shape == (3, 3)
    libraries = machine._openblas(True)
    with machine.single_products():
        assert {get() for _, get in libraries} <= {1}
