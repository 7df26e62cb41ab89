"""A folder of results that cannot be written: full disks, rights, pictures that fail."""

import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from command_runs import ENVIRONMENT, is_whole, posix, run_example

from pycupc import cli
from pycupc.cli import writing
from pycupc.cli.output import PICTURES
from pycupc.cli.run_command import FILES

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing(kind, error):
    """The same file, of which half is written before the error."""

    def write(fit, path, request):
        path.write_bytes(b"half")
        raise error

    return replace(kind, write=write)


@pytest.mark.parametrize("name", [kind.name for kind in FILES] + ["manifest.json"])
def test_disk_full_at_each_file(work, capsys, monkeypatch, nuclei_fit, name):
    """The results are kept in the folder for temporary files, which the message names."""
    if name == "manifest.json":
        write_manifest = writing.write_manifest

        def fail(folder, *args):
            if folder.is_relative_to(work):
                raise FULL
            write_manifest(folder, *args)

        monkeypatch.setattr(writing, "write_manifest", fail)
    else:
        kind = next(kind for kind in FILES if kind.name == name)

        def write(fit, path, request):
            (failing(kind, FULL) if path.is_relative_to(work) else kind).write(fit, path, request)

        monkeypatch.setattr(
            "pycupc.cli.run_command.FILES", [replace(k, write=write) if k is kind else k for k in FILES]
        )
    (work / "mine.txt").write_text("mine")
    plot = name.rpartition(".")[2] if name.rpartition(".")[2] in PICTURES else "none"
    wanted = ["--parquet"] if name.endswith(".parquet") else []
    assert run_example("--out", "out", "--plot", plot, *wanted) == cli.DEVICE
    kept = work.parent / "temporary" / "out-2"
    assert f"writing out failed (No space left on device); the results are in {kept}" in capsys.readouterr().err
    assert is_whole(kept, nuclei_fit)
    assert os.listdir(work) == ["mine.txt"]


def test_a_checkpoint_on_a_full_disk_is_named(work, capsys, monkeypatch):
    monkeypatch.setattr("numpy.lib.format.write_array", Mock(side_effect=FULL))
    assert run_example("--out", "out", "--plot", "none", "--checkpoint", "kept") == cli.DEVICE
    assert f"No space left on device: '{Path('kept', 'level-0000.npz')}'" in capsys.readouterr().err
    assert os.listdir("kept") == ["run.json"]


def test_no_place_anywhere(work, capsys, monkeypatch):
    monkeypatch.setattr(writing, "write_manifest", Mock(side_effect=FULL))
    monkeypatch.setenv("HOME", str(work))
    assert run_example("--out", "out", "--plot", "none") == cli.DEVICE
    assert "No space left on device" in capsys.readouterr().err
    assert os.listdir(work) == os.listdir(work.parent / "temporary") == []


@posix
def test_a_result_on_a_disk_that_is_full_at_some_point(work, nuclei_fit):
    """Here a file that must not grow beyond some size: nothing is left of it, and the error is that of the system."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    nuclei_fit.save(work / "fit.npz")
    size = (work / "fit.npz").stat().st_size
    (work / "fit.npz").unlink()
    for room in (0, *range(100, size, size // 20)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                nuclei_fit.save(work / "fit.npz")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert os.listdir(work) == []


def test_too_little_room_is_said_before_the_work(work, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=200_000))
    monkeypatch.setattr(import_module("pycupc.algorithm.pc"), "pc", lambda *_, **__: pytest.fail("the tests were made"))
    assert run_example("--out", "other") == cli.DEVICE
    assert "0.2 MB are free in" in capsys.readouterr().err
    assert os.listdir(work) == []


@posix
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(work):
    from users import such_a_user

    (work / "closed").mkdir()
    (work / "closed").chmod(0o555)
    command = [*such_a_user(), sys.executable, "-m", "pycupc", "run", "nothing.csv", "--out", "closed/out"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == cli.USAGE
    assert done.stderr == "pycupc: closed/out cannot be written (Permission denied); choose another --out\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *(("EROFS", cli.USAGE), ("EACCES", cli.USAGE), ("ENOTDIR", cli.USAGE), ("ENAMETOOLONG", cli.USAGE)),
        *(("EIO", cli.USAGE), ("ENOSPC", cli.DEVICE), ("EDQUOT", cli.DEVICE)),
    ],
)
@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_cannot_be_written_is_refused_in_the_words_of_the_system(
    work, capsys, monkeypatch, name, code, there
):
    """Before the work; a folder that is there may be of another disk than the one around it."""
    if there:
        (work / "out").mkdir()
    refused = work / "out" if there else work
    mkdir, number = Path.mkdir, getattr(errno, name)

    def fail(path, *args, **options):
        if path.parent == refused:
            raise OSError(number, os.strerror(number), str(path))
        mkdir(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", fail)
    monkeypatch.setattr(import_module("pycupc.algorithm.pc"), "pc", lambda *_, **__: pytest.fail("the tests were made"))
    assert run_example("--out", "out") == code
    words = f"pycupc: out cannot be written ({os.strerror(number)}); choose another --out\n"
    assert capsys.readouterr().err == words
    assert os.listdir(work) == ["out"] * there


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "EFBIG"])
@pytest.mark.parametrize("command", ["run", "stability", "cstar"])
def test_a_checkpoint_that_finds_no_room_at_all(work, capsys, monkeypatch, command, name):
    number = getattr(errno, name)
    monkeypatch.setattr("pycupc.results.npz.whole_file", Mock(side_effect=OSError(number, os.strerror(number), "file")))
    options = ["--example=cell_nuclei", "--quiet", "--plot", "none", "--out", "out", "--checkpoint", "kept"]
    assert cli.main([command, *options]) == cli.DEVICE
    assert os.strerror(number) in capsys.readouterr().err
    assert not (work / "out").exists()


@posix
@pytest.mark.parametrize(
    "command",
    [
        "run --example=cell_nuclei --quiet --plot none --out out",
        "run --example=cell_nuclei --quiet --plot png --out out --checkpoint kept",
        "stability --example=cell_nuclei --quiet --plot none --resamples 2 --out out",
        "cstar --example=cell_nuclei --quiet --plot none --resamples 2 --out out",
        "plot fit.npz --out out.png",
        "plot fit.npz --out out.svg",
        "plot fit.npz --out out.html",
    ],
)
def test_each_command_that_writes_onto_a_disk_that_is_full(work, nuclei_fit, command):
    """Here files that must not grow beyond a kilobyte, anywhere."""
    nuclei_fit.save(work / "fit.npz")
    program = """
import resource, sys
from pycupc.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
sys.exit(main())
"""
    job = [sys.executable, "-c", program, *command.split()]
    done = subprocess.run(job, env={**ENVIRONMENT, "HOME": str(work)}, capture_output=True, text=True)
    assert done.returncode == cli.DEVICE, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in work.iterdir()} - {".cache", ".config"} <= {"fit.npz", "kept", "out-resamples"}
    assert not list(work.rglob("*.part"))


def test_a_picture_that_fails_costs_nothing_else(work, capsys, monkeypatch, nuclei_fit):
    error = ZeroDivisionError("no layout")
    broken = [failing(kind, error) if kind.name == "graph.png" else kind for kind in FILES]
    monkeypatch.setattr("pycupc.cli.run_command.FILES", broken)
    assert run_example("--out", "out") == cli.OK
    assert "graph.png could not be made (ZeroDivisionError: no layout)" in capsys.readouterr().err
    assert is_whole(work / "out", nuclei_fit)
    assert not (work / "out" / "graph.png").exists()
    manifest = json.loads((work / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["left_out"]["graph.png"] == "ZeroDivisionError: no layout"


@posix
@pytest.mark.parametrize("closed", ["2>&-", "1>&-", "0<&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_do_not_matter(work, closed):
    """But for an input that is to be read."""

    def run(arguments):
        command = f"{sys.executable} -m pycupc run {arguments} --out out {closed}"
        return subprocess.run(["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True)

    if closed == "0<&-":
        done = run("-")
        assert done.returncode == cli.DATA
        assert done.stderr.startswith("pycupc: standard input")
    done = run("--example=cell_nuclei --m-max 0 --plot none")
    assert (done.returncode, done.stderr) == (cli.OK, "")
    assert ("Results are in out" in done.stdout) == ("1>" not in closed)
    assert (work / "out" / "result.npz").is_file()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "run --example=cell_nuclei --m-max 0 --plot none --out out",
            "the results are in out/; their summary cannot be printed",
        ),
        ("doctor --json --no-r --no-engines", "No space left on device"),
        ("estimate --example=cell_nuclei --levels 0", "No space left on device"),
        ("compare fit.npz fit.npz", "No space left on device"),
    ],
)
def test_output_that_cannot_be_written(work, nuclei_fit, command, words):
    nuclei_fit.save(work / "fit.npz")
    with open("/dev/full", "w") as full:
        job = [sys.executable, "-m", "pycupc", *command.split()]
        done = subprocess.run(job, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == cli.DEVICE
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert not command.startswith("run") or (work / "out" / "manifest.json").is_file()
