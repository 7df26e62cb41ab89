"""Writes the pages that come from elsewhere: the help of every command, R's manual, and texts outside docs/."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from notebook_files import is_notebook, with_download, write_notebooks
from r_pages import write_r_pages

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
FOLDER = DOCS / "generated"
REPOSITORY = "https://github.com/pycupc/pycupc/blob/main"

#: Texts of the repository that are pages as well.
TEXTS = {
    "benchmarks.md": "tests/benchmarks/BENCHMARKS.md",
    "releases.md": ".github/CHANGELOG.md",
    "contributing.md": ".github/CONTRIBUTING.md",
    "kernels.md": "kernels/README.md",
    "r_package.md": "r_wrapper/README.md",
}

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)(#[^)\s]*)?\)")


def generate(*, with_r: bool) -> None:
    """Write all pages of `FOLDER` anew; R's manual needs R, without which its page only says where the manual is."""
    for old in (
        FOLDER,
        DOCS / "reference" / "api",
    ):  # the latter holds what autosummary wrote, also of names that are gone
        shutil.rmtree(old, ignore_errors=True)
    FOLDER.mkdir()
    for name, source in TEXTS.items():
        path = ROOT / source
        (FOLDER / name).write_text(_moved(path.read_text(encoding="utf-8"), path.parent), encoding="utf-8")
    (FOLDER / "command_line.md").write_text(_commands(), encoding="utf-8")
    write_notebooks(DOCS / "notebooks", FOLDER / "notebooks", _leading_out)
    _write_explorer(FOLDER / "static")
    write_r_pages(ROOT / "r_wrapper" / "man", FOLDER, with_r=with_r)


def as_page(text: str, name: str) -> str:
    """`text` of the page `name`, its links to files that are no pages leading to the repository; notebooks as files."""
    if name.startswith("generated/"):
        return text
    text = _moved(text, (DOCS / name).parent)
    return with_download(text, name) if is_notebook(text) else text


def _leading_out(text: str) -> str:
    """`text` of a notebook, all its links within the project leading to the repository."""
    folder = DOCS / "notebooks"

    def link(found: re.Match[str]) -> str:
        return f"{found[1]}{REPOSITORY}/{(folder / found[2]).resolve().relative_to(ROOT)}{found[3] or ''})"

    return _LINK.sub(link, text)


def _moved(text: str, folder: Path) -> str:
    """`text` as a page; its relative links begin in `folder`, and lead to pages or else to the repository."""
    pages = {(ROOT / source).resolve(): FOLDER / name for name, source in TEXTS.items()}

    def link(found: re.Match[str]) -> str:
        start, target, anchor = found[1], (folder / found[2]).resolve(), found[3] or ""
        picture = start.startswith("!")
        if target in pages and not picture:
            return f"{start}/{pages[target].relative_to(DOCS)}{anchor})"
        if target.is_relative_to(DOCS) or picture:
            return f"{start}/{os.path.relpath(target, DOCS)}{anchor})"
        return f"{start}{REPOSITORY}/{target.relative_to(ROOT)}{anchor})"

    return _LINK.sub(link, text)


def _write_explorer(folder: Path) -> None:
    """The explorer of the example data, which the first page shows."""
    import pycupc

    folder.mkdir()
    data = pycupc.load_example("greenhouse")
    fit = pycupc.pc(data, alpha=0.01, engine="cpu")
    units = {"lamps": "h per day", "sunshine": "h per day", "light": "mol per m² and day", "temperature": "°C"}
    units |= {"outside": "°C", "watering": "l per m² and day", "growth": "g per m² and day", "harvest": "kg per m²"}
    units |= {"price": "cents per kWh", "wind": "m/s", "co2": "ppm", "heating": "W per m²"}
    units |= dict.fromkeys(("vents", "humidity", "mildew"), "per cent")
    groups = {"weather and market": ["sunshine", "price", "outside", "wind"], "plants": ["growth", "mildew", "harvest"]}
    name, of_page = "Greenhouses, the example data", {"effects": pycupc.effects(fit, data), "units": units}
    fit.explore(folder / "example.html", name=name, groups=groups, show=False, **of_page)


def _commands() -> str:
    """The help of every command."""
    from pycupc.cli import build_parser
    from pycupc.cli.output import COMMANDS

    os.environ["COLUMNS"] = "100"
    parts = ["# Command line\n", "```text", build_parser().format_help().rstrip(), "```\n"]
    for command in COMMANDS:
        parser = build_parser(command)
        of_command = parser._subparsers._group_actions[0].choices[command]  # type: ignore[union-attr,index]
        parts += [f"## pycupc {command}\n", "```text", of_command.format_help().rstrip(), "```\n"]
    return "\n".join(parts)
