"""The measures of association: which data they go with."""

import numpy as np
import pandas as pd
import pytest
from any_tables import chain
from common import refused

from pycupc import MixedTable, SuffStat, mixCItest, pc
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation

NAMED = pd.DataFrame(np.eye(3), index=[*"abc"], columns=[*"abc"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pc(chain(), correlation="rank"), "correlation must be one of 'pearson', .*, got 'rank'"),
        (lambda: pc({"C": np.eye(3), "n": 9}, correlation="kendall"), "correlation='kendall' goes with data"),
        (lambda: pc([chain(), chain()], mixCItest), "mixCItest takes one table; mixMItest takes several imputations"),
        (lambda: pc(chain(), mixCItest, correlation="kendall"), "correlation='kendall' goes with the Gaussian test"),
        *(
            (lambda data=data: pc(data, correlation="spearman"), "correlation='spearman' goes with .* complete numbers")
            for data in (IncompleteTable(chain()), MultipleImputation([chain()] * 2), MixedTable.of(chain()))
        ),
        (lambda: SuffStat.from_data(chain(), correlation="kendall", missing="pairwise"), "goes with correlation="),
        (
            lambda: SuffStat(NAMED, NAMED.rename(columns={"a": "z"})),
            "n must have one row .*; not variables: z; not in n",
        ),
        (lambda: SuffStat(np.eye(3), np.ones((2, 2))), "n must be a number or a matrix of shape"),
        (lambda: SuffStat(np.eye(3), np.full((3, 3), -1.0)), r"n must have finite numbers of at least 0 .* n\[0, 1\]"),
        (lambda: SuffStat(np.eye(3), 9 * np.ones((3, 3)), n_rule="max"), "n_rule must be one of 'mean', .*, got 'max'"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    refused(message, call, error=(TypeError, ValueError))
