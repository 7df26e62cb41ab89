"""The choice for a file with covariances: the Gaussian test of their correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pycupc.data.content import Content
from pycupc.data.covariances import read_covariances
from pycupc.independence.choice import Choice, Wishes
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.measures import definite
from pycupc.independence.gaussian.suffstat import SuffStat


def of_covariances(path: Any, wishes: Wishes, *, keep_columns: Sequence[str] = (), **options: Any) -> Choice:
    """The choice for a file of Tetrad; ValueError if the wishes are for a table of observations."""
    given = {
        "test": wishes.test not in ("auto", "gaussian"),
        "missing": wishes.missing not in ("auto", "error"),
        "correlation": wishes.correlation is not None,
        "keep": bool(keep_columns),
        "transpose": bool(options.get("transpose")),
    }
    if wrong := [name for name, wished in given.items() if wished]:
        raise ValueError(f"{wrong[0]} goes with a table of observations; the file holds covariances: the Gaussian test")
    found = read_covariances(path, options.get("only", ()), options.get("drop", ()))
    C = found.correlations()
    data = SuffStat(definite(C, nearest=True) if wishes.nearest else C, found.n, found.table.labels)
    content = Content("numbers", found.table, np.zeros(0, dtype=np.int64), is_matrix=True)
    reason = f"covariances of {found.n:,} observations, as Tetrad writes them: the Gaussian test"
    return Choice("gaussian", gaussCItest, data, content, reason, reads=("nearest",))
