"""KCI: its definition, widths, and the options that it refuses."""

import numpy as np
import pytest
from common import refused
from kernel_cases import made, smooth, table

from pycupc import KCI, pc
from pycupc.independence.kernel import test as module
from pycupc.independence.kernel.kci import KernelData, p_value
from pycupc.independence.kernel.test import KernelTest, check_memory

X = smooth(np.random.default_rng(4), 150)


@pytest.mark.parametrize("quirks", [False, True])
def test_the_definition_written_out_gives_the_same(quirks):
    data, keys = table("binary", 140, 7)
    of = KernelData.of(data)
    expected = [p_value(*key, of, KCI(), quirks=quirks) for key in keys]
    np.testing.assert_allclose(made(data, keys, quirks=quirks), expected, atol=1e-9)
    np.testing.assert_allclose([KCI()(*key, data) for key in keys[::9]], expected[::9], atol=1e-9)


def test_widths():
    p = [made_with(width) for width in (None, 0.5, 1.0)]
    assert p[0] == p[1]  # the default of 150 < n < 1200 given nothing is another
    assert p[1] != p[2]


def made_with(width):
    data = smooth(np.random.default_rng(3), 250, 2)
    return KernelTest(KernelData.of(data), 0.05, KCI(width)).p_of_tests(
        np.array([0]), np.array([1]), np.empty((1, 0), int)
    )[0]


def test_bad_input_is_refused(monkeypatch):
    refused("width must be a positive number, got 0", KCI, 0)
    refused("width must be a positive number, got 'wide'", KCI, "wide", error=TypeError)
    refused("approx must be True, the gamma approximation, got False: .* without a seed", KCI, approx=False)
    refused(
        "quirks=True reproduces faults of .* and KCI, and must be False with KCI.width=0.5.$",
        pc,
        X,
        KCI(0.5),
        quirks=True,
    )
    refused(
        "data must be complete and finite; missing or infinite values in column 1",
        pc,
        np.where(X[0, 1] == X, np.nan, X),
        KCI(),
    )
    refused("indepTest must be callable .* got <class .*KCI'>", pc, X, KCI, error=TypeError)
    refused("variances from 1e-290 to 1e290", pc, X * [1, 1e200, 1, 1, 1, 1], KCI())
    refused("must be a table of observations", pc, {"C": np.eye(3), "n": 10}, KCI(), error=TypeError)
    monkeypatch.setattr(module, "free_memory", lambda: 10**9)
    refused(
        r"KCI of 60,000 observations needs about .* GB .* up to 4,225 observations fit",
        check_memory,
        60_000,
        error=MemoryError,
    )
    many = np.random.default_rng(0).normal(size=(5000, 2))
    refused("up to 4,225 observations fit", pc, many, KCI(), error=MemoryError)
    assert pc(many, KCI(), m_max=0).n_edgetests == [1]
