"""The estimator for scikit-learn: its own checks, and the answer of pc()."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import pycupc
from pycupc.data import load_example
from pycupc.sklearn import PC


@parametrize_with_checks([PC(engine="cpu")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_answer_of_pc():
    data = load_example("cell_nuclei")
    estimator = clone(PC(alpha=0.05, maj_rule=True)).fit(data)
    fit = pycupc.pc(data, alpha=0.05, maj_rule=True)
    assert estimator.labels_.tolist() == list(data.columns) == estimator.feature_names_in_.tolist()
    assert np.array_equal(estimator.adjacency_, fit.graph)
    assert estimator.get_params()["alpha"] == 0.05
