"""The files that ``pycupc run`` writes."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.machine import version_of
from pycupc.results import exports
from pycupc.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from pycupc.results.pcalgo import PcAlgo

#: Largest number of variables for which the p x p matrix is written as text.
MAX_MATRIX = 5000
#: Largest number of separating sets written as text without --all-sepsets.
MAX_SEPSETS = 200_000


def picture_formats(requested: Sequence[str] | None) -> tuple[str, ...]:
    """Formats to draw: those requested; by default png if matplotlib is installed.

    Raises
    ------
    ImportError
        A picture was requested and matplotlib is not installed.
    """
    import importlib.util

    installed = importlib.util.find_spec("matplotlib") is not None
    if requested is None:
        return ("png",) if installed else ()
    formats = tuple(dict.fromkeys(name for name in requested if name != "none"))
    if formats and not installed:
        raise ImportError(f"--plot {formats[0]} needs matplotlib: pip install 'pycupc[plot]' (or --plot none)")
    return formats


def write(fit: PcAlgo, folder: Path, pictures: Sequence[str], *, all_sepsets: bool = False) -> dict[str, str]:
    """Write the results of `fit`; returns a description of each file, for the manifest."""
    graph, labels = fit.sparse_graph, fit.labels
    files: dict[str, str] = {}

    def text(name: str, content: str, description: str) -> None:
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
        files[name] = description

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
        warnings.warn(f"amat.csv left out: {len(labels):,} variables; edges.csv holds the same graph", stacklevel=2)
    text("graph.graphml", fit.to_graphml(), exports.BOTH_WAYS)
    text("graph.dot", fit.to_dot(), exports.EDGE_LIST)
    text("graph.json", fit.to_json(), exports.EDGE_LIST)
    text("summary.txt", fit.summary() + "\n", "numbers of edges and tests, level by level")
    fit.save(folder / "result.npz")
    files["result.npz"] = "the complete result; pycupc.PcAlgo.load reads it"
    if pictures:
        from pycupc import plotting

        plotting.save(graph, labels, *[folder / f"graph.{ending}" for ending in pictures])
        files.update({f"graph.{ending}": "picture" for ending in pictures})
    return files


_SEPSETS = (
    "pairs separated by a non-empty set: x, y in pcalg's order, level, set (names delimited by ' | '), r (partial "
    "correlation), z, p, margin = cutoff - |r|; the sets are those of the tests, before --conservative or --maj-rule "
    "changed any. A pair that is neither here nor in edges.csv was separated by the empty set, or is a fixed gap"
)


def sepsets(fit: PcAlgo) -> pd.DataFrame:
    """Table of the separating sets found at level 1 and above, with the evidence for each."""
    import pandas as pd

    from pycupc.gaussian import fisher_z

    assert fit.n is not None
    assert fit.alpha is not None  # both are set, since the commands run the Gaussian test
    removals, names = fit.removals, np.array(fit.labels, dtype=object)
    x, y, length, members = fit.found_sepset.flat()
    r = removals.r[np.lexsort((removals.y, removals.x))]  # by row, as the cells are ordered
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


@dataclass(frozen=True)
class Run:
    """How a result was obtained: arguments of the command, facts of the input, seconds, start, warnings."""

    arguments: dict[str, object]
    source: dict[str, Any]
    seconds: dict[str, float]
    began: datetime
    messages: Sequence[str]


def write_manifest(folder: Path, fit: PcAlgo, run: Run, files: dict[str, str]) -> None:
    """Write manifest.json: what is needed to reproduce the folder."""
    from pycupc.cli.doctor import PACKAGES

    versions = {name: version_of(name) for names in PACKAGES.values() for name in names}
    manifest = {
        "program": "pycupc",
        "versions": {
            "pycupc": __version__,
            "python": platform.python_version(),
            **{name: version for name, version in versions.items() if version},
        },
        "platform": platform.platform(),
        "started": run.began.isoformat(timespec="seconds"),
        "arguments": run.arguments,
        "input": run.source,
        "seconds": {name: round(seconds, 3) for name, seconds in run.seconds.items()},
        "engine": fit.engine,
        "alpha": fit.alpha,
        "edges": dict(zip(("directed", "undirected", "bidirected"), fit.edge_counts(), strict=True)),
        "levels": [asdict(level) for level in fit.levels],
        "notes": fit.notes,
        "warnings": list(run.messages),
        "files": files,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8", newline="\n")
