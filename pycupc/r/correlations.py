"""Correlations of observations from R: `cu_suffStat`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from pycupc.data.table import Table
from pycupc.independence.gaussian.suffstat import SuffStat


def correlations(sent: Mapping[str, NDArray[Any]], options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """`C`, float64, column by column: the correlations of `x`, computed as `correlation` says; `nearest`: bool."""
    labels = tuple(map(str, options["labels"]))
    table = Table.of(sent["x"].reshape(len(labels), -1).T, labels)
    data = SuffStat.from_data(table, correlation=options["correlation"], nearest=options["nearest"])
    return {}, {"C": data.C}
