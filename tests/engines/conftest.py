"""Fixtures of the tests of engines."""

import numpy as np
import pytest

from pycupc.engines import subsets
from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.pruning import node, pruned_sides


@pytest.fixture(params=["walk", "search", "wide"])
def everywhere(request, monkeypatch):
    """All levels from 2 on pruned one way, whatever the degrees; or by pairs, with ranks beyond 64 bits from 64 on."""
    if request.param == "wide":
        monkeypatch.setattr(subsets, "WIDE", 64)
    monkeypatch.setattr(tuning, "WALKED_DEGREE", 0)
    monkeypatch.setattr(tuning, "MANY_NEIGHBOURS", 0)
    monkeypatch.setattr(node, "SETS_PER_PAIR", 0.05)
    monkeypatch.setattr(
        pruned_sides, "pair_seconds", lambda degrees, level: np.full(len(degrees), 1e-3)
    )  # time for deep trees
    monkeypatch.setattr(tuning, "WALKED_LEVEL", 4 if request.param == "walk" else 0)
    return request.param
