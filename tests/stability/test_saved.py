"""Files of `Stability` results."""

import json

import numpy as np
import pytest
from common import refused
from stability_runs import damage

import pycupc


def test_save_and_load(expected, data, tmp_path):
    expected.save(tmp_path / "s.npz")
    loaded = pycupc.Stability.load(tmp_path / "s.npz")
    assert loaded == expected
    assert loaded.to_pandas().equals(expected.to_pandas())
    assert loaded.bound(0.9, 0.1) == expected.bound(0.9, 0.1)
    assert np.array_equal(loaded.indices(3), expected.indices(3))
    fit = pycupc.pc(data)
    fit.save(tmp_path / "fit.npz")
    with pytest.raises(ValueError, match=r"fit.npz is not a result that Stability.save wrote.*pycupc-stability-1"):
        pycupc.Stability.load(tmp_path / "fit.npz")
    refused(r"s.npz is not a result that PcAlgo.save wrote", pycupc.PcAlgo.load, tmp_path / "s.npz")
    with pytest.raises(FileNotFoundError):
        pycupc.Stability.load(tmp_path / "none.npz")


def test_damaged_results(expected, tmp_path):
    path = tmp_path / "s.npz"
    expected.save(path)
    refused = damage(path, 200, lambda: pycupc.Stability.load(path), expected)
    assert all("is not a result that Stability.save wrote, or is damaged" in text for text in refused)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", ["a", "a"]), ("labels", []), ("alphas", []), ("alphas", ["x"]), ("alphas", [2.0]), ("n", -1),
        ("n", "x"), ("scheme", "none"), ("fraction", 0), ("random_state", -1), ("n_pairs", None), ("arguments", []),
        ("resamples", [1, 1]), ("resamples", []), ("low_0", [5, 4]), ("high_0", [99] * 50), ("kinds_0", [1, 2, 3]),
        ("n_tests", [1.0]), ("constant", [1]), ("n_copies", []),
    ],
)  # fmt: skip
def test_files_that_lie(expected, tmp_path, name, value):
    """Files with valid checksums and wrong content."""
    from pycupc.results import npz

    meta, arrays = expected.meta(), expected.to_arrays()
    if name in meta:
        meta[name] = value
    else:
        kind = arrays[name].dtype
        arrays[name] = np.array(value, dtype=kind)
    npz.write(tmp_path / "s.npz", json.loads(json.dumps(meta)), arrays, pycupc.Stability.KIND)
    refused("is not a result that Stability.save wrote, or is damaged", pycupc.Stability.load, tmp_path / "s.npz")
