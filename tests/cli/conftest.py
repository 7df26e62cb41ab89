"""Fixtures of the tests of commands."""

import pytest


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder to work in, and another one for temporary files beside it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "work"
