"""The report: BENCHMARKS.md with its tables and pictures, from the raw files and nothing else.

raw, names, tables               reading raw files; names of implementations; tables and their cells
style, bars, curves, heat_maps, stability_pictures   pictures
prose                            sentences
all_sets, gpu, sweeps, answers, pruning, call, discrete, stability   sections
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import record
from . import all_sets, answers, call, discrete, gpu, prose, pruning, stability, sweeps

RAW = (
    "cpu",
    "python-peers",
    "gpu",
    "baselines",
    "configurations",
    "sharing",
    "scaling",
    "scaling-large",
    "accuracy",
    "r",
    "pruning",
    "pruning-gpu",
    "call",
    "discrete",
    "discrete-gpu",
    "stability",
    "stability-gpu",
    "stability-cluster",
)
SECTIONS = (
    all_sets.section,
    gpu.section,
    gpu.baselines,
    gpu.levels,
    gpu.configurations,
    sweeps.sharing,
    sweeps.scaling,
    sweeps.scaling_large,
    answers.accuracy,
    answers.in_r,
    pruning.section,
    call.section,
    discrete.section,
    stability.section,
)


def write_all(folder: Path) -> None:
    """Write everything that the raw files in `folder` allow, and for the committed ones the table in README.md."""
    raw = {name: r for name in RAW if (r := record.read(folder, name)) is not None}
    sections = [text for build in SECTIONS if (text := build(raw, folder))]
    text = "\n".join([prose.HEAD, *sections, _provenance(raw), ""])
    committed = folder.resolve() == record.RESULTS
    target = (record.HERE if committed else folder) / "BENCHMARKS.md"
    target.write_text(text if committed else text.replace("](results/", "]("))
    if committed:
        all_sets.write_readme(raw)
    record.progress(f"wrote {target.name} from {', '.join(raw)}")


def _provenance(raw: dict[str, Any]) -> str:
    """The last section: the commands that made the raw files."""
    lines = ["## Commands and raw files\n", "| raw file | recorded | commit | command |", "| --- | --- | --- | --- |"]
    for name, r in raw.items():
        for c in r["calls"]:
            lines.append(f"| [{name}.json](results/{name}.json) | {c['date']} | {c['commit']} | `{c['command']}` |")
    lines.append(prose.COMMANDS)
    return "\n".join(lines)
