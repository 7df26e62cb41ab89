"""The reference of the R package: an index, and a page for each page of its manual, as R's tools make HTML of it."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.r import SLexer

#: The pages of the manual by task, in the order of the index; further ones come last.
TASKS = {
    "Graphs from data": ("cu_pc", "cu_fci", "cu_tpc", "cu_suffStat", "cu_example"),
    "Results": ("cu_why", "cu_plot", "cu_sepset", "cu_to_cpdag", "cu_compare", "cu_plain"),
    "How sure is an edge?": ("cu_stability", "cu_stability-methods", "cu_consensus", "cu_bound"),
    "Causal effects": ("cu_ida", "cu_adjustment", "cu_cstar"),
    "Installation": ("cu_install", "cu_sitrep"),
}
_HEAD = "# R functions\n\nThe manual of the R package, which `?cu_pc` shows in R, too.\n"


def write_r_pages(manual: Path, folder: Path, *, with_r: bool) -> None:
    """Write `r_manual.md` and, with R, a page for each file of the folder `manual` into `folder`."""
    if with_r and not shutil.which("Rscript"):
        raise FileNotFoundError(
            "the reference of the R functions needs R, and there is no Rscript on the PATH: install R, or leave this "
            "reference out with python -m sphinx -t no_r"
        )
    if not with_r:
        text = "\nThese pages were built without R; the manual is in the folder `r_wrapper/man`.\n"
        (folder / "r_manual.md").write_text(_HEAD + text, encoding="utf-8")
        return
    paths = {path.stem: path for path in manual.glob("*.Rd")}
    listed = [name for names in TASKS.values() for name in names]
    tasks = {**TASKS, "More": tuple(sorted({*paths} - {*listed}))}
    listed += tasks["More"]
    functions = {name: _aliases(path) for name, path in paths.items()}
    pages = _html([paths[name] for name in listed], functions)
    (folder / "r").mkdir()
    titles = {}
    for name, page in zip(listed, pages, strict=True):
        titles[name], text = _page(functions[name], page)
        (folder / "r" / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "r_manual.md").write_text(_index(tasks, functions, titles), encoding="utf-8")


def _aliases(path: Path) -> list[str]:
    """The functions and methods that a page describes."""
    return re.findall(r"^\\alias\{(.*)\}$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _shown(aliases: list[str]) -> list[str]:
    """The functions of a heading: not the methods, whose generic functions R has, nor names of mere pages."""
    return [name for name in aliases if name.startswith("cu_") and "-" not in name] or aliases[-1:]


def _html(paths: list[Path], functions: dict[str, list[str]]) -> list[str]:
    """The pages in HTML, whose links lead to each other and nowhere else."""
    links = {alias: name for name, aliases in functions.items() for alias in aliases}
    named = ", ".join(f'"{alias}" = "{name}.html"' for alias, name in links.items())
    expression = f"""
        links <- c({named})
        for (path in commandArgs(TRUE)) {{
          cat("\\f")
          suppressWarnings(tools::Rd2HTML(path, dynamic = FALSE, Links = links, Links2 = character()))
        }}
    """
    command = ["Rscript", "-e", expression, *map(str, paths)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return done.stdout.split("\f")[1:]


def _page(aliases: list[str], page: str) -> tuple[str, str]:
    """The title of a page and its text: the functions as the heading, the title, and the parts with their headings."""
    title, _, body = page[page.index("<h2>") + 4 : page.rindex("</div>")].partition("</h2>")
    plain = re.sub("<.*?>", "", title)
    body = re.sub(r'<a href="\.\./\.\./[^"]*">(.*?)</a>', r"\1", body, flags=re.DOTALL)  # to pages of other packages
    body = re.sub("<h3>(.*?)</h3>", lambda found: f'<p class="rubric">{found[1].rstrip(":")}</p>', body)
    body = re.sub("<pre><code class='language-R'>(.*?)</code></pre>", _coloured, body, flags=re.DOTALL)
    body = re.sub("<hr.*", "", body, flags=re.DOTALL).strip()
    return plain, f"# {', '.join(_shown(aliases))}\n\n**{plain}**\n\n```{{raw}} html\n{body}\n```\n"


def _coloured(code: re.Match[str]) -> str:
    """R code as the other pages show code: in colours, and with a button that copies it."""
    coloured = highlight(html.unescape(code[1]), SLexer(), HtmlFormatter())
    return f'<div class="highlight-r notranslate">{coloured}</div>'


def _index(tasks: dict[str, tuple[str, ...]], functions: dict[str, list[str]], titles: dict[str, str]) -> str:
    """The index: a table for each task."""
    parts = [_HEAD]
    for task, names in tasks.items():
        if not names:
            continue
        parts.append(f"## {task}\n\n| function | what it gives |\n|---|---|")
        for name in names:
            shown = ", ".join(f"`{alias}()`" for alias in _shown(functions[name]))
            parts.append(f"| [{shown}](r/{name}.md) | {titles[name]} |")
        parts.append("")
    entries = "\n".join(
        f"{', '.join(_shown(functions[name]))} <r/{name}>" for names in tasks.values() for name in names
    )
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{entries}\n```\n"])
