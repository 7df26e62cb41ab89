"""The files of a run."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.results import exports

if TYPE_CHECKING:
    import pandas as pd

#: Most variables for which the p x p matrix is written as text.
MAX_MATRIX = 5000
#: Most separating sets written as text without being asked.
MAX_SEPSETS = 200_000


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


def write(fit: Any, folder: Path, pictures: Sequence[str], *, all_sepsets: bool = False) -> dict[str, str]:
    """Write the results of `fit`; returns what each file holds, for the manifest."""
    graph, labels = fit.sparse_graph, fit.labels
    files: dict[str, str] = {}

    def text(name: str, content: str, holds: str) -> None:
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
        files[name] = holds

    text("edges.csv", fit.edges().to_csv(index=False, lineterminator="\n"), exports.EDGE_LIST)
    if (n_sets := len(fit.sepset.flat().x)) <= MAX_SEPSETS or all_sepsets:
        text("sepsets.csv", sepsets(fit).to_csv(index=False, lineterminator="\n"), _SEPSETS)
    else:
        warnings.warn(
            f"sepsets.csv left out: {n_sets:,} sets (--all-sepsets writes it; result.npz has them)", stacklevel=2
        )
    if len(labels) <= MAX_MATRIX:
        text("amat.csv", exports.amat(graph, labels).to_csv(lineterminator="\n"), exports.PCALG_AMAT)
    else:
        warnings.warn(f"amat.csv left out: {len(labels):,} variables; edges.csv says the same", stacklevel=2)
    text("graph.graphml", fit.to_graphml(), exports.BOTH_WAYS)
    text("graph.dot", fit.to_dot(), exports.EDGE_LIST)
    text("graph.json", fit.to_json(), exports.EDGE_LIST)
    text("summary.txt", fit.summary() + "\n", "what a person wants to know first")
    fit.save(folder / "result.npz")
    files["result.npz"] = "everything; pycupc.PcAlgo.load reads it"
    if pictures:
        from pycupc import plotting

        plotting.save(graph, labels, *[folder / f"graph.{ending}" for ending in pictures])
        files.update({f"graph.{ending}": "picture" for ending in pictures})
    return files


_SEPSETS = (
    "pairs that a non-empty set separated: x, y in pcalg's order, level, set (names parted by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r|; the sets are those of the tests, before --conservative or --maj-rule "
    "changed any. A pair neither here nor in edges.csv was separated by the empty set, or is a fixed gap"
)


def sepsets(fit: Any) -> pd.DataFrame:
    """Table of the separating sets of levels from 1 on, with the evidence of each."""
    import pandas as pd

    from pycupc.gaussian import fisher_z

    gone, names = fit.removals, np.array(fit.labels, dtype=object)
    x, y, length, members = fit.found_sepset.flat()
    order = np.lexsort((gone.y, gone.x))  # row order, as the cells are in
    r = gone.r[order]
    kept_r = np.clip(np.nan_to_num(r), -fisher_z.R_MAX, fisher_z.R_MAX)
    z, cutoff = np.zeros(len(x)), np.zeros(len(x))
    for level in np.unique(length).tolist():
        at = length == level
        z[at] = np.copysign(fisher_z.z_score(kept_r[at], fit.n, level), kept_r[at])
        cutoff[at] = fisher_z.cutoff(fit.alpha, fit.n, level)
    flat, ends = names[members].tolist(), np.cumsum(length, dtype=np.int64).tolist()
    sets = [" | ".join(flat[end - size : end]) for size, end in zip(length.tolist(), ends, strict=True)]
    columns = {"x": names[x], "y": names[y], "level": length, "set": sets}
    return pd.DataFrame({**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoff - np.abs(kept_r)})


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
    from pycupc.cli.doctor import PACKAGES, version_of

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
        "engine": fit.engine,
        "alpha": fit.alpha,
        "edges": dict(zip(("directed", "undirected", "bidirected"), fit.edge_counts(), strict=True)),
        "levels": [asdict(level) for level in fit.levels],
        "notes": fit.notes,
        "warnings": list(said),
        "files": files,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8", newline="\n")


def _version() -> str:
    import pycupc

    return pycupc.__version__
