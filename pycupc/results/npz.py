"""`PcAlgo` on disk: one .npz file, readable with ``numpy.load`` and without pickle.

meta                    JSON text: format, labels, call, n, alpha, engine, max_ord, n_edgetests, levels, notes, ...
graph_from, _to, _mark  nonzero cells of the graph, row to column
sepset_x, _y, _len, _members, changed_x, ...   cells from level 1 on as found; cells changed by orientation
gaps                    bits of the fixed gaps (p x p), if any
removed_x, _y, _level, _r; kept_x, _y, _p      evidence
C                       upper triangle of the correlations, or pMax: upper triangle of the p-values
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pycupc.results.evidence import LevelSummary, Removals
from pycupc.results.pcalgo import PcAlgo
from pycupc.results.sepset import SepSets

FORMAT = "pycupc-result-1"


def save(fit: PcAlgo, path: str | PathLike) -> None:
    """Write `fit`; the file appears only when it is complete."""
    meta = {
        "format": FORMAT,
        "labels": fit.labels,
        "call": fit.call,
        "n": fit.n,
        "alpha": fit.alpha,
        "engine": fit.engine,
        "max_ord": fit.max_ord,
        "n_edgetests": fit.n_edgetests,
        "levels": [asdict(level) for level in fit.levels],
        "notes": fit.notes,
        "trace": [[*pair, *reason] for pair, reason in fit.trace.items()],
    }
    start, end = np.nonzero(fit.graph)
    arrays: dict[str, Any] = {
        "meta": np.array(json.dumps(meta, default=_plain)),
        "graph_from": start.astype(np.int32),
        "graph_to": end.astype(np.int32),
        "graph_mark": fit.graph[start, end],
    }
    arrays |= _cells("sepset", fit.sepset.original())
    if fit.sepset._changed:
        changed = sorted(fit.sepset._changed.items())
        arrays |= {
            "changed_x": np.array([k[0] for k, _ in changed], dtype=np.int32),
            "changed_y": np.array([k[1] for k, _ in changed], dtype=np.int32),
            "changed_len": np.array([len(v) for _, v in changed], dtype=np.int32),
            "changed_members": np.array([m for _, v in changed for m in v], dtype=np.int32),
        }
    gaps = fit.sepset._gaps
    if gaps is not None:
        arrays["gaps"] = np.packbits(gaps)
    if fit.removals is not None:
        arrays |= {f"removed_{k}": getattr(fit.removals, k) for k in ("x", "y", "level", "r")}
    if fit._kept is not None:
        arrays |= dict(zip(("kept_x", "kept_y", "kept_p"), fit._kept, strict=True))
    name, matrix = ("C", fit._C) if fit._C is not None else ("pMax", fit.pMax)
    arrays[name] = np.concatenate([matrix[i, i:] for i in range(fit.p)])

    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | PathLike) -> PcAlgo:
    """Read a file that `save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            data = {key: file[key] for key in file.files}
        meta = json.loads(str(data["meta"]))
        if meta["format"] != FORMAT:
            raise ValueError(f"its format is {meta['format']!r}, this version reads {FORMAT!r}")
    except FileNotFoundError:
        raise
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, TypeError) as error:
        raise ValueError(f"{path} is not a result that PcAlgo.save wrote: {error}") from error
    p = len(meta["labels"])
    graph = np.zeros((p, p), dtype=np.int8)
    graph[data["graph_from"], data["graph_to"]] = data["graph_mark"]
    skeleton = (graph != 0) | (graph != 0).T
    gaps = np.unpackbits(data["gaps"])[: p * p].reshape(p, p).astype(bool) if "gaps" in data else None
    sepset = SepSets(skeleton, *(data[f"sepset_{k}"] for k in ("x", "y", "len", "members")), gaps)
    if "changed_x" in data:
        ends = np.cumsum(data["changed_len"]).tolist()
        members = data["changed_members"].tolist()
        cells = zip(*(data[f"changed_{k}"].tolist() for k in ("x", "y", "len")), ends, strict=True)
        sepset = sepset.changed({(x, y): tuple(members[end - size : end]) for x, y, size, end in cells})
    matrices: dict[str, np.ndarray] = {}
    for name in {"C", "pMax"} & data.keys():
        matrix = np.empty((p, p))
        at = 0
        for i in range(p):
            matrix[i, i:] = matrix[i:, i] = data[name][at : at + p - i]
            at += p - i
        matrices[name] = matrix
    removals = None
    if "removed_x" in data:
        removals = Removals(tuple(data[f"removed_{k}"] for k in ("x", "y", "level", "r")))
    kept = (data["kept_x"], data["kept_y"], data["kept_p"]) if "kept_x" in data else None
    return PcAlgo(
        labels=meta["labels"],
        graph=graph,
        sepset=sepset,
        n_edgetests=meta["n_edgetests"],
        max_ord=meta["max_ord"],
        call=meta["call"],
        n=meta["n"],
        alpha=meta["alpha"],
        levels=[LevelSummary(**s) for s in meta["levels"]],
        engine=meta["engine"],
        removals=removals,
        kept=kept,
        gaps=gaps,
        notes=meta["notes"],
        trace={(t[0], t[1]): tuple(t[2:]) for t in meta["trace"]},
        **matrices,
    )


def _cells(name: str, sepset: SepSets) -> dict[str, np.ndarray]:
    return {f"{name}_{key}": array for key, array in zip(("x", "y", "len", "members"), sepset.arrays(), strict=True)}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)
