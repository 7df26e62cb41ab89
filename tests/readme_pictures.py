#!/usr/bin/env python3
"""Takes the two pictures of the explorer that docs/usage.md shows: `python tests/readme_pictures.py [FOLDER]`.

Needs Chromium and its driver (tests/setup_browser.sh) and Pillow, which comes with matplotlib. The folder is
.github/pictures unless another is given.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))
import browser
import explored_graphs
from PIL import Image

import pycupc
from pycupc.data import load_example

ROOT = Path(__file__).resolve().parent.parent

SIZE = 1200, 780
#: Done in the page before each picture is taken.
EDGE = "selectPair(graph.labels.indexOf('light'), graph.labels.indexOf('growth')); update();"
GROW = """
const hub = state.nodes.reduce((best, v) => (graph.degree[v] > graph.degree[best] ? v : best), 0);
startAt(hub);
const next = edgesOf(hub).map((k) => other(k, hub)).sort((a, b) => graph.degree[b] - graph.degree[a]);
for (const v of next.slice(0, 3)) grow(v);
const { x, y, level, of } = graph.removed;
const gone = of[hub].filter((k) => state.places.has(x[k]) && state.places.has(y[k]));
const shown = gone.sort((a, b) => level[b] - level[a] || removedP(a) - removedP(b))[0];
selectPair(x[shown], y[shown]);
update({ fit: true });
"""


def main(folder: Path) -> None:
    """Write explorer.png and neighbourhood.png into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    example = pycupc.pc(pycupc.SuffStat.from_data(load_example()), alpha=0.01)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        opened = browser.Browser(Path(scratch), *SIZE)
        try:
            for name, fit, script in (
                ("explorer", example, EDGE),
                ("neighbourhood", explored_graphs.result(300), GROW),
            ):
                opened.open(fit.explore(Path(scratch) / f"{name}.html", show=False))
                opened.script(script)
                opened.screenshot(Path(scratch) / f"{name}.png")
                picture = Image.open(Path(scratch) / f"{name}.png").convert("RGB")
                picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
                    folder / f"{name}.png", optimize=True
                )
        finally:
            opened.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".github" / "pictures")
