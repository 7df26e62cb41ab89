"""Configuration of the pages: `python -m sphinx -W -b html docs docs/_build/html`, with the extra "docs" and R."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from docstring_links import link_names
from generate import as_page, generate
from public_names import described, leave_out_others
from sphinx.application import Sphinx
from sphinx.errors import ConfigError

import pycupc

project = "pycupc"
author = "pycupc developers"
copyright = "pycupc developers, MIT licence"
release = version = pycupc.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_copybutton"]
exclude_patterns = ["_build", "_templates", "generated/notebooks", "**.ipynb_checkpoints"]
templates_path = ["_templates"]
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # the scripts of widgets, which nothing needs, lie on other servers

autosummary_generate = True
autosummary_context = {"described": described()}
default_role = "literal"
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Code has a button that copies it; output has none.
copybutton_selector = "div[class^=highlight-]:not(.highlight-text, .highlight-none, .highlight-myst-ansi) pre"

html_theme = "pydata_sphinx_theme"
html_title = f"pycupc {version}"
html_static_path = ["_static", "generated/static"]
html_css_files = ["pages.css"]
html_search_scorer = str(Path(__file__).resolve().parent / "_static" / "search_scores.js")
html_copy_source = False
# Pages without pages below them: the column would be empty.
_ALONE = ("index", "start", "choose", "generated/benchmarks", "generated/releases")
html_sidebars: dict[str, list[str]] = {page: [] for page in _ALONE}
html_theme_options = {
    "github_url": "https://github.com/pycupc/pycupc",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}


def setup(app: Sphinx) -> None:
    """Write the generated pages, and lead links out of docs/ to the repository."""
    try:
        generate(with_r=not app.tags.has("no_r"))
    except FileNotFoundError as error:
        raise ConfigError(str(error)) from error
    app.connect("source-read", lambda _, name, source: source.__setitem__(0, as_page(source[0], name)))
    app.connect("autodoc-process-docstring", leave_out_others, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", link_names, priority=600)  # after numpydoc
