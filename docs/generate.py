"""Writes the pages that come from elsewhere: the help of every command, R's manual, and texts outside docs/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

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
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, source in TEXTS.items():
        path = ROOT / source
        (FOLDER / name).write_text(_moved(path.read_text(encoding="utf-8"), path.parent), encoding="utf-8")
    (FOLDER / "command_line.md").write_text(_commands(), encoding="utf-8")
    (FOLDER / "r_manual.md").write_text(_manual(with_r), encoding="utf-8")


def leaving(text: str, name: str) -> str:
    """`text` of the page `name`, its links to files that are no pages leading to the repository."""
    return _moved(text, (DOCS / name).parent) if not name.startswith("generated/") else text


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


def _manual(with_r: bool) -> str:
    """R's manual: a section for each page, as R's tools make HTML of it."""
    head = "# R functions\n\nThe manual of the R package, which `?cu_pc` shows in R.\n"
    if with_r and not shutil.which("Rscript"):
        raise FileNotFoundError(
            "the reference of the R functions needs R, and there is no Rscript on the PATH: install R, or leave this "
            "reference out with python -m sphinx -t no_r"
        )
    if not with_r:
        return head + "\nThese pages were built without R; the manual is in [r_wrapper/man](../../r_wrapper/man).\n"
    paths = sorted(map(str, (ROOT / "r_wrapper" / "man").glob("*.Rd")))
    expression = r'for (path in commandArgs(TRUE)) { cat("\f"); tools::Rd2HTML(path) }'
    command = ["Rscript", "-e", expression, *paths]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    parts = [head]
    for path, page in zip(paths, done.stdout.split("\f")[1:], strict=True):
        title, _, body = page[page.index("<h2>") + 4 : page.rindex("</div>")].partition("</h2>")
        body = re.sub("<h3>(.*?)</h3>", r'<p class="rubric">\1</p>', re.sub(r"</?a\b[^>]*>", "", body))
        parts.append(f"## {Path(path).stem}\n\n{title}\n\n```{{raw}} html\n{body}\n```\n")
    return "\n".join(parts)
