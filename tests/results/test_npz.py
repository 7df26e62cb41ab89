"""Damaged result files: the ValueError that is documented, nothing else, and no file that lies is believed.

500 corruptions always; as many as PYCUPC_CORRUPTIONS says in the slow form (6,000 by default).
"""

import io
import json
import os
import zipfile

import numpy as np
import pytest
from common import refused
from damaged_files import corrupted

import pycupc
from pycupc.data import load_example
from pycupc.results import npz

MANY = int(os.environ.get("PYCUPC_CORRUPTIONS", "6000"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Bytes of several result files, and what each holds: sparse and with all evidence, conservative, without edges."""
    folder = tmp_path_factory.mktemp("results")
    data = pycupc.SuffStat.from_data(load_example("cell_nuclei"))
    fits = {
        "sparse": (pycupc.pc(data, alpha=0.01), False),
        "evidence": (pycupc.pc(data, alpha=0.01), True),
        "conservative": (pycupc.pc(data, alpha=0.05, conservative=True), None),
        "empty": (pycupc.pc({"C": np.eye(4), "n": 50}), None),
        "custom": (pycupc.pc(None, lambda x, y, S, _: 0.5 * (x + y == 3), alpha=0.1, p=4), None),
    }
    out = []
    for name, (fit, evidence) in fits.items():
        fit.save(folder / f"{name}.npz", evidence=evidence)
        out.append(((folder / f"{name}.npz").read_bytes(), fit))
    return out


def check(saved, tmp_path, count, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "fit.npz"
    refused = 0
    for k in range(count):
        data, fit = saved[k % len(saved)]
        path.write_bytes(corrupted(data, rng))
        try:
            loaded = pycupc.PcAlgo.load(path)
        except ValueError as error:
            assert str(path) in str(error), error  # noqa: PT017
            refused += 1
            continue
        assert loaded == fit, f"corruption {k} of seed {seed} was believed"
        assert (loaded.levels, loaded.trace, loaded.notes) == (fit.levels, dict(fit.trace), fit.notes)
        np.testing.assert_array_equal(loaded.edge_attributes()["pMax"], fit.edge_attributes()["pMax"])
    return refused


def test_damage_is_a_value_error(saved, tmp_path):
    assert check(saved, tmp_path, 500, seed=0) > 350  # the others touched nothing that is read, as a date


@pytest.mark.slow
def test_damage_is_a_value_error_many_times(saved, tmp_path):
    refused = check(saved, tmp_path, MANY, seed=int(os.environ.get("PYCUPC_SEED", "1")))
    print(f"{refused} of {MANY} refused, the others read as they were written")


# -- files whose checksums are right, but not their content ----------------------------------------------------------


def with_changes(data: bytes, **changes) -> bytes:
    """The file with other arrays or metadata: None leaves one out; a function is given the old value."""
    with zipfile.ZipFile(io.BytesIO(data)) as members:
        arrays = {name.removesuffix(".npy"): np.load(members.open(name)) for name in members.namelist()}
    meta = json.loads(str(arrays.pop("meta")))
    for name, change in changes.items():
        if name in arrays:
            new = change(arrays[name].copy()) if callable(change) else change
            arrays.pop(name)
            if new is not None:
                arrays[name] = new
        elif name == "new_array":
            arrays["other"] = change
        else:
            meta[name] = change(meta[name]) if callable(change) else change
    if "arrays" not in changes:
        meta["arrays"] = sorted(arrays)
    out = io.BytesIO()
    np.savez(out, meta=np.array(json.dumps(meta)), **arrays)
    return out.getvalue()


def first(value):
    """Changes the first element of an array."""

    def change(array):
        array = array.astype(np.float64 if isinstance(value, float) else np.int64)
        array[0] = value
        return array

    return change


WRONG = {
    "another format": ({"format": "pycupc-result-9"}, "its format is 'pycupc-result-9'.*run the analysis again"),
    "a format of 0.1.0": ({"format": "pycupc-result-3"}, "'pycupc-result-3', this version reads .*-4'; run the"),
    "an array too many": ({"new_array": np.zeros(3), "arrays": lambda a: a}, "its arrays are"),
    "an array too few": ({"edge_low": None}, "without edge_low"),
    "no label": ({"labels": []}, "labels are missing"),
    "labels twice": ({"labels": lambda a: [a[1], *a[1:]]}, "labels must be distinct"),
    "a label too few": ({"labels": lambda a: a[:-1]}, "outside of the range|cannot be"),
    "labels that are numbers": ({"labels": lambda a: list(range(len(a)))}, "labels must be strings"),
    "n": ({"n": -5}, "n must be"),
    "alpha": ({"alpha": 2}, "alpha cannot be 2"),
    "method": ({"method": "fci"}, "method cannot be fci"),
    "engine": ({"engine_name": 3}, "engine_name cannot be 3"),
    "orientation": ({"orientation": ["forced"]}, "orientation cannot be"),
    "no orientation": ({"orientation": ""}, "orientation cannot be"),
    "max_ord": ({"max_ord": "3"}, "max_ord cannot be 3"),
    "levels": ({"levels": [{"level": 0}]}, "missing"),
    "trace": ({"trace": [[0, 999, "collider"]]}, "trace cannot be"),
    "trace of words": ({"trace": [["a"]]}, "not enough values"),
    "meta": ({"notes": []}, "notes cannot be list"),
    "an edge outside": ({"edge_high": first(30)}, "edge_high cannot be outside of the range"),
    "a negative edge": ({"edge_low": first(-1)}, "edge_low holds values that are not indices"),
    "a loop": ({"edge_low": first(0), "edge_high": first(0)}, "edges cannot be in another order"),
    "edges in another order": ({"edge_low": lambda a: a[::-1]}, "edges cannot be in another order"),
    "a mark too few": ({"mark_low": lambda a: a[1:]}, "edges cannot be"),
    "another mark": ({"mark_high": first(4)}, "mark_high cannot be"),
    "no mark": ({"mark_low": first(0)}, "a mark cannot be 0"),
    "a set outside": ({"sepset_members": first(30)}, "sepset_members cannot be outside"),
    "the length of a set": ({"sepset_len": first(7)}, "sepset_len cannot be"),
    "a cell too few": ({"sepset_x": lambda a: a[1:]}, "sepset_ cannot be"),
    "a cell twice": ({"sepset_y": lambda a: a * 0, "sepset_x": lambda a: a * 0 + 1}, "a cell twice"),
    "words for numbers": ({"sepset_x": np.array(["a", "b"])}, "values that are not indices"),
    "two dimensions": ({"sepset_x": lambda a: a.reshape(1, -1)}, "2 dimensions"),
    "objects": ({"edge_p": np.array([1, 2], dtype=complex)}, "complex128"),
    "a p-value": ({"edge_p": first(1.5)}, "edge_p cannot be outside of the range"),
    "p-values too few": ({"edge_p": lambda a: a[1:]}, "edge_p cannot be"),
    "a correlation": ({"C": first(-7.0)}, "C cannot be outside of the range"),
    "correlations too few": ({"C": lambda a: a[1:]}, "C cannot be"),
    "an r": ({"removed_r": first(7.0)}, "removed_r cannot be outside of the range"),
    "counts": ({"n_edgetests": first(float("nan"))}, "n_edgetests cannot be"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_content_that_cannot_be_is_refused(saved, tmp_path, kind):
    changes, words = WRONG[kind]
    data, fit = saved[1]
    path = tmp_path / "fit.npz"
    path.write_bytes(with_changes(data))
    assert pycupc.PcAlgo.load(path) == fit  # without changes it can be read
    path.write_bytes(with_changes(data, **changes))
    with pytest.raises(ValueError, match=words) as caught:
        pycupc.PcAlgo.load(path)
    assert str(path) in str(caught.value)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """A file of some kilobytes that expands to gigabytes, and one that says it does."""
    path = tmp_path / "fit.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as members, members.open("meta.npy", "w") as stream:
        for _ in range(64):
            stream.write(bytes(1 << 20))
    monkeypatch.setattr(npz, "free_memory", lambda: 100 << 20)
    refused("it needs 0.1 GB of memory and 0.1 GB are free", pycupc.PcAlgo.load, path)


def test_an_impossible_expansion_is_not_unpacked(tmp_path, monkeypatch):
    """A file that says that it expands more than deflated data can, on a machine that would have the memory."""
    path = tmp_path / "fit.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("meta.npy", bytes(1000))
        members.infolist()[0].file_size = 10**12
    monkeypatch.setattr(npz, "free_memory", lambda: 2**62)
    refused("meta.npy cannot have 1,000,000,000,000 bytes", pycupc.PcAlgo.load, path)


def test_no_result_at_all(tmp_path):
    path = tmp_path / "fit.npz"
    for content in (b"", b"PK\x05\x06" + bytes(18), b"text", b"PK\x03\x04" + bytes(100)):
        path.write_bytes(content)
        refused("is not a result that PcAlgo.save wrote, or is damaged", pycupc.PcAlgo.load, path)
    np.savez(path, a=np.zeros(3))
    refused("no metadata", pycupc.PcAlgo.load, path)
    with pytest.raises(FileNotFoundError):
        pycupc.PcAlgo.load(tmp_path / "nothing.npz")
    with pytest.raises(OSError):
        pycupc.PcAlgo.load(tmp_path)


def test_an_interrupt_between_two_steps_of_writing_stays_one(tmp_path, monkeypatch):
    """Ctrl-C when a member has been opened and nothing will close it: ZipFile.close would raise a ValueError."""
    opened, real = [], zipfile.ZipFile.open

    def interrupted(self, *args, **options):
        opened.append(real(self, *args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pycupc.pc({"C": np.eye(4), "n": 50}).save(tmp_path / "fit.npz")
    assert opened
    assert not list(tmp_path.iterdir())
