"""Runs that are cut off at a moment and resume from their checkpoint."""

import numpy as np
import pytest
from row_data import table

import pycupc
from pycupc.algorithm import level_checkpoint as kept
from pycupc.algorithm.level_checkpoint import Checkpoint
from pycupc.engines.cpu import level0_sieve

ROWS = {"engine_options": {"correlations": "rows"}}


X = table(200, 40, 1, 3)


class CutOff(Exception):
    """The run ends here, as if it were killed."""


def run(folder=None, data=X, **options):
    data = data if isinstance(data, pycupc.discrete.DiscreteSuffStat | dict) else pycupc.SuffStat.from_data(data)
    return pycupc.pc(data, **{"alpha": 0.05, "engine": "cpu", "checkpoint": folder, **options})


def cut_off(monkeypatch, method, after, folder, **options):
    """Run until `method` of the checkpoint has been called `after` times."""
    calls, whole = [], getattr(Checkpoint, method)

    def counted(*args):
        whole(*args)
        calls.append(args)
        if len(calls) == after:
            raise CutOff

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, method, counted)
        with pytest.raises(CutOff):
            run(folder, **options)


def assert_same(one, other):
    assert one == other
    assert one.trace == other.trace
    np.testing.assert_array_equal(one.removals.r, other.removals.r)
    np.testing.assert_array_equal(one.p_values.of_edges(one.sparse_graph), other.p_values.of_edges(other.sparse_graph))


def in_parts(monkeypatch):
    """Level 0 of `X` in 28 parts, each of which is written at once."""
    monkeypatch.setattr(level0_sieve, "SIEVE_TILE", 6)
    monkeypatch.setattr(level0_sieve, "PART_NUMBERS", 6 * len(X))
    monkeypatch.setattr(kept, "_PATIENCE", 0.0)
