"""The files of a run."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from pycupc import exports

#: Most variables for which the p x p matrix is written as text.
MAX_MATRIX = 5000


def picture_formats(asked: Sequence[str] | None) -> tuple[str, ...]:
    """Formats to draw: those asked for, else png if matplotlib is there.

    Raises
    ------
    ImportError
        If a picture was asked for and matplotlib is not installed.
    """
    import importlib.util

    there = importlib.util.find_spec("matplotlib") is not None
    if asked is None:
        return ("png",) if there else ()
    formats = tuple(dict.fromkeys(a for a in asked if a != "none"))
    if formats and not there:
        raise ImportError(f"--plot {formats[0]} needs matplotlib: pip install 'pycupc[plot]' (or --plot none)")
    return formats


def write(fit: Any, folder: Path, pictures: Sequence[str]) -> dict[str, str]:
    """Write the results of `fit`; returns what each file holds, for the manifest."""
    graph, labels = fit.graph, fit.labels
    files: dict[str, str] = {}

    def text(name: str, content: str, holds: str) -> None:
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
        files[name] = holds

    evidence = edge_evidence(fit)
    text(
        "edges.csv", exports.edges(graph, labels, evidence).to_csv(index=False, lineterminator="\n"), exports.EDGE_LIST
    )
    text("sepsets.csv", sepsets(fit).to_csv(index=False, lineterminator="\n"), _SEPSETS)
    if len(labels) <= MAX_MATRIX:
        text("amat.csv", exports.amat(graph, labels).to_csv(lineterminator="\n"), exports.PCALG_AMAT)
    text("graph.graphml", exports.to_graphml(graph, labels, evidence), exports.BOTH_WAYS)
    text("graph.dot", exports.to_dot(graph, labels), exports.EDGE_LIST)
    text("graph.json", exports.to_json(graph, labels, evidence), exports.EDGE_LIST)
    text("summary.txt", fit.summary() + "\n", "what a person wants to know first")
    fit.save(folder / "result.npz")
    files["result.npz"] = "everything; pycupc.PcAlgo.load reads it"
    if pictures:
        from pycupc import plot

        plot.save(graph, labels, *[folder / f"graph.{ending}" for ending in pictures])
        files.update({f"graph.{ending}": "picture" for ending in pictures})
    return files


_SEPSETS = (
    "pairs that a non-empty set separates: x, y in pcalg's order, level, set (names parted by ' | '), r, z, p, margin; "
    "a pair that is neither here nor in edges.csv was separated by the empty set (or is a fixed gap)"
)


def edge_evidence(fit: Any) -> dict[str, np.ndarray]:
    """Columns about each edge, in the order of `exports.edge_list`."""
    raise NotImplementedError


def sepsets(fit: Any) -> Any:
    """Table of the separating sets of levels from 1 on."""
    raise NotImplementedError


def write_manifest(
    folder: Path,
    fit: Any,
    arguments: dict[str, Any],
    source: dict[str, Any],
    files: dict[str, str],
    times: dict[str, float],
    began: datetime,
    said: Sequence[str],
) -> None:
    """Write manifest.json: how this folder came about, enough to make it again."""
    from pycupc.doctor import PACKAGES, version_of

    versions = {name: version_of(name) for names in PACKAGES.values() for name in names}
    manifest = {
        "program": "pycupc",
        "versions": {
            "pycupc": _version(),
            "python": platform.python_version(),
            **{name: version for name, version in versions.items() if version},
        },
        "platform": platform.platform(),
        "started": began.isoformat(timespec="seconds"),
        "arguments": arguments,
        "input": source,
        "seconds": {name: round(seconds, 3) for name, seconds in times.items()},
        "levels": levels(fit),
        "warnings": list(said),
        "files": files,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8", newline="\n")


def _version() -> str:
    import pycupc

    return pycupc.__version__


def levels(fit: Any) -> list[dict[str, Any]]:
    """One entry a level: tests, edges removed, edges left, seconds."""
    raise NotImplementedError
