"""Fixtures of the tests of stability."""

import pytest
from stability_data import gaussian
from stability_runs import CALL

import pycupc


@pytest.fixture(scope="module")
def data():
    """60 observations of 6 variables."""
    return gaussian(n=60, p=6)


@pytest.fixture(scope="module")
def expected(data):
    """The result of `CALL` on `data`."""
    return pycupc.stability(data, **CALL)


@pytest.fixture(scope="module")
def result():
    """20 resamples at two significance levels."""
    return pycupc.stability(gaussian(), n_resamples=20, scheme="complementary", alpha=(0.05, 0.001), random_state=1)
