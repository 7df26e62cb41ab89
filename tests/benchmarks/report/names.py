"""How implementations are called in tables and pictures: the one place that translates the keys of the raw files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..runs import GPU_PLAIN

LABELS = {
    "cpu": "pycupc cpu",
    "cpu, quirks": "pycupc cpu, quirks",
    "reference": "pycupc reference",
    "gpu": "pycupc gpu",
    GPU_PLAIN: "pycupc gpu, no pruning",
    "cupc-e": "pycupc cupc-e",
    "cupc-s": "pycupc cupc-s",
    "stable": "pcalg stable",
    "stable.fast": "pcalg stable.fast",
    "stable.fast, OpenMP": "pcalg stable.fast, OpenMP build",
    "cuPC-library": "original cuPC",
    "causal-learn, its default": "causal-learn, default collider rule",
    # two keys of the recorded baselines.json
    "one thread an edge": "one thread per edge",
    "one block an edge": "one block per edge",
}
#: Implementations whose times are given in seconds; those of the others are in milliseconds.
IN_SECONDS = (
    "stable",
    "stable.fast",
    "stable.fast, OpenMP",
    "ParallelPC",
    "reference",
    "cpu",
    "cpu, quirks",
    "pcalg",
    "bnlearn",
    "causal-learn",
    "pgmpy",
)


def engines_in(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The engines of the experiment "scaling", in the order of `LABELS`."""
    found = {e for r in rows for e in r["seconds"]}
    return [e for e in LABELS if e in found]


def label(who: str) -> str:
    """The name of an implementation where it stands beside those of other projects."""
    return LABELS.get(who, who)


def engine(who: str) -> str:
    """The name of an implementation among pycupc's engines."""
    return label(who).removeprefix("pycupc ")


def unit(who: str) -> str:
    """The unit of the times of an implementation: "s" or "ms"."""
    return "s" if who in IN_SECONDS else "ms"


def head(who: str) -> str:
    """The head of a column of times."""
    return f"{label(who)} ({unit(who)})"
