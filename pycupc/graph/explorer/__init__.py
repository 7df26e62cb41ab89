"""The explorer: a page that shows a graph in the browser, one self-contained file, written with NumPy and SciPy only.

It is plain JavaScript, HTML and CSS (`page/`), which depend on no package and are tested in Chromium. Bokeh, the best
maintained of the packages for such pages, would need scripts of our own as well (neighbourhoods, labels that avoid each
other, evidence, keys), its pages are ten times as large, and to import it takes longer than `pycupc run` may spend on
the page.

`write` has the content and the file of a page, and shows it. `pycupc.results.explorer_content` gathers the content.
"""

from __future__ import annotations

from pycupc.graph.explorer.write import Content, InlinePage, RemovedPairs, page, part_of, show_page

__all__ = ["Content", "InlinePage", "RemovedPairs", "page", "part_of", "show_page"]
