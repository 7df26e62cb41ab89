"""Tables of numbers and categories: what a column is, from tables of many kinds."""

import math

import numpy as np
import pytest
from any_tables import mixed_frame

from pycupc import MixedTable
from pycupc.discrete import DiscreteSuffStat


def test_categories_of_polars_are_categories():
    polars, D = pytest.importorskip("polars"), mixed_frame().astype({"x": "category"})
    table = MixedTable.of(polars.from_pandas(D))
    assert table.categories == MixedTable.of(D).categories
    np.testing.assert_array_equal(table.values, MixedTable.of(D).values)


def test_numbers_in_rows_of_a_list_stay_numbers():
    assert MixedTable.of([[1, "a"], [2, "b"], [3, "a"]]).categories == (None, ("a", "b"))
    assert DiscreteSuffStat.from_data([["1.5", "a"], ["2", "b"]]).categories == (("1.5", "2"), ("a", "b"))
    with pytest.raises(ValueError, match="data must be complete; 1 missing values in column 1"):
        DiscreteSuffStat.from_data([["a", "x"], ["b", math.nan]])


@pytest.mark.parametrize(("part", "message"), [(np.s_[:0, :], "at least 2 rows"), (np.s_[:, :1], "at least 2 columns")])
def test_a_mixed_table_has_two_rows_and_two_columns(part, message):
    with pytest.raises(ValueError, match=message):
        MixedTable.of(mixed_frame().iloc[part])
