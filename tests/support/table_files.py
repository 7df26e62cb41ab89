"""Files of one small table in many forms, and whether they are read as that table or refused by a sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from common import assert_same

from pycupc import SuffStat, pc
from pycupc.data import DataError
from pycupc.data.readers import ReadOptions, read_table

COLUMNS = ["a", "b", "c", "d"]


def clean() -> np.ndarray:
    """40 observations of a - b - c, d; exact in float32 and in few digits, so that every form has the same numbers."""
    rng = np.random.default_rng(3)
    a, c, d = np.round(rng.standard_normal((3, 40)), 2)
    b = a + 0.5 * c + np.round(rng.standard_normal(40) / 4, 2)
    return np.round(np.column_stack([a, b, c, d]) * 32) / 32


X = clean()
FRAME = pd.DataFrame(X, columns=COLUMNS)
WANT = pc(SuffStat.from_data(X), alpha=0.1)
WANT_C = SuffStat.from_data(X).C


def library(name: str) -> Any:
    """A module; skips where it is not installed."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


def sparse(kind: str) -> Any:
    """The table as a sparse array or matrix of SciPy."""
    return getattr(library("scipy.sparse"), kind)(X)


def text(frame: pd.DataFrame = FRAME, **options: Any) -> str:
    """A table as CSV."""
    return frame.to_csv(**{"index": False, "lineterminator": "\n", **options})


#: The rows without a header, and the names that the columns have then.
BODY, NUMBERED = text(header=False), ["V1", "V2", "V3", "V4"]

#: Three rows, and the table as CSV.
VALUES = np.array([[1.5, 2.0, -3.25e-7], [0.1, 1 / 3, 7.0], [4.0, 5.0, 6.0]])
PLAIN = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in VALUES.tolist()) + "\n"

Content = str | bytes | Callable[[], str | bytes]


def write(path: Path, content: Content) -> Path:
    """Write the content, or what its builder returns."""
    content = content() if callable(content) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def right(
    content: Content,
    name: str = "d.csv",
    labels: list[str] = COLUMNS,
    options: dict[str, Any] | None = None,
    warning: str | None = None,
) -> tuple[Any, ...]:
    """A file's content or its builder, its name, labels, options of reading, words of the warning or None."""
    return name, content, labels, options or {}, warning


def assert_right(folder: Path, kind: tuple[Any, ...]) -> None:
    """The file of this kind, see `right`, is read as the table, and `pc` of it is `pc` of the table."""
    name, content, labels, options, warning = kind
    path = write(folder / name, content)
    if warning is None:
        table = read_table(path, ReadOptions(**options))
    else:
        with pytest.warns(UserWarning, match=warning):
            table = read_table(path, ReadOptions(**options))
    np.testing.assert_array_equal(table.values, X)
    assert table.labels == labels
    if not options and warning is None:
        fit = pc(path, alpha=0.1)
        assert_same(fit, WANT)
        assert list(fit.labels) == labels
        assert_same(pc(str(path), alpha=0.1), WANT)


def assert_refused(
    folder: Path,
    content: Content,
    words: str,
    name: str = "d.csv",
    *,
    test: Callable[..., float] | None = None,
    of_file: bool = True,
) -> None:
    """`pc` of the file, by this test or the one that fits, is refused with these words, after the file's name.

    `of_file`: False where the error is of the table, whatever it came from.
    """
    path = write(folder / name, content)
    with pytest.raises(ValueError, match=words) as caught:
        pc(path, test)
    if of_file:
        assert isinstance(caught.value, DataError)
        assert str(caught.value).startswith(str(path))
