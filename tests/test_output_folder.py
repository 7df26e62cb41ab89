"""The output folder: whole or not at all, and no file of anybody else is lost, whatever happens to the run."""

import json
import os
import sys
import time

import pytest

from pycupc.cli.folder import FolderError, FolderExists, OutputFolder
from pycupc.results.npz import whole_file

NAMES = ("manifest.json", "edges.csv", "result.npz")


def contents(path):
    return sorted(str(f.relative_to(path)) for f in path.rglob("*"))


def fill(output, text="1", names=("edges.csv",)):
    """Write files and a manifest that lists them."""
    for name in names:
        (output.new / name).write_text(text)
    manifest = {"program": "pycupc", "files": dict.fromkeys(names, "")}
    (output.new / "manifest.json").write_text(json.dumps(manifest))


def write(target, text="1", names=("edges.csv",), **options):
    with OutputFolder(target, names=NAMES, **options) as output:
        fill(output, text, names)
        return output.finish()


@pytest.mark.parametrize("there", [False, True])
def test_folder_appears_only_when_whole(tmp_path, there):
    target = tmp_path / "deep" / "out"
    if there:  # an empty folder is no loss
        target.mkdir(parents=True)
    with OutputFolder(target) as output:
        fill(output)
        assert contents(target) == []
        assert output.finish() == target
    assert contents(tmp_path) == ["deep", "deep/out", "deep/out/edges.csv", "deep/out/manifest.json"]
    os.umask(mask := os.umask(0))
    assert target.stat().st_mode & 0o077 == 0o777 & ~mask & 0o077


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError, OSError])
def test_failure_leaves_nothing_behind(tmp_path, error):
    with pytest.raises(error), OutputFolder(tmp_path / "deep" / "out") as output:  # noqa: PT012
        fill(output)
        raise error
    assert contents(tmp_path) == []


def test_results_are_replaced_only_when_forced(tmp_path):
    target = tmp_path / "out"
    write(target)
    with pytest.raises(FolderExists, match="out exists; choose another --out, or --force"):
        OutputFolder(target)
    with pytest.raises(ValueError, match="stop"), OutputFolder(target, force=True) as output:  # noqa: PT012
        fill(output, "2")
        raise ValueError("stop")
    assert (target / "edges.csv").read_text() == "1"  # a failed run keeps the old one
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
    with pytest.raises(FolderExists, match=words):
        OutputFolder(target, force=True, names=NAMES)
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
    with pytest.raises(FolderExists, match="is not a folder"):
        OutputFolder(tmp_path / "out", force=True)
    with pytest.raises(FolderError, match="cannot be written .*choose another --out"):
        OutputFolder(tmp_path / "out" / "deeper")


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
    if force:
        write(target, "0")
    with OutputFolder(target, force=force, names=NAMES) as one, OutputFolder(target, force=force, names=NAMES) as two:
        fill(one, "1")
        fill(two, "2")
        assert two.finish() == target
        place = one.finish()
    if force:  # the later one replaces the results of the earlier, as it was told to
        assert place == target
        assert (target / "edges.csv").read_text() == "1"
    else:
        assert place == tmp_path / "out-2"
        assert [(tmp_path / name / "edges.csv").read_text() for name in ("out", "out-2")] == ["2", "1"]
    assert [name for name in contents(tmp_path) if name.startswith(".")] == []


def killed(tmp_path, state):
    """What a run into `out` leaves that is killed in one of the states of `OutputFolder.finish`."""
    output = OutputFolder(tmp_path / "out", force=True, names=NAMES)
    fill(output, "2")
    old = output._work / "old"
    if state in ("moved away", "exchanged", "retiring"):
        os.rename(tmp_path / "out", old)
    if state in ("exchanged", "retiring"):
        os.rename(output.new, tmp_path / "out")
    if state == "retiring":
        (old / "edges.csv").unlink()
    output._lock.close()  # as the system does for a process that ends


@pytest.mark.parametrize("state", ["writing", "moved away", "exchanged", "retiring"])
def test_the_next_run_cleans_up_after_a_killed_one(tmp_path, state):
    target = tmp_path / "out"
    write(target)
    (target / "thesis.tex").write_text("mine")
    killed(tmp_path, state)
    assert any(name.startswith(".out-") for name in contents(tmp_path))
    with OutputFolder(target, force=True, names=NAMES):
        whole = "1" if state in ("writing", "moved away") else "2"
        assert (target / "edges.csv").read_text() == whole  # the old results, or the new ones: one or the other
        assert len(list(tmp_path.glob(".out-*"))) == 1  # that of this run
    assert contents(tmp_path) == ["out", "out/edges.csv", "out/manifest.json", "out/thesis.tex"]
    assert (target / "thesis.tex").read_text() == "mine"


def test_a_run_that_still_works_is_left_alone(tmp_path):
    with OutputFolder(tmp_path / "out") as one:
        fill(one)
        with OutputFolder(tmp_path / "out") as two:
            assert one.new.is_dir()
            assert two.new != one.new
        assert one.finish() == tmp_path / "out"
    assert contents(tmp_path) == ["out", "out/edges.csv", "out/manifest.json"]


def test_folders_that_only_look_like_ours_are_left_alone(tmp_path):
    named, young = tmp_path / ".out-abcdefgh.part", tmp_path / ".out-ijklmnop.part"
    named.mkdir()
    (named / "thesis.tex").write_text("mine")
    young.mkdir()  # of a run that is about to make its lock
    for left in ([named.name, f"{named.name}/thesis.tex", young.name], [named.name, f"{named.name}/thesis.tex"]):
        with OutputFolder(tmp_path / "out"):
            pass
        assert contents(tmp_path) == left
        if young.exists():
            os.utime(young, (time.time() - 3600,) * 2)


@pytest.mark.parametrize("name", ["a" * 250, "é" * 125])
def test_a_name_of_the_greatest_length(tmp_path, name):
    with OutputFolder(tmp_path / name) as results:
        (results.new / "edges.csv").write_text("1")
        results.finish()
    assert (tmp_path / name / "edges.csv").read_text() == "1"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    with whole_file(tmp_path / name / name) as file:
        file.write(b"2")
    assert (tmp_path / name / name).read_bytes() == b"2"
