"""Saving a result: whole or not at all."""

import os

import numpy as np
import pytest
from common import small_fit


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
def test_an_older_file_stays_if_the_new_one_cannot_be_written(tmp_path, monkeypatch, error):
    def fails(*_, **__):
        raise error

    _, fit = small_fit()
    fit.save(tmp_path / "fit.npz")
    before = (tmp_path / "fit.npz").read_bytes()
    for writes, name in ((np.lib.format, "write_array"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(writes, name, fails)
            with pytest.raises(type(error)):
                fit.save(tmp_path / "fit.npz")
        assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]
        assert (tmp_path / "fit.npz").read_bytes() == before
