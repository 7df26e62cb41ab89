"""Tables in files that are not text: Parquet, Feather, Excel."""

import io
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from table_files import COLUMNS, FRAME, NUMBERED, WANT_C, X, assert_refused, assert_right, library, right, write

from pycupc import SuffStat, gaussCItest
from pycupc.data import binary
from pycupc.data.readers import ReadOptions, read_table


def parquet(frame=FRAME, **options):
    library("pyarrow")
    return frame.to_parquet(**options)


def feather():
    library("pyarrow")
    file = io.BytesIO()
    FRAME.to_feather(file)
    return file.getvalue()


def excel(*sheets, header=True):
    library("openpyxl")
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as book:
        for sheet in sheets or ("Sheet1",):
            FRAME.to_excel(book, sheet_name=sheet, index=False, header=header)
    return file.getvalue()


def workbook(rows, change=lambda book, sheet: None, **replaced):
    """A workbook of one sheet with these rows, changed by ``change(book, sheet)``, and then parts of the XML replaced.

    `replaced`: patterns, and what takes the place of what they find.
    """
    openpyxl = library("openpyxl")
    book, first, second = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    change(book, book.active)
    book.save(first)
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(second, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            for pattern, put in replaced.get("xml", {}).items() if name.startswith("xl/worksheets/") else ():
                text, times = re.subn(pattern.encode(), put.encode(), text)
                assert times
            new.writestr(name, text)
    return second.getvalue()


ROWS = [COLUMNS, *X.tolist()]


def with_dimension(ref):
    return lambda: workbook(ROWS, xml={'<dimension ref="[^"]*"': f'<dimension ref="{ref}"'})


def beside_a_chart(book, sheet):
    book.create_chartsheet("Chart").add_chart(library("openpyxl.chart").LineChart())


def formatted_far_away(book, sheet):
    bold = library("openpyxl.styles").Font(bold=True)
    sheet["A50000"].font = sheet["ZZ2"].font = bold


def with_formulas(book, sheet):
    for row in (2, 3, 7):
        sheet[f"D{row}"] = "=A2+1"


#: Formulas as Excel writes them, with values; one is an empty text.
COMPUTED = {"<f>A2[+]1</f><v ?/>|<f>A2[+]1</f><v></v>": "<f>A2+1</f><v>7</v>"}


#: Formulas with the value 0, in a file that is to be computed when it is opened.
ZEROS = {"<f>A2[+]1</f><v ?/>|<f>A2[+]1</f><v></v>": "<f>A2+1</f><v>0</v>"}


def with_an_empty_text(book, sheet):
    sheet["E2"] = "=A2+1"


EMPTY_TEXT = {'<c r="E2"[^>]*><f>A2[+]1</f>(<v ?/>|<v></v>)': '<c r="E2" t="str"><f>A2+1</f><v></v>'}


def hide(book, sheet):
    sheet.auto_filter.ref = "A1:D41"
    for row in range(5, 30):
        sheet.row_dimensions[row].hidden = True
    sheet.column_dimensions["B"].hidden = True


def two_sheets(book, sheet):
    book.create_sheet("old", 0).sheet_state = "hidden"
    sheet.title = "new"


WITH_ROW_NAMES = FRAME.set_axis([f"r{i}" for i in range(40)])


RIGHT_FILES = {
    "Parquet": right(parquet, name="d.parquet"),
    "Parquet, not said by the name": right(parquet, name="d"),
    "Parquet, index": right(lambda: parquet(WITH_ROW_NAMES), name="d.parquet"),
    "Parquet, float32": right(lambda: parquet(FRAME.astype(np.float32)), name="d.parquet"),
    "Feather": right(feather, name="d.feather"),
    "Excel": right(excel, name="d.xlsx"),
    "Excel, a sheet of two": right(lambda: excel("one", "two"), name="d.xlsx", options={"sheet": "two"}),
    "Excel, no header": right(lambda: excel(header=False), name="d.xlsx", labels=NUMBERED),
    "Excel, dimension of one cell": right(with_dimension("A1"), name="d.xlsx"),
    "Excel, dimension of a part": right(with_dimension("A1:C21"), name="d.xlsx"),
    "Excel, dimension of a part below": right(with_dimension("B3:D21"), name="d.xlsx"),
    "Excel, dimension of a whole sheet": right(with_dimension("A1:XFD1048576"), name="d.xlsx"),
    "Excel, no dimension": right(lambda: workbook(ROWS, xml={"<dimension[^>]*/>": ""}), name="d.xlsx"),
    "Excel, a chart beside": right(lambda: workbook(ROWS, beside_a_chart), name="d.xlsx"),
    "Excel, formats far away": right(lambda: workbook(ROWS, formatted_far_away), name="d.xlsx"),
    "Excel, rows and columns hidden": right(lambda: workbook(ROWS, hide), name="d.xlsx"),
    "Excel, an empty text": right(lambda: workbook(ROWS, with_an_empty_text, xml=EMPTY_TEXT), name="d.xlsx"),
}


@pytest.mark.parametrize("kind", RIGHT_FILES)
def test_right_in_files(kind, tmp_path):
    assert_right(tmp_path, RIGHT_FILES[kind])


#: What it is: (content of the file or its builder, words, name of the file if it is not d.csv).
REFUSED_FILES = {
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 9, r"old Excel file \(.xls\); save it as .xlsx", "d.xls"),
    "Excel, two sheets": (
        lambda: excel("one", "two"),
        r"has the sheets 'one', 'two'; choose one: read_data\(path, sheet='one'\)",
        "d.xlsx",
    ),
    "Excel, a hidden sheet": (
        lambda: workbook(ROWS, two_sheets),
        r"has the sheets 'old' \(hidden\), 'new'; choose one: read_data\(path, sheet='new'\)",
        "d.xlsx",
    ),
    "Excel, formulas without values": (
        lambda: workbook(ROWS, with_formulas),
        r"d.xlsx: 3 cells hold a formula without its value \(D2, D3, D7\), since .*open it in Excel or LibreOffice",
        "d.xlsx",
    ),
    "Excel, formulas as XlsxWriter writes them": (
        lambda: workbook(ROWS, with_formulas, xml=ZEROS),
        r"d.xlsx: 3 cells hold a formula without its value \(D2, D3, D7\), since .*open it in Excel or LibreOffice",
        "d.xlsx",
    ),
    "Excel, a word below an empty row": (
        lambda: workbook([COLUMNS, X[0].tolist(), [], *X[1:3].tolist(), [1, "x", 3, 4]]),
        r"line 6 \(row 4 of the data\), column 2 \('b'\): 'x' is not a number",
        "d.xlsx",
    ),
    "Excel, a word below empty rows": (
        lambda: workbook([[], [], COLUMNS, *X[1:3].tolist(), [1, 2, 3, "y"]]),
        r"line 6 \(row 3 of the data\), column 4 \('d'\): 'y' is not a number",
        "d.xlsx",
    ),
    "Excel, a second table to the right": (
        lambda: workbook([[*COLUMNS, None, "e", "f"], *[[*row, None, 1, 2] for row in X.tolist()]]),
        "column 5 has no name",
        "d.xlsx",
    ),
    "Excel, a note below": (
        lambda: workbook([*ROWS, [], ["Source: the lab"]]),
        r"line 43 \(row 41 of the data\), column 1 \('a'\): 'Source: the lab' is not a number",
        "d.xlsx",
    ),
    "no Excel": (lambda: library("openpyxl") and b"PK\3\4 and no more", "not a readable Excel file", "d.xlsx"),
    "no Parquet": (lambda: library("pyarrow") and b"PAR1 no", "not a readable Parquet file", "d.parquet"),
    "no Feather": (lambda: library("pyarrow") and b"ARROW1 no", "not a readable Feather file", "d.feather"),
    "Parquet, text": (lambda: parquet(FRAME.assign(who="x")), "'who' is not numeric: row 1 holds 'x'", "d.parquet"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_in_files(kind, tmp_path):
    assert_refused(
        tmp_path, *REFUSED_FILES[kind], test=gaussCItest if kind == "Parquet, text" else None
    )  # else another test takes the table


def test_values_of_formulas_are_read(tmp_path):
    read = read_table(write(tmp_path / "d.xlsx", workbook(ROWS, with_formulas, xml=COMPUTED))).values
    expected = X.copy()
    expected[[0, 1, 5], 3] = 7
    np.testing.assert_array_equal(read, expected)


def test_merged_cells_are_named(tmp_path):
    content = workbook(ROWS, lambda book, sheet: [sheet.merge_cells(cells) for cells in ("C4:D4", "A7:A9")])
    path = write(tmp_path / "d.xlsx", content)
    with pytest.warns(UserWarning, match="d.xlsx: of merged cells, the first .* count as empty: .*(A7:A9|C4:D4)$"):
        table = read_table(path, ReadOptions(missing="keep"))
    expected = X.copy()
    expected[2, 3] = expected[6:8, 0] = np.nan
    np.testing.assert_array_equal(table.values, expected)


def test_parquet_is_read_in_groups_of_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(binary, "_GROUP", 2 * len(X))
    (tmp_path / "d.parquet").write_bytes(parquet())
    groups, read = [], binary.read_arrow
    monkeypatch.setattr(binary, "read_arrow", lambda source, names: groups.append(list(names)) or read(source, names))
    np.testing.assert_array_equal(SuffStat.from_data(tmp_path / "d.parquet").C, WANT_C)
    assert groups == [["a"], ["b", "c"], ["d"]]
