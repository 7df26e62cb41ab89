"""The tests that are made set by set on a GPU: the class of kernels of each class of tests.

Tests of correlations have walks of their own, `schur` and `cupc`.
"""

from __future__ import annotations

from pycupc.engines.gpu.device_discrete import ContingencyTests
from pycupc.engines.gpu.device_setwise import DeviceSetwiseTests
from pycupc.engines.gpu.kernel_tests import KernelRounds
from pycupc.engines.gpu.missing import ObservedTests
from pycupc.independence.base import IndependenceTest
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.gaussian.n_by_pair import LocalGaussianTest
from pycupc.independence.kernel.test import KernelTest
from pycupc.independence.missing.test import ImputedTest, TestwiseTest

SET_BY_SET: dict[type[IndependenceTest], type[DeviceSetwiseTests]] = {
    DiscreteTest: ContingencyTests,
    ImputedTest: ObservedTests,
    TestwiseTest: ObservedTests,
    LocalGaussianTest: ObservedTests,
}

#: The engines of tests whose order the host keeps: CuPy makes them in batches.
BY_ROUNDS: dict[type[IndependenceTest], type[KernelRounds]] = {KernelTest: KernelRounds}
