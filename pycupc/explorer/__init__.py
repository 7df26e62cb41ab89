"""A page to explore a graph in the browser: one self-contained file, written without any package but NumPy and SciPy.

Why not Bokeh, the best kept of the candidates (looked at: Bokeh, Plotly, pyvis, Cytoscape.js, sigma.js)? Measured with
Bokeh 3.9.2 on a graph of 2,000 variables and 3,000 edges, drawn with a search field and a table:

                                            Bokeh, inlined    this page
    size without the evidence                   2.3 MB          0.2 MB
    first paint in Chromium, busy machine     0.5 to 1.4 s    0.1 to 0.8 s (of 3,000 variables, with the evidence)
    processor time to import the writer         0.6 to 0.9 s    none that a run has not spent
    installed                                    32 MB          70 kB
    own JavaScript needed for what is asked     most of it      all of it

Its import alone exceeds what `pycupc run` may spend on the page. Growing a neighbourhood, labels that avoid each
other, the evidence of an edge and movement by keys would be scripts of our own with Bokeh as well, as texts inside
Python. What remains to keep are some 1,200 lines of plain JavaScript, HTML and CSS (`page/`) that depend on no package
and are tested in a real Chromium (tests/test_explorer_page.py).

Modules: `content` (what a page shows), `write` (the page as a file). `pycupc.results.explored` gathers the content.
"""

from __future__ import annotations

from pycupc.explorer.content import (
    MAX_CORRELATIONS,
    MAX_EDGES,
    MAX_NODES,
    MAX_REMOVED,
    MAX_TESTS,
    Content,
    RemovedPairs,
)
from pycupc.explorer.write import page, write_page

__all__ = [
    "MAX_CORRELATIONS",
    "MAX_EDGES",
    "MAX_NODES",
    "MAX_REMOVED",
    "MAX_TESTS",
    "Content",
    "RemovedPairs",
    "page",
    "write_page",
]
