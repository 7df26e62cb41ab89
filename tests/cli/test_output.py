"""Parts that the commands share: formats of pictures."""

import pytest

from pycupc.cli.output import with_each_format


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("run d.csv --plot png svg", "run d.csv --plot png --plot svg"),
        ("run --plot pdf png svg d.csv", "run --plot pdf --plot png --plot svg d.csv"),
        ("run --plot none d.csv --plot png", "run --plot none d.csv --plot png"),
        ("run png svg --plot", "run png svg --plot"),
        ("png", "png"),
    ],
)
def test_several_formats_may_follow_one_another(given, meant):
    assert with_each_format(given.split()) == meant.split()
