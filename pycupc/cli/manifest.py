"""manifest.json: how the results in a folder were obtained, and which files are in it."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pycupc.cli.folder import MANIFEST
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.machine import version_of
from pycupc.system.version import __version__

if TYPE_CHECKING:
    from pycupc.results.pagalgo import PagAlgo
    from pycupc.results.pcalgo import PcAlgo


@dataclass
class Run:
    """How a result was obtained: arguments of the command, warnings, facts of the input, seconds, start."""

    arguments: dict[str, object]
    messages: Sequence[str]
    source: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    began: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Record the seconds that the block takes, under `name`."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def recorded(args: argparse.Namespace) -> dict[str, object]:
    """The arguments as the manifest holds them; infinity becomes a word, which JSON lacks."""
    values = {name: value for name, value in vars(args).items() if name not in ("main", "parser")}
    return {name: "inf" if value == float("inf") else value for name, value in values.items()}


def write_text(content: str, path: Path) -> None:
    """Write text as in every file of results."""
    path.write_text(content, encoding="utf-8", errors="replace", newline="\n")


@dataclass
class Written:
    """The contents of a folder: a description of each file, and the reason for each file that is missing."""

    files: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def facts_of(fit: PcAlgo | PagAlgo) -> dict[str, Any]:
    """The facts about a result of `pc`, `fci` or `rfci` for the manifest."""
    facts: dict[str, Any] = {"engine": fit.engine, "alpha": fit.alpha, "edges": fit.sparse_graph.counts()}
    if isinstance(fit, CausalGraph):
        cycle = None if fit.is_cpdag else fit.cycle()
        facts |= {"is_cpdag": fit.is_cpdag, "cycle": None if cycle is None else [fit.labels[v] for v in cycle]}
        notes = fit.notes
    else:
        later = fit.later
        counts = {"removed": len(later), "not_searched_to_the_end": len(later.open_pairs)}
        facts |= {"method": fit.method, "after_the_levels": {"tests_by_size": later.n_tests} | counts}
        notes = fit.skeleton_fit.notes | fit.notes
    return {**facts, "levels": [asdict(level) for level in fit.levels], "notes": notes}


def write_manifest(folder: Path, facts: Mapping[str, Any], run: Run, written: Written) -> None:
    """Write manifest.json, the last file of a folder: what is needed to reproduce it, and which files are in it."""
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
        **facts,
        "warnings": list(run.messages),
        "files": written.files,
        "left_out": written.left_out,
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False, default=str) + "\n"
    write_text(text, folder / MANIFEST)
