"""What `pc` and `skeleton` return: equality, sets by name, views, and what a result without correlations says."""

import numpy as np
import pytest
from common import refused

import pycupc


def test_dense_views_cannot_be_written_to():
    fit = pycupc.pc({"C": np.eye(3), "n": 50})
    for matrix in (fit.graph, fit.skeleton, fit.pMax):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 1] = 1


def test_a_result_without_correlations_says_so():
    arrays = pycupc.skeleton({"C": np.full((3, 3), 0.9) + 0.1 * np.eye(3), "n": 50}).to_arrays()
    del arrays["C"]
    fit = pycupc.PcAlgo.from_arrays(arrays, labels=["a", "b", "c"], max_ord=1)
    assert fit.edge_attributes()["pMax"].tolist() == arrays["edge_p"].tolist()
    with pytest.raises(ValueError, match="made without its correlations"):
        _ = fit.pMax


def test_equal_is_what_the_tests_decided(nuclei_fit, nuclei):
    assert nuclei_fit == pycupc.pc(nuclei, alpha=0.01, numCores=1)
    assert nuclei_fit == pycupc.pc(nuclei, alpha=0.01, engine="reference")
    assert nuclei_fit != pycupc.pc(nuclei, alpha=0.02)
    assert nuclei_fit != pycupc.skeleton(nuclei, alpha=0.01)
    assert nuclei_fit != pycupc.pc(nuclei, alpha=0.01, labels=[f"V{k}" for k in range(30)])
    assert nuclei_fit != "fit"
    refused("unhashable", hash, nuclei_fit, error=TypeError)


def test_sepset_by_label(nuclei_fit, tmp_path):
    nuclei_fit.save(tmp_path / "fit.npz")
    for result in (nuclei_fit, pycupc.PcAlgo.load(tmp_path / "fit.npz")):
        for (x, y), members in list(nuclei_fit.sepset.cells().items())[::20]:
            names = tuple(nuclei_fit.labels[v] for v in members)
            assert result.sepset[nuclei_fit.labels[x], nuclei_fit.labels[y]] == names
            assert result.sepset[nuclei_fit.labels[y], nuclei_fit.labels[x]] == names  # whichever cell holds it
        low, high = int(nuclei_fit.sparse_graph.low[0]), int(nuclei_fit.sparse_graph.high[0])
        assert result.sepset[nuclei_fit.labels[low], nuclei_fit.labels[high]] is None
        with pytest.raises(KeyError, match="there is no variable 'nobody'"):
            result.sepset["nobody", nuclei_fit.labels[0]]
        assert result.sepset[0][4] == nuclei_fit.sepset.get(0, 4)
        assert [result.sepset[x, y] for x in range(30) for y in range(30)] == [
            nuclei_fit.sepset.of_pair(x, y) for x in range(30) for y in range(30)
        ]
        with pytest.raises(IndexError, match="variables are 0 to 29, got 30"):
            result.sepset[0, 30]
