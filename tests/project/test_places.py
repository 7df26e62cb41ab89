"""The places of the tests: a file has the name of a module of its room or is a topic, and every named file is there."""

import re

from common import ROOT, TESTS
from run import FIRST, QUICK

#: The folders whose texts name files with tests.
NAMING = (".github", "docs", "kernels", "pycupc", "r_wrapper", "tests")
FILES = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}


def topics():
    """The first column of the table of topics: files, and folders with a slash at the end."""
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("\n| topic | tests |\n")[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))


def has_the_name_of_a_module(file):
    """Whether the room of a file has a module or a folder of its name, or is the folder of its name itself."""
    room = ROOT / "pycupc" / file.rpartition("/")[0]
    name = file.rpartition("/")[2].removeprefix("test_").removesuffix(".py")
    return room.name == name or (room / f"{name}.py").is_file() or any((room / name).glob("*"))


def test_each_file_has_the_name_of_a_module_of_its_room_or_is_a_topic():
    found = {file for file in FILES if not has_the_name_of_a_module(file)}
    folders = tuple(topic for topic in topics() if topic.endswith("/"))
    assert {file for file in found if not file.startswith(folders)} == topics() - {*folders}
    assert all(any(file.startswith(folder) for file in FILES) for folder in folders)


def test_lists_of_files_name_files_that_are_there():
    assert {*QUICK, *FIRST} <= FILES
    assert len({*QUICK}) == len(QUICK)


def test_every_file_with_tests_that_a_text_names_is_there():
    names, missing = {file.rpartition("/")[2] for file in FILES}, set()
    for path in [*ROOT.glob("*.*"), *(path for folder in NAMING for path in (ROOT / folder).rglob("*"))]:
        if path.suffix in (".R", ".Rmd", ".cu", ".cuh", ".h", ".md", ".py", ".sh", ".toml", ".yml"):
            for named in re.findall(r"(?<![\w/.])(?:[\w.]+/)*test_[a-z0-9_]+\.py\b", path.read_text(encoding="utf-8")):
                file = named.removeprefix("../").removeprefix("../").removeprefix("tests/")
                if file not in (FILES if "/" in file else names):
                    missing.add((path.relative_to(ROOT).as_posix(), named))
    assert missing == set()
