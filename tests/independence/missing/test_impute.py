"""Imputation: what is said of the data."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from any_tables import chain

from pycupc import cli
from pycupc.independence.missing.impute import imputed


@pytest.mark.parametrize("how", ["run", "python"])
def test_what_is_said_of_data_to_impute_is_said_once(tmp_path, how):
    x = chain()[:60, :3]
    x[:4, 0], x[4:8, 1] = -99, np.nan
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if how == "run":
            pd.DataFrame(x, columns=["a", "b", "c"]).to_csv(tmp_path / "d.csv", index=False)
            args = [tmp_path / "d.csv", "--missing", "impute=2", "--out", tmp_path / "out", "--quiet", "--plot", "none"]
            assert cli.main(["run", *map(str, args)]) == 0
            said = json.loads((tmp_path / "out" / "manifest.json").read_text())["warnings"]
        else:
            imputed(x, 2)
            said = [str(one.message) for one in found]
    assert sum("is -99 in 4 rows" in text for text in said) == 1
