"""Results on disk: one .npz file, readable with ``numpy.load`` and without pickle.

meta     JSON text: format, labels, call, n, alpha, engine, max_ord, levels, notes, what set the arrows
others   the arrays of `pycupc.results.arrays`, with the evidence
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "pycupc-result-2"


def write(path: str | PathLike[str], meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a file, which appears only when it is complete."""
    text = json.dumps({"format": FORMAT, **meta}, default=_plain)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, meta=np.array(text), **arrays)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write` wrote: meta and arrays.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file, or it is not a saved result of this format.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        meta = json.loads(str(arrays.pop("meta")))
        if meta["format"] != FORMAT:
            raise ValueError(f"its format is {meta['format']!r}, this version reads {FORMAT!r}")
    except FileNotFoundError:
        raise
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, TypeError) as error:
        raise ValueError(f"{path} is not a result that PcAlgo.save wrote: {error}") from error
    return meta, arrays


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
