"""The bytes of a file, a pipe or standard input, decompressed, and the kind of file that they are."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path, PurePath
from typing import IO, Any, TextIO

from pycupc.data.names import DataError
from pycupc.system.machine import free_memory

#: Stands for standard input.
STDIN = "-"

#: Endings and first bytes of compressed files, and their kind.
_COMPRESSED = ((".gz", b"\x1f\x8b", "gzip"), (".bz2", b"BZh", "bz2"), (".xz", b"\xfd7zXZ\0", "lzma"))
#: Modules, functions and arguments that begin to decompress a stream of each kind (31: gzip's header and checksum).
_STREAMS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "gzip": ("zlib", "decompressobj", (31,)),
    "bz2": ("bz2", "BZ2Decompressor", ()),
    "lzma": ("lzma", "LZMADecompressor", ()),
}
#: What may stand between streams, and after the last.
_PADDING = re.compile(rb"\0*")

#: Most bytes of a line of text: a million numbers with all their digits take 24 MB.
LONGEST_LINE = 1 << 25
#: Bytes of a file from which on the free memory is looked up, whenever they have doubled.
LARGE = 1 << 26
#: Bytes that are decompressed at a time, and most bytes that are read, or come of it.
_PART, _PIECE = 1 << 16, 1 << 22

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
#: First bytes of files that have no lines of text.
_NO_TEXT = (*(magic for _, magic, _ in (*_COMPRESSED, *_TABLES)), *_OTHERS)

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
        name, raw = "standard input", _whole("standard input", _pieces(sys.stdin.buffer))
    else:
        name, raw = str(path), _bytes_of(Path(path))
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    ending = suffixes.pop() if suffixes else ""
    content = raw
    for compressed_ending, magic, module in _COMPRESSED:
        if ending == compressed_ending or raw.startswith(magic):
            content = _whole(name, _decompressed(name, raw, module))
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
        with path.open("rb") as file:
            return _whole(str(path), _pieces(file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_PIECE), b"")


def _whole(name: str, pieces: Iterable[bytes]) -> bytes:
    """All pieces; an error as soon as they hold a line that is too long for a text, or take half of the free memory."""
    whole, line, large, text = BytesIO(), 0, LARGE, True
    for piece in pieces:
        text = text and (whole.tell() > 0 or not piece.startswith(_NO_TEXT))
        if text:
            end = piece.find(b"\n")
            before = piece.find(b"\r", 0, None if end < 0 else end)
            end = end if before < 0 else before
            line += len(piece) if end < 0 else end
            if line > LONGEST_LINE:
                raise DataError(
                    f"{name}, line {whole.getvalue().count(10) + 1}: is longer than {LONGEST_LINE:,} bytes, the most "
                    "of a line of text; is this a table? One of millions of variables is read from .parquet or .npy"
                )
            line = line if end < 0 else len(piece) - 1 - max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        whole.write(piece)
        if whole.tell() >= large:
            check_room(name, whole.tell(), 1)
            large = 2 * whole.tell()
    return whole.getvalue()


def check_room(name: str, size: int, times: int = 1) -> None:
    """MemoryError if a file with this number of bytes, or more, will take `times` that number, and less is free."""
    if size * times > (free := free_memory()):
        text = f"{name}: {size / 1e9:,.2f} GB or more after decompression are too much to be read where "
        raise MemoryError(f"{text}{free / 1e9:,.2f} GB of memory are free")


def _decompressed(name: str, raw: bytes, kind: str) -> Iterator[bytes]:
    """The pieces of a compressed file, which may hold one stream after the other, as bgzip and pbzip2 write them."""
    module, function, arguments = _STREAMS[kind]
    package: Any = importlib.import_module(module)
    damaged = (OSError, EOFError, ValueError, zlib.error, *((package.LZMAError,) if kind == "lzma" else ()))
    at = 0
    try:
        while at < len(raw):
            stream, part = getattr(package, function)(*arguments), b""
            while not stream.eof:
                if wanted := not part and getattr(stream, "needs_input", True):
                    part = raw[at : at + _PART]
                    at += len(part)
                piece = stream.decompress(part, _PIECE)
                if wanted and not part and not piece and not stream.eof:
                    raise EOFError("it ends within a stream")
                part = getattr(stream, "unconsumed_tail", b"")
                yield piece
            end = _PADDING.match(raw, at - len(stream.unused_data))
            at = len(raw) if end is None else end.end()
    except damaged as error:
        raise DataError(f"{name}: cannot be read as {kind} data ({error})") from error


def _place(source: Source, position: int) -> str:
    return f"{source.name}, line {source.content.count(10, 0, position) + 1}"
