"""Files of arrays, of which only what is needed comes into memory: NumPy's .npy, and AnnData's .h5ad."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import DataError, kept_names
from pycupc.data.observations import converted
from pycupc.data.text_layout import ReadOptions
from pycupc.system.log import READING, logger

#: Bytes that are hashed at a time.
_HASHED = 1 << 24


def is_array_file(path: str | PurePath) -> bool:
    """Whether `read_array` reads this file, by its name."""
    return PurePath(path).suffix.lower() in (".npy", ".h5ad")


def read_array(path: str | PurePath, options: ReadOptions) -> tuple[NDArray[Any], list[str], dict[str, Any]]:
    """The values, float32 or float64 (n, p), the names of the columns, and path, sha256 and number of bytes.

    An array of one of these types in a .npy file stays there, as a memory map. `DataError` if the file does not hold a
    table of numbers.
    """
    name = str(path)
    if not Path(path).is_file():
        raise DataError(f"{name}: no such file")
    try:
        X, names = _h5ad(path) if PurePath(path).suffix.lower() == ".h5ad" else _npy(path)
    except DataError:
        raise
    except Exception as error:  # h5py and NumPy have many of their own
        raise DataError(f"{name}: cannot be read as an array ({type(error).__name__}: {error})") from error
    kept = kept_names(name, names, options.only, options.drop)
    if len(kept) < len(names):
        wanted = set(kept)
        X = X[:, [k for k, column in enumerate(names) if column in wanted]]
    return X, kept, {"path": name, "sha256": _digest(path), "bytes": Path(path).stat().st_size}


def _digest(path: str | PurePath) -> str:
    """The file's sha256; of a large file, lines of the log show the progress."""
    found, size, done = hashlib.sha256(), Path(path).stat().st_size, 0
    with open(path, "rb") as file:
        while part := file.read(_HASHED):
            found.update(part)
            if size > 16 * _HASHED and done * 20 // size < (done + len(part)) * 20 // size:
                logger.info(READING, path, 100 * (done + len(part)) // size, size / 1e9)
            done += len(part)
    return found.hexdigest()


def _npy(path: str | PurePath) -> tuple[NDArray[Any], list[str]]:
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        raise DataError(f"{path}: must hold a table (n, p), got {getattr(X, 'shape', 'several arrays')}")
    return converted(X, str(path)).values, [f"V{k + 1}" for k in range(X.shape[1])]


def _h5ad(path: str | PurePath) -> tuple[NDArray[Any], list[str]]:
    try:
        import anndata
    except ImportError as error:
        raise DataError(f"{path}: reading .h5ad requires anndata: pip install anndata") from error
    data = anndata.read_h5ad(path, backed="r")
    try:
        values, names, _ = converted(data, str(path))
    finally:
        data.file.close()
    return values, names or []
