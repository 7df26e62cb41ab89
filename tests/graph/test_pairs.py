"""Fixed pairs: by name, as a matrix, from a file."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
from common import assert_same, refused
from small_tables import NAMES, chain_table
from table_files import write

from pycupc import pc
from pycupc.data import DataError
from pycupc.graph.pairs import read_pairs


def test_fixed_pairs_by_name():
    frame = pd.DataFrame(chain_table(), columns=NAMES)
    mask = np.zeros((5, 5), dtype=bool)
    mask[0, 1] = mask[1, 0] = mask[2, 4] = mask[4, 2] = True
    matrix = pd.DataFrame(mask, index=NAMES, columns=NAMES)
    pairs = [("a", "b"), ("e", "c")]
    for name in ("fixedGaps", "fixedEdges"):
        want = pc(frame, **{name: mask})
        shuffled = matrix.loc[list("cabed"), list("edcba")]
        more = [import_module("polars").DataFrame(mask, schema=NAMES)] if find_spec("polars") else []
        for given in (matrix, shuffled, pairs, [list(pair) for pair in pairs], {("b", "a"), ("c", "e")}, *more):
            assert_same(pc(frame, **{name: given}), want)
        assert_same(pc(frame, **{name: pd.DataFrame(mask)}), want)  # without names: by position
        assert_same(pc(frame, **{name: []}), pc(frame))
    for given, words in {
        "unknown": ([("a", "q")], "fixedGaps: there is no variable 'q'"),
        "itself": ([("a", "a")], "fixedGaps: 'a' is paired with itself"),
        "other names": (matrix.rename(columns={"a": "q"}), "not variables: q; not in fixedGaps: a"),
        "other rows": (matrix.rename(index={"a": "q"}), "same names for rows and columns"),
    }.values():
        refused(words, pc, frame, fixedGaps=given)


def test_pairs(tmp_path):
    labels = ["a", "b", "c d"]
    got = read_pairs(write(tmp_path / "p.csv", "from,to\na,c d\nb , a\n"), labels)
    assert np.argwhere(got.dense()).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    refused("no such file", read_pairs, tmp_path / "none.csv", labels, error=DataError)
    refused("cannot be read", read_pairs, write(tmp_path / "p.csv.gz", "from,to\na,b\n"), labels, error=DataError)
    for content, message in {
        "a,b\na,q\n": "line 2: there is no variable 'q'",
        "a\n": "line 1: expected two names",
        "a,a\n": "line 1: 'a' is paired with itself",
    }.items():
        refused(message, read_pairs, write(tmp_path / "p.csv", content), labels, error=DataError)
