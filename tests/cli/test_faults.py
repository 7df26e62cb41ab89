"""What goes wrong around a run: full disks, folders that cannot be written, kill -9, two runs at once, Ctrl-C.

Nothing of anybody else is deleted, nothing half-written is taken for whole, no result is lost without need.
"""

import errno
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

import pycupc
from pycupc import cli
from pycupc.cli import interrupts, writing
from pycupc.cli.output import PICTURES
from pycupc.cli.run_command import FILES
from pycupc.data import load_example

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(pycupc.__file__).parent.parent)}
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and rights are those of POSIX")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, and another one for temporary files."""
    (tmp_path / "work").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "work"


@pytest.fixture(scope="module")
def fit():
    """The result of every run of this module that ends."""
    return pycupc.pc(pycupc.SuffStat.from_data(load_example("cell_nuclei")), alpha=0.01)


def run(*args):
    return cli.main(["run", "--example=cell_nuclei", "--quiet", *map(str, args)])


def is_whole(folder, fit):
    """Whether a folder holds all that its manifest lists, and the result of the run."""
    listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    return all((folder / name).is_file() for name in listed) and pycupc.PcAlgo.load(folder / "result.npz") == fit


# -- what cannot be written -------------------------------------------------------------------------------------------


def failing(kind, error):
    """The same file, of which half is written before the error."""

    def write(fit, path, request):
        path.write_bytes(b"half")
        raise error

    return replace(kind, write=write)


@pytest.mark.parametrize("name", [kind.name for kind in FILES] + ["manifest.json"])
def test_disk_full_at_each_file(here, capsys, monkeypatch, fit, name):
    """The results are kept in the folder for temporary files, which the message names."""
    if name == "manifest.json":
        write_manifest = writing.write_manifest

        def fail(folder, *args):
            if folder.is_relative_to(here):
                raise FULL
            write_manifest(folder, *args)

        monkeypatch.setattr(writing, "write_manifest", fail)
    else:
        kind = next(kind for kind in FILES if kind.name == name)

        def write(fit, path, request):
            (failing(kind, FULL) if path.is_relative_to(here) else kind).write(fit, path, request)

        monkeypatch.setattr(
            "pycupc.cli.run_command.FILES", [replace(k, write=write) if k is kind else k for k in FILES]
        )
    (here / "mine.txt").write_text("mine")
    plot = name.rpartition(".")[2] if name.rpartition(".")[2] in PICTURES else "none"
    wanted = ["--parquet"] if name.endswith(".parquet") else []
    assert run("--out", "out", "--plot", plot, *wanted) == cli.DEVICE
    kept = here.parent / "temporary" / "out-2"
    assert f"writing out failed (No space left on device); the results are in {kept}" in capsys.readouterr().err
    assert is_whole(kept, fit)
    assert os.listdir(here) == ["mine.txt"]


def test_a_checkpoint_on_a_full_disk_is_named(here, capsys, monkeypatch):
    monkeypatch.setattr("numpy.lib.format.write_array", Mock(side_effect=FULL))
    assert run("--out", "out", "--plot", "none", "--checkpoint", "kept") == cli.DEVICE
    assert f"No space left on device: '{Path('kept', 'level-0000.npz')}'" in capsys.readouterr().err
    assert os.listdir("kept") == ["run.json"]


def test_no_place_anywhere(here, capsys, monkeypatch):
    monkeypatch.setattr(writing, "write_manifest", Mock(side_effect=FULL))
    monkeypatch.setenv("HOME", str(here))
    assert run("--out", "out", "--plot", "none") == cli.DEVICE
    assert "No space left on device" in capsys.readouterr().err
    assert os.listdir(here) == os.listdir(here.parent / "temporary") == []


@posix
def test_a_result_on_a_disk_that_is_full_at_some_point(here, fit):
    """Here a file that must not grow beyond some size: nothing is left of it, and the error is that of the system."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    fit.save(here / "fit.npz")
    size = (here / "fit.npz").stat().st_size
    (here / "fit.npz").unlink()
    for room in (0, *range(100, size, size // 20)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                fit.save(here / "fit.npz")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert os.listdir(here) == []


def test_too_little_room_is_said_before_the_work(here, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=200_000))
    monkeypatch.setattr(import_module("pycupc.algorithm.pc"), "pc", lambda *_, **__: pytest.fail("the tests were made"))
    assert run("--out", "other") == cli.DEVICE
    assert "0.2 MB are free in" in capsys.readouterr().err
    assert os.listdir(here) == []


@posix
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(here):
    from users import such_a_user

    (here / "closed").mkdir()
    (here / "closed").chmod(0o555)
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
    here, capsys, monkeypatch, name, code, there
):
    """Before the work; a folder that is there may be of another disk than the one around it."""
    if there:
        (here / "out").mkdir()
    refused = here / "out" if there else here
    mkdir, number = Path.mkdir, getattr(errno, name)

    def fail(path, *args, **options):
        if path.parent == refused:
            raise OSError(number, os.strerror(number), str(path))
        mkdir(path, *args, **options)

    monkeypatch.setattr(Path, "mkdir", fail)
    monkeypatch.setattr(import_module("pycupc.algorithm.pc"), "pc", lambda *_, **__: pytest.fail("the tests were made"))
    assert run("--out", "out") == code
    words = f"pycupc: out cannot be written ({os.strerror(number)}); choose another --out\n"
    assert capsys.readouterr().err == words
    assert os.listdir(here) == ["out"] * there


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "EFBIG"])
@pytest.mark.parametrize("command", ["run", "stability", "cstar"])
def test_a_checkpoint_that_finds_no_room_at_all(here, capsys, monkeypatch, command, name):
    number = getattr(errno, name)
    monkeypatch.setattr("pycupc.results.npz.whole_file", Mock(side_effect=OSError(number, os.strerror(number), "file")))
    options = ["--example=cell_nuclei", "--quiet", "--plot", "none", "--out", "out", "--checkpoint", "kept"]
    assert cli.main([command, *options]) == cli.DEVICE
    assert os.strerror(number) in capsys.readouterr().err
    assert not (here / "out").exists()


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
def test_each_command_that_writes_onto_a_disk_that_is_full(here, fit, command):
    """Here files that must not grow beyond a kilobyte, anywhere."""
    fit.save(here / "fit.npz")
    program = """
import resource, sys
from pycupc.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
sys.exit(main())
"""
    job = [sys.executable, "-c", program, *command.split()]
    done = subprocess.run(job, env={**ENVIRONMENT, "HOME": str(here)}, capture_output=True, text=True)
    assert done.returncode == cli.DEVICE, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in here.iterdir()} - {".cache", ".config"} <= {"fit.npz", "kept", "out-resamples"}
    assert not list(here.rglob("*.part"))


def test_a_picture_that_fails_costs_nothing_else(here, capsys, monkeypatch, fit):
    error = ZeroDivisionError("no layout")
    broken = [failing(kind, error) if kind.name == "graph.png" else kind for kind in FILES]
    monkeypatch.setattr("pycupc.cli.run_command.FILES", broken)
    assert run("--out", "out") == cli.OK
    assert "graph.png could not be made (ZeroDivisionError: no layout)" in capsys.readouterr().err
    assert is_whole(here / "out", fit)
    assert not (here / "out" / "graph.png").exists()
    manifest = json.loads((here / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["left_out"]["graph.png"] == "ZeroDivisionError: no layout"


# -- the end of the process -------------------------------------------------------------------------------------------


def start(*args, **options):
    """A run in a process of its own."""
    command = [sys.executable, "-m", "pycupc", "run", "--example=cell_nuclei", "--quiet", *args]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, **options)


def finish(job):
    """Wait for a run that succeeds."""
    _, err = job.communicate()
    assert job.returncode == cli.OK, err


@posix
@pytest.mark.parametrize("times", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(here, fit, times):
    began = time.monotonic()
    finish(start("--out", "out"))
    takes = time.monotonic() - began
    (here / "out" / "mine.txt").write_text("mine")
    (here / "beside.txt").write_text("mine")
    rng = random.Random(times)
    moments = []
    for _ in range(times):
        job = start("--out", "out", "--force", "--alpha", rng.choice(["0.01", "0.02"]))
        time.sleep(rng.uniform(0, takes * 1.1) if moments else 0)  # the first one is killed for sure
        job.kill()
        moments.append(job.wait())
        job.stderr.close()
        listed = json.loads((here / "out" / "manifest.json").read_text(encoding="utf-8"))["files"]
        assert all((here / "out" / name).is_file() for name in listed)
        assert len(pycupc.PcAlgo.load(here / "out" / "result.npz").labels) == 30
        assert (here / "out" / "mine.txt").exists()
        assert (here / "beside.txt").read_text() == "mine"
    assert -signal.SIGKILL in moments
    for abandoned in here.glob(".out-*.part"):
        os.utime(abandoned, (0, 0))
    finish(start("--out", "out", "--force"))
    assert is_whole(here / "out", fit)
    assert sorted(os.listdir(here)) == ["beside.txt", "out"]
    assert (here / "out" / "mine.txt").read_text() == "mine"


@posix
def test_ctrl_c_in_the_first_moments_is_silent(here):
    """From the first statement of the program on: before, the interpreter itself is being started."""
    program = "import os, sys; from pycupc.__main__ import main; os.write(1, b'x'); sys.exit(main())"
    for k in range(6):
        command = [sys.executable, "-c", program, "run", "--example=cell_nuclei", "--quiet"]
        job = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        job.stdout.read(1)
        time.sleep(0.03 * k)
        job.send_signal(signal.SIGINT)
        _, err = job.communicate()
        assert job.returncode in (-signal.SIGINT, cli.INTERRUPTED)
        assert err.decode() in ("", "pycupc: interrupted; nothing was written\n")
        assert [name for name in os.listdir(here) if not name.startswith(".")] == []


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_command_does_not_change_the_exit_code(number):
    program = f"""
import os, sys
from pycupc import __main__, cli
run = cli._run_command
cli._run_command = lambda args: [run(args), os.kill(os.getpid(), {int(number)})][0]
sys.exit(__main__.main())
"""
    command = [sys.executable, "-c", program, "doctor", "--no-r", "--no-engines"]
    assert subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL).returncode == cli.OK


#: Ends in a wait of the C library that no signal ends; Python's own lock is "free" meanwhile, or "held".
HANGING = """
import atexit, ctypes, importlib, os, sys
from pycupc import __main__, cli
from pycupc.cli import interrupts, writing
lock, moment = sys.argv.pop(1), sys.argv.pop(1)
def hang(*_, **__):
    library = (ctypes.CDLL if lock == "free" else ctypes.PyDLL)(None)
    mutex = ctypes.create_string_buffer(256)
    library.pthread_mutex_lock(mutex)
    os.write(1, b"waits")
    library.pthread_mutex_lock(mutex)
if moment == "work":
    importlib.import_module("pycupc.algorithm.pc").pc = hang
elif moment == "write":
    writing.write_manifest = hang
else:
    atexit.register(hang)
interrupts.PATIENCE = 1.0
sys.exit(__main__.main())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere only where Python's lock is free")
@pytest.mark.parametrize(
    ("lock", "moment", "codes"),
    [
        ("free", "work", [cli.INTERRUPTED]),
        ("free", "write", [cli.INTERRUPTED]),
        ("held", "work", [-signal.SIGALRM]),
        ("free", "end", [-signal.SIGALRM]),
    ],
)
def test_a_signal_ends_a_command_that_hangs_in_a_library(here, lock, moment, codes):
    """Nothing half-written is left, not even where --force was to replace results."""
    finish(start("--out", "out"))
    before = {path.name: path.read_bytes() for path in (here / "out").iterdir()}
    arguments = [
        "run",
        "--example=cell_nuclei",
        "--quiet",
        "--plot",
        "none",
        "--out",
        "out",
        "--force",
        "--checkpoint",
        "kept",
    ]
    command = [sys.executable, "-c", HANGING, lock, moment, *arguments]
    job = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert job.stdout.read(5) == b"waits"
    time.sleep(0.3)
    began = time.monotonic()
    job.send_signal(signal.SIGTERM)
    _, err = job.communicate(timeout=100)
    assert job.returncode in codes
    assert time.monotonic() - began < 30
    assert not list(here.glob(".*.part"))
    if moment != "end":
        said = "pycupc: interrupted; what was running did not stop, so the process was ended\n"
        assert err.decode() == (said if lock == "free" else "")
        assert {path.name: path.read_bytes() for path in (here / "out").iterdir()} == before
    if moment == "write":
        assert (here / "kept" / "level-0000.npz").is_file()
        finish(start("--out", "other", "--checkpoint", "kept"))


class InterruptedWhenDeleted:
    """Presses Ctrl-C, and runs Python code, while Python deletes it, where it ignores an exception."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            time.sleep(0.001)


@posix
@pytest.mark.parametrize("answer", [None, "is being interrupted"])
def test_an_interrupt_that_python_ignores_is_sent_again(answer, monkeypatch, capfd):
    monkeypatch.setattr(interrupts, "PATIENCE", 600.0)

    def delete():
        InterruptedWhenDeleted()
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt), interrupts.interrupting(answer):
        delete()
    assert capfd.readouterr().err == ""


def handled_and_later(interrupted, no_more, error):
    """Handles an interrupt, and meets an error of another cause afterwards."""
    with suppress(type(error)):
        interrupted()
    no_more()
    raise error


@pytest.mark.parametrize("of_library", [ImportError, RuntimeError])
def test_what_a_library_makes_of_an_interrupt_is_an_interrupt(of_library):
    """Compiled modules turn one during their import into an ImportError, locks of Python one into a RuntimeError."""

    def interrupted():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise of_library("numpy._core.multiarray failed to import") from None

    with pytest.raises(KeyboardInterrupt), interrupts.interrupting():
        interrupted()
    with pytest.raises(of_library, match="later"), interrupts.interrupting("is being written") as no_more:
        handled_and_later(interrupted, no_more, of_library("later"))


def test_a_signal_while_a_line_is_printed_is_answered(monkeypatch, capfd):
    """Python refuses to print in the handler of a signal that arrives while it prints."""

    class Raw(io.RawIOBase):
        def writable(self):
            return True

        def write(self, text):
            signal.raise_signal(signal.SIGINT)
            return len(text)

    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BufferedWriter(Raw()), line_buffering=True))
    with interrupts.interrupting("the results are being written") as no_more:
        no_more()
        print("level 3", file=sys.stderr)
    assert capfd.readouterr().err == "pycupc: the results are being written\n"


@posix
@pytest.mark.parametrize("closed", ["2>&-", "1>&-", "0<&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_do_not_matter(here, closed):
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
    assert (here / "out" / "result.npz").is_file()


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
def test_output_that_cannot_be_written(here, fit, command, words):
    fit.save(here / "fit.npz")
    with open("/dev/full", "w") as full:
        job = [sys.executable, "-m", "pycupc", *command.split()]
        done = subprocess.run(job, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == cli.DEVICE
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert not command.startswith("run") or (here / "out" / "manifest.json").is_file()
