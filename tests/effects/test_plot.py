"""The picture of ranked effects."""

import numpy as np
import pytest
from effects_cases import fitted_graph

import pycupc


def test_picture():
    pytest.importorskip("matplotlib")
    graph, X = fitted_graph(np.random.default_rng(9))
    ax = pycupc.effects(graph, X).plot(5)
    assert len(ax.get_yticklabels()) == 5
