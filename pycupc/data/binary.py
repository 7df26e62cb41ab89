"""Tables in files that are not text: Parquet and Feather through pyarrow, Excel through openpyxl.

A damaged file makes these libraries raise errors of many kinds; here, each becomes a `DataError`, as the lack of a
library does.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import DataError, kept_names, listed
from pycupc.data.source import Source, check_room
from pycupc.data.text_layout import ReadOptions, option
from pycupc.system.extras import needed

#: Names of the column types that count as numbers, in pandas (NumPy, nullable, Arrow, sparse), polars and Arrow.
NUMERIC = re.compile(r"(sparse\[)?(float|double|halffloat|u?int\d|bool|decimal)", re.IGNORECASE)

#: Numbers of a group of columns that are read together.
_GROUP = 1 << 23

#: Bytes of memory that cells of a sheet take, by bytes of its file after decompression.
_ROOM_OF_CELLS = 5

_KINDS = {"parquet": "Parquet", "feather": "Feather", "excel": "Excel"}


def arrow_schema(source: Source) -> Any:
    """The pyarrow.Schema of a Parquet or Feather file, without the index that pandas stores as a column."""
    needed("pyarrow", f"{source.name}: reading {_KINDS[source.kind]}", "parquet", DataError)
    import pyarrow
    from pyarrow import parquet

    try:
        content = pyarrow.BufferReader(source.content)
        is_parquet = source.kind == "parquet"
        schema = parquet.read_schema(content) if is_parquet else pyarrow.ipc.open_file(content).schema
        index = set(map(str, (schema.pandas_metadata or {}).get("index_columns", [])))
        return pyarrow.schema([column for column in schema if column.name not in index])
    except Exception as error:  # pyarrow has many of its own
        raise _damaged(source, error) from error


def text_in_front(source: Source) -> tuple[str, list[str]] | None:
    """The name and the cells of the first column of a Parquet or Feather file, if it is no column of numbers."""
    schema = arrow_schema(source)
    if not len(schema.names) or NUMERIC.match(str(schema.types[0])):
        return None
    return schema.names[0], [str(cell) for cell in read_arrow(source, schema.names[:1]).column(0).to_pylist()]


def read_arrow(source: Source, columns: Sequence[str]) -> Any:
    """The pyarrow.Table of some columns of a Parquet or Feather file."""
    import pyarrow
    from pyarrow import feather, parquet

    try:
        content = pyarrow.BufferReader(source.content)
        if source.kind == "parquet":
            table = parquet.ParquetFile(content, page_checksum_verification=True).read(columns=list(columns))
        else:
            table = feather.read_table(content, columns=list(columns))
        table.validate(full=True)
        return table.select(list(columns))
    except Exception as error:  # pyarrow has many of its own
        raise _damaged(source, error) from error


def arrow_columns(source: Source, columns: Sequence[str], types: Sequence[str]) -> NDArray[Any]:
    """The values of numeric columns of these types, float64 (n, p), or float32 if all are; NaN for null.

    They are read in groups of columns, so that the file's own form of the table is never in memory as a whole.
    """
    dtype, X, k = np.dtype("f4" if set(types) == {"float"} else "f8"), None, 0
    step = 1
    while k < len(columns):
        table = read_arrow(source, columns[k : k + step])
        if X is None:
            X = np.empty((table.num_rows, len(columns)), dtype=dtype, order="F")
            step = max(1, _GROUP // max(1, table.num_rows))
        if table.num_rows != len(X):
            raise _damaged(source, ValueError(f"columns of {len(X)} and of {table.num_rows} rows"))
        X[:, k : k + table.num_columns] = arrow_values(table)
        k += table.num_columns
    return np.empty((0, 0)) if X is None else X


def numeric_columns(
    source: str, names: Iterable[Any], types: Iterable[Any], options: ReadOptions
) -> tuple[list[str], list[str]]:
    """The columns of numbers, and the others, among those that the options `only` and `drop` leave."""
    columns = [str(name) for name in names]
    kept = kept_names(source, columns, options.only, options.drop)
    numeric = {name: NUMERIC.match(str(kind)) is not None for name, kind in zip(columns, types, strict=True)}
    return [name for name in kept if numeric[name]], [name for name in kept if not numeric[name]]


def arrow_values(table: Any) -> NDArray[np.float64]:
    """The values of a pyarrow.Table of numeric columns, float64 (n, p); NaN for null."""
    X = np.empty((table.num_rows, table.num_columns), order="F")
    for k, column in enumerate(table.columns):
        X[:, k] = column.cast("float64", safe=False).to_numpy()
    return X


#: The part of an Excel file about the whole book, and its sign that formulas have no values yet.
_BOOK = "xl/workbook.xml"
_COMPUTED_WHEN_OPENED = rb'<(\w+:)?calcPr\b[^>]*\bfullCalcOnLoad="(1|true)"'


def read_sheet(source: Source, sheet: str | None) -> list[tuple[int, list[str]]]:
    """Numbers and cells, as text, of the rows of a sheet; empty rows, and empty columns at the end, are left out.

    `DataError` also if there is no such sheet, there are several and none is named, or formulas have no values.
    """
    openpyxl = needed("openpyxl", f"{source.name}: reading Excel", "excel", DataError)
    try:
        with ZipFile(BytesIO(source.content)) as archive, warnings.catch_warnings():
            check_room(source.name, sum(part.file_size for part in archive.infolist()), _ROOM_OF_CELLS)
            warnings.simplefilter("ignore")  # openpyxl warns about styles and extensions, which hold no values
            book = openpyxl.load_workbook(BytesIO(source.content), read_only=True, data_only=True)
            sheets = {one.title: one for one in book.worksheets}  # without sheets of charts
            if not sheets:
                raise ValueError("it has no sheet")
            chosen = next(iter(sheets)) if sheet is None and len(sheets) == 1 else sheet
            if chosen in sheets:
                sheets[chosen].reset_dimensions()  # some programs write A1, and only that part would be read
                found = enumerate(sheets[chosen].values, start=1)
                rows = [(k, ["" if v is None else str(v) for v in row]) for k, row in found if set(row) - {None, ""}]
                xml = archive.read(sheets[chosen]._worksheet_path)  # which has no public name
                of_book = archive.read(_BOOK) if _BOOK in archive.namelist() else b""
    except MemoryError:
        raise
    except Exception as error:  # openpyxl, zipfile and the XML parser have many of their own
        raise _damaged(source, error) from error
    if chosen not in sheets:
        names = [f"{name!r}{' (hidden)' * (one.sheet_state != 'visible')}" for name, one in sheets.items()]
        first = next((name for name, one in sheets.items() if one.sheet_state == "visible"), next(iter(sheets)))
        wanted = f"choose one: {option('sheet', first)}" if sheet is None else f"none is {sheet!r}"
        raise DataError(f"{source.name}: has the sheets {', '.join(names)}; {wanted}")
    _check_cells(source.name, xml, uncomputed=re.search(_COMPUTED_WHEN_OPENED, of_book) is not None)
    width = max((k + 1 for _, row in rows for k, cell in enumerate(row) if cell), default=0)
    return [(k, (row + [""] * width)[:width]) for k, row in rows]


def _check_cells(name: str, xml: bytes, *, uncomputed: bool) -> None:
    """Refuse formulas without values, and warn of merged cells: openpyxl shows empty cells in both places.

    `uncomputed`: whether the formulas are to be computed when the file is opened. XlsxWriter writes such files, with 0
    as the value of every formula.
    """
    root = re.search(rb"<(\w+:)?worksheet\b", xml)
    x = b"" if root is None or root[1] is None else root[1]  # the prefix of the names
    without = rb"<%bf\b[^>]*(?:/>|>[^<]*</%bf>)\s*(?:<%bv\s*/>|<%bv>\s*</%bv>)?\s*</%bc>" % ((x,) * 6)
    found = []
    for formula in re.finditer(without, xml):
        cell = xml[xml.rfind(b"<%bc " % x, 0, formula.start()) : formula.start()]
        if b't="str"' not in cell:  # the value is an empty text
            found.append(_place_of(cell))
    formulas = len(re.findall(rb"<%bf\b" % x, xml)) if uncomputed else 0
    zeros = rb"(<%bc [^>]*>)\s*<%bf\b[^>]*(?:/>|>[^<]*</%bf>)\s*<%bv>0</%bv>" % ((x,) * 5)
    if formulas and len(cells := re.findall(zeros, xml)) == formulas:
        found = [_place_of(cell) for cell in cells]
    if found:
        raise DataError(
            f"{name}: {len(found):,} cells hold a formula without its value ({listed(found, most=4)}), since the "
            "program that wrote the file did not compute it; open it in Excel or LibreOffice, and save it there"
        )
    if merged := re.findall(rb'<%bmergeCell\b[^>]*\bref="([^"]*)"' % x, xml):
        text = "of merged cells, the first holds the value, and the others count as empty"
        places = [place.decode("utf-8", "replace") for place in merged]
        warnings.warn(f"{name}: {text}: {listed(places, most=4)}", stacklevel=4)


def _place_of(cell: bytes) -> str:
    """The name of a cell, such as B7, by its tag."""
    place = re.search(rb'\br="(\w+)"', cell)
    return "?" if place is None else place[1].decode()


def _damaged(source: Source, error: Exception) -> DataError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return DataError(f"{source.name}: not a readable {_KINDS[source.kind]} file ({reason[:200]})")
