"""The package as a whole: what importing it costs, what a wheel of it holds, and that its documents agree."""

import importlib
import inspect
import json
import operator
import pickle
import re
import shutil
import subprocess
import sys
import zipfile

import grimp
import pytest
from common import ROOT

import pycupc
from pycupc.cli.doctor_command import version_of
from pycupc.system.moved import MOVED

HEAVY = ("cupy", "rpy2", "numpy", "numba", "scipy", "matplotlib", "networkx", "pandas", "pyarrow", "tqdm")


def text(*path: str) -> str:
    """A file of the checkout."""
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


def python(code):
    """What the code prints, as JSON, in a fresh process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout)


@pytest.mark.parametrize("arguments", [[], ["--version"], ["--help"]])
def test_help_and_version_load_nothing_heavy(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "pycupc", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    loaded = set(re.findall(r"\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "pycupc.cli" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_public_names():
    code = "import json, pycupc; print(json.dumps([[n, hasattr(pycupc, n)] for n in pycupc.__all__]))"
    names = dict(python(code))
    assert {"pc", "skeleton", "SuffStat", "PcAlgo", "gaussCItest"} <= names.keys()
    assert all(names.values()), names


def test_public_modules_need_no_import_of_their_own():
    assert python("import json, pycupc; print(json.dumps(pycupc.discrete.__name__))") == "pycupc.discrete"
    assert python("import json, pycupc; print(json.dumps(pycupc.sklearn.PC.__name__))") == "PC"


def test_dir_lists_what_is_for_users():
    import pycupc.data

    listed = dir(pycupc)
    assert {*pycupc.__all__, "data"} <= {*listed}
    assert {"sys", "TYPE_CHECKING", "ModuleType", "import_module", "annotations"}.isdisjoint(listed)


@pytest.mark.parametrize("name", ["pc", "skeleton", "PcAlgo.plot", "PcAlgo.explore"])
def test_help_explains_every_argument(name):
    function = operator.attrgetter(name)(pycupc)
    explained = re.findall(
        r"^(\w[\w, ]*?)(?: : .*)?\n    ", inspect.getdoc(function).partition("Returns\n")[0], re.MULTILINE
    )
    explained = [one for names in explained for one in names.split(", ")]
    parameters = inspect.signature(function).parameters
    assert {*parameters} - {"self"} <= {*explained}
    assert len(explained) == len({*explained})
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values())
    assert "See `skeleton`" not in function.__doc__


def test_wheel_holds_every_file(tmp_path):
    """Built without isolation from a copy: the build must not need a network nor write into the checkout."""
    pytest.importorskip("build", reason="the package `build` is not installed")
    if int((version_of("setuptools") or "0").split(".")[0]) < 77:
        pytest.skip("no setuptools from 77 on, which pyproject.toml asks for")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("pycupc", "kernels", "r_wrapper"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    archive = next(tmp_path.glob("*.whl"))
    assert archive.name.split("-")[1] == pycupc.__version__
    with zipfile.ZipFile(archive) as wheel:
        held = set(wheel.namelist())
    endings = {".py", ".typed", ".csv", ".md", ".cu", ".cuh", ".R", ".js", ".css", ".html"}
    wanted = {
        str(f.relative_to(source))
        for f in (source / "pycupc").rglob("*")
        if f.suffix in endings or f.name == "py.typed"
    }
    wanted |= {f"pycupc/{f.relative_to(source)}" for f in (source / "kernels").rglob("*") if f.suffix in endings}
    wanted.add("pycupc/r/shared/pcalgo.R")
    assert sorted(wanted - held) == []
    assert any(name.startswith("pycupc/kernels/") and name.endswith(".cu") for name in held)
    assert not [name for name in held if name.startswith(("tests/", "kernels/", "r_wrapper/"))]


def test_every_version_is_that_of_the_package():
    """`pycupc.system.version` is the source; R writes a version 1.2.3.9000 where Python writes 1.2.3.dev0."""
    version = pycupc.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev0)?", version)
    assert 'version = { attr = "pycupc.system.version.__version__" }' in text("pyproject.toml")
    assert f"\nversion: {version}\n" in text("CITATION.cff")
    assert f"\n  version = {{{version}}},\n" in text("docs", "start.md")
    recipe = text(".github", "conda", "meta.yaml")
    assert f'{{% set version = "{version.removesuffix(".dev0")}" %}}' in recipe
    assert f"\nVersion: {version.replace('.dev0', '.9000')}\n" in text("r_wrapper", "DESCRIPTION")
    (released, *_) = re.findall(r"^## \[[\d.]+\] - (\S+)$", text(".github", "CHANGELOG.md"), re.MULTILINE)
    assert f"\nDate: {released}\n" in text("r_wrapper", "DESCRIPTION")  # of which citation() takes the year
    heading = "Unreleased" if version.endswith(".dev0") else version
    assert re.search(r"^## \[(.*?)\]", text(".github", "CHANGELOG.md"), re.MULTILINE)[1] == heading
    assert re.findall(r"version (\d+\.\d+\.\d+)", text("README.md")) == []


def test_the_bullets_of_the_changelog_are_short():
    """At most 40 words each, addresses of links apart."""
    bullets = re.findall(r"^- .*(?:\n  .*)*", text(".github", "CHANGELOG.md"), re.MULTILINE)
    words = {bullet: len(re.sub(r"\]\([^)]*\)", "]", bullet.removeprefix("- ")).split()) for bullet in bullets}
    assert [bullet for bullet, number in words.items() if number > 40] == []
    assert len(bullets) > 100


def test_every_list_of_python_versions_is_the_same():
    project = text("pyproject.toml")
    first, beyond = map(int, re.search(r'^requires-python = ">=3\.(\d+),<3\.(\d+)"$', project, re.MULTILINE).groups())
    versions = [f"3.{minor}" for minor in range(first, beyond)]
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project) == versions
    assert re.search(r"^ +python: \[(.*)\]$", text(".github", "workflows", "checks.yml"), re.MULTILINE)[1] == ", ".join(
        f'"{version}"' for version in versions
    )
    assert f"Python {versions[0]} to {versions[-1]}" in text("README.md")


def test_pickles_find_modules_under_their_old_names():
    for old, new in MOVED.items():
        module = importlib.import_module(new)
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == new:
                assert pickle.loads(f"c{old}\n{name}\n.".encode()) is value
        assert importlib.import_module(old) is module
        assert module.__spec__.name == module.__name__ == new
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"{old}_of_no_version")


#: The method, engine and orientation of pickles of 0.2.0, which have them in texts only, unless a CPU ran `pc`.
FACTS_OF_0_2_0 = {
    "skeleton.pkl": ("skeleton", "cpu", None),
    "pc_retry.pkl": ("pc", "cpu", "extendable"),
    "pc_rows_reference.pkl": ("pc", "reference", "relaxed"),
}


def test_pickles_of_0_2_0_load_and_can_be_used():
    """Results of every kind, written by 0.2.0: its classes, functions and modules had other homes and names."""
    with zipfile.ZipFile(ROOT / "tests" / "files" / "pickles-0.2.0.zip") as archive:
        for name in archive.namelist():
            loaded = pickle.loads(archive.read(name))
            for one in loaded if isinstance(loaded, (list, tuple)) else [loaded]:
                assert str(one), name
                for use in ("summary", "edge_columns", "to_arrays", "edges"):
                    if callable(method := getattr(one, use, None)):
                        assert method() is not None, name
                if isinstance(one, pycupc.PcAlgo):
                    assert len(one.untested.there) == len(one.untested.x), name
                    assert (one.method, one.engine_name, one.orientation) == FACTS_OF_0_2_0.get(
                        name, ("pc", "cpu", "relaxed")
                    ), name
                if isinstance(one, pycupc.PagAlgo):
                    assert (one.skeleton_fit.method, one.engine_name) == ("skeleton", "cpu"), name
                if isinstance(one, pycupc.PcAlgo | pycupc.PagAlgo):
                    assert one.pMax.shape == (one.p, one.p), name
                    assert one.why(0, 1), name
                pickle.loads(pickle.dumps(one))


def test_no_module_imports_itself_by_way_of_others():
    """Over all imports, deferred ones too; the contract on siblings sees no circle of a package and its own module."""
    imports = grimp.build_graph("pycupc")
    left = {module: imports.find_modules_directly_imported_by(module) for module in imports.modules}
    while free := {module for module, others in left.items() if not others & left.keys()}:
        left = {module: others for module, others in left.items() if module not in free}
    on_a_circle = {m for m in left if any(m in others for others in left.values())}
    assert not on_a_circle


def test_no_module_imports_public_names_from_the_face_of_the_package():
    """They import from the home of each name, so that the face stands above all other modules."""
    graph = grimp.build_graph("pycupc")
    importers = graph.find_modules_that_directly_import("pycupc")
    assert importers <= {"pycupc.__main__"}
