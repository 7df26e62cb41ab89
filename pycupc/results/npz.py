"""Results on disk: one .npz file, readable with ``numpy.load`` and without pickle; `StudyFile` describes a folder.

meta     JSON text: format, names of the arrays, and further facts, for a `PcAlgo` the facts of `pycupc.results.schema`
others   arrays, of a result as in `pycupc.results.schema`, with the evidence. Integers are stored in the smallest
         type that holds them, compressed; float64 is stored as it is, since its random digits cannot be compressed
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.system.files import NO_ROOM, whole_file
from pycupc.system.localised_message import Argument, Message, Value
from pycupc.system.machine import free_memory


@dataclass(frozen=True)
class Kind:
    """The content of a file: its `format`, and its `name` in messages."""

    format: str
    name: str

    @contextmanager
    def expected_at(
        self,
        path: str | PathLike[str],
        errors: tuple[type[Exception], ...] = (KeyError, TypeError, ValueError, OverflowError),
    ) -> Iterator[None]:
        """Turn errors in reading the content of a file into a ValueError: it is not of this kind, or is damaged."""
        try:
            yield
        except errors as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
            raise ValueError(f"{path} is not {self.name}, or is damaged: {what}") from error


RESULT = Kind("pycupc-result-4", "a result that PcAlgo.save wrote")
PAG = Kind("pycupc-pag-1", "a result that PagAlgo.save wrote")

#: No deflated data expand to more than about 1,032 times their size.
_EXPANSION = 1040


def write(
    path: str | PathLike[str], meta: dict[str, Any], arrays: dict[str, NDArray[Any]], kind: Kind = RESULT
) -> None:
    """Write a file, which appears only when it is complete."""
    text = json.dumps({"format": kind.format, "arrays": sorted(arrays), **meta}, default=plain)
    with whole_file(path) as file:
        out = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        try:
            for name, values in {"meta": np.array(text), **arrays}.items():
                as_it_is = values.dtype.kind == "f"
                member = zipfile.ZipInfo(f"{name}.npy") if as_it_is else f"{name}.npy"  # a ZipInfo is not compressed
                with out.open(member, "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, values if as_it_is else _smallest(values), allow_pickle=False)
            out.close()
        except BaseException:
            out.fp = None  # else closing it, in the middle of a member, would raise an error in place of an interrupt
            raise


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Integers in the smallest unsigned type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0)))) if values.dtype.kind == "i" else values


@contextmanager
def reading(path: str | PathLike[str], kind: Kind = RESULT) -> Iterator[tuple[dict[str, Any], dict[str, NDArray[Any]]]]:
    """Read a file of `write`: yields meta and arrays, which are vectors of int32 or float64.

    Nothing is unpacked before its size is known to be possible, and every byte is checked against its checksum. Errors
    of the block, which checks and converts the content, mean that the file is damaged as well. OSError if the file
    cannot be read; ValueError if it is not of this kind, in a format that this version cannot read, or damaged.
    """
    # zipfile, zlib, struct and NumPy have errors of many types for damaged files
    with open(path, "rb") as file, kind.expected_at(path, (Exception,)):
        with zipfile.ZipFile(file) as members:
            _check_sizes(members, os.fstat(file.fileno()).st_size)
            arrays = {info.filename.removesuffix(".npy"): _array(members.read(info)) for info in members.infolist()}
        meta = _meta(arrays, kind)
        vectors = {name: _vector(name, values) for name, values in arrays.items()}
    with kind.expected_at(path):
        yield meta, vectors


def format_of(path: str | PathLike[str]) -> str:
    """The format of a file of `write`; "" if it is none. OSError if it cannot be read."""
    with open(path, "rb") as file, contextlib.suppress(Exception), zipfile.ZipFile(file) as members:
        return str(json.loads(str(_array(members.read("meta.npy")))).get("format", ""))
    return ""


def _check_sizes(members: zipfile.ZipFile, size: int) -> None:
    """Raise unless the members fit into the file, none expands beyond what is possible, and all fit into memory."""
    infos = members.infolist()
    if len({info.filename for info in infos}) != len(infos):
        raise ValueError("it holds an array twice")
    if sum(info.compress_size for info in infos) > size:
        raise ValueError("its arrays are larger than the file")
    for info in infos:
        if info.file_size > (info.compress_size + 64) * _EXPANSION:
            raise ValueError(f"{info.filename} cannot have {info.file_size:,} bytes")
    if (total := 2 * sum(info.file_size for info in infos)) > (free := free_memory()):
        raise ValueError(f"it needs {total / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free")


def _array(data: bytes) -> NDArray[Any]:
    """The array in the bytes of a .npy file."""
    found: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return found


def _meta(arrays: dict[str, NDArray[Any]], kind: Kind) -> dict[str, Any]:
    """The metadata, removed from the arrays."""
    if "meta" not in arrays:
        raise ValueError("it has no metadata")
    meta = json.loads(str(arrays.pop("meta")))
    if not isinstance(meta, dict):
        raise ValueError("its metadata are not a JSON object")
    if meta.get("format") != kind.format:
        remedy = "run the analysis again, or read the file with the version of pycupc that"
        if str(meta.get("format")).split("-")[1:2] not in ([], kind.format.split("-")[1:2]):
            remedy = "read the file with `load` of the class (PcAlgo, PagAlgo, Stability, CStaR) whose `save`"
        raise ValueError(f"its format is {meta.get('format')!r}, this version reads {kind.format!r}; {remedy} wrote it")
    if meta.get("arrays") != sorted(arrays):
        raise ValueError(f"its arrays are {', '.join(sorted(arrays))}, those listed {meta.get('arrays')}")
    return meta


def _vector(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "fiuU" or values.ndim != 1:
        raise ValueError(f"{name} is an array of {values.dtype} with {values.ndim} dimensions")
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    if values.dtype.kind == "U" or (len(values) and not 0 <= int(values.min()) <= int(values.max()) < 2**31):
        raise ValueError(f"{name} holds values that are not indices")
    return values.astype(np.int32, copy=False)


def plain(value: Any) -> Any:
    """What JSON cannot hold, as what it can."""
    return value.item() if isinstance(value, np.generic) else str(value)


@dataclass(frozen=True)
class StudyFile:
    """The file of a folder that says of which data and arguments the other files there are.

    `name` is the name of the file, `kind` its content, and `key` the key of the identity in it.
    """

    name: str
    kind: Kind
    key: str

    def open(self, folder: str | PathLike[str], identity: dict[str, Any]) -> None:
        """Make the folder with its file, if it does not exist or is empty.

        `identity` is everything that determines the answer, ready for JSON; large values by their hash. ValueError if
        the folder holds other files, or another identity; the message names the arguments that differ. OSError if the
        disk has no room.
        """
        found = self.read(Path(folder))
        if found is None:
            text = json.dumps({"format": self.kind.format, self.key: identity}, indent=1) + "\n"
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
                with whole_file(Path(folder) / self.name, new=True) as file:
                    file.write(text.encode())
            except OSError as error:
                if error.errno in NO_ROOM:
                    raise
                raise ValueError(f"checkpoint {folder} cannot be written to: {error.strerror}") from error
            found = self.read(Path(folder))  # of another run, if it came first
        if found != identity:
            text = f"checkpoint {{folder}} is of another {self.key}: {{differences}}; name another folder, or delete it"
            raise ValueError(Message(text, folder=str(folder), differences=_differences(found or {}, identity)))

    def read(self, folder: Path) -> dict[str, Any] | None:
        """The identity in the file; None if the folder does not exist or is empty."""
        path = folder / self.name
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"checkpoint {folder} is not a folder")
        if not path.exists():
            others = [file for file in folder.glob("*") if file.suffix != ".part" and file.name != self.name]
            if others:  # an unfinished file, or this one by now, is of a run that begins at the same time
                raise ValueError(f"checkpoint {folder} holds other files and no {self.name}: name an empty or new one")
            return None
        with self.kind.expected_at(path):  # JSON and UTF-8 errors are ValueErrors
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != self.kind.format:
                raise ValueError(f"its format is {content['format']!r}, this version reads {self.kind.format!r}")
            if not isinstance(content[self.key], dict):
                raise ValueError(f"it names no {self.key}")
            return dict(content[self.key])


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Message:
    """The arguments that differ, with their values where they are short."""
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    texts: dict[str, str] = {}
    for name in names[:5]:
        before, now = found.get(name), wanted.get(name)
        hashes = any(isinstance(value, str) and len(value) == 64 for value in (before, now))
        changed = Message("{name} was {before}, now {now}", name=Argument(name), before=Value(before), now=Value(now))
        texts[name] = f"{name} differ" if hashes else changed
    return Message("; ".join(f"{{{name}}}" for name in texts) + ("; ..." if len(names) > 5 else ""), **texts)
