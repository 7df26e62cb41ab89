"""Finished resamples in a folder: a run that was cut off goes on; damaged and foreign files are refused."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from common import ROOT, SUPPORT, refused
from stability_data import gaussian
from stability_runs import CALL, damage, files

import pycupc
from pycupc.results.npz import StudyFile

pytestmark = pytest.mark.usefixtures("libraries_of_python")

_RUN = """
import os, signal, sys
sys.path[:0] = [{root!r}, {here!r}]
import pycupc
from stability_data import gaussian

def progress(done, total):
    if done == {stop}:
        {action}

pycupc.stability(gaussian(n=60, p=6), checkpoint={folder!r}, progress=progress, **{call!r})
"""


def _stopped_run(folder, action, stop=5):
    code = _RUN.format(root=str(ROOT), here=str(SUPPORT), folder=str(folder), stop=stop, action=action, call=CALL)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_stopped_run_goes_on(data, expected, tmp_path, name):
    """After kill -9 of the whole process, or Ctrl-C, the finished resamples are there, and the rest is computed."""
    folder = tmp_path / "checkpoint"
    run = _stopped_run(folder, f"os.kill(os.getpid(), signal.{name})")
    assert files(folder) == [f"resample-{i:06}.npz" for i in range(5)], run.stderr
    assert name == "SIGKILL" or "StabilityInterrupted: interrupted after 5 of 12 resamples" in run.stderr
    seen = []
    resumed = pycupc.stability(data, checkpoint=folder, progress=lambda *a: seen.append(a), **CALL)
    assert resumed == expected
    assert seen[:2] == [(5, 12), (6, 12)]
    assert len(files(folder)) == 12
    assert pycupc.stability(data, checkpoint=folder, progress=lambda *a: seen.append(a), **CALL) == expected
    assert seen[-1] == (12, 12)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("times", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(data, tmp_path, times):
    """Wherever the process dies, the next one goes on; after many deaths the answer is that of one run."""
    call = {**CALL, "n_resamples": 2000}
    code = _RUN.format(root=str(ROOT), here=str(SUPPORT), folder=str(tmp_path / "c"), stop=-1, action="", call=call)
    code = code.replace("    if done == -1:\n        \n", "    pass\n")
    moments, kept = np.random.default_rng(0).uniform(0, 1.5, size=times), 0
    for moment in moments:
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(files(tmp_path / "c")) <= kept and process.poll() is None:
            time.sleep(0.01)
        time.sleep(moment / 3)
        process.kill()
        process.wait()
        assert len(files(tmp_path / "c")) > kept
        kept = len(files(tmp_path / "c"))
    call["n_resamples"] = 2 * (kept // 2) + 10  # an even number
    assert pycupc.stability(data, checkpoint=tmp_path / "c", **call) == pycupc.stability(data, **call)


@pytest.fixture
def kept(data, tmp_path):
    pycupc.stability(data, checkpoint=tmp_path / "kept", **{**CALL, "n_resamples": 4})
    return tmp_path / "kept"


def test_more_resamples_later(data, expected, kept):
    assert pycupc.stability(data, checkpoint=kept, **CALL) == expected
    fewer = pycupc.stability(data, checkpoint=kept, **{**CALL, "n_resamples": 2})
    assert fewer == pycupc.stability(data, **{**CALL, "n_resamples": 2})


OTHER_TYPES = {"n_resamples": np.int64(12), "alpha": np.array([0.01, 0.1]), "random_state": np.int32(9)}
OTHER_TYPES |= {"solve_confl": np.False_, "m_max": np.inf, "fraction": np.float32(0.5)}


@pytest.mark.parametrize("same", [OTHER_TYPES, {"random_state": None}, {"engine": "reference", "numCores": 1}])
def test_other_forms_of_the_same_arguments(data, expected, kept, same):
    """An argument in another type, the seed of the checkpoint, another engine with one thread."""
    assert pycupc.stability(data, checkpoint=kept, **CALL | same) == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": 0.05}, r"alpha was \[0.01, 0.1\], now \[0.05\]"),
        ({"scheme": "subsample"}, "scheme was 'complementary', now 'subsample'"),
        ({"random_state": 10}, "random_state was 9, now 10"),
        ({"m_max": 2}, "m_max was 'inf', now 2.0"),
        ({"solve_confl": True}, "solve_confl was False, now True"),
        ({"fixedGaps": [("v0", "v1")]}, "fixedGaps differ"),
        ({"labels": list("abcdef")}, "labels differ"),
        ({"data": gaussian(n=60, p=6) + 1e-9}, "data differ; name another folder, or delete it"),
    ],
)
def test_another_study_is_refused(data, kept, change, words):
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    with pytest.raises(ValueError, match=f"checkpoint .* is of another study: {words}"):
        pycupc.stability(**{"data": data, "checkpoint": kept, **CALL, **change})
    assert before == {path.name: path.read_bytes() for path in kept.iterdir()}


def test_folders_of_others_are_refused(data, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    refused(r"holds other files and no study.json", pycupc.stability, data, checkpoint=tmp_path, **CALL)
    refused("is not a folder", pycupc.stability, data, checkpoint=tmp_path / "note.txt", **CALL)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": "pycupc-checkpoint-1"}', '{"format": "x", "study": {}}']
)
def test_damaged_study_file(data, kept, content):
    (kept / "study.json").write_text(content)
    with pytest.raises(ValueError, match="study.json is not a checkpoint of pycupc.stability, or is damaged"):
        pycupc.stability(data, checkpoint=kept, **CALL)


def test_damaged_resample(data, kept):
    """Whatever happens to a file: the documented error, with the remedy; or the file is as good as before."""
    path, call = kept / "resample-000002.npz", {**CALL, "n_resamples": 4}
    expected = pycupc.stability(data, **call)
    refused = damage(path, 60, lambda: pycupc.stability(data, checkpoint=kept, **call), expected)
    assert all("delete the file, and the resample is computed again" in text for text in refused)
    path.unlink()
    assert pycupc.stability(data, checkpoint=kept, **call) == expected


def test_exchanged_resamples_are_refused(data, kept):
    (kept / "resample-000001.npz").write_bytes((kept / "resample-000002.npz").read_bytes())
    refused("another resample; delete the file", pycupc.stability, data, checkpoint=kept, **CALL)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_checkpoint_that_could_not_be_begun(data, expected, tmp_path, monkeypatch, error):
    def fails(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", fails)
        patch.setattr(os, "replace", fails)
        with pytest.raises(type(error)):
            pycupc.stability(data, checkpoint=tmp_path / "kept", **CALL)
    assert list((tmp_path / "kept").iterdir()) == []
    assert pycupc.stability(data, checkpoint=tmp_path / "kept", **CALL) == expected


@pytest.mark.parametrize("links", [True, False])
def test_two_runs_that_begin_a_checkpoint_at_the_same_time(data, expected, tmp_path, monkeypatch, links):
    """The second has read that there is no study before the first wrote its own, which stays."""
    folder, read, seen = tmp_path / "kept", StudyFile.read, []

    def reads(study, path):
        found = read(study, path)
        if not seen:
            seen.append(path)
            pycupc.stability(data, checkpoint=folder, **CALL)
        return found

    def without_links(*_):
        raise OSError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(StudyFile, "read", reads)
    with pytest.raises(ValueError, match="is of another study: random_state was"):
        pycupc.stability(data, checkpoint=folder, **{**CALL, "random_state": 77})
    assert pycupc.stability(data, checkpoint=folder, **CALL) == expected


def test_the_unfinished_file_of_a_run_that_begins(data, expected, tmp_path):
    (tmp_path / ".study.json-0a1b2c3d.part").touch()
    assert pycupc.stability(data, checkpoint=tmp_path, **CALL) == expected
