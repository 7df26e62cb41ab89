"""The explorer: a page that shows a graph in the browser, one self-contained file, written with NumPy and SciPy only.

Why not Bokeh, the best maintained of the candidates (Bokeh, Plotly, pyvis, Cytoscape.js, sigma.js)? Measurements with
Bokeh 3.9.2 on a graph of 2,000 variables and 3,000 edges, drawn with a search field and a table:

                                            Bokeh, inlined    this page
    size without the evidence                   2.3 MB          0.2 MB
    first paint in Chromium, busy machine     0.5 to 1.4 s    0.1 to 0.8 s (of 3,000 variables, with the evidence)
    processor time to import the writer         0.6 to 0.9 s    none beyond that of a run
    installed                                    32 MB          70 kB
    share of the JavaScript that we must write  most of it      all of it

Importing Bokeh alone takes longer than `pycupc run` may spend on the page. Expanding neighbourhoods, labels that avoid
each other, the evidence for an edge and keyboard navigation would need scripts of our own with Bokeh as well, as
strings inside Python. The price is some 1,200 lines of plain JavaScript, HTML and CSS (`page/`), which depend on no
package and are tested in Chromium (tests/test_explorer_page.py).

Modules: `content` (what a page shows), `write` (the page as a file). `pycupc.results.explored` gathers the content.
"""

from __future__ import annotations

from pycupc.graph.explorer.content import Content, RemovedPairs
from pycupc.graph.explorer.write import page, place_early, place_variables, unplaced_page, write_page

__all__ = ["Content", "RemovedPairs", "page", "place_early", "place_variables", "unplaced_page", "write_page"]
