"""The notebooks as files for Jupyter: without output, and with links that lead to the repository."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook

_HEADER = "file_format: mystnb"


def is_notebook(text: str) -> bool:
    """Whether a page is executed."""
    return text.startswith("---\n") and _HEADER in text.partition("\n---\n")[0]


def write_notebooks(pages: Path, folder: Path, leading_out: Callable[[str], str]) -> None:
    """Write a file NAME.ipynb for each executed page of a folder; the same page gives the same file."""
    folder.mkdir(parents=True)
    for path in sorted(pages.glob("*.md")):
        if is_notebook(text := path.read_text(encoding="utf-8")):
            notebook = read_myst_markdown_notebook(text, path=path)
            for number, cell in enumerate(notebook.cells, 1):
                cell["id"] = f"cell-{number}"
                if cell["cell_type"] == "markdown":
                    cell["source"] = leading_out(cell["source"])
            nbformat.write(notebook, folder / path.with_suffix(".ipynb").name)


def with_download(text: str, name: str) -> str:
    """A page with the offer of its file below its title."""
    line = f"{{download}}`Download this notebook </generated/notebooks/{Path(name).name}.ipynb>`"
    return re.sub(r"^(# .*)$", rf"\1\n\n{line}", text, count=1, flags=re.MULTILINE)
