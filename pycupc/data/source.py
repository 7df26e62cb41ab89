"""The bytes of a file, a pipe or standard input, decompressed, and the kind of file that they are."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import zlib
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path, PurePath
from typing import Any, TextIO

from pycupc.data.names import DataError

#: Stands for standard input.
STDIN = "-"

#: Endings and first bytes of compressed files, and the module of the standard library that reads them.
_COMPRESSED = ((".gz", b"\x1f\x8b", "gzip"), (".bz2", b"BZh", "bz2"), (".xz", b"\xfd7zXZ\0", "lzma"))

#: Endings and first bytes of the files of tables that are not text.
_TABLES = (
    ((".parquet", ".pq"), b"PAR1", "parquet"),
    ((".feather", ".arrow", ".ipc"), b"ARROW1", "feather"),
    ((".xlsx", ".xlsm"), b"PK\x03\x04", "excel"),
)

#: Files that are not tables this package reads, by their first bytes, and what to do about them.
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls); save it as .xlsx or as CSV",
    b"\x93NUMPY": "a NumPy array, which is read as numbers, not as categories, from a file named .npy",
    b"\x89HDF": "an HDF5 file, which is read if it is AnnData's, .h5ad",
    b"\xff\xfe": "text in UTF-16; save it as CSV UTF-8, or: iconv -f UTF-16 -t UTF-8 FILE > NEW",
    b"\xfe\xff": "text in UTF-16; save it as CSV UTF-8, or: iconv -f UTF-16 -t UTF-8 FILE > NEW",
    **dict.fromkeys((b"RDX", b"X\n\0"), "data of R; write them as CSV with write.csv"),
}

#: The first line in which Excel names the delimiter, as "sep=;".
_NAMES_DELIMITER = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([ !#-~]|\t)"?[;,\t]*\r?(?=\n)', re.IGNORECASE)

#: Bytes that text may contain: no control characters except tabs and line ends.
_TEXT = bytes([9, 10, 13, *range(32, 127), *range(128, 256)])


@dataclass(frozen=True)
class Source:
    """A file as it was read."""

    name: str  # name for messages: the path, or "standard input"
    ending: str  # ending of the name in lower case, without the ending of a compression: ".csv" for data.CSV.gz
    kind: str  # {"text", "parquet", "feather", "excel"}
    raw: bytes  # the bytes of the file
    content: bytes  # the decompressed bytes; the same object as `raw` if the file is not compressed

    @property
    def facts(self) -> dict[str, Any]:
        """Path, sha256 and number of bytes."""
        return {"path": self.name, "sha256": hashlib.sha256(self.raw).hexdigest(), "bytes": len(self.raw)}

    @property
    def delimiter(self) -> str | None:
        """The delimiter that the first line names, if it does nothing else."""
        line = _NAMES_DELIMITER.match(self.content)
        return None if line is None else line[1].decode()


def read_source(path: str | PurePath) -> Source:
    """Read a file, a pipe, or standard input (``-``), once and whole.

    `DataError` if there is no such file, it cannot be read, or it is not of a kind that this package reads.
    """
    if str(path) == STDIN:
        name, raw = "standard input", sys.stdin.buffer.read()
    else:
        name, raw = str(path), _bytes_of(Path(path))
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    ending = suffixes.pop() if suffixes else ""
    content = raw
    for compressed_ending, magic, module in _COMPRESSED:
        if ending == compressed_ending or raw.startswith(magic):
            content = _decompressed(name, raw, module)
            ending = (suffixes.pop() if suffixes else "") if ending == compressed_ending else ending
            break
    for start, advice in _OTHERS.items():
        if content.startswith(start):
            raise DataError(f"{name}: is {advice}")
    kind = next((kind for ends, magic, kind in _TABLES if ending in ends or content.startswith(magic)), "text")
    if kind == "excel" and ending not in (".xlsx", ".xlsm", ""):
        raise DataError(f"{name}: is an archive (zip, npz, ods, ...); unpack it, or save the table as CSV or .xlsx")
    return Source(name, ending, kind, raw, content)


def open_text(source: Source) -> TextIO:
    """The text of a source, which must be UTF-8 without control characters; else a `DataError` names the line."""
    content = source.content
    others = content.translate(None, _TEXT)
    if others:
        position = content.index(others[0])
        what = "a NUL byte" if others[0] == 0 else f"the control character 0x{others[0]:02x}"
        raise DataError(
            f"{_place(source, position)}: {what}; this is not a text table, or it is damaged. Files of "
            "other programs: read them in Python, as with pandas.read_stata, and pass the table to pycupc.pc"
        )
    try:
        if not content.isascii():
            content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{_place(source, error.start)}: not UTF-8 text (byte 0x{content[error.start]:02x}). If it is Latin-1, as "
            "Excel and R write on Windows: save it as CSV UTF-8, or: iconv -f LATIN1 -t UTF-8 FILE > NEW"
        ) from error
    if (line := _NAMES_DELIMITER.match(content)) is not None:
        content = content[line.end() :]  # from the end of the line on, so that the others keep their numbers
    return TextIOWrapper(BytesIO(content), encoding="utf-8-sig", newline="")


def _bytes_of(path: Path) -> bytes:
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if path.is_dir():
        raise DataError(f"{path}: is a directory, expected a file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _decompressed(name: str, raw: bytes, module: str) -> bytes:
    package = importlib.import_module(module)
    damaged = (OSError, EOFError, ValueError, zlib.error, *((package.LZMAError,) if module == "lzma" else ()))
    try:
        content: bytes = package.decompress(raw)
    except damaged as error:
        raise DataError(f"{name}: cannot be read as {module} data ({error})") from error
    return content


def _place(source: Source, position: int) -> str:
    return f"{source.name}, line {source.content.count(10, 0, position) + 1}"
