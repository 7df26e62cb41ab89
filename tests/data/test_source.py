"""The bytes of a file, a pipe or standard input: compressed, too large, damaged, or of another kind."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import sys
import threading
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from common import refused, run
from small_tables import edges, manifest
from table_files import FRAME, PLAIN, assert_refused, assert_right, right, text, write

from pycupc import cli
from pycupc.data import EXAMPLES, DataError, load_example, read_data, source
from pycupc.data.readers import read_table


def test_standard_input(here, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(EXAMPLES["cell_nuclei"].read_bytes())))
    assert run("run", "-", "--plot", "none", "--quiet") == cli.OK
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--quiet") == cli.OK
    assert edges("data-pycupc") == edges("example-pycupc")
    one, two = manifest("data-pycupc")["input"], manifest("example-pycupc")["input"]
    assert one["path"] == "standard input"
    assert (one["sha256"], one["bytes"]) == (two["sha256"], two["bytes"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe(here):
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(EXAMPLES["cell_nuclei"].read_bytes()))
    writer.start()
    frame = read_data("pipe")
    writer.join()
    pd.testing.assert_frame_equal(frame, load_example("cell_nuclei"))


RIGHT_FILES = {
    "gzip": right(gzip.compress(text().encode(), mtime=0), name="d.csv.gz"),
    "gzip, not said by the name": right(gzip.compress(text().encode(), mtime=0)),
    "bzip2": right(bz2.compress(text().encode()), name="d.csv.bz2"),
    "bzip2, tabs": right(bz2.compress(text(sep="\t").encode()), name="d.tsv.bz2"),
    "xz": right(lzma.compress(text().encode()), name="d.csv.xz"),
}


@pytest.mark.parametrize("kind", RIGHT_FILES)
def test_right_in_files(kind, tmp_path):
    assert_right(tmp_path, RIGHT_FILES[kind])


#: What it is: (content of the file or its builder, words, name of the file if it is not d.csv).
REFUSED_FILES = {
    "Latin-1": (text().replace("a", "\xe9", 1).encode("latin-1"), "line 1: not UTF-8 .*Latin-1.*iconv -f LATIN1"),
    "UTF-16": (text().encode("utf-16"), "text in UTF-16; save it as CSV UTF-8"),
    "no gzip": (text(), "cannot be read as gzip data", "d.csv.gz"),
    "gzip cut off": (gzip.compress(text().encode())[:-9], "cannot be read as gzip data", "d.csv.gz"),
    "NumPy": (b"\x93NUMPY\1\0", "a NumPy array, which is read as numbers", "d.dat"),
    "archive": (b"PK\3\4...", r"is an archive \(zip, npz, ods, ...\); unpack it", "d.npz"),
    "HDF5": (b"\x89HDF\r\n", "an HDF5 file, which is read if it is AnnData", "d.h5"),
    "pickle": (pickle.dumps(FRAME, protocol=5), "line 1: .*read them in Python, as with pandas", "d.pkl"),
    "zip": (b"PK\3\4...", r"is an archive \(zip, npz, ods, ...\); unpack it", "d.zip"),
    "data of R": (gzip.compress(b"X\n\0\0\0\2"), "data of R; write them as CSV", "d.rds"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_in_files(kind, tmp_path):
    assert_refused(tmp_path, *REFUSED_FILES[kind])


def test_unreadable_files_are_explained(tmp_path):
    refused("no such file", read_data, tmp_path / "none.csv", error=DataError)
    refused("is a directory", read_data, tmp_path, error=DataError)
    with pytest.raises(DataError, match="cannot be read .*Corrupt|cannot be read .*Input format"):
        read_data(write(tmp_path / "d.csv.xz", PLAIN))


COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("start", ["", "a,b\n1,2\r\n", "a,b\r1,2\r"])
def test_a_line_too_long_for_a_text_is_refused_before_it_is_whole(tmp_path, ending, start):
    path = write(tmp_path / f"d.csv{ending}", COMPRESS[ending](start.encode() + b"1" * (2 * source.LONGEST_LINE)))
    tracemalloc.start()
    try:
        number = start.count("\n") + 1
        refused(
            f"line {number}: is longer than 33,554,432 bytes, the most of a line", read_table, path, error=DataError
        )
        assert tracemalloc.get_traced_memory()[1] < 1.8 * source.LONGEST_LINE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_up_to_the_limit_are_read(tmp_path, monkeypatch, ending, end):
    monkeypatch.setattr(source, "LONGEST_LINE", 13)
    monkeypatch.setattr(source, "_PIECE", 6)  # so that lines span several pieces
    for line in ("123456,789012", "123456,7890123"):
        for k in range(4):
            lines = ["a,b", "1,2", "3,4", "5,6"]
            lines[k : k + 1] = [line]
            path = write(tmp_path / f"d.csv{ending}", COMPRESS[ending](end.join([*lines, ""]).encode()))
            if len(line) == 13:
                assert source.read_source(path).content.decode().split(end)[k] == line
            else:
                number = 1 if end == "\r" else k + 1
                refused(f"line {number}: is longer than 13 bytes", source.read_source, path, error=DataError)


def test_a_pipe_of_one_line_is_refused(monkeypatch):
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"1" * size

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr(source, "sys", type("sys", (), {"stdin": type("stdin", (), {"buffer": Endless()})}))
    refused("standard input, line 1: is longer than", read_table, "-", error=DataError)


def test_binary_files_have_no_lines(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(np.random.default_rng(0).integers(100, 200, (4000, 3)) * 1.0, columns=[*"abc"])
    frame.to_parquet(tmp_path / "d.parquet")
    monkeypatch.setattr(source, "LONGEST_LINE", 20)
    write(tmp_path / "d.parquet.gz", gzip.compress((tmp_path / "d.parquet").read_bytes()))
    for name in ("d.parquet", "d.parquet.gz"):
        pd.testing.assert_frame_equal(read_data(tmp_path / name), frame)


@pytest.mark.parametrize("ending", COMPRESS)
def test_more_than_memory_holds_is_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(source, "LARGE", 1 << 18)
    monkeypatch.setattr(source, "_PIECE", 1 << 16)
    monkeypatch.setattr(source, "free_memory", lambda: 1_000_000)
    content = PLAIN + "1,2,3\n" * 400_000
    path = write(tmp_path / f"d.csv{ending}", COMPRESS[ending](content.encode()))
    words = r"d.csv.*: 0.00 GB or more after decompression are too much to be read where 0.00 GB of memory are free"
    refused(words, read_table, path, error=MemoryError)
    write(path, COMPRESS[ending](content[: len(content) // 4].encode()))
    assert len(read_data(path)) > 90_000


def test_an_archive_larger_than_memory_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    pd.DataFrame(np.zeros((500, 20))).to_excel(tmp_path / "d.xlsx", index=False)
    assert (tmp_path / "d.xlsx").stat().st_size < 100_000
    monkeypatch.setattr(source, "free_memory", lambda: 500_000)
    refused(
        "d.xlsx: 0.00 GB or more after decompression are too much", read_data, tmp_path / "d.xlsx", error=MemoryError
    )


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_each_stream_of_a_compressed_file_is_read_or_the_file_is_refused(tmp_path, ending):
    """bgzip, pbzip2 and pixz write several streams; Python's bz2 and lzma ignore all from a damaged beginning on."""
    compress, path = COMPRESS[ending], tmp_path / f"d.csv{ending}"
    lines = [f"{k},{k * k}\n".encode() for k in range(1, 200)]
    whole = b"a,b\n" + b"".join(lines)
    streams = b"".join(map(compress, [b"a,b\n", *lines]))
    for content in (compress(whole), streams, streams + bytes(8), compress(b"") + streams):
        np.testing.assert_array_equal(read_data(write(path, content)), [[k, k * k] for k in range(1, 200)])
    first = compress(b"a,b\n1,2\n3,4\n")
    for content in (first + b"rest", first + compress(b"5,6\n")[:-5], first + compress(b"5,6\n")[:4], first[:-3]):
        refused("d.csv.*: cannot be read as (gzip|bz2|lzma) data", read_data, write(path, content), error=DataError)
