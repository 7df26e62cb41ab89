"""The output folder: whole or not at all, and no file of anybody else is lost, whatever happens to the run."""

import json
import os
import sys

import pytest

from pycupc.cli.folder import FolderError, OutputFolder
from pycupc.system.files import whole_file

NAMES = frozenset({"manifest.json", "edges.csv", "result.npz"})


def contents(path):
    return sorted(str(f.relative_to(path)) for f in path.rglob("*"))


def fill(folder, text="1", names=("edges.csv",)):
    """Write files and a manifest that lists them."""
    for name in names:
        (folder / name).write_text(text)
    manifest = {"program": "pycupc", "files": dict.fromkeys(names, "")}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def write(target, text="1", names=("edges.csv",), force=False):
    return OutputFolder(target, NAMES, force).write(lambda folder: fill(folder, text, names))


@pytest.mark.parametrize("there", [False, True])
def test_folder_appears_only_when_whole(tmp_path, there):
    target = tmp_path / "deep" / "out"
    if there:  # an empty folder is no loss
        target.mkdir(parents=True)

    def fill_and_look(folder):
        fill(folder)
        assert target.exists() == there
        assert not there or contents(target) == []

    folder = OutputFolder(target)
    folder.check()
    assert folder.write(fill_and_look) == target
    assert contents(tmp_path) == ["deep", "deep/out", "deep/out/edges.csv", "deep/out/manifest.json"]
    os.umask(mask := os.umask(0))
    assert there or target.stat().st_mode & 0o077 == 0o777 & ~mask & 0o077


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_failure_leaves_nothing_behind(tmp_path, error):
    def fail(folder):
        fill(folder)
        raise error

    with pytest.raises(error):
        OutputFolder(tmp_path / "out").write(fail)
    assert contents(tmp_path) == []


def test_results_are_replaced_only_when_forced(tmp_path):
    target = tmp_path / "out"
    write(target)
    with pytest.raises(FolderError, match="out exists; choose another --out, or --force"):
        OutputFolder(target).check()
    write(target, "2", force=True)
    assert (target / "edges.csv").read_text() == "2"
    assert contents(tmp_path) == ["out", "out/edges.csv", "out/manifest.json"]


def test_force_keeps_every_file_that_the_manifest_does_not_list(tmp_path):
    target = tmp_path / "out"
    write(target, names=("edges.csv", "result.npz"))
    (target / "thesis.tex").write_text("mine")
    (target / "notes").mkdir()
    (target / "notes" / "a").write_text("mine too")
    write(target, "2", force=True)
    assert contents(tmp_path / "out") == ["edges.csv", "manifest.json", "notes", "notes/a", "thesis.tex"]
    assert (target / "notes" / "a").read_text() == "mine too"
    assert contents(tmp_path)[0] == "out"  # and nothing hidden beside it


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (None, "not written by pycupc"),
        ("{", "not written by pycupc"),
        ("[]", "not written by pycupc"),
        ('{"program": "other", "files": {"edges.csv": ""}}', "not written by pycupc"),
        ('{"program": "pycupc", "files": {}}', "holds edges.csv, which its manifest does not list"),
        ('{"program": "pycupc", "files": {"../victim": "", "/etc/passwd": ""}}', "holds edges.csv"),
    ],
)
def test_force_refuses_what_is_not_ours(tmp_path, manifest, words):
    target = tmp_path / "out"
    target.mkdir()
    (target / "edges.csv").write_text("mine")
    if manifest is not None:
        (target / "manifest.json").write_text(manifest)
    (tmp_path / "victim").write_text("safe")
    before = contents(tmp_path)
    with pytest.raises(FolderError, match=words):
        OutputFolder(target, NAMES, force=True).check()
    assert contents(tmp_path) == before


def test_a_manifest_cannot_name_files_elsewhere(tmp_path):
    write(tmp_path / "out")
    (tmp_path / "victim").write_text("safe")
    listed = {"edges.csv": "", "../victim": "", str(tmp_path / "victim"): ""}
    (tmp_path / "out" / "manifest.json").write_text(json.dumps({"program": "pycupc", "files": listed}))
    write(tmp_path / "out", "2", force=True)
    assert (tmp_path / "victim").read_text() == "safe"


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine")
    for target in (tmp_path / "out", tmp_path / "out" / "deeper"):
        with pytest.raises(FolderError, match=r"cannot be written \(Not a directory\); choose another --out"):
            OutputFolder(target, force=True).check()


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege on Windows")
def test_a_link_to_a_folder_stays_one(tmp_path):
    write(tmp_path / "real")
    (tmp_path / "out").symlink_to(tmp_path / "real")
    write(tmp_path / "out", "2", force=True)
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "real" / "edges.csv").read_text() == "2"


@pytest.mark.parametrize("force", [False, True])
def test_of_two_runs_into_one_folder_none_is_lost(tmp_path, force):
    target = tmp_path / "out"
    one, two = (OutputFolder(target, NAMES, force) for _ in range(2))
    one.check()
    two.check()

    def fill_after_the_other(folder):
        fill(folder, "1")
        assert two.write(lambda folder: fill(folder, "2")) == target

    place = one.write(fill_after_the_other)
    if force:  # the later one replaces the results of the earlier, as it was told to
        assert place == target
        assert (target / "edges.csv").read_text() == "1"
    else:
        assert place == tmp_path / "out-2"
        assert [(tmp_path / name / "edges.csv").read_text() for name in ("out", "out-2")] == ["2", "1"]
    assert [name for name in contents(tmp_path) if name.startswith(".")] == []


@pytest.mark.parametrize("steps", range(7))
def test_what_a_run_leaves_that_is_killed_while_it_replaces_results(tmp_path, monkeypatch, steps):
    """The old results, or a folder that calls itself unfinished, with files of one run; the next run replaces it."""
    target, names = tmp_path / "out", {"edges.csv", "result.npz", "summary.txt"}
    write(target, "1", names=("edges.csv", "summary.txt"))
    (target / "thesis.tex").write_text("mine")
    left = [steps]  # the steps before the kill: the manifest, two files deleted, two files and a manifest moved

    def killed_at_last(step):
        def either(*args, **options):
            left[0] -= 1
            if left[0] == -1:
                raise SystemExit
            return step(*args, **options)

        return either

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed_at_last(os.replace))
        patch.setattr(type(target), "unlink", killed_at_last(type(target).unlink))
        if steps < 6:
            with pytest.raises(SystemExit):
                write(target, "2", names=("edges.csv", "result.npz"), force=True)
        else:
            write(target, "2", names=("edges.csv", "result.npz"), force=True)
    manifest = json.loads((target / "manifest.json").read_text())
    there = {name: (target / name).read_text() for name in names if (target / name).exists()}
    assert manifest.get("unfinished", False) == (0 < steps < 6)
    assert set(manifest["files"]) == (names if manifest.get("unfinished") else set(there))
    assert set(there.values()) == [{"1"}, {"1"}, {"1"}, set(), {"2"}, {"2"}, {"2"}][steps]
    write(target, "3", force=True)
    assert contents(tmp_path) == ["out", "out/edges.csv", "out/manifest.json", "out/thesis.tex"]
    assert [(target / name).read_text() for name in ("edges.csv", "thesis.tex")] == ["3", "mine"]


def test_folders_of_killed_runs_are_deleted_and_no_others(tmp_path):
    killed, young, named = (tmp_path / f".out-{name}.part" for name in ("abcdefgh", "ijklmnop", "qrstuvwx"))
    for folder in (killed, young, named):
        folder.mkdir()
        (folder / "edges.csv").write_text("1")
    (named / "thesis.tex").write_text("mine")
    for folder in (killed, named):
        os.utime(folder, (0, 0))
    write(tmp_path / "out")
    there = [young.name, f"{young.name}/edges.csv", named.name, f"{named.name}/thesis.tex"]
    assert contents(tmp_path) == [*there, "out", "out/edges.csv", "out/manifest.json"]


def test_files_that_a_killed_run_was_writing_are_deleted(tmp_path):
    write(tmp_path / "out")
    work = tmp_path / ".out-abcdefgh.part"
    work.mkdir()
    (work / ".edges.csv-12345678.part").write_text("1")
    killed, young = (tmp_path / "out" / f".manifest.json-{name}.part" for name in ("abcdefgh", "ijklmnop"))
    for file in (killed, young):
        file.write_text("{")
    for path in (work, killed):
        os.utime(path, (0, 0))
    write(tmp_path / "out", "2", force=True)
    assert contents(tmp_path) == ["out", f"out/{young.name}", "out/edges.csv", "out/manifest.json"]


@pytest.mark.parametrize("name", ["a" * 250, "é" * 125])
def test_a_name_of_the_greatest_length(tmp_path, name):
    write(tmp_path / name)
    assert (tmp_path / name / "edges.csv").read_text() == "1"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    with whole_file(tmp_path / name / name) as file:
        file.write(b"2")
    assert (tmp_path / name / name).read_bytes() == b"2"


def test_a_longer_name_is_refused(tmp_path):
    with pytest.raises(FolderError, match="cannot be written .*choose another --out"):
        OutputFolder(tmp_path / ("a" * 300)).check()
